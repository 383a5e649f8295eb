"""How a primary-key case is played: who writes, who compacts, and what must hold after every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from tests.interop.cases import Fields, comparable, expected
from tests.interop.keyed_cases import OP, Alter, Keyed, Overwrite, Step, filters, has_kinds, keyed_table
from tests.interop.matrix import TABLE
from tests.interop.matrix import Side as AnySide
from tests.interop.oracle import Oracle, OracleError
from tests.interop.ours import Ours


class Side(AnySide, Protocol):
    """A side that can also write kinds of rows and compact."""

    def compact(self, warehouse: Path, table: str, *, full: bool) -> None: ...


@dataclass(frozen=True)
class Order:
    """Who takes the steps and who compacts after every second of them, in turn ("us full", "java", ...)."""

    name: str
    writers: tuple[str, ...]
    compactors: tuple[str, ...] = ()


ORDERS = [
    Order("we write", ("us",)),
    Order("java writes and we compact", ("java",), ("us", "us full")),
    Order("we write and java compacts", ("us",), ("java", "java full")),
    Order("all in turn", ("us", "java"), ("us full", "java", "us", "java full")),
]


def play_keyed(
    case: Keyed, order: Order, sides: Mapping[str, Side | Oracle | Ours], readers: Sequence[str], warehouse: Path
) -> None:
    """All readers agree after every step and every compaction, and find the expected rows in the end."""
    maker = sides[order.writers[0]]
    maker.create_table(
        warehouse, TABLE, case.fields, case.partition_by, primary_keys=case.keys, options=case.table_options
    )
    fields = case.fields
    compactions = 0
    for i, step in enumerate(case.steps):
        writer = order.writers[i % len(order.writers)]
        fields = take(step, sides[writer], fields, warehouse)
        agree(sides, readers, fields, warehouse, f"after step {i} by {writer}")
        if order.compactors and (i % 2 or i == len(case.steps) - 1):
            who, *full = order.compactors[compactions % len(order.compactors)].split()
            sides[who].compact(warehouse, TABLE, full=bool(full))
            compactions += 1
            agree(sides, readers, fields, warehouse, f"after step {i} and a compaction by {who} {full}")
    for name in readers:
        found = comparable(sides[name].read(warehouse, TABLE), fields)
        want = expected(fields, case.rows)
        assert found == want, f"{name} in the end: {found} and not {want}"


def take(step: Step, actor: Side | Oracle | Ours, fields: Fields, warehouse: Path) -> Fields:
    if isinstance(step, Alter):
        actor.alter(warehouse, TABLE, step.changes)
        return step.fields
    if isinstance(step, Overwrite):
        actor.write(warehouse, TABLE, keyed_table(fields, step.rows), overwrite=step.partition)
    else:
        actor.write(warehouse, TABLE, keyed_table(fields, step), row_kind=OP if has_kinds(step) else None)
    return fields


def agree(
    sides: Mapping[str, Side | Oracle | Ours], readers: Sequence[str], fields: Fields, warehouse: Path, when: str
) -> None:
    views = {name: comparable(sides[name].read(warehouse, TABLE), fields) for name in readers}
    first = views[readers[0]]
    assert all(view == first for view in views.values()), f"readers differ {when}: {views}"


def check_filters(case: Keyed, readers: Sequence[Side | Oracle | Ours], warehouse: Path) -> None:
    for where, rows in filters(case):
        for reader in readers:
            found = comparable(reader.read(warehouse, TABLE, where=where), case.end_fields)
            assert found == expected(case.end_fields, rows), f"{reader.name} with {where.sql}"


def read_or_reason(reader: Oracle, case: Keyed, warehouse: Path) -> pa.Table | None:
    """What an oracle reads; nothing if the case says that it cannot, which then must be so."""
    if reader.name not in case.cannot:
        return reader.read(warehouse, TABLE)
    try:
        reader.read(warehouse, TABLE)
    except OracleError:
        return None
    return None
