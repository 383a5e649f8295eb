"""Which rows satisfy a condition: its Arrow expression, and that expression evaluated on a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import acero

from lakebed.errors import ExpressionError
from lakebed.format.predicate.nodes import (
    And,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Opaque,
    Or,
    columns,
    with_both_zeros,
)
from lakebed.format.predicate.sql_text import to_text

Mask: TypeAlias = npt.NDArray[np.bool_]

COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def to_arrow_expression(node: Node) -> pc.Expression:
    """Returns the condition as an Arrow expression: true, false or null exactly where SQL says so.

    Do not use it as a dataset filter of a Parquet reader if it has floating-point columns: the reader prunes row groups
    by statistics, which ignore NaN. Give such a reader ``implied(node, other_columns)`` without these columns, and
    filter its batches with the whole expression.
    """
    match node:
        case And(children):
            return _connected(children, pc.and_kleene)
        case Or(children):
            return _connected(children, pc.or_kleene)
        case Literal(value):
            return pc.scalar(pa.scalar(value, pa.bool_()))
        case IsNull(column, negated):
            return pc.is_valid(pc.field(column)) if negated else pc.is_null(pc.field(column))
        case Opaque():
            return node.expression
        case Compare(column, "<=>", value):
            equal = to_arrow_expression(Compare(column, "=", value))
            return pc.and_kleene(pc.is_valid(pc.field(column)), equal)
        case Compare(column, op, value):
            compared = _compare_float if pa.types.is_floating(value.type) else _compare
            return compared(pc.field(column), op, value)
        case In():
            return _in_expression(node)
        case Like():
            return _like_expression(node)


def _connected(
    nodes: tuple[Node, ...], connect: Callable[[pc.Expression, pc.Expression], pc.Expression]
) -> pc.Expression:
    """Returns the conditions connected as a balanced tree, because Arrow evaluates expressions recursively."""
    parts = [to_arrow_expression(node) for node in nodes]
    while len(parts) > 1:
        pairs = zip(parts[0::2], parts[1::2], strict=False)
        parts = [connect(*pair) for pair in pairs] + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


def _compare(column: pc.Expression, op: str, value: pa.Scalar) -> pc.Expression:
    return COMPARE[op](column, pc.scalar(value))


def _compare_float(column: pc.Expression, op: str, value: pa.Scalar) -> pc.Expression:
    nan = pc.is_nan(column)
    if not math.isnan(value.as_py()):
        compared = COMPARE[op](column, pc.scalar(value))
        return pc.or_kleene(compared, nan) if op in {">", ">=", "!="} else pc.and_kleene(compared, pc.invert(nan))
    unknown = pc.scalar(pa.scalar(None, pa.bool_()))
    match op:
        case "=" | ">=":
            return nan
        case "!=" | "<":
            return pc.invert(nan)
        case "<=":
            return pc.or_kleene(pc.is_valid(column), unknown)
        case _:
            return pc.and_kleene(pc.is_null(column), unknown)


def _in_expression(node: In) -> pc.Expression:
    column = pc.field(node.column)
    values = with_both_zeros(node.values) if pa.types.is_floating(node.values.type) else node.values
    found = pc.is_in(column, value_set=values)
    found = pc.invert(found) if node.negated else found
    unknown = pc.scalar(pa.scalar(None, pa.bool_()))
    if node.negated:  # is_in returns false for null, so its negation must be turned into null
        return pc.and_kleene(found, pc.or_kleene(pc.is_valid(column), unknown))
    return pc.or_kleene(found, pc.and_kleene(pc.is_null(column), unknown))


def _like_expression(node: Like) -> pc.Expression:
    column = pc.field(node.column)
    found = pc.match_like(column, node.pattern)
    if node.negated:
        return pc.invert(found)
    if node.prefix:  # a range, which readers can compare with the statistics of row groups
        found = pc.and_kleene(pc.greater_equal(column, pc.scalar(node.prefix)), found)
        after = successor(node.prefix)
        found = found if after is None else pc.and_kleene(pc.less(column, pc.scalar(after)), found)
    return found


def successor(prefix: str) -> str | None:
    """Returns the least string greater than all that start with the prefix, in the order of code points."""
    kept = prefix.rstrip(chr(0x10FFFF))
    if not kept:
        return None
    last = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if last == 0xD800 else last)


def truth(node: Node, table: pa.Table) -> pa.ChunkedArray:
    """Returns true, false or null for each row of a table."""
    names = sorted(columns(node))
    rows = table.select(names) if names else pa.table({"row": pa.nulls(table.num_rows)})
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    project = acero.Declaration("project", acero.ProjectNodeOptions([to_arrow_expression(node)], ["truth"]))
    try:
        return acero.Declaration.from_sequence([source, project]).to_table(use_threads=False).column("truth")
    except pa.ArrowInvalid as problem:
        raise ExpressionError(f"{to_text(node)!r} cannot be evaluated on these rows: {problem}") from None


def matches_rows(node: Node, table: pa.Table) -> Mask:
    """Returns which rows of a table satisfy the condition; where it is unknown they do not.

    >>> matches_rows(Compare("dt", ">", pa.scalar("b")), pa.table({"dt": ["a", "c", None]})).tolist()
    [False, True, False]
    """
    return filled(truth(node, table), if_null=False)


def filled(mask: pa.Array | pa.ChunkedArray, *, if_null: bool) -> Mask:
    """Returns booleans without nulls."""
    return np.asarray(pc.fill_null(mask, if_null).to_numpy(zero_copy_only=False), dtype=np.bool_)
