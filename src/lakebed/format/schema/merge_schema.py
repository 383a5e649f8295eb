"""Columns that rows bring and a table has not: the changes that make the table take them, for ``write.merge-schema``.

New columns, also inside of structs, are added at the end and may be null. Types of columns that are there change only if that
is asked for, and only to such that hold every value of the old type. Names are the same whatever their case. What does not
fit after that is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lakebed.format.schema.evolution import AddColumn, Change, UpdateColumnType
from lakebed.format.types.data_types import Array, DataType, Field, Map, Row, nullable
from lakebed.format.types.widening import can_widen


def merging_changes(columns: Sequence[Field], data: Sequence[Field], *, widen: bool = False) -> list[Change]:
    """Returns the changes after which a table with these columns has all columns of the data; none if it has them.

    >>> from lakebed.format.types.data_types import Atomic
    >>> old = [Field(0, "id", Atomic("INT"))]
    >>> new = [Field(0, "ID", Atomic("BIGINT")), Field(1, "v", Atomic("STRING", nullable=False))]
    >>> [(change.path, str(change.type)) for change in merging_changes(old, new, widen=True)]
    [(('id',), 'BIGINT'), (('v',), 'STRING')]
    """
    return list(_in_fields(columns, data, (), widen=widen))


def _in_fields(old: Sequence[Field], new: Sequence[Field], path: tuple[str, ...], *, widen: bool) -> Iterator[Change]:
    known = {field.name.lower(): field for field in old}
    for field in new:
        there = known.get(field.name.lower())
        if there is None:
            yield AddColumn((*path, field.name), nullable(field.type), field.description)
        else:
            yield from _in_type(there.type, field.type, (*path, there.name), widen=widen)


def _in_type(old: DataType, new: DataType, path: tuple[str, ...], *, widen: bool) -> Iterator[Change]:
    match old, new:
        case Row(old_fields), Row(new_fields):
            yield from _in_fields(old_fields, new_fields, path, widen=widen)
        case Array(old_element), Array(new_element):
            yield from _in_type(old_element, new_element, (*path, "element"), widen=widen)
        case Map(_, old_value), Map(_, new_value):
            yield from _in_type(old_value, new_value, (*path, "value"), widen=widen)
        case _:
            if widen and can_widen(old, new) and not can_widen(new, old):
                yield UpdateColumnType(path, replace(new, nullable=old.nullable))
