"""Routes for the service itself, warehouses, databases, tables, schemas, options and health."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from lakebed.errors import LakebedError, NotFoundError, StorageError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Field
from lakebed.operations.diff import schema_differences
from lakebed.options import OPTIONS, Support, TableOptions, find
from lakebed.options.definitions import SECTIONS
from lakebed.options.secrets import shown_value
from lakebed.service.error_answers import documented
from lakebed.service.models.common import Column, HealthSummary, Listing, Page, SchemaChange
from lakebed.service.models.tables import (
    DatabaseInfo,
    Health,
    LimitsInfo,
    OptionInfo,
    SchemaVersion,
    ServiceInfo,
    TableOverview,
    TableSummary,
    WarehouseInfo,
)
from lakebed.service.numbers.snapshot_changes import snapshot_info
from lakebed.service.numbers.table_contents import partition_count
from lakebed.service.numbers.table_health import summary_of
from lakebed.service.routes.parameters import (
    API,
    READ_ERRORS,
    TABLE_PATH,
    Cut,
    Opened,
    Search,
    ServiceState,
    WarehouseName,
)
from lakebed.service.state import Service, warnings_of
from lakebed.service.warehouses import Warehouse, kind_of
from lakebed.version import VERSION

router = APIRouter(prefix=API, tags=["tables"])

_SECTION_OF = {option.name: section.title for section in SECTIONS for option in section.options}


@router.get("/service", summary="Version, limits and settings of the service", responses=documented(400, 403))
def service(state: ServiceState) -> ServiceInfo:
    """Needs no token, so that a page can find out whether it has to ask for one."""
    limits = state.settings.limits
    return ServiceInfo(
        name="lakebed",
        version=VERSION,
        token_required=state.settings.token is not None,
        allow_actions=state.settings.allow_actions,
        limits=LimitsInfo(
            page=limits.page,
            preview_rows=limits.preview_rows,
            preview_bytes=limits.preview_bytes,
            jobs=limits.jobs,
        ),
    )


@router.get("/warehouses", summary="The warehouses", responses=documented(400, 401, 403, 503))
def warehouses(state: ServiceState) -> Listing[WarehouseInfo]:
    """Returns all warehouses of this service."""
    return Listing(items=[_warehouse(one) for one in state.warehouses])


def _warehouse(one: Warehouse) -> WarehouseInfo:
    """Returns a warehouse; a storage that does not answer is its problem, and not one of the others."""
    try:
        return WarehouseInfo(name=one.name, path=one.path, databases=len(one.lake.databases()), problem=None)
    except StorageError as error:
        return WarehouseInfo(name=one.name, path=one.path, databases=None, problem=str(error))


@router.get("/warehouses/{warehouse}/databases", summary="The databases of a warehouse", responses=READ_ERRORS)
def databases(state: ServiceState, warehouse: WarehouseName) -> Listing[DatabaseInfo]:
    """Returns all databases with the number of their tables."""
    lake = state.warehouses.get(warehouse).lake
    items = []
    for name in lake.databases():
        properties = lake.database_properties(name)
        items.append(
            DatabaseInfo(
                name=name, tables=len(lake.tables(name)), comment=properties.get("comment"), properties=properties
            )
        )
    return Listing(items=items)


@router.get("/warehouses/{warehouse}/tables", summary="The tables of a warehouse", responses=READ_ERRORS)
def tables(
    state: ServiceState,
    warehouse: WarehouseName,
    part: Cut,
    database: Annotated[str | None, Query(max_length=255, description="Only tables of this database.")] = None,
    search: Search = None,
    health: Annotated[bool, Query(description="Also check the health of each table.")] = True,
) -> Page[TableSummary]:
    """Returns tables by name. A table that cannot be opened is listed with its problem."""
    home = state.warehouses.get(warehouse)
    known = home.lake.databases()
    if database is not None and database not in known:
        raise NotFoundError(f"there is no database {database!r} in warehouse {warehouse}")
    names = [
        (one, table)
        for one in known
        if database in {None, one}
        for table in home.lake.tables(one)
        if search is None or search.lower() in f"{one}.{table}".lower()
    ]
    state.metrics.pages.labels("tables").inc()
    page = part.page(names)
    return Page(**{**page, "items": [_summary(state, home, *name, health=health) for name in page["items"]]})


def _summary(state: Service, home: Warehouse, database: str, name: str, *, health: bool) -> TableSummary:
    nothing = dict.fromkeys(
        ("kind", "comment", "latest_snapshot_id", "last_commit_millis", "record_count", "file_count", "byte_count")
    )
    try:
        opened = state.warehouses.open(home.name, database, name, None)
        schema, latest = opened.table.schema, opened.table.latest_snapshot()
        others = [opened.on_branch(name).table.latest_snapshot() for name in opened.table.data_branches()]
        snapshots = [snapshot for snapshot in (latest, *others) if snapshot is not None]
        found: dict[str, object] = {
            "kind": kind_of(opened),
            "comment": schema.comment,
            "latest_snapshot_id": None if latest is None else latest.id,
            "last_commit_millis": max((snapshot.time_millis for snapshot in snapshots), default=None),
            "record_count": sum(snapshot.total_record_count for snapshot in snapshots),
            "file_count": None,
            "byte_count": None,
            "partition_keys": list(schema.partition_keys),
            "primary_keys": list(schema.primary_keys),
            "health": None,
        }
        if health:
            contents = state.contents_of(opened, latest)
            found |= asdict(state.totals(state.shown(opened, contents)))
            examined = state.health(opened, contents, state.snapshot_count(opened), orphans=False)
            found["health"] = summary_of(examined)
    except LakebedError as error:
        broken = HealthSummary(verdict="problem", reasons=[str(error)]) if health else None
        found = {**nothing, "partition_keys": [], "primary_keys": [], "health": broken}
        return TableSummary(database=database, name=name, problem=str(error), **found)  # type: ignore[arg-type]
    return TableSummary(database=database, name=name, problem=None, **found)  # type: ignore[arg-type]


@router.get(TABLE_PATH, summary="A table", responses=READ_ERRORS)
def overview(state: ServiceState, opened: Opened) -> TableOverview:
    """Returns columns, keys, size, latest snapshot, branches, tags and health of a table or a branch."""
    table = opened.table
    schema, latest = table.schema, table.latest_snapshot()
    contents = state.contents_of(opened, latest)
    shown = state.shown(opened, contents)
    totals = state.totals(shown)
    count = state.snapshot_count(opened)
    options = TableOptions(schema.options)
    tags = state.tags.of(opened.store)
    return TableOverview(
        warehouse=opened.warehouse.name,
        database=opened.database,
        name=opened.name,
        branch=table.branch_name,
        path=table.path,
        kind=kind_of(opened),
        comment=schema.comment,
        schema_id=schema.id,
        columns=_columns(schema),
        partition_keys=list(schema.partition_keys),
        primary_keys=list(schema.primary_keys),
        bucket_keys=list(schema.bucket_keys),
        bucket=str(options.bucket),
        merge_engine=options.merge_engine if schema.primary_keys else None,
        latest_snapshot=None if latest is None else snapshot_info(latest, tags),
        latest_snapshot_ids={one.store.paths.branch: one.snapshot.id for one in shown if one.snapshot is not None},
        last_commit_millis=totals.last_commit_millis,
        snapshot_count=count + sum(state.snapshot_count(opened.on_branch(name)) for name in table.data_branches()),
        earliest_snapshot_id=opened.store.snapshots.earliest_id(),
        record_count=totals.record_count,
        file_count=totals.file_count,
        byte_count=totals.byte_count,
        partition_count=partition_count(shown),
        bucket_count=sum(one.bucket_count for one in shown),
        branches=table.branches(),
        data_branches=table.data_branches(),
        tags=sorted(name for names in tags.values() for name in names),
        warnings=warnings_of(opened),
        health=summary_of(state.health(opened, contents, count, orphans=False)),
    )


@router.get(f"{TABLE_PATH}/schemas", summary="The schemas of a table", responses=READ_ERRORS)
def schemas(opened: Opened) -> Listing[SchemaVersion]:
    """Returns all schemas, newest first, each with its changes."""
    store = opened.store
    found = [store.schemas.get(number) for number in store.schemas.ids()]
    items = []
    for before, schema in zip([None, *found], found, strict=False):
        changes = () if before is None else schema_differences(before, schema)
        items.append(
            SchemaVersion(
                id=schema.id,
                time_millis=schema.time_millis,
                comment=schema.comment,
                columns=_columns(schema),
                partition_keys=list(schema.partition_keys),
                primary_keys=list(schema.primary_keys),
                options={name: shown_value(name, value) for name, value in schema.options.items()},
                changes=[
                    SchemaChange(what=one.what, name=one.name, before=one.before, after=one.after) for one in changes
                ],
            )
        )
    return Listing(items=items[::-1])


def _columns(schema: TableSchema) -> list[Column]:
    return [_column(column) for column in schema.fields]


def _column(column: Field) -> Column:
    return Column(
        id=column.id,
        name=column.name,
        type=str(column.type),
        nullable=column.nullable,
        default=column.default,
        comment=column.description,
    )


@router.get(f"{TABLE_PATH}/options", summary="The options of a table", responses=READ_ERRORS)
def options(
    opened: Opened,
    every: Annotated[
        bool, Query(alias="all", description="Also return documented options that the table does not set.")
    ] = False,
) -> Listing[OptionInfo]:
    """Returns options by name, with their documentation."""
    given = dict(opened.table.options)
    items = [_option(name, value) for name, value in given.items()]
    if every:
        items += [_option(name, None) for name in OPTIONS if name not in given]
    return Listing(items=sorted(items, key=lambda item: item.name))


def _option(name: str, value: str | None) -> OptionInfo:
    known = find(name)
    if known is None:
        return OptionInfo(
            name=name,
            value=None if value is None else shown_value(name, value),
            default=None,
            is_set=value is not None,
            type=None,
            support="unknown",
            meaning=None,
            section=None,
        )
    words = {Support.HONOURED: "honoured", Support.KEPT: "kept", Support.REFUSED: "refused"}
    return OptionInfo(
        name=name,
        value=value,
        default=known.default,
        is_set=value is not None,
        type=known.kind.value,
        support=words[known.support],  # type: ignore[arg-type]
        meaning=known.meaning,
        section=_SECTION_OF.get(known.name),
    )


@router.get(f"{TABLE_PATH}/health", summary="The health of a table", responses=READ_ERRORS)
def health(
    state: ServiceState,
    opened: Opened,
    orphans: Annotated[bool, Query(description="Also check for orphan files, which lists folders.")] = True,
) -> Health:
    """Returns a verdict and a reason for each check, and the action that helps."""
    contents = state.contents(opened)
    return state.health(opened, contents, state.snapshot_count(opened), orphans=orphans)
