r"""A condition in Spark SQL, as users write it in ``where=``, bound to the columns of a table.

:func:`parse_where` promises the rows that Spark 4 (ANSI mode, session time zone UTC) would give, or an
:class:`ExpressionError`; never other rows. What Arrow cannot do with the same meaning is refused by name. In detail:

* Column names match whatever their case, as long as that is not ambiguous. ``s.a`` reads a field of a struct.
* Literals take the type of the column they are compared with, exactly: out of range and fractional ones still mean
  what they say (``tinyint_col < 1000`` holds for every value, ``int_col > 1.5`` is ``int_col > 1``).
* A timestamp without a zone is read in UTC. ``current_date`` and ``current_timestamp`` are those of the call.
* A string that is compared with a number, date or boolean is cast to it; one that cannot be cast is an error, at once
  for a literal and when its row is read for a column.
* A CHAR column is padded with spaces to its length. Spark pads it and the literal further, to the longer of the two,
  for ``=`` and the other comparisons and for IN with literals only, but not for BETWEEN, NULLIF and other lists.
* Decimals compare exactly. Spark does so up to 38 digits; if the common type of two sides has more, it rounds both to
  fit, so that there ``decimal_38_10_col = 0.12345678905`` takes 0.1234567891 and here nothing.
* ``lower`` and ``upper`` map character by character: upper('ß') stays 'ẞ' where Spark says 'SS'.

>>> from lakebed.format.predicate import to_text
>>> from lakebed.format.types.data_types import Atomic, Field
>>> fields = [Field(0, "id", Atomic("INT")), Field(1, "name", Atomic("STRING"))]
>>> to_text(parse_where("5.5 < ID AND name LIKE 'a%'", fields))
"id > 5 AND name LIKE 'a%'"
>>> parse_where("nmae = 'x'", fields)
Traceback (most recent call last):
...
lakebed.errors.ExpressionError: unknown column 'nmae'; did you mean 'name'?
  nmae = 'x'
  ^
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import pyarrow.compute as pc
from sqlglot import exp

from lakebed.errors import ExpressionError
from lakebed.format.predicate import FALSE, UNKNOWN, And, Node, Or, conjunction, disjunction
from lakebed.format.types.data_types import Field
from lakebed.rows.where.arrow_expressions import expression_text
from lakebed.rows.where.binder import Binder, Conditions, Scope, Values
from lakebed.rows.where.conditions import CONDITIONS
from lakebed.rows.where.filter_tuples import filters_text
from lakebed.rows.where.functions import FUNCTIONS
from lakebed.rows.where.operators import OPERATORS
from lakebed.rows.where.syntax import parse

__all__ = ["Where", "condition_of", "parse_where"]

Where: TypeAlias = "str | Node | pc.Expression | Sequence[Any]"
"""A condition as users give it: SQL text, a node, a pyarrow expression or filter tuples."""


class _SparkBinder(Binder):
    conditions: ClassVar[Conditions] = CONDITIONS
    values: ClassVar[Values] = {**OPERATORS, **FUNCTIONS}


def condition_of(where: Where | None, fields: Sequence[Field]) -> Node | None:
    """Returns a condition on a table with these columns, in any form that users may give it.

    Args:
        where: SQL text, a list of tuples (:mod:`lakebed.rows.where.filter_tuples`), a pyarrow expression
            (:mod:`lakebed.rows.where.arrow_expressions`), or a condition that was parsed.
        fields: The columns of the table.

    Raises:
        ExpressionError: The condition cannot be read, or does not fit the columns.
    """
    if where is None or isinstance(where, Node):
        return where
    if isinstance(where, pc.Expression):
        return parse_where(expression_text(where), fields)
    if isinstance(where, str):
        return parse_where(where, fields)
    if isinstance(where, list | tuple):
        return parse_where(filters_text(where), fields)
    raise ExpressionError(
        f'a condition is a SQL text like "id > 5", a list of tuples or a pyarrow expression, not {where!r}'
    )


def parse_where(text: str, fields: Sequence[Field]) -> Node:
    """Parse a condition on a table with these columns."""
    if not isinstance(text, str):
        raise ExpressionError(f'a condition must be a SQL text, like "id > 5", not {text!r}')
    scope = Scope(text, tuple(fields), dt.datetime.now(dt.UTC))
    syntax = parse(text)
    if isinstance(syntax, exp.Null):
        raise ExpressionError("NULL is not a condition; to select no row, write FALSE")
    return _without_unknown(_SparkBinder(scope).condition(syntax))


def _without_unknown(node: Node) -> Node:
    """Replace unknown by false at the top: a row is taken only if the condition is true."""
    match node:
        case And(children):
            return conjunction(map(_without_unknown, children))
        case Or(children):
            return disjunction(map(_without_unknown, children))
        case _:
            return FALSE if node == UNKNOWN else node
