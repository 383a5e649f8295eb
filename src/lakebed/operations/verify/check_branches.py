"""Checks the schemas, snapshots, tags, long-lived changelogs, consumers and hints of a branch; reads each file once.

A file that cannot be read becomes a problem and is not part of the result. Nothing is raised.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from lakebed.errors import LakebedError, NotFoundError
from lakebed.format.paths import (
    CHANGELOG_PREFIX,
    CONSUMER_PREFIX,
    MAIN_BRANCH,
    SCHEMA_PREFIX,
    SNAPSHOT_PREFIX,
    TAG_PREFIX,
)
from lakebed.format.schema.table_schema import TableSchema, highest_id
from lakebed.format.snapshot import Snapshot, is_intact, snapshot_from_json
from lakebed.metadata.consumers import find_consumer
from lakebed.metadata.numbered_files import numbered_files
from lakebed.metadata.references.lost_snapshots import lost_all
from lakebed.metadata.store import TableStore
from lakebed.operations.verify.report import Findings, Repair, some

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Holder:
    """A snapshot, tag or long-lived changelog, which keeps files alive. ``label`` is its name in messages."""

    label: str
    path: str
    snapshot: Snapshot
    is_changelog: bool = False
    is_tag: bool = False


@dataclass(slots=True)
class Branch:
    """One branch with everything that could be read; snapshots by ascending id."""

    store: TableStore
    schemas: dict[int, TableSchema] = field(default_factory=dict)
    snapshots: list[Holder] = field(default_factory=list)
    tags: list[Holder] = field(default_factory=list)
    changelogs: list[Holder] = field(default_factory=list)
    snapshot_ids: list[int] = field(default_factory=list)

    @property
    def schema(self) -> TableSchema | None:
        """The latest schema; ``None`` if none could be read."""
        return self.schemas[max(self.schemas)] if self.schemas else None

    @property
    def holders(self) -> list[Holder]:
        return [*self.snapshots, *self.tags, *self.changelogs]

    @property
    def suffix(self) -> str:
        """The text that follows the snapshots of this branch in messages; empty for main."""
        name = self.store.paths.branch
        return "" if name == MAIN_BRANCH else f" of branch {name}"


def read_branch(store: TableStore, found: Findings) -> Branch:
    """Read and check the folders of one branch."""
    branch = Branch(store)
    _read_schemas(branch, found)
    _read_snapshots(branch, found)
    _read_tags(branch, found)
    _read_changelogs(branch, found)
    if not _lost_all(branch, found):
        _check_hints(branch, found)
    _check_consumers(branch, found)
    _check_schema_ids(branch, found)
    return branch


def _attempt(what: str, path: str, read: Callable[[bytes], T], store: TableStore, found: Findings) -> T | None:
    """Returns the parsed content of a small file.

    ``None`` if it was deleted meanwhile, or with a problem if it is damaged.
    """
    try:
        return read(store.storage.read(path))
    except NotFoundError:
        return None
    except LakebedError as error:
        found.error(
            f"unreadable-{what}",
            str(error),
            path,
            f"restore the file from a backup; else delete it, and what only this {what} knew is lost",
        )
        if what != "schema":
            found.blind.append(path)
        return None


# ------------------------------------------------------------------------------------------------------ schemas


def _read_schemas(branch: Branch, found: Findings) -> None:
    store = branch.store
    ids = list(numbered_files(store.storage, store.paths.schemas, SCHEMA_PREFIX))
    for schema_id in ids:
        path = store.paths.schema(schema_id)
        schema = _attempt("schema", path, lambda text, path=path: TableSchema.from_json(text, where=path), store, found)  # type: ignore[misc]
        if schema is None:
            continue
        branch.schemas[schema_id] = schema
        if schema.id != schema_id:
            found.error(
                "wrong-schema-id", f"the schema says that its id is {schema.id}", path, "restore the file from a backup"
            )
        if schema.highest_field_id < highest_id(schema.fields):
            found.error(
                "wrong-highest-field-id",
                f"highestFieldId is {schema.highest_field_id}, but a field has the id {highest_id(schema.fields)}; "
                "the next column would get an id that is taken",
                path,
                "restore the file, or set highestFieldId to the largest id ever used",
            )
    readable = list(branch.schemas.values())
    for older, newer in itertools.pairwise(readable):
        if newer.highest_field_id < older.highest_field_id:
            found.error(
                "wrong-highest-field-id",
                f"highestFieldId went back from {older.highest_field_id} in schema {older.id} to "
                f"{newer.highest_field_id} in schema {newer.id}; an id could be used twice",
                store.paths.schema(newer.id),
                "set highestFieldId to the largest id ever used",
            )


def _check_schema_ids(branch: Branch, found: Findings) -> None:
    """Check that schema ids have no gaps from 0 on, and that the schema of every snapshot exists."""
    paths = branch.store.paths
    ids = list(numbered_files(branch.store.storage, paths.schemas, SCHEMA_PREFIX))
    users: dict[int, list[str]] = {}
    for holder in (*branch.snapshots, *branch.tags):
        users.setdefault(holder.snapshot.schema_id, []).append(holder.label)
    missing = {schema_id for schema_id in users if schema_id not in ids}
    for schema_id in sorted(missing):
        found.error(
            "missing-schema",
            f"schema {schema_id} is not there; {some(users[schema_id])} were made with it",
            paths.schema(schema_id),
            "restore the schema file from a backup",
        )
    holes = sorted(set(range(max(ids, default=0))) - set(ids) - missing)
    if holes:
        found.warning(
            "missing-schema",
            f"schema {some(holes)} is not there, though later ones are",
            paths.schema(holes[0]),
            "restore the schema file from a backup; files written with it need it",
        )
    if not ids:
        found.error(
            "missing-schema", "there is no schema, so there is no table", paths.schemas, "restore the schema files"
        )


# ---------------------------------------------------------------------------------------------------- snapshots


def _read_snapshots(branch: Branch, found: Findings) -> None:
    store = branch.store
    branch.snapshot_ids = ids = list(numbered_files(store.storage, store.paths.snapshots, SNAPSHOT_PREFIX))
    for snapshot_id in ids:
        path = store.paths.snapshot(snapshot_id)
        snapshot = _read_snapshot("snapshot", path, store, found)
        if snapshot is None:
            continue
        branch.snapshots.append(Holder(f"snapshot {snapshot_id}{branch.suffix}", path, snapshot))
        if snapshot.id != snapshot_id:
            found.error(
                "wrong-snapshot-id",
                f"the snapshot says that its id is {snapshot.id}",
                path,
                "restore the file from a backup, or delete it if it was copied there",
            )


def _lost_all(branch: Branch, found: Findings) -> bool:
    """Check that a branch without snapshots never had any. If it had, its hints are signs of that, and not repaired."""
    if branch.snapshot_ids:
        return False
    try:
        lost = lost_all(branch.store)
    except LakebedError:  # a tag cannot be read, which the check of tags reports
        return False
    if lost is not None:
        found.error("no-snapshot", lost.what, lost.path, lost.advice)
        found.blind.append(lost.path)
    return lost is not None


def check_holes(branch: Branch, copied: frozenset[str], found: Findings) -> None:
    """Check that snapshot ids have no gaps. After a fast-forward there may be a gap before the first id of the branch.

    ``copied`` are base lists that several branches refer to.
    """
    store, ids = branch.store, branch.snapshot_ids
    brought = {holder.path for holder in branch.snapshots if holder.snapshot.base_manifest_list in copied}
    for before, after in itertools.pairwise(ids):
        if after > before + 1 and store.paths.snapshot(after) not in brought:
            gone = f"snapshot {before + 1}" if after == before + 2 else f"snapshots {before + 1} to {after - 1}"
            found.blind.append(store.paths.snapshot(before + 1))  # its files are needed if it is restored
            found.error(
                "missing-snapshot",
                f"{gone}{branch.suffix} missing between {before} and {after}; readers that follow the changes lose "
                "them",
                store.paths.snapshot(before + 1),
                "restore the file from a backup, or expire the snapshots before it; "
                "nothing, if a branch was fast-forwarded here",
            )


def _read_snapshot(what: str, path: str, store: TableStore, found: Findings) -> Snapshot | None:
    snapshot = _attempt(what, path, lambda text: snapshot_from_json(text, where=path), store, found)
    if snapshot is not None and not is_intact(snapshot):
        found.error(
            f"damaged-{what}",
            "the values in the file do not fit the checksum that was written with them",
            path,
            f"restore the file from a backup; else do not rely on this {what}",
        )
        found.blind.append(path)
    return snapshot


def _read_tags(branch: Branch, found: Findings) -> None:
    store = branch.store
    for info in sorted(store.storage.list(store.paths.tags), key=lambda info: info.name):
        if info.name.startswith(TAG_PREFIX) and not info.is_dir:
            name = info.name.removeprefix(TAG_PREFIX)
            path = store.paths.tag(name)
            snapshot = _read_snapshot("tag", path, store, found)
            if snapshot is not None:
                branch.tags.append(Holder(f"tag {name}{branch.suffix}", path, snapshot, is_tag=True))


def _read_changelogs(branch: Branch, found: Findings) -> None:
    store = branch.store
    for number in numbered_files(store.storage, store.paths.changelogs, CHANGELOG_PREFIX):
        path = store.paths.changelog(number)
        snapshot = _read_snapshot("changelog", path, store, found)
        if snapshot is not None:
            holder = Holder(f"changelog {number}{branch.suffix}", path, snapshot, is_changelog=True)
            branch.changelogs.append(holder)


# --------------------------------------------------------------------------------------------- hints, consumers


def _check_hints(branch: Branch, found: Findings) -> None:
    store = branch.store
    for name, path, end in (("LATEST", store.paths.latest_hint, -1), ("EARLIEST", store.paths.earliest_hint, 0)):
        try:
            text = store.storage.read(path)
            ids = branch.snapshot_ids
            if ids and text != str(ids[end]).encode():  # another process may have changed it meanwhile
                text = store.storage.read(path)
                ids = list(numbered_files(store.storage, store.paths.snapshots, SNAPSHOT_PREFIX))
        except NotFoundError:
            continue
        except LakebedError as error:
            found.warning(
                "unreadable-hint", str(error), path, "make the file readable, or delete it: it is only a hint"
            )
            continue
        _check_hint(name, path, text, ids[end] if ids else None, found)


def _check_hint(name: str, path: str, text: bytes, right: int | None, found: Findings) -> None:
    word = text.strip()
    hint = int(word) if word.isdigit() and len(word) < 19 else None
    if hint is None:
        found.warning("bad-hint", f"{name} holds {text[:40]!r}, which is no number", path, "verify with repair=True")
    elif hint == right:
        return
    elif name == "LATEST" and (right is None or hint > right):
        found.warning(
            "hint-ahead",
            f"LATEST says {hint}, but the newest snapshot is {right or 'none'}; Apache Paimon believes it",
            path,
            "verify with repair=True",
        )
    else:
        found.info(
            "stale-hint",
            f"{name} says {hint}, the right id is {right or 'none'}",
            path,
            "nothing; the next commit or expiry writes it again",
        )
    if right is None:
        found.repairs.append(Repair(f"{name} is wrong, and there is no snapshot", path, "delete"))
    else:
        found.repairs.append(Repair(f"{name} is wrong, {right} is right", path, "write", str(right).encode()))


def _check_consumers(branch: Branch, found: Findings) -> None:
    store, ids = branch.store, branch.snapshot_ids
    for info in sorted(store.storage.list(store.paths.consumers), key=lambda info: info.name):
        if info.is_dir or not info.name.startswith(CONSUMER_PREFIX):
            continue
        name = info.name.removeprefix(CONSUMER_PREFIX)
        path = store.paths.consumer(name)
        try:
            following = find_consumer(store, name)
        except LakebedError as error:
            found.warning("bad-consumer", str(error), path, "reset the consumer, or delete it")
            continue
        if following is None:  # it was deleted just now
            continue
        if ids and not ids[0] <= following <= ids[-1] + 1:
            where = "expired" if following < ids[0] else "does not exist"
            found.warning(
                "lost-consumer",
                f"consumer {name} wants snapshot {following} next, which {where}; there are {ids[0]} to {ids[-1]}",
                path,
                "reset the consumer, or delete it",
            )
