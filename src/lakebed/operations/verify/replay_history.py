"""Computes the live files of each snapshot, from commit to commit.

The first snapshot of a sequence of ids without gaps is computed from all its entries. Each later one applies only its
delta, so a walk costs as much as the changes. A base list that differs from the lists before it, because manifests were
merged, is compared by the manifests that differ. A list or manifest that cannot be read ends the sequence: the next
snapshot is computed from all its entries again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lakebed.format.human_text import count_text
from lakebed.format.snapshot import CommitKind
from lakebed.operations.verify.check_branches import Branch, Holder
from lakebed.operations.verify.load_manifests import I32, AllManifests, ManifestLists
from lakebed.operations.verify.report import Findings, some

I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_ROLL_BACK: Final = "restore the manifests from a backup, or roll back to the snapshot before"


@dataclass(frozen=True, slots=True)
class State:
    """The state of the walk at one snapshot: the live files, and the files that the snapshot added, by identity."""

    holder: Holder
    live: Bools
    added: I64
    removed: I64
    is_first: bool


Look: TypeAlias = Callable[[State], None]


@dataclass
class Needs:
    """Which files the snapshots of a branch need, with the first and last snapshot that needs each, as label numbers.

    ``heads`` are the newest snapshot and the tags without a snapshot, each with its live files.
    """

    needed: Bools
    first: I64
    last: I64
    labels: list[str] = field(default_factory=list)
    heads: list[tuple[Holder, I64]] = field(default_factory=list)

    @staticmethod
    def of(files: int) -> Needs:
        return Needs(np.zeros(files, np.bool_), np.full(files, -1, np.int64), np.full(files, -1, np.int64))

    def note(self, label: str, files: I64) -> int:
        """Record that a snapshot needs these files; returns the number of the snapshot."""
        self.labels.append(label)
        number = len(self.labels) - 1
        self.first[files] = np.where(self.needed[files], self.first[files], number)
        self.last[files] = number
        self.needed[files] = True
        return number

    def who(self, file: int) -> str:
        """Returns the snapshots that need a file, as one phrase."""
        first, last = self.labels[self.first[file]], self.labels[self.last[file]]
        return first if first == last else f"{first} to {last}"


@dataclass
class _Row:
    """A sequence of snapshots without gaps; ``number`` is that of the newest in ``Needs``."""

    live: Bools
    records: int
    base: I32
    delta: I32
    snapshot_id: int
    number: int = -1
    total_error: int = 0


@dataclass
class Walk:
    """Walks the snapshots and tags of branches. ``copied`` are base lists that several branches refer to."""

    manifests: AllManifests
    lists: dict[str, ManifestLists]
    found: Findings
    look: Look
    copied: frozenset[str]
    _told: set[tuple[str, str]] = field(default_factory=set)

    def run(self, branch: Branch) -> Needs:
        """Walk the snapshots of a branch, then the tags whose snapshot has expired."""
        needs = Needs.of(len(self.manifests.files))
        row: _Row | None = None
        for holder in branch.snapshots:
            row = self._step(holder, row, needs)
        self._end(row, needs)
        if row is not None:
            needs.heads.append((branch.snapshots[-1], np.flatnonzero(row.live)))
        walked = {(h.snapshot.base_manifest_list, h.snapshot.delta_manifest_list) for h in branch.snapshots}
        for holder in branch.tags:
            if (holder.snapshot.base_manifest_list, holder.snapshot.delta_manifest_list) not in walked:
                alone = self._step(holder, None, needs)
                if alone is not None:
                    needs.heads.append((holder, np.flatnonzero(alone.live)))
        return needs

    def changelog_files(self, branch: Branch, needs: Needs) -> Bools:
        """Returns the changelog files that a branch needs, and checks their record counts."""
        needed = np.zeros(len(self.manifests.files), np.bool_)
        for holder in branch.changelogs:
            self._note_kept_delta(holder, needs)
        for holder in branch.holders:
            codes = self.lists[holder.path].changelog
            if codes is None:
                continue
            rows = self.manifests.entries_of(codes[self.manifests.readable[codes]])
            needed[self.manifests.identities[rows]] = True
            needs.note(holder.label, self.manifests.identities[rows])
            told, records = holder.snapshot.changelog_record_count, int(self.manifests.rows[rows].sum())
            if told is not None and told != records and self.manifests.readable[codes].all():
                self._wrong_count(holder, f"{told} changelog records, its changelog files have {records}")
        return needed

    def _note_kept_delta(self, holder: Holder, needs: Needs) -> None:
        """Record that a long-lived changelog without changelog files needs the files that its commit added.

        Files that a compaction wrote may be deleted.
        """
        codes = self.lists[holder.path].delta
        if codes is None or holder.snapshot.commit_kind not in {CommitKind.APPEND, CommitKind.OVERWRITE}:
            return
        entries = self.manifests.entries_of(codes[self.manifests.readable[codes]])
        needs.note(holder.label, self.manifests.identities[entries][self.manifests.is_add[entries]])

    # ------------------------------------------------------------------------------------------------ one snapshot

    def _step(self, holder: Holder, row: _Row | None, needs: Needs) -> _Row | None:
        """Advance to a snapshot; returns ``None`` if it cannot be read."""
        lists = self.lists[holder.path]
        readable = self.manifests.readable
        if row is not None and holder.snapshot.id != row.snapshot_id + 1:
            self._end(row, needs)
            row = None
        if (
            lists.base is None
            or lists.delta is None
            or not readable[lists.base].all()
            or not readable[lists.delta].all()
        ):
            self._end(row, needs)
            self._note_what_is_known(holder, lists, needs)
            return None
        is_first = row is None
        if row is None:
            live = self._folded(lists.base, holder)
            row = _Row(live, self._records(live), lists.base, lists.delta, holder.snapshot.id)
        elif not lists.continues and not self._same_base(lists.base, row):
            self._check_base(holder, lists.base, row)
        entries = self.manifests.entries_of(lists.delta)
        identities, is_add = self.manifests.identities[entries], self.manifests.is_add[entries]
        self._check_delta(holder, row.live, identities, is_add)
        added, removed = identities[is_add], identities[~is_add]
        row.live[removed] = False
        row.live[added] = True
        signed = np.where(is_add, self.manifests.rows[entries], -self.manifests.rows[entries])
        row.records += int(signed.sum())
        row.snapshot_id, row.base, row.delta = holder.snapshot.id, lists.base, lists.delta
        self._check_counts(holder, row, int(signed.sum()))
        if is_first:
            added = np.flatnonzero(row.live)
        elif row.number >= 0:
            needs.last[removed] = row.number
        row.number = needs.note(holder.label, added)
        self.look(State(holder, row.live, added, removed, is_first))
        return row

    def _end(self, row: _Row | None, needs: Needs) -> None:
        if row is not None:
            needs.last[row.live] = row.number

    def _note_what_is_known(self, holder: Holder, lists: ManifestLists, needs: Needs) -> None:
        """Record the files that a snapshot adds, although its other lists cannot be read."""
        for codes in (lists.base, lists.delta):
            if codes is not None:
                entries = self.manifests.entries_of(codes[self.manifests.readable[codes]])
                counts = np.zeros(len(self.manifests.files), np.int64)
                np.add.at(counts, self.manifests.identities[entries], np.where(self.manifests.is_add[entries], 1, -1))
                needs.note(holder.label, np.flatnonzero(counts > 0))

    def _records(self, live: Bools) -> int:
        return int(self.manifests.files["row_count"].to_numpy()[live].sum())

    # ------------------------------------------------------------------------------------------------------ checks

    def _folded(self, codes: I32, holder: Holder) -> Bools:
        """Returns the live files after some manifests. ADD and DELETE of a file must alternate, beginning with ADD."""
        entries = self.manifests.entries_of(codes)
        identities, is_add = self.manifests.identities[entries], self.manifests.is_add[entries]
        order = np.argsort(identities, kind="stable")
        identities, is_add = identities[order], is_add[order]
        first = np.append(True, identities[1:] != identities[:-1])[: len(identities)]
        previous = np.append(False, is_add[:-1])[: len(identities)]
        wrong = is_add == np.where(first, False, previous)
        if wrong.any():
            self._contradiction(holder, identities[wrong], is_add[wrong])
        live = np.zeros(len(self.manifests.files), np.bool_)
        last = np.append(first[1:], True)[: len(identities)]
        live[identities[last & is_add]] = True
        return live

    def _same_base(self, base: I32, row: _Row) -> bool:
        """Whether a base list has the same content as the lists before, comparing the manifests that differ."""
        expected = np.concatenate([row.base, row.delta])
        if np.array_equal(base, expected):
            return True
        if len(np.unique(base)) < len(base):
            return False
        gone, come = np.setdiff1d(expected, base), np.setdiff1d(base, expected)
        entries = self.manifests.entries_of(np.concatenate([gone, come]))
        is_gone = np.arange(len(entries)) < len(self.manifests.entries_of(gone))
        signs = np.where(self.manifests.is_add[entries] ^ is_gone, 1, -1)
        _, places = np.unique(self.manifests.identities[entries], return_inverse=True)
        return not np.bincount(places, weights=signs).any()

    def _check_base(self, holder: Holder, base: I32, row: _Row) -> None:
        live = self._folded(base, holder)
        lost, extra = np.flatnonzero(row.live & ~live), np.flatnonzero(live & ~row.live)
        row.live, row.records = live, self._records(live)
        if (not len(lost) and not len(extra)) or holder.snapshot.base_manifest_list in self.copied:
            return  # after a fast-forward the history of the branch is different
        parts = []
        if len(lost):
            parts.append(f"lacks {count_text(len(lost), 'file')} of the lists before it ({some(self._names(lost))})")
        if len(extra):
            parts.append(
                f"has {count_text(len(extra), 'file')} that the lists before it do not have ({some(self._names(extra))})"
            )
        told = holder.snapshot
        row.total_error = told.total_record_count - told.delta_record_count - row.records
        # If the totals fit the base list, the list is not damaged: the commit was based on another snapshot.
        tell, code = (self.found.error, "wrong-base") if row.total_error else (self.found.warning, "broken-chain")
        tell(
            code,
            f"{holder.label} does not continue the one before: its base list {' and '.join(parts)}",
            holder.path,
            "if a branch was fast-forwarded here, nothing; else a commit was lost: roll back, or write its rows again",
        )

    def _check_delta(self, holder: Holder, live: Bools, identities: I64, is_add: Bools) -> None:
        """Check that deleted files are live, added files are not, and no file is both."""
        wrong = live[identities] == is_add
        if len(np.unique(identities)) < len(identities):
            _, places, counts = np.unique(identities, return_inverse=True, return_counts=True)
            wrong |= counts[places] > 1
        if wrong.any():
            self._contradiction(holder, identities[wrong], is_add[wrong])

    def _contradiction(self, holder: Holder, files: I64, is_add: Bools) -> None:
        for code, mask, what in (
            ("added-twice", is_add, "is added, though it is there"),
            ("delete-of-dead-file", ~is_add, "is deleted, though it is not there"),
        ):
            names = self._names(files[mask])
            if names and (code, names[0]) not in self._told:
                self._told.add((code, names[0]))
                self.found.error(code, f"{some(names)} {what}, in {holder.label}", holder.path, _ROLL_BACK)

    def _check_counts(self, holder: Holder, row: _Row, records: int) -> None:
        """Check totals. A wrong number shifts all later totals, so only a change of the difference is reported."""
        told = holder.snapshot
        off = told.delta_record_count - records
        error = told.total_record_count - row.records
        if off:
            self._wrong_count(holder, f"{told.delta_record_count} new records, its files make {records}")
        if error not in {row.total_error, row.total_error + off}:
            self._wrong_count(
                holder,
                f"{count_text(told.total_record_count, 'record')} in total, its live files have {row.records:,}",
                "wrong-total",
            )
        row.total_error = error

    def _wrong_count(self, holder: Holder, what: str, code: str = "wrong-record-count") -> None:
        self.found.error(
            code,
            f"{holder.label} says {what}",
            holder.path,
            "no row is lost, but counts that trust the number are wrong; restore the file, or roll back before it",
        )

    def _names(self, files: I64) -> list[str]:
        names: list[str] = self.manifests.files["file_name"].take(files).to_pylist()
        return names
