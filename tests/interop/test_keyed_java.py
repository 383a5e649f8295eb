"""Primary-key tables between lakebed, Java Paimon 2.0.0 and pypaimon: see ``keyed_cases`` and ``keyed_matrix``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.cases import comparable, expected
from tests.interop.keyed_cases import KEYED, Keyed
from tests.interop.keyed_matrix import ORDERS, Order, check_filters, play_keyed
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours


@pytest.mark.parametrize("order", ORDERS, ids=lambda o: o.name)
@pytest.mark.parametrize("case", KEYED, ids=lambda c: c.name)
def test_case(case: Keyed, order: Order, ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path) -> None:
    play_keyed(case, order, {"us": ours, "java": java}, ["us", "java"], tmp_path)
    able = [reader for reader in (java, pypaimon) if reader.name not in case.cannot]
    if pypaimon in able:
        assert comparable(pypaimon.read(tmp_path, TABLE), case.end_fields) == expected(case.end_fields, case.rows)
    if order in {ORDERS[0], ORDERS[-1]}:
        check_filters(case, [ours, *(r for r in able if f"{r.name} filters" not in case.cannot)], tmp_path)
