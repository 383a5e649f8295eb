"""Writers beside compactors of manifests: nothing is lost, nobody fails.

A minute long with ``LAKEBED_RACE_SECONDS=60``.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from tests.metadata.stores import check_tidy, open_store
from tests.races import manifest_workers as workers
from tests.races.crew import together

from lakebed import Table, connect
from lakebed.format.snapshot import CommitKind

SECONDS = float(os.environ.get("LAKEBED_RACE_SECONDS", "4"))
WRITERS = 4
KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {}),
    "keyed": (["p", "id"], {"bucket": "1"}),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_four_writers_and_compactors_of_manifests(tmp_path: Path, kind: str) -> None:
    warehouse = str(tmp_path / "w")
    lake = connect(warehouse)
    lake.create_database("db")
    keys, own = KINDS[kind]
    options = {**own, "manifest.compaction.mode": "ASYNC", "manifest.merge-min-count": "5"}
    table = lake.create_table("db.t", "p INT, id BIGINT", partition_by=["p"], primary_key=keys, options=options)
    tasks = [(workers.write_for, (warehouse, 1_000_000 * n, SECONDS)) for n in range(1, WRITERS + 1)]
    *written, (folds, refused) = together(
        [*tasks, (workers.fold_manifests, (warehouse, WRITERS))], timeout=SECONDS * (workers.LONGER + 10) + 120
    )
    assert [error for _, failed in written for error in failed] == []
    assert refused == []
    acknowledged = sorted(number for done, _ in written for number in done)
    assert sorted(table.scan(["id"]).to_arrow()["id"].to_pylist()) == acknowledged
    check_history(table, acknowledged if kind == "append" else None, folds)
    check_tidy(table.path)
    wrong = [problem for problem in table.verify().problems if problem.code != "overlapping-sequences"]
    assert wrong == []  # that one is no damage: it says that several writers wrote to one bucket at once


def check_history(table: Table, acknowledged: list[int] | None, folds: int) -> None:
    """Merges happened, in the background too, and change nothing; every append of one row brings one row."""
    snapshots = table.snapshots()
    assert [snapshot.id for snapshot in snapshots] == list(range(1, len(snapshots) + 1))
    of_metadata = workers.merges(table)
    assert len(of_metadata) > folds > 0, "no merge in the background, or none asked for"
    metas = open_store(table.path).manifests.base_and_delta(snapshots[-1])
    assert len(metas) < len(snapshots) // 2
    if acknowledged is None:
        return
    assert len(snapshots) == len(acknowledged) + len(of_metadata)
    for before, after in pairwise(snapshots):
        brought = 1 if after.commit_kind is CommitKind.APPEND else 0
        assert after.total_record_count == before.total_record_count + brought
