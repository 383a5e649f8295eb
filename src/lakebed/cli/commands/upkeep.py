"""``rollback``, ``expire``, ``expire-partitions``, ``orphans``, ``compact``: what keeps a table small and in order."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lakebed.cli.arguments import (
    DryRun,
    Json,
    OlderThan,
    Snapshot,
    TableArgument,
    Tag,
    Timestamp,
    Warehouse,
    Where,
    Yes,
    moment,
)
from lakebed.cli.commands.tables import snapshot_record
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.output import Column, Output, listing, show_text
from lakebed.cli.removal import ListFiles, removal_record, removal_view
from lakebed.cli.session import open_table
from lakebed.format.human_text import ids_text


def compact(
    name: TableArgument,
    full: Annotated[bool, typer.Option("--full", help="Merge all that can be merged.")] = False,
    where: Where = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Merge files where there are too many. --where is about partition columns. Rows stay as they are."""
    table = open_table(warehouse, name)
    out = Output(as_json=as_json)
    with out.progress(f"compacting {table.name}") as report:
        made = table.compact(full=full, where=where, report=report)
    record = {"table": table.name, "snapshot": None if made is None else snapshot_record(made)}
    done = "nothing to compact" if made is None else f"compacted {table.name} as snapshot {made.id}"
    out.emit(record, lambda _: Text(show_text(done)))


@with_rule
def rollback(
    name: TableArgument,
    snapshot: Snapshot = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Take a table back to a snapshot, a tag or a time; later snapshots and tags go.

    Files that only those needed stay until lakebed orphans removes them.
    """
    if sum(given is not None for given in (snapshot, tag, timestamp)) != 1:
        raise typer.BadParameter("say where to go back to with one of --snapshot, --tag and --timestamp")
    table = open_table(warehouse, name)
    out = Output(as_json=as_json)

    def run(only_plan: bool) -> dict[str, Any]:
        plan = table.rollback_to(snapshot=snapshot, tag=tag, timestamp=moment(timestamp), dry_run=only_plan)
        return {
            "table": table.name,
            "snapshot_id": plan.target.id,
            "removed_snapshots": list(plan.snapshots),
            "removed_tags": list(plan.tags),
            "removed_changelogs": list(plan.changelogs),
            "recreates_snapshot": plan.recreates_snapshot,
        }

    def view(record: dict[str, Any]) -> RenderableType:
        doing = "would roll back" if record["dry_run"] else "rolled back"
        gone = [ids_text(record["removed_snapshots"], "snapshot"), *(f"tag {tag}" for tag in record["removed_tags"])]
        sentence = f"{doing} {table.name} to snapshot {record['snapshot_id']}; goes: {', '.join(gone)}"
        return Text(show_text(sentence))

    plan_or_act(
        out,
        run,
        view,
        question="Roll back?",
        yes=yes,
        dry_run=dry_run,
        idle=lambda record: (
            not any(value for key, value in record.items() if key.startswith(("removed_", "recreates_")))
        ),
    )


@with_rule
def expire(
    name: TableArgument,
    retain_max: Annotated[int | None, typer.Option("--retain-max", metavar="N", help="Keep at most so many.")] = None,
    retain_min: Annotated[int | None, typer.Option("--retain-min", metavar="N", help="Keep at least so many.")] = None,
    older_than: OlderThan = None,
    max_deletes: Annotated[int | None, typer.Option("--max-deletes", metavar="N", help="Take at most so many.")] = None,
    list_files: ListFiles = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Remove old snapshots and the files that only they needed; the table's own options say which."""
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
        typer.Option("--expiration-time", metavar="DURATION", help="How old partitions may get, like '30 d'."),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="NAME", help="What tells the age: values-time or update-time.")
    ] = None,
    timestamp_formatter: Annotated[
        str | None, typer.Option("--timestamp-formatter", metavar="PATTERN", help="How values are read, like yyyyMMdd.")
    ] = None,
    timestamp_pattern: Annotated[
        str | None,
        typer.Option("--timestamp-pattern", metavar="TEXT", help="How columns make a time, like '$dt $hour'."),
    ] = None,
    max_expires: Annotated[int | None, typer.Option("--max-expires", metavar="N", help="Take at most so many.")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Drop partitions that are too old; the table's own options say when."""
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
        return Group(Text(f"{doing} these partitions"), listing(record["partitions"], columns))

    plan_or_act(
        Output(as_json=as_json),
        run,
        view,
        question="Drop these partitions?",
        yes=yes,
        dry_run=dry_run,
        idle=lambda record: not record["partitions"],
    )


@with_rule
def orphans(
    name: TableArgument,
    older_than: OlderThan = None,
    list_files: ListFiles = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Remove files that no snapshot, tag or branch refers to, older than a day if not said otherwise."""
    table = open_table(warehouse, name)
    out = Output(as_json=as_json)

    def run(only_plan: bool) -> dict[str, Any]:
        with out.progress(f"looking for orphans of {table.name}"):
            removal = table.remove_orphan_files(older_than=moment(older_than), dry_run=only_plan)
        return {"table": table.name, **removal_record(removal)}

    plan_or_act(
        out,
        run,
        lambda record: removal_view(record, list_files=list_files),
        question="Remove these files?",
        yes=yes,
        dry_run=dry_run,
        idle=lambda record: not record["file_count"],
    )
