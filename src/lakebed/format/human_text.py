"""Numbers, sizes and lists as people read them in messages and printed results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_LISTED: Final = 5


def size_text(count: int) -> str:
    """Returns a number of bytes in a unit that reads well.

    >>> size_text(512), size_text(1536), size_text(1024**2 - 1), size_text(3 * 1024**4)
    ('512 B', '1.5 KiB', '1.0 MiB', '3.0 TiB')
    """
    if count < 1024:
        return f"{count} B"
    size = float(count)
    for unit in _UNITS:
        size /= 1024
        if size < 1023.95 or unit == _UNITS[-1]:
            break
    return f"{size:,.1f} {unit}"


def count_text(count: int, one: str, many: str | None = None) -> str:
    """Returns a number with its noun, in the singular or the plural.

    >>> count_text(1, "file"), count_text(1200, "file"), count_text(2, "index", "indexes")
    ('1 file', '1,200 files', '2 indexes')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def names_text(names: Iterable[object], *, most: int = 4) -> str:
    """Returns some names for a sentence: all of a short list, the first three of a longer one.

    >>> names_text([1, 2]), names_text(range(1, 100))
    ('1, 2', '1, 2, 3 and 96 more')
    """
    listed = [str(name) for name in names]
    if len(listed) <= most:
        return ", ".join(listed)
    return f"{', '.join(listed[: most - 1])} and {len(listed) - most + 1:,} more"


def ids_text(ids: Sequence[int], one: str) -> str:
    """Returns a few words for a set of numbers, such as the snapshots that a call deleted.

    >>> [ids_text(ids, "snapshot") for ids in ([], [4], [4, 5, 6], [4, 6])]
    ['no snapshots', 'snapshot 4', '3 snapshots (4 to 6)', '2 snapshots (4, 6)']
    """
    if len(ids) < 2:
        return f"{one} {ids[0]}" if ids else f"no {one}s"
    ordered = sorted(ids)
    without_gaps = ordered[-1] - ordered[0] == len(ordered) - 1
    which = f"{ordered[0]} to {ordered[-1]}" if without_gaps and len(ordered) > 2 else names_text(ordered)
    return f"{count_text(len(ordered), one)} ({which})"


def list_lines(lines: Sequence[str], one: str, *, most: int = _LISTED, total: int | None = None) -> list[str]:
    """Returns indented lines, and how many more there are where the list is long.

    ``total`` is the length of the list where ``lines`` are only its beginning.

    >>> list_lines(["a", "b", "c"], "file", most=1)
    ['  a', '  ... and 2 more files']
    """
    shown = [f"  {line}" for line in lines[:most]]
    rest = (len(lines) if total is None else total) - len(shown)
    noun = one if rest == 1 else f"{one}s"
    return [*shown, f"  ... and {rest:,} more {noun}"] if rest else shown


def table_lines(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Returns rows of texts as aligned lines; the columns in ``right`` are aligned to the right.

    >>> table_lines([["data", "12"], ["manifest", "3"]], right=[1])
    ['data      12', 'manifest   3']
    """
    if not rows:
        return []
    to_right = set(right)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            text.rjust(width) if column in to_right else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
