"""At the end of every random life of a chain table, Java Paimon shows the same days, wherever it defines the result.

Java does not know stale full partitions, and days without changes have no rows there. Groups with a stale partition are
left out of the comparison; all other days must be the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.chain.chain_life import ChainLife, PartialUpdateLife, Rows, VectorLife
from tests.interop.oracle import Oracle


def read_by(machine: type[ChainLife], java: Oracle, days: list[int]) -> type[ChainLife]:
    """The same machine, whose last step is to let Java read the table; notes how many days were compared."""

    class ReadByJava(machine):  # type: ignore[misc, valid-type]
        sequenced = True

        def teardown(self) -> None:
            found: dict[tuple[str, int], Rows] = {}
            for row in java.read(Path(self.folder), "db.t").to_pylist():
                found.setdefault((row["region"], int(row["date"][-2:])), {})[row["k"]] = row["v"]
            for region, chain in self.chains.items():
                if chain.usable != set(chain.full):
                    continue
                wanted = {day: chain.view(day) for day in sorted({*chain.full, *chain.delta})}
                shown = {day: rows for (name, day), rows in found.items() if name == region}
                assert shown == {day: rows for day, rows in wanted.items() if rows}, region
                days.append(len(wanted))
            super().teardown()

    return ReadByJava


@pytest.mark.parametrize("life", [ChainLife, VectorLife, PartialUpdateLife])
def test_java_shows_the_same_days(life: type[ChainLife], java: Oracle) -> None:
    days: list[int] = []
    run_state_machine_as_test(
        read_by(life, java, days),
        settings=settings(
            max_examples=8, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    assert sum(days) >= 10, "hardly anything was compared"
