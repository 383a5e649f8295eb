"""The schema changes that ``write.merge-schema`` makes, so that a table accepts rows with other columns.

New columns, also inside structs, are added at the end and are nullable. Types of existing columns change only with
``widen``, and only to types that can represent every value of the old type. A number does not become a text: the write
casts texts to the type of the column. Names are compared without case. Columns that still do not fit are refused by the
write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lakebed.format.schema.evolution import AddColumn, Change, UpdateColumnType
from lakebed.format.types.data_types import STRING_ROOTS, Array, Atomic, DataType, Field, Map, Row, nullable
from lakebed.format.types.widening import can_widen


def merging_changes(columns: Sequence[Field], data: Sequence[Field], *, widen: bool = False) -> list[Change]:
    """Returns the changes after which a table with these columns has all columns of the data; none if it has all.

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
            text = _is_text(new) and not _is_text(old)
            if widen and not text and can_widen(old, new) and not can_widen(new, old):
                yield UpdateColumnType(path, replace(new, nullable=old.nullable))


def _is_text(data_type: DataType) -> bool:
    return isinstance(data_type, Atomic) and data_type.root in STRING_ROOTS
