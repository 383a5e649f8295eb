"""Every SQL file of ``cases`` gives what it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.sql.cases import Case, read_cases, run_case

from lakebed import Lake

USUAL = "-append"
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""What Spark does for many rows costs more than the rest of a query over a few: only one kind of each file has it."""


@contextmanager
def quick(spark: Any, *, wanted: bool) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in QUICK}
    try:
        for name, value in QUICK.items() if wanted else ():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.mark.parametrize("case", list(read_cases()), ids=lambda case: case.name)
def test_sql_file(case: Case, spark: Any, lake: Lake, db: str) -> None:
    lake.sql(f"USE {db}")
    with quick(spark, wanted=not case.name.endswith(USUAL)):
        run_case(case, lake.sql, spark.version)
