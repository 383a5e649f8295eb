"""Conditions on CHAR columns in process give the rows of Spark: generated conditions, computed by both.

Spark pads a CHAR and a literal to the same length in comparisons and in some lists, but not in BETWEEN, NULLIF and
lists that mix columns and literals.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from lakebed import Lake
from lakebed.format import predicate as pred
from lakebed.rows.where import parse_where

ROWS = [
    (1, "ab", "ab", "ab"),
    (2, "ab  ", "cd", "ab  "),
    (3, "abcd", "ab", "abcd"),
    (4, None, None, None),
    (5, "", "", ""),
    (6, " b", "a", " b"),
    (7, "a", None, "a "),
]
CHARS, LITERALS = ("c", "e"), ("'ab'", "'ab  '", "'abcd'", "'a'", "''", "'abcdef'", "concat('a', 'b')")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "<=>")


def operand(dice: random.Random) -> str:
    """A side of a comparison: a column, a literal, or a value made of a column."""
    made = ("v", "s.c", "nullif(c, 'ab')", "nullif(e, 'ab')", "coalesce(e, 'ab')", "cast(c as string)", "(c)", "NULL")
    return dice.choice((*CHARS, *CHARS, *LITERALS, *made))


def condition(dice: random.Random) -> str:
    """A condition whose parts Spark pads or does not pad."""
    subject, negation = dice.choice((*CHARS, operand(dice))), dice.choice(("", "", "NOT "))
    match dice.randrange(6):
        case 0:
            return f"{subject} {dice.choice(OPERATORS)} {operand(dice)}"
        case 1:
            return f"{subject} {negation}BETWEEN {operand(dice)} AND {operand(dice)}"
        case 2:
            items = [operand(dice) for _ in range(dice.randint(1, 3))]
            return f"{subject} {negation}IN ({', '.join(items)})"
        case 3:
            items = [dice.choice((*LITERALS, "NULL")) for _ in range(dice.randint(1, 3))]
            return f"{subject} {negation}IN ({', '.join(items)})"
        case 4:
            return f"nullif({subject}, {operand(dice)}) IS {negation}NULL"
        case _:
            return f"CASE {subject} WHEN {operand(dice)} THEN true ELSE false END"


def table_of_chars(lake: Lake, db: str) -> str:
    name = f"{db}.chars"
    lake.sql(f"CREATE TABLE {name} (id INT, c CHAR(4), e CHAR(2), v STRING, s STRUCT<c: CHAR(4)>)")
    values = [{"id": i, "c": c, "e": e, "v": v, "s": None if c is None else {"c": c}} for i, c, e, v in ROWS]
    table = lake.table(name)
    table.write(pa.Table.from_pylist(values, pa.schema([
        ("id", pa.int32()), ("c", pa.string()), ("e", pa.string()), ("v", pa.string()),
        ("s", pa.struct([("c", pa.string())])),
    ])))  # fmt: skip
    return name


def test_generated_conditions_on_char_columns(lake: Lake, db: str, spark: Any) -> None:
    name = table_of_chars(lake, db)
    dice = random.Random(7)
    texts = list(dict.fromkeys(condition(dice) for _ in range(400)))
    columns = ", ".join(f"({text}) AS c{i}" for i, text in enumerate(texts))
    expected = lake.sql(f"SELECT {columns} FROM {name} ORDER BY id").collect()
    table = lake.table(name)
    rows, fields = table.to_arrow().sort_by("id"), table.schema.fields
    wrong = []
    for i, text in enumerate(texts):
        wanted = [row[i] for row in expected]
        node = parse_where(text, fields)
        again = parse_where(pred.to_text(node), fields)
        under_other_names = pred.rename(node, {"c": "c_old", "e": "e_old"})
        renamed = rows.rename_columns(["id", "c_old", "e_old", "v", "s"])
        taken = [bool(value) for value in wanted]
        found = [pred.matches_rows(node, rows).tolist(), pred.matches_rows(again, rows).tolist()]
        found.append(pred.matches_rows(under_other_names, renamed).tolist())
        opposite = pred.matches_rows(parse_where(f"NOT ({text})", fields), rows).tolist()
        if found != [taken] * 3 or opposite != [value is False for value in wanted]:
            wrong.append((text, taken, found, opposite))
    assert not wrong


@pytest.mark.parametrize(
    "where",
    ["c BETWEEN 'ab' AND 'ab'", "c NOT BETWEEN 'ab' AND 'ab'", "c IN ('ab', NULL)", "nullif(c, 'ab') IS NOT NULL"],
)
def test_delete_takes_the_same_rows_as_spark(lake: Lake, db: str, where: str) -> None:
    name = table_of_chars(lake, db)
    gone = {row[0] for row in lake.sql(f"SELECT id FROM {name} WHERE {where}").collect()}
    lake.table(name).delete(where)
    assert set(lake.table(name).to_arrow()["id"].to_pylist()) == {row[0] for row in ROWS} - gone
