"""The compactions of a branch: what each COMPACT snapshot read and wrote, when it began and how long it took.

Commits of Lakebed record this in the properties of the snapshot (:func:`compaction_facts`, :func:`begin`), so a page of
compactions opens only its snapshots. For snapshots of other writers the delta manifests are read.

A compaction is FULL if it left nothing to merge: in a primary-key table all its output is on the highest level, an
append table has no other files. A compaction that only merges manifests is of kind MANIFESTS; all others are MINOR. A
file that only changes its level counts as input and output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import NotFoundError, OptionError, unknown_name
from lakebed.format import commit_facts as facts
from lakebed.format.human_text import count_text, size_text
from lakebed.format.manifest.manifest import ADD
from lakebed.format.printed import Printed, page_text
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.time_text import now_millis, time_text
from lakebed.metadata.history.pages import HistoryPage, Source, page_of
from lakebed.metadata.history.wanted import Wanted, cursor_position, wanted_page
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_COUNTS: Final = {
    "input_files": facts.FILES_DELETED,
    "input_bytes": facts.BYTES_DELETED,
    "input_rows": facts.ROWS_DELETED,
    "output_files": facts.FILES_ADDED,
    "output_bytes": facts.BYTES_ADDED,
    "output_rows": facts.ROWS_ADDED,
    "partitions": facts.PARTITIONS,
    "buckets": facts.BUCKETS,
}
_QUARTER_HOUR_MILLIS: Final = 900_000
_FIRST_WINDOW: Final = 32
_LARGEST_WINDOW: Final = 1024


class CompactionKind(StrEnum):
    """How much a compaction merged."""

    FULL = "FULL"
    MINOR = "MINOR"
    MANIFESTS = "MANIFESTS"


class CompactionStatus(StrEnum):
    """What became of a compaction. One with a snapshot succeeded; the service shows others as jobs."""

    SUCCEEDED = "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Compaction(Printed):
    """One compaction.

    Attributes:
        snapshot: The snapshot that it committed.
        kind: ``FULL``, ``MINOR`` or ``MANIFESTS``.
        started_millis: When it began, in epoch milliseconds.
        finished_millis: When it committed, in epoch milliseconds.
        input_files: How many files it replaced.
        input_bytes: Their size.
        input_rows: Their rows, before merging.
        output_files: How many files it wrote.
        output_bytes: Their size.
        output_rows: Their rows.
        partitions: How many partitions it touched.
        buckets: How many buckets it touched.
        from_facts: Whether all this comes from the properties of the snapshot; otherwise its delta manifests were read.
    """

    snapshot: Snapshot
    kind: CompactionKind
    started_millis: int
    finished_millis: int
    input_files: int
    input_bytes: int
    input_rows: int
    output_files: int
    output_bytes: int
    output_rows: int
    partitions: int
    buckets: int
    from_facts: bool

    @property
    def duration_millis(self) -> int:
        """How long it took; never negative, even if clocks differ."""
        return self.finished_millis - self.started_millis

    @property
    def status(self) -> CompactionStatus:
        """What became of it: it succeeded, because only then it has a snapshot."""
        return CompactionStatus.SUCCEEDED

    def __str__(self) -> str:
        before, after = (
            f"{count_text(files, 'file')} ({size_text(size)})"
            for files, size in ((self.input_files, self.input_bytes), (self.output_files, self.output_bytes))
        )
        took = f"{self.duration_millis / 1000:,.1f} s"
        return f"{self.kind} compaction, snapshot {self.snapshot.id}: {before} to {after} in {took}"


@dataclass(frozen=True, slots=True, repr=False)
class CompactionPage(Printed):
    """One page of the compactions of a branch, newest first. Iterate over it to get the compactions.

    Attributes:
        compactions: The compactions on this page.
        next_cursor: As in :class:`lakebed.HistoryPage`.
        total: As in :class:`lakebed.HistoryPage`.
        scanned: As in :class:`lakebed.HistoryPage`.
        source: As in :class:`lakebed.HistoryPage`.
    """

    compactions: tuple[Compaction, ...]
    next_cursor: str | None
    total: int | None
    scanned: int
    source: Source

    def __iter__(self) -> Iterator[Compaction]:
        return iter(self.compactions)

    def __len__(self) -> int:
        return len(self.compactions)

    def __str__(self) -> str:
        rows = [
            [
                str(one.snapshot.id),
                str(one.kind),
                time_text(one.finished_millis),
                f"{one.input_files:,} -> {one.output_files:,}",
                f"{size_text(one.input_bytes)} -> {size_text(one.output_bytes)}",
                f"{one.duration_millis / 1000:,.1f} s",
            ]
            for one in self.compactions
        ]
        head = ["id", "kind", "time", "files", "size", "took"]
        return page_text("compaction", head, rows, total=self.total, has_more=self.next_cursor is not None)


# ---------------------------------------------------------------------------------------------------------- writing


def begin() -> dict[str, str]:
    """Returns the properties for the commit of a compaction that begins now."""
    return facts.encode_facts({facts.STARTED_MILLIS: now_millis()})


def compaction_facts(entries: pa.Table, schema: TableSchema, *, live_files: int) -> dict[str, Any]:
    """Returns the facts that a commit records about a compaction with these entries."""
    added = entries.filter(pc.equal(entries["kind"], ADD))
    rows_added, rows = (int(pc.sum(table["row_count"]).as_py() or 0) for table in (added, entries))
    touched = entries.select(["partition", "bucket"]).group_by(["partition", "bucket"]).aggregate([])
    return {
        facts.COMPACTION: str(_kind(entries, added, schema, live_files)),
        facts.ROWS_DELETED: rows - rows_added,
        facts.ROWS_ADDED: rows_added,
        facts.PARTITIONS: len(pc.unique(touched["partition"])),
        facts.BUCKETS: len(touched),
    }


def _kind(entries: pa.Table, added: pa.Table, schema: TableSchema, live_files: int) -> CompactionKind:
    if not len(entries):
        return CompactionKind.MANIFESTS
    if schema.primary_keys:
        is_full = pc.all(pc.greater_equal(added["level"], _highest_level(schema)), min_count=0).as_py()
    else:
        is_full = len(added) == live_files
    return CompactionKind.FULL if is_full else CompactionKind.MINOR


def _highest_level(schema: TableSchema) -> int:
    return TableOptions(schema.options).num_levels - 1


# ---------------------------------------------------------------------------------------------------------- reading


def find_compactions(store: TableStore, *, kind: CompactionKind | str | None = None, **asked: Any) -> CompactionPage:
    """Returns one page of the compactions of a branch; takes the arguments of ``find_page``.

    The index does not know the kind of a compaction. With ``kind``, compactions are described from the newest (or from
    the cursor) on until the page is full, and the total is ``None`` unless these were all. A page
    without an offset ends once it opened ``Wanted.most_read`` snapshots.
    """
    only = None if kind is None else _kind_named(kind)
    wanted = wanted_page(store, kind=CommitKind.COMPACT, variant=only, **asked)
    if only is not None:
        return _of_kind(store, only, wanted)
    page = page_of(store, wanted)
    found = tuple(_all_described(store, page))
    total = None if page.total is None else page.total - len(page) + len(found)
    return CompactionPage(found, page.next_cursor, total, page.scanned, page.source)


def _kind_named(kind: CompactionKind | str) -> CompactionKind:
    text = str(kind).upper()
    if text not in set(CompactionKind):
        raise OptionError(unknown_name("kind of compaction", text, map(str, CompactionKind)))
    return CompactionKind(text)


def _of_kind(store: TableStore, kind: CompactionKind, wanted: Wanted) -> CompactionPage:
    end = wanted.offset + wanted.limit
    found: list[Compaction] = []
    scanned, part = 0, replace(wanted, limit=max(wanted.limit, _FIRST_WINDOW), offset=0)
    while True:
        page = page_of(store, part)
        scanned += page.scanned
        found += [one for one in _all_described(store, page) if one.kind is kind]
        if page.next_cursor is None or len(found) > end or (wanted.most_read or scanned + 1) <= scanned:
            break
        part = replace(part, limit=min(2 * part.limit, _LARGEST_WINDOW), before=cursor_position(page.next_cursor))
    shown = tuple(found[wanted.offset : end])
    total = len(found) if page.next_cursor is None and wanted.before is None else None
    cursor = wanted.cursor_after(shown[-1].snapshot.id) if len(found) > end else page.next_cursor
    return CompactionPage(shown, cursor, total, scanned, page.source)


def _all_described(store: TableStore, page: HistoryPage) -> Iterator[Compaction]:
    described = (_described(store, snapshot) for snapshot in page)
    return (compaction for compaction in described if compaction is not None)


def _described(store: TableStore, snapshot: Snapshot) -> Compaction | None:
    """Returns the compaction of a snapshot; ``None`` if the snapshot expired meanwhile."""
    known = _from_facts(snapshot)
    if known is not None:
        return known
    try:
        return _from_manifests(store, snapshot)
    except NotFoundError:
        if store.snapshots.find(snapshot.id) == snapshot:
            raise
        return None


def _from_facts(snapshot: Snapshot) -> Compaction | None:
    properties = snapshot.properties
    counts = {name: facts.read_count(properties, key) for name, key in _COUNTS.items()}
    known = {name: count for name, count in counts.items() if count is not None}
    started = _started(properties, snapshot)
    if len(known) < len(_COUNTS) or started is None or properties.get(facts.COMPACTION) not in set(CompactionKind):
        return None
    return _compaction(snapshot, CompactionKind(properties[facts.COMPACTION]), started, known, from_facts=True)


def _started(properties: Mapping[str, str], snapshot: Snapshot) -> int | None:
    started, took = (facts.read_count(properties, key) for key in (facts.STARTED_MILLIS, facts.COMMIT_MILLIS))
    if started is None and took is not None and properties.get(facts.COMPACTION) == CompactionKind.MANIFESTS:
        return snapshot.time_millis - took  # the compaction consists of the commit
    return started


def _from_manifests(store: TableStore, snapshot: Snapshot) -> Compaction:
    metas = store.manifests.read_list(snapshot.delta_manifest_list)
    entries = store.manifests.read_entries(metas)
    schema = store.schemas.get(snapshot.schema_id)
    is_add = pc.equal(entries["kind"], ADD)
    added, deleted = entries.filter(is_add), entries.filter(pc.invert(is_add))
    live = 0
    if not schema.primary_keys:
        base = store.manifests.read_list(snapshot.base_manifest_list)
        live = sum(meta.num_added_files - meta.num_deleted_files for meta in [*base, *metas])
    found = compaction_facts(entries, schema, live_files=live)
    counts = {name: found[key] for name, key in _COUNTS.items() if key in found}
    counts |= {"input_files": len(deleted), "output_files": len(added)}
    counts["input_bytes"], counts["output_bytes"] = (
        int(pc.sum(files["file_size"]).as_py() or 0) for files in (deleted, added)
    )
    started = _first_written(added, deleted, snapshot)
    return _compaction(snapshot, CompactionKind(found[facts.COMPACTION]), started, counts, from_facts=False)


def _first_written(added: pa.Table, deleted: pa.Table, snapshot: Snapshot) -> int:
    """Returns when the first new file of the compaction was written, the best known time of its beginning.

    Files have the local time of their writer, whose time zone is unknown. Zones differ by quarters of an hour, and a
    commit soon follows its last file, so the difference in quarters of an hour between the two is the zone.
    """
    fresh = added.filter(pc.invert(pc.is_in(added["file_name"], value_set=deleted["file_name"].combine_chunks())))
    bounds = pc.min_max(fresh["creation_time"].cast(pa.int64())).as_py()
    if bounds["min"] is None:
        return snapshot.time_millis
    zone: int = round((snapshot.time_millis - bounds["max"]) / _QUARTER_HOUR_MILLIS) * _QUARTER_HOUR_MILLIS
    return int(bounds["min"]) + zone


def _compaction(
    snapshot: Snapshot, kind: CompactionKind, started: int, counts: Mapping[str, int], *, from_facts: bool
) -> Compaction:
    finished = snapshot.time_millis
    return Compaction(
        snapshot=snapshot,
        kind=kind,
        started_millis=min(started, finished),
        finished_millis=finished,
        from_facts=from_facts,
        **counts,
    )
