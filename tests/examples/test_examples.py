"""Every example that needs no Spark runs by itself, prints what it promises and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.examples.run_example import DEMO, EXAMPLES, ON_SPARK, run_example

PRINTED = {
    "in_process.py": [
        "to read: 2 files",
        "2 events now, 4 before the delete",
        "columns: id, customer, amount, day, note",
        "customers: [{'id': 2, 'name': 'bob', 'city': 'Oslo'}]",
    ],
    "chain_table.py": [
        "20250103: 0 new, 1 paid, 2 new, 3 new, 4 new, 7 new",
        "anchor day=20250101, depth 2",
        "WARNING chain-stale",
        "20250104: 1 returned, 2 new, 3 new, 4 new\n",
    ],
    "maintenance.py": [
        "12 files before the compaction",
        "1 file after it, the same 12 rows",
        "the branch has 6 rows, main still 12",
        "main after the fast-forward: 6 rows",
        "main after the rollback: 12 rows",
        "snapshots left: [13]",
        "shop.orders: sound",
    ],
    "service.py": [
        "lakebed serves demo at http://127.0.0.1:",
        "tables: ['shop.orders']",
        "snapshot 3: APPEND, 9 records",
        "rows: [[0, 'sent'], [1, 'sent']]",
        "health: ok",
    ],
}


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_example_runs(name: str, tmp_path: Path) -> None:
    printed = run_example(name, tmp_path)
    assert [text for text in PRINTED[name] if text not in printed] == [], printed
    assert list((tmp_path / "temporary").iterdir()) == []


def test_every_example_has_a_test() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*PRINTED, *ON_SPARK, DEMO}
