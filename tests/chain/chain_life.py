"""Random lives of a chain table against a model that replays them: full loads, changes, overwrites, compactions,
expiry.

The model keeps the changes of each day in the order of their writes, and the full partitions as what they held when
they were written. What a compaction builds is what the model shows of that day; it remembers the days of changes and
the anchor that it saw, and counts as stale once one of them is overwritten.

Clean-up (drops of changes, expiry of changes, of partitions and of snapshots) is checked twice: against the model, and
by comparing what the table itself shows before and after it.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.chain.days import Days, date_of, new_table, partition
from tests.lakes import open_lake
from tests.places import delete_tree, stored_path

from lakebed import ChangesExpiry
from lakebed.chain.branch_log import forget_logs, sidecar_path
from lakebed.chain.maintenance.expire_chain import expire_chain_partitions
from lakebed.errors import OptionError
from lakebed.table_kinds import rules_of

REGIONS = st.sampled_from(["eu", "us"])
DAYS = st.integers(1, 7)
VALUES = st.dictionaries(st.integers(0, 5), st.sampled_from("abcdef"), min_size=1, max_size=4)
CHANGES = st.dictionaries(st.integers(0, 5), st.one_of(st.none(), st.sampled_from("uvwxyz")), min_size=1, max_size=4)
Rows = dict[int, str]


@dataclass
class Full:
    """A full partition, and what it was built from, if it was built: its anchor, and days of changes, at a time."""

    rows: Rows
    anchor: int | None = None
    built: bool = False
    first: int = 0
    outdated: bool = False
    base: Full | None = None
    deltas: frozenset[int] = frozenset()
    time: int = 0


@dataclass
class Chain:
    """One group.

    ``dropped`` are days whose changes were dropped and not overwritten since, each with the time of that. ``appended``
    are the times of the last writes of changes. ``expired`` are the days of full partitions that expired.
    """

    full: dict[int, Full] = field(default_factory=dict)
    delta: dict[int, list[dict[int, str | None]]] = field(default_factory=dict)
    dropped: dict[int, int] = field(default_factory=dict)
    appended: dict[int, int] = field(default_factory=dict)
    expired: set[int] = field(default_factory=set)
    clock: int = 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def drop_changes(self, days: set[int]) -> None:
        for day in days & set(self.delta):
            del self.delta[day]
            self.dropped[day] = self.tick()

    def held(self, full: Full, since: int | None, upto: int) -> set[int]:
        """The days of dropped changes that a full partition holds."""
        return {day for day in self.dropped if (since is None or day > since) and day <= upto and self.holds(full, day)}

    def holds(self, full: Full | None, day: int) -> bool:
        while full is not None and full.built:
            if self.dropped[day] > full.time:
                return True
            if full.anchor is None or day > full.anchor:
                return False
            full = full.base
        return True

    def is_stale(self, day: int, anchor: int | None) -> bool:
        """A stale build is still read if what it is rebuilt from is gone."""
        full = self.full[day]
        if not full.outdated or self.held(full, anchor, day):
            return False
        return any(one < day for one in self.full) or (full.anchor is None and full.deltas <= set(self.delta))

    @property
    def usable(self) -> set[int]:
        found: set[int] = set()
        for day in sorted(self.full):
            if not self.is_stale(day, max(found, default=None)):
                found.add(day)
        return found

    def readers(self, changed: set[int]) -> set[int]:
        """The days whose view is merged from these changes."""
        return {
            day
            for day in {*self.full, *self.delta} - self.usable
            if any(one <= day and one > (self.anchor(day) or 0) for one in changed & set(self.delta))
        }

    def anchor(self, day: int) -> int | None:
        return max((one for one in self.usable if one < day), default=None)

    def view(self, day: int) -> Rows:
        """What a read of the day shows; a gap day shows the day before it, unless its changes were dropped."""
        if day in self.usable:
            return self.full[day].rows
        anchor = self.anchor(day)
        later = min((one for one in self.usable if one > day), default=None)
        is_gap = day not in self.full and day not in self.delta
        if is_gap and later is not None and self.held(self.full[later], anchor, day):
            return {}
        rows: dict[int, str | None] = {} if anchor is None else dict(self.full[anchor].rows)
        for one in sorted(self.delta):
            if (anchor is None or one > anchor) and one <= day:
                for batch in self.delta[one]:
                    rows.update(batch)
        return {key: value for key, value in rows.items() if value is not None}

    def needs(self, gone: set[int], overwritten: int | None = None) -> bool:
        """Whether dropping full partitions leaves changes without their anchor, or loses dropped changes."""
        left = self.usable - gone
        return self.loses_dropped(gone & self.usable, left, overwritten) or any(
            day not in left and any(one < day for one in self.usable) and not any(one < day for one in left)
            for day in self.delta
        )

    def loses_dropped(self, gone: set[int], left: set[int], overwritten: int | None) -> bool:
        deltas = {*self.delta, *(() if overwritten is None else (overwritten,))}
        for day in gone:
            earlier = max((one for one in left if one < day), default=None)
            later = min((one for one in left if one > day), default=None)
            is_merged = any(one >= day and (later is None or one < later) for one in deltas)
            if not is_merged and (later is not None or earlier is None):
                continue
            if self.held(self.full[day], earlier, day) - {overwritten}:
                return True
        return False

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
    options: ClassVar[dict[str, object]] = {}
    sequenced: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="chain-life-"))
        self.days: Days = new_table(
            open_lake(self.folder), grouped=True, sequenced=self.sequenced, **cast("Any", self.options)
        )
        self.chains = {"eu": Chain(), "us": Chain()}
        self.keeps_sidecars = False

    def teardown(self) -> None:
        delete_tree(self.folder)

    @rule(region=REGIONS, day=DAYS, values=VALUES)
    def load(self, region: str, day: int, values: Rows) -> None:
        chain = self.chains[region]
        self.days.load(day, values, region)
        chain.full[day] = Full(dict(values))
        chain.mark(replaced_full=day)

    @rule(region=REGIONS, day=DAYS, values=CHANGES)
    def change(self, region: str, day: int, values: dict[int, str | None]) -> None:
        self.days.change(day, values, region)
        chain = self.chains[region]
        chain.delta.setdefault(day, []).append(dict(values))
        chain.appended[day] = chain.tick()

    @rule(region=REGIONS, day=DAYS, values=VALUES)
    def overwrite_changes(self, region: str, day: int, values: Rows) -> None:
        chain = self.chains[region]
        refused = day in chain.full and chain.needs({day}, overwritten=day)
        try:
            self.days.overwrite_changes(day, values, region)
        except OptionError:
            assert refused
            return
        assert not refused
        chain.delta[day] = [dict(values)]
        chain.dropped.pop(day, None)
        chain.appended[day] = chain.tick()
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
            below = max((one for one in chain.usable if one < day), default=None)
            if day in chain.full and chain.held(chain.full[day], below, day):
                continue  # a rebuild would lose changes that were dropped
            replaces = chain.full.pop(day, None) is not None
            anchor, rows = chain.anchor(day), chain.view(day)
            if rows:
                base = chain.full.get(anchor) if anchor is not None else None
                # Of an anchor that was built, all changes that it stands on count too; of any, those of its own day.
                first = 0 if anchor is None else anchor
                if base is not None and base.built:
                    first = min(first, base.first)
                merged = frozenset(one for one in chain.delta if (anchor or 0) < one <= day)
                chain.full[day] = Full(rows, anchor, True, first, base=base, deltas=merged, time=chain.tick())
                if replaces or day not in chain.expired:
                    chain.mark(replaced_full=day)
                chain.expired.discard(day)

    @rule(full=st.booleans())
    def compact_branches(self, full: bool) -> None:
        self.days.delta.compact(full=full)
        self.days.full.compact(full=full)

    # ------------------------------------------------------------------------------------------------------ clean-up

    @rule(region=REGIONS, day=DAYS, force=st.booleans())
    def drop_changes(self, region: str, day: int, force: bool) -> None:
        chain, before = self.chains[region], self.shown()
        changed = chain.readers({day})
        try:
            self.days.delta.drop_partition(partition(day, region), force=force)
        except OptionError as refusal:
            message = str(refusal)
            assert changed
            assert not force
            assert all(f"region={region}/date={date_of(one)}" in message for one in changed)
            assert self.shown() == before
            return
        assert force or not changed
        # Views from the first full partition on that holds the changes stay, also if the drop was forced.
        holder = min((one for one in chain.usable if one >= day), default=99 if changed else 0)
        stay = {key: rows for key, rows in before.items() if key[0] != region or key[1] >= holder or key[1] < day}
        chain.drop_changes({day})
        shown = self.shown()
        assert {key: rows for key, rows in shown.items() if key in stay} == stay
        assert force or shown == before

    @rule(day=DAYS)
    def expire_changes(self, day: int) -> None:
        before = self.shown()
        planned = self.days.main.expire_changes(dt.date(2025, 8, day), dry_run=True)
        done = self.days.main.expire_changes(dt.date(2025, 8, day))
        assert (done.partitions, done.without_view) == (planned.partitions, planned.without_view)
        self.changes_went(done, day, before, newest_full=day)

    @rule(day=DAYS, after_a_commit=st.booleans())
    def expire_changes_by_the_option(self, day: int, after_a_commit: bool) -> None:
        before, main = self.shown(), self.days.main
        with self.days.changes_retained(dt.datetime(2025, 8, day) - dt.timedelta(hours=12)):
            done = main.expire_changes(dry_run=True)
            if after_a_commit:
                rules_of(self.days.chain.delta).after_commit()
                assert main.expire_changes(dry_run=True).partitions == ()
            else:
                assert main.expire_changes().partitions == done.partitions
        self.changes_went(done, day, before, newest_full=day - 1)

    def changes_went(
        self, done: ChangesExpiry, day: int, before: Mapping[tuple[str, int], Rows], *, newest_full: int
    ) -> None:
        """Changes of days before a day were dropped, up to the last full partition that is old enough."""
        lost = {(one["region"], int(one["date"][-2:])) for one in done.without_view}
        for region, chain in self.chains.items():
            going = {int(one["date"][-2:]) for one in done.partitions if one["region"] == region}
            kept = max((one for one in chain.usable if one <= newest_full), default=0)
            allowed = {one for one in chain.delta if one < day and one <= kept}
            assert going <= allowed
            is_late = any(
                chain.appended[one] > full.time for full in chain.full.values() for one in full.deltas & allowed
            )
            if not is_late and len(chain.usable) == len(chain.full):
                assert going == allowed
            assert {one for name, one in lost if name == region} == going - chain.usable
            chain.drop_changes(going)
        shown = self.shown()
        assert not lost & set(shown)
        gaps = {key for key in before if key[1] < day and key not in shown}
        assert {key: rows for key, rows in before.items() if key not in lost | gaps} == shown

    @rule(day=DAYS)
    def expire_partitions(self, day: int) -> None:
        before = self.shown()
        expire_chain_partitions(self.days.chain, expiration_time="1 d", now=dt.datetime(2025, 8, day + 1))
        shown = self.shown()
        for region, chain in self.chains.items():
            old = sorted(one for one in chain.usable if one < day)
            if len(old) < 2:
                assert {key: rows for key, rows in before.items() if key[0] == region} == {
                    key: rows for key, rows in shown.items() if key[0] == region
                }
                continue
            kept = old[-1]
            later = {key: rows for key, rows in before.items() if key[0] == region and key[1] >= kept}
            assert later == {key: rows for key, rows in shown.items() if key[0] == region}
            chain.drop_changes({one for one in chain.delta if one < kept})
            chain.expired |= {one for one in chain.full if one < kept}
            chain.full = {one: full for one, full in chain.full.items() if one >= kept}

    @rule()
    def expire_snapshots(self) -> None:
        before = self.shown()
        for branch in (self.days.full, self.days.delta):
            if branch.latest_snapshot() is not None:
                branch.expire_snapshots(retain_max=1, retain_min=1, older_than=2**53)
        self.keeps_sidecars = True
        forget_logs()
        assert self.shown() == before

    @rule()
    def forget(self) -> None:
        """Continue as another process would, which may have lost the sidecar files."""
        for store in (self.days.chain.full, self.days.chain.delta):
            if not self.keeps_sidecars:  # afterwards they are the only place that knows what expired
                stored_path(sidecar_path(store)).unlink(missing_ok=True)
        forget_logs()

    def shown(self) -> dict[tuple[str, int], Rows]:
        """What the table shows of every day that has rows."""
        rows = self.days.main.scan(where=f"date IN ({', '.join(repr(date_of(day)) for day in range(1, 9))})").to_arrow()
        found: dict[tuple[str, int], Rows] = {}
        for row in rows.to_pylist():
            found.setdefault((row["region"], int(row["date"][-2:])), {})[row["k"]] = row["v"]
        return found

    @precondition(lambda self: any(chain.full or chain.delta for chain in self.chains.values()))
    @invariant()
    def every_day_is_what_was_replayed(self) -> None:
        expected = {
            (region, day): view
            for region, chain in self.chains.items()
            for day in range(1, 9)
            if (view := chain.view(day))
        }
        assert self.shown() == expected


class VectorLife(ChainLife):
    """Replaced rows are marked in deletion vectors."""

    options: ClassVar[dict[str, object]] = {"deletion-vectors.enabled": True}


class PartialUpdateLife(ChainLife):
    """Changes replace the values that they have; a delete removes the row."""

    options: ClassVar[dict[str, object]] = {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": True,
    }
