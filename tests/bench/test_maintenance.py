"""The benchmark of expiry and verify: a small run gives complete results, and its table is what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.maintenance import TASKS, build, open_table, report

ROOT = Path(__file__).parents[2]
FILES, SNAPSHOTS, KEEP = 240, 48, 8


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What a small run measured, and what it printed."""
    folder = tmp_path_factory.mktemp("bench")
    asked: dict[str, Any] = {"--files": FILES, "--snapshots": SNAPSHOTS, "--keep": KEEP, "--wait": 0}
    asked |= {"--work": folder / "work", "--results": folder / "results"}
    words = [str(word) for pair in asked.items() for word in pair]
    done = subprocess.run(
        [sys.executable, "-m", "bench.maintenance", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list((folder / "work").iterdir()) == []
    (path,) = (folder / "results").iterdir()
    return json.loads(path.read_text()), done.stdout


@pytest.mark.long
def test_every_task_was_measured_at_both_sizes(results: tuple[dict[str, Any], str]) -> None:
    found, printed = results
    assert list(found) == ["quarter", "whole"]
    for part, divisor in (("quarter", 4), ("whole", 1)):
        assert tuple(found[part]) == TASKS
        dry, before, expiry, after = found[part].values()
        assert before["snapshots"] == SNAPSHOTS // divisor
        assert after["snapshots"] == KEEP // divisor
        assert dry["snapshots"] == expiry["snapshots"] == (SNAPSHOTS - KEEP) // divisor
        assert dry["files"] == expiry["files"] == expiry["deleted"]
        assert dry["deleted"] == 0
        for one in found[part].values():
            assert one["seconds"] > 0
            assert one["peak_bytes"] >= one["base_bytes"] > 0
            assert one["opened"] > 0
            assert one["problems"] == []
    assert printed.count("\n| ") >= len(TASKS)


def test_the_table_has_the_files_and_snapshots_asked_for(tmp_path: Path) -> None:
    build(tmp_path, 100, 31)
    table = open_table(tmp_path)
    assert [snapshot.id for snapshot in table.snapshots()] == list(range(1, 32))
    assert len(table.scan().plan().files) == 100
    assert {str(snapshot.commit_kind) for snapshot in table.snapshots()} == {"APPEND", "COMPACT"}
    assert table.scan().to_arrow().num_rows == 100
    assert table.verify(deep=True).problems == ()


def test_ratios_are_against_the_quarter() -> None:
    one = {"snapshots": 1, "files": 2, "seconds": 1.0, "cpu_seconds": 2.0, "opened": 5, "deleted": 0}
    one |= {"peak_bytes": 3_000_000, "base_bytes": 1_000_000}
    other = one | {"seconds": 4.0, "cpu_seconds": 6.0, "opened": 35}
    line = report(dict.fromkeys(TASKS, one), dict.fromkeys(TASKS, other)).splitlines()[2]
    assert [cell.strip() for cell in line.split("|")[4:11]] == ["4.00", "4.0", "6.00", "3.0", "2 MB", "35", "7.0"]
