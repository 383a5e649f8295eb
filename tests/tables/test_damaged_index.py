"""Damaged index files of tables with dynamic buckets: no key gets a second row, no row is missed, and a rebuild
repairs.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.places import stored_path
from tests.rows.keyed.keyed_tables import index_of
from tests.tables.dynamic_tables import buckets_of, check_index, dynamic, forge_index, rows, shown

from lakebed import Lake, Table
from lakebed.buckets.partition_assigners import key_hashes
from lakebed.errors import CorruptError
from lakebed.metadata.hash_indexes import HASH_CACHE

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda data: data[:-4],
    "bit": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "zeros": lambda data: bytes(len(data)),
    "longer": lambda data: data + b"\0\0\0\1",
}


def damage_index(table: Table, how: str, *, only: int | None = None) -> list[str]:
    """Damage the index files of the latest snapshot, or one of them; gives their paths."""
    paths = [stored_path(table.path, "index", entry.file_name) for entry in index_of(table)][
        slice(only, only and only + 1)
    ]
    for path in paths:
        path.write_bytes(DAMAGES[how](path.read_bytes()))
    HASH_CACHE.clear()
    return list(map(str, paths))


@pytest.mark.parametrize("how", DAMAGES)
def test_a_write_refuses_a_damaged_index(lake: Lake, how: str) -> None:
    table = dynamic(lake, target=100)
    table.write(rows(range(400), "a"))
    before = shown(table)
    damaged = damage_index(table, how)
    for keys in (range(400), range(200, 600), [1]):
        with pytest.raises(CorruptError, match=r"hash index .*/index/index-.* is damaged: .*rebuild_index"):
            table.write(rows(keys, "b"))
    assert shown(table) == before
    assert {problem.where for problem in table.verify(deep=True).errors} == set(damaged)


@pytest.mark.parametrize("how", DAMAGES)
def test_an_overwrite_and_a_delete_leave_each_key_once(lake: Lake, how: str) -> None:
    """They may need no index; if they do, they refuse."""
    table = dynamic(lake)
    table.write(rows(range(12), "a"))
    damage_index(table, how)
    with contextlib.suppress(CorruptError):
        table.delete("k = 3")
    assert {(0, key): "a" for key in range(12) if key != 3}.items() <= shown(table).items()
    table.overwrite(rows(range(5), "b"))
    table.write(rows(range(3, 8), "c"))
    assert shown(table) == {(0, key): "b" if key < 3 else "c" for key in range(8)}
    check_index(table)


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("cached", [True, False])
def test_a_damaged_index_is_rebuilt(lake: Lake, how: str, cached: bool) -> None:
    table = dynamic(lake)
    table.write(rows(range(10), "a"))
    (path,) = damage_index(table, how, only=1)
    if cached:  # this process wrote the index, and knows what it was
        sound = dynamic_index_hashes(table, 1)
        HASH_CACHE.put(path, pa.table({"hash": sound}))
    problem = table.verify(deep=True).errors[0]
    assert (problem.where, "rebuild_index" in problem.advice) == (path, True)
    done = table.rebuild_index(dry_run=False)
    assert [one.bucket for one in done.buckets] == [1]
    HASH_CACHE.clear()
    check_index(table)
    table.write(rows(range(5, 12), "b"))
    assert shown(table) == {(0, key): "a" if key < 5 else "b" for key in range(12)}
    assert table.verify(deep=True).ok


def dynamic_index_hashes(table: Table, bucket: int) -> Any:
    keys = [key for (_, key), own in buckets_of(table).items() if own == bucket]
    return np.sort(key_hashes(rows(keys, ""), table.schema))


@pytest.mark.parametrize("how", DAMAGES)
def test_a_lookup_by_key_does_not_trust_a_damaged_index(lake: Lake, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """It reads all buckets, so no row is missing, and the log says what to do."""
    table = dynamic(lake)
    table.write(rows(range(12), "a"))
    damage_index(table, how)
    for key in range(12):
        assert shown(table, where=f"p = 0 AND k = {key}") == {(0, key): "a"}
    assert "without its hash index" in caplog.text
    assert "rebuild_index" in caplog.text


def test_an_index_of_another_writer_has_no_checksum(lake: Lake) -> None:
    """Its size and number of hashes are checked; what is in it is believed."""
    table = dynamic(lake)
    table.write(rows(range(4), "a"))
    forge_index(table, 0, [11, 12, 13, 14, 15])
    table.write(rows([9], "b"))
    HASH_CACHE.clear()
    forge_index(table, 0, [11, 12, 13, 14])
    path = stored_path(table.path, "index/index-foreign-0")
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(CorruptError, match=r"index-foreign-0 is damaged: it has 12 bytes, but its manifest says 16"):
        table.write(rows([10], "c"))


def test_a_checksum_survives_what_happens_to_a_table(lake: Lake) -> None:
    """Tags, branches, expiry and merged manifests keep the name of an index file, and so its checksum."""
    table = dynamic(lake, {"manifest.merge-min-count": "2"})
    for number in range(6):
        table.write(rows(range(number, number + 3), str(number)))
    table.create_tag("t")
    table.create_branch("b", tag="t")
    table.compact(full=True)
    table.compact_manifests()
    table.expire_snapshots(retain_min=1, retain_max=1, older_than=2**50)
    for one in (table, table.branch("b")):
        assert all(re.search("-crc32-[0-9a-f]{8}$", entry.file_name) for entry in index_of(one))
        HASH_CACHE.clear()
        one.write(rows([1], "x"))
        path = stored_path(table.path, "index", index_of(one)[0].file_name)
        sound = path.read_bytes()
        path.write_bytes(DAMAGES["bit"](sound))
        HASH_CACHE.clear()
        with pytest.raises(CorruptError, match="its checksum is"):
            one.write(rows([2], "x"))
        path.write_bytes(sound)
    assert table.verify(deep=True).ok
