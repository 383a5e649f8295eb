"""Routes for rows: a preview of a version, and the differences between two versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Query, Request

from lakebed.errors import ExpressionError
from lakebed.format.human_text import size_text
from lakebed.format.types.data_types import Field, field_from_arrow
from lakebed.rows.json_rows import json_rows
from lakebed.scan import Scan
from lakebed.service.error_answers import RefusedError, documented
from lakebed.service.models.common import ResultColumn, SchemaChange
from lakebed.service.models.contents import DiffFile, DiffFiles, DiffInfo, DiffRows, Preview
from lakebed.service.numbers.snapshot_changes import snapshot_info
from lakebed.service.numbers.table_contents import total
from lakebed.service.patience import Patience, read_patiently
from lakebed.service.routes.history import Moment
from lakebed.service.routes.parameters import API, READ_ERRORS, TABLE_PATH, Opened, ServiceState, Version
from lakebed.service.settings import Limits
from lakebed.service.state import Service
from lakebed.service.warehouses import OpenTable

router = APIRouter(prefix=API, tags=["rows"])

_LIMITS = Limits()
_LISTED_FILES = 200
_ERRORS = {**READ_ERRORS, **documented(413, 504)}


@router.get(f"{TABLE_PATH}/rows", summary="Some rows of a table", responses=_ERRORS)
async def preview(
    request: Request,
    state: ServiceState,
    opened: Opened,
    version: Version = None,
    timestamp: Moment = None,
    limit: Annotated[int, Query(ge=1, le=_LIMITS.preview_rows, description="How many rows at most.")] = 50,
    columns: Annotated[
        str | None, Query(max_length=8000, description="Column names, separated by commas.", examples=["id"])
    ] = None,
    where: Annotated[
        str | None, Query(max_length=4000, description="A SQL expression over the columns.", examples=["id > 3"])
    ] = None,
) -> Preview:
    """Returns the first rows of a version that satisfy a condition.

    Reads that would open too many bytes are refused.
    """
    names = None if columns is None else [name.strip() for name in columns.split(",")]

    def read(patience: Patience) -> Preview:
        return _preview(state, opened, Asked(names, where, version, timestamp, limit), patience)

    return await read_patiently(request, state.settings.limits, read)


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows that a request asks for."""

    columns: list[str] | None
    where: str | None
    version: str | None
    timestamp: Any
    limit: int


def _preview(state: Service, opened: OpenTable, asked: Asked, patience: Patience) -> Preview:
    try:
        scan = opened.table.scan(asked.columns, asked.where, version=asked.version, timestamp=asked.timestamp)
    except RecursionError:
        raise ExpressionError("the condition is nested too deeply; write it flatter") from None
    plan = scan.plan()
    _check_size(state, opened, plan.byte_count, filtered=asked.where is not None)
    with state.reading():
        found, has_more = _head(scan, asked.limit, patience)
    shown = _fitting(found, state.settings.limits.preview_bytes)
    state.metrics.rows_previewed.inc(len(shown))
    is_cut = len(shown) < len(found)
    return Preview(
        snapshot_id=None if scan.snapshot is None else scan.snapshot.id,
        columns=_columns(scan.columns),
        rows=json_rows(shown, for_javascript=True),
        has_more=has_more or is_cut,
        cut_by="bytes" if is_cut else "rows" if has_more else None,
        files=plan.file_count,
        bytes_to_read=plan.byte_count,
    )


def _check_size(state: Service, opened: OpenTable, size: int, *, filtered: bool) -> None:
    """Refuse a read that may have to open too many bytes.

    Without a condition, files of an append table are read one after the other until there are enough rows. With a
    condition, or in a primary-key table, all files may have to be read.
    """
    most = state.settings.limits.read_bytes
    if size > most and (filtered or opened.table.schema.primary_keys):
        raise RefusedError(
            413,
            f"this would read up to {size_text(size)}, more than the limit of {size_text(most)}; narrow it with a "
            "condition on "
            "partition or key columns",
        )


def _head(scan: Scan, count: int, patience: Patience) -> tuple[pa.Table, bool]:
    """Returns the first rows and whether there are more; reads no more batches than that takes."""
    kept: list[pa.RecordBatch] = []
    found = 0
    with scan.to_batches() as reader:
        for batch in reader:
            patience.note(0)
            kept.append(batch)
            found += batch.num_rows
            if found > count:
                break
        schema = reader.schema
    return pa.Table.from_batches(kept, schema=schema).slice(0, count), found > count


def _fitting(rows: pa.Table, most: int) -> pa.Table:
    """Returns as many of the first rows as fit into a number of bytes."""
    fits, too_many = 0, len(rows) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if rows.slice(0, middle).nbytes <= most else (fits, middle)
    return rows.slice(0, fits)


def _columns(fields: tuple[Field, ...]) -> list[ResultColumn]:
    return [ResultColumn(name=field.name, type=str(field.type)) for field in fields]


@router.get(f"{TABLE_PATH}/diff", summary="Differences between two snapshots", responses=_ERRORS)
async def diff(
    request: Request,
    state: ServiceState,
    opened: Opened,
    before: Annotated[str, Query(min_length=1, max_length=255, description="A snapshot or tag.", examples=["1"])],
    after: Annotated[
        str | None,
        Query(min_length=1, max_length=255, description="A snapshot or tag. (default: the latest)", examples=["3"]),
    ] = None,
    sample: Annotated[
        int, Query(ge=0, le=200, description="How many rows of each side at most; 0 compares no rows.")
    ] = 20,
) -> DiffInfo:
    """Returns differences in schema, files and some rows.

    Rows are compared only if the files that differ are not too large.
    """

    def read(_: Patience) -> DiffInfo:
        return _diff(state, opened, before, after, sample)

    return await read_patiently(request, state.settings.limits, read)


def _diff(state: Service, opened: OpenTable, before: str, after: str | None, sample: int) -> DiffInfo:
    with state.reading():
        found = opened.table.diff(before, after, sample=sample, max_bytes=state.settings.limits.diff_bytes)
    tags = state.tags.of(opened.store)
    rows = None
    if found.rows_added is not None and found.rows_removed is not None:
        most = state.settings.limits.preview_bytes // 2
        added, removed = _fitting(found.rows_added, most), _fitting(found.rows_removed, most)
        is_cut = len(added) < len(found.rows_added) or len(removed) < len(found.rows_removed)
        rows = DiffRows(
            columns=_columns(tuple(field_from_arrow(field) for field in added.schema)),
            added=json_rows(added, for_javascript=True),
            removed=json_rows(removed, for_javascript=True),
            has_more=found.has_more_rows or is_cut,
        )
    return DiffInfo(
        before=snapshot_info(found.before, tags),
        after=snapshot_info(found.after, tags),
        schema_changes=[
            SchemaChange(what=one.what, name=one.name, before=one.before, after=one.after) for one in found.schema
        ],
        files_added=_files(opened, found.files_added),
        files_removed=_files(opened, found.files_removed),
        bytes_to_compare=found.bytes_to_compare,
        rows=rows,
    )


def _files(opened: OpenTable, files: pa.Table) -> DiffFiles:
    items = [
        DiffFile(
            path=opened.warehouse.relative(row["file_path"]),
            bucket=row["bucket"],
            level=row["level"],
            record_count=row["record_count"],
            byte_count=row["file_size_in_bytes"],
        )
        for row in files.slice(0, _LISTED_FILES).to_pylist()
    ]
    return DiffFiles(
        count=len(files),
        byte_count=total(files, "file_size_in_bytes"),
        record_count=total(files, "record_count"),
        items=items,
    )
