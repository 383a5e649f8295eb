"""Unreferenced files, and what a repair does: only what is safe, planned and shown first."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.metadata.stores import files_below
from tests.operations.verify.damage import Surgeon, appended, found, rows
from tests.places import stored_path

import lakebed
from lakebed.errors import StorageError
from lakebed.operations.verify import LookedAt, Problem, Report, carry_out
from lakebed.operations.verify.verify import verify
from lakebed.storage import LocalStorage

TWO_DAYS = 2 * 86_400
LEFT_OVER = {
    "bucket-0/data-0a-0.parquet": "unreferenced-data",
    "bucket-0/changelog-0a-0.parquet": "unreferenced-changelog",
    "manifest/manifest-0a-0": "unreferenced-manifest",
    "manifest/manifest-list-0a-0": "unreferenced-manifest-list",
    "manifest/index-manifest-0a-0": "unreferenced-index-manifest",
    "index/index-0a-0": "unreferenced-index",
    "statistics/stat-0a-0": "unreferenced-statistics",
    "snapshot/.snapshot-9.4f3c0f3e-1111-4222-8333-0123456789ab.tmp": "unreferenced-temporary",
}


def leave(table: lakebed.Table, name: str, *, age: float = 0, content: bytes = b"12345") -> Path:
    path = stored_path(table.path, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    if age:
        os.utime(path, (time.time() - age,) * 2)
    return path


def planned(report: Report) -> set[str]:
    return {step.path for step in report.repairs}


@pytest.mark.parametrize("name", LEFT_OVER)
@pytest.mark.local_disk
def test_an_old_left_over_is_a_warning_and_goes(lake: lakebed.Lake, name: str) -> None:
    table = appended(lake)
    path = leave(table, name, age=TWO_DAYS)
    before = files_below(table.path)

    assert found(table) == [("warning", LEFT_OVER[name], name)]
    report = verify(table._store, repair=True)
    assert planned(report) == {str(path)}
    assert report.ok
    assert not any(step.done for step in report.repairs)
    assert files_below(table.path) == before, "a dry run touched something"

    done = verify(table._store, repair=True, dry_run=False)
    assert [step.done for step in done.repairs] == [True]
    assert files_below(table.path) == before - {name}
    assert found(table) == []


@pytest.mark.parametrize("name", LEFT_OVER)
def test_a_young_left_over_is_told_and_stays(lake: lakebed.Lake, name: str) -> None:
    """It may belong to a write that is going on."""
    table = appended(lake)
    path = leave(table, name)
    assert found(table) == [("info", LEFT_OVER[name], name)]
    assert verify(table._store, repair=True, dry_run=False).repairs == ()
    assert path.exists()


@pytest.mark.local_disk
def test_many_left_overs_of_a_kind_are_one_problem(lake: lakebed.Lake) -> None:
    table = appended(lake)
    for i in range(7):
        leave(table, f"bucket-0/data-0a-{i}.parquet", age=TWO_DAYS if i < 5 else 0)
    (problem,) = verify(table._store).problems
    assert "7 data files (35 bytes)" in problem.what
    assert "5 of them older than a day" in problem.what
    assert "and 2 more" in problem.where


@pytest.mark.local_disk
def test_files_that_are_nobodys_business_are_left_alone(lake: lakebed.Lake) -> None:
    table = appended(lake)
    leave(table, "README.md", age=TWO_DAYS)
    leave(table, ".lakebed/history", age=TWO_DAYS)
    assert found(table) == []


@pytest.mark.local_disk
def test_nothing_is_unreferenced_where_a_reference_cannot_be_read(lake: lakebed.Lake) -> None:
    """The files of a lost manifest look like left-overs, and they are all that is left of its rows."""
    table = appended(lake)
    Surgeon(table).manifest_of(2).unlink()
    for path in stored_path(table.path).rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - TWO_DAYS,) * 2)
    before = files_below(table.path)
    report = verify(table._store, repair=True, dry_run=False)
    assert [problem.code for problem in report.problems] == ["missing-manifest"]
    assert report.repairs == ()
    assert files_below(table.path) == before


@pytest.mark.parametrize(
    ("hint", "text", "right"),
    [("LATEST", "9", "4"), ("LATEST", "x", "4"), ("EARLIEST", "3", "1"), ("EARLIEST", "", "1")],
)
def test_hints_are_written_anew(lake: lakebed.Lake, hint: str, text: str, right: str) -> None:
    table = appended(lake)
    path = stored_path(table.path, "snapshot", hint)
    path.write_text(text)
    assert planned(verify(table._store)) == set(), "nobody asked for a repair"
    (step,) = verify(table._store, repair=True).repairs
    assert (step.action, step.path, path.read_text()) == ("write", str(path), text)
    verify(table._store, repair=True, dry_run=False)
    assert path.read_text() == right
    assert found(table) == []


def test_a_hint_without_any_snapshot_goes(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=0)
    path = leave(table, "snapshot/LATEST", content=b"3")
    verify(table._store, repair=True, dry_run=False)
    assert not path.exists()
    assert found(table) == []


@pytest.mark.parametrize(("name", "content"), [("x.json", b"{"), ("x.json", b""), ("x.bin", b"")])
def test_damaged_sidecars_go(lake: lakebed.Lake, name: str, content: bytes) -> None:
    table = appended(lake)
    sound = [leave(table, ".lakebed/a.json", content=b"{}"), leave(table, ".lakebed/b.bin", content=b"\x00")]
    path = leave(table, f".lakebed/{name}", content=content)
    assert found(table) == [("info", "damaged-sidecar", f".lakebed/{name}")]
    assert planned(verify(table._store, repair=True, dry_run=False)) == {str(path)}
    assert not path.exists()
    assert all(other.exists() for other in sound)


@pytest.mark.local_disk
def test_a_repaired_table_still_has_its_rows(lake: lakebed.Lake) -> None:
    table = appended(lake)
    for name in LEFT_OVER:
        leave(table, name, age=TWO_DAYS)
    stored_path(table.path, "snapshot/LATEST").write_text("99")
    report = verify(table._store, repair=True, dry_run=False)
    assert len(report.repairs) == len(LEFT_OVER) + 1
    assert all(step.done for step in report.repairs)
    assert found(table, deep=True) == []
    table.write(rows(100))
    assert table.scan().to_arrow().num_rows == 9


@pytest.mark.local_disk
def test_what_the_storage_refuses_is_told(lake: lakebed.Lake) -> None:
    class Stubborn(LocalStorage):
        def delete(self, path: str) -> None:
            raise StorageError(f"cannot delete {path}: no")

    table = appended(lake)
    leave(table, "manifest/manifest-0a-0", age=TWO_DAYS)
    plan = verify(table._store, repair=True).repairs
    store = type(table._store)(Stubborn(), table._store.paths, "db.a")
    (step,) = carry_out(store, plan)
    assert not step.done
    assert "failed: cannot delete" in str(step)


# ---------------------------------------------------------------------------------------------------------- report


def test_a_report_reads_like_one(lake: lakebed.Lake) -> None:
    table = appended(lake)
    Surgeon(table).file_of(2).unlink()
    stored_path(table.path, "snapshot/LATEST").write_text("2")
    report = verify(table._store, repair=True)
    text = str(report)
    first, second, *_ = text.splitlines()
    assert first == "db.a: DAMAGED, 1 error, 1 notice"
    assert second.startswith(
        "checked the structure of 1 branch, 4 snapshots, 0 tags, 4 manifests, 4 data files, 8 rows,"
    )
    assert "ERROR   missing-data-file" in text
    assert "INFO    stale-hint" in text
    assert "plan  write" in text
    assert not report.ok
    assert [problem.severity for problem in report.problems] == ["error", "info"]


def test_a_sound_table_says_so(lake: lakebed.Lake) -> None:
    report = verify(appended(lake)._store)
    assert report.ok
    assert report.verdict == "sound, no problems"
    looked = report.looked_at
    assert (looked.branches, looked.snapshots, looked.manifests, looked.data_files, looked.rows) == (1, 4, 4, 4, 8)
    assert looked.bytes > 0


def test_warnings_are_no_errors() -> None:
    warning = Problem("warning", "x", "what", "where", "advice")
    report = Report("t", (warning,), LookedAt())
    assert report.ok
    assert report.warnings == (warning,)
