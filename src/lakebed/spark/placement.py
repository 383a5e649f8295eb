"""Which task gets a row: one and the same for all rows of a partition and bucket, decided inside of Spark.

The bucket of a row is computed with Spark's own expressions where its key is whole numbers, dates or booleans, which costs
next to nothing; other keys go through a Python function. Where a value does not fit its column, any bucket will do: the task
that gets the row refuses it. A wrong place would cost a file, never a row, as tasks look at the bucket again.

Tasks are told apart by a number that Spark's own hash sends to the wanted shuffle partition, because then adaptive execution
joins those that turn out small: a few rows make one task, however many buckets the table has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from lakebed.buckets.fixed import bucket_of_rows
from lakebed.errors import LakebedError
from lakebed.format.schema import TableSchema
from lakebed.format.types import Atomic, Field
from lakebed.options import TableOptions
from lakebed.rows.conform import conform
from lakebed.spark.session import ensure_shipped, without_pandas_note

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Bits of a whole number that a row holds of it.
_WIDTHS: Final = {"BOOLEAN": 8, "TINYINT": 8, "SMALLINT": 16, "INT": 32, "DATE": 32, "BIGINT": 64}
_SPARK_NUMBERS: Final = frozenset({"boolean", "tinyint", "smallint", "int", "bigint", "date"})
_MASK: Final = 2**32 - 1
_SEED: Final = 42
_BUCKET: Final = "__lakebed_bucket"


def to_owners(frame: DataFrame, schema: TableSchema, partitions: int, order: str | None = None) -> DataFrame:
    """The same rows, shuffled so that every partition and bucket is in one task; ``partitions`` is how many Spark makes.

    ``order`` names a column to be added, whose numbers ascend with the rows as they are in the frame.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    columns = frame.columns
    frame = _with_bucket(frame, schema)
    bucket = F.col(_BUCKET).cast("bigint")
    if order is not None:
        # One column for both, as every byte of a row is shuffled: the bucket in the lowest bits changes no order.
        bits = TableOptions(schema.options).bucket.bit_length()
        both = F.shiftleft(F.monotonically_increasing_id(), bits).bitwiseOR(bucket)
        frame = frame.select(*[F.col(_quoted(name)) for name in columns], both.alias(order))
        bucket = F.col(order).bitwiseAND(F.lit((1 << bits) - 1))
    place = bucket
    given = [F.col(_quoted(name)) for name in schema.partition_keys if name in columns]
    if given:
        place += F.hash(*given)
    numbers = F.array(*[F.lit(number) for number in _numbers_of(partitions)])
    placed = frame.repartition(F.element_at(numbers, (F.pmod(place, F.lit(partitions)) + 1).cast("int")))
    return placed if order is not None else placed.drop(_BUCKET)


def _quoted(name: str) -> str:
    """A column's name as Spark's functions take it, dots and all."""
    return "`" + name.replace("`", "``") + "`"


def _numbers_of(partitions: int) -> list[int]:
    """For each shuffle partition, a number that Spark's hash sends there."""
    numbers: dict[int, int] = {}
    candidate = 0
    while len(numbers) < partitions:
        hashed = _signed(_final(_mixed(_SEED, candidate), 4))
        numbers.setdefault(hashed % partitions, candidate)
        candidate += 1
    return [numbers[place] for place in range(partitions)]


# ------------------------------------------------------------------------------------------------ murmur3, in Python


def _mixed(state: int, word: int) -> int:
    word = word * 0xCC9E2D51 & _MASK
    word = (word << 15 | word >> 17) & _MASK
    state ^= word * 0x1B873593 & _MASK
    state = (state << 13 | state >> 19) & _MASK
    return (state * 5 + 0xE6546B64) & _MASK


def _final(state: int, length: int) -> int:
    state ^= length
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    return state ^ state >> 16


def _signed(value: int) -> int:
    return value - 2**32 if value >= 2**31 else value


# ---------------------------------------------------------------------------------------------- and as expressions


def _with_bucket(frame: DataFrame, schema: TableSchema) -> DataFrame:
    """The frame with the bucket of each row; a column more."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    options = TableOptions(schema.options)
    keys = schema.select(schema.bucket_keys)
    given = dict(frame.dtypes)
    plain = all(_is_number(key) and given.get(key.name) in _SPARK_NUMBERS for key in keys)
    if not plain or options.bucket_function == "hive":
        return frame.withColumn(_BUCKET, _bucket_in_python(frame, schema))
    values = [_as_long(F.col(_quoted(key.name)), given[key.name]) for key in keys]
    total = F.lit(options.bucket).cast("bigint")
    if options.bucket_function == "mod":
        return frame.withColumn(_BUCKET, F.pmod(F.coalesce(values[0], F.lit(0)), total))
    # A column a step: an expression that names its operand twice would double with every step.
    state = F.col(_BUCKET)
    frame = frame.withColumn(_BUCKET, _mixed_words(values, [_width(key) for key in keys]))
    frame = frame.withColumn(_BUCKET, _times(_shifted(state, 16), 0x85EBCA6B))
    frame = frame.withColumn(_BUCKET, _times(_shifted(state, 13), 0xC2B2AE35))
    frame = frame.withColumn(_BUCKET, _shifted(state, 16))
    return frame.withColumn(_BUCKET, F.abs(((state + F.lit(2**31)) % F.lit(2**32) - F.lit(2**31)) % total))


def _is_number(key: Field) -> bool:
    return isinstance(key.type, Atomic) and key.type.root in _WIDTHS


def _width(key: Field) -> int:
    return _WIDTHS[key.type.root] if isinstance(key.type, Atomic) else 0


def _as_long(column: Column, kind: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    return (F.unix_date(column) if kind == "date" else column).cast("bigint")


def _mixed_words(values: Sequence[Column], widths: Sequence[int]) -> Column:
    """The hash of a row of whole numbers up to its last steps: 8 bytes that tell the nulls, then 8 bytes a number."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    zero = F.lit(0).cast("bigint")
    nulls = [F.when(value.isNull(), F.lit(1 << 8 + i)).otherwise(zero) for i, value in enumerate(values)]
    words = [reduce(lambda a, b: a + b, nulls), zero]
    for value, width in zip(values, widths, strict=True):
        known = F.coalesce(value, zero)
        words.append(known.bitwiseAND(F.lit((1 << min(width, 32)) - 1)))
        words.append(F.shiftrightunsigned(known, 32) if width == 64 else zero)
    state = F.lit(_SEED).cast("bigint")
    for word in words:
        state = _mix(state, word)
    return state.bitwiseXOR(F.lit(8 * len(values) + 8))


def _mix(state: Column, word: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    word = _times(_rotated(_times(word, 0xCC9E2D51), 15), 0x1B873593)
    state = _rotated(state.bitwiseXOR(word), 13)
    return (state * F.lit(5) + F.lit(0xE6546B64)).bitwiseAND(F.lit(_MASK))


def _times(value: Column, factor: int) -> Column:
    """A product modulo 2^32; a large factor is taken as a negative one, so that 64 bits never overflow."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    if factor < 2**31:
        return (value * F.lit(factor)).bitwiseAND(F.lit(_MASK))
    return (-(value * F.lit(2**32 - factor))).bitwiseAND(F.lit(_MASK))


def _rotated(value: Column, bits: int) -> Column:
    """A rotation of 32 bits is a product modulo 2^32 - 1, which names its operand once; the ones keep 2^32 - 1 apart from 0."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    return (F.shiftleft(value, bits) - F.lit(1)) % F.lit(_MASK) + F.lit(1)


def _shifted(value: Column, bits: int) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    return value.bitwiseXOR(F.shiftrightunsigned(value, bits))


# ------------------------------------------------------------------------------------------------- other keys


def _bucket_in_python(frame: DataFrame, schema: TableSchema) -> Column:
    """The bucket by the function that writers use, in Python workers; only the key columns go there."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional
    from pyspark.sql.functions import arrow_udf  # noqa: PLC0415 - Spark is optional

    keys = schema.select(schema.bucket_keys)
    options = TableOptions(schema.options)
    total, function = options.bucket, options.bucket_function
    names = [key.name for key in keys if key.name in frame.columns]
    if not names:  # all have the same key, by default
        return F.lit(0)

    def bucket(*columns: pa.Array) -> pa.Array:
        return pa.array(buckets_of(pa.table(list(columns), names), keys, total, function), pa.int32())

    ensure_shipped(frame.sparkSession)
    with without_pandas_note():
        # Spark reads off the annotations what a function takes; this one takes any columns.
        bucket.__annotations__ = {"columns": pa.Array, "return": pa.Array}
        return arrow_udf(bucket, "int")(*[_quoted(name) for name in names])


def buckets_of(
    table: pa.Table, keys: Sequence[Field], total: int, function: str
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The bucket of each row; 0 for rows that the writer is going to refuse."""
    try:
        fitting = conform(table, keys, where="the table")
        return bucket_of_rows(fitting.columns, [key.type for key in keys], total, function)
    except LakebedError:
        return np.zeros(len(table), np.int32)
