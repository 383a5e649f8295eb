"""What verify reports about a chain table as a whole; ``test_staleness`` is about stale partitions."""

from __future__ import annotations

import pytest
from tests.chain.days import OPTIONS, Days, codes, new_table
from tests.places import stored_path

from lakebed import Lake, changes
from lakebed.chain import write_rules as writes


@pytest.fixture
def days(lake: Lake) -> Days:
    made = new_table(lake)
    made.load(1, {1: "a"})
    made.change(2, {2: "b"})
    return made


def test_a_sound_one(days: Days) -> None:
    assert days.main.verify(deep=True).problems == ()
    assert days.delta.verify().problems == ()


def test_a_missing_branch(days: Days) -> None:
    days.main.drop_branch("delta", force=True)
    report = days.main.verify()
    assert codes(report.errors) == ["chain-branch-missing"]
    assert "sys.create_branch('db.t', 'delta')" in report.problems[0].what


def test_drifted_columns_and_options(days: Days) -> None:
    days.delta.alter(changes.AddColumn("alone", "INT"))
    days.full.alter(changes.SetOption("chain-table.gap-read", "strict"), changes.SetOption("write-only", "true"))
    report = days.main.verify()
    assert codes(report.errors) == ["chain-schema-drift"]
    assert codes(report.warnings) == ["chain-options-drift"]
    assert "branch 'snapshot' has other options than main: chain-table.gap-read" in report.warnings[0].what


def test_partitions_without_a_time(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:  # as another writer would write it
        patched.setattr(writes.ChainWriteGuard, "_check_times", lambda *_: None)
        days.delta.write([{"k": 1, "v": "x", "date": "someday"}])
    report = days.main.verify()
    assert codes(report.errors) == ["chain-no-time"]
    assert "date=someday" in report.errors[0].what
    days.delta.drop_partition({"date": "someday"})
    assert days.main.verify().problems == ()


def test_other_tables_have_nothing_to_say(days: Days) -> None:
    plain = days.lake.create_table(
        "db.p",
        "k INT, date STRING",
        partition_by=["date"],
        primary_key=["date", "k"],
        options={**OPTIONS, "chain-table.enabled": False},
    )
    assert plain.verify().problems == ()


@pytest.mark.local_disk
def test_damage_is_reported_and_not_raised(days: Days) -> None:
    for path in (stored_path(days.main.path) / "manifest").iterdir():
        path.unlink()
    assert "chain-unreadable" in codes(days.main.verify().problems)
