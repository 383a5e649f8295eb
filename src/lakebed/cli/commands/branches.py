"""``branches``: list, create, rename, drop, fast-forward, merge."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

import lakebed
from lakebed.cli.arguments import DryRun, Json, Snapshot, TableArgument, Warehouse, Yes
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import ListingGroup, open_table
from lakebed.cli.output import Column, Output, listing, show_text
from lakebed.cli.records import deleted_text, snapshot_record
from lakebed.errors import NotFoundError, unknown_name
from lakebed.format.human_text import ids_text

app = typer.Typer(
    cls=ListingGroup,
    no_args_is_help=True,
    help="List branches (lakebed branches TABLE), create, rename, drop, fast-forward and merge them.",
)

Force = Annotated[bool, typer.Option("--force", help="Also if an option of the table names the branch.")]
BranchArgument = Annotated[str, typer.Argument(metavar="BRANCH", help="The branch.")]


@app.command("list")
def list_branches(name: TableArgument, warehouse: Warehouse = None, as_json: Json = False) -> None:
    """List the branches of a table, main first."""
    table = open_table(warehouse, name)
    records = [_state(table, branch) for branch in ["main", *table.branches()]]
    columns = [
        Column("branch", "branch"),
        Column("snapshot_id", "snapshot", right=True),
        Column.count("total_record_count", "records"),
        Column.time("time_millis", "last commit"),
        Column("schema_id", "schema", right=True),
    ]
    Output(as_json=as_json).emit(records, lambda found: listing(found, columns))


def _state(table: lakebed.Table, branch: str) -> dict[str, Any]:
    on_branch = table.branch(branch)
    latest = on_branch.latest_snapshot()
    return {
        "branch": branch,
        "snapshot_id": None if latest is None else latest.id,
        "total_record_count": 0 if latest is None else latest.total_record_count,
        "time_millis": None if latest is None else latest.time_millis,
        "schema_id": on_branch.schema.id,
    }


@app.command("create")
def create(
    name: TableArgument,
    branch: BranchArgument,
    tag: Annotated[str | None, typer.Option("--tag", metavar="NAME", help="Start from a tag.")] = None,
    snapshot: Snapshot = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Create a branch: empty, or with the rows of a tag or a snapshot."""
    table = open_table(warehouse, name)
    table.create_branch(branch, tag=tag, snapshot=snapshot)
    Output(as_json=as_json).emit(
        {"table": table.name, **_state(table, branch)},
        lambda _: Text(show_text(f"created branch {branch}; its table name is {table.name}$branch_{branch}")),
    )


@app.command("rename")
def rename(
    name: TableArgument,
    branch: BranchArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    force: Force = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Rename a branch."""
    table = open_table(warehouse, name)
    table.rename_branch(branch, new_name, force=force)
    Output(as_json=as_json).emit(
        {"table": table.name, "branch": new_name, "renamed_from": branch},
        lambda _: Text(show_text(f"renamed branch {branch} to {new_name}")),
    )


@app.command("drop")
@with_rule
def drop(
    name: TableArgument,
    branch: BranchArgument,
    force: Force = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Drop a branch with its snapshots. Data files that only it needs stay until lakebed orphans deletes them."""
    table = open_table(warehouse, name)
    if branch not in table.branches():  # so that a dry run fails as the real run would; main is refused here too
        raise NotFoundError(unknown_name("branch", branch, table.branches(), where=f"table {table.name}"))
    state = _state(table, branch)

    def run(only_plan: bool) -> dict[str, Any]:
        if not only_plan:
            table.drop_branch(branch, force=force)
        return {"table": table.name, **state}

    def view(record: dict[str, Any]) -> RenderableType:
        doing = "would drop" if record["dry_run"] else "dropped"
        held = "without snapshots" if record["snapshot_id"] is None else f"at snapshot {record['snapshot_id']}"
        return Text(show_text(f"{doing} branch {branch} of {table.name}, {held}"))

    plan_or_act(
        Output(as_json=as_json),
        run,
        view,
        question=f"Drop branch {branch}?",
        yes=yes,
        dry_run=dry_run,
    )


@app.command("fast-forward")
@with_rule
def fast_forward(
    name: TableArgument,
    branch: BranchArgument,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Make main equal to a branch. Deletes the snapshots that main got since the branch was created."""
    table = open_table(warehouse, name)

    def run(only_plan: bool) -> dict[str, Any]:
        plan = table.fast_forward(branch, dry_run=only_plan)
        return {
            "table": table.name,
            "branch": branch,
            "removed_snapshots": list(plan.removed_snapshots),
            "removed_tags": list(plan.removed_tags),
            "removed_schemas": list(plan.removed_schemas),
            "copied_snapshots": list(plan.copied_snapshots),
            "copied_tags": list(plan.copied_tags),
            "copied_schemas": list(plan.copied_schemas),
        }

    def view(record: dict[str, Any]) -> RenderableType:
        if not any(record[key] for key in record if key.startswith(("removed_", "copied_"))):
            return Text(show_text(f"nothing to do: main already equals branch {branch}"))
        doing = "would fast-forward" if record["dry_run"] else "fast-forwarded"
        copied = [ids_text(record["copied_snapshots"], "snapshot"), *(f"tag {tag}" for tag in record["copied_tags"])]
        copy = "would copy" if record["dry_run"] else "copied"
        sentence = f"{doing} {table.name} to branch {branch}; {copy} {', '.join(copied)}; {deleted_text(record)}"
        return Text(show_text(sentence))

    plan_or_act(
        Output(as_json=as_json),
        run,
        view,
        question=f"Replace main by branch {branch}?",
        yes=yes,
        dry_run=dry_run,
        idle=lambda record: not any(record[key] for key in record if key.startswith(("removed_", "copied_"))),
    )


@app.command("merge")
def merge(name: TableArgument, branch: BranchArgument, warehouse: Warehouse = None, as_json: Json = False) -> None:
    """Add the rows of an append-only branch to the table, as one commit."""
    table = open_table(warehouse, name)
    merged = table.merge_branch(branch)
    record = {
        "table": table.name,
        "branch": branch,
        "snapshot": None if merged is None else snapshot_record(merged),
    }
    done = "nothing to merge" if merged is None else f"merged branch {branch} as snapshot {merged.id}"
    Output(as_json=as_json).emit(record, lambda _: Text(show_text(done)))
