"""The benchmark itself: a small run gives complete results, and what was read is what was written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bench.data import DAYS, ORDERS, PARTITION, SCHEMA, load, make_rows, same_rows, save
from bench.report import markdown, small_table, summarise
from bench.systems import Lakebed, PyArrow

ROOT = Path(__file__).parents[2]
ROWS = 100_000
COMMITS = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The report of a small run, and what it printed."""
    folder = tmp_path_factory.mktemp("bench")
    asked = {
        "--rows": ROWS,
        "--repeats": 1,
        "--tries": 1,
        "--wait": 0,
        "--commits": COMMITS,
        "--systems": "pyarrow,lakebed",
        "--work": folder / "work",
        "--results": folder / "results",
    }
    words = [str(word) for pair in asked.items() for word in pair]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list((folder / "work").iterdir()) == []
    (path,) = (folder / "results").iterdir()
    return json.loads(path.read_text()), done.stdout


@pytest.mark.long
def test_every_system_was_measured_at_every_task(run: tuple[dict[str, Any], str]) -> None:
    report, _ = run
    measured = {(one["task"], one["order"], one["system"]) for one in report["measurements"]}
    assert measured == {
        (task, order, system) for task in ("append", "scan") for order in ORDERS for system in ("pyarrow", "lakebed")
    }
    for one in report["measurements"]:
        assert one["rows"] == ROWS
        assert one["seconds"] > 0
        assert one["cpu_seconds"] > 0
        assert one["peak_bytes"] > one["base_bytes"] > 0
        assert one["bytes"] > ROWS
        assert one["files"] == (1 if (one["task"], one["system"]) == ("append", "pyarrow") else DAYS)


@pytest.mark.long
def test_what_was_read_is_what_was_written(run: tuple[dict[str, Any], str]) -> None:
    report, _ = run
    scans = [one for one in report["measurements"] if one["task"] == "scan"]
    assert [one["equal"] for one in scans] == [True] * 4


@pytest.mark.long
def test_the_report_is_printed_with_ratios(run: tuple[dict[str, Any], str]) -> None:
    report, printed = run
    for row in report["summary"]:
        assert f"{row['ratio']:.2f}" in printed
    assert "| lakebed append |" in printed
    (small,) = report["small"]
    assert len(small["append_ms"]) == COMMITS
    assert list(small["scan_ms"]) == ["1", str(COMMITS)]


def test_rows_are_the_same_every_time_in_both_orders() -> None:
    in_order, shuffled = (make_rows(1000, order) for order in ORDERS)
    assert in_order.schema == shuffled.schema == SCHEMA
    assert in_order.equals(make_rows(1000, ORDERS[0]))
    assert not in_order.equals(shuffled)
    assert same_rows(in_order, shuffled)
    assert in_order[PARTITION].to_pylist() == sorted(in_order[PARTITION].to_pylist())
    assert len(set(in_order[PARTITION].to_pylist())) == DAYS
    assert len(set(in_order["customer"].to_pylist())) == 1000
    assert len(set(in_order["category"].to_pylist())) <= 40


def test_one_changed_value_is_not_the_same_rows(tmp_path: Path) -> None:
    save(tmp_path / "rows.arrow", 1000, "shuffled")
    rows = load(tmp_path / "rows.arrow")
    scores = rows["score"].to_pylist()
    changed = rows.set_column(4, "score", pa.array([*scores[:-1], scores[-1] + 1]))
    assert same_rows(rows, rows)
    assert not same_rows(rows, changed)
    assert not same_rows(rows, rows.slice(1))


def test_lakebed_and_pyarrow_give_back_the_rows(tmp_path: Path) -> None:
    rows = make_rows(5000, "shuffled")
    for kind in (Lakebed, PyArrow):
        system = kind(tmp_path / kind.__name__)
        system.create()
        system.append(rows)
        assert same_rows(system.scan(), rows)


def test_ratios_are_of_the_best_repeats() -> None:
    def one(system: str, seconds: float) -> dict[str, Any]:
        sizes = {"peak_bytes": 3, "base_bytes": 1, "files": 1, "bytes": 9, "rows": 5}
        return {
            "task": "append",
            "order": "sorted",
            "system": system,
            "seconds": seconds,
            "cpu_seconds": 1.0,
            "others_cpu_seconds": 0,
            **sizes,
        }

    slow_first = [one("pyarrow", 4.0), one("lakebed", 9.0), one("pyarrow", 2.0), one("lakebed", 1.0)]
    assert [(row["system"], row["ratio"]) for row in summarise(slow_first)] == [("pyarrow", 1.0), ("lakebed", 0.5)]
    assert summarise([one("lakebed", 1.0)])[0]["ratio"] is None


def test_tables_line_up() -> None:
    assert markdown(["a", "n"], [["bb", "1"], ["c", "22"]]).splitlines() == [
        "| a  |  n |",
        "|----|---:|",
        "| bb |  1 |",
        "| c  | 22 |",
    ]
    times = {"system": "x", "append_ms": [9.0, 1.0, 2.0], "scan_ms": {"1": 1.0, "3": 2.5}}
    assert "| x append   |      9.0 |      2.0 |" in small_table([times])
