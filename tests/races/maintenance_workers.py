"""What processes do that clean up after writers, or look at what is cleaned up. Each opens the table itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from tests.faults.storage import Delayed
from tests.places import stored_path

from lakebed import AlreadyExistsError, CommitConflictError, Lake, LakebedError, NotFoundError, Table, connect

TABLE = "db.t"
ENOUGH = 12  # tags or branches; each makes the next expiry look at more
Outcome = tuple[int, int, list[str]]
"""How often something was done, how often in vain, and what failed that must not."""


def _open(warehouse: str) -> Table:
    table: Table = connect(warehouse).table(TABLE)
    return table


def rows_of(table: Table, **at: Any) -> list[int]:
    return sorted(table.scan(["id"], **at).to_arrow()["id"].to_pylist())


def write(warehouse: str, first: int, count: int) -> tuple[list[int], list[str]]:
    """Append one row at a time, on a slow disk; gives the rows acknowledged and what failed."""
    table = Lake(warehouse, Delayed(first), {}).table(TABLE)
    acknowledged, failed = [], []
    for number in range(first, first + count):
        try:
            table.write(pa.table({"p": pa.array([number % 2], pa.int32()), "id": pa.array([number], pa.int64())}))
            acknowledged.append(number)
        except Exception as error:
            failed.append(repr(error))
    stored_path(warehouse, f"done-{first}").touch()
    return acknowledged, failed


def _until_done(
    warehouse: str,
    writers: int,
    act: Callable[[], Any],
    in_vain: type[LakebedError] | tuple[type[LakebedError], ...] = (),
) -> Outcome:
    done = vain = 0
    failed = []
    while len(list(stored_path(warehouse).glob("done-*"))) < writers:
        try:
            act()
            done += 1
        except in_vain:
            vain += 1
        except Exception as error:
            failed.append(repr(error))
        time.sleep(0.002)
    return done, vain, failed


def pack(warehouse: str, writers: int) -> Outcome:
    """Compact an append table until the writers are done."""
    table = _open(warehouse)
    return _until_done(warehouse, writers, lambda: table.compact(full=True), CommitConflictError)


def expire(warehouse: str, writers: int, keep: int) -> Outcome:
    """Expire all but a few snapshots until the writers are done."""
    table = _open(warehouse)
    return _until_done(warehouse, writers, lambda: table.expire_snapshots(retain_max=keep, retain_min=1))


def read(warehouse: str, writers: int) -> Outcome:
    """Read old snapshots until the writers are done: each shows as many rows as it says, or is not found."""
    table = _open(warehouse)

    def act() -> None:
        for snapshot in table.snapshots():
            rows = rows_of(table, version=snapshot.id)
            assert len(set(rows)) == len(rows) == snapshot.total_record_count, (snapshot.id, rows)

    return _until_done(warehouse, writers, act, NotFoundError)


def tag(warehouse: str, writers: int) -> tuple[dict[str, int], list[str]]:
    """Tag the oldest snapshot there is, again and again; gives the tags made and how many rows each must show."""
    table = _open(warehouse)
    made: dict[str, int] = {}

    def act() -> None:
        if len(made) == ENOUGH:
            return
        oldest = table.snapshots()[0]
        name = f"t{len(made)}"
        table.create_tag(name, snapshot=oldest.id)
        made[name] = oldest.total_record_count

    _, _, failed = _until_done(warehouse, writers, act, (NotFoundError, AlreadyExistsError))
    return made, failed


def branch(warehouse: str, writers: int) -> tuple[dict[str, int], list[str]]:
    """Make branches of the oldest snapshot there is; gives those made and how many rows each must show."""
    table = _open(warehouse)
    made: dict[str, int] = {}

    def act() -> None:
        if len(made) == ENOUGH:
            return
        oldest = table.snapshots()[0]
        name = f"b{len(made)}"
        table.create_branch(name, snapshot=oldest.id)
        made[name] = oldest.total_record_count

    _, _, failed = _until_done(warehouse, writers, act, (NotFoundError, AlreadyExistsError))
    return made, failed


def roll_back(warehouse: str, writers: int) -> tuple[int, list[str]]:
    """Take the last snapshots away, again and again; gives how often, and what failed."""
    table = _open(warehouse)

    def act() -> None:
        snapshots = table.snapshots()
        if len(snapshots) > 4:
            table.rollback_to(snapshot=snapshots[-3].id)

    done, _, failed = _until_done(warehouse, writers, act, NotFoundError)
    return done, failed


def remove_orphans(warehouse: str, writers: int) -> Outcome:
    """Remove orphans of the default age until the writers are done."""
    table = _open(warehouse)
    return _until_done(warehouse, writers, lambda: table.remove_orphan_files(dry_run=False))
