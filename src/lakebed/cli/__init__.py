"""The ``lakebed`` command line.

One module per group of commands; ``session`` opens warehouses and turns errors into exit codes, ``output`` prints, ``consent``
is the rule for what takes something away. Commands use the public interface only, and decide nothing about tables.
"""

from __future__ import annotations

import io
import sys
import traceback
from typing import Annotated

import typer

from lakebed.cli.arguments import RootJson, RootWarehouse
from lakebed.cli.commands import (
    branches,
    chain,
    consumers,
    contents,
    history,
    rows,
    serve,
    sql,
    tables,
    tags,
    upkeep,
    verify,
)
from lakebed.cli.session import EXIT_CODES, ExitCode, GuardedGroup
from lakebed.version import VERSION

__all__ = ["app", "main"]

LOOK = "Look"
VERSIONS = "Branches, tags, consumers"
UPKEEP = "Keep in order"

app = typer.Typer(
    cls=GuardedGroup, name="lakebed", no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False
)

app.command(rich_help_panel=LOOK)(tables.databases)
app.command(rich_help_panel=LOOK)(tables.tables)
app.command(rich_help_panel=LOOK)(tables.show)
app.command(rich_help_panel=LOOK)(contents.snapshots)
app.command(rich_help_panel=LOOK)(history.history)
app.command(rich_help_panel=LOOK)(history.compactions)
app.command(rich_help_panel=LOOK)(history.diff)
app.command(rich_help_panel=LOOK)(contents.files)
app.command(rich_help_panel=LOOK)(contents.partitions)
app.command(rich_help_panel=LOOK)(rows.rows)
app.command("head", hidden=True)(rows.rows)
app.command(rich_help_panel=LOOK)(sql.sql)
app.command(rich_help_panel=LOOK)(serve.serve)
app.add_typer(branches.app, name="branches", rich_help_panel=VERSIONS)
app.add_typer(tags.app, name="tags", rich_help_panel=VERSIONS)
app.add_typer(consumers.app, name="consumers", rich_help_panel=VERSIONS)
app.command(rich_help_panel=UPKEEP)(verify.verify)
app.command(rich_help_panel=UPKEEP)(upkeep.compact)
app.add_typer(chain.app, name="chain", rich_help_panel=UPKEEP)
app.command(rich_help_panel=UPKEEP)(upkeep.expire)
app.command(rich_help_panel=UPKEEP)(upkeep.expire_partitions)
app.command(rich_help_panel=UPKEEP)(upkeep.orphans)
app.command(rich_help_panel=UPKEEP)(upkeep.rollback)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lakebed {VERSION}")
        raise typer.Exit


@app.callback(epilog="Exit codes: " + "; ".join(f"{code:d} {meaning}" for code, meaning in EXIT_CODES.items()) + ".")
def root(
    warehouse: RootWarehouse = None,
    as_json: RootJson = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Look into Apache Paimon tables and keep them in order.

    Commands that take something away show first what they would do, and do it with --yes or after a question.
    """


def main() -> None:
    """Run the command line; a fault of Lakebed's own shows its trace and counts as a failed operation."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without the letters must not stop a command
    try:
        app(prog_name="lakebed")
    except Exception:  # noqa: BLE001 - Python's own exit code for it would read as "verify found errors"
        traceback.print_exc()
        sys.exit(ExitCode.FAILED)
