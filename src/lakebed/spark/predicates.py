"""A condition of ours as a Spark column that is true for exactly the same rows, whatever the session's settings.

Values become literals of their column's own type, so that neither ANSI mode nor the session's time zone has a say. What
cannot be said that way (functions and expressions, which only our own kernels evaluate by their rules) has no column.
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


class _NoColumn(Exception):  # noqa: N818 - not an error: it means "leave it to the kernels"
    """A condition that Spark has no column for."""


def to_column(node: pred.Node) -> Column | None:
    """The condition as a Spark column over the table's columns, or ``None`` if there is none with the same meaning."""
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
    """A column by its name, whatever characters that has."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    return F.col(quoted(name))


def quoted(name: str) -> str:
    """A name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def _connected(nodes: Sequence[pred.Node], connect: Callable[[Any, Any], Any]) -> Column:
    """Connected as a balanced tree: Spark walks expressions recursively, and conditions may be thousands."""
    parts = [_column(node) for node in nodes]
    while len(parts) > 1:
        pairs = zip(parts[0::2], parts[1::2], strict=False)
        parts = [connect(*pair) for pair in pairs] + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


def _in(name: str, values: pa.Array) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    if not len(values):  # unknown for null, as any IN is
        return F.when(named(name).isNotNull(), F.lit(False))
    if pa.types.is_floating(values.type):  # a set of doubles would tell -0.0 from 0.0
        return _connected([pred.Compare(name, "=", value) for value in values], lambda left, right: left | right)
    return named(name).isin([_literal(value) for value in values])


def _literal(value: pa.Scalar) -> Column:
    """A value that is not null as a literal of its column's type."""
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
