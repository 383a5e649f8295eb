"""One tag as JSON: its snapshot and, if the tag expires, its creation time and its retention.

The layout is that of Paimon's Java writer. Times are local times without a zone, written as lists of numbers without
trailing zero seconds and nanoseconds. Lengths of time are seconds with nine decimals. Both are only present if the tag
has a retention. Python keeps microseconds, so nanoseconds of other writers are cut off.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from lakebed.errors import CorruptError
from lakebed.format.printed import Printed
from lakebed.format.snapshot import Snapshot, load_json_object, snapshot_from_dict, snapshot_to_dict

_CREATE_TIME: Final = "tagCreateTime"
_TIME_RETAINED: Final = "tagTimeRetained"
_MICROSECOND: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, repr=False)
class Tag(Printed):
    """A name for a snapshot. The snapshot and its files are kept as long as the tag exists.

    Attributes:
        name: The name of the tag.
        snapshot: The snapshot that it keeps.
        create_time: When it was made, as local time without a zone; only known for tags with a retention.
        time_retained: How long it is kept; ``None`` if it does not expire.
    """

    name: str
    snapshot: Snapshot
    create_time: dt.datetime | None = None
    time_retained: dt.timedelta | None = None

    @property
    def expires_at(self) -> dt.datetime | None:
        """When it expires, as local time; ``None`` if it does not."""
        if self.create_time is None or self.time_retained is None:
            return None
        try:
            return self.create_time + self.time_retained
        except OverflowError:
            return None

    def __str__(self) -> str:
        until = "" if self.expires_at is None else f", expires {self.expires_at.isoformat(' ', 'seconds')}"
        return f"tag {self.name}: {self.snapshot}{until}"


def tag_to_json(tag: Tag) -> str:
    """Returns the text of a tag file."""
    text = json.dumps(snapshot_to_dict(tag.snapshot), indent=2, separators=(",", " : "), ensure_ascii=False)
    lines = [text.removesuffix("\n}")]
    if tag.create_time is not None:
        lines.append(f'  "{_CREATE_TIME}" : [ {", ".join(map(str, _moment_parts(tag.create_time)))} ]')
    if tag.time_retained is not None:
        lines.append(f'  "{_TIME_RETAINED}" : {_seconds_text(tag.time_retained)}')
    return ",\n".join(lines) + "\n}"


def _moment_parts(moment: dt.datetime) -> list[int]:
    parts = [moment.year, moment.month, moment.day, moment.hour, moment.minute]
    if moment.microsecond:
        return [*parts, moment.second, moment.microsecond * 1000]
    return [*parts, moment.second] if moment.second else parts


def _seconds_text(length: dt.timedelta) -> str:
    return format(Decimal(length // _MICROSECOND).scaleb(-6), ".9f") if length else "0.0"


def tag_from_json(name: str, text: str | bytes, *, where: str) -> Tag:
    """Returns the tag in a file's text; ``where`` names the file in errors."""
    raw = load_json_object(text, where=where)
    snapshot = snapshot_from_dict(raw, where=where)
    return Tag(name, snapshot, _moment(raw.get(_CREATE_TIME), where), _length(raw.get(_TIME_RETAINED), where))


def _moment(raw: Any, where: str) -> dt.datetime | None:
    if raw is None:
        return None
    try:
        year, month, day, hour, minute, second, nanos = [*raw, 0, 0][: max(len(raw), 7)]
        return dt.datetime(year, month, day, hour, minute, second, nanos // 1000)  # noqa: DTZ001 - local time
    except (TypeError, ValueError, OverflowError):
        raise _damage(where, _CREATE_TIME, raw, "a list such as [2025, 1, 31, 12, 0]") from None


def _length(raw: Any, where: str) -> dt.timedelta | None:
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise _damage(where, _TIME_RETAINED, raw, "a number of seconds")
    try:
        return dt.timedelta(seconds=raw)
    except ValueError:
        raise _damage(where, _TIME_RETAINED, raw, "a number of seconds") from None
    except OverflowError:  # longer than the calendar
        return dt.timedelta.max if raw > 0 else dt.timedelta.min


def _damage(where: str, key: str, raw: object, wanted: str) -> CorruptError:
    return CorruptError(f"{where}: {key} must be {wanted}, not {raw!r}; restore the file, or replace or delete the tag")
