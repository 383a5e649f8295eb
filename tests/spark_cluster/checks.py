"""What must hold after anything that happened to a table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from tests.faults.state import check_harmless, rows_of

from lakebed import Table

COLUMNS = "p INT, k STRING, v BIGINT"


def rows(numbers: range, partitions: int = 3) -> pa.Table:
    """Rows whose keys repeat after 40."""
    return pa.table(
        {
            "p": pa.array([n % 40 % partitions for n in numbers], pa.int32()),
            "k": pa.array([f"key {n % 40}" for n in numbers]),
            "v": pa.array(numbers, pa.int64()),
        }
    )


def same_rows(found: pa.Table) -> list[str]:
    """Rows in any order, as texts, so that nulls can be sorted."""
    return sorted(map(repr, found.to_pylist()))


def problems(table: Table, *, deep: bool = False) -> list[str]:
    """What verify finds, but for hints of the latest snapshot that lag behind, which nobody relies on."""
    found = table.verify(deep=deep).problems
    return [str(problem) for problem in found if problem.code not in {"stale-hint", "hint-ahead"}]


def check_sound(table: Table, rows: list[tuple[Any, ...]], *, tidy: bool) -> None:
    """The table holds these rows, each once, and nothing is wrong with it but files that nobody refers to, and not even
    those if it must be ``tidy``; orphan removal leaves exactly what is needed."""
    wanted = tuple(sorted(rows, key=repr))
    assert rows_of(table) == wanted
    check_harmless(table)
    if tidy:
        assert problems(table) == []
    table.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)
    assert problems(table, deep=True) == []
    assert rows_of(table) == wanted
