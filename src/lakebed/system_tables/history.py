"""System tables of metadata: snapshots, schemas, options, tags, branches, consumers, statistics, aggregations."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from lakebed.format import predicate as pred
from lakebed.format.history_sidecar import unquoted
from lakebed.format.paths import BRANCH_PREFIX
from lakebed.format.snapshot import Snapshot, load_json_object
from lakebed.format.statistics.table_statistics import columns_to_json, statistics_from_json
from lakebed.format.time_text import local_datetime
from lakebed.format.types.data_types import Field, field_from_arrow, field_to_json
from lakebed.metadata.consumers import list_consumers
from lakebed.metadata.history.history_index import I64, Mask
from lakebed.metadata.history.pages import all_matches
from lakebed.metadata.store import TableStore
from lakebed.system_tables.texts import MILLIS, make_table

_SNAPSHOT_FIELDS: Final = {
    "snapshot_id": pa.int64(),
    "schema_id": pa.int64(),
    "commit_user": pa.string(),
    "commit_identifier": pa.int64(),
    "commit_kind": pa.string(),
    "commit_time": MILLIS,
    "base_manifest_list": pa.string(),
    "delta_manifest_list": pa.string(),
    "changelog_manifest_list": pa.string(),
    "total_record_count": pa.int64(),
    "delta_record_count": pa.int64(),
    "changelog_record_count": pa.int64(),
    "watermark": pa.int64(),
    "next_row_id": pa.int64(),
    "operation": pa.string(),
    "writer_version": pa.string(),
}
_IN_THE_INDEX: Final = ("snapshot_id", "commit_kind", "commit_time", "commit_user")


def snapshots(store: TableStore, condition: pred.Node = pred.TRUE) -> pa.Table:
    """``$snapshots``: all snapshots that have not expired.

    Only those are read whose id, kind, time and user satisfy what the condition says about these columns, and those
    that the history index lacks. The caller tests the condition on the rows.
    """
    renamed = {"snapshot_id": "id"}
    rows = []
    for snapshot in _candidates(store, condition):
        row = {name: getattr(snapshot, renamed.get(name, name), None) for name in _SNAPSHOT_FIELDS}
        row["commit_time"] = local_datetime(snapshot.time_millis)
        row["commit_kind"] = str(snapshot.commit_kind)
        rows.append(row)
    return make_table(_SNAPSHOT_FIELDS, rows)


def snapshot_fields() -> list[Field]:
    """Returns the columns of ``$snapshots``."""
    return [field_from_arrow(column) for column in make_table(_SNAPSHOT_FIELDS, []).schema]


def _candidates(store: TableStore, condition: pred.Node) -> list[Snapshot]:
    about_ids = pred.implied(condition, ["snapshot_id"])
    about_lines = pred.implied(condition, _IN_THE_INDEX)
    found = None
    if about_lines != pred.TRUE:
        needs_lines = pred.columns(about_lines) != {"snapshot_id"}
        found = all_matches(
            store, partial(_ids_match, about_ids), partial(_lines_match, about_lines) if needs_lines else None
        )
    return store.snapshots.read_many(store.snapshots.ids()) if found is None else found


def _ids_match(condition: pred.Node, ids: I64) -> Mask:
    rows = make_table({"snapshot_id": pa.int64()}, []) if not len(ids) else pa.table({"snapshot_id": ids})
    return np.asarray(pred.matches_rows(condition, rows))


def _lines_match(condition: pred.Node, lines: pa.Table) -> Mask:
    times = [local_datetime(millis) for millis in lines["time_millis"].to_pylist()]
    shown = pa.table(
        {
            "snapshot_id": lines["id"],
            "commit_kind": lines["commit_kind"],
            "commit_time": pa.array(times, MILLIS),
            "commit_user": unquoted(lines["quoted_user"]),
        }
    )
    return np.asarray(pred.matches_rows(condition, shown))


def schemas(store: TableStore) -> pa.Table:
    """``$schemas``: all schemas of the table."""
    fields = {
        "schema_id": pa.int64(),
        "fields": pa.string(),
        "partition_keys": pa.string(),
        "primary_keys": pa.string(),
        "options": pa.string(),
        "comment": pa.string(),
        "update_time": MILLIS,
    }
    rows = [
        {
            "schema_id": schema.id,
            "fields": _json([field_to_json(column) for column in schema.fields]),
            "partition_keys": _json(list(schema.partition_keys)),
            "primary_keys": _json(list(schema.primary_keys)),
            "options": _json(dict(schema.options)),
            "comment": schema.comment,
            "update_time": local_datetime(schema.time_millis),
        }
        for schema in map(store.schemas.get, store.schemas.ids())
    ]
    return make_table(fields, rows)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def options(store: TableStore) -> pa.Table:
    """``$options``: the stored options."""
    found = store.schema().options
    return make_table({"key": pa.string(), "value": pa.string()}, [{"key": k, "value": v} for k, v in found.items()])


def tags(store: TableStore) -> pa.Table:
    """``$tags``: the tags and their snapshots."""
    fields = {
        "tag_name": pa.string(),
        "snapshot_id": pa.int64(),
        "schema_id": pa.int64(),
        "commit_time": MILLIS,
        "record_count": pa.int64(),
        "create_time": MILLIS,
        "time_retained": pa.string(),
    }
    rows = []
    for name, snapshot in store.snapshots.tags().items():
        path = store.paths.tag(name)
        raw = load_json_object(store.storage.read(path), where=path)
        rows.append(
            {
                "tag_name": name,
                "snapshot_id": snapshot.id,
                "schema_id": snapshot.schema_id,
                "commit_time": local_datetime(snapshot.time_millis),
                "record_count": snapshot.total_record_count,
                "create_time": _tag_time(raw.get("tagCreateTime")),
                "time_retained": _iso_duration(raw.get("tagTimeRetained")),
            }
        )
    return make_table(fields, rows)


def _tag_time(parts: Sequence[int] | None) -> dt.datetime | None:
    """Converts Java's array of year, month, day, hour, minute, second and nanosecond; it may omit trailing zeros."""
    if not parts:
        return None
    year, month, day, hour, minute, second, nanos = [*parts, 0, 0, 0, 0, 0][:7]
    return dt.datetime(year, month, day, hour, minute, second, nanos // 1000)  # noqa: DTZ001 - local wall clock time


def _iso_duration(seconds: float | None) -> str | None:
    """Returns seconds as Java prints a duration: ``PT24H``, ``PT1M0.5S``."""
    if seconds is None:
        return None
    whole, left = divmod(Decimal(str(seconds)), 60)
    hours, minutes = divmod(int(whole), 60)
    text = (
        (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + (f"{left.normalize():f}S" if left else "")
    )
    return f"PT{text or '0S'}"


def branches(store: TableStore) -> pa.Table:
    """``$branches``: the branches besides main."""
    found = [info for info in store.storage.list(store.paths.branches) if info.name.startswith(BRANCH_PREFIX)]
    rows = [
        {"branch_name": info.name.removeprefix(BRANCH_PREFIX), "create_time": local_datetime(info.modified_millis)}
        for info in sorted(found, key=lambda info: info.name)
    ]
    return make_table({"branch_name": pa.string(), "create_time": MILLIS}, rows)


def consumers(store: TableStore) -> pa.Table:
    """``$consumers``: the consumers and the next snapshot that each reads."""
    rows = [{"consumer_id": name, "next_snapshot_id": number} for name, number in list_consumers(store).items()]
    return make_table({"consumer_id": pa.string(), "next_snapshot_id": pa.int64()}, rows)


def statistics(store: TableStore) -> pa.Table:
    """``$statistics``: the statistics of the last ANALYZE that the latest snapshot refers to; at most one row."""
    fields = {
        "snapshot_id": pa.int64(),
        "schema_id": pa.int64(),
        "mergedRecordCount": pa.int64(),
        "mergedRecordSize": pa.int64(),
        "colstat": pa.string(),
    }
    latest = store.snapshots.latest()
    if latest is None or latest.statistics is None:
        return make_table(fields, [])
    path = f"{store.paths.statistics}/{latest.statistics}"
    found = statistics_from_json(store.storage.read(path), where=path)
    row = {
        "snapshot_id": found.snapshot_id,
        "schema_id": found.schema_id,
        "mergedRecordCount": found.record_count,
        "mergedRecordSize": found.byte_count,
        "colstat": columns_to_json(found.columns),
    }
    return make_table(fields, [row])


def aggregation_fields(store: TableStore) -> pa.Table:
    """``$aggregation_fields``: the options of each column."""
    schema = store.schema()
    rows = []
    for column in schema.fields:
        prefix = f"fields.{column.name}."
        found = {key: value for key, value in schema.options.items() if key.startswith(prefix)}
        rows.append(
            {
                "field_name": column.name,
                "field_type": str(column.type),
                "function": f"[{','.join(found.values())}]",
                "function_options": f"[{','.join(found)}]",
                "comment": column.description,
            }
        )
    names = ("field_name", "field_type", "function", "function_options", "comment")
    return make_table(dict.fromkeys(names, pa.string()), rows)
