"""Random lives of chain tables against a model (tests/chain/chain_life.py)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.chain.chain_life import ChainLife, PartialUpdateLife, VectorLife
from tests.effort import examples


@pytest.mark.scales
@pytest.mark.parametrize("life", [ChainLife, VectorLife, PartialUpdateLife])
def test_a_chain_table_shows_every_day_as_it_was_replayed(life: type[ChainLife]) -> None:
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=examples(20), stateful_step_count=16, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
