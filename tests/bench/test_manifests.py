"""The benchmark of commits and plans: a small run gives complete results, and the tables are what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.manifests import commit_table, history_table, plan_table
from bench.many_files import DAYS, FILTERS, Lakebed, key_asked, one_row

ROOT = Path(__file__).parents[2]
FILES, MARKS, COMMITS = [10, 100, 200], [20, 25], 3


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What a small run measured, and what it printed."""
    folder = tmp_path_factory.mktemp("bench")
    asked: dict[str, Any] = {
        "--files": ",".join(map(str, FILES)),
        "--marks": ",".join(map(str, MARKS)),
        "--commits": COMMITS,
        "--repeats": 1,
        "--wait": 0,
        "--systems": "lakebed",
        "--work": folder / "work",
        "--results": folder / "results",
    }
    words = [str(word) for pair in asked.items() for word in pair]
    done = subprocess.run(
        [sys.executable, "-m", "bench.manifests", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list((folder / "work").iterdir()) == []
    (path,) = (folder / "results").iterdir()
    return json.loads(path.read_text()), done.stdout


@pytest.mark.long
def test_everything_was_measured(run: tuple[dict[str, Any], str]) -> None:
    found, printed = run
    assert list(found["commits"]["lakebed"]) == [str(size) for size in FILES]
    for by_kind in found["commits"]["lakebed"].values():
        assert list(by_kind) == ["new", "kept", "entry"]
        for one in by_kind.values():
            assert one["longest_ms"] >= one["ms"] > 0
            assert one["commits"] == COMMITS
            assert one["bytes"] > 1000
    for name in ("history", "keyed history"):
        assert list(found[name]["lakebed"]["marks"]) == [str(mark) for mark in MARKS]
        assert found[name]["lakebed"]["commits"] == MARKS[-1]
    assert 0 < found["bytes"]["written"] < found["bytes"]["full"]
    counts = [found["plans"]["lakebed"][which]["found"] for which in FILTERS]
    assert counts == [FILES[-1], FILES[-1] // DAYS, 1]
    assert printed.count("| lakebed") == 6


def test_made_up_files_are_told_apart_by_day_and_by_id(tmp_path: Path) -> None:
    store = Lakebed(tmp_path)
    store.fill(100)
    table = store.open()
    assert [store.plan(table, which, key_asked(100)) for which in FILTERS] == [100, 100 // DAYS, 1]
    assert len(set(table.scan().plan().files["file_path"].to_pylist())) == 100
    store.append(table, one_row(100))
    assert store.plan(table, "key", 100_000) == 1


def test_what_was_not_reached_is_left_empty() -> None:
    one = {"ms": 2.0, "bytes": 10.0}
    result = {"marks": {"20": one, "100": {**one, "ms": 3.0}}, "commits": 150}
    line = history_table({"x": result}, [20, 100, 400], ", slow").splitlines()[2]
    assert [cell.strip() for cell in line.split("|")[1:-1]] == ["x, slow", "2.0", "3.0", "", "1.50", "10"]
    table = commit_table({"x": {"100": {"new": one}, "10000": {"new": {**one, "ms": 5.0}}}})
    assert "| x, new" in table
    assert "2.50" in table
    plan = {which: {"cold_ms": 30.0, "warm_ms": 4.0} for which in FILTERS}
    assert plan_table({"x": plan}).splitlines()[2].count("| ") == 7
