"""Opens the warehouse and the table of a command, and maps errors to exit codes.

Every Lakebed error becomes one line on stderr and an exit code, without a traceback. Scripts may rely on the codes,
which ``EXIT_CODES`` and ``lakebed --help`` list.

``import lakebed`` is cheap: Arrow is imported with the first name that needs it (``lakebed.connect``), so not for
``--help``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperGroup

import lakebed
from lakebed.cli.warehouse_settings import forget_settings, given_settings
from lakebed.errors import LakebedError, NotFoundError, OptionError
from lakebed.options.environment import WAREHOUSE_VARIABLE


class ExitCode(IntEnum):
    """The exit code of a command."""

    FINE = 0
    UNSOUND = 1
    USAGE = 2
    FAILED = 3
    NOT_FOUND = 4
    INTERRUPTED = 130


EXIT_CODES: Final[Mapping[ExitCode, str]] = {
    ExitCode.FINE: "success",
    ExitCode.UNSOUND: "verify found errors in a table",
    ExitCode.USAGE: "invalid arguments",
    ExitCode.FAILED: "the operation failed; stderr says why",
    ExitCode.NOT_FOUND: "a warehouse, database, table, column, snapshot, branch or tag was not found",
    ExitCode.INTERRUPTED: "interrupted",
}


class GuardedGroup(TyperGroup):
    """The root of all commands: prints a Lakebed error as one line and sets the exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        forget_settings()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NotFoundError as error:
            _fail(error, ExitCode.NOT_FOUND)
        except LakebedError as error:
            _fail(error, ExitCode.FAILED)
        except typer.Abort:  # Ctrl-C or the end of input at a question
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except BrokenPipeError:  # the reader of a pipe, such as head, ended
            _silence_stdout()
            raise typer.Exit(ExitCode.FINE) from None


def _fail(error: LakebedError, code: ExitCode) -> None:
    tell(error)
    raise typer.Exit(code) from None


def tell(error: LakebedError) -> None:
    """Print an error as one line on stderr."""
    message = f"error: {' '.join(str(error).split())}"
    typer.echo(message if "NO_COLOR" in os.environ else typer.style(message, fg="red"), err=True)


def _silence_stdout() -> None:
    """Redirect stdout to nowhere: Python flushes it again at exit, which would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class ListingGroup(TyperGroup):
    """A group whose default command is ``list``: ``lakebed tags db.t`` means ``lakebed tags list db.t``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names_command = any(arg in self.commands for arg in args)
        if args and not names_command and "--help" not in args and (args[0].startswith("-") or "." in args[0]):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def open_lake(warehouse: str | None) -> lakebed.Lake:
    """Open a warehouse: a path, a URL or a name, else that of the environment variable, else the current folder.

    Never creates one.
    """
    with warnings_as_lines():
        return _open(chosen_text(warehouse))


def chosen_text(warehouse: str | None) -> str:
    """Returns the text that names the warehouse of a command."""
    text = warehouse or os.environ.get(WAREHOUSE_VARIABLE)
    if text:
        return text
    if not has_databases(Path.cwd()):
        raise typer.BadParameter(
            f"no warehouse given: use --warehouse PATH, set {WAREHOUSE_VARIABLE}, or change to a folder that "
            "contains <database>.db folders"
        )
    return "."


def _open(text: str) -> lakebed.Lake:
    from lakebed.catalogs.named_warehouses import find_warehouse, warehouse_names  # noqa: PLC0415 - Arrow comes with it
    from lakebed.storage import is_remote_path  # noqa: PLC0415 - as above

    named = find_warehouse(text)
    path = text if named is None else named.path
    options = {**({} if named is None else named.options), **given_settings()}
    if is_remote_path(path):
        lake = lakebed.connect(path, options=options)
        if not lake.databases():
            raise NotFoundError(
                f"there is no warehouse at {lake.warehouse}: it has no databases. Create one first, in Python: "
                f"lakebed.connect({lake.warehouse!r}).create_database(...)"
            )
        return lake
    local = Path(path.removeprefix("file://")).expanduser()
    if not local.exists():
        known = f"; lakebed.toml has {', '.join(names)}" if (names := warehouse_names()) else ""
        raise NotFoundError(
            f"there is no warehouse at {path}; give the folder that contains the <database>.db folders{known}"
        )
    if local.resolve().name.endswith(".db") and not has_databases(local):
        raise NotFoundError(f"{path} is a database, not a warehouse; give the folder above it")
    return lakebed.connect(local, options=options)


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print warnings as one line on stderr each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(one.message) for one in caught if one.category is UserWarning):
                typer.echo(f"warning: {text}", err=True)


def has_databases(folder: Path) -> bool:
    """Returns whether a folder contains databases."""
    return folder.is_dir() and any(inner.suffix == ".db" and inner.is_dir() for inner in folder.iterdir())


def open_any(warehouse: str | None, name: str) -> lakebed.Table | lakebed.SystemTable:
    """Open a table, a branch, or a system table."""
    from lakebed.lake import open_any as opened  # noqa: PLC0415 - Arrow comes with it

    return opened(open_lake(warehouse), name)


def open_table(warehouse: str | None, name: str) -> lakebed.Table:
    """Open a table or a branch; raises for a system table."""
    opened = open_any(warehouse, name)
    if not isinstance(opened, lakebed.Table):
        raise OptionError(f"{name} is a system table; read it with: lakebed rows '{name}'")
    return opened


def system_name(name: str, system: str) -> str:
    """Returns the name of a system table of a table or branch."""
    return f"{name}${system}"
