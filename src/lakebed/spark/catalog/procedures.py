"""``CALL sys.<procedure>(...)``: what a table's keeper does, under Paimon's names, with its parameters and results.

``PROCEDURES`` lists them. Each is a function from the arguments that were given to the rows of its result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakebed.errors import LakebedError, NotFoundError, OptionError, UnsupportedError, unknown_name
from lakebed.format.types import quoted_name

Rows = Iterable[Sequence[Any]]
Given = Mapping[str, Any]
"""The arguments by name; those that were left out are not in it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the arguments, and how a table is opened by its name (with options)."""

    given: Given
    open: Callable[[str, Mapping[str, str]], Any]
    databases: Callable[[], Mapping[str, Sequence[str]]]

    def table(self, options: Mapping[str, str] | None = None) -> Any:
        """The table that the argument ``table`` names."""
        return self.open(self.given["table"], options or {})

    def options(self) -> dict[str, str]:
        """The argument ``options``: ``key=value,key=value``."""
        return _pairs(self.given.get("options", ""), "options")

    def some(self, **names: str) -> dict[str, Any]:
        """Arguments that were given, under the names that the API has for them."""
        return {ours: self.given[theirs] for ours, theirs in names.items() if theirs in self.given}

    def refuse(self, *names: str) -> None:
        """Refuse arguments that mean nothing here."""
        for name in names:
            if name in self.given:
                raise UnsupportedError(f"argument {name} is not supported by Lakebed; leave it out")


@dataclass(frozen=True, slots=True)
class Procedure:
    """Parameters (those that end with ``?`` may be left out), result columns, and what is done."""

    parameters: Mapping[str, str]
    results: Mapping[str, str]
    run: Callable[[Call], Rows]


_DONE: Final = {"result": "boolean"}
_ROLLED_BACK: Final = {"previous_snapshot_id": "long", "current_snapshot_id": "long"}


# ---------------------------------------------------------------------------------------------------- what is done


def _compact(call: Call) -> Rows:
    call.refuse("partition_idle_time", "buckets")
    if call.given.get("order_strategy", "none").lower() != "none" or "order_by" in call.given:
        raise UnsupportedError(
            "sorting while compacting is not supported by Lakebed; leave out order_strategy and order_by"
        )
    strategy = call.given.get("compact_strategy", "full").lower()
    if strategy not in {"full", "minor"}:
        raise OptionError(f"argument compact_strategy must be full or minor, not {strategy!r}")
    if "partitions" in call.given and "where" in call.given:
        raise OptionError("give either partitions or where, not both")
    where = call.given.get("where")
    if "partitions" in call.given:
        where = _partitions_condition(call.given["partitions"])
    call.table(call.options()).compact(full=strategy == "full", where=where)
    return [(True,)]


def _compact_database(call: Call) -> Rows:
    including = call.given.get("including_databases", ".*")
    names = [
        f"{database}.{table}"
        for database, tables in call.databases().items()
        if _matches(including, database)
        for table in tables
        if _matches(call.given.get("including_tables", ".*"), f"{database}.{table}")
        and not _matches(call.given.get("excluding_tables", ""), f"{database}.{table}")
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


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error as error:
        raise OptionError(f"{pattern!r} is not a regular expression: {error}") from None


def _compact_manifest(call: Call) -> Rows:
    call.refuse("manifest_sort_enabled", "manifest_sort_partition_field", "manifest_sort_max_rewrite_size")
    call.table(call.options()).compact_manifests(dry_run=call.given.get("dry_run", False))
    return [(True,)]


def _create_tag(call: Call) -> Rows:
    call.table().create_tag(call.given["tag"], **call.some(snapshot="snapshot", time_retained="time_retained"))
    return [(True,)]


def _replace_tag(call: Call) -> Rows:
    call.table().replace_tag(call.given["tag"], **call.some(snapshot="snapshot", time_retained="time_retained"))
    return [(True,)]


def _rename_tag(call: Call) -> Rows:
    call.table().rename_tag(call.given["tag"], call.given["target_tag"])
    return [(True,)]


def _delete_tag(call: Call) -> Rows:
    table = call.table()
    for name in call.given["tag"].split(","):
        table.delete_tag(name.strip())
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
    if version is not None:
        is_tag = version in table.tags() or not version.isdecimal()
        asked = {"tag": version} if is_tag else {"snapshot": int(version)}
    return _rolled_back(table, asked)


def _rollback_to_timestamp(call: Call) -> Rows:
    return _rolled_back(call.table(), {"timestamp": call.given["timestamp"]})


def _rolled_back(table: Any, to: Mapping[str, Any]) -> Rows:
    before, _ = table.latest_snapshot(), table.rollback_to(**to)
    after = table.latest_snapshot()
    return [(None if before is None else before.id, None if after is None else after.id)]


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
    given = {"dry_run": call.given.get("dry_run", False), **call.some(older_than="older_than")}
    removal = call.table().remove_orphan_files(**given)
    return [(removal.count, removal.bytes)]


def _reset_consumer(call: Call) -> Rows:
    table, name = call.table(), call.given["consumerId"]
    if "nextSnapshotId" in call.given:
        table.reset_consumer(name, call.given["nextSnapshotId"])
    else:
        table.delete_consumer(name)
    return [(True,)]


def _clear_consumers(call: Call) -> Rows:
    table = call.table()
    including = call.given.get("includingConsumers", ".*")
    excluding = call.given.get("excludingConsumers", "")
    for name in table.consumers():
        if _matches(including, name) and not _matches(excluding, name):
            table.delete_consumer(name)
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
    "delete_branch": Procedure({"table": "string", "branch": "string"}, _DONE, _delete_branch),
    "delete_tag": Procedure({"table": "string", "tag": "string"}, _DONE, _delete_tag),
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
    "merge_branch": Procedure(
        {"table": "string", "source_branch": "string", "target_branch?": "string"}, _DONE, _merge_branch
    ),
    "remove_orphan_files": Procedure(
        {
            "table": "string",
            "older_than?": "string",
            "dry_run?": "boolean",
            "parallelism?": "integer",
            "mode?": "string",
        },
        {"deletedFileCount": "long", "deletedFileTotalLenInBytes": "long"},
        _remove_orphan_files,
    ),
    "rename_branch": Procedure(
        {"table": "string", "from_branch": "string", "to_branch": "string"}, _DONE, _rename_branch
    ),
    "rename_tag": Procedure({"table": "string", "tag": "string", "target_tag": "string"}, _DONE, _rename_tag),
    "replace_tag": Procedure(
        {"table": "string", "tag": "string", "snapshot?": "long", "time_retained?": "string"}, _DONE, _replace_tag
    ),
    "reset_consumer": Procedure(
        {"table": "string", "consumerId": "string", "nextSnapshotId?": "long"}, _DONE, _reset_consumer
    ),
    "rollback": Procedure(
        {"table": "string", "version?": "string", "snapshot?": "long", "tag?": "string"}, _ROLLED_BACK, _rollback
    ),
    "rollback_to_timestamp": Procedure({"table": "string", "timestamp": "long"}, _ROLLED_BACK, _rollback_to_timestamp),
}
"""Every procedure by its name in the namespace ``sys``."""


# ------------------------------------------------------------------------------------------------------ arguments


def _pairs(text: str, what: str) -> dict[str, str]:
    """``a=1,b=2`` as a dict."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(equals for _, equals, _ in pairs):
        raise OptionError(f"argument {what} must be like key=value,key=value, not {text!r}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _partitions_condition(text: str) -> str:
    """``dt=1,hh=2;dt=3`` as a SQL condition.

    >>> _partitions_condition("dt=2024,hh=1;dt=2025")
    "(dt = '2024' AND hh = '1') OR (dt = '2025')"
    """
    specs = [_pairs(part, "partitions") for part in text.split(";") if part.strip()]
    if not specs:
        raise OptionError("argument partitions names no partition; leave it out for all")
    conditions = []
    for spec in specs:
        parts = [f"{quoted_name(name)} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in spec.items()]
        conditions.append(f"({' AND '.join(parts)})")
    return " OR ".join(conditions)


def find_procedure(name: str) -> Procedure:
    """The procedure of a name, or an error that names the nearest."""
    known = PROCEDURES.get(name.lower())
    if known is None:
        raise NotFoundError(unknown_name("procedure", name, PROCEDURES, where="sys"))
    return known
