"""``orphans``: delete files that nothing refers to."""

from __future__ import annotations

from typing import Any

from lakebed.cli.arguments import DryRun, Force, Json, OlderThan, TableArgument, Warehouse, Yes, moment
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import open_table
from lakebed.cli.output import Output
from lakebed.cli.records import ListFiles, removal_record, removal_view


@with_rule
def orphans(
    name: TableArgument,
    older_than: OlderThan = None,
    force: Force = False,
    list_files: ListFiles = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Delete files that no snapshot, tag or branch refers to.

    Files younger than --older-than (default: 1 d) are kept. Less than 1 h needs --force.
    """
    moment(older_than)  # raises for a text that is not a time
    table = open_table(warehouse, name)
    out = Output(as_json=as_json)

    def run(only_plan: bool) -> dict[str, Any]:
        with out.progress(f"searching for orphan files of {table.name}"):
            removal = table.remove_orphan_files(older_than=older_than, dry_run=only_plan, force=force)
        return {"table": table.name, **removal_record(removal)}

    empty = f"no orphan files older than {older_than or 'one day'}"
    plan_or_act(
        out,
        run,
        lambda record: removal_view(record, list_files=list_files, empty=empty),
        question="Delete these files?",
        yes=yes,
        dry_run=dry_run,
        idle=lambda record: not record["file_count"],
    )
