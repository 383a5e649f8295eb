"""The changes that give a table the columns of some rows."""

from __future__ import annotations

import pytest

from lakebed.format.schema.evolution import AddColumn, UpdateColumnType, apply_changes
from lakebed.format.schema.merge_schema import merging_changes
from lakebed.format.schema.table_schema import create_schema
from lakebed.format.types.column_ddl import parse_columns


def changed(table: str, data: str, *, widen: bool = False) -> str:
    """The columns of a table after the changes, as text."""
    schema = create_schema(parse_columns(table), options={}, time_millis=0)
    changes = merging_changes(schema.fields, parse_columns(data), widen=widen)
    made = apply_changes(schema, changes, time_millis=0, has_snapshots=True) if changes else schema
    return ", ".join(f"{field.name} {field.type}" for field in made.fields)


@pytest.mark.parametrize(
    ("table", "data", "expected"),
    [
        ("a INT, b STRING", "b STRING, a INT", "a INT, b STRING"),
        ("a INT", "A INT", "a INT"),
        ("a INT", "a INT, b STRING NOT NULL, c DATE", "a INT, b STRING, c DATE"),
        ("a INT NOT NULL", "b INT", "a INT NOT NULL, b INT"),
        ("s ROW<x INT>", "s ROW<y STRING, X INT>", "s ROW<x INT, y STRING>"),
        ("s ROW<r ROW<x INT>>", "s ROW<r ROW<y INT>>", "s ROW<r ROW<x INT, y INT>>"),
        ("l ARRAY<ROW<x INT>>", "l ARRAY<ROW<y INT>>", "l ARRAY<ROW<x INT, y INT>>"),
        ("m MAP<STRING, ROW<x INT>>", "m MAP<STRING, ROW<y INT>>", "m MAP<STRING NOT NULL, ROW<x INT, y INT>>"),
        ("a INT", "a BIGINT", "a INT"),
        ("a INT", "a STRING", "a INT"),
        ("a INT", "a ROW<x INT>", "a INT"),
    ],
)
def test_columns_are_added_and_types_stay(table: str, data: str, expected: str) -> None:
    assert changed(table, data) == expected


@pytest.mark.parametrize(
    ("table", "data", "expected"),
    [
        ("a INT NOT NULL", "a BIGINT", "a BIGINT NOT NULL"),
        ("a BIGINT", "a INT", "a BIGINT"),
        ("a INT", "a STRING", "a INT"),
        ("a VARCHAR(2)", "a STRING", "a STRING"),
        ("l ARRAY<INT>", "l ARRAY<STRING>", "l ARRAY<INT>"),
        ("a STRING", "a INT", "a STRING"),
        ("a DATE", "a INT", "a DATE"),
        ("s ROW<x INT>", "s ROW<x BIGINT>", "s ROW<x BIGINT>"),
        ("l ARRAY<INT>", "l ARRAY<BIGINT>", "l ARRAY<BIGINT>"),
        ("a DECIMAL(5, 2)", "a DECIMAL(9, 2)", "a DECIMAL(9, 2)"),
    ],
)
def test_types_widen_if_asked(table: str, data: str, expected: str) -> None:
    assert changed(table, data, widen=True) == expected


def test_the_changes_name_columns_as_the_table_does() -> None:
    old, new = parse_columns("Some ROW<Inner INT>"), parse_columns("some ROW<INNER BIGINT, more INT>, other INT")
    first, second, third = merging_changes(old, new, widen=True)
    assert isinstance(first, UpdateColumnType)
    assert first.path == ("Some", "Inner")
    assert isinstance(second, AddColumn)
    assert second.path == ("Some", "more")
    assert isinstance(third, AddColumn)
    assert third.path == ("other",)
