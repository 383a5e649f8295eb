"""``rollback``: make an earlier snapshot the latest."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import RenderableType
from rich.text import Text

from lakebed.cli.arguments import DryRun, Json, Snapshot, TableArgument, Tag, Timestamp, Warehouse, Yes, moment
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import open_table
from lakebed.cli.output import Output, show_text
from lakebed.cli.records import deleted_text


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
    """Roll a table back to a snapshot, a tag or a time. Deletes later snapshots and tags.

    Data files that only those need stay until lakebed orphans deletes them.
    """
    if sum(given is not None for given in (snapshot, tag, timestamp)) != 1:
        raise typer.BadParameter("give exactly one of --snapshot, --tag and --timestamp")
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
        sentence = f"{doing} {table.name} to snapshot {record['snapshot_id']}; {deleted_text(record)}"
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
