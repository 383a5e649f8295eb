"""Random full and delta writes over days and groups: every day's view equals a replay of the changes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.chain.chain_tables import ChainFixture
from tests.effort import examples
from tests.places import stored_path

DAYS = ("20250129", "20250130", "20250131", "20250201", "20250202")
REGIONS = ("eu", "us")
KEYS = range(6)

row = st.tuples(st.sampled_from(KEYS), st.sampled_from("abc"), st.integers(0, 3))
delta_write = st.tuples(
    st.just("delta"),
    st.sampled_from(REGIONS),
    st.sampled_from(DAYS),
    st.lists(st.tuples(row, st.sampled_from(["+I", "+U", "-D"])), min_size=1, max_size=4, unique_by=lambda r: r[0][0]),
)
full_write = st.tuples(
    st.just("full"),
    st.sampled_from(REGIONS),
    st.sampled_from(DAYS),
    st.lists(row, min_size=1, max_size=4, unique_by=lambda r: r[0]),
)
compaction = st.tuples(st.just("compact"), st.sampled_from(REGIONS), st.sampled_from(DAYS), st.builds(list[Any]))

Record = tuple[int, str, int, str]
"""Key, value, sequence, kind."""


class Model:
    """What was written to each branch, in order, by region and day."""

    def __init__(self, *, by_sequence: bool) -> None:
        self.by_sequence = by_sequence
        self.full: dict[tuple[str, str], list[Record]] = {}
        self.delta: dict[tuple[str, str], list[Record]] = {}

    def merged(self, records: list[Record]) -> dict[int, Record]:
        state: dict[int, Record] = {}
        for record in records:
            known = state.get(record[0])
            if known is None or not self.by_sequence or record[2] >= known[2]:
                state[record[0]] = record
        return {key: record for key, record in state.items() if record[3] != "-D"}

    def view(self, region: str, day: str, *, named: bool) -> list[tuple[Any, ...]]:
        if (region, day) in self.full:
            found = self.merged(self.full[region, day])
        elif (region, day) in self.delta or named:
            anchor = max((d for r, d in self.full if r == region and d < day), default="")
            records = list(self.full.get((region, anchor), []))
            for r, d in sorted(self.delta):
                if r == region and anchor < d <= day:
                    records += self.delta[r, d]
            found = self.merged(records)
        else:
            found = {}
        return sorted((key, record[1], record[2], region, day) for key, record in found.items())


def chain_of(root: Path, options: dict[str, str]) -> ChainFixture:
    return ChainFixture(
        root,
        "k INT, v STRING, s INT, region STRING, dt STRING",
        partition_by=("region", "dt"),
        options={"chain-table.chain-partition-keys": "dt", **options},
    )


def apply(chain: ChainFixture, model: Model, step: tuple[str, str, str, list[Any]]) -> None:
    kind, region, dt, rows = step
    if kind == "compact":
        chain.delta.compact(full=True, where=f"region = '{region}' AND dt = '{dt}'")
        chain.full.compact(full=True)
        return
    place = {"region": region, "dt": dt}
    if kind == "full":
        chain.full.write([{"k": k, "v": v, "s": s, **place} for k, v, s in rows])
        model.full.setdefault((region, dt), []).extend((k, v, s, "+I") for k, v, s in rows)
        return
    chain.delta.write([{"k": k, "v": v, "s": s, "op": op, **place} for (k, v, s), op in rows], row_kind="op")
    model.delta.setdefault((region, dt), []).extend((k, v, s, op) for (k, v, s), op in rows)


@pytest.mark.parametrize(
    "options",
    [{}, {"sequence.field": "s"}, {"sequence.field": "s", "deletion-vectors.enabled": "true", "bucket": "1"}],
    ids=["plain", "sequence", "vectors"],
)
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(st.one_of(delta_write, delta_write, full_write, compaction), min_size=1, max_size=7))
def test_every_view_is_a_replay(options: dict[str, str], steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        chain = chain_of(stored_path(folder), options)
        model = Model(by_sequence="sequence.field" in options)
        for step in steps:
            apply(chain, model, step)
        listed = chain.rows()
        expected = [one for region in REGIONS for dt in DAYS for one in model.view(region, dt, named=False)]
        assert sorted(listed) == sorted(expected)
        for dt in DAYS:
            named = [one for region in REGIONS for one in model.view(region, dt, named=True)]
            assert sorted(chain.rows(f"dt = '{dt}'")) == sorted(named)
            assert chain.main.scan(where=f"dt = '{dt}' AND v > 'a'").count() == sum(one[1] > "a" for one in named)
