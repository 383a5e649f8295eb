"""Every SQL file of ``cases`` gives what it says."""

from __future__ import annotations

import pytest
from tests.sql.cases import Case, read_cases, run_case

from lakebed import Lake


@pytest.mark.parametrize("case", list(read_cases()), ids=lambda case: case.name)
def test_sql_file(case: Case, lake: Lake, db: str) -> None:
    lake.sql(f"USE {db}")
    run_case(case, lake.sql)
