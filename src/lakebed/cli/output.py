"""What commands print: a record as JSON, or the same record as tables for people.

Results go to stdout; notes, progress and questions go to stderr. A record is plain data with stable keys and raw
numbers. The view for people is made from it, with sizes in units and times in the local zone. Text from tables is never
interpreted as markup, and control characters are escaped.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from lakebed.format.human_text import size_text
from lakebed.format.time_text import time_text

_PIPE_WIDTH: Final = 100_000
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

Record = Mapping[str, Any]


# ------------------------------------------------------------------------------------------------------- values


def show_text(value: object) -> str:
    r"""Returns any value as one line.

    >>> show_text("a\nb\x1b[31m"), show_text(None), show_text(True)
    ('a\\nb\\x1b[31m', '-', 'true')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | dict):
        value = json.dumps(value, ensure_ascii=False)
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))


def show_value(value: object) -> str:
    """Returns a value of a row as one line; null is not the text ``-``."""
    return "null" if value is None else show_text(value)


def show_names(names: Sequence[str] | None) -> str:
    """Returns names in one line.

    >>> show_names(["a", "b"]), show_names([])
    ('a, b', '-')
    """
    return show_text(", ".join(names)) if names else "-"


def show_count(value: int | None) -> str:
    """Returns a number with separators between thousands.

    >>> show_count(1234567), show_count(None)
    ('1,234,567', '-')
    """
    return "-" if value is None else f"{value:,}"


def show_size(value: int | None) -> str:
    """Returns a number of bytes with a unit.

    >>> show_size(12), show_size(1536), show_size(5 * 1024**3), show_size(1024**2 - 1), show_size(None)
    ('12 B', '1.5 KiB', '5.0 GiB', '1.0 MiB', '-')
    """
    return "-" if value is None or value < 0 else size_text(value)


def show_time(millis: int | None) -> str:
    """Returns epoch milliseconds as local time."""
    return "-" if millis is None else time_text(millis)


def show_clock(text: str | None) -> str:
    """Returns a wall clock time, given as ISO text, to the second."""
    return "-" if text is None else text.replace("T", " ").partition(".")[0]


# ------------------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table for people: the key in the records, the title, and how values are shown."""

    key: str
    title: str
    show: Callable[[Any], str] = show_text
    right: bool = False

    @staticmethod
    def count(key: str, title: str) -> Column:
        return Column(key, title, show_count, right=True)

    @staticmethod
    def size(key: str, title: str = "size") -> Column:
        return Column(key, title, show_size, right=True)

    @staticmethod
    def time(key: str, title: str = "time") -> Column:
        return Column(key, title, show_time)


def listing(records: Sequence[Record], columns: Sequence[Column], *, empty: str = "nothing") -> RenderableType:
    """Returns records as a table, or ``empty`` if there are none."""
    if not records:
        return Text(empty)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(Text(column.title), justify="right" if column.right else "left", overflow="fold")
    for record in records:
        table.add_row(*(Text(column.show(record.get(column.key))) for column in columns))
    return table


def facts(pairs: Sequence[tuple[str, str]]) -> RenderableType:
    """Returns names and values, one pair per line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(Text(name), Text(value))
    return table


def section(title: str, body: RenderableType) -> RenderableType:
    """Returns a body under a heading."""
    return Group(Text(""), Text(title, style="bold underline"), body)


# ------------------------------------------------------------------------------------------------------- output


class Output:
    """Prints the result, the notes and the progress of one command."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)

    @property
    def can_ask(self) -> bool:
        """Whether stdin and stdout are a terminal and the output is for people."""
        return not self.as_json and sys.stdin.isatty() and sys.stdout.isatty()

    def emit(self, record: Any, view: Callable[[Any], RenderableType]) -> None:
        """Print a result, as JSON or as a view for people."""
        if self.as_json:
            _print_json(record)
        else:
            self._out.print(view(record))

    def note(self, message: str) -> None:
        """Print a remark on stderr."""
        self._err.print(Text(show_text(message), style="dim"))

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Show a progress bar on stderr while the block runs, if stderr is a terminal.

        Yields a function to call with the number of steps done and of all. Until its first call the bar shows no share.
        """
        if not self._err.is_terminal:
            yield _ignore
            return
        from rich.progress import Progress  # noqa: PLC0415 - only terminals need it

        with Progress(console=self._err, transient=True) as progress:
            task = progress.add_task(what, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)


def _ignore(_done: int, _total: int) -> None:
    """Used where stderr is not a terminal."""


def _console(*, stderr: bool) -> Console:
    """Returns a console that does not cut lines when its output goes to a file or a pipe."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if terminal or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def _print_json(record: Any) -> None:
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        text = json.dumps(record, indent=2, allow_nan=False)
    print(text)  # noqa: T201 - the result of the command
