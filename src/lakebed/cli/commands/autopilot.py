"""``autopilot``: look after the tables of a warehouse: compact, expire and clean up what needs it."""

from __future__ import annotations

import signal
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lakebed.cli.arguments import Json, Warehouse
from lakebed.cli.open_warehouse import GuardedGroup, open_lake
from lakebed.cli.output import Column, Output, listing, show_text
from lakebed.options import parse_duration, parse_size

if TYPE_CHECKING:
    from lakebed.autopilot import Autopilot, JobRecord

app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    help="Look after the tables of a warehouse: compact, expire and clean up what needs it.",
)

Tables = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TABLE]...", help="The tables to look after. (default: all)", show_default=False),
]


@app.command("run")
def run(
    tables: Tables = None,
    once: Annotated[bool, typer.Option("--once", help="Look once, do what is needed, and end.")] = False,
    interval: Annotated[
        str, typer.Option("--interval", metavar="DURATION", help="The time between two looks, like '30 s'.")
    ] = "1 min",
    bytes_per_hour: Annotated[
        str | None,
        typer.Option("--bytes-per-hour", metavar="SIZE", help="Read and write at most this in an hour, like '10 gb'."),
    ] = None,
    parallel: Annotated[int, typer.Option("--parallel", metavar="N", min=1, help="How many jobs run at a time.")] = 1,
    hours: Annotated[
        str | None, typer.Option("--hours", metavar="FROM-TO", help="Begin jobs in these hours of the day, like 22-6.")
    ] = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Look at the tables again and again, and do what they need. Ctrl-C ends it after the running jobs."""
    from lakebed.autopilot import Autopilot, Budget  # noqa: PLC0415 - Arrow comes with it

    out = Output(as_json=as_json)
    size = None if bytes_per_hour is None else _parsed(parse_size, bytes_per_hour, "--bytes-per-hour")
    seconds = _parsed(parse_duration, interval, "--interval")
    budget = Budget(bytes_per_hour=size, parallel=parallel, hours=hours)
    pilot = Autopilot(open_lake(warehouse), tables=tables or None, budget=budget, interval=seconds)
    if once:
        with out.progress("looking after the tables"):
            done = pilot.run_once()
        out.emit([asdict(record) for record in done], lambda records: _jobs(records, "nothing to do"))
        return
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    out.note("the autopilot looks after the tables; Ctrl-C ends it after the running jobs")
    pilot.run(stop, lambda record: _tell(out, record))


def _parsed(parse: Any, text: str, option: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not {error}", param_hint=option) from None


def _tell(out: Output, record: JobRecord) -> None:
    if record.finished_millis is None:
        out.note(f"{record.table}: {record.kind}, because {record.why}")
    else:
        out.note(f"{record.table}: {record.kind} {record.state}: {record.summary}")


@app.command("plan")
def plan(tables: Tables = None, warehouse: Warehouse = None, as_json: Json = False) -> None:
    """Show what the tables need now, in the order in which it would be done, and the tables that are left alone."""
    out = Output(as_json=as_json)
    with out.progress("looking at the tables"):
        found = _pilot(warehouse, tables).plan()
    record = {
        "jobs": [asdict(job) for job in found.jobs],
        "left_alone": [{"table": table, "reason": reason} for table, reason in found.left_alone],
    }
    out.emit(record, _plan_view)


def _plan_view(record: dict[str, Any]) -> RenderableType:
    columns = [
        Column("table", "table"),
        Column("kind", "job"),
        Column.size("cost", "reads and writes"),
        Column("why", "why"),
    ]
    parts: list[RenderableType] = [listing(record["jobs"], columns, empty="nothing to do")]
    if record["left_alone"]:
        alone = [Column("table", "left alone"), Column("reason", "why")]
        parts += [Text(), listing(record["left_alone"], alone)]
    return Group(*parts)


@app.command("status")
def status(
    limit: Annotated[int, typer.Option("--limit", "-l", metavar="N", min=1, help="How many jobs to show.")] = 20,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Show whether an autopilot works in the warehouse, and its last jobs."""
    found = _pilot(warehouse).status()
    record = {
        "owner": None if found.owner is None else asdict(found.owner),
        "is_paused": found.is_paused,
        "jobs": [asdict(one) for one in found.records[:limit]],
    }
    who = "no autopilot works in this warehouse" if found.owner is None else f"an autopilot works: {found.owner}"
    text = f"{who}; it is paused" if found.is_paused else who
    Output(as_json=as_json).emit(
        record, lambda shown: Group(Text(show_text(text)), _jobs(shown["jobs"], "no jobs yet"))
    )


def _jobs(records: list[dict[str, Any]], empty: str) -> RenderableType:
    columns = [
        Column.time("started_millis", "began"),
        Column("table", "table"),
        Column("kind", "job"),
        Column("state", "state"),
        Column("summary", "what it did"),
    ]
    return listing(records, columns, empty=empty)


@app.command("pause")
def pause(warehouse: Warehouse = None) -> None:
    """Let the autopilot of the warehouse start no new jobs, in whatever process it works."""
    _pilot(warehouse).pause()
    Output(as_json=False).note("the autopilot starts no new jobs; lakebed autopilot resume lets it go on")


@app.command("resume")
def resume(warehouse: Warehouse = None) -> None:
    """Let the autopilot start jobs again."""
    _pilot(warehouse).resume()
    Output(as_json=False).note("the autopilot goes on")


def _pilot(warehouse: str | None, tables: list[str] | None = None) -> Autopilot:
    from lakebed.autopilot import Autopilot  # noqa: PLC0415 - Arrow comes with it

    return Autopilot(open_lake(warehouse), tables=tables or None)
