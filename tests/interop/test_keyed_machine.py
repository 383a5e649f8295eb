"""At the end of every random history of a primary-key table, Java Paimon and pypaimon read the rows of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.interop.oracle import Oracle
from tests.state_machines.keyed_machine import MACHINES, KeyedTable


def read_by(machine: type[KeyedTable], readers: list[Oracle]) -> type[KeyedTable]:
    """The same machine, whose last step is to let others read the table."""

    class ReadByOthers(machine):  # type: ignore[misc, valid-type]
        def teardown(self) -> None:
            if self.table.latest_snapshot() is not None:
                for reader in readers:
                    rows = reader.read(Path(self.folder), "db.t").to_pylist()
                    found = sorted(repr([row[name] for name in self.names]) for row in rows)
                    assert found == self.shown(), reader.name
            super().teardown()

    return ReadByOthers


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_others_read_the_model(machine: Any, java: Oracle, pypaimon: Oracle) -> None:
    run_state_machine_as_test(
        read_by(machine, [java, pypaimon]),
        settings=settings(
            max_examples=4, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
