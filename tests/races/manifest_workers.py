"""What processes do that write, or merge manifests, for some time. Each opens the table itself."""

from __future__ import annotations

import time

import pyarrow as pa
from tests.metadata.stores import open_store
from tests.places import stored_path

from lakebed import Table, connect
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.operations.after_commit import wait_for_background

TABLE = "db.t"
LONGER = 15
"""A busy machine may need so many times as long until everything has happened once."""


def _open(warehouse: str) -> Table:
    table: Table = connect(warehouse).table(TABLE)
    return table


def write_for(warehouse: str, first: int, seconds: float) -> tuple[list[int], list[str]]:
    """Write one row at a time until the time is up and manifests were merged; gives the rows acknowledged and what
    failed.
    """
    table = _open(warehouse)
    acknowledged, failed = [], []
    began = time.monotonic()
    number = first
    while (passed := time.monotonic() - began) < seconds or (
        passed < seconds * LONGER and not stored_path(warehouse, "merged").exists()
    ):
        try:
            table.write(pa.table({"p": pa.array([number % 3], pa.int32()), "id": pa.array([number], pa.int64())}))
            acknowledged.append(number)
        except Exception as error:
            failed.append(repr(error))
        number += 1
    wait_for_background()
    stored_path(warehouse, f"done-{first}").touch()
    return acknowledged, failed


def fold_manifests(warehouse: str, writers: int) -> tuple[int, list[str]]:
    """Compact manifests until the writers are done; gives how often that made a snapshot, and what failed."""
    table = _open(warehouse)
    made, failed = 0, []
    while len(list(stored_path(warehouse).glob("done-*"))) < writers:
        try:
            made += table.compact_manifests().snapshot is not None
        except Exception as error:
            failed.append(repr(error))
        if made and len(merges(table)) > made:
            stored_path(warehouse, "merged").touch()
        time.sleep(0.02)
    return made, failed


def merges(table: Table) -> list[Snapshot]:
    """The snapshots that changed manifests only."""
    manifests = open_store(table.path).manifests
    found = [one for one in table.snapshots() if one.commit_kind is CommitKind.COMPACT]
    return [one for one in found if not manifests.read_list(one.delta_manifest_list)]
