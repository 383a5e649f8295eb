"""Random tables and histories for the merge engines: few values, so that ties, nulls and repetitions are common."""

from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.rows.merge_engines.cases import Record, table_schema

from lakebed.format.schema.table_schema import TableSchema

ROW = {
    "type": "ARRAY",
    "element": {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "a", "type": "INT"},
            {"id": 1, "name": "b", "type": "STRING"},
            {"id": 2, "name": "s", "type": "INT"},
        ],
    },
}
INTS = {"type": "ARRAY", "element": "INT"}
LISTS = {"type": "ARRAY", "element": {"type": "ARRAY", "element": "INT"}}
MAP = {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}

few = st.integers(-2, 3)
words = st.sampled_from(["a", "b", "a,b", "", " ", "b,,c", "\u2003", ",", "ä"])
decimals = st.sampled_from(["0", "1.25", "-2.5", "99.99", "-99.99", "0.05"]).map(Decimal)
floats = st.sampled_from([0.0, -0.0, 1.5, 1e16, -1e16, 0.1, 0.2, float("inf"), float("nan"), -3.25])
rows = st.lists(st.one_of(few, st.none()), min_size=1, max_size=1).flatmap(
    lambda a: st.tuples(st.just(a[0]), st.sampled_from(["x", "y", None]), st.one_of(few, st.none())).map(list)
)

# column type and values; what should be unique in an array is so, as a delete's own value is not looked through
VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "tiny": ("TINYINT", st.sampled_from([0, 1, -1, 2, 100, 27, -128])),
    "int": ("INT", few),
    "big": ("BIGINT", st.sampled_from([0, 1, -3, 2**62, -(2**62), 2**63 - 1, -(2**63)])),
    "float": ("FLOAT", floats.map(np.float32)),
    "double": ("DOUBLE", floats),
    "short decimal": ("DECIMAL(4, 2)", decimals),
    "long decimal": ("DECIMAL(22, 2)", st.one_of(decimals, st.just(Decimal("99999999999999999999.99")))),
    "text": ("STRING", words),
    "bytes": ("BYTES", st.sampled_from([b"", b"\x00", b"\xff", b"a"])),
    "bool": ("BOOLEAN", st.booleans()),
    "time": ("TIMESTAMP(6)", st.none()),
    "ints": (INTS, st.lists(st.one_of(few, st.none()), max_size=3)),
    "set": (INTS, st.lists(st.one_of(few, st.none()), max_size=3, unique=True)),
    "lists": (LISTS, st.lists(st.lists(few, max_size=2), max_size=2, unique_by=tuple)),
    "map": (MAP, st.lists(st.tuples(st.sampled_from("xyz"), few).map(list), max_size=3, unique_by=lambda p: p[0])),
    "rows": (ROW, st.lists(rows, max_size=3)),
    "keyed rows": (ROW, st.lists(rows, max_size=3, unique_by=lambda r: r[0])),
}
ANY = ("int", "text", "double", "ints", "map")
NUMBERS = ("tiny", "int", "big", "float", "double", "short decimal", "long decimal")
ORDERED = (*NUMBERS, "text", "bytes")
# function, values it is tried on, options of the column
CHOICES: list[tuple[str, tuple[str, ...], dict[str, str]]] = [
    ("sum", NUMBERS, {}),
    ("product", NUMBERS, {}),
    ("max", ORDERED, {}),
    ("min", ORDERED, {}),
    ("last_value", ANY, {}),
    ("last_non_null_value", ANY, {}),
    ("first_value", ANY, {}),
    ("first_non_null_value", ANY, {}),
    ("first_not_null_value", ANY, {}),
    ("listagg", ("text",), {}),
    ("listagg", ("text",), {"distinct": "true"}),
    ("listagg", ("text",), {"list-agg-delimiter": "; "}),
    ("bool_and", ("bool",), {}),
    ("bool_or", ("bool",), {}),
    ("collect", ("ints", "lists"), {}),
    ("collect", ("set", "lists"), {"distinct": "true"}),
    ("merge_map", ("map",), {}),
    ("nested_update", ("rows",), {}),
    ("nested_update", ("keyed rows",), {"nested-key": "a"}),
    ("nested_update", ("keyed rows",), {"nested-key": "a,b", "nested-key-null-strategy": "ignore"}),
    ("nested_update", ("keyed rows",), {"nested-key": "a", "nested-sequence-field": "s"}),
]


@st.composite
def aggregated_columns(
    draw: st.DrawFn, *, may_ignore: bool, suffix: str = ""
) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """(column, values) and the options of some aggregated columns."""
    columns: list[tuple[str, str]] = []
    options: dict[str, str] = {}
    for i, (function, values, extra) in enumerate(draw(st.lists(st.sampled_from(CHOICES), min_size=1, max_size=3))):
        name = f"v{i}{suffix}"
        columns.append((name, draw(st.sampled_from(values))))
        options[f"fields.{name}.aggregate-function"] = function
        options |= {f"fields.{name}.{key}": value for key, value in extra.items()}
        if may_ignore and draw(st.booleans()):
            options[f"fields.{name}.ignore-retract"] = "true"
    return columns, options


@st.composite
def histories(draw: st.DrawFn, columns: list[tuple[str, str]], kinds: list[int]) -> list[list[Record]]:
    """Some keys with some records each."""
    cells = {name: st.one_of(st.none(), VALUES[values][1], VALUES[values][1]) for name, values in columns}
    row = st.fixed_dictionaries({"k": st.just(1), **cells})
    return draw(
        st.lists(st.lists(st.tuples(st.sampled_from(kinds), row), min_size=1, max_size=6), min_size=1, max_size=3)
    )


def _schema(columns: list[tuple[str, str]], options: dict[str, str]) -> TableSchema:
    return table_schema([("k", "INT"), *((name, VALUES[values][0]) for name, values in columns)], options)


@st.composite
def aggregations(draw: st.DrawFn) -> tuple[TableSchema, list[list[Record]]]:
    removes = draw(st.booleans())
    columns, options = draw(aggregated_columns(may_ignore=not removes))
    columns.append(("plain", "int"))
    options["merge-engine"] = "aggregation"
    if removes:
        options["aggregation.remove-record-on-delete"] = "true"
    kinds = draw(st.sampled_from([[0, 2], [0, 0, 2, 3], [0, 1, 2, 3]]))
    return _schema(columns, options), draw(histories(columns, kinds))


@st.composite
def partial_updates(draw: st.DrawFn) -> tuple[TableSchema, list[list[Record]]]:
    """Without groups, or with one or two of them, with one or two sequence columns, plain and aggregated columns."""
    columns: list[tuple[str, str]] = [("p", "int"), ("q", "text")]
    options = {"merge-engine": "partial-update"}
    sequences: list[str] = []
    for g in range(draw(st.integers(0, 2))):
        sequence = [f"g{g}", f"h{g}"][: draw(st.integers(1, 2))]
        aggregated, extra = draw(aggregated_columns(may_ignore=True, suffix=f"_{g}"))
        options |= extra
        inside = [(f"c{g}", "int"), *aggregated][draw(st.integers(0, 1)) :]
        options[f"fields.{','.join(sequence)}.sequence-group"] = ",".join(name for name, _ in inside)
        columns += [*((name, "int") for name in sequence), *inside]
        sequences.append(draw(st.sampled_from(sequence)))
    removes: bool = draw(st.booleans())
    if sequences and removes:
        chosen: list[str] = draw(st.lists(st.sampled_from(sequences), min_size=1, unique=True))
        options["partial-update.remove-record-on-sequence-group"] = ",".join(chosen)
    if not sequences:
        options |= draw(
            st.sampled_from([{}, {"ignore-delete": "true"}, {"partial-update.remove-record-on-delete": "true"}])
        )
    columns = draw(st.permutations(columns))
    kinds = draw(st.sampled_from([[0, 2], [0, 0, 2, 3], [0, 1, 2, 3]]))
    return _schema(columns, options), draw(histories(columns, kinds))


@st.composite
def row_picks(draw: st.DrawFn) -> tuple[TableSchema, list[list[Record]]]:
    options = {"merge-engine": draw(st.sampled_from(["deduplicate", "first-row"]))}
    if draw(st.booleans()):
        options["ignore-delete"] = "true"
    columns = [("p", "int"), ("q", "text")]
    kinds = draw(st.sampled_from([[0, 2], [0, 1, 2, 3]]))
    return _schema(columns, options), draw(histories(columns, kinds))


@st.composite
def staged(draw: st.DrawFn) -> tuple[TableSchema, list[Record], list[Record]]:
    """Older and newer records of one key, for tables where merging them apart first makes no difference."""
    engine = draw(st.sampled_from(["deduplicate", "first-row", "partial-update", "groups", "aggregation"]))
    columns: list[tuple[str, str]] = [("p", "int"), ("q", "text")]
    options = {"merge-engine": engine}
    if engine == "groups":
        columns += [("g", "int"), ("h", "int"), ("a", "int"), ("b", "text")]
        options = {"merge-engine": "partial-update", "fields.g,h.sequence-group": "a,b"}
    if engine == "aggregation":
        # Exact ones: no overflow, no rounding.
        exact = [
            (f, {"int", "text", "bool", "ints", "set", "map", "rows", "keyed rows"} & set(v), o) for f, v, o in CHOICES
        ]
        for i, (function, values, extra) in enumerate(draw(st.lists(st.sampled_from(exact), min_size=1, max_size=3))):
            columns.append((f"v{i}", draw(st.sampled_from(sorted(values)))))
            options[f"fields.v{i}.aggregate-function"] = function
            options |= {f"fields.v{i}.{key}": value for key, value in extra.items()}
    kinds = [0, 2, 3] if engine == "deduplicate" else [0, 2]
    older, newer = (draw(histories(columns, kinds))[0] for _ in range(2))
    return _schema(columns, options), older, newer
