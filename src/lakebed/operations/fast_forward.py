"""Fast-forward: main (or the branch that the table is open on) takes over the history of a branch.

Let e be the earliest snapshot of the branch. On main, snapshots and tags from e on and schemas from the schema of e on
are deleted, and those of the branch are copied. Older ones on main stay, and the branch stays. What is equal on both is
not touched, so a second call does nothing.

All files of the branch are read before main changes, and read again if the branch changed meanwhile. So what happens
to the branch afterwards cannot stop the work halfway. The steps, and what a reader of main sees after each of them:

1. Where both have different schemas with the same id, the snapshots and tags of main with such schemas are deleted,
   newest first, before the schemas of the branch replace them: main at an earlier snapshot. If main would have no
   snapshot then, the first snapshots of the branch are copied before, as far as their schemas are those of main.
2. Schemas that only the branch has are copied: main unchanged.
3. The snapshots of the branch are copied in ascending order: main unchanged, or the branch at one of its snapshots.
4. Snapshots of main after the last one of the branch are deleted, newest first: main at an earlier snapshot, finally
   the branch. Long-lived changelogs from e on are deleted too, because they belong to the old history.
5. Tags, then schemas that only main had.

So main is readable and without gaps at any time, and calling again completes an interrupted run. A commit to main in
the meantime is deleted too, and the result names it. Data files of deleted snapshots are left to the removal of orphan
files.

Snapshots that expired on the branch meanwhile are deleted from main again, because their files may be missing. This
only happens while the newest copied snapshot is still on the branch, so main is never left without a snapshot. If it is
not (the branch was dropped, created again or expired as a whole), main keeps what the branch had at the beginning, and
the call raises an error that says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from lakebed.errors import CommitConflictError, LakebedError, NotFoundError, OptionError, UnsupportedError
from lakebed.format.human_text import ids_text, names_text
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.printed import Printed
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot, snapshot_from_json
from lakebed.metadata.changelogs import changelog_ids, remove_changelogs
from lakebed.metadata.references.deletable import check_own_folders
from lakebed.metadata.store import TableStore
from lakebed.storage import run_all, run_together

_NONE: Final = 2**63
_ATTEMPTS: Final = 20
_THREADS: Final = 8

_Key = TypeVar("_Key", int, str)


@dataclass(frozen=True, slots=True, repr=False)
class FastForward(Printed):
    """What a fast-forward deleted from main and copied to it, or would in a dry run.

    Attributes:
        branch: The branch that main became equal to.
        removed_snapshots: The ids of snapshots that were deleted from main.
        removed_tags: The names of tags that were deleted from main.
        removed_schemas: The ids of schemas that were deleted from main.
        copied_snapshots: The ids of snapshots that were copied from the branch.
        copied_tags: The names of tags that were copied from the branch.
        copied_schemas: The ids of schemas that were copied from the branch.
        dry_run: Whether nothing was changed.

    Example:
        >>> print(FastForward("dev", (3,), (), (), (3, 4, 5), ("v1",), (), dry_run=True))
        would fast-forward to branch 'dev':
          copy 3 snapshots (3 to 5), tag v1
          delete snapshot 3
    """

    branch: str
    removed_snapshots: tuple[int, ...]
    removed_tags: tuple[str, ...]
    removed_schemas: tuple[int, ...]
    copied_snapshots: tuple[int, ...]
    copied_tags: tuple[str, ...]
    copied_schemas: tuple[int, ...]
    dry_run: bool

    def __str__(self) -> str:
        copied = _parts(self.copied_snapshots, self.copied_tags, self.copied_schemas)
        removed = _parts(self.removed_snapshots, self.removed_tags, self.removed_schemas)
        if not copied and not removed:
            return f"branch {self.branch!r} holds nothing new"
        copy, delete = ("copy", "delete") if self.dry_run else ("copied", "deleted")
        lines = [f"{'would fast-forward' if self.dry_run else 'fast-forwarded'} to branch {self.branch!r}:"]
        lines += [f"  {verb} {text}" for verb, text in ((copy, copied), (delete, removed)) if text]
        return "\n".join(lines)


def _parts(snapshots: Sequence[int], tags: Sequence[str], schemas: Sequence[int]) -> str:
    parts = [ids_text(ids, one) for ids, one in ((snapshots, "snapshot"), (schemas, "schema")) if ids]
    if tags:
        parts.insert(1 if snapshots else 0, f"{'tag' if len(tags) == 1 else 'tags'} {names_text(tags)}")
    return ", ".join(parts)


def fast_forward(store: TableStore, name: str, *, dry_run: bool = False) -> FastForward:
    """Make main equal to the branch; see the module for what is deleted and copied."""
    if name in {MAIN_BRANCH, store.paths.branch}:
        raise OptionError(f"branch {store.paths.branch!r} of table {store.name} cannot be fast-forwarded to {name!r}")
    branch, files = _read_branch(store, name)
    work = _Work(store, branch, files, _differences(store, branch, files))
    work.check()
    if not dry_run:
        work.run()
    return work.result(dry_run=dry_run)


# ------------------------------------------------------------------------------------------------ reading the branch


@dataclass(frozen=True, slots=True)
class _BranchFiles:
    """The content of all snapshot, tag and schema files of the branch at one moment, by id or name."""

    snapshots: dict[int, bytes]
    tags: dict[str, bytes]
    schemas: dict[int, bytes]

    def are_still_those_of(self, branch: TableStore) -> bool:
        """Whether the branch still has all these files; newer ones do not matter.

        A branch that was created again has another newest snapshot, or only that one.
        """
        last = max(self.snapshots)
        return (
            self.snapshots.keys() <= set(branch.snapshots.ids())
            and self.tags.keys() <= branch.snapshots.tags().keys()
            and self.schemas.keys() <= set(branch.schemas.ids())
            and branch.storage.read(branch.paths.snapshot(last)) == self.snapshots[last]
        )


def _read_branch(store: TableStore, name: str) -> tuple[TableStore, _BranchFiles]:
    """Returns the branch and its files, all of the same moment."""
    for _ in range(_ATTEMPTS):
        branch = store.on_branch(name)
        ids = branch.snapshots.ids()
        if not ids and name in store.branch_names() and not branch.snapshots.ids():
            raise NotFoundError(
                f"branch {name!r} of table {store.name} has no snapshot to fast-forward to; write to it first"
            )
        with contextlib.suppress(NotFoundError):  # the branch was dropped, or a snapshot expired: look again
            files = _BranchFiles(
                _read_all(branch, reversed(ids), branch.paths.snapshot),
                _read_all(branch, branch.snapshots.tags(), branch.paths.tag),
                _read_all(branch, branch.schemas.ids(), branch.paths.schema),
            )
            if ids and files.are_still_those_of(branch):
                return branch, files
    raise CommitConflictError(
        f"branch {name!r} of table {store.name} changed every time it was read, so {store.paths.branch!r} was not "
        "fast-forwarded to it and is unchanged; call again when no other process drops, creates or expires the branch"
    )


def _read_all(branch: TableStore, names: Iterable[_Key], path: Callable[[_Key], str]) -> dict[_Key, bytes]:
    listed = list(names)
    reads = [partial(branch.storage.read, path(name)) for name in listed]
    found = run_all(branch.storage, reads) if len(listed) < _THREADS else run_together(reads, _THREADS)
    return dict(zip(listed, found, strict=True))


@dataclass(frozen=True, slots=True)
class _Differences:
    """The differences between main and the branch, from the earliest snapshot of the branch on."""

    first: Snapshot
    last: int
    theirs: dict[int, Snapshot]  # all snapshots of the branch
    own_snapshots: tuple[Snapshot, ...]  # snapshots of main that are deleted or replaced
    snapshots: tuple[int, ...]  # snapshots of the branch that main lacks or has with other content
    own_tags: dict[str, Snapshot]
    tags: tuple[str, ...]
    own_schemas: tuple[int, ...]  # only on main, from the schema of the first snapshot on
    changed_schemas: tuple[int, ...]  # on both, with different content
    schemas: tuple[int, ...]  # only on the branch

    @property
    def first_changed_schema(self) -> int:
        return min(self.changed_schemas, default=_NONE)


def _differences(store: TableStore, branch: TableStore, files: _BranchFiles) -> _Differences:
    theirs = {
        number: snapshot_from_json(text, where=branch.paths.snapshot(number))
        for number, text in sorted(files.snapshots.items())
    }
    first = theirs[min(theirs)]
    ours = {one.id: one for one in store.snapshots.read_many([n for n in store.snapshots.ids() if n >= first.id])}
    our_tags, our_schemas = store.snapshots.tags(), store.schemas.ids()
    return _Differences(
        first=first,
        last=max(theirs),
        theirs=theirs,
        own_snapshots=tuple(one for number, one in ours.items() if theirs.get(number) != one),
        snapshots=tuple(number for number, one in theirs.items() if ours.get(number) != one),
        own_tags={name: one for name, one in our_tags.items() if one.id >= first.id and name not in files.tags},
        tags=tuple(name for name, text in files.tags.items() if _tag_bytes(store, name) != text),
        own_schemas=tuple(n for n in our_schemas if n >= first.schema_id and n not in files.schemas),
        changed_schemas=tuple(
            number
            for number in our_schemas
            if number in files.schemas and not _is_same_schema(store, branch, number, files.schemas[number])
        ),
        schemas=tuple(number for number in files.schemas if number not in our_schemas),
    )


def _tag_bytes(store: TableStore, tag: str) -> bytes | None:
    try:
        return store.storage.read(store.paths.tag(tag))
    except NotFoundError:
        return None


def _is_same_schema(store: TableStore, branch: TableStore, schema_id: int, text: bytes) -> bool:
    """Compares a schema as it is on disk, bypassing caches: a fast-forward may replace the content of a schema."""
    path = store.paths.schema(schema_id)
    ours = TableSchema.from_json(store.storage.read(path), where=path)
    return ours == TableSchema.from_json(text, where=branch.paths.schema(schema_id))


# ----------------------------------------------------------------------------------------------------- changing main


@dataclass
class _Work:
    """One fast-forward."""

    store: TableStore
    branch: TableStore
    files: _BranchFiles
    plan: _Differences
    also_removed: set[int] = field(default_factory=set)
    copied: set[int] = field(default_factory=set)

    def check(self) -> None:
        """Raise if a snapshot or tag that stays on main needs a schema that is replaced or deleted."""
        check_own_folders(self.store)
        lost = min((*self.plan.changed_schemas, *self.plan.own_schemas), default=_NONE)
        if lost == _NONE:
            return
        first = self.plan.first.id
        ids = [number for number in self.store.snapshots.ids() if number < first]
        stay = {f"snapshot {one.id}": one for one in self.store.snapshots.read_many(ids[-1:])}
        tags = self.store.snapshots.tags()
        stay |= {f"tag {name!r}": one for name, one in tags.items() if one.id < first and name not in self.files.tags}
        for what, snapshot in stay.items():
            if snapshot.schema_id >= lost:
                raise UnsupportedError(
                    f"table {self.store.name} cannot be fast-forwarded to branch {self.branch.paths.branch!r}: the "
                    f"branch begins at snapshot {first}, so {what} stays, but it needs schema {snapshot.schema_id}, "
                    f"which is different on the branch; expire snapshots before {first} and delete such tags first"
                )

    def run(self) -> None:
        store, plan = self.store, self.plan
        with contextlib.suppress(LakebedError):
            store.storage.delete(store.paths.latest_hint)  # without the hint, readers list the snapshots
        withdrawn = self._withdraw()
        self._sync()  # after a power cut no snapshot of main may be there with a schema of the branch
        for schema_id in sorted({*plan.schemas, *plan.changed_schemas}):
            text = self.files.schemas[schema_id]
            store.storage.replace(store.paths.schema(schema_id), text, sync=store.syncing())
        for number in sorted({*plan.snapshots, *(withdrawn & plan.theirs.keys())} - self.copied):
            self._put_snapshot(number)
        self._remove_beyond()
        other_past = [number for number in changelog_ids(store) if number >= plan.first.id]
        if other_past:
            remove_changelogs(store, reversed(other_past))
        for name in plan.own_tags:
            store.storage.delete(store.paths.tag(name))
        for name in plan.tags:
            store.storage.replace(store.paths.tag(name), self.files.tags[name], sync=store.syncing())
        self._sync()  # before the schemas that only the deleted snapshots and tags need
        for schema_id in plan.own_schemas:
            store.storage.delete(store.paths.schema(schema_id))
        self._remove_strays()
        is_same_branch = self._take_back_expired()
        self._sync()
        self._write_hints()
        if not is_same_branch:
            raise self._other_branch()

    def _sync(self) -> None:
        paths = self.store.paths
        self.store.sync([paths.snapshots, paths.changelogs, paths.tags, paths.schemas])

    def _withdraw(self) -> set[int]:
        """Delete what would be read with the wrong schema once the schemas of the branch are copied."""
        store, plan = self.store, self.plan
        changed = plan.first_changed_schema
        if changed == _NONE:
            return set()
        withdrawn = set()
        if all(one.schema_id >= changed for one in store.snapshots.read_many(store.snapshots.ids())):
            for number in (number for number, one in plan.theirs.items() if one.schema_id < changed):
                self._put_snapshot(number)
        for snapshot in reversed(store.snapshots.read_many(store.snapshots.ids())):
            if snapshot.schema_id >= changed:
                store.storage.delete(store.paths.snapshot(snapshot.id))
                withdrawn.add(snapshot.id)
        for name, snapshot in store.snapshots.tags().items():
            if snapshot.schema_id >= changed:
                store.storage.delete(store.paths.tag(name))
        for schema_id in reversed(plan.own_schemas):
            if schema_id > changed:
                store.storage.delete(store.paths.schema(schema_id))
        self.also_removed |= withdrawn - plan.theirs.keys()
        return withdrawn

    def _put_snapshot(self, number: int) -> None:
        path, text = self.store.paths.snapshot(number), self.files.snapshots[number]
        self.copied.add(number)
        if not self.store.storage.create_exclusive(path, text, sync=self.store.syncing()):
            self.also_removed.add(number)
            self.store.storage.replace(path, text, sync=self.store.syncing())

    def _remove_beyond(self) -> None:
        while beyond := [number for number in self.store.snapshots.ids() if number > self.plan.last]:
            for number in reversed(beyond):
                self.store.storage.delete(self.store.paths.snapshot(number))
            self.also_removed.update(beyond)

    def _remove_strays(self) -> None:
        """Delete commits after the last snapshot of the branch, which may have used a deleted schema."""
        beyond = [number for number in self.store.snapshots.ids() if number > self.plan.last]
        for snapshot in reversed(self.store.snapshots.read_many(beyond)):
            if snapshot.schema_id in self.plan.own_schemas:
                self.store.storage.delete(self.store.paths.snapshot(snapshot.id))
                self.also_removed.add(snapshot.id)

    def _take_back_expired(self) -> bool:
        """Delete copied snapshots that expired on the branch meanwhile, because their files may be missing.

        Returns ``False`` and deletes nothing if the branch does not have the last copied snapshot any more.
        """
        ids, last = self.branch.snapshots.ids(), self.plan.last
        if last not in ids or self.branch.snapshots.find(last) != self.plan.theirs[last]:
            return False
        for number in self.copied:
            if number < ids[0]:
                self.store.storage.delete(self.store.paths.snapshot(number))
        return True

    def _other_branch(self) -> NotFoundError:
        own, name = self.store.paths.branch, self.branch.paths.branch
        return NotFoundError(
            f"snapshot {self.plan.last} of branch {name!r} of table {self.store.name} does not exist any more: the "
            f"branch was dropped, created again or expired while {own!r} was fast-forwarded to it. {own!r} now has "
            f"{ids_text(tuple(self.plan.theirs), 'snapshot')} as the branch had them before; call verify() to check "
            "that their files exist, and rollback_to() or fast_forward() if you want another state"
        )

    def _write_hints(self) -> None:
        paths, ids = self.store.paths, self.store.snapshots.ids()
        if not ids:  # another process deleted them
            return
        with contextlib.suppress(LakebedError):
            self.store.storage.replace(paths.earliest_hint, str(ids[0]).encode())
            self.store.storage.replace(paths.latest_hint, str(ids[-1]).encode())

    def result(self, *, dry_run: bool) -> FastForward:
        plan = self.plan
        return FastForward(
            branch=self.branch.paths.branch,
            removed_snapshots=tuple(sorted({one.id for one in plan.own_snapshots} | self.also_removed)),
            removed_tags=tuple(sorted(plan.own_tags)),
            removed_schemas=plan.own_schemas,
            copied_snapshots=plan.snapshots,
            copied_tags=plan.tags,
            copied_schemas=tuple(sorted({*plan.schemas, *plan.changed_schemas})),
            dry_run=dry_run,
        )
