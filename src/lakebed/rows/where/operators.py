"""The rules for values other than functions: literals, columns, arithmetic, casts and choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lakebed.errors import unknown_name
from lakebed.format.predicate import to_arrow_expression
from lakebed.format.types.data_types import Atomic, Field, Row, to_arrow
from lakebed.rows.where.binder import NULL, Binder, Value, Values, constant_value
from lakebed.rows.where.conditions import as_read, compare
from lakebed.rows.where.expressions import holds, null_of
from lakebed.rows.where.functions import days_after
from lakebed.rows.where.literals import CannotCastError, read_number
from lakebed.rows.where.syntax import of, sql
from lakebed.rows.where.value_types import DATE, INTEGERS, NAMED_TYPES, as_decimal, type_name

_ARITHMETIC: Final[dict[type[exp.Expr], Callable[[Any, Any], Any]]] = {
    exp.Add: pc.add_checked,
    exp.Sub: pc.subtract_checked,
    exp.Mul: pc.multiply_checked,
    exp.Div: pc.divide_checked,
    exp.IntDiv: pc.divide_checked,
}


def _inner(bind: Binder, syntax: exp.Expr) -> Value:
    return bind.value(syntax.this)


def _null(bind: Binder, syntax: exp.Expr) -> Value:  # noqa: ARG001
    return NULL


def _literal(bind: Binder, syntax: exp.Expr) -> Value:
    if isinstance(syntax, exp.RawString) or syntax.is_string:
        return constant_value(pa.scalar(syntax.name, pa.string()))
    return _number_literal(bind, syntax, syntax.name)


def _number_literal(bind: Binder, syntax: exp.Expr, text: str) -> Value:
    try:
        return constant_value(read_number(text))
    except CannotCastError:
        bind.fail(f"{text} is not a number that Spark SQL has a type for", syntax)


def _hex(bind: Binder, syntax: exp.Expr) -> Value:
    digits = syntax.name
    try:
        return constant_value(pa.scalar(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))))
    except ValueError:
        bind.fail(f"X'{digits}' is not hexadecimal", syntax)


def _column(bind: Binder, syntax: exp.Expr) -> Value:
    parts = [part.name for part in syntax.parts] if isinstance(syntax, exp.Column | exp.Dot) else []
    if isinstance(syntax.this, exp.Star):
        bind.refuse(syntax)
    found = _find(bind, parts[0], bind.scope.fields, syntax)
    path, data_type = [bind.scope.name(found.name)], found.type
    for part in parts[1:]:
        if not isinstance(data_type, Row):
            bind.fail(f"{'.'.join(parts[: len(path)])} is {data_type} and has no field {part!r}", syntax)
        inner = _find(bind, part, data_type.fields, syntax)
        path, data_type = [*path, inner.name], inner.type
    expression, names = pc.field(*path), frozenset(path[:1])
    top = path[0] if len(path) == 1 else None
    if isinstance(data_type, Atomic) and data_type.root == "CHAR":
        (length,) = data_type.params
        padded = pc.utf8_rpad(expression, width=length, padding=" ")
        # Spark pads only whole columns to the length of the other side, not fields of structs.
        return Value(pa.string(), padded, names, column=top, char_length=0 if top is None else length)
    return Value(to_arrow(data_type), expression, names, column=top)


def _find(bind: Binder, name: str, fields: tuple[Field, ...], syntax: exp.Expr) -> Field:
    alike = [candidate for candidate in fields if candidate.name.lower() == name.lower()]
    exact = [candidate for candidate in alike if candidate.name == name]
    if not alike:
        bind.fail(unknown_name("column", name, [candidate.name for candidate in fields]), syntax)
    if len(alike) > 1 and not exact:
        names = " and ".join(candidate.name for candidate in alike)
        bind.fail(f"column {name!r} is ambiguous: there are {names}; write it exactly", syntax)
    return (exact or alike)[0]


def _negative(bind: Binder, syntax: exp.Expr) -> Value:
    if isinstance(syntax.this, exp.Literal) and not syntax.this.is_string:
        return _number_literal(bind, syntax, "-" + syntax.this.name)
    value = bind.number(syntax.this)
    return bind.made(pc.negate_checked(value.expression), syntax, value)


def _arithmetic(bind: Binder, syntax: exp.Expr) -> Value:
    left, right = bind.value(syntax.this), bind.value(syntax.expression)
    if isinstance(syntax, exp.Add | exp.Sub) and left.type == DATE and pa.types.is_integer(right.type):
        return days_after(bind, left, right, syntax, backwards=isinstance(syntax, exp.Sub))
    left, right = bind.number(syntax.this), bind.number(syntax.expression)
    kind = bind.common([left, right], syntax)
    if pa.types.is_null(kind):
        return left
    if isinstance(syntax, exp.Div) and not pa.types.is_decimal(kind):
        kind = pa.float64()
    elif isinstance(syntax, exp.IntDiv) and pa.types.is_integer(kind):
        kind = pa.int64()
    elif isinstance(syntax, exp.Div | exp.IntDiv) or (isinstance(syntax, exp.Mod) and kind not in INTEGERS):
        bind.refuse(syntax, f"this division of {type_name(kind)} (cast to DOUBLE first, or")
    if pa.types.is_decimal(kind):
        sides = [bind.cast(side, _decimal_for(side), syntax).expression for side in (left, right)]
    else:
        sides = [bind.cast(side, kind, syntax).expression for side in (left, right)]
    if isinstance(syntax, exp.Mod):
        times = pc.multiply_checked(pc.divide_checked(*sides), sides[1])
        return bind.made(pc.subtract_checked(sides[0], times), syntax, left, right)
    return bind.made(_ARITHMETIC[type(syntax)](*sides), syntax, left, right)


def _decimal_for(value: Value) -> pa.DataType:
    """The decimal that a number is in decimal arithmetic; a literal is as narrow as it can be."""
    if value.constant is not None and pa.types.is_integer(value.type) and value.constant.is_valid:
        return pa.decimal128(len(str(abs(value.constant.as_py()))), 0)
    return as_decimal(value.type)


def _concat(bind: Binder, syntax: exp.Expr) -> Value:
    given = [syntax.this, syntax.expression] if isinstance(syntax, exp.DPipe) else syntax.expressions
    if isinstance(syntax, exp.DPipe) and any(isinstance(part, exp.Add | exp.Sub) for part in given):
        bind.fail(f"put parentheses around + and - in {sql(syntax)}", syntax)
    values = [bind.cast(bind.value(part), pa.string(), syntax) for part in given]
    joined = pc.binary_join_element_wise(*(value.expression for value in values), pc.scalar(""))
    return bind.made(joined, syntax, *values)


def _explicit_cast(bind: Binder, syntax: exp.Expr) -> Value:
    target = syntax.args["to"]
    if target.this == exp.DType.DECIMAL:
        params = [int(param.name) for param in target.expressions] or [10]
        precision, scale = (*params, 0)[:2]
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            bind.fail(f"DECIMAL({precision}, {scale}) is not a type: a decimal has up to 38 digits", syntax)
        kind = pa.decimal128(precision, scale)
    elif target.this in NAMED_TYPES:
        kind = NAMED_TYPES[target.this]
    else:
        bind.refuse(syntax)
    return bind.cast(as_read(bind.value(syntax.this)), kind, syntax)


def _case(bind: Binder, syntax: exp.Expr) -> Value:
    subject, branches = syntax.this, syntax.args["ifs"]
    tests = [of(exp.EQ, subject, branch.this) if subject is not None else branch.this for branch in branches]
    return _choose(bind, tests, [branch.args["true"] for branch in branches], syntax.args.get("default"), syntax)


def _if(bind: Binder, syntax: exp.Expr) -> Value:
    return _choose(bind, [syntax.this], [syntax.args["true"]], syntax.args.get("false"), syntax)


def _choose(
    bind: Binder, tests: list[exp.Expr], results: list[exp.Expr], default: exp.Expr | None, syntax: exp.Expr
) -> Value:
    values = [bind.value(result) for result in [*results, exp.Null() if default is None else default]]
    kind = bind.common(values, syntax)
    *chosen, last = [bind.cast(value, kind, syntax).expression for value in values]
    used = [bind.value(test) for test in tests]
    for test, result in zip(reversed(tests), reversed(chosen), strict=True):
        last = pc.if_else(holds(to_arrow_expression(bind.condition(test))), result, last)
    return bind.made(last, syntax, *values, *used)


def _coalesce(bind: Binder, syntax: exp.Expr) -> Value:
    values = [bind.value(part) for part in [syntax.this, *syntax.expressions]]
    kind = bind.common(values, syntax)
    parts = [bind.cast(value, kind, syntax).expression for value in values]
    return bind.made(pc.coalesce(*parts), syntax, *values)


def _nullif(bind: Binder, syntax: exp.Expr) -> Value:
    value, other = bind.value(syntax.this), bind.value(syntax.expression)
    equal = compare(bind, as_read(value), "=", as_read(other), of(exp.EQ, syntax.this, syntax.expression))
    return bind.made(
        pc.if_else(holds(to_arrow_expression(equal)), null_of(value.type), value.expression), syntax, value, other
    )


OPERATORS: Final[Values] = {
    exp.Paren: (_inner, "this"),
    exp.Null: (_null, ""),
    exp.Literal: (_literal, "this is_string"),
    exp.RawString: (_literal, "this"),
    exp.HexString: (_hex, "this"),
    exp.Column: (_column, "this table db catalog"),
    exp.Dot: (_column, "this expression"),
    exp.Neg: (_negative, "this"),
    exp.Mod: (_arithmetic, "this expression"),
    exp.DPipe: (_concat, "this expression safe"),
    exp.Concat: (_concat, "expressions safe"),
    exp.Cast: (_explicit_cast, "this to"),
    exp.TryCast: (_explicit_cast, "this to"),
    exp.Case: (_case, "this ifs default"),
    exp.If: (_if, "this true false"),
    exp.Coalesce: (_coalesce, "this expressions"),
    exp.Nullif: (_nullif, "this expression"),
    **dict.fromkeys(_ARITHMETIC, (_arithmetic, "this expression typed safe")),
}
