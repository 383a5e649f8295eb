"""Primary-key tables between lakebed, Java Paimon 2.0.0 and pypaimon: see ``keyed_cases`` and ``keyed_matrix``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.keyed_cases import KEYED, KEYS, Keyed
from tests.interop.keyed_matrix import IN_TURN, ORDERS, WE_WRITE, Order, check_filters, check_rows, play_keyed
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours


@pytest.mark.parametrize("order", ORDERS, ids=lambda o: o.name)
@pytest.mark.parametrize("case", KEYED, ids=lambda c: c.name)
def test_case(case: Keyed, order: Order, ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path) -> None:
    play(case, order, ours, java, pypaimon, tmp_path)


@pytest.mark.parametrize("order", [WE_WRITE, IN_TURN], ids=lambda o: o.name)
@pytest.mark.parametrize("case", KEYS, ids=lambda c: c.name)
def test_key(case: Keyed, order: Order, ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path) -> None:
    play(case, order, ours, java, pypaimon, tmp_path)


def play(case: Keyed, order: Order, ours: Ours, java: Oracle, pypaimon: Oracle, warehouse: Path) -> None:
    play_keyed(case, order, {"us": ours, "java": java}, [ours, java], warehouse)
    able = [reader for reader in (java, pypaimon) if reader.name not in case.cannot]
    if pypaimon in able:
        check_rows(case, pypaimon, warehouse)
    if order is WE_WRITE:
        check_filters(case, [ours, *able], warehouse)
