"""Tags: names for snapshots. A tag keeps the files of its snapshot after the snapshot expires.

A tag is one file, ``tag/tag-<name>`` of a branch. It is created exclusively and replaced atomically, so there is never
an incomplete tag. The following holds also if calls run at the same time or die:

* A tag that was acknowledged keeps its snapshot readable. After writing it, :func:`create_tag` checks that the snapshot
  (or the tag that it was found in) still exists. If it does not, its files may be deleted at this moment, so the tag is
  deleted again and the call fails.
* :func:`rename_tag` writes the new name before it deletes the old one. If it dies in between, both exist; renaming
  again completes it.
* :func:`drop_tag` and :func:`expire_tags` first delete the tag files, and then the files that no snapshot and no
  other tag of any branch needs. If they die in between, the removal of orphan files deletes the rest.
* :func:`replace_tag` leaves the files that only the old snapshot needed to the removal of orphan files, as Paimon does.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from lakebed.errors import (
    AlreadyExistsError,
    CorruptError,
    LakebedError,
    NotFoundError,
    OptionError,
    unknown_name,
)
from lakebed.format.paths import TAG_PREFIX, check_name
from lakebed.format.snapshot import Snapshot
from lakebed.format.tag import Tag, tag_from_json, tag_to_json
from lakebed.format.time_text import local_datetime, parse_length, parse_time
from lakebed.metadata.history.by_time import snapshot_since
from lakebed.metadata.one_look import one_look
from lakebed.metadata.references.deletable import check_own_folders
from lakebed.metadata.references.holders import only_needed_by
from lakebed.metadata.references.removal import DoomedFile, Removal, delete_files
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.storage import run_all, run_both

__all__ = [
    "Tag",
    "create_tag",
    "create_tag_since",
    "drop_tag",
    "expire_tags",
    "find_tag",
    "get_tag",
    "list_tags",
    "rename_tag",
    "replace_tag",
]

# ------------------------------------------------------------------------------------------------- looking


def list_tags(store: TableStore) -> list[Tag]:
    """Returns every tag of the branch, by name."""
    return _read_tags(store, sorted(_modified_millis(store)))


def _read_tags(store: TableStore, names: Sequence[str]) -> list[Tag]:
    found = run_all(store.storage, [partial(find_tag, store, name) for name in names])
    return [tag for tag in found if tag is not None]


def find_tag(store: TableStore, name: str) -> Tag | None:
    """Returns one tag, or ``None`` if there is no such tag."""
    text = _read(store, name)
    return None if text is None else tag_from_json(name, text, where=store.paths.tag(name))


def get_tag(store: TableStore, name: str) -> Tag:
    """Returns one tag."""
    return tag_from_json(name, _existing(store, name), where=store.paths.tag(name))


def _read(store: TableStore, name: str) -> bytes | None:
    try:
        return store.storage.read(store.paths.tag(name))
    except NotFoundError:
        return None


def _existing(store: TableStore, name: str) -> bytes:
    """Returns the text of an existing tag without parsing it, so that a damaged tag can be replaced or deleted."""
    listed, text = run_both(store.storage, partial(_modified_millis, store), partial(_read_if_named, store, name))
    if text is None and name in listed:  # another engine gave it a name that Lakebed does not give
        text = _read(store, name)
    if text is None or name not in listed:
        raise _no_tag(store, name)
    return text


def _read_if_named(store: TableStore, name: str) -> bytes | None:
    """Returns the text of a tag; ``None`` also for what cannot be the name of one."""
    try:
        check_name(name, "tag")
    except OptionError:
        return None
    return _read(store, name)


def _no_tag(store: TableStore, name: str) -> NotFoundError:
    return NotFoundError(unknown_name("tag", name, sorted(_modified_millis(store)), where=f"table {store.name}"))


def _modified_millis(store: TableStore) -> dict[str, int]:
    return {
        info.name.removeprefix(TAG_PREFIX): info.modified_millis
        for info in store.storage.list(store.paths.tags)
        if info.name.startswith(TAG_PREFIX) and not info.is_dir
    }


# ------------------------------------------------------------------------------------------------- making


@one_look()
def create_tag(
    store: TableStore,
    name: str,
    *,
    snapshot: int | None = None,
    time_retained: str | dt.timedelta | None = None,
    ignore_if_exists: bool = False,
    now: dt.datetime | None = None,
) -> Tag:
    """Creates a tag for a snapshot: by default the latest, or one that only another tag keeps.

    ``time_retained`` is how long the tag is kept, a timedelta or a text such as ``7 d``. The default is the option
    ``tag.default-time-retained``; without both the tag does not expire.
    """
    check_name(name, "tag")
    existing, _ = run_both(store.storage, partial(find_tag, store, name), store.look)
    if existing is None:
        source = _source(store, snapshot)
        length = _length(time_retained) or _default_length(store)
        tag = _tag(name, source.snapshot, length, now)
        if _create(store, tag):
            _keep_if_held(store, source, tag, before=None)
            return tag
        existing = get_tag(store, name)
    if ignore_if_exists:
        return existing
    raise AlreadyExistsError(
        f"tag {name!r} of table {store.name} already exists on snapshot {existing.snapshot.id}; replace or delete it"
    )


def create_tag_since(
    store: TableStore, name: str, time_millis: int, *, time_retained: str | dt.timedelta | None = None
) -> Tag:
    """Creates a tag for the first snapshot that was committed at a time (epoch milliseconds) or later."""
    found = snapshot_since(store, time_millis)
    if found is None:
        raise NotFoundError(
            f"table {store.name} has no snapshot at or after {time_millis} (epoch milliseconds); choose an earlier time"
        )
    return create_tag(store, name, snapshot=found.id, time_retained=time_retained)


def replace_tag(
    store: TableStore,
    name: str,
    *,
    snapshot: int | None = None,
    time_retained: str | dt.timedelta | None = None,
    now: dt.datetime | None = None,
) -> Tag:
    """Replaces the snapshot of a tag, by default with the latest. Without a retention the tag does not expire."""
    before = _existing(store, name)
    source = _source(store, snapshot)
    tag = _tag(name, source.snapshot, _length(time_retained), now)
    store.storage.replace(store.paths.tag(name), tag_to_json(tag).encode(), sync=store.syncing())
    _keep_if_held(store, source, tag, before=before)
    return tag


def rename_tag(store: TableStore, old: str, new: str) -> None:
    """Renames a tag."""
    check_name(new, "tag")
    if old == new:
        raise OptionError(f"tag {old!r} of table {store.name} cannot be renamed to itself; give another name")
    text = _existing(store, old)
    # An interrupted rename leaves the same content under the new name.
    made = store.storage.create_exclusive(store.paths.tag(new), text, sync=store.syncing())
    if not made and _read(store, new) != text:
        raise AlreadyExistsError(f"tag {new!r} of table {store.name} already exists; delete it first")
    if _read(store, old) != text:  # the tag was deleted meanwhile, and perhaps its files too
        store.storage.delete(store.paths.tag(new))
        raise _no_tag(store, old)
    store.storage.delete(store.paths.tag(old))
    store.sync([store.paths.tags])


@dataclass(frozen=True, slots=True)
class _Source:
    """A snapshot to be tagged, and the tag that keeps it if its own file does not exist."""

    snapshot: Snapshot
    tag: str | None = None

    def is_there(self, store: TableStore) -> bool:
        found = store.snapshots.find(self.snapshot.id) if self.tag is None else store.snapshots.find_tag(self.tag)
        return found == self.snapshot


def _source(store: TableStore, snapshot_id: int | None) -> _Source:
    if snapshot_id is None:
        latest = store.latest_snapshot()
        if latest is None:
            raise NotFoundError(f"table {store.name} has no snapshot to tag; write to it first")
        return _Source(latest)
    if isinstance(snapshot_id, bool) or not isinstance(snapshot_id, int):
        raise OptionError(f"snapshot must be the id of a snapshot, not {snapshot_id!r}")
    found = store.snapshots.find(snapshot_id)
    if found is not None:
        return _Source(found)
    for tag in list_tags(store):
        if tag.snapshot.id == snapshot_id:
            return _Source(tag.snapshot, tag.name)
    return _Source(store.snapshots.get(snapshot_id))


def _tag(name: str, snapshot: Snapshot, length: dt.timedelta | None, now: dt.datetime | None) -> Tag:
    if length is None:
        return Tag(name, snapshot)
    return Tag(name, snapshot, _local(now) if now is not None else dt.datetime.now(), length)  # noqa: DTZ005 - local


def _create(store: TableStore, tag: Tag) -> bool:
    """Writes a tag file; returns ``False`` if the name is taken. After an unclear failure the content decides."""
    text = tag_to_json(tag).encode()
    try:
        return store.storage.create_exclusive(store.paths.tag(tag.name), text, sync=store.syncing())
    except LakebedError:
        with contextlib.suppress(LakebedError):
            if _read(store, tag.name) == text:
                store.sync([store.paths.tag(tag.name)])
                return True
        raise


def _keep_if_held(store: TableStore, source: _Source, tag: Tag, *, before: bytes | None) -> None:
    """Deletes a new tag and raises NotFoundError if its snapshot expired while the tag was written."""
    try:
        if source.is_there(store):
            return
    except LakebedError:
        _take_back(store, tag, before)
        raise
    _take_back(store, tag, before)
    raise NotFoundError(
        f"snapshot {source.snapshot.id} of table {store.name} expired while tag {tag.name!r} was written; "
        "tag another snapshot"
    )


def _take_back(store: TableStore, tag: Tag, before: bytes | None) -> None:
    path = store.paths.tag(tag.name)
    if before is None:
        store.storage.delete(path)
    else:
        store.storage.replace(path, before, sync=store.syncing())


def _length(given: str | dt.timedelta | None) -> dt.timedelta | None:
    """Returns a retention as a length of time."""
    if given is None:
        return None
    length = parse_length(given, "time_retained")
    if length <= dt.timedelta(0):
        raise OptionError(f"time_retained is {given!r}; it must be longer than zero")
    return length


def _default_length(store: TableStore) -> dt.timedelta | None:
    seconds = TableOptions(store.schema().options).tag_default_time_retained
    try:
        return None if seconds is None else dt.timedelta(seconds=seconds)
    except OverflowError:
        return dt.timedelta.max


# ---------------------------------------------------------------------------------------------- taking away


def drop_tag(store: TableStore, name: str, *, dry_run: bool = False, ignore_if_missing: bool = False) -> Removal:
    """Drops a tag and deletes the files that only it needed. Returns the deleted files, or those of a dry run."""
    try:
        text = _existing(store, name)
    except NotFoundError:
        if not ignore_if_missing:
            raise
        return Removal((), dry_run)
    return _delete(store, {name: text}, dry_run=dry_run)


def expire_tags(
    store: TableStore,
    *,
    older_than: object = None,
    dry_run: bool = False,
    now: dt.datetime | None = None,
) -> list[str]:
    """Deletes the tags whose retention is over, and returns their names.

    With ``older_than``, a time or a length of time before now such as ``30 d``, tags that were created before it are
    deleted too. ``tag.time-expire-enabled=false`` only means that commits do not call this. Tags without a retention
    have no creation time; the time of their file counts.
    """
    moment = dt.datetime.now() if now is None else _local(now)  # noqa: DTZ005 - tags hold local times
    limit = None if older_than is None else _moment(older_than, moment)
    written = _modified_millis(store)
    doomed = []
    for tag in _read_tags(store, sorted(written)):
        made = tag.create_time or local_datetime(written.get(tag.name, 0))
        up = tag.expires_at is not None and tag.expires_at < moment
        if up or (limit is not None and made < limit):
            doomed.append(tag.name)
    read = run_all(store.storage, [partial(_read, store, name) for name in doomed])
    texts = {name: text for name, text in zip(doomed, read, strict=True) if text is not None}
    _delete(store, texts, dry_run=dry_run)
    return sorted(texts)


def _delete(store: TableStore, texts: dict[str, bytes], *, dry_run: bool) -> Removal:
    """Deletes tag files, then the files that nothing else needs. No other files are deleted for damaged tags."""
    snapshots = _snapshots_of(store, texts)
    files = [DoomedFile(store.paths.tag(name), len(text), "tag") for name, text in texts.items()]
    if files and not dry_run:
        check_own_folders(store)
        for file in files:
            store.storage.delete(file.path)
        if files:
            store.sync([store.paths.tags])  # else a tag could be there again after a power cut, without its files
    try:
        unneeded = only_needed_by(store, snapshots, without_tags=set(texts) if dry_run else ())
    except (CorruptError, NotFoundError):  # what is needed is unknown, so nothing is deleted
        unneeded = []
    if not dry_run:
        delete_files(store, unneeded)
    return Removal((*files, *unneeded), dry_run)


def _snapshots_of(store: TableStore, texts: dict[str, bytes]) -> Sequence[Snapshot]:
    """Returns the distinct snapshots of these tags, ascending."""
    found: dict[tuple[int, str], Snapshot] = {}
    for name, text in texts.items():
        with contextlib.suppress(CorruptError):
            snapshot = tag_from_json(name, text, where=store.paths.tag(name)).snapshot
            found[snapshot.id, snapshot.delta_manifest_list] = snapshot
    return [found[key] for key in sorted(found)]


def _moment(given: object, now: dt.datetime) -> dt.datetime:
    millis = parse_time(given, "older_than", now=round(now.timestamp() * 1000))
    try:
        return local_datetime(millis)
    except OverflowError:
        raise OptionError(
            f"older_than is {given!r}, which is out of range; give a time between the years 1 and 9999"
        ) from None


def _local(moment: dt.datetime) -> dt.datetime:
    """Returns a time as local time, which tags store."""
    return moment if moment.tzinfo is None else moment.astimezone().replace(tzinfo=None)
