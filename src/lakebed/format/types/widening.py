"""The types that a column may change to: those that can represent every value of the old type exactly.

Paimon's ALTER accepts more, such as BIGINT to DOUBLE or DECIMAL to FLOAT, which round values. With the changes allowed
here all engines read the same values. Nested types are not widened as a whole.
"""

from __future__ import annotations

from typing import Final

from lakebed.format.types.data_types import (
    BINARY_ROOTS,
    MAX_LENGTH,
    STRING_ROOTS,
    TIMESTAMP_ROOTS,
    Atomic,
    DataType,
    nullable,
)

_INTEGERS: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DIGITS: Final = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
# Integers that fit the mantissa of the floating-point type.
_FLOAT_FROM: Final = {"FLOAT": ("TINYINT", "SMALLINT"), "DOUBLE": ("TINYINT", "SMALLINT", "INT", "FLOAT")}
# Text of any other type depends on the reader: floats on the version of Java, bytes on a character set, zoned
# timestamps on the session's zone.
_AS_TEXT: Final = frozenset({"BOOLEAN", *_INTEGERS, "DECIMAL", "DATE", "TIME", "TIMESTAMP"})


def can_widen(old: DataType, new: DataType) -> bool:
    """Returns whether every value of ``old`` is a value of ``new``; nullability is ignored.

    >>> can_widen(Atomic("INT"), Atomic("BIGINT")), can_widen(Atomic("BIGINT"), Atomic("INT"))
    (True, False)
    """
    if nullable(old) == nullable(new):
        return True
    if not isinstance(old, Atomic) or not isinstance(new, Atomic):
        return False
    if new.root in STRING_ROOTS:
        return _widens_to_text(old, new)
    if new.root in BINARY_ROOTS:
        return old.root in BINARY_ROOTS and new.root != "BINARY" and _length(old) <= _length(new)
    if new.root in _INTEGERS:
        return old.root in _INTEGERS and _INTEGERS.index(old.root) <= _INTEGERS.index(new.root)
    if new.root in _FLOAT_FROM:
        return old.root in _FLOAT_FROM[new.root]
    if new.root == "DECIMAL":
        return _widens_to_decimal(old, new)
    if new.root in TIMESTAMP_ROOTS:
        return _widens_to_timestamp(old, new)
    return old.root == new.root == "TIME" and old.params <= new.params


def _widens_to_text(old: Atomic, new: Atomic) -> bool:
    if old.root in STRING_ROOTS:
        # A longer CHAR would add blanks to the values.
        return new.root != "CHAR" and _length(old) <= _length(new)
    return new.root == "STRING" and old.root in _AS_TEXT


def _widens_to_decimal(old: Atomic, new: Atomic) -> bool:
    precision, scale = new.params
    if old.root in _DIGITS:
        return precision - scale >= _DIGITS[old.root]
    if old.root != "DECIMAL":
        return False
    old_precision, old_scale = old.params
    return scale >= old_scale and precision - scale >= old_precision - old_scale


def _widens_to_timestamp(old: Atomic, new: Atomic) -> bool:
    (precision,) = new.params
    if old.root == "DATE":
        return new.root == "TIMESTAMP" and precision <= 6
    if old.root != new.root or old.params[0] > precision:
        return False
    # Nanoseconds cannot represent years before 1678 or after 2262, but coarser timestamps can.
    return precision <= 6 or old.params[0] > 6


def _length(data_type: Atomic) -> int:
    return data_type.params[0] if data_type.params else MAX_LENGTH
