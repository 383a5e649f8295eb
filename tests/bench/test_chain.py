"""The benchmark of chain tables: a small run measures everything, and its goals are told right."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.chain import Results, changes, date_of, goals, measure, report


def test_a_small_run(tmp_path: Path) -> None:
    found = measure(tmp_path, 2000, 9, 0.02, buckets=1)
    assert sorted(found.reads) == [0, 1, 7]
    assert len(found.land_seconds) == 8
    assert len(found.compact_seconds) == 1
    assert 1 < found.copies_without_compaction < found.copies_with_newest == found.copies_with_all
    text = report(found)
    assert "read of a day at depth 7" in text
    assert "9 daily full copies" in text


def test_changes_are_of_known_and_new_keys() -> None:
    first, second = changes(1000, 0.1, 1), changes(1000, 0.1, 2)
    assert first["op"].to_pylist().count("-D") == 10
    assert sorted(first["order_id"].to_pylist())[-20:] == list(range(1000, 1020))
    assert sorted(second["order_id"].to_pylist())[-20:] == list(range(1020, 1040))
    assert len(set(first["order_id"].to_pylist())) == 100
    assert date_of(31) == "20250901"


@pytest.mark.parametrize(("delta", "copy", "deep", "met"), [(350, 12.0, 1.1, [True] * 3), (500, 9.0, 1.3, [False] * 3)])
def test_goals(delta: int, copy: float, deep: float, met: list[bool]) -> None:
    found = Results(1, 30, 0.01, 1.0, 1000, [1.0], delta, [copy], 1000, {0: 1.0, 7: deep}, [1.0], [900, 1000])
    assert [line.startswith("met") for line in goals(found) if not line.startswith(" ")] == met
    assert found.copies_with_all == pytest.approx(2.9 + delta / 1000)
    assert found.copies_with_newest == pytest.approx(2 + delta / 1000)
