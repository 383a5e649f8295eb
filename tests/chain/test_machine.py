"""Random lives of a chain table against a model that replays them: full loads, changes, overwrites, compactions,
expiry.

The model keeps the changes of each day in the order of their writes, and the full partitions as what they held when
they were written. What a compaction builds is what the model shows of that day; it remembers the days of changes and
the anchor that it saw, and counts as stale once one of them is overwritten.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.chain.days import Days, date_of, new_table, partition
from tests.effort import examples
from tests.lakes import open_lake

from lakebed.chain.branch_log import forget_logs, sidecar_path
from lakebed.errors import OptionError

REGIONS = st.sampled_from(["eu", "us"])
DAYS = st.integers(1, 7)
VALUES = st.dictionaries(st.integers(0, 5), st.sampled_from("abcdef"), min_size=1, max_size=4)
CHANGES = st.dictionaries(st.integers(0, 5), st.one_of(st.none(), st.sampled_from("uvwxyz")), min_size=1, max_size=4)
Rows = dict[int, str]


@dataclass
class Full:
    """A full partition, and what it was built from, if it was built."""

    rows: Rows
    anchor: int | None = None
    built: bool = False
    first: int = 0
    outdated: bool = False


@dataclass
class Chain:
    """One group."""

    full: dict[int, Full] = field(default_factory=dict)
    delta: dict[int, list[dict[int, str | None]]] = field(default_factory=dict)

    def is_stale(self, day: int) -> bool:
        """A stale build is still read if no full partition is left to rebuild it from."""
        full = self.full[day]
        return full.outdated and (full.anchor is None or any(one < day for one in self.full))

    @property
    def usable(self) -> set[int]:
        return {day for day in self.full if not self.is_stale(day)}

    def anchor(self, day: int) -> int | None:
        return max((one for one in self.usable if one < day), default=None)

    def view(self, day: int) -> Rows:
        """What a read of the day shows; a gap day shows the day before it."""
        if day in self.usable:
            return self.full[day].rows
        anchor = self.anchor(day)
        rows: dict[int, str | None] = {} if anchor is None else dict(self.full[anchor].rows)
        for one in sorted(self.delta):
            if (anchor is None or one > anchor) and one <= day:
                for batch in self.delta[one]:
                    rows.update(batch)
        return {key: value for key, value in rows.items() if value is not None}

    def needs(self, gone: set[int]) -> bool:
        """Whether dropping full partitions leaves changes without the anchor that they had."""
        left = self.usable - gone
        return any(
            day not in left and any(one < day for one in self.usable) and not any(one < day for one in left)
            for day in self.delta
        )

    def mark(self, replaced_delta: int | None = None, replaced_full: int | None = None) -> None:
        """Partitions that were built from an overwritten partition become stale."""
        for day in sorted(self.full):
            full = self.full[day]
            if not full.built:
                continue
            by_delta = replaced_delta is not None and full.first <= replaced_delta <= day
            by_anchor = replaced_full is not None and full.anchor == replaced_full
            full.outdated = full.outdated or by_delta or by_anchor


class ChainLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="chain-life-"))
        self.days: Days = new_table(open_lake(self.folder), grouped=True)
        self.chains = {"eu": Chain(), "us": Chain()}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(region=REGIONS, day=DAYS, values=VALUES)
    def load(self, region: str, day: int, values: Rows) -> None:
        chain = self.chains[region]
        self.days.load(day, values, region)
        chain.full[day] = Full(dict(values))
        chain.mark(replaced_full=day)

    @rule(region=REGIONS, day=DAYS, values=CHANGES)
    def change(self, region: str, day: int, values: dict[int, str | None]) -> None:
        self.days.change(day, values, region)
        self.chains[region].delta.setdefault(day, []).append(dict(values))

    @rule(region=REGIONS, day=DAYS, values=VALUES)
    def overwrite_changes(self, region: str, day: int, values: Rows) -> None:
        chain = self.chains[region]
        refused = day in chain.full and chain.needs({day})
        try:
            self.days.overwrite_changes(day, values, region)
        except OptionError:
            assert refused
            return
        assert not refused
        chain.delta[day] = [dict(values)]
        chain.full.pop(day, None)
        chain.mark(replaced_delta=day)

    @rule(region=REGIONS, day=DAYS)
    def drop_full(self, region: str, day: int) -> None:
        chain = self.chains[region]
        refused = day in chain.full and chain.needs({day})
        try:
            self.days.full.drop_partition(partition(day, region))
        except OptionError:
            assert refused
            return
        assert not refused
        chain.full.pop(day, None)

    @rule(day=DAYS, overwrite=st.booleans())
    def compact(self, day: int, overwrite: bool) -> None:
        self.days.main.compact_chain(partition(day), overwrite=overwrite)
        for chain in self.chains.values():
            if day not in chain.delta or (day in chain.usable and not overwrite):
                continue
            chain.full.pop(day, None)
            anchor, rows = chain.anchor(day), chain.view(day)
            if rows:
                base = chain.full.get(anchor) if anchor is not None else None
                # Of an anchor that was built, all changes that it stands on count too; of any, those of its own day.
                first = 0 if anchor is None else anchor
                if base is not None and base.built:
                    first = min(first, base.first)
                chain.full[day] = Full(rows, anchor, built=True, first=first)
                chain.mark(replaced_full=day)

    @rule(full=st.booleans())
    def compact_branches(self, full: bool) -> None:
        self.days.delta.compact(full=full)
        self.days.full.compact(full=full)

    @rule()
    def forget(self) -> None:
        """Continue as another process would, which may have lost the sidecar files."""
        for store in (self.days.chain.full, self.days.chain.delta):
            Path(sidecar_path(store)).unlink(missing_ok=True)
        forget_logs()

    @precondition(lambda self: any(chain.full or chain.delta for chain in self.chains.values()))
    @invariant()
    def every_day_is_what_was_replayed(self) -> None:
        rows = self.days.main.scan(where=f"date IN ({', '.join(repr(date_of(day)) for day in range(1, 9))})").to_arrow()
        shown: dict[tuple[str, int], Rows] = {}
        for row in rows.to_pylist():
            shown.setdefault((row["region"], int(row["date"][-2:])), {})[row["k"]] = row["v"]
        expected = {
            (region, day): view
            for region, chain in self.chains.items()
            for day in range(1, 9)
            if (view := chain.view(day))
        }
        assert shown == expected


ChainLife.TestCase.settings = settings(
    max_examples=examples(10), stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
test_a_chain_table_shows_every_day_as_it_was_replayed = ChainLife.TestCase
