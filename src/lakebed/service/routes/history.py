"""Routes for snapshots, the changes of one snapshot, and compactions."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BeforeValidator, Field

from lakebed.errors import OptionError
from lakebed.service.models.history import (
    CommitKindName,
    CompactionInfo,
    CompactionKindName,
    HistoryPage,
    SnapshotDetail,
    SnapshotInfo,
)
from lakebed.service.numbers.snapshot_changes import changes_of, snapshot_info
from lakebed.service.routes.parameters import (
    API,
    DEFAULT_HISTORY_PAGE,
    READ_ERRORS,
    TABLE_PATH,
    Cut,
    Limit,
    Offset,
    Opened,
    ServiceState,
)

router = APIRouter(prefix=API, tags=["history"])

InAnyCase: Final = BeforeValidator(str.upper)
_FORMS: Final = "Epoch milliseconds, a time such as 2025-01-31 12:00:00, or a duration ago such as 3 d."
Moment = Annotated[str | None, Query(min_length=1, max_length=64, description=_FORMS, examples=["3 d"])]
FromTime = Annotated[
    str | None,
    Query(min_length=1, max_length=64, description=f"Only commits of this time or later. {_FORMS}", examples=["3 d"]),
]
ToTime = Annotated[
    str | None,
    Query(min_length=1, max_length=64, description=f"Only commits of this time or earlier. {_FORMS}", examples=["3 d"]),
]
SnapshotId = Annotated[int, Field(ge=0, lt=2**59)]
LastSnapshotId = Annotated[
    SnapshotId | None,
    Query(alias="lastSnapshotId", description="The last snapshot of the page before, instead of its next_cursor."),
]
Since = Annotated[
    str | None, Query(min_length=1, max_length=64, description="The old name of from_time.", deprecated=True)
]
Until = Annotated[
    str | None, Query(min_length=1, max_length=64, description="The old name of to_time.", deprecated=True)
]


async def asked(
    limit: Limit = DEFAULT_HISTORY_PAGE,
    cursor: Annotated[str | None, Query(max_length=64, description="next_cursor of the page before.")] = None,
    last_snapshot_id: LastSnapshotId = None,
    offset: Offset = 0,
    user: Annotated[str | None, Query(max_length=255, description="Only commits of this user.")] = None,
    from_time: FromTime = None,
    to_time: ToTime = None,
    from_snapshot: Annotated[SnapshotId | None, Query(description="Only snapshots from this id on.")] = None,
    to_snapshot: Annotated[SnapshotId | None, Query(description="Only snapshots up to this id.")] = None,
    since: Since = None,
    until: Until = None,
) -> dict[str, Any]:
    """Returns the requested part of a history as arguments of :meth:`lakebed.Table.history`."""
    if cursor is not None and last_snapshot_id is not None:
        raise OptionError("give either cursor or lastSnapshotId, not both")
    return {
        "limit": limit,
        "cursor": last_snapshot_id if cursor is None else cursor,
        "offset": offset,
        "user": user,
        "from_time": since if from_time is None else from_time,
        "to_time": until if to_time is None else to_time,
        "from_snapshot": from_snapshot,
        "to_snapshot": to_snapshot,
    }


HistoryPart = Annotated[dict[str, Any], Depends(asked)]


@router.get(f"{TABLE_PATH}/snapshots", summary="Snapshots of a table", responses=READ_ERRORS)
def snapshots(
    state: ServiceState,
    opened: Opened,
    part: HistoryPart,
    kind: Annotated[
        Annotated[CommitKindName, InAnyCase] | None, Query(description="Only commits of this kind, in any case.")
    ] = None,
) -> HistoryPage[SnapshotInfo]:
    """Returns one page, newest first. With a cursor, nothing is repeated or skipped while others commit and expire."""
    page = opened.table.history(kind=kind, **part)
    state.metrics.pages.labels("snapshots").inc()
    state.metrics.snapshots_scanned.inc(page.scanned)
    tags = state.tags.of(opened.store)
    return HistoryPage(
        items=[snapshot_info(one, tags) for one in page.snapshots],
        next_cursor=page.next_cursor,
        total=page.total,
        scanned=page.scanned,
        source=page.source.value,
    )


@router.get(f"{TABLE_PATH}/snapshots/{{snapshot_id}}", summary="A snapshot and what it changed", responses=READ_ERRORS)
def snapshot(
    state: ServiceState,
    opened: Opened,
    part: Cut,
    snapshot_id: Annotated[int, Path(ge=1, lt=2**62, description="The id of a snapshot.", examples=[3])],
) -> SnapshotDetail:
    """Returns the files that a snapshot added and deleted: sums by bucket, and a page of files."""
    found = opened.table.snapshot(snapshot_id)
    state.metrics.snapshots_scanned.inc()
    return SnapshotDetail(
        snapshot=snapshot_info(found, state.tags.of(opened.store)), changes=changes_of(opened.store, found, part)
    )


@router.get(f"{TABLE_PATH}/compactions", summary="Compactions of a table", responses=READ_ERRORS)
def compactions(
    state: ServiceState,
    opened: Opened,
    part: HistoryPart,
    kind: Annotated[
        Annotated[CompactionKindName, InAnyCase] | None,
        Query(description="Only compactions of this kind, in any case."),
    ] = None,
) -> HistoryPage[CompactionInfo]:
    """Returns one page, newest first: what each read and wrote, when it started, how long it took.

    A compaction has a snapshot once it succeeded. Those that wait, run or failed are jobs: ``/jobs?action=compact``.
    """
    page = opened.table.compactions(kind=kind, **part)
    state.metrics.pages.labels("compactions").inc()
    state.metrics.snapshots_scanned.inc(page.scanned)
    items = [
        CompactionInfo(
            snapshot_id=one.snapshot.id,
            kind=one.kind.value,
            status=one.status.value,
            started_millis=one.started_millis,
            finished_millis=one.finished_millis,
            duration_millis=one.duration_millis,
            input_files=one.input_files,
            input_bytes=one.input_bytes,
            input_rows=one.input_rows,
            output_files=one.output_files,
            output_bytes=one.output_bytes,
            output_rows=one.output_rows,
            partitions=one.partitions,
            buckets=one.buckets,
            commit_user=one.snapshot.commit_user,
            from_facts=one.from_facts,
        )
        for one in page.compactions
    ]
    return HistoryPage(
        items=items, next_cursor=page.next_cursor, total=page.total, scanned=page.scanned, source=page.source.value
    )
