"""The version of a table that a read asks for: a snapshot id, a tag, a watermark or a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from lakebed.errors import NotFoundError, OptionError
from lakebed.format.snapshot import Snapshot
from lakebed.format.time_text import exact_time_text, parse_time
from lakebed.metadata.history.by_time import snapshot_at, snapshot_since_watermark
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_WATERMARK: Final = "watermark-"


def find_snapshot(store: TableStore, *, version: int | str | None, timestamp: Any, tag: str | None) -> Snapshot | None:
    """Returns the snapshot that a read asks for, by default the latest; ``None`` for a table without snapshots."""
    if sum(given is not None for given in (version, timestamp, tag)) > 1:
        raise OptionError("give at most one of version=, timestamp= and tag=")
    if any(isinstance(name, str) and ("\0" in name or "/" in name) for name in (version, tag)):
        raise NotFoundError(f"table {store.name} has no tag {tag or version!r}: that is not the name of a tag")
    if tag is not None:
        return store.snapshots.tag(tag)
    if version is not None:
        return _by_version(store, version)
    if timestamp is None:
        return store.latest_snapshot()
    millis = parse_time(timestamp, "timestamp")
    found = snapshot_at(store, millis)
    if found is None:
        earliest = store.snapshots.earliest()
        first = (
            "there are no snapshots"
            if earliest is None
            else f"the earliest is of {exact_time_text(earliest.time_millis)}"
        )
        raise NotFoundError(f"table {store.name} has no snapshot at or before {exact_time_text(millis)}; {first}")
    return found


def version_of_options(given: Mapping[str, str]) -> tuple[Any, Any, Any]:
    """Returns the version, timestamp and tag that options ``scan.*`` ask for."""
    options = TableOptions(given)
    watermark = options.scan_watermark
    version = options.scan_snapshot_id or options.scan_version
    if version is None and watermark is not None:
        version = f"{_WATERMARK}{watermark}"
    return version, options.scan_timestamp_millis or options.scan_timestamp, options.scan_tag_name


def _by_version(store: TableStore, version: int | str) -> Snapshot:
    """Returns a snapshot by id, ``watermark-<n>`` or tag.

    A tag with such a name comes first, as in ``VERSION AS OF``.
    """
    if isinstance(version, str):
        tagged = store.snapshots.find_tag(version)
        if tagged is not None:
            return tagged
        if re.fullmatch(rf"{_WATERMARK}-?\d+", version):
            return _by_watermark(store, int(version.removeprefix(_WATERMARK)))
        if not (version.isascii() and version.isdigit()):
            return store.snapshots.tag(version)
    elif isinstance(version, bool) or not isinstance(version, int):
        raise OptionError(f"version must be a snapshot id or the name of a tag, not {version!r}")
    return store.snapshots.get(int(version))


def _by_watermark(store: TableStore, watermark: int) -> Snapshot:
    """Returns the first snapshot with at least this watermark, which has all rows up to it."""
    found = snapshot_since_watermark(store, watermark)
    if found is None:
        raise NotFoundError(f"table {store.name} has no snapshot with a watermark of at least {watermark}")
    return found
