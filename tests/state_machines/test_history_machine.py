"""Random histories with commits of ours and of others, expiry, rollback and a failing index: pages show what is there.

Readers page through the history by cursor while all that goes on. None of them sees a snapshot twice, each sees every
snapshot that was there from its beginning to its end, and every page is exactly what the files say at that moment.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.effort import examples
from tests.metadata.long_histories import ReadOnly, Refusing, commit_snapshot, snapshot, with_storage
from tests.metadata.stores import new_store
from tests.storage.remote import Remote

from lakebed.format.snapshot import CommitKind, Snapshot, snapshot_to_json
from lakebed.metadata.history import history_index
from lakebed.metadata.history.history_index import forget_indexes, note
from lakebed.metadata.history.pages import HistoryPage, find_page
from lakebed.metadata.store import TableStore

kinds = st.sampled_from([CommitKind.APPEND, CommitKind.COMPACT, CommitKind.OVERWRITE])
asked_kinds = st.none() | kinds


@dataclass
class Reader:
    """One who pages through a history: what it saw, and what was there all the time."""

    kind: CommitKind | None
    limit: int
    read_only: bool
    all_the_time: dict[int, Snapshot]
    seen: dict[int, Snapshot] = field(default_factory=dict)
    cursor: str | None = None
    is_done: bool = False


class Histories(RuleBasedStateMachine):
    readers = Bundle("readers")
    is_remote = False
    """Whether the storage is one without append, on which commits write the index in blocks."""

    @initialize(first=st.sampled_from([1, 1015]), count=st.integers(0, 12), listed=st.sampled_from([0, 2000]))
    def begin(self, first: int, count: int, listed: int) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="histories-"))
        self.store: TableStore = new_store(self.root / "t")
        self.block, history_index.BLOCK = history_index.BLOCK, 4  # type: ignore[misc]
        if self.is_remote:
            self.store = with_storage(self.store, Remote())
        self.model: dict[int, Snapshot] = {}
        self.open: list[Reader] = []
        self.was_listed, history_index.LISTED = history_index.LISTED, listed  # type: ignore[misc]
        forget_indexes()
        if count:
            made = snapshot(first)
            assert self.store.snapshots.create(made)
            self.model[first] = made
            self.commits([CommitKind.APPEND] * (count - 1), ours=first == 1)

    def teardown(self) -> None:
        if hasattr(self, "root"):
            history_index.LISTED = self.was_listed  # type: ignore[misc]
            history_index.BLOCK = self.block  # type: ignore[misc]
            shutil.rmtree(self.root)

    # ------------------------------------------------------------------------------------------- what happens

    @rule(made=st.lists(kinds, min_size=1, max_size=8), ours=st.booleans())
    def commits(self, made: list[CommitKind], *, ours: bool) -> None:
        for kind in made:
            one = commit_snapshot(self.store, kind, noted=ours)
            self.model[one.id] = one

    @rule(kind=kinds, part=st.sampled_from([0, 0.3, 0.98, 1]))
    def commit_that_dies(self, kind: CommitKind, part: float) -> None:
        """Between its snapshot and the end of its line."""
        latest = self.store.snapshots.latest()
        one = commit_snapshot(self.store, kind, noted=False)
        if not self.is_remote:  # else there are no lines of which a part could be written
            note(with_storage(self.store, Refusing(part)), one, latest)
        self.model[one.id] = one

    @precondition(lambda self: len(self.model) > 1)
    @rule(part=st.floats(0, 1))
    def expire(self, part: float) -> None:
        for number in sorted(self.model)[: int(part * (len(self.model) - 1))]:
            self._remove(number)

    @precondition(lambda self: len(self.model) > 1)
    @rule(part=st.floats(0, 1))
    def roll_back(self, part: float) -> None:
        for number in sorted(self.model, reverse=True)[: int(part * (len(self.model) - 1))]:
            self._remove(number)
        Path(self.store.paths.latest_hint).write_text(str(max(self.model)))

    def _remove(self, number: int) -> None:
        Path(self.store.paths.snapshot(number)).unlink()
        del self.model[number]

    @rule()
    def new_process(self) -> None:
        forget_indexes()

    @rule(keep=st.floats(0, 1))
    def damage_the_index(self, keep: float) -> None:
        for path in Path(self.store.paths.history_index).glob("history-*"):
            path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])

    @precondition(lambda self: len(self.model) > 2)
    @rule(part=st.floats(0, 1))
    def rewrite_the_past(self, part: float) -> None:
        """A rollback and as many commits by somebody else, so that only the contents tell."""
        gone = sorted(self.model)[int(part * (len(self.model) - 1)) + 1 :]
        for number in reversed(gone):
            self._remove(number)
        for number in gone:
            one = snapshot(number, CommitKind.COMPACT if number % 2 else CommitKind.OVERWRITE)
            Path(self.store.paths.snapshot(number)).write_text(snapshot_to_json(one))
            self.model[number] = one

    # ------------------------------------------------------------------------------------------------ who reads

    @rule(target=readers, kind=asked_kinds, limit=st.integers(1, 6), read_only=st.booleans())
    def reader(self, kind: CommitKind | None, limit: int, *, read_only: bool) -> Reader:
        there = {number: one for number, one in self.model.items() if kind in {None, one.commit_kind}}
        self.open.append(Reader(kind, limit, read_only, there))
        return self.open[-1]

    @rule(reader=readers)
    def next_page(self, reader: Reader) -> None:
        if reader.is_done:
            return
        page = self._page(reader.kind, limit=reader.limit, cursor=reader.cursor, read_only=reader.read_only)
        below = min(reader.seen, default=2**62)
        assert list(page) == [one for one in self._matching(reader.kind) if one.id < below][: reader.limit]
        reader.seen |= {one.id: one for one in page}
        reader.cursor, reader.is_done = page.next_cursor, page.next_cursor is None
        if reader.is_done:
            assert reader.all_the_time.items() <= reader.seen.items(), "a snapshot was skipped"

    @rule(reader=readers)
    def all_other_pages(self, reader: Reader) -> None:
        while not reader.is_done:
            self.next_page(reader)

    @rule(kind=asked_kinds, offset=st.integers(0, 20), limit=st.integers(1, 6), read_only=st.booleans())
    def page_by_offset(self, kind: CommitKind | None, offset: int, limit: int, *, read_only: bool) -> None:
        page = self._page(kind, limit=limit, offset=offset, read_only=read_only)
        assert list(page) == self._matching(kind)[offset : offset + limit]

    def _matching(self, kind: CommitKind | None) -> list[Snapshot]:
        return [self.model[number] for number in sorted(self.model, reverse=True) if self._is(number, kind)]

    def _is(self, number: int, kind: CommitKind | None) -> bool:
        return kind in {None, self.model[number].commit_kind}

    def _page(self, kind: CommitKind | None, *, read_only: bool, **asked: object) -> HistoryPage:
        read_only_storage = ReadOnly(Remote() if self.is_remote else None)
        store = with_storage(self.store, read_only_storage) if read_only else self.store
        page = find_page(store, kind=kind, **asked)
        assert page.total == len(self._matching(kind)) or (read_only and page.total is None)
        return page

    @invariant()
    def readers_know_what_went(self) -> None:
        """What is no longer there, or no longer the same, need not be seen."""
        for reader in getattr(self, "open", []):
            if not reader.is_done:
                reader.all_the_time = {
                    number: one for number, one in reader.all_the_time.items() if self.model.get(number) == one
                }


class RemoteHistories(Histories):
    is_remote = True


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)
TestRemoteHistories = RemoteHistories.TestCase
TestRemoteHistories.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)
