"""The interop matrix as data: what is written, how it is laid out, and what each oracle cannot do, with the reason.

A ``Case`` is two batches of rows that both sides write in turn. A ``Story`` is a list of steps (writes, overwrites,
schema changes ...) that both sides take in turn. Values are plain: dates in days, times in milliseconds, timestamps in
the unit of ``protocol.arrow_type``, maps as lists of pairs.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from tests.interop.oracle import Where
from tests.interop.protocol import PaimonType, arrow_type, plain_rows, to_wire

Fields = list[tuple[str, PaimonType]]
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Filter:
    """A condition, and the ids of the rows it keeps."""

    where: Where
    ids: frozenset[int]


@dataclass(frozen=True)
class Case:
    """One table layout. The first column is ``id``, different in each row."""

    name: str
    fields: Fields
    first: Rows
    second: Rows
    partition_by: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    filters: list[Filter] = field(default_factory=list)
    # Oracle name to the reason why it cannot take part; "<oracle> creates" and "<oracle> filters" if only that fails.
    cannot: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Story:
    """Steps on one table and the rows that must be there in the end. Each step is (operation, arguments...)."""

    name: str
    fields: Fields
    steps: Sequence[tuple[Any, ...]]
    end_fields: Fields
    end: Rows
    partition_by: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    filters: list[Filter] = field(default_factory=list)
    cannot: Mapping[str, str] = field(default_factory=dict)


def table(fields: Fields, rows: Rows) -> pa.Table:
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in fields])
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    return pa.table([pa.array(list(c), t) for c, t in zip(columns, schema.types, strict=True)], schema=schema)


def comparable(found: pa.Table, fields: Fields) -> list[str]:
    """Rows in a form that two readers must agree on: canonical types, any order."""
    assert found.column_names == [name for name, _ in fields]
    cast = pa.table({name: found[name].cast(arrow_type(kind)) for name, kind in fields})
    return sorted(map(repr, plain_rows(cast)))


def expected(fields: Fields, rows: Rows) -> list[str]:
    return sorted(map(repr, plain_rows(table(fields, rows))))


# --- filters -------------------------------------------------------------------------------------------------------

_TESTS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "equal": ("=", lambda cell, value: cell == value),
    "notEqual": ("<>", lambda cell, value: cell != value),
    "lessThan": ("<", lambda cell, value: cell < value),
    "greaterThan": (">", lambda cell, value: cell > value),
    "lessOrEqual": ("<=", lambda cell, value: cell <= value),
    "greaterOrEqual": (">=", lambda cell, value: cell >= value),
}


def sql_literal(value: Any, kind: PaimonType) -> str:
    text = str(kind)
    if text.startswith("DATE"):
        return f"DATE '{dt.date(1970, 1, 1) + dt.timedelta(days=value)}'"
    if text.startswith("TIMESTAMP"):
        units = {"ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}[arrow_type(kind).unit]
        seconds, rest = divmod(value, units)
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
        return f"TIMESTAMP '{moment}.{rest * (1_000_000_000 // units):09d}'"
    if text.startswith("TIME("):
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=value)
        return f"TIME '{moment.time().isoformat('milliseconds')}'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


def where(fields: Fields, rows: Rows, column: str, test: str, *values: Any) -> Filter:
    """A filter on one column, its answer worked out from the rows."""
    at = [name for name, _ in fields].index(column)
    kind = fields[at][1]
    name = "`" + column.replace("`", "``") + "`"
    cells = [(row[0], row[at]) for row in rows]
    if test in {"isNull", "isNotNull"}:
        ids = [i for i, cell in cells if (cell is None) == (test == "isNull")]
        sql = f"{name} IS {'NOT ' if test == 'isNotNull' else ''}NULL"
    elif test == "in":
        ids = [i for i, cell in cells if cell in values]
        sql = f"{name} IN ({', '.join(sql_literal(v, kind) for v in values)})"
    else:
        operator, holds = _TESTS[test]
        ids = [i for i, cell in cells if cell is not None and holds(cell, values[0])]
        sql = f"{name} {operator} {sql_literal(values[0], kind)}"
    return Filter(Where([[column, test, *map(to_wire, values)]], sql), frozenset(ids))


# --- one case per type ---------------------------------------------------------------------------------------------

US = 1_704_164_645_678_901  # 2024-01-02 03:04:05.678901
LONG_AGO = -2_208_988_799_999_999  # 1900-01-01 00:00:00.000001
ARRAY_INT: PaimonType = {"type": "ARRAY", "element": "INT"}
MAP_STRING_BIGINT: PaimonType = {"type": "MAP", "key": "STRING NOT NULL", "value": "BIGINT"}
ROW_XY: PaimonType = {"type": "ROW", "fields": [{"name": "x", "type": "INT"}, {"name": "y", "type": "STRING"}]}
ARRAY_ROW: PaimonType = {
    "type": "ARRAY",
    "element": {
        "type": "ROW",
        "fields": [{"name": "p", "type": "TIMESTAMP(6)"}, {"name": "q", "type": "DECIMAL(10, 2)"}],
    },
}
DEEP: PaimonType = {
    "type": "ROW",
    "fields": [
        {"name": "m", "type": {"type": "MAP", "key": "INT NOT NULL", "value": {"type": "ARRAY", "element": "DOUBLE"}}},
        {"name": "r", "type": {"type": "ROW", "fields": [{"name": "s", "type": "STRING"}]}},
    ],
}

LTZ = "WITH LOCAL TIME ZONE"
NANOS = {"spark": "Spark has no timestamps finer than microseconds"}
NULL_ROWS = {"spark": "paimon-spark 0.9.0 reads a row whose fields are all null as null, and fails on deeper ones"}
OLD_STATS = "paimon-spark 0.9.0 does not know _VALUE_STATS_COLS and takes statistics of the wrong column, or fails"
INT96 = "pypaimon reads INT96 without a zone and then cannot compare it"

# Type, values of the first batch, values of the second, and what oracles cannot do. Nulls are added to both batches.
TYPES: list[tuple[PaimonType, list[Any], list[Any], dict[str, str]]] = [
    ("BOOLEAN", [True, False], [True], {}),
    ("TINYINT", [-128, 127, 0], [5], {}),
    ("SMALLINT", [-32768, 32767], [0, -5], {}),
    ("INT", [-(2**31), 2**31 - 1], [0, 42], {}),
    ("BIGINT", [-(2**63), 2**63 - 1], [0, 2**40], {}),
    ("FLOAT", [1.5, -2.25], [2.0**100], {}),
    ("DOUBLE", [1.5, -2.25e300], [5e-324], {}),
    ("DECIMAL(5, 2)", [Decimal("123.45"), Decimal("-999.99")], [Decimal("0.00")], {}),
    ("DECIMAL(15, 4)", [Decimal("-12345678901.2345")], [Decimal("99999999999.9999"), Decimal("0.0001")], {}),
    (
        "DECIMAL(30, 10)",
        [Decimal("12345678901234567890.1234567890"), Decimal("-0.0000000001")],
        [Decimal("99999999999999999999.9999999999")],
        {},
    ),
    ("DECIMAL(38, 0)", [Decimal(10**38 - 1), Decimal(-(10**38) + 1)], [Decimal(0)], {}),
    ("CHAR(5)", ["ab", "abcde"], ["z"], {"spark": "Spark pads CHAR to its length on reading"}),
    ("VARCHAR(20)", ["varchar", ""], ["zz"], {}),
    (
        "STRING",
        ["", "ünïcode 中文字符 longer than sixteen characters", "line\nbreak\ttab\x00nul", 'it\'s "quoted" `so`'],
        ["😀" * 20, "a" * 15 + "\U0010ffff" * 3, "a" * 15 + "\ud7ff" * 3, "exactly 16 chars"],
        {},
    ),
    ("BINARY(4)", [b"abcd", b"\x00\x01\x02\x03"], [b"\xff\xff\xff\xff"], {}),
    ("VARBINARY(10)", [b"", b"\x00\xff"], [b"0123456789"], {}),
    ("BYTES", [b"bytes longer than sixteen bytes", b"\xff" * 20], [b"", b"\x80"], {}),
    ("DATE", [19724, 0], [-25567, 2932896], {}),
    ("TIME(3)", [0, 3_723_004], [86_399_999], {"spark": "Spark has no TIME type"}),
    ("TIMESTAMP(0)", [US // 1_000_000 * 1000], [0], {}),
    ("TIMESTAMP(3)", [US // 1000, LONG_AGO // 1000], [0], {}),
    ("TIMESTAMP(6)", [US, LONG_AGO], [0], {}),
    ("TIMESTAMP(9)", [US * 1000 + 234, LONG_AGO * 1000 + 1], [0], NANOS),
    (f"TIMESTAMP(0) {LTZ}", [US // 1_000_000 * 1000], [0], {}),
    (f"TIMESTAMP(3) {LTZ}", [US // 1000, LONG_AGO // 1000], [0], {}),
    (f"TIMESTAMP(6) {LTZ}", [US, LONG_AGO], [0], {}),
    (f"TIMESTAMP(9) {LTZ}", [US * 1000 + 234, LONG_AGO * 1000 + 1], [0], {**NANOS, "pypaimon filters": INT96}),
    (ARRAY_INT, [[1, None, 3], []], [[7]], {}),
    (MAP_STRING_BIGINT, [[("k", 1), ("n", None)], []], [[("😀", 2**40)]], {}),
    (ROW_XY, [{"x": 7, "y": "yy"}, {"x": None, "y": None}], [{"x": 1, "y": ""}], NULL_ROWS),
    (ARRAY_ROW, [[{"p": US, "q": Decimal("1.25")}, None], []], [[{"p": None, "q": None}]], NULL_ROWS),
    ({"type": "ARRAY", "element": {"type": "ARRAY", "element": "STRING"}}, [[["a", None], None, []]], [[]], {}),
    (
        DEEP,
        [{"m": [(1, [1.0, None]), (2, None)], "r": {"s": "deep"}}, {"m": None, "r": None}],
        [{"m": [], "r": {"s": None}}],
        NULL_ROWS,
    ),
]


def type_case(kind: PaimonType, first: list[Any], second: list[Any], cannot: dict[str, str]) -> Case:
    fields: Fields = [("id", "INT"), ("x", kind)]
    one: Rows = [*enumerate(first), (len(first), None)]
    two: Rows = [(100 + i, v) for i, v in enumerate(second)] + [(100 + len(second), None)]
    rows = one + two
    filters = [where(fields, rows, "x", test) for test in ("isNull", "isNotNull")]
    if isinstance(kind, str):
        # A literal in SQL has no nanoseconds; neither have the datetimes that pypaimon compares with.
        values = [v // 1000 * 1000 for v in first + second] if "(9)" in kind else first + second
        filters += [where(fields, rows, "x", "equal", value) for value in values]
        filters += [where(fields, rows, "x", test, values[0]) for test in ("lessThan", "greaterOrEqual", "notEqual")]
        filters += [where(fields, rows, "x", "in", values[0], values[-1])]
    name = kind if isinstance(kind, str) else str(kind["type"]) + str(len(str(kind)))
    return Case(f"type {name}", fields, one, two, filters=filters, cannot=cannot)


# --- layouts -------------------------------------------------------------------------------------------------------

ID_V: Fields = [("id", "INT"), ("v", "STRING")]
ID_V_DT: Fields = [*ID_V, ("dt", "STRING")]
ODD_VALUES = ["a b/c=d%", None, "", "  ", "ü&+$~,;", "%2F", "\\x\"'", "[a]{b}^#?*:", "..", "a\x01\x7fb", "Ж😀"]
MANY: PaimonType = "INT"


def layouts() -> list[Case]:
    odd: Rows = [(i, f"v{i}", value) for i, value in enumerate(ODD_VALUES)]
    more: Rows = [(i + 100, f"w{i}", value) for i, value in enumerate(ODD_VALUES)]
    typed: Fields = [
        ("id", "INT"),
        ("b", "BOOLEAN"),
        ("i", "SMALLINT"),
        ("l", "BIGINT"),
        ("d", "DATE"),
        ("t3", "TIMESTAMP(3)"),
        ("t6", "TIMESTAMP(6)"),
        ("c", "DECIMAL(10, 2)"),
        ("w", "DECIMAL(25, 4)"),
        ("f", "DOUBLE"),
    ]
    typed_one: Rows = [(1, True, -5, 2**40, 19724, US // 1000, US, Decimal("1.50"), Decimal("-123.4567"), 1.5)]
    typed_two: Rows = [(101, False, 7, -1, -1, 0, 0, Decimal("-0.01"), Decimal(10**20), -2.25)]
    nulls: Rows = [(2, *[None] * 9)]
    names: Fields = [
        ("id", "INT"),
        ("a b", "STRING"),
        ("ünï/x", "STRING"),
        ("`q`", "INT"),
        ("p=1", "STRING"),
        ("from", "STRING"),
        ("UPPER", "INT"),
        ("c.d", "INT"),
        ('"', "STRING"),
    ]
    named: Rows = [(1, "x", "y", 3, "v/1", "f", 4, 5, "q"), (2, None, None, None, "v=2", None, None, None, None)]
    named_more: Rows = [(101, "xx", "yy", 33, "v/1", "ff", 44, 55, "qq")]
    bucketed = {"bucket": "4", "bucket-key": "id"}
    ints: Rows = [(i, f"v{i}") for i in range(40)]
    more_ints: Rows = [(i, f"w{i}") for i in range(100, 140)]
    pairs: Fields = [("id", "INT"), ("k", "STRING"), ("n", "BIGINT"), ("dt", "STRING")]
    paired: Rows = [
        (i, f"key number {i}" if i % 5 else None, i * 10**10 if i % 7 else None, "xy"[i % 2]) for i in range(40)
    ]
    paired_more: Rows = [(i + 100, k, n, dt) for i, k, n, dt in paired[:20]]
    wide_keys: Fields = [("id", "INT"), ("t", "TIMESTAMP(6)"), ("w", "DECIMAL(25, 0)")]
    wide: Fields = [("id", "INT"), *[(f"c{i:03d}", MANY) for i in range(70)]]
    return [
        Case("empty table", ID_V, [], [(1, "a")]),
        Case(
            "strings as partitions",
            ID_V_DT,
            odd,
            more,
            ["dt"],
            filters=[where(ID_V_DT, odd + more, "dt", "equal", v) for v in ODD_VALUES if v is not None]
            + [where(ID_V_DT, odd + more, "dt", "isNull")],
        ),
        Case(
            "typed partitions",
            typed,
            typed_one,
            typed_two,
            [name for name, _ in typed[1:]],
            filters=[
                where(typed, typed_one + typed_two, name, "equal", value)
                for (name, _), value in zip(typed[1:], typed_one[0][1:], strict=True)
            ],
            cannot={"spark creates": "Spark has timestamps of one precision, 6"},
        ),
        Case(
            "null typed partitions",
            typed,
            typed_one + nulls,
            [(102, *[None] * 9)],
            [name for name, _ in typed[1:]],
            filters=[where(typed, [*nulls, (102, *[None] * 9)], name, "isNull") for name, _ in typed[1:]],
        ),
        Case(
            "partitions named by casting",
            typed[:8],
            [row[:8] for row in typed_one],
            [row[:8] for row in typed_two + nulls],
            [name for name, _ in typed[1:8]],
            {"partition.legacy-name": "false"},
            cannot={"spark": "paimon-spark 0.9.0 does not know partition.legacy-name"},
        ),
        Case(
            "default partition name",
            ID_V_DT,
            odd[:4],
            more[:4],
            ["dt"],
            {"partition.default-name": "__NOTHING__"},
        ),
        Case(
            "odd column names",
            names,
            named,
            named_more,
            ["p=1"],
            filters=[
                where(names, named + named_more, "a b", "equal", "x"),
                where(names, named + named_more, "p=1", "equal", "v/1"),
            ],
        ),
        Case(
            "fixed buckets",
            ID_V,
            ints,
            more_ints,
            options=bucketed,
            filters=[where(ID_V, ints + more_ints, "id", "equal", i) for i in (0, 17, 39, 120)]
            + [where(ID_V, ints + more_ints, "id", "in", 3, 5, 130)],
        ),
        Case(
            "fixed buckets by two nullable keys",
            pairs,
            paired,
            paired_more,
            ["dt"],
            {"bucket": "3", "bucket-key": "k,n"},
            filters=[
                Filter(
                    Where(
                        [["k", "equal", "key number 8"], ["n", "equal", 8 * 10**10]],
                        "k = 'key number 8' AND n = 80000000000",
                    ),
                    frozenset({8, 108}),
                ),
                where(pairs, paired + paired_more, "k", "isNull"),
            ],
        ),
        Case(
            "fixed buckets by wide keys",
            wide_keys,
            [(i, i * 10**9, Decimal(i) * 10**18) for i in range(20)]
            + [(20, None, Decimal(5)), (21, 5, None), (22, None, None)],
            [(100, None, None), (101, 7 * 10**9, Decimal(7) * 10**18)],
            options={"bucket": "7", "bucket-key": "t,w"},
            filters=[
                Filter(Where([["t", "isNull"], ["w", "isNull"]], "t IS NULL AND w IS NULL"), frozenset({22, 100})),
                Filter(
                    Where(
                        [["t", "equal", 7 * 10**9], ["w", "equal", {"decimal": str(7 * 10**18)}]],
                        "t = TIMESTAMP '1970-01-01 01:56:40' AND w = 7000000000000000000",
                    ),
                    frozenset({7, 101}),
                ),
            ],
            cannot={"pypaimon": "pypaimon hashes nulls of TIMESTAMP(6) and DECIMAL(25) unlike Java: other buckets"},
        ),
        Case("more columns than one null word", wide, [(i, *range(i, i + 70)) for i in range(3)], [(9, *[None] * 70)]),
        Case("not null", [("id", "INT NOT NULL"), ("v", "STRING NOT NULL")], [(1, "a")], [(2, "")]),
        Case(
            "stats none",
            ID_V,
            ints,
            more_ints,
            options={"metadata.stats-mode": "none"},
            filters=[where(ID_V, ints, "id", "equal", 7)],
            cannot={"spark filters": OLD_STATS},
        ),
        Case(
            "stats counts",
            ID_V,
            ints,
            more_ints,
            options={"metadata.stats-mode": "counts"},
            filters=[where(ID_V, ints, "id", "equal", 7)],
        ),
        Case(
            "stats full",
            ID_V,
            ints,
            more_ints,
            options={"metadata.stats-mode": "full"},
            filters=[where(ID_V, ints, "v", "equal", "v7")],
        ),
        Case(
            "stats of some columns",
            [*ID_V, ("a", ARRAY_INT), ("z", "BIGINT")],
            [(i, f"v{i}", [i], i * 2) for i in range(5)],
            [(i, f"v{i}", None, i * 2) for i in range(10, 15)],
            options={"fields.v.stats-mode": "none"},
            filters=[
                where(
                    [*ID_V, ("a", ARRAY_INT), ("z", "BIGINT")],
                    [(i, "", None, i * 2) for i in [*range(5), *range(10, 15)]],
                    "z",
                    "greaterThan",
                    6,
                )
            ],
            cannot={"spark filters": OLD_STATS},
        ),
        Case(
            "stats not dense",
            [*ID_V, ("a", ARRAY_INT), ("z", "BIGINT")],
            [(i, f"v{i}", [i], i * 2) for i in range(5)],
            [(i, f"v{i}", None, i * 2) for i in range(10, 15)],
            options={"fields.v.stats-mode": "none", "metadata.stats-dense-store": "false"},
            filters=[
                where(
                    [*ID_V, ("a", ARRAY_INT), ("z", "BIGINT")],
                    [(i, "", None, i * 2) for i in [*range(5), *range(10, 15)]],
                    "z",
                    "greaterThan",
                    6,
                )
            ],
        ),
    ]


CASES = [type_case(*entry) for entry in TYPES] + layouts()


# --- stories -------------------------------------------------------------------------------------------------------

WITH_ROW: Fields = [("id", "INT"), ("v", "STRING"), ("r", ROW_XY)]
ROW_XXZ: PaimonType = {"type": "ROW", "fields": [{"name": "xx", "type": "INT"}, {"name": "z", "type": "BIGINT"}]}
WIDEN: Fields = [
    ("id", "INT"),
    ("a", "TINYINT"),
    ("b", "FLOAT"),
    ("c", "DECIMAL(5, 2)"),
    ("d", "VARCHAR(3)"),
    ("e", "INT"),
]
WIDENED: Fields = [
    ("id", "INT"),
    ("a", "INT"),
    ("b", "DOUBLE"),
    ("c", "DECIMAL(12, 2)"),
    ("d", "STRING"),
    ("e", "BIGINT"),
]
ADDED: Fields = [("id", "INT"), ("w", "STRING"), ("n", "DECIMAL(10, 2)"), ("l", ARRAY_INT)]

STORIES = [
    Story(
        "columns added and renamed",
        ID_V,
        [
            ("write", [(1, "a"), (2, None)]),
            ("alter", [["add", "n", "DECIMAL(10, 2)"], ["rename", "v", "w"]], ADDED[:3]),
            ("write", [(3, "c", Decimal("1.50"))]),
            ("alter", [["add", "l", ARRAY_INT]], ADDED),
            ("write", [(4, "d", None, [1, None])]),
        ],
        ADDED,
        [(1, "a", None, None), (2, None, None, None), (3, "c", Decimal("1.50"), None), (4, "d", None, [1, None])],
        filters=[
            Filter(Where([["w", "equal", "a"]], "w = 'a'"), frozenset({1})),
            Filter(Where([["n", "isNull"]], "n IS NULL"), frozenset({1, 2, 4})),
            Filter(Where([["n", "greaterThan", {"decimal": "1.00"}]], "n > 1.00"), frozenset({3})),
        ],
    ),
    Story(
        "a column dropped and its name used again",
        ID_V,
        [
            ("write", [(1, "old")]),
            ("alter", [["drop", "v"]], ID_V[:1]),
            ("write", [(2,)]),
            ("alter", [["add", "v", "BIGINT"]], [("id", "INT"), ("v", "BIGINT")]),
            ("write", [(3, 33)]),
        ],
        [("id", "INT"), ("v", "BIGINT")],
        [(1, None), (2, None), (3, 33)],
        filters=[Filter(Where([["v", "isNull"]], "v IS NULL"), frozenset({1, 2}))],
    ),
    Story(
        "columns swapped by renames and moved",
        [("id", "INT"), ("a", "INT"), ("b", "INT")],
        [
            ("write", [(1, 10, 20)]),
            (
                "alter",
                [["rename", "a", "t"], ["rename", "b", "a"], ["rename", "t", "b"]],
                [("id", "INT"), ("b", "INT"), ("a", "INT")],
            ),
            ("write", [(2, 11, 21)]),
            ("alter", [["first", "a"]], [("a", "INT"), ("id", "INT"), ("b", "INT")]),
            ("write", [(22, 3, 12)]),
        ],
        [("a", "INT"), ("id", "INT"), ("b", "INT")],
        [(20, 1, 10), (21, 2, 11), (22, 3, 12)],
        filters=[
            Filter(Where([["a", "greaterThan", 20]], "a > 20"), frozenset({2, 3})),
            Filter(Where([["b", "equal", 10]], "b = 10"), frozenset({1})),
        ],
    ),
    Story(
        "types widened",
        WIDEN,
        [
            ("write", [(1, -7, 1.5, Decimal("1.25"), "abc", 5), (2, None, None, None, None, None)]),
            (
                "alter",
                [["type", name, kind] for (name, kind), (_, old) in zip(WIDENED, WIDEN, strict=True) if kind != old],
                WIDENED,
            ),
            ("write", [(3, 2**30, 1e300, Decimal("1234567890.12"), "longer", 2**40)]),
        ],
        WIDENED,
        [
            (1, -7, 1.5, Decimal("1.25"), "abc", 5),
            (2, None, None, None, None, None),
            (3, 2**30, 1e300, Decimal("1234567890.12"), "longer", 2**40),
        ],
        filters=[
            Filter(Where([["a", "equal", -7]], "a = -7"), frozenset({1})),
            Filter(Where([["b", "greaterThan", 1.0]], "b > 1.0"), frozenset({1, 3})),
            Filter(Where([["c", "lessThan", {"decimal": "2.00"}]], "c < 2.00"), frozenset({1})),
            Filter(Where([["e", "lessOrEqual", 5]], "e <= 5"), frozenset({1})),
            Filter(Where([["d", "equal", "abc"]], "d = 'abc'"), frozenset({1})),
        ],
        cannot={"spark filters": "paimon-spark 0.9.0 fails on a filter on a widened TINYINT (Byte is no Integer)"},
    ),
    Story(
        "fields inside a row added, renamed and dropped",
        WITH_ROW,
        [
            ("write", [(1, "a", {"x": 1, "y": "p"}), (2, "b", None)]),
            (
                "alter",
                [["add", ["r", "z"], "BIGINT"], ["rename", ["r", "x"], "xx"], ["drop", ["r", "y"]]],
                [*ID_V, ("r", ROW_XXZ)],
            ),
            ("write", [(3, "c", {"xx": 5, "z": 2**40})]),
        ],
        [*ID_V, ("r", ROW_XXZ)],
        [(1, "a", {"xx": 1, "z": None}), (2, "b", None), (3, "c", {"xx": 5, "z": 2**40})],
        cannot={"spark": "paimon-spark 0.9.0 evolves atomic columns only"},
    ),
    Story(
        "overwritten and truncated",
        ID_V,
        [
            ("write", [(1, "a"), (2, "b")]),
            ("overwrite", {}, [(3, "c")]),
            ("write", [(4, "d")]),
            ("truncate",),
            ("write", [(5, "e")]),
            ("write", [(6, "f")]),
        ],
        ID_V,
        [(5, "e"), (6, "f")],
    ),
    Story(
        "partitions overwritten and dropped",
        ID_V_DT,
        [
            ("write", [(1, "a", "x"), (2, "b", "y"), (3, "c", "z")]),
            ("overwrite", {}, [(4, "d", "x")]),
            ("overwrite", {"dt": "y"}, [(5, "e", "y"), (6, "f", "y")]),
            ("write", [(7, "g", "x"), (8, "h", "a/b=c")]),
            ("drop_partition", {"dt": "z"}),
            ("drop_partition", {"dt": "a/b=c"}),
        ],
        ID_V_DT,
        [(4, "d", "x"), (5, "e", "y"), (6, "f", "y"), (7, "g", "x")],
        ["dt"],
    ),
    Story(
        "fixed buckets overwritten",
        ID_V,
        [
            ("write", [(i, "a") for i in range(20)]),
            ("overwrite", {}, [(i, "b") for i in range(10)]),
            ("write", [(i, "c") for i in range(100, 110)]),
        ],
        ID_V,
        [(i, "b") for i in range(10)] + [(i, "c") for i in range(100, 110)],
        options={"bucket": "3", "bucket-key": "id"},
        filters=[where(ID_V, [(i, "b") for i in range(10)], "id", "equal", 7)],
    ),
]
