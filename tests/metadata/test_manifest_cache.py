"""Decoded manifests are kept: in memory up to a size and an age, on disk, and decoded once however many ask."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from tests.metadata.entries import adds, names_of

import lakebed
from lakebed.errors import NotFoundError, OptionError
from lakebed.metadata.manifest_cache import DiskCache, ManifestCache

TABLE = adds("a", "b")


def never() -> pa.Table:
    raise AssertionError("it is known")


def known(cache: ManifestCache, *paths: str) -> list[bool]:
    """Which are known, without making them so."""
    return [path in cache._tables for path in paths]


def test_the_least_recently_used_go_first() -> None:
    cache = ManifestCache(max_bytes=3 * TABLE.nbytes)
    for name in "abc":
        cache.load(name, lambda: TABLE)
    assert cache.load("a", never) is TABLE
    cache.load("d", lambda: TABLE)
    assert known(cache, "a", "b", "c", "d") == [True, False, True, True]
    cache.load("large", lambda: pa.concat_tables([TABLE] * 4))
    assert known(cache, "a", "c", "d", "large") == [True, True, True, False]
    found = cache.statistics()
    assert (found.hits, found.misses, found.manifests, found.bytes) == (1, 5, 3, 3 * TABLE.nbytes)
    assert "17% known" in str(found)


def test_what_is_not_used_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    cache = ManifestCache(expire_after=10)
    cache.load("a", lambda: TABLE)
    cache.load("b", lambda: TABLE)
    now = 108.0
    cache.load("b", never)
    now = 112.0
    cache.load("b", never)
    assert known(cache, "a", "b") == [False, True]
    assert cache.statistics().bytes == TABLE.nbytes


def test_many_readers_decode_once() -> None:
    cache = ManifestCache()
    decoded = []
    together = threading.Barrier(8)

    def decode() -> pa.Table:
        decoded.append(1)
        time.sleep(0.05)
        return TABLE

    def ask(_: int) -> pa.Table:
        together.wait()
        return cache.load("m", decode)

    with ThreadPoolExecutor(8) as pool:
        assert all(table is TABLE for table in pool.map(ask, range(8)))
    assert len(decoded) == 1
    assert (cache.hits, cache.misses) == (7, 1)


def test_a_failure_reaches_all_who_wait_and_is_not_kept() -> None:
    cache = ManifestCache()
    together = threading.Barrier(2)

    def decode() -> pa.Table:
        together.wait()
        time.sleep(0.05)
        raise NotFoundError("gone")

    def second() -> None:
        together.wait()
        with pytest.raises(NotFoundError):
            cache.load("m", never)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second)
        with pytest.raises(NotFoundError):
            cache.load("m", decode)
        waiting.result()
    assert cache.load("m", lambda: TABLE) is TABLE


def test_the_disk_serves_other_processes(tmp_path: Path) -> None:
    first = ManifestCache(disk=DiskCache(tmp_path / "c"))
    first.load("m", lambda: TABLE)
    second = ManifestCache(disk=DiskCache(tmp_path / "c"))
    assert second.load("m", never).equals(TABLE)
    assert (second.disk_hits, second.misses) == (1, 0)
    (file,) = (tmp_path / "c").iterdir()
    file.write_bytes(b"damaged")
    third = ManifestCache(disk=DiskCache(tmp_path / "c"))
    assert names_of(third.load("m", lambda: TABLE)) == ["a", "b"]
    assert third.misses == 1
    assert ManifestCache(disk=DiskCache(tmp_path / "c")).load("m", never).equals(TABLE)


def test_the_disk_keeps_to_its_size_and_may_be_missing(tmp_path: Path) -> None:
    one = DiskCache(tmp_path / "c")
    one.put("a", TABLE)
    size = next((tmp_path / "c").iterdir()).stat().st_size
    small = DiskCache(tmp_path / "c", max_bytes=2 * size)
    for name in "bcd":
        time.sleep(0.01)
        small.put(name, TABLE)
    assert [small.get(name) is not None for name in "abcd"] == [False, False, True, True]
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    DiskCache(blocked / "c").put("a", TABLE)
    assert DiskCache(blocked / "c").get("a") is None


def test_a_warehouse_with_its_own_cache(tmp_path: Path) -> None:
    options = {"manifest.cache.max-size": "1 mb", "manifest.cache.directory": str(tmp_path / "cache")}
    lake = lakebed.connect(tmp_path / "w", options=options)
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT")
    lakebed.connect(tmp_path / "w").table("db.t").write([{"id": 1}])
    assert table.scan().to_arrow().num_rows == 1
    assert table.scan().to_arrow().num_rows == 1
    found = lake.cache_statistics()
    assert (found.misses, found.disk_hits) == (1, 0)
    assert found.hits >= 1
    again = lakebed.connect(tmp_path / "w", options=options)
    assert again.table("db.t").scan().to_arrow().num_rows == 1
    assert (again.cache_statistics().misses, again.cache_statistics().disk_hits) == (0, 1)
    again.table("db.t").write([{"id": 2}])
    assert again.table("db.t").scan().to_arrow().num_rows == 2
    assert again.cache_statistics().misses == 0, "what a process wrote it need not decode"
    named = {"paimon.manifest.cache.max-size": "1 mb", "paimon.manifest.cache.expire-ms": "60000"}
    assert lakebed.connect(tmp_path / "w", options=named).table("db.t").scan().to_arrow().num_rows == 2
    assert lakebed.connect(tmp_path / "w", options=named).cache_statistics().misses == 0
    with pytest.raises(OptionError, match="given twice"):
        lakebed.connect(tmp_path, options={**options, **named})
    for name in ("manifest.cache.max-size", "paimon.manifest.cache.expire-ms"):
        with pytest.raises(OptionError, match="is an option of the warehouse and would have no effect on a table"):
            lake.create_table("db.u", "id INT", options={name: "1"})
        with pytest.raises(OptionError, match="is an option of the warehouse"):
            table.alter(lakebed.changes.SetOption(name, "1"))
    with pytest.raises(OptionError, match="must be"):
        lakebed.connect(tmp_path, options={"manifest.cache.max-size": "much"})
    with pytest.raises(OptionError, match="must be"):
        lakebed.connect(tmp_path, options={"manifest.cache.expire-ms": "x"})
    with pytest.raises(OptionError, match="unknown option"):
        lakebed.connect(tmp_path, options={"manifest.cache.maxsize": "1 mb"})
