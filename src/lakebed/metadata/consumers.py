"""Consumers: the files in which streaming readers record the snapshot that they read next.

The file of a consumer is ``consumer/consumer-<name>`` of a branch. Expiry keeps every snapshot from the smallest
recorded one on. So a file that cannot be read is an error that names it; ignoring it would delete snapshots that the
consumer needs. Lakebed writes the files as Paimon's Java writer does and also reads those of pypaimon. A stream that
still reads the state of its first snapshot adds a key that other readers ignore.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Final

from lakebed.errors import CorruptError, NotFoundError, OptionError, unknown_name
from lakebed.format.paths import CONSUMER_PREFIX, check_name
from lakebed.format.snapshot import load_json_object
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_IN_STATE: Final = "lakebed.in-state"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a consumer: the snapshot that it reads next.

    With ``in_state`` it reads the state of that snapshot.
    """

    next_snapshot: int
    in_state: bool = False


def list_consumers(store: TableStore) -> dict[str, int]:
    """Returns every consumer of the branch and the snapshot that it reads next, by name."""
    found = {name: _read(store, name) for name in sorted(_modified_millis(store))}
    return {name: next_snapshot for name, next_snapshot in found.items() if next_snapshot is not None}


def find_consumer(store: TableStore, name: str) -> int | None:
    """Returns the snapshot that a consumer reads next, or ``None`` if there is no such consumer."""
    check_name(name, "consumer")
    return _read(store, name)


def find_progress(store: TableStore, name: str) -> Progress | None:
    """Returns the progress of a consumer, or ``None`` if there is no such consumer."""
    check_name(name, "consumer")
    return _read_progress(store, name)


def _read(store: TableStore, name: str) -> int | None:
    found = _read_progress(store, name)
    return None if found is None else found.next_snapshot


def _read_progress(store: TableStore, name: str) -> Progress | None:
    path = store.paths.consumer(name)
    try:
        text = store.storage.read(path)
    except NotFoundError:
        return None
    noted = load_json_object(text, where=path, advice="reset or delete the consumer")
    found = noted.get("nextSnapshot")
    if type(found) is not int:
        raise CorruptError(f"{path}: nextSnapshot must be a snapshot id, not {found!r}; reset or delete the consumer")
    return Progress(found, noted.get(_IN_STATE) is True)


def smallest_next_snapshot(store: TableStore) -> int | None:
    """Returns the first snapshot that some consumer still has to read, or ``None`` if there are no consumers."""
    return min(list_consumers(store).values(), default=None)


def reset_consumer(store: TableStore, name: str, next_snapshot: int | None = None) -> int:
    """Creates a consumer, or sets the snapshot that it reads next; by default the next one that is committed."""
    check_name(name, "consumer")
    if next_snapshot is None:
        next_snapshot = (store.snapshots.latest_id() or 0) + 1
    elif isinstance(next_snapshot, bool) or not isinstance(next_snapshot, int) or next_snapshot < 1:
        raise OptionError(f"consumer {name!r} cannot read snapshot {next_snapshot!r} next; give a number from 1 on")
    note_progress(store, name, Progress(next_snapshot))
    return next_snapshot


def note_progress(store: TableStore, name: str, progress: Progress) -> None:
    """Records the progress of a consumer, and creates it if it does not exist."""
    check_name(name, "consumer")
    noted: dict[str, object] = {"nextSnapshot": progress.next_snapshot}
    if progress.in_state:
        noted[_IN_STATE] = True
    text = json.dumps(noted, indent=2, separators=(",", " : "))
    store.storage.replace(store.paths.consumer(name), text.encode(), sync=store.syncing())


def drop_consumer(store: TableStore, name: str) -> None:
    """Drops a consumer; snapshots that only it kept may expire from now on."""
    known = _modified_millis(store)
    if name not in known:
        raise NotFoundError(unknown_name("consumer", name, sorted(known), where=f"table {store.name}"))
    store.storage.delete(store.paths.consumer(name))
    store.sync([store.paths.consumers])


def expire_consumers(store: TableStore, *, dry_run: bool = False, now_millis: int | None = None) -> list[str]:
    """Deletes the consumers that recorded nothing for ``consumer.expiration-time``; none without that option."""
    longest = TableOptions(store.schema().options).consumer_expiration_time
    if longest is None:
        return []
    now = time.time_ns() // 1_000_000 if now_millis is None else now_millis
    names = sorted(name for name, noted in _modified_millis(store).items() if noted < now - longest * 1000)
    for name in names if not dry_run else ():
        store.storage.delete(store.paths.consumer(name))
    if names and not dry_run:
        store.sync([store.paths.consumers])
    return names


def _modified_millis(store: TableStore) -> dict[str, int]:
    return {
        info.name.removeprefix(CONSUMER_PREFIX): info.modified_millis
        for info in store.storage.list(store.paths.consumers)
        if info.name.startswith(CONSUMER_PREFIX) and not info.is_dir
    }
