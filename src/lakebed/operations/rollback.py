"""Roll back: an earlier snapshot of a branch becomes the latest again.

Newer snapshots, their tags and newer long-lived changelogs are deleted. Schemas stay, and data files are left to the
removal of orphan files. Snapshots are deleted from the newest down: after a crash the branch is at a snapshot between
the old latest and the target, and another rollback completes the work. A commit in the meantime is rolled back too: the
snapshots are listed again until none is newer than the target.

If the target is a tag whose snapshot has expired, the snapshot file is restored first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from lakebed.errors import LakebedError, NotFoundError, OptionError
from lakebed.format.human_text import ids_text, names_text
from lakebed.format.printed import Printed
from lakebed.format.snapshot import Snapshot, snapshot_to_json
from lakebed.metadata.changelogs import changelog_ids, remove_changelogs
from lakebed.metadata.history.by_time import snapshot_at, snapshot_at_watermark
from lakebed.metadata.references.deletable import check_own_folders
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import get_tag


@dataclass(frozen=True, slots=True, repr=False)
class RollbackPlan(Printed):
    """What a rollback deleted, or would delete in a dry run.

    Attributes:
        target: The snapshot that is the latest one afterwards.
        snapshots: The ids of the newer snapshots that are deleted.
        tags: The names of the tags on those snapshots.
        changelogs: The ids of newer long-lived changelogs.
        recreates_snapshot: Whether the snapshot has expired and is restored from its tag.
        dry_run: Whether nothing was changed.
    """

    target: Snapshot
    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    changelogs: tuple[int, ...]
    recreates_snapshot: bool
    dry_run: bool

    def __str__(self) -> str:
        tags = f"{'tag' if len(self.tags) == 1 else 'tags'} {names_text(self.tags)}" if self.tags else ""
        gone = [
            ids_text(self.snapshots, "snapshot") if self.snapshots else "",
            tags,
            ids_text(self.changelogs, "changelog") if self.changelogs else "",
        ]
        roll_back, delete = ("would roll back", "would delete") if self.dry_run else ("rolled back", "deleted")
        return f"{roll_back} to snapshot {self.target.id}: {delete} {', '.join(filter(None, gone)) or 'nothing'}"


def rollback_to(
    store: TableStore,
    *,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp_millis: int | None = None,
    watermark: int | None = None,
    dry_run: bool = False,
    check: Callable[[Snapshot], None] | None = None,
) -> RollbackPlan:
    """Roll a branch back to a snapshot, a tag, or the newest snapshot at a time (epoch milliseconds) or a watermark.

    ``check`` is called with the target first, and raises if the branch must not be rolled back to it.
    """
    if sum(given is not None for given in (snapshot, tag, timestamp_millis, watermark)) != 1:
        raise OptionError("a rollback needs exactly one of a snapshot, a tag, a timestamp and a watermark")
    plan = _plan(store, _target(store, snapshot, tag, timestamp_millis, watermark))
    if check is not None:
        check(plan.target)
    if dry_run:
        return replace(plan, dry_run=True)
    check_own_folders(store)
    if plan.recreates_snapshot:
        _recreate(store, plan.target, tag)
    _set_hint(store, store.paths.latest_hint, plan.target.id)
    gone = _delete_newer_snapshots(store, plan.target)
    changelogs = _changelogs_after(store, plan.target)
    if changelogs:
        remove_changelogs(store, reversed(changelogs))
    tags = _tags_after(store, plan.target)
    for name in tags:
        store.storage.delete(store.paths.tag(name))
    store.sync([store.paths.snapshots, store.paths.changelogs, store.paths.tags])
    _set_hint(store, store.paths.latest_hint, plan.target.id)
    return replace(
        plan,
        snapshots=tuple(sorted({*plan.snapshots, *gone})),
        tags=tuple(sorted({*plan.tags, *tags})),
        changelogs=tuple(sorted({*plan.changelogs, *changelogs})),
    )


def _target(
    store: TableStore, snapshot: int | None, tag: str | None, timestamp_millis: int | None, watermark: int | None
) -> Snapshot:
    if tag is not None:
        return get_tag(store, tag).snapshot
    if watermark is not None:
        reached = snapshot_at_watermark(store, watermark)
        if reached is None:
            raise NotFoundError(
                f"table {store.name} has no snapshot with a watermark of at most {watermark}; choose a snapshot or a "
                "tag"
            )
        return reached
    if timestamp_millis is None:
        return store.snapshots.get(snapshot or 0)
    found = snapshot_at(store, timestamp_millis)
    if found is None:
        raise NotFoundError(
            f"table {store.name} has no snapshot at or before {timestamp_millis} (epoch milliseconds); "
            "choose a later moment, or a tag"
        )
    return found


def _plan(store: TableStore, target: Snapshot) -> RollbackPlan:
    return RollbackPlan(
        target=target,
        snapshots=tuple(number for number in store.snapshots.ids() if number > target.id),
        tags=tuple(_tags_after(store, target)),
        changelogs=tuple(_changelogs_after(store, target)),
        recreates_snapshot=store.snapshots.find(target.id) != target,
        dry_run=False,
    )


def _tags_after(store: TableStore, target: Snapshot) -> list[str]:
    return [name for name, tagged in store.snapshots.tags().items() if tagged.id > target.id]


def _changelogs_after(store: TableStore, target: Snapshot) -> list[int]:
    return [number for number in changelog_ids(store) if number > target.id]


def _recreate(store: TableStore, target: Snapshot, tag: str | None) -> None:
    """Restore the snapshot file of a tag.

    If the tag is deleted meanwhile, its files may be too, so raise without a rollback.
    """
    if tag is None:
        raise _gone(store, target)
    path, text = store.paths.snapshot(target.id), snapshot_to_json(target).encode()
    before: bytes | None = None
    if not store.storage.create_exclusive(path, text, sync=store.syncing()):
        # A later commit uses the id; it is deleted like the newer ones.
        before = store.storage.read(path)
        store.storage.replace(path, text, sync=store.syncing())
    if store.snapshots.find_tag(tag) != target:
        if before is None:
            store.storage.delete(path)
        else:
            store.storage.replace(path, before, sync=store.syncing())
        raise _gone(store, target)
    _set_hint(store, store.paths.earliest_hint, min(store.snapshots.ids()))


def _gone(store: TableStore, target: Snapshot) -> NotFoundError:
    return NotFoundError(
        f"snapshot {target.id} of table {store.name} was deleted before the rollback started; nothing was rolled back"
    )


def _delete_newer_snapshots(store: TableStore, target: Snapshot) -> set[int]:
    if store.snapshots.find(target.id) != target:
        raise _gone(store, target)
    gone: set[int] = set()
    while newer := [number for number in store.snapshots.ids() if number > target.id]:
        for number in reversed(newer):
            store.storage.delete(store.paths.snapshot(number))
        gone.update(newer)
    return gone


def _set_hint(store: TableStore, path: str, snapshot_id: int) -> None:
    with contextlib.suppress(LakebedError):  # hints are optional
        store.storage.replace(path, str(snapshot_id).encode())
