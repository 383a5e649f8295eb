"""The one rule for commands that take something away.

Each shows first what it would do. With ``--yes`` it does it; without, on a terminal, it asks; without, anywhere else (a
script, a pipe, ``--json``), or with ``--dry-run``, it stops there, and the exit code is that of success.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeVar

import typer
from rich.console import RenderableType

from lakebed.cli.output import Output

Command = TypeVar("Command", bound=Callable[..., None])

RULE: Final = (
    "Shows what it would do. With --yes it does it; without, a terminal is asked, and anything else (a pipe, a script, "
    "--json, or with --dry-run) is a dry run."
)


def with_rule(command: Command) -> Command:
    """The same command, whose help also tells the rule."""
    command.__doc__ = f"{inspect.getdoc(command)}\n\n{RULE}"
    return command


def plan_or_act(
    out: Output,
    run: Callable[[bool], dict[str, Any]],
    view: Callable[[Any], RenderableType],
    *,
    question: str,
    yes: bool,
    dry_run: bool,
    idle: Callable[[dict[str, Any]], bool] = lambda _: False,
) -> dict[str, Any]:
    """Run with ``dry_run`` true for the plan, with false to act; ``run`` gives the record that is printed.

    ``idle`` tells of a plan that there is nothing to do, and so nothing to ask. Gives the last record.
    """
    if yes and dry_run:
        raise typer.BadParameter("--yes and --dry-run exclude each other")
    record = {"dry_run": not yes, **run(not yes)}
    out.emit(record, view)
    if yes or idle(record):
        return record
    if dry_run or not out.can_ask:
        out.note("this was a dry run; add --yes to do it")
        return record
    if not typer.confirm(question, err=True):
        out.note("nothing was done")
        return record
    record = {"dry_run": False, **run(False)}
    out.emit(record, view)
    return record
