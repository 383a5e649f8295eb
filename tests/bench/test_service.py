"""The benchmark of the service: a small run measures every kind of question."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.service import make_tables, questions, run, serving


@pytest.mark.long
def test_a_small_run(tmp_path: Path) -> None:
    make_tables(tmp_path, [300])
    asked = questions([300])
    with serving(tmp_path) as place:
        table = run(place, asked, connections=2, seconds=1.5)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert {line[0] for line in lines} <= {what for what, _ in asked} | {"all together"}
    answers = [int(line[1].replace(",", "")) for line in lines]
    assert sum(answers[:-1]) == answers[-1] > 0
    for line in lines:
        p50, p99, slowest = map(float, line[3:])
        assert 0 < p50 <= p99 <= slowest
