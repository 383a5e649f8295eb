"""The interop matrix of primary-key tables as data: what is written commit by commit, and the rows that must be there.

A ``Keyed`` case is a list of steps that any side can take: a list of rows to write (a row may begin with its kind,
``-D`` for one), an ``Overwrite`` or an ``Alter``. Values are plain, as in ``cases``. Where the expected rows are not
spelled out they follow from the steps by the one rule of ``deduplicate``: the last row of a key stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from tests.interop.cases import ARRAY_INT, MAP_STRING_BIGINT, US, Fields, Rows, table, where
from tests.interop.oracle import Where
from tests.interop.protocol import PaimonType

KINDS = ("+I", "-U", "+U", "-D")
OP = "_op"


@dataclass(frozen=True)
class Overwrite:
    """Replace a static partition (``{}``: those the rows are of, or the whole table)."""

    partition: dict[str, str]
    rows: Rows


@dataclass(frozen=True)
class Alter:
    """Change the schema; rows of later steps have these fields."""

    changes: list[list[Any]]
    fields: Fields


Step = Rows | Overwrite | Alter


@dataclass(frozen=True)
class Keyed:
    """One primary-key table and its history. ``rows`` are what is left in the end."""

    name: str
    fields: Fields
    keys: list[str]
    steps: Sequence[Step]
    rows: Rows
    partition_by: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    # Columns of lists whose order is not defined.
    unordered: frozenset[str] = frozenset()
    # Oracle name to the reason why it cannot take part; "<oracle> writes" and "<oracle> filters" if only that fails.
    cannot: Mapping[str, str] = field(default_factory=dict)

    @property
    def table_options(self) -> dict[str, str]:
        """Two buckets and early compaction, if the case does not say otherwise."""
        return {"bucket": "2", "num-sorted-run.compaction-trigger": "3", **self.options}

    @property
    def end_fields(self) -> Fields:
        return next((step.fields for step in reversed(self.steps) if isinstance(step, Alter)), self.fields)


def has_kinds(rows: Rows) -> bool:
    return any(row[0] in KINDS for row in rows)


def keyed_table(fields: Fields, rows: Rows) -> pa.Table:
    """Rows as Arrow, with a last column ``_op`` if any of them says its kind."""
    if not has_kinds(rows):
        return table(fields, rows)
    split = [(row[0], row[1:]) if row[0] in KINDS else ("+I", row) for row in rows]
    return table(fields, [values for _, values in split]).append_column(OP, pa.array([kind for kind, _ in split]))


def last_rows(steps: Sequence[Step], keys: int) -> Rows:
    """What ``deduplicate`` leaves of lists of rows whose first ``keys`` columns are the key."""
    model: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for step in steps:
        assert isinstance(step, list)
        for row in step:
            kind, values = (row[0], row[1:]) if row[0] in KINDS else ("+I", row)
            if kind in {"-D", "-U"}:
                model.pop(values[:keys], None)
            else:
                model[values[:keys]] = values
    return list(model.values())


# --- filters -------------------------------------------------------------------------------------------------------


def filters(case: Keyed) -> list[tuple[Where, Rows]]:
    """Conditions on every simple column with values of now and of before, and the rows that they keep."""
    fields, found = case.end_fields, []
    for at, (name, kind) in enumerate(fields):
        if not isinstance(kind, str):
            continue
        now = [row[at] for row in case.rows if row[at] is not None]
        before = [v for v in _old_values(case, at) if v not in now][:1]
        chosen = [*now[:1], *before]
        found += [_filter(case, name, "equal", value) for value in chosen]
        found += [_filter(case, name, test, value) for value in now[-1:] for test in ("greaterOrEqual", "lessThan")]
        if len(chosen) > 1:
            found.append(_filter(case, name, "in", *chosen))
        found.append(_filter(case, name, "isNull"))
    return found


def _old_values(case: Keyed, at: int) -> list[Any]:
    """Values of a column that some step wrote; none if the schema changed, as columns may have moved."""
    if case.end_fields != case.fields:
        return []
    rows = [row for step in case.steps if isinstance(step, list) for row in step]
    values = [row[at + 1] if row[0] in KINDS else row[at] for row in rows]
    return [value for value in values if value is not None]


def _filter(case: Keyed, column: str, test: str, *values: Any) -> tuple[Where, Rows]:
    numbered: Fields = [("#", "INT"), *case.end_fields]
    made = where(numbered, [(i, *row) for i, row in enumerate(case.rows)], column, test, *values)
    return made.where, [case.rows[i] for i in sorted(made.ids)]


# --- why an oracle cannot ------------------------------------------------------------------------------------------

PYPAIMON_ENGINE = "pypaimon does not merge this: it says so and stops"
OLD_SPARK = "paimon-spark 0.9.0 does not know this option or function"

# --- key types -----------------------------------------------------------------------------------------------------

KEY_TYPES: list[tuple[PaimonType, list[Any]]] = [
    ("INT", [5, -(2**31), 2**31 - 1, 0, -1]),
    ("BIGINT", [2**40, -(2**63), 2**63 - 1, 0, -1]),
    ("SMALLINT", [300, -32768, 32767, 0, -1]),
    ("STRING", ["b", "", "a longer key than sixteen characters", "Ж", "a longer key than sixteen char"]),
    ("BYTES", [b"\x80", b"", b"\x00\xff", b"\xff" * 20, b"\x7f"]),
    ("BOOLEAN", [True, False]),
    ("DECIMAL(10, 2)", [Decimal("1.25"), Decimal("-1.25"), Decimal("0.00"), Decimal("99999999.99"), Decimal("1.24")]),
    ("DECIMAL(25, 4)", [Decimal("1.25"), Decimal("-1.25"), Decimal(10**20), Decimal(-(10**20)), Decimal("0.0001")]),
    ("DATE", [19724, 0, -25567, 19725, 1]),
    ("TIMESTAMP(3)", [US // 1000, 0, -1, US // 1000 + 1, 5]),
    ("TIMESTAMP(6)", [US, 0, -1, US + 1, 5]),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", [US, 0, -1, US + 1, 5]),
    ("DOUBLE", [1.5, -2.25, 0.0, 1e300, -1e-300]),
]


def key_case(kind: PaimonType, values: list[Any]) -> Keyed:
    a, b, *rest = values
    steps: list[Step] = [
        [(value, f"first {i}", i) for i, value in enumerate(values)],
        [(a, "twice", 1), (a, "changed", None), ("-D", b, "gone", 0), *((v, None, 7) for v in rest[:1])],
        [("-D", a, None, None), (b, "back", 3), *((v, "new", 8) for v in rest[1:2])],
        [("+U", a, "back too", 4), ("-U", b, "back", 3), ("+U", b, "updated", 5)],
    ]
    fields: Fields = [("k", kind), ("v", "STRING"), ("n", "INT")]
    return Keyed(f"key {kind}", fields, ["k"], steps, last_rows(steps, 1), options={"bucket": "3"})


# --- deduplicate ---------------------------------------------------------------------------------------------------

KVN: Fields = [("k", "INT"), ("v", "STRING"), ("n", "BIGINT")]
PKV: Fields = [("p", "STRING"), ("k", "INT"), ("v", "STRING")]
CHANGES: list[Step] = [
    [(i, f"a{i}", i) for i in range(12)],
    [*((i, f"b{i}", None) for i in range(0, 12, 3)), ("-D", 1, "a1", 1), ("-D", 50, "never there", 0)],
    [(i, f"c{i}", -i) for i in range(10, 15)],
    [("-D", 10, "c10", -10), (1, "back", 100), ("-U", 2, "a2", 2), ("+U", 2, "updated", 22)],
    [(3, "once", 1), (3, "twice", 2), ("-D", 4, None, None), (4, "again", 4), (5, "x", 5), ("-D", 5, "x", 5)],
]
PARTED: list[Step] = [
    [("xyz"[i % 3], i, f"a{i}") for i in range(12)],
    [("x", 0, "b0"), ("y", 0, "other partition"), ("-D", "z", 2, "a2")],
    [("x", 3, None), ("w", 100, "new partition"), ("-D", "x", 6, None)],
    [("z", 2, "back"), ("-D", "w", 100, None), ("y", 1, "c1")],
]


def deduplicate() -> list[Keyed]:
    composite: Fields = [("s", "STRING"), ("n", "INT"), ("d", "DATE"), ("v", "STRING")]
    named = ["b", "a", "", "a", "Ж"]
    composed: list[Step] = [
        [(s, i % 2, 19724 + i, f"a{i}") for i, s in enumerate(named)],
        [("a", 1, 19725, "b1"), ("-D", "", 0, 19726, None), ("a", 1, 19999, "another date")],
        [("", 0, 19726, "back"), ("-D", "b", 0, 19724, None)],
    ]
    by_some: Fields = [("a", "INT"), ("b", "INT"), ("v", "STRING")]
    some: list[Step] = [[(i % 4, i, f"{n}{i}") for i in range(n, 12 + n)] for n in range(4)]
    one = {"bucket": "1"}
    return [
        Keyed("deduplicate", KVN, ["k"], CHANGES, last_rows(CHANGES, 1)),
        Keyed("deduplicate in one bucket", KVN, ["k"], CHANGES, last_rows(CHANGES, 1), options=one),
        Keyed("deduplicate in partitions", PKV, ["p", "k"], PARTED, last_rows(PARTED, 2), ["p"]),
        Keyed("composite key", composite, ["s", "n", "d"], composed, last_rows(composed, 3), options={"bucket": "4"}),
        Keyed("key columns last", [*reversed(KVN)], ["k"], *_reversed(CHANGES)),
        Keyed(
            "buckets by a part of the key", by_some, ["b", "a"], some, last_rows(some, 2), options={"bucket-key": "a"}
        ),
        Keyed(
            "ignore-delete",
            KVN,
            ["k"],
            [[(1, "a", 1), (2, "b", 2)], [("-D", 1, "a", 1), (3, "c", 3)], [("-U", 2, "b", 2), ("+U", 2, "bb", 22)]],
            [(1, "a", 1), (2, "bb", 22), (3, "c", 3)],
            options={"ignore-delete": "true"},
        ),
        Keyed(
            "rowkind.field",
            [("k", "INT"), ("op", "STRING"), ("v", "STRING")],
            ["k"],
            [[(1, "+I", "a"), (2, "+I", "b")], [(1, "-D", "a"), (2, "-U", "b"), (2, "+U", "bb")], [(3, "+I", "c")]],
            [(2, "+U", "bb"), (3, "+I", "c")],
            options={"rowkind.field": "op"},
        ),
        Keyed(
            "thin mode",
            KVN,
            ["k"],
            CHANGES,
            last_rows(CHANGES, 1),
            options={"data-file.thin-mode": "true"},
            cannot={"spark": OLD_SPARK},
        ),
        Keyed(
            "changelog of the input",
            KVN,
            ["k"],
            CHANGES,
            last_rows(CHANGES, 1),
            options={"changelog-producer": "input"},
        ),
        Keyed(
            "no statistics",
            KVN,
            ["k"],
            CHANGES,
            last_rows(CHANGES, 1),
            options={"metadata.stats-mode": "none"},
            cannot={"spark filters": OLD_SPARK},
        ),
        Keyed(
            "not null",
            [("k", "INT NOT NULL"), ("v", "STRING NOT NULL")],
            ["k"],
            [[(1, "a"), (2, "b")], [(1, "aa")], [("-D", 2, "b"), (3, "")]],
            [(1, "aa"), (3, "")],
        ),
        Keyed(
            "nothing left",
            KVN,
            ["k"],
            [[(1, "a", 1), (2, "b", 2)], [("-D", 1, "a", 1)], [("-D", 2, "b", 2)]],
            [],
            options=one,
        ),
    ]


def _reversed(steps: Sequence[Step]) -> tuple[list[Step], Rows]:
    """Steps and their end with the columns the other way round."""
    turned: list[Step] = []
    for step in steps:
        assert isinstance(step, list)
        turned.append([(r[0], *reversed(r[1:])) if r[0] in KINDS else tuple(reversed(r)) for r in step])
    return turned, [tuple(reversed(row)) for row in last_rows(steps, 1)]


# --- sequence fields -----------------------------------------------------------------------------------------------


def sequences() -> list[Keyed]:
    ordered: list[Step] = [
        [(1, "new", 10), (2, "b", 5), (3, "null", None)],
        [(1, "late", 9), (2, "same", 5), (3, "number", -5), (4, "d", 1)],
        [(1, "null", None), ("-D", 2, "late delete", 4), ("-D", 4, "delete", 1), (5, "b", 2), (5, "a", 1)],
        [(6, "x", 1), ("-D", 3, None, -5)],
    ]
    two: Fields = [*KVN, ("m", "TIMESTAMP(3)")]
    return [
        Keyed(
            "sequence.field",
            KVN,
            ["k"],
            ordered,
            [(1, "new", 10), (2, "same", 5), (5, "b", 2), (6, "x", 1)],
            options={"sequence.field": "n"},
        ),
        Keyed(
            "sequence.field descending",
            KVN,
            ["k"],
            [
                [(1, "a", 10), (2, "b", 5), (4, "null", None), (5, "e", 5)],
                [(1, "lower", 9), (2, "higher", 6), (4, "larger than null", 99), (5, "null", None)],
                [(1, "same", 9), (3, "c", 1), (3, "null", None)],
            ],
            [(1, "same", 9), (2, "b", 5), (3, "c", 1), (4, "larger than null", 99), (5, "e", 5)],
            options={"sequence.field": "n", "sequence.field.sort-order": "descending"},
            cannot={"spark": OLD_SPARK},
        ),
        Keyed(
            "two sequence fields",
            two,
            ["k"],
            [
                [(1, "a", 1, 5), (2, "b", 1, 5), (3, "c", None, 5)],
                [(1, "later", 1, 6), (2, "earlier", 1, 4), (3, "null", None, None)],
                [(1, "null", None, 9), (2, "more", 2, 0)],
            ],
            [(1, "later", 1, 6), (2, "more", 2, 0), (3, "c", None, 5)],
            options={"sequence.field": "n,m"},
        ),
        Keyed(
            "sequence.field with deletion vectors",
            KVN,
            ["k"],
            ordered,
            [(1, "new", 10), (2, "same", 5), (5, "b", 2), (6, "x", 1)],
            options={"sequence.field": "n", "deletion-vectors.enabled": "true"},
        ),
    ]


# --- deletion vectors and first-row --------------------------------------------------------------------------------


def vectors() -> list[Keyed]:
    marked = {"deletion-vectors.enabled": "true"}
    wide = {**marked, "deletion-vectors.bitmap64": "true"}
    firsts: list[Step] = [
        [(i, f"a{i}", i) for i in range(6)],
        [(2, "late", 0), (6, "b6", 6), (6, "twice", 6)],
        [(i, "late", 1) for i in range(8)],
        [(8, "c8", 8), (0, "late", 2)],
    ]
    first_rows: Rows = [*((i, f"a{i}", i) for i in range(6)), (6, "b6", 6), (7, "late", 1), (8, "c8", 8)]
    return [
        Keyed("deletion vectors", KVN, ["k"], CHANGES, last_rows(CHANGES, 1), options=marked),
        Keyed(
            "deletion vectors in one bucket",
            KVN,
            ["k"],
            CHANGES,
            last_rows(CHANGES, 1),
            options={**marked, "bucket": "1"},
        ),
        Keyed("deletion vectors in partitions", PKV, ["p", "k"], PARTED, last_rows(PARTED, 2), ["p"], marked),
        Keyed(
            "deletion vectors of 64 bits",
            KVN,
            ["k"],
            CHANGES,
            last_rows(CHANGES, 1),
            options=wide,
            cannot={"pypaimon": "pypaimon reads vectors of 32 bits only", "spark": OLD_SPARK},
        ),
        Keyed(
            "deletion vectors merged on read",
            KVN,
            ["k"],
            CHANGES,
            last_rows(CHANGES, 1),
            options={**marked, "deletion-vectors.merge-on-read": "true"},
        ),
        Keyed(
            "deletion vectors with a changelog",
            KVN,
            ["k"],
            CHANGES,
            last_rows(CHANGES, 1),
            options={**marked, "changelog-producer": "input"},
        ),
        Keyed("first-row", KVN, ["k"], firsts, first_rows, options={"merge-engine": "first-row"}),
        Keyed(
            "first-row in one bucket",
            KVN,
            ["k"],
            firsts,
            first_rows,
            options={"merge-engine": "first-row", "bucket": "1"},
        ),
        Keyed(
            "first-row with ignore-delete",
            KVN,
            ["k"],
            [
                [(1, "a", 1)],
                [("-D", 1, "a", 1), (2, "b", 2)],
                [(1, "late", 3), ("-U", 2, "b", 2), ("+U", 2, "late", 3)],
            ],
            [(1, "a", 1), (2, "b", 2)],
            options={"merge-engine": "first-row", "ignore-delete": "true"},
        ),
    ]


# --- partial-update ------------------------------------------------------------------------------------------------

WIDE: Fields = [("k", "INT"), ("a", "STRING"), ("b", "INT"), ("c", "DECIMAL(10, 2)"), ("d", "TIMESTAMP(6)")]
GROUPED: Fields = [
    ("k", "INT"),
    ("a", "STRING"),
    ("g1", "INT"),
    ("b", "BIGINT"),
    ("c", "STRING"),
    ("g2", "INT"),
    ("z", "INT"),
]


def partial_update() -> list[Keyed]:
    partial = {"merge-engine": "partial-update"}
    parts: list[Step] = [
        [(1, "a", None, None, 5), (2, None, 2, Decimal("1.50"), None), (3, None, None, None, None)],
        [(1, None, 10, None, None), (2, "b", None, None, US), (4, "x", None, None, None), (4, None, 4, None, None)],
        [(1, "aa", None, Decimal("0.01"), None), (3, None, 3, None, None)],
        [(2, None, 22, None, None), (5, None, None, None, 7)],
    ]
    merged: Rows = [
        (1, "aa", 10, Decimal("0.01"), 5),
        (2, "b", 22, Decimal("1.50"), US),
        (3, None, 3, None, None),
        (4, "x", 4, None, None),
        (5, None, None, None, 7),
    ]
    groups = {**partial, "fields.g1.sequence-group": "a", "fields.g2.sequence-group": "b,c"}
    grouped: list[Step] = [
        [(1, "a", 5, 10, "x", 5, 1), (2, "a", None, 10, "x", None, None), (3, None, 1, None, "c", 1, 3)],
        [(1, "late", 4, 11, None, 6, None), (2, "b", 1, 20, None, 2, 2), (3, "b", 1, 5, None, 1, None)],
        [(1, None, 6, 99, "late", 1, 9), (2, None, None, 21, "y", 2, None), (4, "d", None, None, None, 4, None)],
    ]
    unsupported = {"pypaimon": PYPAIMON_ENGINE}
    return [
        Keyed("partial-update", WIDE, ["k"], parts, merged, options=partial),
        Keyed(
            "partial-update with deletion vectors",
            WIDE,
            ["k"],
            parts,
            merged,
            options={**partial, "deletion-vectors.enabled": "true"},
        ),
        Keyed(
            "partial-update with sequence.field",
            WIDE,
            ["k"],
            [
                [(1, "a", 5, None, None), (2, "b", 5, None, 1)],
                [(1, "late", 4, Decimal(1), None), (2, None, 6, None, 2)],
                [(2, "late", 1, Decimal(2), 9)],
            ],
            [(1, "a", 5, Decimal(1), None), (2, "b", 6, Decimal(2), 2)],
            options={**partial, "sequence.field": "b"},
        ),
        Keyed(
            "partial-update with ignore-delete",
            KVN,
            ["k"],
            [[(1, "a", None)], [("-D", 1, "a", None), (2, "b", 2)], [(1, None, 1)]],
            [(1, "a", 1), (2, "b", 2)],
            options={**partial, "ignore-delete": "true"},
            cannot=unsupported,
        ),
        Keyed(
            "partial-update that removes on delete",
            KVN,
            ["k"],
            [
                [(1, "a", None), (2, "b", 2), (3, "c", 3)],
                [("-D", 1, "a", None), (2, None, 22)],
                [("-D", 3, None, None), (4, None, 4), (5, "e", 5), ("-D", 5, None, None)],
                [(4, "d", None), (1, "back", 1)],
            ],
            [(1, "back", 1), (2, "b", 22), (4, "d", 4)],
            options={**partial, "partial-update.remove-record-on-delete": "true"},
            cannot=unsupported | {"spark": OLD_SPARK},
        ),
        Keyed(
            "partial-update with sequence groups",
            GROUPED,
            ["k"],
            grouped,
            [
                (1, None, 6, 11, None, 6, 9),
                (2, "b", 1, 21, "y", 2, 2),
                (3, "b", 1, 5, None, 1, 3),
                (4, "d", None, None, None, 4, None),
            ],
            options=groups,
            cannot=unsupported,
        ),
        Keyed(
            "partial-update that aggregates in groups",
            GROUPED,
            ["k"],
            [
                [(1, "a", 5, 10, "x", 5, 1), (2, "a", 1, 10, "x", 1, None)],
                [(1, "b", 6, 11, "y", 6, None), (2, "b", 2, None, None, 2, 2)],
                [(1, "c", 7, 100, None, 7, None), (3, "d", 1, 3, "z", 1, 3)],
            ],
            [(1, "c", 7, 121, "x,y", 7, 1), (2, "b", 2, 10, "x", 2, 2), (3, "d", 1, 3, "z", 1, 3)],
            options={**groups, "fields.b.aggregate-function": "sum", "fields.c.aggregate-function": "listagg"},
            cannot=unsupported,
        ),
        Keyed(
            "partial-update that removes on delete of a group",
            GROUPED,
            ["k"],
            [
                [(1, "a", 5, 10, "x", 5, 1), (2, "a", 5, 10, "x", 5, 2), (3, "a", 5, 10, "x", 5, 3)],
                [("-D", 1, None, 6, None, None, None, None), ("-D", 2, None, None, None, None, 6, None)],
                [(3, "b", 6, None, None, None, None), (4, "d", 1, 1, "d", 1, 4)],
            ],
            [(2, "a", 5, None, None, 6, 2), (3, "b", 6, 10, "x", 5, 3), (4, "d", 1, 1, "d", 1, 4)],
            options={**groups, "partial-update.remove-record-on-sequence-group": "g1"},
            cannot=unsupported | {"spark": OLD_SPARK},
        ),
    ]


# --- aggregation ---------------------------------------------------------------------------------------------------

NESTED: PaimonType = {
    "type": "ARRAY",
    "element": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}, {"name": "y", "type": "STRING"}]},
}


def aggregate(
    name: str, columns: list[tuple[str, PaimonType, dict[str, str]]], steps: Sequence[Step], rows: Rows, **more: Any
) -> Keyed:
    """A case with one aggregate function per column; options are short, without ``fields.<column>.``"""
    options = {"merge-engine": "aggregation", **more.pop("options", {})}
    for column, _, own in columns:
        options |= {f"fields.{column}.{key}": value for key, value in own.items()}
    fields: Fields = [("k", "INT"), *((column, kind) for column, kind, _ in columns)]
    return Keyed(f"aggregation {name}", fields, ["k"], steps, rows, options=options, **more)


def function(name: str, **more: str) -> dict[str, str]:
    return {"aggregate-function": name, **{key.replace("_", "-"): value for key, value in more.items()}}


def aggregation() -> list[Keyed]:
    numbers: list[tuple[str, PaimonType, dict[str, str]]] = [
        ("s", "BIGINT", function("sum")),
        ("d", "DECIMAL(10, 2)", function("sum")),
        ("p", "INT", function("product")),
        ("hi", "STRING", function("max")),
        ("lo", "TIMESTAMP(3)", function("min")),
        ("f", "DOUBLE", function("sum")),
    ]
    many: list[Step] = [
        [(1, 10, Decimal("1.10"), 2, "b", 5, 0.5), (2, None, None, None, None, None, None)],
        [(1, 5, Decimal("-0.10"), 3, "a", 4, 0.25), (2, 1, Decimal(1), 1, "x", 1, 1.0), (2, 1, None, 5, None, 7, None)],
        [(1, None, None, None, "c", None, None), (3, 7, Decimal(7), 7, "z", 7, 7.0)],
        [(3, -7, Decimal(-7), -1, "", 8, -7.0), (4, 0, Decimal(0), 0, "", 0, 0.0)],
    ]
    totals: Rows = [
        (1, 15, Decimal("1.00"), 6, "c", 4, 0.75),
        (2, 2, Decimal("1.00"), 5, "x", 1, 1.0),
        (3, 0, Decimal(0), -7, "z", 7, 0.0),
        (4, 0, Decimal(0), 0, "", 0, 0.0),
    ]
    picks: list[tuple[str, PaimonType, dict[str, str]]] = [
        ("l", "STRING", function("last_value")),
        ("ln", "STRING", function("last_non_null_value")),
        ("f", "INT", function("first_value")),
        ("fn", "INT", function("first_non_null_value")),
        ("t", "BOOLEAN", function("bool_and")),
        ("o", "BOOLEAN", function("bool_or")),
        ("unset", "INT", {}),
    ]
    picked: list[Step] = [
        [(1, "a", "a", None, None, True, False, 1), (2, "a", "a", 1, 1, None, None, None)],
        [(1, None, None, 2, 2, False, None, None), (2, "b", "b", 2, 2, True, False, 2)],
        [(1, "c", None, 3, 3, True, True, 3), (3, None, None, None, None, False, True, None)],
    ]
    lists: list[tuple[str, PaimonType, dict[str, str]]] = [
        ("l", "STRING", function("listagg")),
        ("u", "STRING", function("listagg", distinct="true", list_agg_delimiter=";")),
        ("c", ARRAY_INT, function("collect")),
        ("m", MAP_STRING_BIGINT, function("merge_map")),
        ("n", NESTED, function("nested_update", nested_key="x")),
    ]
    listed: list[Step] = [
        [(1, "a", "x;y", [1, 2], [("a", 1)], [{"x": 1, "y": "a"}]), (2, None, None, None, None, None)],
        [(1, "b", "y;z", [2], [("b", 2)], [{"x": 2, "y": "b"}]), (2, "q", "q", [], [], [])],
        [(1, None, "x", None, [("a", 9)], [{"x": 1, "y": "c"}]), (3, "", "", [7], [("z", None)], None)],
    ]
    return [
        aggregate("of numbers", numbers, many, totals),
        aggregate(
            "of numbers with deletion vectors", numbers, many, totals, options={"deletion-vectors.enabled": "true"}
        ),
        aggregate(
            "of picks",
            picks,
            picked,
            [
                (1, "c", "a", None, 2, False, True, 3),
                (2, "b", "b", 1, 1, True, False, 2),
                (3, *[None] * 4, False, True, None),
            ],
        ),
        aggregate(
            "of lists",
            lists,
            listed,
            [
                (1, "a,b", "x;y;z", [1, 2, 2], [("a", 9), ("b", 2)], [{"x": 1, "y": "c"}, {"x": 2, "y": "b"}]),
                (2, "q", "q", [], [], []),
                (3, "", "", [7], [("z", None)], None),
            ],
            unordered=frozenset({"n"}),
        ),
        aggregate(
            "with retractions",
            [("s", "BIGINT", function("sum")), ("hi", "INT", function("max", ignore_retract="true"))],
            [
                [(1, 10, 10), (2, 5, 5)],
                [("-U", 1, 10, 10), ("+U", 1, 12, 12), ("-D", 2, 2, 2)],
                [("-D", 1, 2, 99), (3, 1, 1), ("-D", 3, 1, 1)],
            ],
            [(1, 10, 12), (2, 3, 5), (3, 0, 1)],
            cannot={"pypaimon": PYPAIMON_ENGINE},
        ),
        aggregate(
            "that removes on delete",
            [("s", "BIGINT", function("sum"))],
            [[(1, 10), (2, 5), (3, 1)], [("-D", 1, None), (2, 5)], [("-D", 3, None), (1, 7)], [(2, 1)]],
            [(1, 7), (2, 11)],
            options={"aggregation.remove-record-on-delete": "true"},
            cannot={"pypaimon": PYPAIMON_ENGINE, "spark": OLD_SPARK},
        ),
        aggregate(
            "with sequence.field",
            [("seq", "INT", {}), ("l", "STRING", function("last_value")), ("s", "INT", function("sum"))],
            [[(1, 5, "a", 1), (2, 1, "a", 1)], [(1, 4, "late", 2), (2, 2, "b", 2)], [(1, None, "null", 4)]],
            [(1, 5, "a", 7), (2, 2, "b", 3)],
            options={"sequence.field": "seq"},
        ),
    ]


# --- schemas and overwrites ----------------------------------------------------------------------------------------


def changing() -> list[Keyed]:
    added: Fields = [("k", "INT"), ("v", "STRING"), ("n", "BIGINT"), ("x", "DECIMAL(10, 2)")]
    renamed: Fields = [("k", "INT"), ("w", "STRING"), ("n", "BIGINT"), ("x", "DECIMAL(10, 2)")]
    steps: list[Step] = [
        [(1, "a", 1), (2, "b", 2), (3, "c", 3)],
        Alter([["add", "x", "DECIMAL(10, 2)"]], added),
        [(2, "bb", 22, Decimal("2.50")), (4, "d", 4, None)],
        Alter([["rename", "v", "w"]], renamed),
        [(1, "aa", 11, Decimal("1.00")), ("-D", 3, None, None, None)],
        Alter([["drop", "n"], ["add", "n", "STRING"]], [*renamed[:2], renamed[3], ("n", "STRING")]),
        [(5, "e", None, "text")],
    ]
    widened: list[Step] = [
        [(1, -7, 1.5), (2, None, None)],
        Alter([["type", "a", "BIGINT"], ["type", "f", "DOUBLE"]], [("k", "INT"), ("a", "BIGINT"), ("f", "DOUBLE")]),
        [(2, 2**40, 1e300), (3, 3, 3.0)],
        [("-D", 3, None, None)],
    ]
    sums: list[Step] = [
        [(1, 100), (2, 1)],
        Alter(
            [["type", "s", "BIGINT"], ["add", "hi", "INT"], ["set", "fields.hi.aggregate-function", "max"]],
            [("k", "INT"), ("s", "BIGINT"), ("hi", "INT")],
        ),
        [(1, 2**40, 5), (3, 3, None)],
        [(1, None, 4), (2, 1, 1)],
    ]
    overwritten: list[Step] = [
        [("x", 1, "a"), ("x", 2, "b"), ("y", 1, "c")],
        [("x", 1, "aa"), ("-D", "y", 1, "c"), ("y", 2, "d")],
        Overwrite({"p": "x"}, [("x", 3, "only")]),
        [("x", 1, "later"), ("x", 3, "changed")],
        Overwrite({}, [("y", 9, "dynamic"), ("y", 9, "twice")]),
        [("y", 9, "last"), ("y", 10, "more")],
    ]
    return [
        Keyed(
            "columns added, renamed and dropped",
            KVN,
            ["k"],
            steps,
            [
                (1, "aa", Decimal("1.00"), None),
                (2, "bb", Decimal("2.50"), None),
                (4, "d", None, None),
                (5, "e", None, "text"),
            ],
        ),
        Keyed(
            "columns changed with deletion vectors",
            KVN,
            ["k"],
            steps,
            [
                (1, "aa", Decimal("1.00"), None),
                (2, "bb", Decimal("2.50"), None),
                (4, "d", None, None),
                (5, "e", None, "text"),
            ],
            options={"deletion-vectors.enabled": "true"},
        ),
        Keyed(
            "types widened",
            [("k", "INT"), ("a", "INT"), ("f", "FLOAT")],
            ["k"],
            widened,
            [(1, -7, 1.5), (2, 2**40, 1e300)],
        ),
        Keyed(
            "aggregates widened and added",
            [("k", "INT"), ("s", "INT")],
            ["k"],
            sums,
            [(1, 2**40 + 100, 5), (2, 2, 1), (3, 3, None)],
            options={"merge-engine": "aggregation", "fields.s.aggregate-function": "sum"},
        ),
        Keyed(
            "partitions overwritten",
            PKV,
            ["p", "k"],
            overwritten,
            [("x", 1, "later"), ("x", 3, "changed"), ("y", 9, "last"), ("y", 10, "more")],
            ["p"],
        ),
        Keyed(
            "partitions overwritten with deletion vectors",
            PKV,
            ["p", "k"],
            overwritten,
            [("x", 1, "later"), ("x", 3, "changed"), ("y", 9, "last"), ("y", 10, "more")],
            ["p"],
            {"deletion-vectors.enabled": "true"},
        ),
    ]


# Java tells 0.0 and -0.0 apart, in buckets and in keys.
ZEROS = Keyed(
    "key of zeros",
    [("k", "DOUBLE"), ("f", "FLOAT"), ("v", "STRING")],
    ["k", "f"],
    [
        [(0.0, 0.0, "a"), (-0.0, 0.0, "b"), (0.0, -0.0, "c")],
        [(-0.0, 0.0, "bb")],
        [("-D", 0.0, 0.0, None), (1.5, 0.0, "d")],
    ],
    [(-0.0, 0.0, "bb"), (0.0, -0.0, "c"), (1.5, 0.0, "d")],
    options={"bucket": "1"},
    cannot={"pypaimon": "pypaimon takes both zeros for one"}
    | {f"{name} filters": "SQL and Java disagree about equal zeros" for name in ("lakebed", "java")},
)
KEYS = [*(key_case(*entry) for entry in KEY_TYPES), ZEROS]
KEYED = [
    *deduplicate(),
    *sequences(),
    *vectors(),
    *partial_update(),
    *aggregation(),
    *changing(),
]
