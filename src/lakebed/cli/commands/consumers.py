"""``consumers``: the readers of a table and the snapshot that each reads next; those snapshots do not expire."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

import lakebed
from lakebed.cli.arguments import DryRun, Json, TableArgument, Warehouse, Yes
from lakebed.cli.consent import plan_or_act, with_rule
from lakebed.cli.open_warehouse import ListingGroup, open_table
from lakebed.cli.output import Column, Output, listing, show_text
from lakebed.errors import CorruptError, NotFoundError, unknown_name

app = typer.Typer(
    cls=ListingGroup, no_args_is_help=True, help="List consumers (lakebed consumers TABLE), reset and drop them."
)

ConsumerArgument = Annotated[str, typer.Argument(metavar="CONSUMER", help="The consumer.")]


@app.command("list")
def list_consumers(name: TableArgument, warehouse: Warehouse = None, as_json: Json = False) -> None:
    """List the consumers of a table with the snapshot that each reads next."""
    found = open_table(warehouse, name).consumers()
    records = [{"consumer": consumer, "next_snapshot": following} for consumer, following in found.items()]
    columns = [Column("consumer", "consumer"), Column("next_snapshot", "next snapshot", right=True)]
    Output(as_json=as_json).emit(records, lambda shown: listing(shown, columns, empty="no consumers"))


def _readable(table: lakebed.Table) -> dict[str, int] | None:
    """Returns the consumers, or ``None`` if a file is damaged; reset and delete must work on damaged files."""
    try:
        return table.consumers()
    except CorruptError:
        return None


@app.command("reset")
def reset(
    name: TableArgument,
    consumer: ConsumerArgument,
    next_snapshot: Annotated[
        int | None,
        typer.Option(
            "--next-snapshot", metavar="ID", min=1, help="The snapshot to read next. (default: the next commit)"
        ),
    ] = None,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Create a consumer, or set the snapshot that it reads next."""
    table = open_table(warehouse, name)
    before = (_readable(table) or {}).get(consumer)
    table.reset_consumer(consumer, next_snapshot)
    record = {"table": table.name, "consumer": consumer, "next_snapshot": table.consumers()[consumer], "was": before}
    done = f"consumer {consumer} reads snapshot {record['next_snapshot']} next"
    Output(as_json=as_json).emit(record, lambda _: Text(show_text(done)))


@app.command("delete", hidden=True)  # the old name
@app.command("drop")
@with_rule
def drop(
    name: TableArgument,
    consumer: ConsumerArgument,
    yes: Yes = False,
    dry_run: DryRun = False,
    warehouse: Warehouse = None,
    as_json: Json = False,
) -> None:
    """Drop a consumer. Snapshots that only it needs may expire then."""
    table = open_table(warehouse, name)
    known = _readable(table)
    if known is not None and consumer not in known:
        raise NotFoundError(unknown_name("consumer", consumer, known, where=f"table {table.name}"))

    def run(only_plan: bool) -> dict[str, Any]:
        if not only_plan:
            table.drop_consumer(consumer)
        return {"table": table.name, "consumer": consumer, "next_snapshot": (known or {}).get(consumer)}

    def view(record: dict[str, Any]) -> Text:
        doing = "would drop" if record["dry_run"] else "dropped"
        return Text(show_text(f"{doing} consumer {consumer}, next snapshot {show_text(record['next_snapshot'])}"))

    plan_or_act(
        Output(as_json=as_json),
        run,
        view,
        question=f"Drop consumer {consumer}?",
        yes=yes,
        dry_run=dry_run,
    )
