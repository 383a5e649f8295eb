"""The procedures of ``CALL sys.<procedure>(...)``: maintenance operations with Paimon's names, parameters and results.

``PROCEDURES`` lists them. Each is a function that takes the arguments and returns the rows of its result.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Mapping
from typing import Any, Final

from lakebed.errors import LakebedError, NotFoundError, OptionError
from lakebed.format.partition_names import partition_text
from lakebed.rows.sort_order import STRATEGIES
from lakebed.sql.procedures.procedure import Call, Details, Procedure, Rows, matches, partitions, where
from lakebed.sql.procedures.rolled_back import ROLLED_BACK, rolled_back, version_of
from lakebed.sql.procedures.statements import STATEMENTS

_ALL: Final = 2**31 - 1
_FAR_FUTURE: Final = 2**53  # epoch milliseconds: all snapshots are older
_UNSORTED: Final = "none"
_DONE: Final = {"result": "boolean"}
_ROLLED_BACK: Final = {"previous_snapshot_id": "long", "current_snapshot_id": "long"}
_PARTITIONS: Final = {"partition": "string", "result": "string"}


# ---------------------------------------------------------------------------------------------------- what is done


def _compact(call: Call) -> Rows:
    call.refuse("buckets")
    strategy = call.given.get("compact_strategy", "full").lower()
    if strategy not in {"full", "minor"}:
        raise OptionError(f"argument compact_strategy must be full or minor, not {strategy!r}")
    order = _order(call)
    if order and strategy == "minor":
        raise OptionError("sorting rewrites all rows; leave compact_strategy out, or order_strategy and order_by")
    idle = call.some(idle_for="partition_idle_time")
    call.table(call.options()).compact(full=strategy == "full", where=where(call), **order, **idle)
    return [(True,)]


def _order(call: Call) -> dict[str, Any]:
    """Returns how to sort rows: the arguments ``order_strategy`` and ``order_by``, which must be given together."""
    strategy = call.given.get("order_strategy", _UNSORTED).lower()
    columns = [name.strip() for name in call.given.get("order_by", "").split(",") if name.strip()]
    if strategy not in {_UNSORTED, *STRATEGIES}:
        known = ", ".join((_UNSORTED, *STRATEGIES))
        raise OptionError(f"argument order_strategy must be one of {known}, not {strategy!r}")
    if (strategy == _UNSORTED) != (not columns):
        raise OptionError("arguments order_strategy and order_by go together; give both, or none of them")
    return {"order_by": columns, "strategy": strategy} if columns else {}


def _compact_chain_table(call: Call) -> Rows | Details:
    """With Paimon's arguments the result is Paimon's: whether the partition was built. Otherwise it has the details."""
    text, where_text = call.given.get("partition"), call.given.get("where")
    policy = call.some(depth="depth", bytes="bytes", age="age")
    dry_run = call.given.get("dry_run")
    if text is None and where_text is None and not policy:
        raise OptionError(
            "compact_chain_table needs at least one of the arguments partition, where, depth, bytes and age"
        )
    brief = where_text is None and not policy and dry_run is None
    if brief and text is not None and ";" in text:
        raise OptionError(f'argument partition names one partition, such as date="20250729", not {text!r}')
    done = call.table().compact_chain(
        None if text is None else partitions(text),
        where=where_text,
        policy=policy or None,
        overwrite=call.given.get("overwrite", False),
        dry_run=bool(dry_run),
    )
    if brief:
        return [(bool(done),)]
    verb = "would be built" if done.dry_run else "built"
    built = [
        (one.partition, f"{verb} {str(one).removeprefix(partition_text(one.partition)).strip()}") for one in done.built
    ]
    skipped = [(values, f"skipped: {reason}") for values, reason in done.skipped]
    return Details(_PARTITIONS, [(partition_text(values), text) for values, text in (*built, *skipped)])


def _enable_chain(call: Call) -> Rows:
    keys = call.given.get("chain_keys")
    call.table().enable_chain(
        **call.some(timestamp_pattern="timestamp_pattern", timestamp_formatter="timestamp_formatter"),
        chain_keys=None if keys is None else [name.strip() for name in keys.split(",")],
        options=call.options(),
    )
    return [(True,)]


def _disable_chain(call: Call) -> Rows:
    call.table().disable_chain(dry_run=call.given.get("dry_run", False))
    return [(True,)]


def _expire_changes(call: Call) -> Rows:
    done = call.table().expire_changes(call.given.get("before"), dry_run=call.given.get("dry_run", False))
    verb = "would drop" if done.dry_run else "dropped"
    rows = [
        (partition_text(values), f"{verb}, no view any more" if values in done.without_view else f"{verb}, still full")
        for values in done.partitions
    ]
    return rows + [(partition_text(values), f"kept: {reason}") for values, reason in done.kept]


def _materialize_chain(call: Call) -> Rows:
    into, table = call.open(call.given["into"], {}), call.table()
    specs = partitions(call.given["partitions"]) if "partitions" in call.given else None
    dry_run = call.given.get("dry_run", False)
    done = table.materialize_chain(into, specs, where=call.given.get("where"), dry_run=dry_run)
    return [(partition_text(values), rows) for values, rows in done.partitions]


def _compact_database(call: Call) -> Rows:
    including = call.given.get("including_databases", ".*")
    names = [
        f"{database}.{table}"
        for database, tables in call.databases().items()
        if matches(including, database)
        for table in tables
        if matches(call.given.get("including_tables", ".*"), f"{database}.{table}")
        and not matches(call.given.get("excluding_tables", ""), f"{database}.{table}")
    ]
    failed = []
    for name in names:
        try:
            call.open(name, call.options()).compact(full=True)
        except LakebedError as error:
            failed.append(f"{name}: {error}")
    if failed:
        raise LakebedError(f"{len(names) - len(failed)} of {len(names)} tables were compacted; {'; '.join(failed)}")
    return [("Success",)]


_SORTING: Final = "manifest_sort_"


def _compact_manifest(call: Call) -> Rows:
    # Each argument manifest_sort_* is an option of the table. Their values are checked; they are for other engines, as
    # the order of entries in manifests changes no result.
    sorting = {
        "manifest-sort." + name.removeprefix(_SORTING).replace("_", "-"): str(value).lower()
        for name, value in call.given.items()
        if name.startswith(_SORTING)
    }
    call.table({**call.options(), **sorting}).compact_manifests(dry_run=call.given.get("dry_run", False))
    return [(True,)]


def _create_tag(call: Call) -> Rows:
    call.table().create_tag(call.given["tag"], **call.some(snapshot="snapshot", time_retained="time_retained"))
    return [(True,)]


def _create_tag_from_timestamp(call: Call) -> Rows:
    made = call.table().create_tag_since(
        call.given["tag"], call.given["timestamp"], **call.some(time_retained="time_retained")
    )
    snapshot = made.snapshot
    return [(made.name, snapshot.id, snapshot.time_millis, snapshot.watermark)]


def _replace_tag(call: Call) -> Rows:
    call.table().replace_tag(call.given["tag"], **call.some(snapshot="snapshot", time_retained="time_retained"))
    return [(True,)]


def _rename_tag(call: Call) -> Rows:
    call.table().rename_tag(call.given["tag"], call.given["target_tag"])
    return [(True,)]


def _delete_tag(call: Call) -> Rows:
    table = call.table()
    for name in call.given["tag"].split(","):
        table.drop_tag(name.strip())
    return [(True,)]


def _expire_tags(call: Call) -> Rows:
    expired = call.table().expire_tags(**call.some(older_than="older_than"))
    return [(name,) for name in expired] or [("No expired tags.",)]


def _create_branch(call: Call) -> Rows:
    ignore = str(call.given.get("ignoreIfExists", "false")).lower() == "true"
    call.table().create_branch(call.given["branch"], ignore_if_exists=ignore, **call.some(tag="tag"))
    return [(True,)]


def _delete_branch(call: Call) -> Rows:
    table = call.table()
    for name in call.given["branch"].split(","):
        table.drop_branch(name.strip())
    return [(True,)]


def _rename_branch(call: Call) -> Rows:
    call.table().rename_branch(call.given["from_branch"], call.given["to_branch"])
    return [(True,)]


def _fast_forward(call: Call) -> Rows:
    call.table().fast_forward(call.given["branch"])
    return [(True,)]


def _merge_branch(call: Call) -> Rows:
    table = call.table()
    target = call.given.get("target_branch")
    (table if target in {None, "main"} else table.branch(target)).merge_branch(call.given["source_branch"])
    return [(True,)]


def _rollback(call: Call) -> Rows:
    table = call.table()
    asked = call.some(version="version", snapshot="snapshot", tag="tag")
    if len(asked) != 1:
        raise OptionError("give one of version, snapshot and tag to roll back to")
    version = asked.get("version")
    return rolled_back(table, asked if version is None else version_of(table, version))


def _rollback_to_timestamp(call: Call) -> Rows:
    return rolled_back(call.table(), {"timestamp": call.given["timestamp"]})


def _rollback_to_watermark(call: Call) -> Rows:
    return rolled_back(call.table(), {"watermark": call.given["watermark"]})


def _expire_snapshots(call: Call) -> Rows:
    given = call.some(
        retain_max="retain_max", retain_min="retain_min", older_than="older_than", max_deletes="max_deletes"
    )
    return [(len(call.table(call.options()).expire_snapshots(**given).snapshots),)]


def _expire_partitions(call: Call) -> Rows:
    given = call.some(
        expiration_time="expiration_time",
        timestamp_formatter="timestamp_formatter",
        timestamp_pattern="timestamp_pattern",
        strategy="expire_strategy",
        max_expires="max_expires",
    )
    expired = call.table(call.options()).expire_partitions(**given)
    texts = [(", ".join(f"{name}={value}" for name, value in partition.items()),) for partition in expired]
    return texts or [("No expired partitions.",)]


def _remove_orphan_files(call: Call) -> Rows:
    if call.given.get("mode", "local").lower() not in {"local", "distributed"}:
        raise OptionError(f"argument mode must be local or distributed, not {call.given['mode']!r}")
    given = {"dry_run": call.given.get("dry_run", False), **call.some(older_than="older_than", force="force")}
    removal = call.table().remove_orphan_files(**given)
    return [(removal.count, removal.bytes)]


def _remove_unexisting_files(call: Call) -> Rows:
    missing = call.table().remove_missing_files(dry_run=call.given.get("dry_run", False))
    return [(path,) for path in missing]


def _repair_earliest_snapshot(call: Call) -> Rows:
    wanted = call.given["snapshot_id"]
    return [(call.table().repair_earliest_snapshot(wanted), wanted)]


def _purge_files(call: Call) -> Rows:
    """Deletes everything of a table except its schemas and an empty snapshot."""
    table = call.table()
    for branch in table.branches():
        table.drop_branch(branch)
    for tag in table.tags():
        table.drop_tag(tag)
    for consumer in table.consumers():
        table.drop_consumer(consumer)
    table.truncate()
    if table.latest_snapshot() is not None:
        table.expire_snapshots(retain_max=1, retain_min=1, older_than=_FAR_FUTURE, max_deletes=_ALL)
    table.remove_orphan_files(older_than=dt.timedelta(0), dry_run=False, force=True)
    return [("Success",)]


def _rescale(call: Call) -> Rows:
    call.table().rescale(call.given.get("bucket_num"), where=where(call))
    return [(True,)]


def _mark_partition_done(call: Call) -> Rows:
    call.table().mark_partitions_done(partitions(call.given["partitions"]))
    return [(True,)]


def _reset_consumer(call: Call) -> Rows:
    table, name = call.table(), call.given["consumerId"]
    if "nextSnapshotId" in call.given:
        table.reset_consumer(name, call.given["nextSnapshotId"])
    else:
        table.drop_consumer(name)
    return [(True,)]


def _clear_consumers(call: Call) -> Rows:
    table = call.table()
    including = call.given.get("includingConsumers", ".*")
    excluding = call.given.get("excludingConsumers", "")
    for name in table.consumers():
        if matches(including, name) and not matches(excluding, name):
            table.drop_consumer(name)
    return [(True,)]


PROCEDURES: Final[Mapping[str, Procedure]] = {
    "clear_consumers": Procedure(
        {"table": "string", "includingConsumers?": "string", "excludingConsumers?": "string"}, _DONE, _clear_consumers
    ),
    "compact": Procedure(
        {
            "table": "string",
            "partitions?": "string",
            "compact_strategy?": "string",
            "order_strategy?": "string",
            "order_by?": "string",
            "where?": "string",
            "options?": "string",
            "partition_idle_time?": "string",
            "buckets?": "string",
        },
        _DONE,
        _compact,
    ),
    "compact_chain_table": Procedure(
        {
            "table": "string",
            "partition?": "string",
            "overwrite?": "boolean",
            "where?": "string",
            "depth?": "integer",
            "bytes?": "string",
            "age?": "string",
            "dry_run?": "boolean",
        },
        _DONE,
        _compact_chain_table,
    ),
    "compact_database": Procedure(
        {
            "including_databases?": "string",
            "including_tables?": "string",
            "excluding_tables?": "string",
            "options?": "string",
        },
        {"result": "string"},
        _compact_database,
    ),
    "compact_manifest": Procedure(
        {
            "table": "string",
            "options?": "string",
            "dry_run?": "boolean",
            "manifest_sort_enabled?": "boolean",
            "manifest_sort_partition_field?": "string",
            "manifest_sort_max_rewrite_size?": "string",
        },
        _DONE,
        _compact_manifest,
    ),
    "create_branch": Procedure(
        {"table": "string", "branch": "string", "tag?": "string", "ignoreIfExists?": "string"}, _DONE, _create_branch
    ),
    "create_tag": Procedure(
        {"table": "string", "tag": "string", "snapshot?": "long", "time_retained?": "string"}, _DONE, _create_tag
    ),
    "create_tag_from_timestamp": Procedure(
        {"table": "string", "tag": "string", "timestamp": "long", "time_retained?": "string"},
        {"tagName": "string", "snapshot": "long", "commit_time": "long", "watermark": "long"},
        _create_tag_from_timestamp,
    ),
    "delete_branch": Procedure({"table": "string", "branch": "string"}, _DONE, _delete_branch),
    "delete_tag": Procedure({"table": "string", "tag": "string"}, _DONE, _delete_tag),
    "disable_chain": Procedure({"table": "string", "dry_run?": "boolean"}, _DONE, _disable_chain),
    "enable_chain": Procedure(
        {
            "table": "string",
            "timestamp_pattern?": "string",
            "timestamp_formatter?": "string",
            "chain_keys?": "string",
            "options?": "string",
        },
        _DONE,
        _enable_chain,
    ),
    "expire_changes": Procedure(
        {"table": "string", "before?": "string", "dry_run?": "boolean"},
        _PARTITIONS,
        _expire_changes,
    ),
    "expire_partitions": Procedure(
        {
            "table": "string",
            "expiration_time?": "string",
            "timestamp_formatter?": "string",
            "timestamp_pattern?": "string",
            "expire_strategy?": "string",
            "max_expires?": "integer",
            "options?": "string",
        },
        {"expired_partitions": "string"},
        _expire_partitions,
    ),
    "expire_snapshots": Procedure(
        {
            "table": "string",
            "retain_max?": "integer",
            "retain_min?": "integer",
            "older_than?": "string",
            "max_deletes?": "integer",
            "options?": "string",
        },
        {"deleted_snapshots_count": "integer"},
        _expire_snapshots,
    ),
    "expire_tags": Procedure({"table": "string", "older_than?": "string"}, {"expired_tags": "string"}, _expire_tags),
    "fast_forward": Procedure({"table": "string", "branch": "string"}, _DONE, _fast_forward),
    "mark_partition_done": Procedure({"table": "string", "partitions": "string"}, _DONE, _mark_partition_done),
    "materialize_chain": Procedure(
        {"table": "string", "into": "string", "partitions?": "string", "where?": "string", "dry_run?": "boolean"},
        {"partition": "string", "rows": "long"},
        _materialize_chain,
    ),
    "merge_branch": Procedure(
        {"table": "string", "source_branch": "string", "target_branch?": "string"}, _DONE, _merge_branch
    ),
    "purge_files": Procedure({"table": "string"}, {"result": "string"}, _purge_files),
    "remove_orphan_files": Procedure(
        {
            "table": "string",
            "older_than?": "string",
            "dry_run?": "boolean",
            "parallelism?": "integer",
            "mode?": "string",
            "force?": "boolean",
        },
        {"deletedFileCount": "long", "deletedFileTotalLenInBytes": "long"},
        _remove_orphan_files,
    ),
    "remove_unexisting_files": Procedure(
        {"table": "string", "dry_run?": "boolean", "parallelism?": "integer"},
        {"fileName": "string"},
        _remove_unexisting_files,
    ),
    "rename_branch": Procedure(
        {"table": "string", "from_branch": "string", "to_branch": "string"}, _DONE, _rename_branch
    ),
    "rename_tag": Procedure({"table": "string", "tag": "string", "target_tag": "string"}, _DONE, _rename_tag),
    "repair_earliest_snapshot": Procedure(
        {"table": "string", "snapshot_id": "long"},
        {"previous_earliest_snapshot_id": "long", "current_earliest_snapshot_id": "long"},
        _repair_earliest_snapshot,
    ),
    "replace_tag": Procedure(
        {"table": "string", "tag": "string", "snapshot?": "long", "time_retained?": "string"}, _DONE, _replace_tag
    ),
    "rescale": Procedure(
        {"table": "string", "bucket_num?": "integer", "partitions?": "string", "where?": "string"}, _DONE, _rescale
    ),
    "reset_consumer": Procedure(
        {"table": "string", "consumerId": "string", "nextSnapshotId?": "long"}, _DONE, _reset_consumer
    ),
    "rollback": Procedure(
        {"table": "string", "version?": "string", "snapshot?": "long", "tag?": "string"}, ROLLED_BACK, _rollback
    ),
    "rollback_to_timestamp": Procedure({"table": "string", "timestamp": "long"}, ROLLED_BACK, _rollback_to_timestamp),
    "rollback_to_watermark": Procedure({"table": "string", "watermark": "long"}, ROLLED_BACK, _rollback_to_watermark),
}
"""All procedures by name."""


def find_procedure(name: str) -> Procedure:
    """Returns a procedure by name; raises NotFoundError with a suggestion and the names of all procedures."""
    known = PROCEDURES.get(name.lower()) or STATEMENTS.get(name)
    if known is None:
        similar = difflib.get_close_matches(name.lower(), PROCEDURES, n=1)
        hint = f"did you mean {similar[0]!r}? " if similar else ""
        raise NotFoundError(f"unknown procedure {name!r} in sys; {hint}known: {', '.join(PROCEDURES)}")
    return known
