"""The kernels against the record-by-record reference, on random histories of every engine."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.rows.merge_engines.cases import Record, comparable, merged_records, sorted_rows
from tests.rows.merge_engines.reference import DELETE, UPDATE_BEFORE, Engine, RefusedError
from tests.rows.merge_engines.strategies import aggregations, partial_updates, row_picks, staged

from lakebed.errors import DataError
from lakebed.format.row_kind import KIND_COLUMN
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN, TableSchema
from lakebed.rows.merge_engines.merge_rows import MergeSpec, SortedRows, merge_rows


def check(schema: TableSchema, keys: list[list[Record]]) -> None:
    rows = sorted_rows(schema, keys)
    try:
        wanted = [Engine(schema).merge(list(history)) for history in keys]
    except RefusedError:
        with pytest.raises(DataError):
            merged_records(schema, rows)
        return
    given_back = [(kind, at, comparable(schema, row)) for kind, at, row in merged_records(schema, rows)]
    assert given_back == [(r[0], r[1], comparable(schema, r[2])) for r in wanted if r is not None]


@settings(max_examples=examples(60), deadline=None)
@given(row_picks())
def test_picked_rows(case: tuple[TableSchema, list[list[Record]]]) -> None:
    check(*case)


@settings(max_examples=examples(150), deadline=None)
@given(aggregations())
def test_aggregation(case: tuple[TableSchema, list[list[Record]]]) -> None:
    check(*case)


@settings(max_examples=examples(150), deadline=None)
@given(partial_updates())
def test_partial_update(case: tuple[TableSchema, list[list[Record]]]) -> None:
    check(*case)


@settings(max_examples=examples(60), deadline=None)
@given(st.one_of(partial_updates(), aggregations()), st.data())
def test_some_columns_merge_as_all_do(case: tuple[TableSchema, list[list[Record]]], data: st.DataObject) -> None:
    schema, keys = case
    spec, rows = MergeSpec.of(schema), sorted_rows(schema, keys)
    try:
        everything = merge_rows(spec, rows, schema.field_names)
    except DataError:
        return
    columns = data.draw(st.lists(st.sampled_from(schema.field_names), unique=True))
    few = rows.table.select([*spec.inputs(columns), SEQUENCE_COLUMN, KIND_COLUMN])
    merged = merge_rows(spec, SortedRows(few, rows.starts), columns)
    wanted = everything.select([*columns, SEQUENCE_COLUMN, KIND_COLUMN])
    assert repr(merged.to_pylist()) == repr(wanted.to_pylist())


@settings(max_examples=examples(100), deadline=None)
@given(staged())
def test_in_stages(case: tuple[TableSchema, list[Record], list[Record]]) -> None:
    """Files hold what was merged before: older and newer rows apart, then both together, is the same as all at once."""
    schema, older, newer = case
    whole = merged_records(schema, sorted_rows(schema, [older + newer]))
    parts: list[Record] = []
    for part in (older, newer):
        parts += [(kind, row) for kind, _, row in merged_records(schema, sorted_rows(schema, [part]))]
    staged_rows = merged_records(schema, sorted_rows(schema, [parts]))
    retracted = {UPDATE_BEFORE, DELETE}
    assert [(kind in retracted, comparable(schema, row)) for kind, _, row in staged_rows] == [
        (kind in retracted, comparable(schema, row)) for kind, _, row in whole
    ]
