"""What processes do to tables that come and go, branches that are rolled back and snapshots that expire."""

from __future__ import annotations

import time
from collections import Counter

import pyarrow as pa
from tests.faults.storage import Delayed
from tests.places import stored_path

from lakebed import AlreadyExistsError, Lake, LakebedError, NotFoundError, Table, connect

TABLE = "db.t"


def row(life: int, number: int) -> pa.Table:
    return pa.table({"life": pa.array([life], pa.int32()), "id": pa.array([number], pa.int32())})


def rows_of(table: Table) -> list[tuple[int, int]]:
    rows = table.scan().to_arrow()
    return list(zip(rows["life"].to_pylist(), rows["id"].to_pylist(), strict=True))


def is_over(warehouse: str) -> bool:
    return stored_path(warehouse, "over").exists()


# --------------------------------------------------------------------------------------------- tables come and go


def drop_and_create(warehouse: str, lives: int, options: dict[str, str], key: list[str]) -> list[str]:
    """Give a table some lives, told apart by their comment; gives what was wrong with any of them."""
    lake = connect(warehouse)
    problems = []
    for life in range(lives):
        try:
            table = lake.create_table(
                TABLE, "life INT, id INT", comment=str(life), primary_key=key, options={"bucket-key": "id", **options}
            )
        except AlreadyExistsError as error:
            problems.append(repr(error))
            break
        time.sleep(0.05)
        try:
            problems += [f"life {life} shows {found}" for found in rows_of(table) if found[0] != life]
        except LakebedError as error:
            problems.append(f"life {life}: {error!r}")
        if life < lives - 1:
            lake.drop_table(TABLE)
    stored_path(warehouse, "over").touch()
    return problems


def write_to_any_life(warehouse: str, first: int) -> tuple[list[tuple[int, int]], Counter[str], list[str]]:
    """Writes rows to any table of that name; returns acknowledged rows, how often the table was gone, and failures."""
    lake = Lake(warehouse, Delayed(first, 0.005), {})
    acknowledged, ended, failed = [], Counter[str](), []
    number = first
    while not is_over(warehouse):
        try:
            table = lake.table(TABLE)
            life = int(table.schema.comment or "")
        except NotFoundError:
            continue
        for _ in range(5):
            number += 1
            try:
                table.write(row(life, number))
                acknowledged.append((life, number))
            except NotFoundError as error:
                ended[str(error).split(" at ")[0]] += 1
                break
            except Exception as error:
                failed.append(repr(error))
    return acknowledged, ended, failed


def alter_any_life(warehouse: str) -> list[str]:
    """Change the comment-free options of whatever table has the name; gives what failed unexpectedly."""
    from lakebed.changes import SetOption

    lake = connect(warehouse)
    failed = []
    while not is_over(warehouse):
        try:
            table = lake.table(TABLE)
            life = table.schema.comment
            changed = table.alter(SetOption("snapshot.time-retained", f"{time.time_ns() % 1000 + 60} min"))
            if changed.comment != life:
                failed.append(f"a handle of life {life} changed life {changed.comment}")
        except NotFoundError:
            continue
        except Exception as error:
            failed.append(repr(error))
    return failed
