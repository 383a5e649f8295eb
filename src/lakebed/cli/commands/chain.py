"""``chain``: convert a table to a chain table or back, build full partitions, drop old changes, copy views."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lakebed.cli.arguments import DryRun, Json, TableArgument, Warehouse, Where, Yes, moment
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import GuardedGroup, open_table
from lakebed.cli.output import Column, Output, listing, show_text
from lakebed.format.human_text import count_text, size_text

app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    help="Chain tables: convert a table to one or back, build full partitions, drop old changes, copy views.",
)

Pattern = Annotated[
    str | None, typer.Option("--timestamp-pattern", metavar="TEXT", help="How columns form a time, like '$dt'.")
]
Formatter = Annotated[
    str | None, typer.Option("--timestamp-formatter", metavar="PATTERN", help="The format of that time, like yyyyMMdd.")
]


@app.command("compact")
def compact(
    name: TableArgument,
    where: Where = None,
    depth: Annotated[
        int | None, typer.Option("--depth", metavar="N", help="Build where a read merges N partitions of changes.")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--bytes", metavar="SIZE", help="Build where the changes have this size, like '1 gb'.")
    ] = None,
    age: Annotated[
        str | None,
        typer.Option("--age", metavar="DURATION", help="Build where the last full partition is this old, like '7 d'."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also rebuild partitions that are full already.")
    ] = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Build full partitions: those of --where, or where --depth, --bytes or --age is reached. Rows do not change."""
    limits = {key: value for key, value in (("depth", depth), ("bytes", size), ("age", age)) if value is not None}
    if where is None and not limits:
        raise typer.BadParameter("select partitions with --where, or give a limit with --depth, --bytes or --age")
    table = open_table(warehouse, name)
    out = Output(as_json=as_json)
    policy = limits or None
    with out.progress(f"compacting the chain of {table.name}") as report:
        done = table.compact_chain(where=where, policy=policy, overwrite=overwrite, dry_run=dry_run, report=report)
    record = {
        "table": table.name,
        "dry_run": dry_run,
        "built": [
            {
                "partition": _texts(one.partition),
                "anchor": None if one.anchor is None else _texts(one.anchor),
                "depth": one.depth,
                "bytes_read": one.bytes_read,
                "delta_files": one.delta_files,
                "delta_bytes": one.delta_bytes,
                "rows": one.rows,
                "bytes_written": one.bytes_written,
                "snapshot_id": one.snapshot,
            }
            for one in done.built
        ],
        "skipped": [{"partition": _texts(values), "reason": reason} for values, reason in done.skipped],
    }
    out.emit(record, _view)


def _texts(values: Any) -> dict[str, str | None]:
    return {key: None if value is None else str(value) for key, value in values.items()}


def _shown(values: dict[str, str | None]) -> str:
    return "/".join(f"{key}={value}" for key, value in values.items())


def _view(record: dict[str, Any]) -> RenderableType:
    if not record["built"]:
        reasons = [f"{_shown(one['partition'])}: {one['reason']}" for one in record["skipped"]]
        return Text(show_text("; ".join(["nothing to build", *reasons])))
    doing = "would build" if record["dry_run"] else "built"
    rows = [{**one, "partition": _shown(one["partition"])} for one in record["built"]]
    columns = [
        Column("partition", "partition"),
        Column("depth", "merged", right=True),
        Column.size("bytes_read", "reads"),
        Column.size("delta_bytes", "saved per read"),
        Column.count("rows", "rows"),
    ]
    return Group(Text(f"{doing} {count_text(len(rows), 'full partition')}"), listing(rows, columns))


@app.command("expire")
@with_rule
def expire(
    name: TableArgument,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="TIME",
            help="Days before this time: '2025-01-31', or '30 d' ago. The default is the table's own retention.",
        ),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Drop the changes of old days that full partitions hold. Views of full partitions and of later days stay."""
    table = open_table(warehouse, name)

    def run(only_plan: bool) -> dict[str, Any]:
        done = table.expire_changes(moment(before), dry_run=only_plan)
        return {
            "table": table.name,
            "partitions": [_texts(values) for values in done.partitions],
            "without_view": [_texts(values) for values in done.without_view],
            "kept": [{"partition": _texts(values), "reason": reason} for values, reason in done.kept],
            "files": done.files,
            "bytes": done.bytes,
            "snapshot_id": done.snapshot,
        }

    plan_or_act(
        Output(as_json=as_json),
        run,
        _expiry_view,
        question="Drop these changes?",
        yes=yes,
        dry_run=dry_run,
        idle=lambda record: not record["partitions"],
    )


def _expiry_view(record: dict[str, Any]) -> RenderableType:
    kept = [Text(show_text(f"kept {_shown(one['partition'])}: {one['reason']}")) for one in record["kept"]]
    if not record["partitions"]:
        return Group(Text("no changes to drop"), *kept)
    doing = "would drop" if record["dry_run"] else "dropped"
    rows = [
        {"partition": _shown(one), "view": "none any more" if one in record["without_view"] else "full partition"}
        for one in record["partitions"]
    ]
    head = f"{doing} the changes of {count_text(len(rows), 'partition')}, {size_text(record['bytes'])}"
    return Group(Text(head), listing(rows, [Column("partition", "partition"), Column("view", "view")]), *kept)


@app.command("materialize")
def materialize(
    name: TableArgument,
    into: Annotated[str, typer.Option("--into", metavar="TABLE", help="A plain table with the same columns.")],
    where: Annotated[str, typer.Option("--where", metavar="SQL", help="Which partitions, as a condition in SQL.")],
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Write the views of days to a plain table, which readers without chain tables can read.

    Replaces these days there.
    """
    table, target = open_table(warehouse, name), open_table(warehouse, into)
    out = Output(as_json=as_json)
    with out.progress(f"writing views of {table.name}"):
        done = table.materialize_chain(target, where=where, dry_run=dry_run)
    record = {
        "table": table.name,
        "into": done.into,
        "dry_run": dry_run,
        "partitions": [{"partition": _texts(values), "rows": rows} for values, rows in done.partitions],
    }
    out.emit(record, lambda _: Group(*(Text(show_text(line)) for line in str(done).splitlines())))


@app.command("enable")
def enable(
    name: TableArgument,
    timestamp_pattern: Pattern = None,
    timestamp_formatter: Formatter = None,
    keys: Annotated[
        str | None,
        typer.Option("--keys", metavar="COLUMNS", help="Partition columns that form the time, if not all do."),
    ] = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Convert a table to a chain table. Its partitions become full partitions; no data file is rewritten."""
    table = open_table(warehouse, name)
    table.enable_chain(
        timestamp_pattern=timestamp_pattern,
        timestamp_formatter=timestamp_formatter,
        chain_keys=None if keys is None else [key.strip() for key in keys.split(",")],
    )
    Output(as_json=as_json).emit(
        {"table": table.name, "branches": table.branches()},
        lambda _: Text(show_text(f"{table.name} is a chain table now")),
    )


@app.command("disable")
@with_rule
def disable(
    name: TableArgument,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Convert a chain table to a plain table that holds its full partitions.

    The branches stay until they are dropped.
    """
    table = open_table(warehouse, name)

    def run(only_plan: bool) -> dict[str, Any]:
        table.disable_chain(dry_run=only_plan)
        return {"table": table.name}

    def view(record: dict[str, Any]) -> RenderableType:
        doing = "would become" if record["dry_run"] else "is"
        return Text(show_text(f"{table.name} {doing} a plain table"))

    plan_or_act(Output(as_json=as_json), run, view, question="Convert it to a plain table?", yes=yes, dry_run=dry_run)
