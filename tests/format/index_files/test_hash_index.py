"""The HASH index file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import CorruptError
from lakebed.format.binary_row import EMPTY_ROW
from lakebed.format.index_files import hash_index
from lakebed.format.manifest.index_manifest import HASH, IndexEntry
from lakebed.format.manifest.manifest import ADD

INT32 = st.integers(-(2**31), 2**31 - 1)


def entry_of(data: bytes, name: str | None = None, *, rows: int | None = None) -> IndexEntry:
    """The entry of a file; by default under the name that Lakebed gives it."""
    return IndexEntry(
        kind=ADD,
        partition=EMPTY_ROW,
        bucket=0,
        index_type=HASH,
        file_name=name or hash_index.checked_name("index-u-0", data),
        file_size=len(data),
        row_count=len(data) // 4 if rows is None else rows,
    )


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_round_trip(hashes: list[int]) -> None:
    data = hash_index.encode(hashes)
    assert len(data) == 4 * len(set(hashes))
    assert data == b"".join(value.to_bytes(4, "big", signed=True) for value in sorted(set(hashes)))
    assert hash_index.decode(data).tolist() == sorted(set(hashes))


def test_any_order_is_read() -> None:
    assert hash_index.decode(bytes.fromhex("5759f99e d206e547 0f8248f4")).tolist() == [
        -771300025,
        260196596,
        1465514398,
    ]


def test_truncated_file_is_named() -> None:
    with pytest.raises(CorruptError, match="index-3 has 7 bytes"):
        hash_index.decode(b"1234567", where="index-3")


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.lists(st.integers(-(2**31), 2**31 - 1), max_size=40))
def test_hashes_are_found_without_sorting(stored: list[int], asked: list[int]) -> None:
    data = b"".join(value.to_bytes(4, "big", signed=True) for value in stored)
    wanted = asked + stored[:3]
    found = hash_index.holds(data, np.array(wanted, np.int32))
    assert found.tolist() == [value in stored for value in wanted]


def test_truncated_file_is_named_when_searched() -> None:
    with pytest.raises(CorruptError, match="index-3 has 7 bytes"):
        hash_index.holds(b"1234567", np.array([1], np.int32), where="index-3")


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_ascending(values: list[int]) -> None:
    assert hash_index.ascending(np.array(values, np.int32)).tolist() == sorted(set(values))


# ---------------------------------------------------------------------------------------------------------- damage


@given(st.lists(INT32))
def test_a_sound_file_is_read(hashes: list[int]) -> None:
    data = hash_index.encode(hashes)
    for entry in (entry_of(data), entry_of(data, "index-of-java-0")):
        assert hash_index.read(data, entry, where="x").tolist() == sorted(set(hashes))


@given(st.lists(INT32, min_size=1, max_size=20), st.data())
def test_any_flipped_bit_is_noticed(hashes: list[int], data: st.DataObject) -> None:
    sound = hash_index.encode(hashes)
    place = data.draw(st.integers(0, 8 * len(sound) - 1))
    damaged = bytearray(sound)
    damaged[place // 8] ^= 1 << place % 8
    for look in (hash_index.read, hash_index.check):
        with pytest.raises(CorruptError, match=r"hash index some/path is damaged: its checksum .* rebuild_index"):
            look(bytes(damaged), entry_of(sound), where="some/path")


@given(st.lists(INT32, min_size=1, max_size=20), st.data())
def test_any_other_size_is_noticed_in_files_of_all_writers(hashes: list[int], data: st.DataObject) -> None:
    sound = hash_index.encode(hashes)
    size = data.draw(st.integers(0, 2 * len(sound)).filter(lambda size: size != len(sound)))
    for name in (None, "index-of-java-0"):
        with pytest.raises(CorruptError, match=f"its manifest says {len(sound)}.*rebuild_index"):
            hash_index.read((sound + sound)[:size], entry_of(sound, name), where="x")


def test_a_number_of_hashes_that_does_not_fit() -> None:
    data = hash_index.encode([1, 2, 3])
    with pytest.raises(CorruptError, match="its 12 bytes are not the 4 hashes of its manifest"):
        hash_index.check(data, entry_of(data, rows=4), where="x")


def test_a_hash_that_is_there_twice() -> None:
    data = np.array([3, 7, 3, 3], ">i4").tobytes()
    with pytest.raises(CorruptError, match=r"x is damaged: it has 2 hashes more than once"):
        hash_index.read(data, entry_of(data, "index-of-java-0"), where="x")
