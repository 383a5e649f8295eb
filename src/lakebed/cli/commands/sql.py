"""``sql``: run SQL statements on the tables of a warehouse, given as an argument, from a pipe, or at a prompt.

Spark runs them in this process; it is started once, which takes a few seconds. A statement that fails ends the command
with one line on stderr and an exit code; at the prompt the error is printed and the next statement is read. Ctrl-C
cancels what is being typed or run, Ctrl-D ends the prompt.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import lakebed
from lakebed.cli.arguments import Json, Warehouse
from lakebed.cli.open_warehouse import open_lake, tell
from lakebed.cli.output import Column, Output, listing, show_text, show_value
from lakebed.errors import LakebedError, NotFoundError
from lakebed.format.human_text import count_text
from lakebed.sql.split_statements import is_open, split_statements

if TYPE_CHECKING:
    import pyarrow as pa

HISTORY_VARIABLE: Final = "LAKEBED_HISTORY"
_PROMPT: Final = "lakebed> "
_MORE: Final = "      -> "
_LEAVE: Final = frozenset({"exit", "quit", "\\q"})
_HISTORY_LINES: Final = 2000
_NOT_FOUND: Final = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "UNRESOLVED_COLUMN", "ROUTINE_NOT_FOUND")
# Types that Arrow and JSON do not have: Spark converts them to text.
_TEXT_BY_SPARK: Final = ("interval", "variant", "geometry", "geography", "void")

Ask = Callable[[str], str]


def sql(
    statement: Annotated[
        str | None,
        typer.Argument(
            metavar="[STATEMENT]", help="One or more statements. Without it, they are read from stdin or a prompt."
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-l", min=0, help="How many rows of a result at most; 0 for all.")
    ] = 100,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Run SQL on the tables of the warehouse (needs Spark). Without a statement, start a prompt.

    Statements end with a semicolon, which the last one may omit. Tables are named database.table, system tables need
    backquotes: SELECT * FROM db.`t$snapshots`.
    """
    out = Output(as_json=as_json)
    lake = open_lake(warehouse)
    with _quietly():
        if statement is None and out.can_ask:
            _start(lake, out)
            with _history() as remember:
                prompt(Runner(lake, out, limit), input, remember)
            return
        text = sys.stdin.read() if statement is None else statement
        done, rest = split_statements(text)
        statements = [*done, *([rest] if rest else [])]
        if not statements:
            raise typer.BadParameter("no statement to run")
        _start(lake, out)
        Runner(lake, out, limit).run_all(statements)


def _start(lake: lakebed.Lake, out: Output) -> None:
    """Start Spark; raises a one-line error if Spark or Java is missing."""
    with out.progress("starting Spark"):
        lake.spark  # noqa: B018 - the first access starts it


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Silence the log and the warnings of PySpark: the command prints every error itself, once."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------------------------------------------------- running


class Runner:
    """Runs statements on a lake and prints their results."""

    def __init__(self, lake: lakebed.Lake, out: Output, limit: int) -> None:
        self._lake, self._out, self._limit = lake, out, limit

    def run_all(self, statements: Sequence[str]) -> None:
        """Run statements until one fails. JSON is the rows of a single statement, or a list with the rows of each."""
        if self._out.as_json:
            results = [self._rows(self._run(statement)) for statement in statements]
            self._out.emit(results[0] if len(results) == 1 else results, lambda _: "")
            return
        shown = False
        for statement in statements:
            found = self._run(statement)
            if found is not None:
                if shown:
                    typer.echo()
                self._show(found)
                shown = True

    def run(self, statement: str) -> bool:
        """Run one statement and print its rows; returns whether it has a result."""
        found = self._run(statement)
        if found is not None:
            self._show(found)
        return found is not None

    def _show(self, found: pa.Table) -> None:
        self._out.emit(self._rows(found), lambda records: listing(records, self._titles(found), empty="no rows"))

    def _run(self, statement: str) -> pa.Table | None:
        """Returns the first rows of a result, with unique column names; ``None`` if it has no columns."""
        with short_errors():
            frame = self._lake.sql(statement)
            if not frame.columns:
                return None
            frame = _for_arrow(frame)
            found: pa.Table = (frame.limit(self._limit + 1) if self._limit else frame).toArrow()
        if 0 < self._limit < len(found):
            self._out.note(f"the first {count_text(self._limit, 'row')}; use --limit for more")
            found = found.slice(0, self._limit)
        return found

    def _rows(self, found: pa.Table | None) -> list[dict[str, Any]]:
        from lakebed.rows.json_rows import json_records  # noqa: PLC0415 - with Arrow, which --help need not wait for

        return [] if found is None else json_records(found)

    def _titles(self, found: pa.Table) -> list[Column]:
        from lakebed.cli.values import is_number  # noqa: PLC0415 - with Arrow, which --help need not wait for

        return [
            Column(field.name, show_text(field.name), show_value, right=is_number(field.type)) for field in found.schema
        ]


def _for_arrow(frame: Any) -> Any:
    """Returns the frame with types that Arrow has and with unique column names."""
    names = unique_names(frame.columns)
    frame = frame.toDF(*names)
    columns = [
        f"CAST({_quoted(name)} AS STRING) AS {_quoted(name)}" if kind.startswith(_TEXT_BY_SPARK) else _quoted(name)
        for name, (_, kind) in zip(names, frame.dtypes, strict=True)
    ]
    return frame.selectExpr(*columns)


def unique_names(names: Sequence[str]) -> list[str]:
    """Returns unique names: a name that occurred before, ignoring case, gets a number.

    >>> unique_names(["a", "b", "A", "a"])
    ['a', 'b', 'A_2', 'a_3']
    """
    taken = {name.lower() for name in names}
    seen: set[str] = set()
    made = []
    for name in names:
        unique, number = name, 1
        while unique.lower() in seen or (number > 1 and unique.lower() in taken):
            number += 1
            unique = f"{name}_{number}"
        seen.add(unique.lower())
        made.append(unique)
    return made


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@contextlib.contextmanager
def short_errors() -> Iterator[None]:
    """Raise errors of Spark as Lakebed errors of one line; Ctrl-C stays a KeyboardInterrupt."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - Spark is optional
    from pyspark.errors import PySparkException  # noqa: PLC0415 - Spark is optional

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if _is_interrupted(error):
            raise KeyboardInterrupt from None
        raise _short(error) from None


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Spark raised the error because Ctrl-C cancelled its jobs."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _short(error: Exception) -> LakebedError:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - Spark is optional

    if isinstance(error, PySparkException):
        condition = error.getCondition() or ""
        kind = NotFoundError if condition.startswith(_NOT_FOUND) else LakebedError
        return kind(_first_line(str(error)))
    cause = getattr(error, "java_exception", None)
    return LakebedError(_first_line(str(error if cause is None else cause.toString())))


def _first_line(message: str) -> str:
    """Returns the first line of a message of Spark, without the SQLSTATE."""
    lines = message.strip().splitlines()
    return lines[0].partition(" SQLSTATE:")[0] if lines else "Spark failed without a message"


# ------------------------------------------------------------------------------------------------------- the prompt


def prompt(runner: Runner, ask: Ask, remember: Callable[[str], None]) -> None:
    """Read statements and run them until the end of input."""
    held = ""
    while True:
        try:
            line = ask(_MORE if held else _PROMPT)
        except KeyboardInterrupt:  # discards what was typed so far
            typer.echo()
            held = ""
            continue
        except EOFError:
            typer.echo()
            return
        if not held and line.strip().rstrip(";").lower() in _LEAVE:
            return
        held = f"{held}\n{line}" if held else line
        statements, rest = split_statements(held)
        if statements:
            remember(held)
            _try_all(runner, statements)
            held = rest
        elif not rest and not is_open(held):  # nothing but comments
            held = ""


def _try_all(runner: Runner, statements: Sequence[str]) -> None:
    """Run statements; after an error, print it and skip the rest."""
    for statement in statements:
        try:
            if not runner.run(statement):
                typer.echo("ok")
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            return
        except LakebedError as error:
            tell(error)
            return


@contextlib.contextmanager
def _history() -> Iterator[Callable[[str], None]]:
    """Offer the statements of earlier prompts with the arrow keys, if Python has readline."""
    try:
        import readline  # noqa: PLC0415 - not on every system
    except ImportError:
        yield lambda _: None
        return
    path = history_path()
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_auto_history(False)
    try:
        yield lambda text: readline.add_history(_as_one_line(text))
    finally:
        readline.set_auto_history(True)
        readline.set_history_length(_HISTORY_LINES)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)


def history_path() -> Path:
    """Returns the file of earlier statements: that of LAKEBED_HISTORY, else one in the user's state folder."""
    given = os.environ.get(HISTORY_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "lakebed" / "sql_history"


def _as_one_line(text: str) -> str:
    """Returns statements as one line of history, without comments, which would hide the rest of the line."""
    statements, rest = split_statements(text)
    return " ".join(" ".join([*(f"{one};" for one in statements), rest]).split("\n")).strip()
