"""Bad input to primary-key tables: one clear error, and not a byte of the warehouse is different afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.places import stored_path
from tests.refusals import refused
from tests.rows.keyed.keyed_tables import VECTORS, compact_with, current, files_of, keyed, only, pairs, put, typed

import lakebed
from lakebed import changes
from lakebed.errors import (
    DataError,
    LakebedError,
    NotFoundError,
    OptionError,
    SchemaError,
)
from lakebed.rows import conform

COLUMNS = "p STRING, k INT, v INT, s STRING, a ARRAY<INT>"

# --------------------------------------------------------------------------------------------------------------- tables

Case = tuple[dict[str, Any], type[LakebedError], tuple[str, ...]]

BAD_TABLES: dict[str, Case] = {
    "key without a partition column": (
        {"primary_key": ["k"], "partition_by": ["p"]},
        SchemaError,
        ("must hold every partition column", "'p'"),
    ),
    "key that is the partition": (
        {"primary_key": ["p"], "partition_by": ["p"]},
        SchemaError,
        ("must have a column that is not a partition column", "add a column"),
    ),
    "key column twice": ({"primary_key": ["k", "k"]}, SchemaError, ("'k' is named twice",)),
    "unknown key column": ({"primary_key": ["kk"]}, SchemaError, ("unknown primary key column 'kk'", "did you mean")),
    "nested key": ({"primary_key": ["k", "a"]}, SchemaError, ("'a' is ARRAY<INT>", "simple types")),
    "key for dynamic buckets": (
        {"options": {"bucket": "-1", "bucket-key": "k"}},
        OptionError,
        ("dynamic buckets", "leave out 'bucket-key'"),
    ),
    "dynamic buckets over partitions": (
        {"primary_key": ["k"], "partition_by": ["p"], "options": {"bucket": "-1"}},
        SchemaError,
        ("must hold every partition column", "upserts over partitions are not supported"),
    ),
    "postponed buckets": ({"options": {"bucket": "-2"}}, OptionError, ("'bucket'", "postponed")),
    "bucket key outside of the key": (
        {"options": {"bucket-key": "v"}},
        OptionError,
        ("'v' is not in the primary key",),
    ),
    "bucket key that is a partition": (
        {"primary_key": ["p", "k"], "partition_by": ["p"], "options": {"bucket-key": "p"}},
        OptionError,
        ("bucket-key column 'p'",),
    ),
    "unknown bucket key": ({"options": {"bucket-key": "kk"}}, OptionError, ("unknown column 'kk'", "did you mean")),
    "unknown sequence field": ({"options": {"sequence.field": "vv"}}, OptionError, ("'sequence.field'", "'vv'")),
    "sequence field twice": ({"options": {"sequence.field": "v,v"}}, OptionError, ("'v' twice",)),
    "nested sequence field": ({"options": {"sequence.field": "a"}}, OptionError, ("ARRAY<INT>", "compared")),
    "sequence field of first-row": (
        {"options": {"sequence.field": "v", "merge-engine": "first-row"}},
        OptionError,
        ("first-row", "'sequence.field'"),
    ),
    "unknown engine": ({"options": {"merge-engine": "newest"}}, OptionError, ("'newest'", "deduplicate")),
    "unknown aggregate": (
        {"options": {"merge-engine": "aggregation", "fields.v.aggregate-function": "median"}},
        OptionError,
        ("unknown aggregate function 'median'", "column 'v'"),
    ),
    "aggregate of a wrong type": (
        {"options": {"merge-engine": "aggregation", "fields.s.aggregate-function": "sum"}},
        OptionError,
        ("'sum' takes numeric columns", "'s'", "STRING"),
    ),
    "aggregate of an unknown column": (
        {"options": {"merge-engine": "aggregation", "fields.w.aggregate-function": "sum"}},
        OptionError,
        ("unknown column 'w'",),
    ),
    "aggregate outside of a group": (
        {"options": {"merge-engine": "partial-update", "fields.v.aggregate-function": "sum"}},
        OptionError,
        ("is in no sequence group",),
    ),
    "key in a sequence group": (
        {"options": {"merge-engine": "partial-update", "fields.v.sequence-group": "k"}},
        OptionError,
        ("'k'", "never changes"),
    ),
    "changelog by full compaction with vectors": (
        {"options": {"changelog-producer": "full-compaction", "deletion-vectors.enabled": "true"}},
        OptionError,
        ("deletion vectors", "'changelog-producer' to lookup"),
    ),
    "changelog by full compaction of first rows": (
        {"options": {"changelog-producer": "full-compaction", "merge-engine": "first-row"}},
        OptionError,
        ("first-row", "'changelog-producer' to lookup"),
    ),
    "changelog of what comes in where the first row stays": (
        {"options": {"changelog-producer": "input", "merge-engine": "first-row"}},
        OptionError,
        ("first-row", "none or lookup"),
    ),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_tables_that_cannot_be(lake: lakebed.Lake, case: str) -> None:
    given, error, words = BAD_TABLES[case]
    more = {"primary_key": ["k"], **given, "options": {"bucket": "1", **given.get("options", {})}}
    refused(lake.warehouse, lambda: lake.create_table("db.t", COLUMNS, **more), error, *words)
    assert lake.tables("db") == []


# ----------------------------------------------------------------------------------------------------------------- rows


def with_kinds(table: lakebed.Table, kinds: Any) -> pa.Table:
    return typed(table, pairs({1: 1, 2: 2})).append_column("op", kinds)


BAD_ROWS: dict[str, tuple[dict[str, str], Callable[[lakebed.Table], Any], tuple[str, ...]]] = {
    "null in the key": (
        {},
        lambda t: t.write(pa.table({"k": pa.array([1, None], pa.int32()), "v": pa.array([1, 2], pa.int32())})),
        ("column 'k'", "NOT NULL", "row 1", "Nothing was written"),
    ),
    "null in the key of a delete": (
        {},
        lambda t: t.write(
            pa.table({"k": pa.nulls(1, pa.int32()), "v": pa.nulls(1, pa.int32()), "op": ["-D"]}), row_kind="op"
        ),
        ("column 'k'", "NOT NULL"),
    ),
    "no key": ({}, lambda t: t.write([{"v": 1}]), ("row 0 of the data lacks column 'k'",)),
    "no sequence field": (
        {"sequence.field": "v"},
        lambda t: t.write([{"k": 1}]),
        ("row 0 of the data lacks column 'v'", "Nothing was written"),
    ),
    "a kind that is none": (
        {},
        lambda t: t.write(with_kinds(t, pa.array(["+I", "upsert"])), row_kind="op"),
        ("row 1", "'upsert'", "+I, -U, +U, -D"),
    ),
    "a kind that is null": (
        {},
        lambda t: t.write(with_kinds(t, pa.array(["+I", None])), row_kind="op"),
        ("row 1", "None"),
    ),
    "kinds that are nulls only": ({}, lambda t: t.write(with_kinds(t, pa.nulls(2)), row_kind="op"), ("row 0", "None")),
    "kinds that are numbers": (
        {},
        lambda t: t.write(with_kinds(t, pa.array([0, 3])), row_kind="op"),
        ("column 'op'", "int64", "as text"),
    ),
    "kinds that are nested": (
        {},
        lambda t: t.write(with_kinds(t, pa.array([["+I"], []])), row_kind="op"),
        ("column 'op'", "list", "as text"),
    ),
    "no column of kinds": (
        {},
        lambda t: t.write(with_kinds(t, pa.array(["+I", "+I"])), row_kind="ops"),
        ("unknown column 'ops'", "did you mean 'op'?"),
    ),
    "kinds that nobody asked for": (
        {},
        lambda t: t.write(with_kinds(t, pa.array(["+I", "+I"]))),
        ("unknown column 'op'",),
    ),
    "-D for first-row": (
        {"merge-engine": "first-row"},
        lambda t: t.write(with_kinds(t, pa.array(["+I", "-D"])), row_kind="op"),
        ("first-row", "-D", "'ignore-delete'"),
    ),
    "-U for first-row": (
        {"merge-engine": "first-row"},
        lambda t: t.write(with_kinds(t, pa.array(["-U", "+I"])), row_kind="op"),
        ("first-row", "-U", "'ignore-delete'"),
    ),
    "-D for partial-update": (
        {"merge-engine": "partial-update"},
        lambda t: t.write(with_kinds(t, pa.array(["+I", "-D"])), row_kind="op"),
        ("-D", "'ignore-delete'"),
    ),
    "a sum too large": (
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
        lambda t: t.write(typed(t, [{"k": 1, "v": 2**31 - 1}, {"k": 1, "v": 1}])),
        ("column 'v'", "does not fit"),
    ),
    "not what the engine can take back": (
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"},
        lambda t: t.write(typed(t, [{"k": 1, "v": 5}, {"k": 1, "v": 5}], ["+I", "-D"]), row_kind="op"),
        ("'v'", "max"),
    ),
}


@pytest.mark.parametrize("case", BAD_ROWS)
@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_rows_that_cannot_be_written(lake: lakebed.Lake, case: str, filled: bool) -> None:
    options, act, words = BAD_ROWS[case]
    table = keyed(lake, options={**options, "write-only": "false"})
    if filled:
        table.write(typed(table, pairs({1: 0, 3: 0}), ["+I"] * 2), row_kind="op")
    before = current(table)
    refused(table.path, lambda: act(table), DataError, *words)
    assert current(table) == before


def somebody_elses(table: lakebed.Table, lake: lakebed.Lake, options: dict[str, str]) -> lakebed.Table:
    """The same table with options that our own CREATE would have refused."""
    path = stored_path(table.path) / "schema" / "schema-0"
    schema = json.loads(path.read_text())
    schema["options"].update(options)
    path.write_text(json.dumps(schema))
    found: lakebed.Table = lake.table(table.name)
    return found


def test_a_rowkind_field_of_numbers(lake: lakebed.Lake) -> None:
    table = somebody_elses(keyed(lake), lake, {"rowkind.field": "v"})
    refused(table.path, lambda: table.write(typed(table, pairs({1: 1}))), DataError, "column 'v'", "int32", "as text")


def test_an_unknown_rowkind_field(lake: lakebed.Lake) -> None:
    """A table of somebody else, perhaps: it can be read, and written where kinds are given."""
    table = somebody_elses(keyed(lake), lake, {"rowkind.field": "op"})
    assert current(table) == {}
    refused(
        table.path,
        lambda: table.write(typed(table, pairs({1: 1}))),
        OptionError,
        "'rowkind.field'",
        "unknown column 'op'",
    )


def test_nan_in_a_key(lake: lakebed.Lake) -> None:
    table = keyed(lake, "k DOUBLE, v INT")
    rows = pa.table({"k": [1.0, float("nan")], "v": pa.array([1, 2], pa.int32())})
    refused(table.path, lambda: table.write(rows), DataError, "column 'k'", "NaN", "Nothing was written")


def test_kinds_for_an_append_table(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "k INT")
    rows = pa.table({"k": pa.array([1], pa.int32()), "op": ["+I"]})
    refused(table.path, lambda: table.write(rows, row_kind="op"), DataError, "no primary key", "leave row_kind out")


def test_bad_rows_late_in_a_stream(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conform, "STREAM_BYTES", 1)
    table = keyed(lake, options={"bucket": "3", "changelog-producer": "input"})
    put(table, {1: 1})
    good = with_kinds(table, pa.array(["+I", "-D"]))
    bad = with_kinds(table, pa.array(["+I", "?"]))
    batches = [*good.to_batches(), *good.to_batches(), *bad.to_batches()]
    stream = pa.RecordBatchReader.from_batches(good.schema, batches)
    refused(table.path, lambda: table.write(stream, row_kind="op"), DataError, "'?'")
    assert current(table) == {1: 1}


# -------------------------------------------------------------------------------------------------------------- changes


def test_another_number_of_buckets_without_an_overwrite(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"bucket": "2", "write-only": "false"})
    put(table, dict.fromkeys(range(10), 1))
    table.alter(changes.SetOption("bucket", "3"))
    words = ("option 'bucket' is 3", "files of 2 buckets", "Call rescale()", "overwrite the whole partition")
    refused(table.path, lambda: put(table, {1: 2}), OptionError, *words)
    refused(table.path, lambda: table.delete("k = 1"), OptionError, *words)
    assert current(table) == dict.fromkeys(range(10), 1)
    table.overwrite(typed(table, pairs({1: 3})))
    put(table, {2: 2})
    assert current(table) == {1: 3, 2: 2}


BAD_CHANGES: list[tuple[Any, type[LakebedError], tuple[str, ...]]] = [
    (changes.SetOption("merge-engine", "aggregation"), OptionError, ("'merge-engine' cannot change",)),
    (changes.SetOption("sequence.field", "v"), OptionError, ("'sequence.field' cannot change",)),
    (changes.SetOption("rowkind.field", "v"), OptionError, ("'rowkind.field' cannot change",)),
    (changes.SetOption("bucket-key", "k"), OptionError, ("'bucket-key' cannot change",)),
    (changes.SetOption("bucket", "-1"), OptionError, ("'bucket' cannot change", "fixed or with dynamic")),
    (changes.SetOption("changelog-producer", "some"), OptionError, ("'changelog-producer'", "lookup")),
    (changes.SetOption("deletion-vectors.enabled", "true"), OptionError, ("'deletion-vectors.enabled' cannot change",)),
    (changes.SetOption("primary-key", "v"), OptionError, ("'primary-key'",)),
    (changes.DropColumn("k"), SchemaError, ("primary key column", "dropped")),
    (changes.UpdateColumnType("k", "BIGINT"), SchemaError, ("primary key column", "retyped")),
    (changes.UpdateColumnNullability("k", nullable=True), SchemaError, ("primary key column", "nullable")),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD_CHANGES, ids=str)
def test_changes_that_files_would_not_bear(
    lake: lakebed.Lake, change: Any, error: type[LakebedError], words: tuple[str, ...]
) -> None:
    table = keyed(lake)
    put(table, {1: 1})
    refused(table.path, lambda: table.alter(changes.AddColumn("n", "INT"), change), error, *words)
    assert current(table) == {1: 1}


# ----------------------------------------------------------------------------------------------------------- compaction


def test_what_cannot_be_compacted(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1})
    put(table, {1: 2})
    refused(table.path, lambda: table.compact(where="v = 1"), lakebed.ExpressionError, "'v'")
    refused(table.path, lambda: table.compact(where="nonsense ("), lakebed.ExpressionError)
    victim = files_of(table)[0]
    path = stored_path(victim["path"])
    content = path.read_bytes()
    for damage in (content[: len(content) // 2], b"PAR1 rubbish PAR1"):
        path.write_bytes(damage)
        refused(table.path, lambda: table.compact(full=True), lakebed.CorruptError, victim["file_name"])
        refused(table.path, lambda: table.scan().to_arrow(), lakebed.CorruptError, victim["file_name"])


def test_a_damaged_index_file_is_named(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=VECTORS)
    for level in (5, 4):
        put(table, {1: level, 2: level})
        compact_with(table, only(level, 0))
    (victim,) = table._store.storage.list(f"{table.path}/index")
    table._store.storage.delete(f"{table.path}/index/{victim.name}")
    for act in (lambda: table.compact(full=True), lambda: table.scan().to_arrow()):
        refused(table.path, act, NotFoundError, victim.name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changes.SetOption("fields.v.aggregate-function", "median"), "median"),
        (changes.SetOption("sequence.field", "nowhere"), "nowhere"),
    ],
)
def test_an_alter_that_would_make_the_table_unreadable_is_refused(
    lake: lakebed.Lake, change: changes.SetOption, words: str
) -> None:
    options = {"bucket": 1, "merge-engine": "aggregation"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    with pytest.raises(lakebed.LakebedError, match=words):
        table.alter(change)
    assert dict(table.options) == {"bucket": "1", "merge-engine": "aggregation"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rowkind.field": "nowhere"}, "unknown column 'nowhere'"),
        ({"rowkind.field": "v"}, "must be a text column"),
        ({"merge-engine": "first-row", "deletion-vectors.enabled": True}, "first-row"),
        ({"num-levels": 1}, "at least 2"),
        ({"num-sorted-run.compaction-trigger": 0}, "at least 1"),
    ],
)
def test_options_that_cannot_work_are_refused_at_create(
    lake: lakebed.Lake, options: dict[str, object], words: str
) -> None:
    with pytest.raises(lakebed.OptionError, match=words):
        lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options={"bucket": 1, **options})
    assert lake.tables("db") == []
