from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.stores import Failing, Interrupted, files_below, new_store, open_store

from lakebed.errors import LakebedError, NotFoundError, StorageError
from lakebed.metadata.storage_clock import storage_millis


def test_it_is_the_time_of_the_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store(tmp_path / "t")
    before = time.time_ns() // 1_000_000
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert before - 1000 <= storage_millis(store) <= before + 60_000
    assert files_below(tmp_path / "t") == {"schema/schema-0"}


def test_every_file_that_exists_is_older(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    for number in range(50):
        path = tmp_path / f"{number}"
        path.touch()
        assert path.stat().st_mtime_ns // 1_000_000 < storage_millis(store)


def test_it_makes_no_folders_where_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        storage_millis(open_store(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


def test_failures_leave_no_file_or_a_temporary_one(tmp_path: Path) -> None:
    new_store(tmp_path / "t")
    for fail_at in range(1, 20):
        storage = Failing(fail_at, after=fail_at % 2 == 0)
        try:
            storage_millis(open_store(tmp_path / "t", storage))
        except LakebedError:
            assert storage.failed
    left = {os.path.basename(name) for name in files_below(tmp_path / "t")} - {"schema-0"}  # noqa: PTH119
    assert all(name.startswith(".clock.") and name.endswith(".tmp") for name in left)


def test_a_file_that_others_delete_at_once(tmp_path: Path) -> None:
    new_store(tmp_path / "t")

    def delete(*_: Any) -> None:
        for path in (tmp_path / "t" / "snapshot").glob(".clock*"):
            path.unlink()

    once = Interrupted(delete, before="list", ending="/snapshot")
    assert storage_millis(open_store(tmp_path / "t", once)) > 0
    always = Interrupted(*[delete] * 10, before="list", ending="/snapshot")
    with pytest.raises(StorageError, match="try again"):
        storage_millis(open_store(tmp_path / "t", always))
