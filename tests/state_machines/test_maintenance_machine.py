"""Random histories of every operation on branches, tags, snapshots and rows.

``LAKEBED_HISTORIES=20`` (as ``make soak`` has it) tries twenty times as many histories.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.effort import FULL, examples
from tests.state_machines.maintenance_machine import KeyedMaintenance, Maintenance, VectorMaintenance

ROUNDS = int(os.environ.get("LAKEBED_HISTORIES", "1"))


@pytest.mark.scales
@pytest.mark.parametrize("machine", [Maintenance, KeyedMaintenance, VectorMaintenance])
def test_all_operations_against_the_model(machine: type[Maintenance]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(10 * ROUNDS),
            stateful_step_count=30 if FULL else 15,
            deadline=None,
            derandomize=ROUNDS == 1,  # the same histories every time; `make soak` makes others
            suppress_health_check=list(HealthCheck),
        ),
    )
