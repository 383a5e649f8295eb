"""What the binding rules share: a scope, typed values, and the :class:`Binder` that applies the rules.

A binder has no rules of its own. ``conditions``, ``operators`` and ``functions`` define them, and the package
combines them. This module contains what they use: values in a common type, casts, constants, and errors that show the
position.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lakebed.errors import ExpressionError
from lakebed.format import predicate
from lakebed.format.predicate import UNKNOWN, Compare, Literal, Node, Opaque, to_arrow_expression
from lakebed.format.types.data_types import Field, to_arrow
from lakebed.rows.where.expressions import cast_expression
from lakebed.rows.where.literals import CannotCastError, read_string
from lakebed.rows.where.syntax import caret_at, sql
from lakebed.rows.where.value_types import common_type, is_number, type_name

_ONE_ROW: Final = pa.table({"row": pa.nulls(1)})


@dataclass(frozen=True, slots=True)
class Value:
    """A typed expression: a constant if it reads no column, a plain column if ``column`` is set."""

    type: pa.DataType
    expression: pc.Expression
    columns: frozenset[str] = frozenset()
    constant: pa.Scalar | None = None
    column: str | None = None
    char_length: int = 0


def constant_value(constant: pa.Scalar) -> Value:
    """A value that reads no column."""
    return Value(constant.type, pc.scalar(constant), constant=constant)


NULL: Final = constant_value(pa.scalar(None, pa.null()))


@dataclass(frozen=True, slots=True)
class Scope:
    """What a condition is bound in. ``names`` gives columns other names than their fields have."""

    text: str
    fields: tuple[Field, ...]
    now: dt.datetime
    names: Mapping[str, str] = field(default_factory=dict)

    def name(self, name: str) -> str:
        return self.names.get(name, name)

    def no_rows(self) -> pa.Table:
        return pa.schema([(self.name(column.name), to_arrow(column.type)) for column in self.fields]).empty_table()


class Binder:
    """Translates syntax in a scope to a condition (a node) or to a value (a typed Arrow expression).

    The rules of the subclass, one for each class of syntax, are functions, each with the arguments of the syntax that
    it reads.
    """

    conditions: ClassVar[Conditions]
    values: ClassVar[Values]

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def condition(self, syntax: exp.Expr) -> Node:
        """Translate a boolean expression to a condition, with every NOT pushed down."""
        rule = self.conditions.get(type(syntax))
        if rule is not None:
            self.check_arguments(syntax, rule[1])
            return rule[0](self, syntax)
        value = self.value(syntax)
        if pa.types.is_null(value.type):
            return UNKNOWN
        if not pa.types.is_boolean(value.type):
            self.fail(f"{sql(syntax)} is {type_name(value.type)}, not a condition; compare it with something", syntax)
        if value.constant is not None:
            return Literal(value.constant.as_py())
        if value.column is not None:
            return Compare(value.column, "=", pa.scalar(True))
        return self.opaque(syntax, value)

    def value(self, syntax: exp.Expr) -> Value:
        """Translate an expression to a value."""
        if type(syntax) in self.conditions and not isinstance(syntax, exp.Paren):
            node = self.condition(syntax)
            expression, names = to_arrow_expression(node), predicate.columns(node)
            constant = pa.scalar(node.value, pa.bool_()) if isinstance(node, Literal) else None
            return Value(pa.bool_(), expression, names, constant)
        rule = self.values.get(type(syntax))
        if rule is None:
            self.refuse(syntax)
        self.check_arguments(syntax, rule[1])
        return rule[0](self, syntax)

    def made(self, expression: pc.Expression, syntax: exp.Expr, *parts: Value) -> Value:
        """Return a value made of others. Arrow decides its type, and it is computed now if it reads no column."""
        names = frozenset[str]().union(*(part.columns for part in parts))
        rows = self.scope.no_rows() if names else _ONE_ROW
        try:
            found = predicate.truth(Opaque(expression, names, sql(syntax)), rows)
            return Value(found.type, expression, names) if names else constant_value(found[0])
        except pa.ArrowNotImplementedError:
            kinds = " and ".join(type_name(part.type) for part in parts)
            self.fail(f"{sql(syntax)} is not defined for {kinds}", syntax)

    def node(self, expression: pc.Expression, syntax: exp.Expr, *parts: Value) -> Node:
        value = self.made(expression, syntax, *parts)
        if value.constant is not None:
            return Literal(value.constant.as_py())
        return self.opaque(syntax, value)

    def opaque(self, syntax: exp.Expr, value: Value) -> Opaque:
        return Opaque(value.expression, value.columns, sql(syntax), partial(_rebind, type(self), syntax, self.scope))

    def common(self, values: Sequence[Value], syntax: exp.Expr) -> pa.DataType:
        kind = values[0].type
        for value in values[1:]:
            wider = common_type(kind, value.type)
            if wider is None:
                names = f"{type_name(kind)} and {type_name(value.type)}"
                self.fail(f"{sql(syntax)} mixes {names}, which Spark does not compare; add a CAST", syntax)
            kind = wider
        return kind

    def cast(self, value: Value, kind: pa.DataType, syntax: exp.Expr) -> Value:
        if value.type == kind:
            return value
        if value.constant is not None and value.constant.is_valid and pa.types.is_string(value.type):
            return constant_value(self.constant(value.constant, kind, syntax))
        expression = cast_expression(value.expression, value.type, kind)
        if expression is None:
            self.refuse(syntax, f"a cast of {type_name(value.type)} to {type_name(kind)}")
        return self.made(expression, syntax, value)

    def constant(self, constant: pa.Scalar, kind: pa.DataType, syntax: exp.Expr) -> pa.Scalar:
        """A constant for comparison in a type; exact ones stay as they are, however wide."""
        try:
            if pa.types.is_string(constant.type):
                return read_string(constant.as_py(), kind)
            if pa.types.is_floating(kind) and is_number(constant.type):
                return pa.scalar(float(constant.as_py()), kind)
        except CannotCastError:
            shown = predicate.value_text(constant)
            self.fail(f"{shown} cannot be cast to {type_name(kind)} (Spark's ANSI mode says so too)", syntax)
        return constant

    def number(self, syntax: exp.Expr) -> Value:
        value = self.value(syntax)
        if pa.types.is_string(value.type):
            value = self.cast(value, pa.float64(), syntax)
        if not is_number(value.type) and not pa.types.is_null(value.type):
            self.fail(f"{sql(syntax)} is {type_name(value.type)}, not a number", syntax)
        return value

    def text(self, syntax: exp.Expr) -> str | None:
        value = self.value(syntax)
        if value.constant is None or not (pa.types.is_string(value.type) or pa.types.is_null(value.type)):
            self.refuse(syntax, f"{sql(syntax)} where a string literal is expected")
        text: str | None = value.constant.as_py()
        return text

    def whole(self, syntax: exp.Expr) -> int:
        value = self.value(syntax)
        if value.constant is None or not pa.types.is_integer(value.type) or not value.constant.is_valid:
            self.refuse(syntax, f"{sql(syntax)} where an integer literal is expected")
        return int(value.constant.as_py())

    def check_arguments(self, syntax: exp.Expr, known: str) -> None:
        """Raise for syntax that sqlglot accepts but no rule reads."""
        given = {name for name, value in syntax.args.items() if value and not name.startswith("_")}
        extra = given - set(known.split())
        if "query" in extra:
            self.refuse(syntax.args["query"])
        if extra:
            self.refuse(syntax, f"{sql(syntax)} ({', '.join(sorted(extra))})")

    def refuse(self, syntax: exp.Expr, what: str | None = None) -> NoReturn:
        if isinstance(syntax, exp.Query | exp.Subquery | exp.Exists | exp.SubqueryPredicate):
            what = "a subquery"
        elif isinstance(syntax, exp.Placeholder | exp.Parameter):
            what = f"the parameter {sql(syntax)}"
        elif isinstance(syntax, exp.AggFunc | exp.Window):
            what = f"the aggregate or window function {sql(syntax)}"
        elif what is None:
            name = syntax.name if isinstance(syntax, exp.Anonymous) else syntax.key
            what = f"{name.upper()} in {sql(syntax)}"
        self.fail(f"{what} is not supported in a where condition; Spark SQL can do it: use lake.sql(...)", syntax)

    def fail(self, message: str, syntax: exp.Expr) -> NoReturn:
        text = self.scope.text
        starts = [node.meta["start"] for node in syntax.walk() if "start" in node.meta]
        if not starts:
            raise ExpressionError(f"{message}\n  {text}")
        raise ExpressionError(message + caret_at(text, min(starts)))


def _rebind(binder: type[Binder], syntax: exp.Expr, scope: Scope, names: Mapping[str, str]) -> pc.Expression:
    return to_arrow_expression(binder(replace(scope, names=names)).condition(syntax))


Conditions: TypeAlias = Mapping[type[exp.Expr], tuple[Callable[[Binder, Any], Node], str]]
Values: TypeAlias = Mapping[type[exp.Expr], tuple[Callable[[Binder, Any], Value], str]]
