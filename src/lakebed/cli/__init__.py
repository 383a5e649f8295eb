"""The ``lakebed`` command line.

Each module of ``commands`` holds the command of its name, or the group of commands. ``open_warehouse`` opens warehouses
and maps errors to exit codes, ``output`` prints, ``consent`` asks before a command deletes something. Commands use the
public interface only.
"""

from __future__ import annotations

import io
import sys
import traceback
from typing import Annotated

import typer

from lakebed.cli.arguments import RootJson, RootWarehouse
from lakebed.cli.commands import (
    autopilot,
    branches,
    chain,
    compact,
    consumers,
    expire,
    files,
    history,
    orphans,
    repair,
    rollback,
    rows,
    serve,
    show,
    sql,
    tables,
    tags,
    verify,
)
from lakebed.cli.open_warehouse import EXIT_CODES, ExitCode, GuardedGroup
from lakebed.cli.warehouse_settings import Setting, add_setting_options
from lakebed.version import VERSION

__all__ = ["app", "main"]

INSPECT = "Inspect"
VERSIONS = "Branches, tags, consumers"
MAINTAIN = "Maintain"

app = typer.Typer(
    cls=GuardedGroup, name="lakebed", no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False
)

app.command(rich_help_panel=INSPECT)(tables.databases)
app.command(rich_help_panel=INSPECT)(tables.tables)
app.command(rich_help_panel=INSPECT)(show.show)
app.command(rich_help_panel=INSPECT)(history.snapshots)
app.command(rich_help_panel=INSPECT)(history.history)
app.command(rich_help_panel=INSPECT)(history.compactions)
app.command(rich_help_panel=INSPECT)(history.diff)
app.command(rich_help_panel=INSPECT)(files.files)
app.command(rich_help_panel=INSPECT)(files.partitions)
app.command(rich_help_panel=INSPECT)(rows.rows)
app.command("head", hidden=True)(rows.rows)
app.command(rich_help_panel=INSPECT)(sql.sql)
app.command(rich_help_panel=INSPECT)(serve.serve)
app.add_typer(branches.app, name="branches", rich_help_panel=VERSIONS)
app.add_typer(tags.app, name="tags", rich_help_panel=VERSIONS)
app.add_typer(consumers.app, name="consumers", rich_help_panel=VERSIONS)
app.command(rich_help_panel=MAINTAIN)(verify.verify)
app.command(rich_help_panel=MAINTAIN)(repair.repair)
app.command(rich_help_panel=MAINTAIN)(compact.compact)
app.command(rich_help_panel=MAINTAIN)(compact.compact_manifests)
app.add_typer(chain.app, name="chain", rich_help_panel=MAINTAIN)
app.add_typer(autopilot.app, name="autopilot", rich_help_panel=MAINTAIN)
app.command(rich_help_panel=MAINTAIN)(expire.expire)
app.command(rich_help_panel=MAINTAIN)(expire.expire_partitions)
app.command(rich_help_panel=MAINTAIN)(orphans.orphans)
app.command(rich_help_panel=MAINTAIN)(rollback.rollback)
add_setting_options(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lakebed {VERSION}")
        raise typer.Exit


@app.callback(epilog="Exit codes: " + "; ".join(f"{code:d} {meaning}" for code, meaning in EXIT_CODES.items()) + ".")
def root(
    warehouse: RootWarehouse = None,
    as_json: RootJson = False,
    setting: Setting = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Inspect and maintain Apache Paimon tables.

    Commands that delete something show the plan first. They carry it out with --yes, or after you confirm.
    """


def main() -> None:
    """Run the command line; an unexpected error prints its traceback and ends with the code of a failed operation."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that cannot show all characters
    try:
        app(prog_name="lakebed")
    except Exception:  # noqa: BLE001 - Python would exit with 1, which means "verify found errors"
        traceback.print_exc()
        sys.exit(ExitCode.FAILED)
