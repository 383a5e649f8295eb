"""Deletion vectors against Paimon's bytes."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap
from tests.effort import examples

from lakebed.errors import CorruptError, DataError
from lakebed.format.index_files.deletion_vector import VectorRange, read_deletion_vector, write_deletion_vectors

# Written by pypaimon 2.1.0: rows 1 and 3 of one file.
FILE_32 = bytes.fromhex("01 00000018 5e43f2d0 3a30000001000000 0000010010000000 01000300 da2d59d3".replace(" ", ""))


def blob_64(*bitmaps: tuple[int, list[int]]) -> bytes:
    """A bitmap64 put together by hand: count, then key and Roaring bitmap of each 32-bit range."""
    body = struct.pack("<iq", 1681511377, len(bitmaps))
    for key, values in bitmaps:
        body += struct.pack("<i", key) + BitMap(values).serialize()
    return struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def test_paimons_bytes() -> None:
    assert write_deletion_vectors({"data-1": [3, 1, 3]}) == (FILE_32, [VectorRange("data-1", 1, 24, 2)])
    positions = read_deletion_vector(FILE_32[1:], where="index-0", length=24, cardinality=2)
    assert (positions.tolist(), str(positions.dtype)) == ([1, 3], "int64")


def test_bitmap64() -> None:
    blob = blob_64((0, [0, 7]), (1, []), (2, [5]))
    positions = read_deletion_vector(blob, where="index-0", length=len(blob), cardinality=3)
    assert (positions.tolist(), str(positions.dtype)) == ([0, 7, 2 * 2**32 + 5], "int64")
    with pytest.raises(CorruptError, match="the manifest gives it"):
        read_deletion_vector(blob, where="index-0", length=len(blob) - 8)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.sets(st.one_of(st.integers(0, 300), st.integers(0, 2**31 - 1)), max_size=400),
        max_size=4,
    )
)
def test_round_trip(vectors: dict[str, set[int]]) -> None:
    data, ranges = write_deletion_vectors({name: list(positions) for name, positions in vectors.items()})
    assert data[:1] == b"\x01"
    assert [found.file_name for found in ranges] == list(vectors)
    end = 1
    for found in ranges:
        assert found.offset == end
        end = found.offset + found.length + 8
        for blob in (data[found.offset :], data[found.offset : end]):
            positions = read_deletion_vector(blob, where="x", length=found.length, cardinality=found.cardinality)
            assert positions.tolist() == sorted(vectors[found.file_name])
    assert end == len(data)


def test_runs_are_compressed() -> None:
    data, _ = write_deletion_vectors({"f": range(1_000_000)})
    assert len(data) < 1_000


def test_every_truncation_and_every_flipped_byte_is_an_error() -> None:
    for blob in (FILE_32[1:], blob_64((0, [1, 2]))):
        for size in range(len(blob)):
            with pytest.raises(CorruptError, match="index-9"):
                read_deletion_vector(blob[:size], where="index-9")
            flipped = bytearray(blob)
            flipped[size] ^= 0x40
            with pytest.raises(CorruptError, match="index-9"):
                read_deletion_vector(bytes(flipped), where="index-9")


def test_a_bitmap_that_is_none() -> None:
    body = struct.pack(">i", 1581511376) + b"not a bitmap"
    blob = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    with pytest.raises(CorruptError, match="cannot be decoded"):
        read_deletion_vector(blob, where="index-9")


def test_the_manifest_must_agree() -> None:
    with pytest.raises(CorruptError, match="gives it 23 bytes"):
        read_deletion_vector(FILE_32[1:], where="index-9", length=23)
    with pytest.raises(CorruptError, match="says 5 deleted rows"):
        read_deletion_vector(FILE_32[1:], where="index-9", cardinality=5)


@pytest.mark.parametrize("position", [-1, 2**31])
def test_positions_that_cannot_be(position: int) -> None:
    with pytest.raises(DataError, match="outside of 0"):
        write_deletion_vectors({"f": [1, position]})
