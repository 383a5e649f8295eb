"""Plans the batches of a stream: which files it reads from a position on, and at which position a batch ends.

A stream starts with the state of a snapshot or without it, then reads the changes of every snapshot in order. A
position is its whole state. All batches together contain each row once, whatever the limits of batches are and however
often a batch is planned.

Nothing is skipped silently: if a snapshot expired before it was read, if the table was rolled back, or if columns
changed, the stream ends with an error that says what to do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lakebed.errors import NotFoundError, OptionError, SchemaError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from lakebed.format.time_text import parse_time
from lakebed.format.types.data_types import Field
from lakebed.metadata.consumers import Progress, find_progress, note_progress
from lakebed.metadata.history.by_time import snapshot_since
from lakebed.metadata.plan.interval import changes_between
from lakebed.metadata.references.holders import changelogs
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.streams.binlog import BinlogReader, grouped
from lakebed.streams.positions import NO_LIMITS, Budget, Limits, Position
from lakebed.streams.stream_files import Contents, How, Part, StreamFiles, StreamReader

_WINDOW: Final = 64
"""The number of snapshots that are read together."""
_NEEDS_CHANGELOG: Final = ("partial-update", "aggregation", "first-row")


@dataclass(frozen=True, slots=True)
class Batch:
    """The groups of files that one batch reads, and how it reads them."""

    reader: StreamReader | BinlogReader
    part: Part


@dataclass(frozen=True)
class TableStream:
    """One stream over one table: its columns, its condition, and whether rows have kinds.

    ``all_columns``: the stream reads all columns of the table, so a new column ends it unless ``new_columns_pass``.
    ``updates``: rows are those of ``$binlog``, with both rows of an update in one.
    """

    store: TableStore
    schema: TableSchema
    columns: tuple[Field, ...]
    predicate: pred.Node | None = None
    kinds: bool = False
    all_columns: bool = True
    new_columns_pass: bool = False
    updates: bool = False

    @cached_property
    def files(self) -> StreamFiles:
        return StreamFiles(self.store, self.schema, self.predicate, self.updates)

    @property
    def _options(self) -> TableOptions:
        return TableOptions(self.schema.options)

    # --------------------------------------------------------------------------------------------------------- start

    def start(self) -> Position:
        """Returns the first position: that of its consumer, else that of the ``scan.*`` options.

        Records the consumer.
        """
        check_streamable(self.store, self.schema)
        begin = self._noted() or self._first()
        self.note(begin)
        last = self.store.snapshots.find(begin.last)
        return begin if last is None else replace(begin, seen=last.delta_manifest_list)

    def _first(self) -> Position:
        options = self._options
        mode, number = options.scan_mode, options.scan_snapshot_id
        millis = _millis(options)
        if mode == "default":
            mode = "latest-full"
            if number is not None:
                mode = "from-snapshot"
            elif millis is not None:
                mode = "from-timestamp"
        latest = self.store.snapshots.latest_id()
        match mode:
            case "latest-full" | "full":
                return Position(FIRST_SNAPSHOT_ID) if latest is None else Position(latest, in_state=True)
            case "latest":
                return Position((latest or 0) + 1)
            case "from-snapshot" | "from-snapshot-full":
                if not isinstance(number, int):
                    raise OptionError(f"option 'scan.mode' is {mode}; option 'scan.snapshot-id' must be set too")
                return self._at_snapshot(number, latest or 0, whole=mode == "from-snapshot-full")
            case "from-timestamp":
                if millis is None:
                    raise OptionError(
                        "option 'scan.mode' is from-timestamp; option 'scan.timestamp' or 'scan.timestamp-millis' "
                        "must be set too"
                    )
                return self._since(millis)
        raise UnsupportedError(
            f"a stream cannot start with option 'scan.mode' = {mode!r}; use latest-full, latest, from-snapshot, "
            "from-snapshot-full or from-timestamp"
        )

    def _at_snapshot(self, number: int, latest: int, *, whole: bool) -> Position:
        if number > latest + (0 if whole else 1):
            there = f"its latest is {latest}" if latest else "it has none yet"
            raise NotFoundError(f"table {self.store.name} has no snapshot {number} to begin a stream with; {there}")
        if whole:
            return Position(self.store.snapshots.get(number).id, in_state=True)
        return Position(number)

    def _since(self, millis: int) -> Position:
        """Returns the position of the first snapshot that is not older than a time."""
        found = snapshot_since(self.store, millis)
        if found is None:
            return Position(self.latest_id() + 1)
        earliest = self.store.snapshots.earliest_id() or found.id
        known = [log for log in changelogs(self.store) if log.id < earliest] if found.id == earliest else []
        first = next((log for log in known if log.time_millis >= millis), found)
        oldest = known[0].id if known else earliest
        if first.id == oldest > FIRST_SNAPSHOT_ID:
            raise NotFoundError(
                f"the changes of table {self.store.name} since {millis} ms are not complete: snapshots before "
                f"{oldest} have expired, "
                f"and it is later. Start with scan.snapshot-id={oldest}, or with scan.mode=latest-full"
            )
        return Position(first.id)

    # ----------------------------------------------------------------------------------------------------- consumers

    @property
    def consumer(self) -> str | None:
        return self._options.consumer_id or None

    def _noted(self) -> Position | None:
        name = self.consumer
        if name is None or self._options.consumer_ignore_progress:
            return None
        found = find_progress(self.store, name)
        return None if found is None else Position(found.next_snapshot, in_state=found.in_state)

    def note(self, position: Position) -> None:
        """Record a position with the consumer of the stream, if it has one, so that later snapshots do not expire."""
        if self.consumer is None:
            return
        # The files that an overwrite deleted exist as long as the snapshot before it.
        kept = position.snapshot - (1 if self.files.reads_overwrites and not position.in_state else 0)
        progress = Progress(max(FIRST_SNAPSHOT_ID, kept), position.in_state)
        note_progress(self.store, self.consumer, progress)

    # ------------------------------------------------------------------------------------------------------- batches

    def latest_id(self) -> int:
        """Returns the id of the latest snapshot; 0 if there is none."""
        return self.store.snapshots.latest_id() or 0

    def advance(self, start: Position, limits: Limits = NO_LIMITS, until: int | None = None) -> Position:
        """Returns the end of a batch: as far from a position as limits allow, at most snapshot ``until``."""
        budget = Budget(limits)
        position = start
        for place in self._places(start, until):
            if place.changes is not None and place.changes.schema_id > self.schema.id:
                problem = self._changed_columns(place.changes)
                if problem is not None:
                    if position == start:
                        raise problem
                    return position
            if not limits.any:
                position = place.end
                continue
            done = place.begin.done
            taken = budget.take(place.contents.weights[done:])
            if done + taken < place.contents.count:
                return position if not taken else place.within(done + taken, in_updates=self.updates)
            position = place.end
        return position

    def read(self, start: Position, end: Position) -> list[Batch]:
        """Returns the files between two positions, in order."""
        self._check_history(end)
        parts: list[Part] = []
        for place in self._places(start, end.snapshot):
            at = place.begin
            if (at.snapshot, not at.in_state) > (end.snapshot, not end.in_state):
                break
            last = (at.snapshot, at.in_state) == (end.snapshot, end.in_state)
            if last and end.done == 0:
                break
            parts += place.contents.between(at.done, end.done if last else place.contents.count)
        if self.updates:
            return [Batch(BinlogReader.over(self.reader(part)), grouped(part)) for part in _joined(parts)]
        return [Batch(self.reader(part), part) for part in _joined(parts)]

    def reader(self, part: Part) -> StreamReader:
        """Returns the reader of the files of a part."""
        return StreamReader(self.store, self.schema, self.columns, self.predicate, part.how, self.kinds)

    def state(self, at: Position) -> Contents:
        """Returns the state that a stream starts with."""
        snapshot = self.store.snapshots.find(at.snapshot)
        if snapshot is None:
            raise NotFoundError(self._gone(at.snapshot, "whose state a stream has not read to its end"))
        return self.files.state(snapshot)

    def _places(self, start: Position, until: int | None) -> Iterator[_Place]:
        """Yields what there is to read from a position on, snapshot by snapshot."""
        latest = self._check_history(start)
        following = start.snapshot
        if start.in_state:
            yield _Place(start, None, partial(self.state, start))
            following += 1
        last = latest if until is None else min(latest, until)
        for first in range(following, last + 1, _WINDOW):
            for snapshot in self._snapshots(first, min(last, first + _WINDOW - 1)):
                begin = start if snapshot.id == start.snapshot and not start.in_state else Position(snapshot.id)
                yield _Place(begin, snapshot, partial(self.files.changes, snapshot))

    def _check_history(self, at: Position) -> int:
        """Raise for a position of another history or another kind of stream; returns the id of the latest snapshot."""
        if at.done and not at.in_state and at.in_updates != self.updates:
            raise OptionError(
                f"this checkpoint is in the middle of snapshot {at.snapshot} of table {self.store.name}, as a stream "
                f"{'of' if at.in_updates else 'not of'} its $binlog; continue with the same kind of stream, or start "
                "with a new checkpoint folder"
            )
        latest = self.latest_id()
        problem = f"but the latest is {latest or 'none'}" if latest < at.last else None
        if problem is None and at.seen:
            found = self.store.snapshots.find(at.last)  # unknown if it has expired
            if found is not None and found.delta_manifest_list != at.seen:
                problem = "but that is another one now"
        if problem is not None:
            raise NotFoundError(
                f"a stream of table {self.store.name} has read up to snapshot {at.last}, {problem}: the table was "
                "rolled back "
                "or created again. Start with a new checkpoint folder"
            )
        return latest

    def _snapshots(self, first: int, last: int) -> list[Snapshot]:
        try:
            return changes_between(self.store, first, last, self.files.mode)
        except NotFoundError:
            if (self.store.snapshots.earliest_id() or 0) <= first:
                raise
            raise NotFoundError(self._gone(first, "which a stream reads next")) from None

    def _gone(self, number: int, what: str) -> str:
        earliest = self.store.snapshots.earliest_id()
        return (
            f"snapshot {number} of table {self.store.name}, {what}, has expired; the earliest one is {earliest}. "
            "Start again with a "
            "new checkpoint folder (scan.mode=latest-full starts with all rows), and give the stream a consumer-id, "
            "which keeps "
            "what it has not read"
        )

    def _changed_columns(self, snapshot: Snapshot) -> SchemaError | None:
        """Returns why a stream cannot read a snapshot with a later schema; ``None`` if it can."""
        now = self.store.schemas.get(snapshot.schema_id)
        used = {column.name for column in self.columns}
        used |= frozenset() if self.predicate is None else pred.columns(self.predicate)
        by_name = {column.name: column for column in now.fields}
        for column in self.schema.fields:
            if column.name in used and _meaning(by_name.get(column.name)) != _meaning(column):
                return self._stop(snapshot, f"changed column {column.name!r}", "")
        new = [column.name for column in now.fields if column.id not in self.schema.fields_by_id]
        if new and self.all_columns and not self.new_columns_pass:
            instead = ', or go on without them with option "read.stream.newColumns" = "ignore"'
            return self._stop(snapshot, f"added columns {', '.join(map(repr, new))}", instead)
        return None

    def _stop(self, snapshot: Snapshot, what: str, instead: str) -> SchemaError:
        return SchemaError(
            f"schema {snapshot.schema_id} of table {self.store.name} {what}, and snapshot {snapshot.id} uses it; this "
            "stream has read everything before. Start it again, from its checkpoint, to read the columns as they are "
            f"now{instead}"
        )


def check_streamable(store: TableStore, schema: TableSchema) -> None:
    """Raise for a table whose changes cannot be read."""
    options = TableOptions(schema.options)
    where = f"table {store.name}"
    producer, engine = options.changelog_producer, options.merge_engine
    joined = options.joined_branch(store.paths.branch)
    if joined is not None:
        option, branch = joined
        raise UnsupportedError(
            f"{where} is read together with another branch (option {option!r}), which has its own history; stream each "
            f"branch by its name ({store.name}$branch_{branch})"
        )
    if schema.primary_keys and producer == "none" and engine in _NEEDS_CHANGELOG:
        raise UnsupportedError(
            f"{where} has merge engine {engine}: the changes of a write are known only after a merge. Set option "
            "'changelog-producer' to lookup or full-compaction to stream it"
        )
    if options.streaming_read_overwrite and producer in {"lookup", "full-compaction"}:
        raise OptionError(
            f"{where}: option 'streaming-read-overwrite' cannot be combined with changelog-producer {producer}, whose "
            "changelog would "
            "repeat some changes; remove the option"
        )


# ------------------------------------------------------------------------------------------------------------- inside


@dataclass(frozen=True)
class _Place:
    """What is to be read of a snapshot from a position on: its state or its changes."""

    begin: Position
    changes: Snapshot | None
    list_files: Callable[[], Contents]

    @property
    def _seen(self) -> str:
        return self.begin.seen if self.changes is None else self.changes.delta_manifest_list

    @property
    def end(self) -> Position:
        """The position after all of it."""
        return Position(self.begin.snapshot + 1, seen=self._seen)

    def within(self, done: int, *, in_updates: bool) -> Position:
        """Returns the position after some groups of it."""
        return replace(self.begin, done=done, in_updates=in_updates and not self.begin.in_state, seen=self._seen)

    @cached_property
    def contents(self) -> Contents:
        return self.list_files()


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Join adjacent parts that are read the same way, so that small ones share a task."""
    for alike, group in itertools.groupby(parts, key=lambda part: (part.how, bool(part.deleted.by_file))):
        found = list(group)
        if alike[0] is not How.CHANGES or len(found) == 1:
            yield from found
            continue
        starts = np.cumsum([0, *(len(part.entries) for part in found)])
        numbers = tuple(rows + start for part, start in zip(found, starts[:-1], strict=True) for rows in part.groups)
        yield Part(How.CHANGES, pa.concat_tables([part.entries for part in found]), numbers, DeletedRows())


def _meaning(column: Field | None) -> tuple[Any, ...]:
    return () if column is None else (column.id, column.type)


def _millis(options: TableOptions) -> int | None:
    if options.scan_timestamp_millis is not None:
        return options.scan_timestamp_millis
    text = options.scan_timestamp
    return None if text is None else parse_time(text, "option 'scan.timestamp'")
