"""The HASH index file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import CorruptError
from lakebed.format.index_files import hash_index


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
