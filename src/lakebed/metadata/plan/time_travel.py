"""The version of a table that a read asks for: a snapshot id, a tag, a watermark or a time."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any, Final

from lakebed.errors import NotFoundError, OptionError
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_WATERMARK: Final = "watermark-"


def find_snapshot(store: TableStore, *, version: int | str | None, timestamp: Any, tag: str | None) -> Snapshot | None:
    """The snapshot that a read asks for; the latest (or ``None`` without one) if it does not say."""
    if sum(given is not None for given in (version, timestamp, tag)) > 1:
        raise OptionError("give at most one of version=, timestamp= and tag=")
    if any(isinstance(name, str) and ("\0" in name or "/" in name) for name in (version, tag)):
        raise NotFoundError(f"table {store.name} has no tag {tag or version!r}: that is not the name of a tag")
    if tag is not None:
        return store.snapshots.tag(tag)
    if version is not None:
        return _by_version(store, version)
    if timestamp is None:
        return store.snapshots.latest()
    millis = as_millis(timestamp)
    found = store.snapshots.at(millis)
    if found is None:
        earliest = store.snapshots.earliest()
        first = "there are no snapshots" if earliest is None else f"the earliest is of {as_text(earliest.time_millis)}"
        raise NotFoundError(f"table {store.name} has no snapshot at or before {as_text(millis)}; {first}")
    return found


def version_of_options(given: Mapping[str, str]) -> tuple[Any, Any, Any]:
    """The version, timestamp and tag that options ``scan.*`` ask for."""
    options = TableOptions(given)
    watermark = options.get("scan.watermark")
    version = options.get("scan.snapshot-id") or options.get("scan.version")
    if version is None and watermark is not None:
        version = f"{_WATERMARK}{watermark}"
    timestamp = options.get("scan.timestamp-millis") or options.get("scan.timestamp")
    return version, timestamp, options.get("scan.tag-name")


def _by_version(store: TableStore, version: int | str) -> Snapshot:
    """A snapshot id, ``watermark-<n>``, or a tag; a tag of such a name wins, as in Spark's ``VERSION AS OF``."""
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
    """The first snapshot whose watermark is as high: all rows up to it are there."""
    found = store.snapshots.since_watermark(watermark)
    if found is None:
        raise NotFoundError(f"table {store.name} has no snapshot with a watermark of at least {watermark}")
    return found


def as_millis(timestamp: Any) -> int:
    """Epoch milliseconds of a number, a datetime, or ISO text; times without a zone are local, as in Spark."""
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | str | dt.datetime):
        raise OptionError(f"timestamp must be epoch milliseconds, a datetime or ISO text, not {timestamp!r}")
    if isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, str):
        try:
            timestamp = dt.datetime.fromisoformat(timestamp)
        except ValueError:
            raise OptionError(f"timestamp {timestamp!r} is not of the form 2025-01-31 12:00:00") from None
    try:
        millis: int = round(timestamp.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise OptionError(f"timestamp {timestamp} is out of range") from None
    return millis


def as_text(millis: int) -> str:
    """A time as people read it, in local time; a time out of range as a number."""
    try:
        moment = dt.datetime.fromtimestamp(millis / 1000)  # noqa: DTZ006 - local
    except (ValueError, OverflowError, OSError):
        return f"{millis} ms"
    return moment.isoformat(sep=" ", timespec="milliseconds")
