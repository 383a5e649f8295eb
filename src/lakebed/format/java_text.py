"""Values as the text that Java prints: in names of partitions, in system tables, and in columns cast to STRING.

Two texts exist for each type. The *cast* text is what Paimon's ``CAST(value AS STRING)`` returns: ``2024-01-02
03:04:05.678``. The *internal* text is what Java prints for the object that holds the value: a date is a number of days,
a time a number of milliseconds, a timestamp ``2024-01-02T03:04:05.678``. :func:`value_text` returns either for one
value; :func:`cast_to_text` casts a whole column.

Floating-point numbers are printed as Java 19 and later do. Earlier versions print a few numbers with more digits than
needed.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import UnsupportedError
from lakebed.format.types.data_types import STRING_ROOTS, TIMESTAMP_ROOTS, Atomic, DataType

_EPOCH = dt.date(1970, 1, 1)


def value_text(value: object, data_type: DataType, *, internal: bool = False) -> str:
    """Returns one value that is not null as text.

    >>> value_text(dt.date(2024, 1, 2), Atomic("DATE")), value_text(dt.date(2024, 1, 2), Atomic("DATE"), internal=True)
    ('2024-01-02', '19724')
    """
    root = data_type.root if isinstance(data_type, Atomic) else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if root in STRING_ROOTS:
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, float):
        return float_text(value, single=root == "FLOAT")
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if not isinstance(data_type, Atomic):
        return str(value)
    if root == "DATE" and isinstance(value, dt.date):
        return str((value - _EPOCH).days) if internal else value.isoformat()
    if root == "TIME" and isinstance(value, dt.time):
        return _time_text(value, internal=internal, precision=data_type.params[0])
    if root in TIMESTAMP_ROOTS and isinstance(value, dt.datetime):
        return _timestamp_text(value, internal=internal, precision=data_type.params[0])
    return str(value)


def float_text(value: float | np.floating, *, single: bool = False) -> str:
    """Returns a floating-point number as ``Double.toString`` does, or with ``single`` as ``Float.toString`` does.

    The text has the fewest digits that identify the number, but at least two: one before and one after the point.
    Numbers from 0.001 up to 10,000,000 have no exponent.

    >>> float_text(0.001), float_text(1e7), float_text(1e-5), float_text(5e-324), float_text(0.1, single=True)
    ('0.001', '1.0E7', '1.0E-5', '4.9E-324', '0.1')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    number: Any = np.float32(value) if single else np.float64(value)
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return np.format_float_positional(number, unique=True, trim="0")
    shortest = np.format_float_scientific(number, unique=True, trim="0")
    two_digits = f"{number:.1e}"  # where one digit identifies the number, Java prints the nearest one of two digits
    mantissa, exponent = (two_digits if type(number)(two_digits) == number else shortest).split("e")
    return f"{mantissa}E{int(exponent)}"


def _time_text(value: dt.time, *, internal: bool, precision: int) -> str:
    """Returns ``01:02:03``, and with a precision at least one digit of the fraction.

    The internal text is the number of milliseconds of the day.
    """
    millis = value.microsecond // 1000
    if internal:
        return str(((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + millis)
    clock = f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}"
    fraction = f"{millis:03d}"[:precision]
    return f"{clock}.{fraction.rstrip('0') or '0'}" if fraction else clock


def _timestamp_text(value: dt.datetime, *, internal: bool, precision: int) -> str:
    """Returns ``2024-01-02 03:04:05`` with ``precision`` digits or more.

    The internal text is ``2024-01-02T03:04``, without seconds and fraction if they are zero.
    """
    nanos = int(getattr(value, "nanosecond", 0)) + value.microsecond * 1000
    day, clock = value.date().isoformat(), f"{value.hour:02d}:{value.minute:02d}"
    if not internal:
        digits = f"{nanos:09d}"
        fraction = digits[:precision] + digits[precision:].rstrip("0")
        return f"{day} {clock}:{value.second:02d}" + (f".{fraction}" if fraction else "")
    if value.second == 0 and nanos == 0:
        return f"{day}T{clock}"
    count = 0 if nanos == 0 else 3 if nanos % 1_000_000 == 0 else 6 if nanos % 1000 == 0 else 9
    fraction = f"{nanos:09d}"[:count]
    return f"{day}T{clock}:{value.second:02d}" + (f".{fraction}" if fraction else "")


# ------------------------------------------------------------------------------------------------------ whole columns


def cast_to_text(array: pa.Array, old: Atomic) -> pa.Array:
    """Returns a column cast to STRING.

    Raises:
        UnsupportedError: The text depends on the time zone of the reader.
    """
    match old.root:
        case "DECIMAL":
            return _decimal_texts(array)
        case "TIME":
            return _time_texts(array, old.params[0])
        case "TIMESTAMP":
            return timestamp_texts(array, old.params[0])
        case "FLOAT" | "DOUBLE":
            return _float_texts(array)
        case "TIMESTAMP_LTZ":
            raise UnsupportedError(
                f"a column changed from {old} to STRING, whose text depends on the reader's time zone; "
                "read this table with Apache Paimon"
            )
        case _:
            return array.cast(pa.string())


def _decimal_texts(array: pa.Array) -> pa.Array:
    """Returns plain digits. The point is inserted here, because Arrow prints small decimals with an exponent."""
    precision, scale = array.type.precision, array.type.scale
    unscaled = pa.Array.from_buffers(
        pa.decimal128(precision, 0), len(array), array.buffers(), array.null_count, array.offset
    ).cast(pa.string())
    if not scale:
        return unscaled
    digits = pc.utf8_lpad(pc.utf8_ltrim(unscaled, "-"), scale + 1, "0")
    dotted = pc.binary_join_element_wise(
        pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale), "."
    )
    return pc.if_else(pc.starts_with(unscaled, "-"), pc.binary_join_element_wise("-", dotted, ""), dotted)


def _time_texts(array: pa.Array, precision: int) -> pa.Array:
    text = array.cast(pa.string())  # always with three digits
    if not precision:
        return pc.utf8_slice_codeunits(text, 0, 8)
    cut = pc.utf8_slice_codeunits(text, 0, 9 + min(precision, 3))
    return pc.replace_substring_regex(cut, r"(\.\d+?)0*$", r"\1")


def timestamp_texts(array: pa.Array, precision: int) -> pa.Array:
    """Returns timestamps without a zone as ``2024-01-02 03:04:05.678``, with ``precision`` digits or more."""
    text = array.cast(pa.string())  # always with the digits of the unit
    cut = pc.replace_substring_regex(text, rf"(\.\d{{{precision},}}?)0*$", r"\1")
    return cut if precision else pc.utf8_rtrim(cut, ".")


def _float_texts(array: pa.Array) -> pa.Array:
    """Returns the text of each number; each distinct bit pattern is printed once."""
    single = pa.types.is_float32(array.type)
    bits = array.view(pa.int32() if single else pa.int64()).dictionary_encode()
    values = np.asarray(bits.dictionary).view(np.float32 if single else np.float64)
    return pa.array([float_text(value, single=single) for value in values], pa.string()).take(bits.indices)
