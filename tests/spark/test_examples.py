"""The examples that need Spark run by themselves, each with a session of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.examples.run_example import ON_SPARK, run_example

PRINTED = {
    "spark_batch.py": ["|      c9|  2512000.0|", "|  5000|5714250.0|", "| 10000|2.50975E7|", "2 after it"],
    "streaming.py": [
        "the copy after the first run: [{'id': 1, 'state': 'new'}, {'id': 2, 'state': 'new'}]",
        "the copy after the second run: [{'id': 2, 'state': 'paid'}, {'id': 3, 'state': 'new'}]",
        "snapshot 2 of the copy: APPEND, 3 records",
    ],
}


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_example_runs(name: str, tmp_path: Path) -> None:
    printed = run_example(name, tmp_path)
    assert [text for text in PRINTED[name] if text not in printed] == [], printed


def test_every_example_on_spark_has_a_test() -> None:
    assert set(PRINTED) == ON_SPARK
