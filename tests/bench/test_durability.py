"""The benchmark of durable commits: a small run writes to both tables and prints one line for each workload."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.durability import flush_millis, measure, rows

from lakebed import Lake


@pytest.mark.parametrize("keyed", [False, True])
def test_both_tables_are_written(lake: Lake, capsys: pytest.CaptureFixture[str], keyed: bool) -> None:
    measure(lake, "10 rows", rows(10, 1000), commits=2, repeats=2, keyed=keyed)
    cells = [cell.strip() for cell in capsys.readouterr().out.strip().strip("|").split("|")]
    assert cells[0] == "10 rows"
    assert float(cells[3]) > 0
    for durable in (True, False):
        table = lake.table(f"db.10_rows_{durable}")
        assert table.options["commit.durable"] == str(durable).lower()
        latest = table.latest_snapshot()
        assert latest is not None
        assert latest.id == 1 + 2 * 2


def test_a_flush_takes_time(tmp_path: Path) -> None:
    assert flush_millis(tmp_path) > 0
