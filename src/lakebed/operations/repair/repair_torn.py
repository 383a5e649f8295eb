"""Repair a table whose last commits are torn: the newest whole snapshot becomes the latest again.

Without ``commit.durable``, and with other engines, a power cut may leave files of the last commits empty, truncated or
missing. Then the table can neither be read nor written. The repair looks at the snapshots from the newest down to the
first whole one (:mod:`lakebed.operations.repair.whole_snapshots`) and rolls back to it. What only the deleted snapshots
knew is lost; the result lists it. If the file of a snapshot is damaged and a tag has a whole copy, the repair restores
the snapshot from the tag.

It also deletes tags and newest schemas that cannot be read, and corrects the hints. Data files of deleted snapshots are
left to the removal of orphan files. It never touches a snapshot that is older than the first whole one. If no snapshot
is whole, it raises and changes nothing. A crash leaves a table that another repair completes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lakebed.errors import CorruptError, LakebedError, NotFoundError
from lakebed.format.human_text import count_text, ids_text, list_lines, names_text
from lakebed.format.paths import TAG_PREFIX
from lakebed.format.printed import Printed
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot, snapshot_from_json, snapshot_to_json
from lakebed.metadata.changelogs import changelog_ids
from lakebed.metadata.store import TableStore
from lakebed.operations.repair.whole_snapshots import WholeCheck
from lakebed.operations.rollback import rollback_to


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """What a repair found out about one snapshot.

    Attributes:
        id: The id of the snapshot.
        problems: What is missing or damaged; empty if the snapshot is whole.
        snapshot: The snapshot; ``None`` if its file cannot be read.
        tag: The tag from which the snapshot can be restored; ``None`` if there is none, or no need.
    """

    id: int
    problems: tuple[str, ...]
    snapshot: Snapshot | None = None
    tag: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether everything that the snapshot refers to is there."""
        return not self.problems

    def __str__(self) -> str:
        told = f"snapshot {self.id}, its file cannot be read" if self.snapshot is None else str(self.snapshot)
        if self.tag is not None:
            return f"damaged, can be restored from tag {self.tag}: {told}"
        return f"{'whole' if self.is_whole else 'torn'}: {told}"


@dataclass(frozen=True, slots=True, repr=False)
class TableRepair(Printed):
    """What a repair found, and what it deleted or would delete in a dry run.

    Attributes:
        table: The name of the table.
        states: The snapshots that were checked, newest first. The last one is whole, unless none is.
        target: The id of the snapshot that is the latest one afterwards; ``None`` if there is none.
        snapshots: The ids of the torn snapshots that are deleted. The rows that they added are lost.
        tags: The names of tags that are deleted: of such snapshots, and tags that cannot be read.
        changelogs: The ids of newer long-lived changelogs, which are deleted.
        schemas: The ids of the newest schemas that cannot be read, which are deleted.
        hints: The names of hint files that are corrected.
        unchecked: How many older snapshots were not checked.
        dry_run: Whether nothing was changed.

    Example:
        >>> torn = SnapshotState(3, ("snapshot/snapshot-3 is empty",))
        >>> print(TableRepair("db.t", (torn,), 2, (3,), (), (), (), ("LATEST",), 1, dry_run=True))
        db.t: would roll back to snapshot 2, delete snapshot 3, correct LATEST
        torn: snapshot 3, its file cannot be read
          snapshot/snapshot-3 is empty
        1 older snapshot was not checked
    """

    table: str
    states: tuple[SnapshotState, ...]
    target: int | None
    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    changelogs: tuple[int, ...]
    schemas: tuple[int, ...]
    hints: tuple[str, ...]
    unchecked: int
    dry_run: bool

    @property
    def is_needed(self) -> bool:
        """Whether there is something to repair."""
        restores = any(state.tag is not None for state in self.states)
        return bool(self.snapshots or self.tags or self.changelogs or self.schemas or self.hints or restores)

    def __str__(self) -> str:
        lines = [f"{self.table}: {self._summary()}"]
        for state in self.states:
            lines += [str(state), *list_lines(state.problems, "problem")]
        if self.unchecked:
            one = self.unchecked == 1
            lines.append(f"{count_text(self.unchecked, 'older snapshot')} {'was' if one else 'were'} not checked")
        return "\n".join(lines)

    def _summary(self) -> str:
        if self.states and self.target is None:
            return "no snapshot is whole; nothing can be rolled back"
        if not self.is_needed:
            return "nothing to repair"
        would, roll_back, delete, correct = (
            ("would ", "roll back", "delete", "correct")
            if self.dry_run
            else ("", "rolled back", "deleted", "corrected")
        )
        gone = [ids_text(ids, one) for ids, one in ((self.snapshots, "snapshot"), (self.schemas, "schema")) if ids]
        gone += [f"{'tag' if len(self.tags) == 1 else 'tags'} {names_text(self.tags)}"] if self.tags else []
        gone += [ids_text(self.changelogs, "changelog")] if self.changelogs else []
        steps = [f"{roll_back} to snapshot {self.target}"] if self.snapshots or any(s.tag for s in self.states) else []
        steps += [f"{delete} {', '.join(gone)}"] if gone else []
        steps += [f"{correct} {names_text(self.hints)}"] if self.hints else []
        return would + ", ".join(steps)


def repair_torn(store: TableStore, *, dry_run: bool = False) -> TableRepair:
    """Roll a branch back to its newest whole snapshot; see the module for what is deleted."""
    tags, torn_tags = _tags(store)
    states = _states(store, tags)
    found = states[-1] if states and (states[-1].is_whole or states[-1].tag is not None) else None
    plan = _plan(store, states, found, tags, torn_tags)
    if dry_run:
        return replace(plan, dry_run=True)
    if states and found is None:
        raise CorruptError(
            f"no snapshot of table {store.name} is whole, so it cannot be rolled back; the newest: "
            f"{states[0].problems[0]}. Nothing was changed. Restore files from a backup, or roll back to a tag"
        )
    _carry_out(store, plan, found, torn_tags)
    return plan


def _tags(store: TableStore) -> tuple[dict[str, Snapshot], list[str]]:
    """Returns the tags and their snapshots, and the names of tags that cannot be read."""
    found: dict[str, Snapshot] = {}
    torn = []
    for info in store.storage.list(store.paths.tags):
        if info.name.startswith(TAG_PREFIX) and not info.is_dir:
            name = info.name.removeprefix(TAG_PREFIX)
            path = store.paths.tag(name)
            try:
                found[name] = snapshot_from_json(store.storage.read(path), where=path)
            except CorruptError:
                torn.append(name)
            except NotFoundError:  # deleted just now
                continue
    return found, sorted(torn)


def _states(store: TableStore, tags: dict[str, Snapshot]) -> list[SnapshotState]:
    """Returns the snapshots from the newest down to the first one that is whole or can be restored."""
    check = WholeCheck(store)
    states: list[SnapshotState] = []
    for snapshot_id in reversed(store.snapshots.ids()):
        states.append(_state(store, check, snapshot_id, tags))
        if states[-1].is_whole or states[-1].tag is not None:
            break
    return states


def _state(store: TableStore, check: WholeCheck, snapshot_id: int, tags: dict[str, Snapshot]) -> SnapshotState:
    path = store.paths.snapshot(snapshot_id)
    short = path.removeprefix(f"{store.paths.root}/")
    try:
        text = store.storage.read(path)
    except NotFoundError:
        return SnapshotState(snapshot_id, (f"{short} is missing",))
    try:
        snapshot = snapshot_from_json(text, where=path)
    except CorruptError:
        problem = f"{short} is empty" if not text else f"{short} cannot be decoded ({len(text)} bytes)"
        copies = [(name, one) for name, one in tags.items() if one.id == snapshot_id and not check.problems(one)]
        name, copy = copies[0] if copies else (None, None)
        return SnapshotState(snapshot_id, (problem,), copy, name)
    if snapshot.id != snapshot_id:
        return SnapshotState(snapshot_id, (f"{short} says that its id is {snapshot.id}",))
    return SnapshotState(snapshot_id, tuple(check.problems(snapshot)), snapshot)


def _plan(
    store: TableStore,
    states: list[SnapshotState],
    found: SnapshotState | None,
    tags: dict[str, Snapshot],
    torn_tags: list[str],
) -> TableRepair:
    ids = store.snapshots.ids()
    newer = [] if found is None else [number for number in ids if number > found.id]
    left = [number for number in ids if number not in newer]
    kept = found.id if found is not None and newer else None
    beyond = [name for name, one in tags.items() if kept is not None and one.id > kept]
    hopeless = bool(states) and found is None
    schema_id = found.snapshot.schema_id if found is not None and found.snapshot is not None else 0
    return TableRepair(
        table=store.name,
        states=tuple(states),
        target=None if found is None else found.id,
        snapshots=tuple(newer),
        tags=() if hopeless else tuple(sorted({*torn_tags, *beyond})),
        changelogs=tuple(number for number in changelog_ids(store) if kept is not None and number > kept),
        schemas=() if hopeless else tuple(_torn_schemas(store, schema_id)),
        hints=() if hopeless else tuple(sorted(_wrong_hints(store, left))),
        unchecked=len(left) - 1 if found is not None else 0,
        dry_run=False,
    )


def _torn_schemas(store: TableStore, needed: int) -> list[int]:
    """Returns the newest schemas that cannot be read and that no remaining snapshot needs, newest first."""
    torn = []
    for schema_id in reversed(store.schemas.ids()):
        path = store.paths.schema(schema_id)
        try:
            if schema_id <= needed:
                break
            TableSchema.from_json(store.storage.read(path), where=path)
        except CorruptError:
            torn.append(schema_id)
        else:
            break
    return torn


def _wrong_hints(store: TableStore, ids: list[int]) -> dict[str, bytes | None]:
    """Returns the hint files that are there and wrong, with the right content; ``None`` if there is no snapshot."""
    wrong: dict[str, bytes | None] = {}
    for path, end in ((store.paths.latest_hint, -1), (store.paths.earliest_hint, 0)):
        right = str(ids[end]).encode() if ids else None
        with contextlib.suppress(NotFoundError):
            if store.storage.read(path).strip() != right:
                wrong[path.rpartition("/")[2]] = right
    return wrong


def _carry_out(store: TableStore, plan: TableRepair, found: SnapshotState | None, torn_tags: Iterable[str]) -> None:
    for schema_id in plan.schemas:
        store.storage.delete(store.paths.schema(schema_id))
    for name in torn_tags:
        store.storage.delete(store.paths.tag(name))
    if found is not None and found.tag is not None and found.snapshot is not None:
        text = snapshot_to_json(found.snapshot).encode()
        store.storage.replace(store.paths.snapshot(found.id), text, sync=store.syncing())
    if found is not None and plan.snapshots:
        rollback_to(store, snapshot=found.id)
    with contextlib.suppress(LakebedError):  # hints are optional
        for name, content in _wrong_hints(store, store.snapshots.ids()).items():
            path = f"{store.paths.snapshots}/{name}"
            if content is None:
                store.storage.delete(path)
            else:
                store.storage.replace(path, content)
    store.sync([store.paths.schemas, store.paths.tags, store.paths.snapshots])
