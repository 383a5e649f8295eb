"""A condition as text: Spark SQL that :func:`lakebed.rows.where.parse_where` reads back with the same meaning."""

from __future__ import annotations

import datetime as dt
import math
import re

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.predicate.nodes import And, Compare, In, IsNull, Like, Literal, Node, Opaque, Or


def to_text(node: Node) -> str:
    """Returns the condition as Spark SQL, for people; timestamps with a zone are in UTC."""
    match node:
        case And(children):
            return " AND ".join(
                f"({to_text(child)})" if isinstance(child, Or) else to_text(child) for child in children
            )
        case Or(children):
            return " OR ".join(map(to_text, children))
        case Literal(value):
            return "NULL" if value is None else str(value).upper()
        case Opaque(_, _, text):
            return text
        case Compare(column, op, value):
            return f"{name_text(column)} {op} {value_text(value)}"
        case In(column, values, negated):
            listed = ", ".join(map(value_text, values))
            return f"{name_text(column)} {'NOT ' if negated else ''}IN ({listed})"
        case IsNull(column, negated):
            return f"{name_text(column)} IS {'NOT ' if negated else ''}NULL"
        case Like(column, pattern, negated):
            return f"{name_text(column)} {'NOT ' if negated else ''}LIKE {_string_text(pattern)}"


def name_text(name: str) -> str:
    """Returns the name of a column as it is written in SQL."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


def _string_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def value_text(value: pa.Scalar) -> str:
    """Returns a value that is not null as a Spark SQL literal.

    >>> value_text(pa.scalar(dt.date(2024, 1, 31)))
    "DATE '2024-01-31'"
    """
    kind = value.type
    if pa.types.is_timestamp(kind):
        naive = pc.cast(value.cast(pa.timestamp(kind.unit)), pa.string()).as_py()
        if kind.unit == "ns":  # Spark's typed literals end at microseconds; a string takes the column's type
            return f"'{naive}'"
        return f"TIMESTAMP{'' if kind.tz else '_NTZ'} '{naive}'"
    plain = value.as_py()
    if isinstance(plain, bool):
        return str(plain).upper()
    if isinstance(plain, str):
        return _string_text(plain)
    if isinstance(plain, bytes):
        return f"X'{plain.hex().upper()}'"
    if isinstance(plain, float):
        return f"{plain!r}D" if math.isfinite(plain) else f"CAST('{plain}' AS DOUBLE)"
    if isinstance(plain, dt.date):
        return f"DATE '{plain.isoformat()}'"
    if isinstance(plain, dt.time):
        return f"TIME '{plain.isoformat()}'"
    return f"{plain:f}" if pa.types.is_decimal(kind) else str(plain)
