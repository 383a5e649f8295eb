"""What commands print: a record as JSON, or the same record as tables for people.

Results go to stdout, everything else (notes, progress, questions) to stderr. A record is plain data with stable keys and raw
numbers; what a person sees is made from it, with sizes in units and times in the local zone. Text from tables is shown
as it is: it is never taken for markup, and control characters cannot reach the terminal.
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
from lakebed.format.times import time_text

_PIPE_WIDTH: Final = 100_000
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

Record = Mapping[str, Any]


# ------------------------------------------------------------------------------------------------------- values


def show_text(value: object) -> str:
    r"""Any value as one line.

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


def show_count(value: int | None) -> str:
    """A number with its thousands apart.

    >>> show_count(1234567), show_count(None)
    ('1,234,567', '-')
    """
    return "-" if value is None else f"{value:,}"


def show_size(value: int | None) -> str:
    """Bytes in a unit that reads well.

    >>> show_size(12), show_size(1536), show_size(5 * 1024**3), show_size(1024**2 - 1), show_size(None)
    ('12 B', '1.5 KiB', '5.0 GiB', '1.0 MiB', '-')
    """
    return "-" if value is None or value < 0 else size_text(value)


def show_time(millis: int | None) -> str:
    """A moment in local time."""
    return "-" if millis is None else time_text(millis)


def show_clock(text: str | None) -> str:
    """A wall clock time, given as ISO text."""
    return "-" if text is None else text.replace("T", " ").partition(".")[0]


# ------------------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class Column:
    """A column that people see: a key of the records, its title, and how its values are shown."""

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
    """Records as a table, or a sentence when there are none."""
    if not records:
        return Text(empty)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(Text(column.title), justify="right" if column.right else "left", overflow="fold")
    for record in records:
        table.add_row(*(Text(column.show(record.get(column.key))) for column in columns))
    return table


def facts(pairs: Sequence[tuple[str, str]]) -> RenderableType:
    """Names and values, one pair a line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(Text(name), Text(value))
    return table


def section(title: str, body: RenderableType) -> RenderableType:
    """Something under a heading."""
    return Group(Text(""), Text(title, style="bold underline"), body)


# ------------------------------------------------------------------------------------------------------- output


class Output:
    """Where one command prints to."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)

    @property
    def can_ask(self) -> bool:
        """Whether a person sits at both ends, and wants to read."""
        return not self.as_json and sys.stdin.isatty() and sys.stdout.isatty()

    def emit(self, record: Any, view: Callable[[Any], RenderableType]) -> None:
        """Print a result, as JSON or as people see it."""
        if self.as_json:
            _print_json(record)
        else:
            self._out.print(view(record))

    def note(self, message: str) -> None:
        """A remark beside the result."""
        self._err.print(Text(show_text(message), style="dim"))

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """A bar on stderr, if that is a terminal, while something long runs.

        Gives a function to call with the steps done and of all; as long as nobody calls it the bar only shows that there is
        life.
        """
        if not self._err.is_terminal:
            yield _ignore
            return
        from rich.progress import Progress  # noqa: PLC0415 - only terminals show it

        with Progress(console=self._err, transient=True) as progress:
            task = progress.add_task(what, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)


def _ignore(_done: int, _total: int) -> None:
    """Nobody watches."""


def _console(*, stderr: bool) -> Console:
    """A console that cuts nothing when its output goes to a file or pipe."""
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
