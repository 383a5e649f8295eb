"""A write that started before a compaction was planned commits before it: the compaction does not change the rows."""

from __future__ import annotations

import pytest
from tests.metadata.stores import Interrupted
from tests.rows.keyed.keyed_tables import current, keyed, planned, put

from lakebed import CommitConflictError, Lake
from lakebed.metadata.commit.commit import commit
from lakebed.metadata.plan.levels import pick_full


@pytest.mark.parametrize("late", [1, 2])
def test_deletes_are_not_dropped_that_hide_rows_of_a_late_write(lake: Lake, late: int) -> None:
    """The late write has a lower sequence number than the delete, which came first: the delete hides it for good."""
    table = keyed(lake)
    put(table, {1: 1, 2: 2})
    plans = []

    def overtake() -> None:
        put(table, {5: 5, 1: 1}, "-D")
        plans.append(planned(table, pick_full))

    put(Lake(lake.warehouse, Interrupted(overtake), {}).table(table.name), {late: 9})
    before = current(table)
    assert before == {1: {2: 2}, 2: {2: 9}}[late]
    compactor, request = plans[0]
    with pytest.raises(CommitConflictError, match="drops deletes that may apply to rows of"):
        commit(table._store, request)
    compactor.abort()
    assert table.compact(full=True) is not None
    assert current(table) == before


def test_a_compaction_without_deletes_lands_beside_a_late_write(lake: Lake) -> None:
    """Few rows beside the compacted ones, as in a large table."""
    table = keyed(lake)
    put(table, {1: 1, 2: 2})
    plans = []

    def overtake() -> None:
        put(table, {5: 5, 1: 3})
        plans.append(planned(table, pick_full))

    put(Lake(lake.warehouse, Interrupted(overtake), {}).table(table.name), {1: 9})
    before = current(table)
    assert commit(table._store, plans[0][1]) is not None
    assert current(table) == before == {1: 3, 2: 2, 5: 5}
