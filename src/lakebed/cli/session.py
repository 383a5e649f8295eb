"""Where commands find their warehouse and tables, and how a command ends.

Every error that Lakebed raises on purpose becomes one line on stderr and an exit code; none shows a trace. The codes are
a promise to scripts, listed in ``EXIT_CODES`` and in ``lakebed --help``.

``import lakebed`` is cheap; Arrow comes with the first name that needs it (``lakebed.connect``), so never with ``--help``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperGroup

import lakebed
from lakebed.errors import LakebedError, NotFoundError, OptionError

WAREHOUSE_VARIABLE: Final = "LAKEBED_WAREHOUSE"


class ExitCode(IntEnum):
    """How a command ended."""

    FINE = 0
    UNSOUND = 1
    USAGE = 2
    FAILED = 3
    NOT_FOUND = 4
    INTERRUPTED = 130


EXIT_CODES: Final[Mapping[ExitCode, str]] = {
    ExitCode.FINE: "fine",
    ExitCode.UNSOUND: "verify found errors in a table",
    ExitCode.USAGE: "the command line makes no sense",
    ExitCode.FAILED: "the operation failed, and stderr says why",
    ExitCode.NOT_FOUND: "a warehouse, database, table, column, snapshot, branch or tag is not there",
    ExitCode.INTERRUPTED: "interrupted",
}


class GuardedGroup(TyperGroup):
    """The root of all commands: turns errors into a line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NotFoundError as error:
            _fail(error, ExitCode.NOT_FOUND)
        except LakebedError as error:
            _fail(error, ExitCode.FAILED)
        except typer.Abort:  # Ctrl-C or the end of input at a question
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
            _silence_stdout()
            raise typer.Exit(ExitCode.FINE) from None


def _fail(error: LakebedError, code: ExitCode) -> None:
    tell(error)
    raise typer.Exit(code) from None


def tell(error: LakebedError) -> None:
    """Say on one line of stderr what went wrong."""
    message = f"error: {' '.join(str(error).split())}"
    typer.echo(message if "NO_COLOR" in os.environ else typer.style(message, fg="red"), err=True)


def _silence_stdout() -> None:
    """Python flushes stdout once more at its end, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class ListingGroup(TyperGroup):
    """A group whose plain form lists: ``lakebed tags db.t`` is ``lakebed tags list db.t``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names_command = any(arg in self.commands for arg in args)
        if args and not names_command and "--help" not in args and (args[0].startswith("-") or "." in args[0]):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def open_lake(warehouse: str | None) -> lakebed.Lake:
    """The warehouse at a path, or where the environment or the current folder says. Never makes one."""
    path = warehouse or os.environ.get(WAREHOUSE_VARIABLE)
    if path is None:
        if not _has_databases(Path.cwd()):
            raise typer.BadParameter(
                f"no warehouse: give --warehouse PATH, set {WAREHOUSE_VARIABLE}, or go to a folder that holds one "
                "(its databases are folders named <database>.db)"
            )
        path = "."
    local = Path(path.removeprefix("file://"))
    if "://" not in path and not local.exists():
        raise NotFoundError(f"there is no warehouse at {path}; give the folder that holds the <database>.db folders")
    if local.resolve().name.endswith(".db") and not _has_databases(local):
        raise NotFoundError(f"{path} is a database, not a warehouse; give the folder above it")
    return lakebed.connect(path)


def _has_databases(folder: Path) -> bool:
    return folder.is_dir() and any(inner.suffix == ".db" and inner.is_dir() for inner in folder.iterdir())


def open_any(warehouse: str | None, name: str) -> lakebed.Table | lakebed.SystemTable:
    """A table, a branch of one, or a system table."""
    from lakebed.lake import open_any as opened  # noqa: PLC0415 - Arrow comes with it

    return opened(open_lake(warehouse), name)


def open_table(warehouse: str | None, name: str) -> lakebed.Table:
    """A table or a branch of one; a system table is refused."""
    opened = open_any(warehouse, name)
    if not isinstance(opened, lakebed.Table):
        raise OptionError(f"{name} is a system table; read it with: lakebed rows '{name}'")
    return opened


def system_name(name: str, system: str) -> str:
    """The name of a system table of a table or branch."""
    return f"{name}${system}"
