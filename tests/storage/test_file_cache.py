"""The cache of data files on the local disk: bounded, shared, and never an error."""

from __future__ import annotations

import os
from pathlib import Path

from lakebed.storage.file_cache import FileCache


def content(cache: FileCache, path: str) -> bytes | None:
    found = cache.get(path)
    return None if found is None else bytes(found)


def test_what_was_put_is_found(tmp_path: Path) -> None:
    cache = FileCache(str(tmp_path / "cache"))
    assert cache.get("s3://b/x") is None
    cache.put("s3://b/x", b"content")
    assert content(cache, "s3://b/x") == b"content"
    assert content(FileCache(str(tmp_path / "cache")), "s3://b/x") == b"content"
    assert cache.get("s3://b/y") is None


def test_a_damaged_copy_is_not_used(tmp_path: Path) -> None:
    cache = FileCache(str(tmp_path))
    cache.put("s3://b/x", b"content")
    place = cache._place("s3://b/x")
    whole = place.read_bytes()
    for damaged in (b"", b"content", whole[:-1], whole[1:], whole + b"x"):
        place.write_bytes(damaged)
        assert cache.get("s3://b/x") is None
    cache.put("s3://b/x", b"content")
    assert content(cache, "s3://b/x") == b"content"


def test_the_files_used_last_are_kept(tmp_path: Path) -> None:
    cache = FileCache(str(tmp_path), max_bytes=80)
    for age, name in enumerate(("a", "b", "c")):
        cache.put(name, name.encode() * 10)
        os.utime(cache._place(name), (1_000_000 + age, 1_000_000 + age))
    assert cache.get("a") is not None  # now it is the youngest
    cache.put("d", b"d" * 10)
    assert [name for name in "abcd" if cache.get(name) is not None] == ["a", "c", "d"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 80


def test_large_files_are_not_taken(tmp_path: Path) -> None:
    cache = FileCache(str(tmp_path), max_bytes=100)
    assert cache.takes(25)
    assert not cache.takes(26)
    assert not cache.takes(0)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    cache = FileCache(str(tmp_path / "file" / "below"))
    cache.put("x", b"1")
    assert cache.get("x") is None
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
