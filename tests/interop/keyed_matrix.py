"""How a primary-key case is played: who writes, who compacts, and what must hold after every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from tests.interop.cases import Fields, table
from tests.interop.keyed_cases import OP, Alter, Keyed, Overwrite, Step, filters, has_kinds, keyed_table
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours
from tests.interop.protocol import arrow_type, plain_rows

Actor: TypeAlias = Ours | Oracle


@dataclass(frozen=True)
class Order:
    """Who takes the steps and who compacts after every second of them, in turn ("us full", "java", ...)."""

    name: str
    writers: tuple[str, ...]
    compactors: tuple[str, ...] = ()


WE_WRITE = Order("we write", ("us",))
IN_TURN = Order("all in turn", ("us", "java"), ("us full", "java", "us", "java full"))
ORDERS = [
    WE_WRITE,
    Order("java writes and we compact", ("java",), ("us", "us full")),
    Order("we write and java compacts", ("us",), ("java", "java full")),
    IN_TURN,
]


def play_keyed(
    case: Keyed, order: Order, sides: Mapping[str, Actor], readers: Sequence[Actor], warehouse: Path
) -> None:
    """All readers agree after every step, compacted or not, and find the expected rows in the end."""
    maker = sides[order.writers[0]]
    maker.create_table(
        warehouse, TABLE, case.fields, case.partition_by, primary_keys=case.keys, options=case.table_options
    )
    fields, views = case.fields, {}
    compactions = 0
    for i, step in enumerate(case.steps):
        writer = order.writers[i % len(order.writers)]
        fields = take(step, sides[writer], fields, warehouse)
        when = f"after step {i} by {writer}"
        if order.compactors and (i % 2 or i == len(case.steps) - 1):
            who, *full = order.compactors[compactions % len(order.compactors)].split()
            sides[who].compact(warehouse, TABLE, full=bool(full))
            compactions += 1
            when += f" and a compaction by {who} {' '.join(full)}"
        views = agree(case, readers, fields, warehouse, when)
    want = shown(case, table(case.end_fields, case.rows), case.end_fields)
    assert all(found == want for found in views.values()), f"found {views} and not {want}"


def take(step: Step, actor: Actor, fields: Fields, warehouse: Path) -> Fields:
    if isinstance(step, Alter):
        actor.alter(warehouse, TABLE, step.changes)
        return step.fields
    if isinstance(step, Overwrite):
        actor.write(warehouse, TABLE, keyed_table(fields, step.rows), overwrite=step.partition)
    else:
        actor.write(warehouse, TABLE, keyed_table(fields, step), row_kind=OP if has_kinds(step) else None)
    return fields


def agree(case: Keyed, readers: Sequence[Actor], fields: Fields, warehouse: Path, when: str) -> dict[str, list[str]]:
    """What each reader finds, which must be the same."""
    views = {reader.name: shown(case, reader.read(warehouse, TABLE), fields) for reader in readers}
    first = views[readers[0].name]
    assert all(view == first for view in views.values()), f"readers differ {when}: {views}"
    return views


def check_rows(case: Keyed, reader: Actor, warehouse: Path) -> None:
    found = shown(case, reader.read(warehouse, TABLE), case.end_fields)
    want = shown(case, table(case.end_fields, case.rows), case.end_fields)
    assert found == want, f"{reader.name} finds {found} and not {want}"


def shown(case: Keyed, found: pa.Table, fields: Fields) -> list[str]:
    """Rows in a form that two readers must agree on: canonical types, any order, also inside of unordered lists."""
    assert found.column_names == [name for name, _ in fields]
    cast = pa.table({name: found[name].cast(arrow_type(kind)) for name, kind in fields})
    loose = [name in case.unordered for name, _ in fields]
    return sorted(
        repr([sorted(v, key=repr) if any_order and v else v for v, any_order in zip(row, loose, strict=True)])
        for row in plain_rows(cast)
    )


def check_filters(case: Keyed, readers: Sequence[Actor], warehouse: Path) -> None:
    for where, rows in filters(case):
        want = shown(case, table(case.end_fields, rows), case.end_fields)
        for reader in readers:
            if f"{reader.name} filters" not in case.cannot:
                found = shown(case, reader.read(warehouse, TABLE, where=where), case.end_fields)
                assert found == want, f"{reader.name} with {where.sql} finds {found} and not {want}"
