"""``sum`` and ``product``, with the arithmetic of Paimon 2.0.

* Whole numbers are exact. A result outside of the column's type raises :class:`DataError`, also if a later value
  would bring it back into range.
* Floats are added and multiplied in the order of the rows, so that every digit is the same.
* Decimals are rounded half up to the column's scale. A result with too many digits becomes null, and the next value
  starts again. Sums of up to 18 digits are the exception: Paimon does not check them in between, so they may exceed
  the type temporarily. If the final sum does, it is a :class:`DataError`, because no reader could read it. A quotient
  without a finite decimal form is a DataError, too.

Retracting a value when there is none leaves its negative (``sum``) or nothing (``product``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataError
from lakebed.rows.merge_engines.key_history import TAKE, Bools, History, Ints, Steps, one_array

Array: TypeAlias = npt.NDArray[Any]
Limit: TypeAlias = Callable[[int], int | None]

_SAFE: Final = 0.999  # float estimates of a bound are off by far less


def total(history: History, column: pa.ChunkedArray, valid: Bools | None, *, where: str) -> pa.Array:
    """Return the sum per key of the added values, less the retracted ones; null if there are none."""
    steps, values = history.steps(valid), one_array(column)
    if pa.types.is_floating(values.type):
        floats = _numbers(values)[steps.rows]
        return _scattered(_float_totals(steps, np.where(steps.ops == TAKE, -floats, floats)), steps, values.type)
    if pa.types.is_decimal(values.type):
        return _decimal_totals(steps, values, where)
    return _integer_totals(steps, values, where)


def product(history: History, column: pa.ChunkedArray, valid: Bools | None, *, where: str) -> pa.Array:
    """Return the product per key; retracted values divide it."""
    steps, values = history.steps(valid), one_array(column)
    if pa.types.is_floating(values.type):
        floats = _numbers(values)[steps.rows]
        return _float_products(steps, floats, values.type)
    if pa.types.is_decimal(values.type):
        unit = 10**values.type.scale
        merge = _multiplying(
            _decimal_limit(values.type.precision),
            lambda held, value: _rounded_half_up(held * value, unit),
            lambda held, value: _exact_quotient(held, value, unit, where),
        )
        return _decimals(*_fold(steps, _as_python(*_words(values, steps.rows)), merge), values.type)
    merge = _multiplying(
        _integer_limit(values.type, where),
        lambda held, value: held * value,
        lambda held, value: _truncated_quotient(held, value, where),
    )
    results, empty = _fold(steps, _numbers(values)[steps.rows].astype(object), merge)
    return pa.array(results.astype(np.int64), mask=empty).cast(values.type)


# --------------------------------------------------------------------------------------------------- totals


def _float_totals(steps: Steps, signed: Array) -> Array:
    """Sum from left to right. Keys with about the same number of values become a matrix and are summed together."""
    runs = steps.runs
    sums = np.empty(len(runs.starts), signed.dtype)
    classes = np.ceil(np.log2(np.maximum(runs.lengths, 1))).astype(np.int64)
    for power in np.unique(classes):
        members = np.flatnonzero(classes == power)
        lengths = runs.lengths[members]
        at = np.minimum(runs.starts[members][:, None] + np.arange(int(lengths.max())), len(signed) - 1)
        with np.errstate(all="ignore"):
            sums[members] = np.add.accumulate(signed[at], axis=1)[np.arange(len(members)), lengths - 1]
    return sums


def _integer_totals(steps: Steps, values: pa.Array, where: str) -> pa.Array:
    numbers = _numbers(values)[steps.rows].astype(np.int64)
    signed = np.where(steps.ops == TAKE, -numbers, numbers)
    sums = np.zeros(len(steps.runs.starts), np.int64)
    if len(sums):
        sums = np.add.reduceat(signed, steps.runs.starts)
        reach = np.add.reduceat(np.abs(numbers.astype(np.float64)), steps.runs.starts)
        unsure = reach > _SAFE * (2 ** (values.type.bit_width - 1) - 1)
        if unsure.any():
            doubtful = steps.where(unsure[steps.runs.of_item])
            merge = _adding(_integer_limit(values.type, where))
            exact, _ = _fold(doubtful, _numbers(values)[doubtful.rows].astype(object), merge)
            sums[unsure] = exact[doubtful.runs.ids].astype(np.int64)
    return _scattered(sums, steps, pa.int64()).cast(values.type)


def _decimal_totals(steps: Steps, values: pa.Array, where: str) -> pa.Array:
    precision = values.type.precision
    low, high = _words(values, steps.rows)
    if not len(low):
        return pa.nulls(steps.key_count, values.type)
    reach = np.add.reduceat(np.abs(high.astype(np.float64) * 2.0**64 + low.astype(np.float64)), steps.runs.starts)
    # Up to 18 digits Paimon checks no intermediate result; beyond, each one may become null.
    if precision > 18 and (reach > _SAFE * 10.0**precision).any():
        merge = _adding(_decimal_limit(precision))
        return _decimals(*_fold(steps, _as_python(low, high), merge), values.type)
    sums = _limb_totals(steps, low, high)
    if (reach > _SAFE * 10.0**precision).any():
        exact = _as_python(sums[:, 0], sums[:, 1].astype(np.int64))
        if (np.abs(exact) >= 10**precision).any():
            _overflow(values.type, where)
    empty = np.ones(steps.key_count, np.bool_)
    words = np.zeros((steps.key_count, 2), np.uint64)
    empty[steps.runs.ids], words[steps.runs.ids] = False, sums
    return _decimal_array(words, empty, values.type)


def _limb_totals(steps: Steps, low: Array, high: Ints) -> Array:
    """Sum 128-bit numbers: four limbs of 32 bits are summed separately, then the carries are propagated."""
    mask = np.int64(0xFFFFFFFF)
    sign = np.where(steps.ops == TAKE, -1, 1).astype(np.int64)
    low_limbs = ((low & np.uint64(mask)).astype(np.int64), (low >> np.uint64(32)).astype(np.int64))
    carry = np.zeros(len(steps.runs.starts), np.int64)
    limbs = []
    for limb in (*low_limbs, high & mask, high >> 32):
        carry = np.add.reduceat(limb * sign, steps.runs.starts) + carry
        limbs.append((carry & mask).astype(np.uint64))
        carry >>= 32
    shift = np.uint64(32)
    return np.stack([limbs[0] | (limbs[1] << shift), limbs[2] | (limbs[3] << shift)], axis=1)


def _float_products(steps: Steps, floats: Array, kind: pa.DataType) -> pa.Array:
    held = np.ones(len(steps.runs.starts), floats.dtype)
    full = np.zeros(len(held), np.bool_)
    with np.errstate(all="ignore"):
        for run, item in steps.runs.passes():
            value, takes = floats[item], steps.ops[item] == TAKE
            merged = np.where(takes, held[run] / value, np.where(full[run], held[run] * value, value))
            held[run] = np.where(takes & ~full[run], held[run], merged)
            full[run] |= ~takes
    result = np.zeros(steps.key_count, floats.dtype)
    empty = np.ones(steps.key_count, np.bool_)
    result[steps.runs.ids], empty[steps.runs.ids] = held, ~full
    return pa.array(result, kind, mask=empty)


# ------------------------------------------------------------------------------------- one step after the other


def _fold(steps: Steps, values: Array, merge: Callable[[Any, Any, Any], Any]) -> tuple[Array, Bools]:
    """Fold values with Python's unbounded integers, all keys in step; return the values and which keys have none.

    ``merge`` takes the current value (None: none yet), the next value, and whether it is retracted, and returns the
    new value. Used only where no closed form exists: products, and sums that may exceed their type in between.
    """
    held = np.full(steps.key_count, None, object)
    merge_all, takes = np.frompyfunc(merge, 3, 1), steps.ops == TAKE
    for _, item in steps.runs.passes():
        key = steps.keys[item]
        held[key] = merge_all(held[key], values[item], takes[item])
    empty = np.frompyfunc(lambda value: value is None, 1, 1)(held).astype(np.bool_)
    held[empty] = 0
    return held, empty


def _adding(limit: Limit) -> Callable[[int | None, int, bool], int | None]:
    def merge(held: int | None, value: int, takes: bool) -> int | None:
        return limit((held or 0) + (-value if takes else value))

    return merge


def _multiplying(
    limit: Limit, times: Callable[[int, int], int], by: Callable[[int, int], int]
) -> Callable[[int | None, int, bool], int | None]:
    def merge(held: int | None, value: int, takes: bool) -> int | None:
        if held is None:
            return None if takes else value
        return limit(by(held, value) if takes else times(held, value))

    return merge


def _integer_limit(kind: pa.DataType, where: str) -> Limit:
    top = 2 ** (kind.bit_width - 1)

    def check(value: int) -> int:
        if not -top <= value < top:
            _overflow(kind, where)
        return value

    return check


def _decimal_limit(precision: int) -> Limit:
    """A result with too many digits becomes null."""
    top = 10**precision
    return lambda value: value if -top < value < top else None


def _overflow(kind: object, where: str) -> NoReturn:
    raise DataError(f"{where}: the merged value does not fit {kind}; use a wider type for the column")


def _rounded_half_up(value: int, unit: int) -> int:
    rounded = (abs(value) * 2 + unit) // (2 * unit)
    return rounded if value >= 0 else -rounded


def _truncated_quotient(held: int, value: int, where: str) -> int:
    if value == 0:
        raise DataError(f"{where}: a product cannot retract a factor of 0; set 'ignore-retract' for the column")
    quotient = abs(held) // abs(value)
    return quotient if (held < 0) == (value < 0) else -quotient


def _exact_quotient(held: int, value: int, unit: int, where: str) -> int:
    if value == 0:
        return _truncated_quotient(held, value, where)
    denominator = abs(value) // math.gcd(held, value)
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        raise DataError(
            f"{where}: a product cannot retract a factor if the quotient has no finite decimal form; "
            "set 'ignore-retract' for the column"
        )
    rounded = _rounded_half_up(abs(held) * unit, abs(value))
    return rounded if (held < 0) == (value < 0) else -rounded


# -------------------------------------------------------------------------------------------- in and out of Arrow


def _numbers(values: pa.Array) -> Array:
    """The values as numpy numbers of their own type, 0 at nulls."""
    return np.asarray(pc.fill_null(values, 0))


def _scattered(results: Array, steps: Steps, kind: pa.DataType) -> pa.Array:
    """Results of the keys that have steps, null for the others."""
    out = np.zeros(steps.key_count, results.dtype)
    empty = np.ones(steps.key_count, np.bool_)
    out[steps.runs.ids], empty[steps.runs.ids] = results, False
    return pa.array(out, kind, mask=empty)


def _words(values: pa.Array, rows: Ints) -> tuple[Array, Ints]:
    """The low (unsigned) and high (signed) 64 bits of decimals."""
    data = np.frombuffer(values.buffers()[1], np.uint64)[2 * values.offset : 2 * (values.offset + len(values))]
    words = data.reshape(-1, 2)[rows]
    return words[:, 0], words[:, 1].astype(np.int64)


def _as_python(low: Array, high: Ints) -> Array:
    numbers: Array = (high.astype(object) << 64) + low.astype(object)
    return numbers


def _decimals(results: Array, empty: Bools, kind: pa.DataType) -> pa.Array:
    mask = 2**64 - 1
    words = np.stack([(results & mask).astype(np.uint64), ((results >> 64) & mask).astype(np.uint64)], axis=1)
    return _decimal_array(words, empty, kind)


def _decimal_array(words: Array, empty: Bools, kind: pa.DataType) -> pa.Array:
    validity = pa.array(~empty).buffers()[1]
    return pa.Array.from_buffers(kind, len(words), [validity, pa.py_buffer(np.ascontiguousarray(words))])
