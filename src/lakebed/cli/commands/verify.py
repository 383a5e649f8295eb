"""``verify``: check tables for damage, and repair what is safe to repair."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lakebed.cli.arguments import DryRun, Json, Warehouse, Yes
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import ExitCode, open_lake, open_table
from lakebed.cli.output import Column, Output, facts, listing, show_size, show_text
from lakebed.format.human_text import count_text

if TYPE_CHECKING:
    from lakebed.operations.verify.report import Report

_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}


@with_rule
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="TABLE...", help="As database.table.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All tables of the warehouse.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Also read the rows.")] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Plan the repairs that are safe; --yes carries them out.")
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Check that everything exists and is consistent that the snapshots, tags and branches of tables refer to.

    The exit code is 1 if an error is found; warnings do not count. --repair repairs what is safe: hints and files that
    nothing refers to.
    """
    if bool(names) == every:
        raise typer.BadParameter("name the tables to check, or give --all")
    if (yes or dry_run) and not repair:
        raise typer.BadParameter("--yes and --dry-run need --repair")
    out = Output(as_json=as_json)
    chosen = _every_table(warehouse) if every else list(names or [])

    def run(only_plan: bool) -> dict[str, Any]:
        reports = []
        for name in chosen:
            table = open_table(warehouse, name)
            with out.progress(f"verifying {name}") as report:
                checked = table.verify(
                    deep=deep, repair=repair, dry_run=only_plan, report=lambda _what, done, total: report(done, total)
                )
            reports.append(_record(checked))
        return {"ok": all(report["ok"] for report in reports), "tables": reports}

    if repair:
        record = plan_or_act(
            out,
            run,
            _view,
            question="Repair this?",
            yes=yes,
            dry_run=dry_run,
            idle=lambda record: not any(report["repairs"] for report in record["tables"]),
        )
    else:
        record = run(True)
        out.emit(record, _view)
    if not record["ok"]:
        raise typer.Exit(ExitCode.UNSOUND)


def _every_table(warehouse: str | None) -> list[str]:
    lake = open_lake(warehouse)
    return [f"{database}.{table}" for database in lake.databases() for table in lake.tables(database)]


def _record(report: Report) -> dict[str, Any]:
    return {
        "table": report.table,
        "ok": report.ok,
        "verdict": report.verdict,
        "deep": report.deep,
        "looked_at": {part.name: getattr(report.looked_at, part.name) for part in fields(report.looked_at)},
        "problems": [
            {part.name: getattr(problem, part.name) for part in fields(problem)} for problem in report.problems
        ],
        "repairs": [
            {"action": step.action, "what": step.what, "path": step.path, "size": step.size, "done": step.done}
            for step in report.repairs
        ],
        "notes": list(report.notes),
    }


def _view(record: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = []
    for report in record["tables"]:
        looked = report["looked_at"]
        counts = [_counted(looked[key], key) for key in looked if key != "bytes"]
        style = "green" if report["ok"] else "bold red"
        parts.append(Text(show_text(f"{report['table']}: {report['verdict']}"), style=style))
        parts.append(Text(f"checked {', '.join(counts)}, {show_size(looked['bytes'])}"))
        parts += [Text(show_text(f"note: {note}")) for note in report["notes"]]
        parts += [_problem(problem) for problem in report["problems"]]
        if report["repairs"]:
            columns = [
                Column("done", "", lambda done: "done" if done else "planned"),
                Column("action", "action"),
                Column("what", "what"),
                Column("path", "file"),
            ]
            parts.append(listing(report["repairs"], columns))
    return Group(*parts)


def _counted(count: int, key: str) -> str:
    """Returns a count with its noun.

    >>> _counted(1, "data_files"), _counted(2, "branches")
    ('1 data file', '2 branches')
    """
    many = key.replace("_", " ")
    one = many.removesuffix("es") if many.endswith("ches") else many.removesuffix("s")
    return count_text(count, one, many)


def _problem(problem: dict[str, Any]) -> RenderableType:
    title = Text(f"{problem['severity']}: {problem['code']}", style=_STYLES[problem["severity"]])
    return Group(
        title,
        facts(
            [
                (f"  {title}", show_text(problem[key]))
                for title, key in (("what", "what"), ("where", "where"), ("do", "advice"))
            ]
        ),
    )
