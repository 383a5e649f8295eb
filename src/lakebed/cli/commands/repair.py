"""``repair``: roll a table with torn commits back to its newest whole snapshot."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from lakebed.cli.arguments import DryRun, Json, TableArgument, Warehouse, Yes
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import open_table
from lakebed.cli.output import Output, show_text


@with_rule
def repair(
    name: TableArgument,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Roll a table that a power cut left torn back to its newest whole snapshot.

    Shows which snapshots are whole and what is lost. Deletes later snapshots and unreadable tags, and corrects hints.
    """
    table = open_table(warehouse, name)
    out = Output(as_json=as_json)
    texts: list[str] = []

    def run(only_plan: bool) -> dict[str, Any]:
        found = table.repair(dry_run=only_plan)
        texts.append(str(found))
        return {
            "table": table.name,
            "snapshot_id": found.target,
            "checked": [
                {"id": state.id, "is_whole": state.is_whole, "tag": state.tag, "problems": list(state.problems)}
                for state in found.states
            ],
            "unchecked": found.unchecked,
            "removed_snapshots": list(found.snapshots),
            "removed_tags": list(found.tags),
            "removed_changelogs": list(found.changelogs),
            "removed_schemas": list(found.schemas),
            "corrected_hints": list(found.hints),
            "is_needed": found.is_needed,
        }

    def view(_record: dict[str, Any]) -> RenderableType:
        return Text("\n".join(show_text(line) for line in texts[-1].splitlines()))

    plan_or_act(
        out, run, view, question="Repair it?", yes=yes, dry_run=dry_run, idle=lambda record: not record["is_needed"]
    )
