"""UPDATE, DELETE and MERGE with generated expressions give what a query over the rows before them gives.

The expressions use what Spark rewrites before a table sees it: BETWEEN, NULLIF and CASE over expressions, several
subqueries of one table, and subqueries that refer to the changed row.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import pytest
from tests.sql.cases import KINDS, show

from lakebed import Lake

FILL: Final = """VALUES (1, 10, 'a', 'a', named_struct('x', 1)), (2, NULL, 'b', 'ab', named_struct('x', 2)),
  (3, 30, NULL, 'abc', named_struct('x', NULL)), (4, 40, 'd', NULL, NULL), (5, -5, 'e', '', named_struct('x', 5))"""
SOURCE: Final = "VALUES (2, 7, 'b'), (4, NULL, 'z'), (5, 50, NULL), (8, 8, 'h')"


class Dice(random.Random):
    """Draws expressions over the columns ``id``, ``n`` and ``v`` of the aliases, and ``c`` and ``s.x`` of the table."""

    def number(self, names: Sequence[str], depth: int = 1) -> str:
        row = self.choice(names)
        simple = [f"{row}.id", f"{row}.n", str(self.randint(-3, 9)), "s.x" if row == "t" else f"{row}.n"]
        if depth == 0:
            return self.choice(simple)
        one, two = self.number(names, depth - 1), self.number(names, depth - 1)
        return self.choice(
            [
                f"{one} + {self.randint(0, 2)}",
                f"abs({one})",
                f"nullif({one} + 0, {two})",
                f"coalesce({one} + {two}, 1)",
                f"CASE WHEN {self.condition(names, depth - 1)} THEN {one} ELSE {two} END",
                "(SELECT max(o.n) FROM o) - (SELECT min(o.n) FROM o)",
                f"(SELECT max(o.n) FROM o WHERE o.id = {row}.id)",
            ]
        )

    def text(self, names: Sequence[str]) -> str:
        row = self.choice(names)
        return self.choice(
            [
                f"nullif({row}.v || 'q', 'bq')",
                f"upper({row}.v)",
                f"CASE WHEN {self.condition(names)} THEN {row}.v || 'w' ELSE 'else' END",
                f"(SELECT max(o.v) FROM o WHERE o.id + 0 = {row}.id)",
                "NULL",
            ]
        )

    def condition(self, names: Sequence[str], depth: int = 1) -> str:
        if depth == 0:
            return f"{self.number(names, 0)} > {self.number(names, 0)}"
        row, negation = self.choice(names), self.choice(("", "NOT "))
        return self.choice(
            [
                f"{self.number(names)} {negation}BETWEEN {self.number(names, 0)} AND {self.number(names, 0)}",
                f"{row}.id + 0 {negation}BETWEEN (SELECT min(o.id) FROM o) AND (SELECT max(o.id) FROM o)",
                f"nullif({row}.v || '', 'b') IS {negation}NULL",
                f"{row}.id + 1 {negation}IN (SELECT o.id FROM o WHERE o.id IS NOT NULL)",
                f"{negation}EXISTS (SELECT 1 FROM o WHERE o.id + 0 BETWEEN {row}.id AND {row}.id + 1)",
                f"({self.condition(names, depth - 1)}) OR ({self.condition(names, depth - 1)})",
                f"({self.condition(names, depth - 1)}) AND ({self.condition(names, depth - 1)})",
                "c BETWEEN 'a' AND 'ab'" if row == "t" else f"{row}.n > 5",
            ]
        )


class Changed:
    """A table ``t`` that statements change, a source ``o``, and what a query says that the rows become."""

    def __init__(self, lake: Lake, db: str, kind: str) -> None:
        self.lake = lake
        lake.sql(f"USE {db}")
        lake.sql(f"CREATE TABLE t (id INT NOT NULL, n INT, v STRING, c CHAR(3), s STRUCT<x: INT>) {KINDS[kind]}")
        lake.sql("CREATE TABLE o (id INT, n INT, v STRING)")
        lake.sql(f"INSERT INTO o {SOURCE}")

    def rows(self, query: str) -> list[str]:
        return sorted(" | ".join(map(show, row)) for row in self.lake.sql(query).collect())

    def check(self, statement: str, model: str) -> None:
        self.lake.sql(f"INSERT OVERWRITE t {FILL}")
        expected = self.rows(model)
        try:
            self.lake.sql(statement)
        except Exception as error:
            raise AssertionError(f"{statement}\n{error}") from error
        found = self.rows("SELECT id, n, v, c, s FROM t")
        assert found == expected, f"{statement}\nfound {found}\nexpected {expected}"

    def update(self, dice: Dice) -> None:
        condition, number, text = dice.condition("t"), dice.number("t"), dice.text("t")
        field = dice.number("t")
        self.check(
            f"UPDATE t SET n = {number}, v = {text}, s.x = {field} WHERE {condition}",
            f"""SELECT id, IF(hit, CAST({number} AS INT), n), IF(hit, {text}, v), c,
                IF(hit, named_struct('x', CAST({field} AS INT)), s) FROM (SELECT *, {condition} AS hit FROM t) t""",
        )

    def delete(self, dice: Dice) -> None:
        condition = dice.condition("t")
        self.check(
            f"DELETE FROM t WHERE {condition}",
            f"SELECT id, n, v, c, s FROM (SELECT *, {condition} AS hit FROM t) WHERE NOT coalesce(hit, false)",
        )

    def merge(self, dice: Dice) -> None:
        on = dice.choice(["t.id = o.id", "t.id + 0 BETWEEN o.id AND o.id", "nullif(t.id + 0, o.id) IS NULL"])
        first, gone = dice.condition(("t", "o")), dice.condition(("t", "o"))
        number, text, new = dice.number(("t", "o")), dice.text(("t", "o")), dice.condition(("o",))
        new_number, new_text, left = dice.number(("o",)), dice.text(("o",)), dice.condition("t")
        self.check(
            f"""MERGE INTO t USING o ON {on}
              WHEN MATCHED AND {first} THEN UPDATE SET n = {number}, v = {text} WHEN MATCHED AND {gone} THEN DELETE
              WHEN NOT MATCHED AND {new} THEN INSERT (id, n, v) VALUES (o.id, {new_number}, {new_text})
              WHEN NOT MATCHED BY SOURCE AND {left} THEN DELETE""",
            f"""SELECT t.id, IF(first, number, t.n), IF(first, text, t.v), c, s FROM (SELECT t.*, {first} AS first,
                {gone} AS gone, CAST({number} AS INT) AS number, {text} AS text FROM t JOIN o ON t.id = o.id) t
                WHERE coalesce(first, false) OR NOT coalesce(gone, false)
              UNION ALL SELECT id, n, v, c, s FROM (SELECT *, {left} AS left FROM t)
                WHERE NOT coalesce(left, false) AND id NOT IN (SELECT id FROM o)
              UNION ALL SELECT id, CAST(number AS INT), text, NULL, NULL FROM (SELECT *, {new} AS new,
                {new_number} AS number, {new_text} AS text FROM o) WHERE new AND id NOT IN (SELECT id FROM t)""",
        )


@pytest.mark.parametrize("kind", ["append", "keyed"])
@pytest.mark.parametrize("verb", ["update", "delete", "merge"])
def test_generated_changes(lake: Lake, db: str, kind: str, verb: str, spark: Any) -> None:
    changed, dice = Changed(lake, db, kind), Dice(f"{kind} {verb}")
    for _ in range(3):
        getattr(changed, verb)(dice)
