"""The nodes of a condition: what they are, how they are built, negated, renamed and taken apart.

Pure data, without evaluation; the docstring of the package describes the logic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import ExpressionError

_OPPOSITE: Final = {"=": "!=", "<=>": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MAX_CANDIDATES: Final = 1000


@dataclass(frozen=True, slots=True)
class And:
    """True if all children are true."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True if any child is true."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Compares a column with a value of its Arrow type that is not null."""

    column: str
    op: str
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class In:
    """A column is one of the values, which have its Arrow type and are not null."""

    column: str
    values: pa.Array
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """A column is null, or with ``negated`` it is not."""

    column: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    r"""A string column matches a SQL pattern: ``%`` is any text, ``_`` one character, and ``\`` escapes the three."""

    column: str
    pattern: str
    negated: bool = False

    @property
    def prefix(self) -> str:
        r"""The text that every match starts with.

        >>> Like("c", r"50\%_x%").prefix
        '50%'
        """
        literal = re.match(r"(?:\\.|[^%_\\])*", self.pattern, re.DOTALL)
        return re.sub(r"\\(.)", r"\1", literal[0], flags=re.DOTALL) if literal else ""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; None is SQL's unknown."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Opaque:
    """A boolean Arrow expression that statistics cannot answer.

    ``rebind`` returns the expression for renamed columns. Two nodes are equal if their texts are equal.
    """

    expression: pc.Expression = field(compare=False)
    columns: frozenset[str]
    text: str
    rebind: Callable[[Mapping[str, str]], pc.Expression] | None = field(default=None, compare=False, repr=False)


Leaf: TypeAlias = Compare | In | IsNull | Like
Node: TypeAlias = And | Or | Leaf | Literal | Opaque

TRUE: Final = Literal(True)
FALSE: Final = Literal(False)
UNKNOWN: Final = Literal(None)


# ------------------------------------------------------------------------------------------- building and taking apart


def conjunction(nodes: Iterable[Node]) -> Node:
    """Returns the condition that all of these hold, without nesting and without superfluous constants."""
    return _connect(And, nodes, neutral=TRUE, deciding=FALSE)


def disjunction(nodes: Iterable[Node]) -> Node:
    """Returns the condition that any of these holds, without nesting and without superfluous constants."""
    return _connect(Or, nodes, neutral=FALSE, deciding=TRUE)


def _connect(kind: type[And | Or], nodes: Iterable[Node], *, neutral: Literal, deciding: Literal) -> Node:
    flat: list[Node] = []
    for node in nodes:
        parts = node.children if isinstance(node, kind) else (node,)
        if deciding in parts:
            return deciding
        flat.extend(part for part in parts if part != neutral)
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def negate(node: Node) -> Node:
    """Returns the condition that is true where this one is false, false where it is true, and unknown where it is.

    >>> from lakebed.format.predicate import to_text
    >>> to_text(negate(Or((Compare("id", "<", pa.scalar(5)), IsNull("id")))))
    'id >= 5 AND id IS NOT NULL'
    """
    match node:
        case And(children):
            return disjunction(map(negate, children))
        case Or(children):
            return conjunction(map(negate, children))
        case Literal(value):
            return Literal(None if value is None else not value)
        case Compare(column, "<=>", value):
            return Or((IsNull(column), Compare(column, "!=", value)))
        case IsNull(column, negated):
            return IsNull(column, not negated)
        case Opaque(expression, names, text, rebind):
            again = None if rebind is None else partial(_rebind_inverted, rebind)
            return Opaque(pc.invert(expression), names, f"NOT ({text})", again)
        case _:
            return opposite(node)


def opposite(node: Compare | In | Like) -> Compare | In | Like:
    """Returns the opposite for a value that is not null."""
    if isinstance(node, Compare):
        return replace(node, op=_OPPOSITE[node.op])
    return replace(node, negated=not node.negated)


def _rebind_inverted(rebind: Callable[[Mapping[str, str]], pc.Expression], mapping: Mapping[str, str]) -> pc.Expression:
    return pc.invert(rebind(mapping))


def columns(node: Node) -> frozenset[str]:
    """Returns the top-level columns that the condition reads."""
    match node:
        case And(children) | Or(children):
            return frozenset().union(*map(columns, children))
        case Literal():
            return frozenset()
        case Opaque():
            return node.columns
        case _:
            return frozenset((node.column,))


def conjuncts(node: Node) -> tuple[Node, ...]:
    """Returns the conditions that all must hold; none for TRUE."""
    return node.children if isinstance(node, And) else () if node == TRUE else (node,)


def split(node: Node, names: Collection[str]) -> tuple[Node, Node]:
    """Returns two conditions that must both hold: the part that only uses these columns, and the rest."""
    known = frozenset(names)
    inside = [part for part in conjuncts(node) if columns(part) <= known]
    rest = [part for part in conjuncts(node) if not columns(part) <= known]
    return conjunction(inside), conjunction(rest)


def implied(node: Node, names: Collection[str]) -> Node:
    """Returns the strongest condition on only these columns that follows from ``node``.

    >>> from lakebed.format.predicate import to_text
    >>> one = And((Compare("dt", "=", pa.scalar("a")), Compare("id", "=", pa.scalar(1))))
    >>> two = And((Compare("dt", "=", pa.scalar("b")), Compare("id", "=", pa.scalar(2))))
    >>> to_text(implied(Or((one, two)), ["dt"]))
    "dt = 'a' OR dt = 'b'"
    """
    match node:
        case And(children):
            return conjunction(implied(child, names) for child in children)
        case Or(children):
            return disjunction(implied(child, names) for child in children)
        case _:
            return node if columns(node) <= frozenset(names) else TRUE


def rename(node: Node, mapping: Mapping[str, str]) -> Node:
    """Returns the condition with renamed columns; names that are not in the mapping stay."""
    match node:
        case And(children):
            return And(tuple(rename(child, mapping) for child in children))
        case Or(children):
            return Or(tuple(rename(child, mapping) for child in children))
        case Literal():
            return node
        case Opaque():
            return _rename_opaque(node, mapping)
        case _:
            return replace(node, column=mapping.get(node.column, node.column))


def _rename_opaque(node: Opaque, mapping: Mapping[str, str]) -> Opaque:
    if all(mapping.get(name, name) == name for name in node.columns):
        return node
    if node.rebind is None:
        raise ExpressionError(f"the columns of {node.text!r} cannot be renamed; filter after renaming the rows instead")
    names = frozenset(mapping.get(name, name) for name in node.columns)
    return replace(node, expression=node.rebind(mapping), columns=names, rebind=None)


def key_candidates(node: Node, column: str) -> pa.Array | None:
    """Returns the only values that a column can have if the condition holds; ``None`` if any or too many are possible.

    They are used to find the buckets of keys, so 0.0 is returned with both its encodings, and NaN is not answered.
    """
    found = _candidates(node, column)
    if found is None or len(found) > MAX_CANDIDATES:
        return None
    if pa.types.is_floating(found.type):
        if pc.any(pc.is_nan(found)).as_py():
            return None
        found = with_both_zeros(found)
    return pc.unique(found)


def _candidates(node: Node, column: str) -> pa.Array | None:
    match node:
        case Compare(name, "=" | "<=>", value) if name == column:
            return pa.repeat(value, 1)
        case In(name, values, False) if name == column:
            return values
        case And(children):
            every = [found for child in children if (found := _candidates(child, column)) is not None]
            return min(every, key=len) if every else None
        case Or(children):
            parts = [_candidates(child, column) for child in children if child not in (FALSE, UNKNOWN)]
            some = [part for part in parts if part is not None]
            return pa.concat_arrays(some) if some and len(some) == len(parts) else None
        case _:
            return None


def with_both_zeros(values: pa.Array) -> pa.Array:
    """Returns the values with both zeros if they contain one: hashes differ between -0.0 and 0.0, SQL does not."""
    zero = pc.equal(values, pa.scalar(0, values.type))
    if not pc.any(zero).as_py():
        return values
    return pa.concat_arrays([values.filter(pc.invert(zero)), pa.array([0.0, -0.0], values.type)])
