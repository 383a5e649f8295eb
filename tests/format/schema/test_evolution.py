from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.format.type_strategies import atomics, data_types

from lakebed.errors import LakebedError, OptionError, SchemaError
from lakebed.format.schema.evolution import (
    AddColumn,
    After,
    Before,
    Change,
    DropColumn,
    First,
    Last,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
    apply_changes,
    can_widen,
)
from lakebed.format.schema.table_schema import TableSchema, create_schema
from lakebed.format.types.column_ddl import parse_columns
from lakebed.format.types.data_types import Array, Atomic, DataType, Row, nested_fields, parse_type
from lakebed.format.types.sql_types import parse_data_type
from lakebed.options import OPTIONS

INT, BIGINT, STRING = Atomic("INT"), Atomic("BIGINT"), Atomic("STRING")


def make(text: str, **given_args: Any) -> TableSchema:
    return create_schema(parse_columns(text), time_millis=1, **given_args)


def alter(schema: TableSchema, *changes: Change, has_snapshots: bool = True) -> TableSchema:
    return apply_changes(schema, changes, time_millis=2, has_snapshots=has_snapshots)


def shape(schema: TableSchema) -> list[tuple[int, str, str]]:
    return [(f.id, f.name, str(f.type)) for f in schema.fields]


def ids(schema: TableSchema) -> dict[str, int]:
    return {f.name: f.id for c in schema.fields for f in (c, *nested_fields(c.type))}


PLAIN = make("a INT, b STRING, c INT NOT NULL")
KEYED = make("dt STRING, id INT, v INT, s BIGINT", partition_by=["dt"], primary_key=["dt", "id"])
NESTED = make(
    "id INT, st ROW<a INT, b ROW<x INT, y INT>>, arr ARRAY<ROW<e INT>>, m MAP<STRING, ROW<v INT>>, l ARRAY<INT>"
)


def test_add_rename_drop_as_in_the_fact_sheet() -> None:
    schema = make("a INT, b INT, c INT")
    schema = alter(schema, AddColumn("d", STRING), RenameColumn("b", "bb"), DropColumn("c"))
    assert shape(schema) == [(0, "a", "INT"), (1, "bb", "INT"), (3, "d", "STRING")]
    assert schema.highest_field_id == 3
    assert (schema.id, schema.time_millis) == (1, 2)
    again = alter(alter(schema, DropColumn("d")), AddColumn("d", STRING))
    assert again.field("d").id == 4
    assert again.highest_field_id == 4


@pytest.mark.parametrize(
    ("position", "names"),
    [
        (None, ["a", "b", "c", "n"]),
        (Last(), ["a", "b", "c", "n"]),
        (First(), ["n", "a", "b", "c"]),
        (After("a"), ["a", "n", "b", "c"]),
        (Before("c"), ["a", "b", "n", "c"]),
    ],
)
def test_where_a_new_column_goes(position: Any, names: list[str]) -> None:
    schema = alter(PLAIN, AddColumn("n", INT, "why", position, "5"))
    assert list(schema.field_names) == names
    assert schema.field("n") == replace(schema.field("n"), id=3, description="why", default="5")


def test_new_columns_may_go_before_the_partition() -> None:
    schema = make("a INT, dt INT, b INT", partition_by=["dt"], options={"add-column-before-partition": "true"})
    assert alter(schema, AddColumn("n", INT)).field_names == ("a", "n", "dt", "b")
    assert alter(schema, AddColumn("n", INT, None, Last())).field_names == ("a", "dt", "b", "n")
    assert alter(schema, RemoveOption("add-column-before-partition"), AddColumn("n", INT)).field_names[-1] == "n"


def test_new_rows_get_ids_of_their_own() -> None:
    schema = alter(PLAIN, AddColumn("r", parse_data_type("ROW<x INT, y ARRAY<ROW<z INT>>>")), AddColumn("q", INT))
    assert ids(schema) == {"a": 0, "b": 1, "c": 2, "r": 3, "x": 4, "z": 5, "y": 6, "q": 7}
    assert schema.highest_field_id == 7


def test_ids_stay_unique_when_a_writer_forgot_to_count() -> None:
    assert alter(replace(PLAIN, highest_field_id=0), AddColumn("n", INT)).field("n").id == 3


@pytest.mark.parametrize(
    ("position", "names"),
    [
        (First(), ["b", "a", "c"]),
        (Last(), ["a", "c", "b"]),
        (After("c"), ["a", "c", "b"]),
        (Before("a"), ["b", "a", "c"]),
        (After("a"), ["a", "b", "c"]),
    ],
)
def test_move(position: Any, names: list[str]) -> None:
    schema = alter(PLAIN, UpdateColumnPosition("b", position))
    assert list(schema.field_names) == names
    assert ids(schema) == ids(PLAIN)


def test_nothing_changed_is_the_same_schema() -> None:
    same: list[Change] = [
        RenameColumn("a", "a"),
        UpdateColumnType("a", INT),
        UpdateColumnType("c", INT),
        UpdateColumnPosition("b", After("a")),
        UpdateColumnNullability("a", nullable=True),
        UpdateColumnNullability("c", nullable=False),
        UpdateColumnComment("a", None),
        RemoveOption("nope"),
        UpdateComment(None),
    ]
    assert alter(PLAIN, *same) is PLAIN
    assert alter(PLAIN) is PLAIN
    assert alter(PLAIN, AddColumn("n", INT), DropColumn("n")).highest_field_id == 3
    keyed = make("a INT", options={"bucket-key": "a"})
    assert alter(keyed, SetOption("bucket-key", "a")) is keyed


def test_old_format_versions_are_written_as_the_current_one() -> None:
    assert alter(replace(PLAIN, version=1), UpdateComment("x")).version == 3


def test_comments_defaults_nullability() -> None:
    schema = alter(
        PLAIN,
        UpdateColumnComment("a", "why"),
        UpdateColumnDefault("a", "3"),
        UpdateColumnNullability("c", nullable=True),
        UpdateComment("table"),
        SetOption("snapshot.num-retained.max", "5"),
    )
    assert (schema.field("a").description, schema.field("a").default) == ("why", "3")
    assert schema.field("c").nullable
    assert schema.comment == "table"
    assert dict(schema.options) == {"snapshot.num-retained.max": "5"}
    back = alter(schema, UpdateColumnDefault("a", None), UpdateComment(None), RemoveOption("snapshot.num-retained.max"))
    assert (back.field("a").default, back.comment, dict(back.options)) == (None, None, {})


def test_type_changes_keep_nullability() -> None:
    schema = alter(PLAIN, UpdateColumnType("a", BIGINT), UpdateColumnType("c", BIGINT))
    assert [str(f.type) for f in schema.fields] == ["BIGINT", "STRING", "BIGINT NOT NULL"]


# ------------------------------------------------------------------------------------------------ nested


def test_nested_changes() -> None:
    schema = alter(
        NESTED,
        AddColumn(("st", "b", "z"), INT, None, First()),
        AddColumn(("arr", "element", "f"), STRING),
        AddColumn(("m", "value", "w"), STRING),
        RenameColumn(("st", "a"), "aa"),
        DropColumn(("st", "b", "x")),
        UpdateColumnType(("l", "element"), BIGINT),
        UpdateColumnType(("m", "value", "v"), BIGINT),
        UpdateColumnComment(("arr", "element", "e"), "deep"),
        UpdateColumnPosition(("st", "b"), First()),
    )
    assert [str(f.type) for f in schema.fields] == [
        "INT",
        "ROW<b ROW<z INT, y INT>, aa INT>",
        "ARRAY<ROW<e INT, f STRING>>",
        "MAP<STRING NOT NULL, ROW<v BIGINT, w STRING>>",
        "ARRAY<BIGINT>",
    ]
    old, new = ids(NESTED), ids(schema)
    assert new["aa"] == old["a"]
    assert {name: new[name] for name in ("z", "f", "w")} == {"z": 11, "f": 12, "w": 13}
    assert all(new[name] == number for name, number in old.items() if name not in {"a", "x"})
    assert schema.highest_field_id == 13
    assert nested(schema.field("arr").type).fields[0].description == "deep"


def nested(data_type: DataType) -> Row:
    assert isinstance(data_type, Array)
    assert isinstance(data_type.element, Row)
    return data_type.element


def test_nullability_inside() -> None:
    schema = make("l ARRAY<INT NOT NULL>, m MAP<INT, ROW<v INT NOT NULL>>")
    changed = alter(
        schema,
        UpdateColumnNullability(("l", "element"), nullable=True),
        UpdateColumnNullability(("m", "value", "v"), nullable=True),
    )
    assert [str(f.type) for f in changed.fields] == ["ARRAY<INT>", "MAP<INT NOT NULL, ROW<v INT>>"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (AddColumn(("st", "b"), INT), "already a column 'st.b'"),
        (AddColumn(("st", "n"), parse_type("INT NOT NULL")), "'st.n' cannot be NOT NULL"),
        (AddColumn(("id", "n"), INT), "column 'id' is INT and has no field 'n'"),
        (AddColumn(("l", "n"), INT), "'l' is ARRAY<INT> and has no field 'n'"),
        (AddColumn(("arr", "f"), INT), "has no field 'f'"),
        (AddColumn(("arr", "thing", "f"), INT), "has no field 'thing', only 'element'"),
        (AddColumn(("m", "key", "f"), INT), "key of map 'm' cannot be changed"),
        (AddColumn(("st", "n"), INT, None, After("q")), "unknown field 'q' in column 'st'"),
        (AddColumn(("sst", "n"), INT), "unknown column 'sst'; did you mean 'st'"),
        (AddColumn((), INT), "at least one name"),
        (UpdateColumnType(("m", "key"), BIGINT), "key of map 'm' cannot be changed"),
        (UpdateColumnType(("m", "thing"), BIGINT), "only 'value'"),
        (UpdateColumnType("l", Array(BIGINT)), "change the fields inside it"),
        (UpdateColumnType(("st", "b"), INT), "change the fields inside it"),
        (RenameColumn(("st", "a"), "b"), "already a column 'st.b'"),
        (RenameColumn(("st", "nope"), "b"), "unknown field 'nope' in column 'st'"),
        (RenameColumn(("l", "element"), "b"), "has no field 'element'"),
        (DropColumn(("arr", "element", "e")), "last field of column 'arr.element'"),
        (DropColumn(("l", "element")), "has no field 'element'"),
        (UpdateColumnComment(("l", "element"), "x"), "has no field 'element'"),
        (UpdateColumnPosition(("st", "a"), After("a")), "unknown field 'a'"),
        (UpdateColumnNullability(("st", "a"), nullable=False), "cannot become NOT NULL"),
    ],
)
def test_nested_refusals(change: Change, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        alter(NESTED, change)


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("schema", "change", "message"),
    [
        (PLAIN, AddColumn("a", INT), "already a column 'a'"),
        (PLAIN, AddColumn("n", parse_type("INT NOT NULL"), default="1"), "cannot be NOT NULL"),
        (PLAIN, AddColumn("rowkind", INT), "reserved"),
        (PLAIN, AddColumn(" ", INT), "blank name"),
        (PLAIN, AddColumn("n", INT, default="x"), "not a value of type INT"),
        (PLAIN, AddColumn("n", INT, position=After("q")), "unknown column 'q'"),
        (PLAIN, AddColumn("n", parse_data_type("ROW<x INT, x INT>")), "two fields named 'x'"),
        (PLAIN, RenameColumn("a", "b"), "already a column 'b'"),
        (PLAIN, RenameColumn("a", "_KEY_a"), "reserved"),
        (PLAIN, RenameColumn("aaa", "x"), "unknown column 'aaa'"),
        (PLAIN, RenameColumn("zz", "zz"), "unknown column 'zz'"),
        (PLAIN, DropColumn("q"), "unknown column 'q'"),
        (PLAIN, UpdateColumnType("q", INT), "unknown column 'q'"),
        (PLAIN, UpdateColumnComment("q", ""), "unknown column 'q'"),
        (PLAIN, UpdateColumnPosition("q", First()), "unknown column 'q'"),
        (PLAIN, UpdateColumnPosition("a", Before("a")), "unknown column 'a'"),
        (PLAIN, UpdateColumnDefault("a", "x"), "not a value"),
        (PLAIN, UpdateColumnType("a", Atomic("SMALLINT")), "cannot change from INT to SMALLINT"),
        (PLAIN, UpdateColumnType("a", Array(INT)), "cannot change from INT to ARRAY<INT>"),
        (PLAIN, UpdateColumnType("a", parse_type("BIGINT NOT NULL")), "cannot become NOT NULL"),
        (PLAIN, UpdateColumnNullability("a", nullable=False), "cannot become NOT NULL"),
        (make("a INT"), DropColumn("a"), "last field of the table"),
        (KEYED, DropColumn("dt"), "partition column 'dt' cannot be dropped"),
        (KEYED, DropColumn("id"), "primary key column 'id' cannot be dropped"),
        (KEYED, RenameColumn("dt", "day"), "partition column 'dt' cannot be renamed"),
        (KEYED, UpdateColumnType("dt", STRING), None),
        (KEYED, UpdateColumnType("id", BIGINT), "primary key column 'id' cannot be retyped"),
        (KEYED, UpdateColumnNullability("id", nullable=True), "primary key column 'id' cannot be made nullable"),
        (make("a INT, b INT", options={"bucket-key": "a"}), UpdateColumnType("a", BIGINT), "bucket key column 'a'"),
        (make("a INT, b INT", options={"bucket-key": "a"}), DropColumn("a"), "option 'bucket-key' names it"),
        (make("a INT, b INT", options={"sequence.field": "b,a"}), DropColumn("a"), "option 'sequence.field'"),
        (make("a INT, b INT", options={"sequence.field": "a"}), UpdateColumnType("a", STRING), "sort as text"),
        (make("a INT, b INT", options={"rowkind.field": "a"}), RenameColumn("a", "c"), "option 'rowkind.field'"),
        (make("a INT, b INT", options={"fields.a.aggregate-function": "sum"}), DropColumn("a"), "option 'fields.a"),
        (make("a INT, b INT", options={"fields.b.sequence-group": "a"}), DropColumn("a"), "option 'fields.b"),
        (make("a INT, b INT", options={"file-index.bloom-filter.columns": "b, a[k]"}), DropColumn("a"), "file-index"),
        (make("a INT, b INT", options={"bucket-key": "a"}), RenameColumn("a", "c,d"), "separates names by commas"),
        (
            make("o ARRAY<ROW<k INT, v INT>>", options={"fields.o.nested-key": "k"}),
            RenameColumn(("o", "element", "k"), "kk"),
            "nested-key",
        ),
        (
            make("o ARRAY<ROW<k INT, v INT>>", options={"fields.o.nested-key": "k"}),
            DropColumn(("o", "element", "k")),
            "nested-key",
        ),
    ],
)
def test_refusals(schema: TableSchema, change: Change, message: str | None) -> None:
    with pytest.raises(SchemaError, match=message or "partition column 'dt' cannot be retyped"):
        alter(schema, change)


# ----------------------------------------------------------------------------------------------- options


def test_options_follow_a_rename() -> None:
    options = {
        "bucket": "2",
        "bucket-key": "id",
        "sequence.field": "s,v",
        "fields.v.aggregate-function": "sum",
        "fields.v,s.sequence-group": "w,v",
        "fields.default-aggregate-function": "v",
        "fields.w.list-agg-delimiter": "v",
    }
    schema = make("id INT, v INT, s INT, w INT", primary_key=["id"], options=options)
    schema = alter(schema, RenameColumn("id", "k"), RenameColumn("v", "value"))
    assert schema.primary_keys == ("k",)
    assert schema.bucket_keys == ("k",)
    assert dict(schema.options) == {
        "bucket": "2",
        "bucket-key": "k",
        "sequence.field": "s,value",
        "fields.value.aggregate-function": "sum",
        "fields.value,s.sequence-group": "w,value",
        "fields.default-aggregate-function": "v",
        "fields.w.list-agg-delimiter": "v",
    }
    assert not schema.field("k").nullable


def test_a_nested_rename_leaves_options_alone() -> None:
    schema = make("a INT, r ROW<a INT>", options={"bucket-key": "a"})
    renamed = alter(schema, RenameColumn(("r", "a"), "b"))
    assert dict(renamed.options) == {"bucket-key": "a"}


@pytest.mark.parametrize("key", [option.name for option in OPTIONS.values() if option.immutable or option.create_only])
def test_immutable_options(key: str) -> None:
    for change in (SetOption(key, "new"), RemoveOption(key)):
        with pytest.raises(OptionError, match=key):
            alter(replace(PLAIN, options={key: "old"}), change)


def test_an_alias_of_an_immutable_option_is_immutable_too() -> None:
    with pytest.raises(OptionError, match=r"'blob\.stored-descriptor-fields' cannot change"):
        alter(PLAIN, SetOption("blob.stored-descriptor-fields", "a"))


def test_a_table_without_files_may_change_most_options() -> None:
    assert alter(PLAIN, SetOption("bucket-key", "a"), has_snapshots=False).bucket_keys == ("a",)
    assert alter(PLAIN, SetOption("bucket", "4"), has_snapshots=False).options["bucket"] == "4"
    for key in ("primary-key", "partition", "path"):
        with pytest.raises(OptionError, match="create a new table"):
            alter(PLAIN, SetOption(key, "a"), has_snapshots=False)


@pytest.mark.parametrize(
    ("old", "change", "allowed"),
    [
        ({"bucket": "2"}, SetOption("bucket", "4"), True),
        ({"bucket": "2"}, SetOption("bucket", "-1"), False),
        ({"bucket": "2"}, RemoveOption("bucket"), False),
        ({"bucket": "-1"}, SetOption("bucket", "4"), False),
        ({}, SetOption("bucket", "4"), False),
        ({"ignore-delete": "true"}, SetOption("ignore-delete", "false"), False),
        ({"ignore-delete": "true"}, RemoveOption("ignore-delete"), False),
        ({}, SetOption("ignore-delete", "true"), True),
        ({}, SetOption("deletion-vectors.enabled", "true"), False),
        ({}, SetOption("deletion-vectors.enabled", "false"), True),
        ({"deletion-vectors.modifiable": "true"}, SetOption("deletion-vectors.enabled", "true"), True),
        ({"deletion-vectors.enabled": "true"}, RemoveOption("deletion-vectors.enabled"), False),
    ],
)
def test_options_that_change_one_way_only(old: dict[str, str], change: Change, allowed: bool) -> None:
    schema = replace(PLAIN, options=old)
    if allowed:
        assert alter(schema, change).id == 1
    else:
        with pytest.raises(OptionError):
            alter(schema, change)


# ------------------------------------------------------------------------------------------------ widening

LADDERS = [
    ["TINYINT", "SMALLINT", "INT", "BIGINT"],
    ["TINYINT", "SMALLINT", "FLOAT", "DOUBLE"],
    ["INT", "DOUBLE"],
    ["INT", "STRING"],
    ["TINYINT", "DECIMAL(3, 0)", "DECIMAL(5, 2)", "DECIMAL(38, 2)", "STRING"],
    ["BIGINT", "DECIMAL(19, 0)", "DECIMAL(38, 19)"],
    ["CHAR(3)", "VARCHAR(3)", "VARCHAR(5)", "STRING"],
    ["BINARY(3)", "VARBINARY(3)", "VARBINARY(5)", "BYTES"],
    ["DATE", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "STRING"],
    ["TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)"],
    ["TIMESTAMP(7)", "TIMESTAMP(9)"],
    ["TIME(0)", "TIME(3)", "STRING"],
    ["BOOLEAN", "STRING"],
]
NEVER = [
    ("INT", "FLOAT"),
    ("BIGINT", "DOUBLE"),
    ("INT", "DECIMAL(9, 0)"),
    ("BIGINT", "DECIMAL(20, 2)"),
    ("DECIMAL(5, 2)", "DECIMAL(6, 4)"),
    ("DECIMAL(5, 2)", "DECIMAL(9, 1)"),
    ("DECIMAL(5, 2)", "DOUBLE"),
    ("DOUBLE", "STRING"),
    ("FLOAT", "STRING"),
    ("FLOAT", "DECIMAL(38, 10)"),
    ("CHAR(3)", "CHAR(5)"),
    ("VARCHAR(5)", "CHAR(9)"),
    ("BINARY(3)", "BINARY(5)"),
    ("INT", "VARCHAR(20)"),
    ("BYTES", "STRING"),
    ("STRING", "BYTES"),
    ("TIMESTAMP_LTZ(3)", "STRING"),
    ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"),
    ("DATE", "TIMESTAMP_LTZ(3)"),
    ("DATE", "TIMESTAMP(9)"),
    ("TIMESTAMP(6)", "TIMESTAMP(9)"),
    ("TIMESTAMP(6)", "DATE"),
    ("BOOLEAN", "INT"),
    ("INT", "DATE"),
    ("STRING", "INT"),
]


@pytest.mark.parametrize(("old", "new"), [pair for ladder in LADDERS for pair in pairwise(ladder)])
def test_each_step_widens_and_does_not_go_back(old: str, new: str) -> None:
    assert can_widen(parse_type(old), parse_type(new))
    assert can_widen(parse_type(old + " NOT NULL"), parse_type(new))
    assert not can_widen(parse_type(new), parse_type(old))


@pytest.mark.parametrize(("old", "new"), NEVER)
def test_never_widened(old: str, new: str) -> None:
    assert not can_widen(parse_type(old), parse_type(new))


@given(atomics(), atomics(), atomics())
@settings(max_examples=examples(200))
def test_widening_is_an_order(a: Atomic, b: Atomic, c: Atomic) -> None:
    assert can_widen(a, a)
    if can_widen(a, b) and can_widen(b, a):
        assert replace(a, nullable=True) == replace(b, nullable=True)
    if can_widen(a, b) and can_widen(b, c):
        assert can_widen(a, c)


@given(data_types(), atomics())
@settings(max_examples=examples(60))
def test_nested_types_widen_to_themselves_only(a: DataType, b: Atomic) -> None:
    assert can_widen(a, a)
    if not isinstance(a, Atomic):
        assert not can_widen(a, b)
        assert not can_widen(b, a)


# ------------------------------------------------------------------------------------------------- model

COLUMNS = st.sampled_from("abcdef")
SMALL = st.sampled_from([INT, BIGINT, STRING])
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(AddColumn, COLUMNS, SMALL, st.none(), st.one_of(st.none(), st.just(First()), st.builds(After, COLUMNS))),
    st.builds(RenameColumn, COLUMNS, COLUMNS),
    st.builds(DropColumn, COLUMNS),
    st.builds(UpdateColumnType, COLUMNS, SMALL),
    st.builds(UpdateColumnPosition, COLUMNS, st.one_of(st.just(Last()), st.builds(Before, COLUMNS))),
)


def expected(table: list[tuple[int, str, str]], next_id: int, change: Change) -> list[tuple[int, str, str]] | None:
    """The table after a change, by the simplest means; None where it must be refused."""
    names = [name for _, name, _ in table]
    path = str(getattr(change, "path", ""))
    at = names.index(path) if path in names else -1
    match change:
        case AddColumn(_, data_type, _, position):
            if at >= 0 or (isinstance(position, After) and position.name not in names):
                return None
            where = 0 if position == First() else len(names)
            where = names.index(position.name) + 1 if isinstance(position, After) else where
            return [*table[:where], (next_id, path, str(data_type)), *table[where:]]
        case _ if at < 0:
            return None
        case RenameColumn(_, new):
            taken = new in names and new != path
            return None if taken else [(i, new if name == path else name, t) for i, name, t in table]
        case DropColumn():
            return None if len(table) == 1 else table[:at] + table[at + 1 :]
        case UpdateColumnType(_, data_type):
            order = ["INT", "BIGINT", "STRING"]
            if order.index(str(data_type)) < order.index(table[at][2]):
                return None
            return [*table[:at], (*table[at][:2], str(data_type)), *table[at + 1 :]]
        case UpdateColumnPosition(_, position):
            rest = table[:at] + table[at + 1 :]
            if position == Last():
                return [*rest, table[at]]
            others = [name for _, name, _ in rest]
            if not isinstance(position, Before) or position.name not in others:
                return None
            where = others.index(position.name)
            return [*rest[:where], table[at], *rest[where:]]
    raise AssertionError(change)


@given(st.lists(CHANGES, max_size=12))
@settings(max_examples=examples(150))
def test_against_a_model(changes: list[Change]) -> None:
    schema = make("a INT, b BIGINT")
    table, next_id = shape(schema), 2
    for change in changes:
        wanted = expected(table, next_id, change)
        if wanted is None:
            with pytest.raises(LakebedError):
                alter(schema, change)
            continue
        changed = alter(schema, change)
        assert shape(changed) == wanted
        assert changed.id == schema.id + (0 if wanted == table else 1)
        next_id += isinstance(change, AddColumn)
        schema, table = changed, wanted
    assert schema.highest_field_id == next_id - 1
    assert TableSchema.from_json(schema.to_json(), where="x") == schema
