"""Random histories of primary-key tables, each kind of table with a machine of its own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.effort import FULL, examples
from tests.state_machines.keyed_machine import MACHINES, KeyedTable


@pytest.mark.scales
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_keyed_table(machine: type[KeyedTable]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(6),
            stateful_step_count=10 if FULL else 6,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
