"""Converts a condition to a Spark column that is true for exactly the same rows, whatever the settings of the session.

Values become literals of the type of their column, so that neither ANSI mode nor the time zone of the session matters.
Functions and expressions are not converted: Lakebed's readers evaluate them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format import predicate as pred

if TYPE_CHECKING:
    from pyspark.sql import Column

_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<=>": lambda column, value: column.eqNullSafe(value),
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
}
_TYPE_NAMES: Final = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.binary(): "binary",
}


class _NoColumn(Exception):  # noqa: N818 - not an error: Lakebed's readers evaluate it
    """The condition has no equivalent Spark column."""


def to_column(node: pred.Node) -> Column | None:
    """Returns the condition as a Spark column over the table's columns, ``None`` if there is no equivalent one."""
    try:
        return _column(node)
    except _NoColumn:
        return None


def _column(node: pred.Node) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    match node:
        case pred.And(children):
            return _connected(children, lambda left, right: left & right)
        case pred.Or(children):
            return _connected(children, lambda left, right: left | right)
        case pred.Literal(value):
            return F.lit(value).cast("boolean")
        case pred.IsNull(name, negated):
            return named(name).isNotNull() if negated else named(name).isNull()
        case pred.Compare(name, op, value):
            return _OPERATORS[op](named(name), _literal(value))
        case pred.In(name, values, negated):
            found = _in(name, values)
            return ~found if negated else found
        case pred.Like(name, pattern, negated):
            found = named(name).like(pattern)
            return ~found if negated else found
        case pred.Opaque():
            raise _NoColumn


def named(name: str) -> Column:
    """Returns a column by its name, which may contain any characters."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    return F.col(quoted(name))


def quoted(name: str) -> str:
    """Returns a name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def _connected(nodes: Sequence[pred.Node], connect: Callable[[Any, Any], Any]) -> Column:
    """Connects conditions as a balanced tree: Spark recurses over expressions, and there may be thousands."""
    parts = [_column(node) for node in nodes]
    while len(parts) > 1:
        pairs = zip(parts[0::2], parts[1::2], strict=False)
        parts = [connect(*pair) for pair in pairs] + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


def _in(name: str, values: pa.Array) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    if not len(values):  # null for null, like any IN
        return F.when(named(name).isNotNull(), F.lit(False))
    if pa.types.is_floating(values.type):  # a set of doubles would distinguish -0.0 from 0.0
        return _connected([pred.Compare(name, "=", value) for value in values], lambda left, right: left | right)
    return named(name).isin([_literal(value) for value in values])


def _literal(value: pa.Scalar) -> Column:
    """Returns a non-null value as a literal of its column's type."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    kind = value.type
    if pa.types.is_timestamp(kind):
        micros = partial(value.cast, pa.timestamp("us", kind.tz))
        if kind.unit == "ns":
            raise _NoColumn  # Spark's timestamps are coarser than the value
        if kind.tz is not None:
            return F.timestamp_micros(F.lit(micros().cast(pa.int64()).as_py()).cast("bigint"))
        return F.lit(pc.cast(micros(), pa.string()).as_py()).cast("timestamp_ntz")
    if pa.types.is_date32(kind):
        return F.date_from_unix_date(F.lit(value.cast(pa.int32()).as_py()))
    if pa.types.is_decimal(kind):
        return F.lit(value.as_py()).cast(f"decimal({kind.precision},{kind.scale})")
    if kind not in _TYPE_NAMES:
        raise _NoColumn
    plain = value.as_py()
    return F.lit(bytearray(plain) if isinstance(plain, bytes) else plain).cast(_TYPE_NAMES[kind])
