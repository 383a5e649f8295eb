"""The benchmark of object stores: its table, and that every peer can be asked for everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.storage import LINES, Sizes, table_of
from bench.storage_systems import SMALL, SYSTEMS, Lakebed, Place, StoredTable, small_rows

SIZES = Sizes(commits=3, keys=100, rows=1000, repeats=1, big_repeats=1, warm=1)


def test_the_table_has_medians_and_the_shortest_chain() -> None:
    def one(seconds: float, chain: int) -> dict[str, Any]:
        memory = {"peak_bytes": 5_000_000, "base_bytes": 2_000_000}
        shown = {"task": "load", "state": "cold", "system": "lakebed", "seconds": seconds, "requests": chain + 1}
        return shown | memory | {"chain": chain}

    (line,) = table_of([one(0.4, 7), one(0.2, 6), one(0.3, 9)], SIZES).splitlines()[2:]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["open, append 1,000 rows", "lakebed", "300", "200 to 400", "7", "6", "3 MB"]


def test_titles_can_be_written() -> None:
    titles = [title.format(commits=1, keys=2, rows=3) for title in LINES.values()]
    assert len(set(titles)) == len(LINES)


def test_lakebed_does_all_tasks(tmp_path: Path) -> None:
    table = Lakebed(Place(str(tmp_path / "warehouse"), {}, tmp_path, "t"))
    table.create(SMALL, key="id")
    handle = table.open()
    table.append(handle, small_rows(0, 50))
    table.append(handle, small_rows(50, 1))
    assert table.plan(handle) >= 1
    assert table.history(handle) == 2
    assert table.lookup(handle, 50)["id"].to_pylist() == [50]
    assert len(table.read(table.open())) == 51


def test_every_system_has_all_tasks() -> None:
    assert all(issubclass(system, StoredTable) and not system.__abstractmethods__ for system in SYSTEMS.values())
