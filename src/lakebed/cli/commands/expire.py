"""``expire`` and ``expire-partitions``: delete old snapshots, drop old partitions."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lakebed.cli.arguments import DryRun, Json, OlderThan, TableArgument, Warehouse, Yes, moment
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import open_table
from lakebed.cli.output import Column, Output, listing, show_text
from lakebed.cli.records import ListFiles, removal_record, removal_view
from lakebed.format.human_text import count_text, ids_text


@with_rule
def expire(
    name: TableArgument,
    retain_max: Annotated[
        int | None, typer.Option("--retain-max", metavar="N", help="Keep at most N snapshots.")
    ] = None,
    retain_min: Annotated[
        int | None, typer.Option("--retain-min", metavar="N", help="Keep at least N snapshots.")
    ] = None,
    older_than: OlderThan = None,
    max_deletes: Annotated[
        int | None, typer.Option("--max-deletes", metavar="N", help="Delete at most N snapshots.")
    ] = None,
    list_files: ListFiles = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Delete old snapshots and the files that only they need. What is not given here, the table's options say."""
    table = open_table(warehouse, name)
    out = Output(as_json=as_json)

    def run(only_plan: bool) -> dict[str, Any]:
        with out.progress(f"expiring snapshots of {table.name}"):
            expiry = table.expire_snapshots(
                retain_max=retain_max,
                retain_min=retain_min,
                older_than=moment(older_than),
                max_deletes=max_deletes,
                dry_run=only_plan,
            )
        return {"table": table.name, "removed_snapshots": list(expiry.snapshots), **removal_record(expiry.removal)}

    def view(record: dict[str, Any]) -> RenderableType:
        if not record["removed_snapshots"]:
            return Text("no snapshots to expire")
        doing = "would expire" if record["dry_run"] else "expired"
        return Group(
            Text(f"{doing} {ids_text(record['removed_snapshots'], 'snapshot')}"),
            removal_view(record, list_files=list_files),
            removal_view(record, list_files=list_files),
        )

    plan_or_act(
        out,
        run,
        view,
        question="Expire these snapshots?",
        yes=yes,
        dry_run=dry_run,
        idle=lambda record: not record["removed_snapshots"],
    )


@with_rule
def expire_partitions(
    name: TableArgument,
    expiration_time: Annotated[
        str | None,
        typer.Option("--expiration-time", metavar="DURATION", help="Drop partitions older than this, like '30 d'."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", metavar="NAME", help="What the age is measured by: values-time or update-time."),
    ] = None,
    timestamp_formatter: Annotated[
        str | None,
        typer.Option("--timestamp-formatter", metavar="PATTERN", help="The format of the values, like yyyyMMdd."),
    ] = None,
    timestamp_pattern: Annotated[
        str | None,
        typer.Option("--timestamp-pattern", metavar="TEXT", help="How columns form a time, like '$dt $hour'."),
    ] = None,
    max_expires: Annotated[
        int | None, typer.Option("--max-expires", metavar="N", help="Drop at most N partitions.")
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Drop old partitions. What is not given here, the table's options say."""
    table = open_table(warehouse, name)

    def run(only_plan: bool) -> dict[str, Any]:
        found = table.expire_partitions(
            expiration_time=expiration_time,
            strategy=strategy,
            timestamp_formatter=timestamp_formatter,
            timestamp_pattern=timestamp_pattern,
            max_expires=max_expires,
            dry_run=only_plan,
        )
        texts = [{key: None if value is None else str(value) for key, value in spec.items()} for spec in found]
        return {"table": table.name, "partitions": texts}

    def view(record: dict[str, Any]) -> RenderableType:
        if not record["partitions"]:
            return Text("no partitions to expire")
        doing = "would drop" if record["dry_run"] else "dropped"
        columns = [Column(key, show_text(key)) for key in record["partitions"][0]]
        return Group(
            Text(f"{doing} {count_text(len(record['partitions']), 'partition')}"),
            listing(record["partitions"], columns),
        )

    plan_or_act(
        Output(as_json=as_json),
        run,
        view,
        question="Drop these partitions?",
        yes=yes,
        dry_run=dry_run,
        idle=lambda record: not record["partitions"],
    )
