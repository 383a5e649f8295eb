"""The rule for commands that delete something.

They show the plan first. With ``--yes`` they carry it out. Without it they ask for confirmation on a terminal; anywhere
else (a script, a pipe, ``--json``), or with ``--dry-run``, they stop after the plan with the exit code of success.
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
    "Shows the plan first. --yes carries it out. Without --yes it asks for confirmation on a terminal; anywhere else "
    "(a pipe, "
    "a script, --json), and with --dry-run, it is a dry run."
)


def with_rule(command: Command) -> Command:
    """Add the rule to the help of a command."""
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
    """Print the plan, ask if necessary, and carry it out.

    Args:
        out: Where the records are printed.
        run: Called with ``True`` for the plan and with ``False`` to act; returns the record to print.
        view: The record for people.
        question: What a terminal is asked.
        yes: Whether ``--yes`` was given.
        dry_run: Whether ``--dry-run`` was given.
        idle: Whether a plan has nothing to do; then nothing is asked.

    Returns:
        The record that was printed last.
    """
    if yes and dry_run:
        raise typer.BadParameter("--yes and --dry-run exclude each other")
    record = {"dry_run": not yes, **run(not yes)}
    out.emit(record, view)
    if yes or idle(record):
        return record
    if dry_run or not out.can_ask:
        out.note("dry run: nothing was changed; add --yes to carry it out")
        return record
    if not typer.confirm(question, err=True):
        out.note("nothing was changed")
        return record
    record = {"dry_run": False, **run(False)}
    out.emit(record, view)
    return record
