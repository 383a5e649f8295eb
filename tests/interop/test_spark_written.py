"""Tables that our tasks on Spark write and compact are read alike by Java Paimon, pypaimon, this process and our reads
on Spark.

Java appends and writes in turn with them, so what it finds in our files it also builds on.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.interop.cases import CASES, Case, comparable, expected
from tests.interop.keyed_cases import KEYED, KEYS, Keyed
from tests.interop.keyed_matrix import Actor, Order, check_rows, play_keyed
from tests.interop.matrix import TABLE, play_case
from tests.interop.oracle import Oracle, Where
from tests.interop.ours import Ours
from tests.missing import missing

from lakebed.errors import LakebedError
from lakebed.spark.session import check_java, get_session

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def as_spark_takes_it(data: pa.Table) -> pa.Table:
    """Times of day in nanoseconds."""
    schema = pa.schema([f.with_type(pa.time64("ns")) if pa.types.is_time(f.type) else f for f in data.schema])
    return data.cast(schema)


class OnSpark(Ours):
    """Lakebed on Spark: frames in, files by tasks, frames out."""

    name = "lakebed on Spark"

    def __init__(self, spark: Any) -> None:
        super().__init__()
        self._spark = spark

    def write(
        self,
        warehouse: Path | str,
        table: str,
        data: pa.Table,
        overwrite: dict[str, str] | None = None,
        *,
        row_kind: str | None = None,
    ) -> None:
        # Two partitions, of which the second has the later rows.
        half = len(data) // 2
        parts = [data.take(pa.array(numbers, pa.int64())) for numbers in (range(half), range(half, len(data)))]
        frames = [self._spark.createDataFrame(as_spark_takes_it(part)).coalesce(1) for part in parts]
        target = self._table(warehouse, table)
        if overwrite is None:
            target.write(frames[0].union(frames[1]), row_kind=row_kind)
        else:
            target.overwrite(frames[0].union(frames[1]), partition=overwrite or None)

    def read(
        self,
        warehouse: Path | str,
        table: str,
        where: Where | None = None,
        columns: list[str] | None = None,
        options: dict[str, str] | None = None,
    ) -> pa.Table:
        assert not options
        scan = self._table(warehouse, table).scan(columns=columns, where=where.sql if where else None)
        return scan.to_spark(self._spark).toArrow()

    def compact(self, warehouse: Path | str, table: str, *, full: bool) -> None:
        self._table(warehouse, table).compact(full=full, spark=self._spark)


@pytest.fixture(scope="module")
def on_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnSpark]:
    try:
        check_java()
    except LakebedError as error:
        missing(f"tables written on Spark: {error}")
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",  # what Arrow's clock times become
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": os.environ.get("SPARK_LOG_LEVEL", "OFF"),
    }
    spark = get_session(options=settings)
    yield OnSpark(spark)
    spark.stop()


# -------------------------------------------------------------------------------------------------------------- append

FINER_THAN_SPARK = {"type TIMESTAMP(9)", "type TIMESTAMP(9) WITH LOCAL TIME ZONE"}


def every_type() -> Case:
    """The values of all cases of one type side by side, a column each."""
    chosen = [case for case in CASES if case.name.startswith("type ") and case.name not in FINER_THAN_SPARK]
    fields = [("id", "INT"), *((f"c{i}", case.fields[1][1]) for i, case in enumerate(chosen))]
    first, second = (
        [(start + n, *values) for n, values in enumerate(itertools.zip_longest(*columns))]
        for start, columns in (
            (0, [[row[1] for row in case.first] for case in chosen]),
            (1000, [[row[1] for row in case.second] for case in chosen]),
        )
    )
    return Case("every type", fields, first, second)


APPENDED = {"typed partitions", "odd column names", "fixed buckets by wide keys"}


@pytest.mark.parametrize("case", [every_type(), *(c for c in CASES if c.name in APPENDED)], ids=lambda c: c.name)
def test_append(case: Case, on_spark: OnSpark, ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path) -> None:
    play_case(case, on_spark, java, tmp_path)
    rows = [*case.first, *case.second, *case.first]
    readers: list[Actor] = [ours, *([] if "pypaimon" in case.cannot else [pypaimon])]
    for reader in readers:
        assert comparable(reader.read(tmp_path, TABLE), case.fields) == expected(case.fields, rows), reader.name
    on_spark.compact(tmp_path, TABLE, full=True)
    for reader in (*readers, java, on_spark):
        assert comparable(reader.read(tmp_path, TABLE), case.fields) == expected(case.fields, rows), reader.name


# --------------------------------------------------------------------------------------------------------------- keyed

UPSERTED = {
    "deduplicate in partitions",
    "changelog of the input",
    "rowkind.field",
    "deletion vectors in partitions",
    "partial-update with sequence groups",
    "aggregation of numbers with deletion vectors",
    "first-row",
    "partitions overwritten with deletion vectors",
    "key DECIMAL(25, 4)",
}
ALONE = Order("Spark writes and compacts", ("us",), ("us", "us full"))
IN_TURN = Order("Spark and java in turn", ("us", "java"), ("us full", "java"))
PLAYED: list[tuple[Keyed, Order]] = [(case, ALONE) for case in (*KEYED, *KEYS) if case.name in UPSERTED]
PLAYED += [(case, IN_TURN) for case in KEYED if case.name in {"deduplicate in partitions", "deletion vectors"}]


@pytest.mark.parametrize(("case", "order"), PLAYED, ids=lambda value: str(value.name))
def test_keyed(
    case: Keyed, order: Order, on_spark: OnSpark, ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path
) -> None:
    play_keyed(case, order, {"us": on_spark, "java": java}, [on_spark, java], tmp_path)
    check_rows(case, ours, tmp_path)
    if "pypaimon" not in case.cannot:
        check_rows(case, pypaimon, tmp_path)


def test_every_case_is_there() -> None:
    names = {case.name for case in CASES} | {case.name for case in (*KEYED, *KEYS)}
    assert names >= APPENDED | UPSERTED | FINER_THAN_SPARK
