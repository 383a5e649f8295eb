"""The merge engines: examples (``merge_cases.json``, confirmed by Paimon 2.0's own classes), errors and limits."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.rows.merge_engines.cases import Record, comparable, merged_records, sorted_rows, table_schema
from tests.rows.merge_engines.reference import Engine, RefusedError

from lakebed.errors import DataError, LakebedError, OptionError, UnsupportedError
from lakebed.format.row_kind import KIND_COLUMN, KIND_TEXTS, kinds_from_texts
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN, TableSchema, create_schema
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row, parse_type
from lakebed.rows.merge_engines.merge_rows import MergeSpec, SortedRows, check_kinds, kept_rows, merge_rows, pick_rows

CASES = json.loads((Path(__file__).parent / "merge_cases.json").read_text())


def from_json(value: Any, kind: DataType) -> Any:
    """A value as it stands in the cases: decimals and floats are texts, bytes are hex."""
    if value is None:
        return None
    match kind:
        case Atomic("DECIMAL"):
            return Decimal(value)
        case Atomic("DOUBLE"):
            return float(value)
        case Atomic("BYTES"):
            return bytes.fromhex(value)
        case Array(element):
            return [from_json(item, element) for item in value]
        case Map(key, item):
            return [[from_json(k, key), from_json(v, item)] for k, v in value]
        case Row(fields):
            return [from_json(v, f.type) for v, f in zip(value, fields, strict=True)]
    return value


def record(schema: TableSchema, kind: str, values: list[Any]) -> Record:
    pairs = zip(schema.fields, values, strict=True)
    return KIND_TEXTS.index(kind), {column.name: from_json(value, column.type) for column, value in pairs}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    schema = table_schema(case["fields"], case["options"])
    histories = [[record(schema, kind, values) for kind, *values in key["rows"]] for key in case["keys"]]
    if any(key["merged"] == "refused" for key in case["keys"]):
        with pytest.raises(DataError):
            merged_records(schema, sorted_rows(schema, histories))
        with pytest.raises(RefusedError):
            Engine(schema).merge(histories[0])
        return
    wanted = []
    for kind, sequence, *values in (key["merged"] for key in case["keys"]):
        number, row = record(schema, kind, values)
        wanted.append((number, sequence, comparable(schema, row)))
    merged = merged_records(schema, sorted_rows(schema, histories))
    assert [(kind, at, comparable(schema, row)) for kind, at, row in merged] == wanted


# --------------------------------------------------------------------------------------------------------- refusals

FIELDS = (
    ("k", "INT"),
    ("a", "INT"),
    ("b", "INT"),
    ("g", "INT"),
    ("t", "STRING"),
    ("c", "CHAR(3)"),
    ("flag", "BOOLEAN"),
    ("list", {"type": "ARRAY", "element": "INT"}),
    (
        "rows",
        {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}]}},
    ),
)
AGG = {"merge-engine": "aggregation"}
PART = {"merge-engine": "partial-update"}
REFUSALS: list[tuple[dict[str, str], type[LakebedError], str]] = [
    ({"merge-engine": "latest"}, OptionError, "merge-engine"),
    ({"sequence.field": "nope"}, OptionError, "unknown column 'nope'"),
    ({"sequence.field": "a,a"}, OptionError, "twice"),
    ({"sequence.field": "list"}, OptionError, "cannot be compared"),
    ({"merge-engine": "first-row", "sequence.field": "a"}, OptionError, "has no effect"),
    (AGG | {"sequence.field": "a", "fields.a.aggregate-function": "sum"}, OptionError, "sequence field"),
    (AGG | {"fields.nope.aggregate-function": "sum"}, OptionError, "unknown column 'nope'"),
    (AGG | {"fields.a.aggregate-function": "summ"}, OptionError, "did you mean 'sum'"),
    (AGG | {"fields.a.aggregate-function": "count"}, OptionError, "unknown aggregate function"),
    (AGG | {"fields.default-aggregate-function": "sum"}, OptionError, "numeric columns"),
    (AGG | {"fields.t.aggregate-function": "sum"}, OptionError, "numeric columns"),
    (AGG | {"fields.c.aggregate-function": "listagg"}, OptionError, "STRING columns"),
    (AGG | {"fields.flag.aggregate-function": "max"}, OptionError, "other than BOOLEAN"),
    (AGG | {"fields.a.aggregate-function": "bool_and"}, OptionError, "BOOLEAN columns"),
    (AGG | {"fields.a.aggregate-function": "collect"}, OptionError, "ARRAY columns"),
    (AGG | {"fields.list.aggregate-function": "merge_map"}, OptionError, "MAP columns"),
    (AGG | {"fields.list.aggregate-function": "nested_update"}, OptionError, "ARRAY<ROW>"),
    *(
        (AGG | {"fields.t.aggregate-function": name}, UnsupportedError, "does not support")
        for name in ("theta_sketch", "hll_sketch", "rbm32", "rbm64", "merge_map_with_keytime", "nested_partial_update")
    ),
    (AGG | {"fields.rows.aggregate-function": "nested_update", "fields.rows.nested-key": "y"}, OptionError, "'y'"),
    (
        AGG | {"fields.rows.aggregate-function": "nested_update", "fields.rows.nested-sequence-field": "x"},
        OptionError,
        "no nested key",
    ),
    (
        AGG | {"fields.rows.aggregate-function": "nested_update", "fields.rows.nested-key-null-strategy": "error"},
        OptionError,
        "no nested key",
    ),
    (
        AGG | {"fields.rows.aggregate-function": "nested_update", "fields.rows.count-limit": "10"},
        UnsupportedError,
        "count-limit",
    ),
    (
        AGG
        | {
            "fields.t.aggregate-function": "listagg",
            "fields.t.distinct": "true",
            "fields.t.list-agg-delimiter": "",
        },
        UnsupportedError,
        "delimiter",
    ),
    (AGG | {"aggregation.remove-record-on-delete": "true", "fields.a.ignore-retract": "true"}, OptionError, "contra"),
    (PART | {"ignore-delete": "true", "partial-update.remove-record-on-delete": "true"}, OptionError, "contradict"),
    (
        PART | {"fields.g.sequence-group": "a", "partial-update.remove-record-on-delete": "true"},
        OptionError,
        "contradict",
    ),
    (
        PART
        | {
            "fields.g.sequence-group": "a",
            "ignore-delete": "true",
            "partial-update.remove-record-on-sequence-group": "g",
        },
        OptionError,
        "contradict",
    ),
    (
        PART | {"fields.g.sequence-group": "a", "partial-update.remove-record-on-sequence-group": "a"},
        OptionError,
        "unknown sequence column",
    ),
    (PART | {"fields.g.sequence-group": "nope"}, OptionError, "unknown column 'nope'"),
    (PART | {"fields.g,nope.sequence-group": "a"}, OptionError, "unknown column 'nope'"),
    (PART | {"fields.g.sequence-group": "a", "fields.b.sequence-group": "a"}, OptionError, "more than one"),
    (PART | {"fields.g.sequence-group": "a", "fields.a.sequence-group": "b"}, OptionError, "more than one"),
    (PART | {"fields.g.sequence-group": "k"}, OptionError, "primary key"),
    (PART | {"fields.k.sequence-group": "a"}, OptionError, "primary key"),
    (PART | {"fields.list.sequence-group": "a"}, OptionError, "cannot be compared"),
    (PART | {"fields.a.aggregate-function": "sum"}, OptionError, "no sequence group"),
    (PART | {"fields.default-aggregate-function": "last_value"}, OptionError, "no sequence group"),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSALS, ids=lambda value: str(value)[:80])
def test_refusal(options: dict[str, str], error: type[LakebedError], words: str) -> None:
    with pytest.raises(error, match=words):
        MergeSpec.of(table_schema(FIELDS, options))


def test_no_primary_key() -> None:
    with pytest.raises(OptionError, match="no primary key"):
        MergeSpec.of(create_schema([Field(0, "a", parse_type("INT"))], time_millis=0))


def test_no_sequence_field_where_keys_move_between_partitions() -> None:
    columns = [Field(0, name, parse_type("INT")) for name in ("k", "p", "s")]
    schema = create_schema(
        columns, primary_key=["k"], partition_by=["p"], options={"sequence.field": "s"}, time_millis=0
    )
    with pytest.raises(OptionError, match="partition"):
        MergeSpec.of(schema)


def test_a_retraction_that_cannot_be_applied_says_what_to_set() -> None:
    for options, words in ((PART, "remove-record-on-delete"), ({"merge-engine": "first-row"}, "ignore-delete")):
        schema = table_schema((("k", "INT"), ("a", "INT")), options)
        rows = sorted_rows(schema, [[(0, {"k": 1, "a": 1}), (3, {"k": 1, "a": 1})]])
        with pytest.raises(DataError, match=words):
            merged_records(schema, rows)


# ------------------------------------------------------------------------------------------------- what a spec says


def test_spec() -> None:
    options = AGG | {
        "sequence.field": "b,a",
        "sequence.field.sort-order": "descending",
        "fields.t.aggregate-function": "listagg",
    }
    spec = MergeSpec.of(table_schema(FIELDS, options))
    assert (spec.engine, spec.sequence_fields, spec.sequence_descending) == ("aggregation", ("b", "a"), True)
    assert not spec.picks_rows
    functions = {name: rule.function for name, rule in spec.rules.items()}
    assert functions["k"] == "primary-key"
    assert functions["a"] == "last_value"
    assert functions["t"] == "listagg"
    assert functions["g"] == "last_non_null_value"


def test_inputs_hold_the_sequences_of_groups() -> None:
    groups = {"fields.g,b.sequence-group": "a", "fields.c.sequence-group": "t"}
    spec = MergeSpec.of(table_schema(FIELDS, PART | groups))
    assert spec.inputs(["k", "flag"]) == ("k", "flag")
    assert spec.inputs(["a"]) == ("a", "g", "b")
    assert spec.inputs(["g"]) == ("g", "b")
    removing = MergeSpec.of(
        table_schema(FIELDS, PART | groups | {"partial-update.remove-record-on-sequence-group": "c"})
    )
    assert removing.inputs(["k"]) == ("k", "c")
    assert MergeSpec.of(table_schema(FIELDS, {})).inputs(["t", "a"]) == ("t", "a")


# ------------------------------------------------------------------------------------------------------ rows going in


@pytest.mark.parametrize("chunked", [False, True])
def test_kinds_from_strings(chunked: bool) -> None:
    texts = ["+I", "-U", "+U", "-D", "-d"]
    array = pa.chunked_array([texts[:2], texts[2:]]) if chunked else pa.array(texts)
    kinds = kinds_from_texts(array)
    assert kinds.tolist() == [0, 1, 2, 3, 3]
    assert kinds.dtype == np.int8


@pytest.mark.parametrize(("values", "words"), [(["+I", "I"], "row 1 has the row kind 'I'"), ([None], "row 0 .*None")])
def test_kinds_that_are_none(values: list[str | None], words: str) -> None:
    with pytest.raises(DataError, match=words):
        kinds_from_texts(pa.array(values, pa.string()))


def test_kept_rows() -> None:
    kinds = np.array([0, 1, 2, 3], np.int8)
    assert kept_rows(MergeSpec("deduplicate"), kinds) is None
    ignoring = kept_rows(MergeSpec("deduplicate", ignore_delete=True), kinds)
    assert ignoring is not None
    assert ignoring.tolist() == [True, False, True, False]
    before = kept_rows(MergeSpec("deduplicate", ignore_update_before=True), kinds)
    assert before is not None
    assert before.tolist() == [True, False, True, True]
    assert kept_rows(MergeSpec("deduplicate", ignore_delete=True), kinds[[0, 2]]) is None


def test_check_kinds() -> None:
    retraction = np.array([0, 3], np.int8)
    for spec in (MergeSpec("first-row"), MergeSpec("partial-update")):
        with pytest.raises(DataError):
            check_kinds(spec, retraction)
        check_kinds(spec, np.array([0, 2], np.int8))
    check_kinds(MergeSpec("deduplicate"), retraction)
    check_kinds(MergeSpec("first-row", ignore_delete=True), retraction)
    check_kinds(MergeSpec("partial-update", remove_on_delete=True), retraction)


# ------------------------------------------------------------------------------------------------------------ picking


def test_pick_rows() -> None:
    kinds, starts = np.array([0, 2, 3, 3, 3, 1, 0], np.int8), np.array([0, 3, 5])
    assert pick_rows(MergeSpec("deduplicate"), kinds, starts).tolist() == [2, 4, 6]
    assert pick_rows(MergeSpec("deduplicate", ignore_delete=True), kinds, starts).tolist() == [1, -1, 6]
    assert pick_rows(MergeSpec("first-row", ignore_delete=True), kinds, starts).tolist() == [0, -1, 6]


def test_nothing_to_merge() -> None:
    for options in ({}, PART, AGG, PART | {"ignore-delete": "true"}):
        schema = table_schema((("k", "INT"), ("a", "INT")), options)
        rows = sorted_rows(schema, [])
        assert merged_records(schema, rows) == []
        assert pick_rows(MergeSpec("first-row", ignore_delete=True), rows.kinds, rows.starts).tolist() == []


def test_columns_come_as_asked_and_keep_their_types() -> None:
    schema = table_schema(
        (("k", "INT"), ("a", "TINYINT"), ("d", "DECIMAL(5, 2)")), AGG | {"fields.a.aggregate-function": "sum"}
    )
    row = {"k": 1, "a": 1, "d": Decimal("1.00")}
    merged = merge_rows(MergeSpec.of(schema), sorted_rows(schema, [[(0, row), (0, row)]]), ["d", "a"])
    assert merged.column_names == ["d", "a", SEQUENCE_COLUMN, KIND_COLUMN]
    assert merged.schema.types == [pa.decimal128(5, 2), pa.int8(), pa.int64(), pa.int8()]


# ----------------------------------------------------------------------------------------------- arithmetic in bulk


def one_column(kind: str, function: str, values: pa.Array, starts: list[int]) -> list[Any]:
    schema = table_schema((("k", "INT"), ("v", kind)), AGG | {"fields.v.aggregate-function": function})
    table = pa.table(
        {
            "v": values,
            SEQUENCE_COLUMN: pa.array(np.arange(len(values))),
            KIND_COLUMN: pa.array(np.zeros(len(values), np.int8)),
        }
    )
    merged: list[Any] = merge_rows(MergeSpec.of(schema), SortedRows(table, np.array(starts)), ["v"])["v"].to_pylist()
    return merged


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_added_in_order(dtype: type[np.floating[Any]]) -> None:
    rng = np.random.default_rng(7)
    values = (rng.random(3000) * 10.0 ** rng.integers(-8, 8, 3000)).astype(dtype)
    starts = [0, 1, 3, 100, 116, 117, 1500]
    wanted = []
    for start, end in zip(starts, [*starts[1:], len(values)], strict=True):
        total = values[start]
        for value in values[start + 1 : end]:
            total = dtype(total + value)
        wanted.append(float(total))
    kind = "FLOAT" if dtype is np.float32 else "DOUBLE"
    assert one_column(kind, "sum", pa.array(values), starts) == wanted


def test_long_decimals_are_added_exactly() -> None:
    rng = np.random.default_rng(11)
    numbers = [(int(a) * 10**17 + int(b)) * (-1) ** int(b) for a, b in rng.integers(0, 10**18, (500, 2))]
    starts = [0, 2, 3, 250]
    wanted = [sum(numbers[a:b]) for a, b in zip(starts, [*starts[1:], 500], strict=True)]
    values = pa.array([Decimal(number) for number in numbers], pa.decimal128(38, 0))
    assert one_column("DECIMAL(38, 0)", "sum", values, starts) == wanted


def test_sliced_and_chunked_input() -> None:
    decimals = pa.array([Decimal(i) for i in range(10)], pa.decimal128(10, 0))
    chunks = pa.chunked_array([decimals[3:5], decimals[5:9]])
    assert one_column("DECIMAL(10, 0)", "sum", chunks, [0, 2]) == [7, 26]
    lists = pa.array([[i, i] for i in range(10)], pa.list_(pa.field("element", pa.int32())))
    schema = table_schema(
        (("k", "INT"), ("v", {"type": "ARRAY", "element": "INT"})), AGG | {"fields.v.aggregate-function": "collect"}
    )
    table = pa.table({"v": lists[4:7], SEQUENCE_COLUMN: [0, 1, 2], KIND_COLUMN: pa.array([0, 0, 0], pa.int8())})
    merged = merge_rows(MergeSpec.of(schema), SortedRows(table, np.array([0, 1])), ["v"])
    assert merged["v"].to_pylist() == [[4, 4], [5, 5, 6, 6]]


def test_sums_at_the_edge() -> None:
    top, bottom = 2**63 - 1, -(2**63)
    assert one_column("BIGINT", "sum", pa.array([top, 0, bottom, 0, 2**62, 2**62 - 1]), [0, 2, 4]) == [top, bottom, top]
    with pytest.raises(DataError, match=r"column 'v': .* does not fit int64"):
        one_column("BIGINT", "sum", pa.array([top, 1, -1]), [0])
    with pytest.raises(DataError, match="does not fit"):
        one_column("DECIMAL(3, 0)", "sum", pa.array([Decimal(999), Decimal(1)], pa.decimal128(3, 0)), [0])
