"""Routes for partitions, buckets, files, branches, tags and the partitions of chain tables."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from lakebed.format.paths import BRANCH_PREFIX, MAIN_BRANCH
from lakebed.format.time_text import local_millis
from lakebed.options import TableOptions
from lakebed.service.models.common import Page
from lakebed.service.models.contents import BranchInfo, BucketPage, ChainView, FilePage, PartitionInfo, TagInfo
from lakebed.service.numbers.chain_partitions import chain_view
from lakebed.service.numbers.table_contents import partitions_of
from lakebed.service.routes.parameters import (
    API,
    READ_ERRORS,
    TABLE_PATH,
    Cut,
    Opened,
    PartitionName,
    Search,
    ServiceState,
    Version,
)
from lakebed.service.state import Service
from lakebed.service.warehouses import OpenTable
from lakebed.table_kinds import rules_of

router = APIRouter(prefix=API, tags=["contents"])


@router.get(f"{TABLE_PATH}/partitions", summary="Partitions of a table", responses=READ_ERRORS)
def partitions(
    state: ServiceState, opened: Opened, part: Cut, search: Search = None, version: Version = None
) -> Page[PartitionInfo]:
    """Returns partitions by name; none for a table without partition columns.

    Main of a chain table lists those of its branches too, unless the request names a version of main.
    """
    state.metrics.pages.labels("partitions").inc()
    contents = state.contents(opened, version)
    return partitions_of(state.shown(opened, contents) if version is None else [contents], part, search)


@router.get(f"{TABLE_PATH}/buckets", summary="Buckets and their levels", responses=READ_ERRORS)
def buckets(
    state: ServiceState, opened: Opened, part: Cut, partition: PartitionName = None, version: Version = None
) -> BucketPage:
    """Returns buckets by partition and number, with the files, bytes and rows of each level.

    Main of a chain table counts the files of its branches too, unless the request names a version of main.
    """
    state.metrics.pages.labels("buckets").inc()
    return state.shown_contents(opened, version).buckets(part, partition)


@router.get(f"{TABLE_PATH}/files", summary="Data files of a table", responses=READ_ERRORS)
def files(
    state: ServiceState,
    opened: Opened,
    part: Cut,
    partition: PartitionName = None,
    bucket: Annotated[int | None, Query(ge=-2, lt=2**31, description="Only this bucket.")] = None,
    level: Annotated[int | None, Query(ge=0, lt=2**31, description="Only this level.")] = None,
    sort: Annotated[
        Literal["partition", "size", "-size", "records", "-records", "created", "-created"],
        Query(description="The order; - means the largest first."),
    ] = "partition",
    version: Version = None,
) -> FilePage:
    """Returns files, by default in the order of partition, bucket and level.

    Main of a chain table lists those of its branches too, unless the request names a version of main.
    """
    state.metrics.pages.labels("files").inc()
    contents = state.shown_contents(opened, version)
    return contents.files(part, partition=partition, bucket=bucket, level=level, sort=sort)


@router.get(f"{TABLE_PATH}/tags", summary="Tags of a table", responses=READ_ERRORS)
def tags(state: ServiceState, opened: Opened, part: Cut) -> Page[TagInfo]:
    """Returns tags, those of the newest snapshots first."""
    state.metrics.pages.labels("tags").inc()
    found = sorted(opened.table.tag_details(), key=lambda tag: (-tag.snapshot.id, tag.name))
    items = [
        TagInfo(
            name=tag.name,
            snapshot_id=tag.snapshot.id,
            commit_millis=tag.snapshot.time_millis,
            record_count=tag.snapshot.total_record_count,
            schema_id=tag.snapshot.schema_id,
            created_millis=local_millis(tag.create_time),
            expires_millis=local_millis(tag.expires_at),
        )
        for tag in found
    ]
    return Page(**part.page(items))


@router.get(f"{TABLE_PATH}/branches", summary="Branches of a table", responses=READ_ERRORS)
def branches(state: ServiceState, opened: Opened, part: Cut) -> Page[BranchInfo]:
    """Returns branches: main first, then the others by name."""
    state.metrics.pages.labels("branches").inc()
    page = part.page([MAIN_BRANCH, *opened.table.branches()])
    store = opened.store
    created = {
        info.name.removeprefix(BRANCH_PREFIX): info.modified_millis for info in store.storage.list(store.paths.branches)
    }
    items = [_branch(state, opened, name, created.get(name)) for name in page["items"]]
    return Page(**{**page, "items": items})


def _branch(state: Service, opened: OpenTable, name: str, created: int | None) -> BranchInfo:
    there = opened.on_branch(name)
    latest, earliest = there.table.latest_snapshot(), there.store.snapshots.earliest()
    main = opened.store.on_branch(MAIN_BRANCH)
    origin = None if earliest is None or name == MAIN_BRANCH else main.snapshots.find(earliest.id)
    is_fork = origin is not None and earliest is not None and origin.delta_manifest_list == earliest.delta_manifest_list
    return BranchInfo(
        name=name,
        is_current=name == opened.table.branch_name,
        created_millis=created,
        earliest_snapshot_id=None if earliest is None else earliest.id,
        latest_snapshot_id=None if latest is None else latest.id,
        last_commit_millis=None if latest is None else latest.time_millis,
        snapshot_count=state.snapshot_count(there),
        schema_id=there.table.schema.id,
        forked_from_snapshot_id=origin.id if origin is not None and is_fork else None,
        role=_role(opened, name),
    )


def _role(opened: OpenTable, name: str) -> Literal["fallback", "chain-full", "chain-delta"] | None:
    """Returns the role of a branch according to the options of main."""
    main = opened.store.on_branch(MAIN_BRANCH)
    chain = rules_of(main).chain_branches()
    if chain is not None and name in chain:
        return "chain-full" if name == chain.full else "chain-delta"
    return "fallback" if TableOptions(main.schema().options).scan_fallback_branch == name else None


@router.get(f"{TABLE_PATH}/chain", summary="Partitions of a chain table", responses=READ_ERRORS)
def chain(
    state: ServiceState,
    opened: Opened,
    part: Cut,
    group: Annotated[str | None, Query(max_length=4000, description="Only this group.")] = None,
) -> ChainView:
    """Returns the partitions: full or changes, the full partition that each builds on, and whether it is stale."""
    state.metrics.pages.labels("chain").inc()
    return chain_view(opened, part, group)
