"""``tags``: list, create, replace, rename, delete, expire."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lakebed
from lakebed.cli.arguments import DryRun, Json, OlderThan, Snapshot, TableArgument, Warehouse, Yes, moment
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import ListingGroup, open_lake, open_table, system_name
from lakebed.cli.output import Column, Output, listing, show_clock, show_text
from lakebed.cli.records import ListFiles, removal_record, removal_view
from lakebed.errors import NotFoundError, unknown_name

app = typer.Typer(
    cls=ListingGroup,
    no_args_is_help=True,
    help="List tags (lakebed tags TABLE), create, replace, rename, delete and expire them.",
)

TagArgument = Annotated[str, typer.Argument(metavar="TAG", help="The tag.")]
Retained = Annotated[
    str | None,
    typer.Option("--retain", metavar="DURATION", help="How long the tag is kept, like '30 d'; for ever without it."),
]


@app.command("list")
def list_tags(name: TableArgument, warehouse: Warehouse = None, as_json: Json = False) -> None:
    """List the tags of a table with their snapshots."""
    from lakebed.rows.json_rows import json_records  # noqa: PLC0415 - with Arrow, which --help need not wait for

    open_table(warehouse, name)
    records = json_records(open_lake(warehouse).system_table(system_name(name, "tags")).scan().to_arrow())
    columns = [
        Column("tag_name", "tag"),
        Column("snapshot_id", "snapshot", right=True),
        Column("commit_time", "committed", show_clock),
        Column.count("record_count", "records"),
        Column("create_time", "tagged", show_clock),
        Column("time_retained", "retained for"),
    ]
    Output(as_json=as_json).emit(records, lambda found: listing(found, columns, empty="no tags"))


@app.command("create")
def create(
    name: TableArgument,
    tag: TagArgument,
    snapshot: Snapshot = None,
    retain: Retained = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Create a tag of a snapshot (default: the latest). The tagged state stays readable when the snapshot expires."""
    table = open_table(warehouse, name)
    made = table.create_tag(tag, snapshot=snapshot, time_retained=retain)
    record = {"table": table.name, "tag": tag, "snapshot_id": made.snapshot.id}
    Output(as_json=as_json).emit(record, lambda _: Text(show_text(f"tagged snapshot {made.snapshot.id} as {tag}")))


@app.command("rename")
def rename(
    name: TableArgument,
    tag: TagArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Rename a tag."""
    table = open_table(warehouse, name)
    table.rename_tag(tag, new_name)
    Output(as_json=as_json).emit(
        {"table": table.name, "tag": new_name, "renamed_from": tag},
        lambda _: Text(show_text(f"renamed tag {tag} to {new_name}")),
    )


@app.command("replace")
@with_rule
def replace(
    name: TableArgument,
    tag: TagArgument,
    snapshot: Snapshot = None,
    retain: Retained = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Move a tag to another snapshot (default: the latest)."""
    table = open_table(warehouse, name)
    target, before = _target(table, snapshot), _held(table, tag)

    def run(only_plan: bool) -> dict[str, Any]:
        if not only_plan:
            table.replace_tag(tag, snapshot=snapshot, time_retained=retain)
        return {
            "table": table.name,
            "tag": tag,
            "snapshot_id": target.id,
            "replaced_snapshot_id": before.id,
        }

    def view(record: dict[str, Any]) -> RenderableType:
        doing = "would move" if record["dry_run"] else "moved"
        steps = f"from snapshot {record['replaced_snapshot_id']} to snapshot {record['snapshot_id']}"
        return Text(show_text(f"{doing} tag {tag} {steps}"))

    plan_or_act(
        Output(as_json=as_json),
        run,
        view,
        question=f"Move tag {tag}?",
        yes=yes,
        dry_run=dry_run,
    )


def _held(table: lakebed.Table, tag: str) -> lakebed.Snapshot:
    """Returns the snapshot of a tag."""
    tags = table.tags()
    if tag not in tags:
        raise NotFoundError(unknown_name("tag", tag, tags, where=f"table {table.name}"))
    return tags[tag]


def _target(table: lakebed.Table, snapshot: int | None) -> lakebed.Snapshot:
    """Returns the snapshot to tag: the latest, an existing one, or one that has expired and has another tag."""
    if snapshot is not None:
        tagged = (held for held in table.tags().values() if held.id == snapshot)
        return next(tagged, None) or table.snapshot(snapshot)
    latest = table.latest_snapshot()
    if latest is None:
        raise NotFoundError(f"table {table.name} has no snapshot to tag; write to it first")
    return latest


@app.command("delete", hidden=True)  # the old name
@app.command("drop")
@with_rule
def drop(
    name: TableArgument,
    tag: TagArgument,
    list_files: ListFiles = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Drop a tag and delete the files that only it needs."""
    table = open_table(warehouse, name)

    def run(only_plan: bool) -> dict[str, Any]:
        removal = table.drop_tag(tag, dry_run=only_plan)
        return {"table": table.name, "tag": tag, **removal_record(removal)}

    def view(record: dict[str, Any]) -> RenderableType:
        doing = "would drop" if record["dry_run"] else "dropped"
        return Group(Text(show_text(f"{doing} tag {tag}")), removal_view(record, list_files=list_files))

    plan_or_act(
        Output(as_json=as_json),
        run,
        view,
        question=f"Drop tag {tag}?",
        yes=yes,
        dry_run=dry_run,
    )


@app.command("expire")
@with_rule
def expire(
    name: TableArgument,
    older_than: OlderThan = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Delete the tags whose retention time is over."""
    table = open_table(warehouse, name)

    def run(only_plan: bool) -> dict[str, Any]:
        return {"table": table.name, "tags": table.expire_tags(older_than=moment(older_than), dry_run=only_plan)}

    def view(record: dict[str, Any]) -> RenderableType:
        doing = "would delete" if record["dry_run"] else "deleted"
        noun = "tag" if len(record["tags"]) == 1 else "tags"
        names = ", ".join(record["tags"])
        return Text(show_text(f"{doing} {noun} {names}") if names else "no tags to expire")

    plan_or_act(
        Output(as_json=as_json),
        run,
        view,
        question="Delete these tags?",
        idle=lambda record: not record["tags"],
        yes=yes,
        dry_run=dry_run,
    )
