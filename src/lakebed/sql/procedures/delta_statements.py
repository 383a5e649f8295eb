"""The procedures behind the statements of Delta: DESCRIBE HISTORY, OPTIMIZE, VACUUM, RESTORE.

Each is an operation that tables have under another name. ``Statements.java`` recognises the statements.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from lakebed.errors import OptionError
from lakebed.sql.procedures.procedure import Call, Procedure, Rows
from lakebed.sql.procedures.rolled_back import ROLLED_BACK, rolled_back, version_of

_ALL: Final = 2**31 - 1
_ORPHANS_AGE: Final = dt.timedelta(days=1)
"""How old an orphan file is at least before it is deleted: a younger one may belong to a commit that still runs."""


def _describe_history(call: Call) -> Rows:
    table, limit = call.table(), call.given.get("limit")
    found = reversed(table.snapshots()) if limit is None else table.history(limit=int(limit)).snapshots
    return [
        (
            one.id,
            one.time_millis * 1000,
            one.commit_user,
            str(one.commit_kind),
            one.delta_record_count,
            one.total_record_count,
            one.schema_id,
        )
        for one in found
    ]


def _optimize(call: Call) -> Rows:
    columns = [name.strip().strip("`") for name in call.given.get("zorder", "").strip("() \n\t").split(",")]
    order: dict[str, Any] = {"order_by": columns, "strategy": "zorder"} if "zorder" in call.given else {}
    table = call.table()
    made = table.compact(full=True, where=call.given.get("where"), **order)
    return [(table.path, None if made is None else made.id)]


def _vacuum(call: Call) -> Rows:
    """Expires snapshots, then deletes orphan files; RETAIN says how old snapshots may be, else the table's options."""
    table, dry_run = call.table(), call.given["dry_run"] == "true"
    given: dict[str, Any] = {}
    orphans_age = _ORPHANS_AGE
    if "hours" in call.given:
        try:
            kept = dt.timedelta(hours=float(call.given["hours"]))
        except OverflowError:
            raise OptionError(f"VACUUM: RETAIN {call.given['hours']} HOURS is too long") from None
        given = {"older_than": kept, "retain_min": 1, "retain_max": _ALL, "max_deletes": _ALL}
        orphans_age = max(kept, orphans_age)
    expired = table.expire_snapshots(**given, dry_run=dry_run).removal.files
    orphans = table.remove_orphan_files(older_than=orphans_age, dry_run=dry_run).files
    sizes = [(file.path, file.kind, None if file.size < 0 else file.size) for file in (*expired, *orphans)]
    return list(dict.fromkeys(sizes))


def _restore(call: Call) -> Rows:
    table, version = call.table(), call.given.get("version")
    if version is None:
        return rolled_back(table, {"timestamp": call.given["timestamp"]})
    return rolled_back(table, version_of(table, version))


DELTA_STATEMENTS: Final[Mapping[str, Procedure]] = {
    "describe history": Procedure(
        {"table": "string", "limit?": "string"},
        {
            "version": "long",
            "timestamp": "timestamp",
            "userName": "string",
            "operation": "string",
            "changedRows": "long",
            "totalRows": "long",
            "schemaId": "long",
        },
        _describe_history,
    ),
    "optimize": Procedure(
        {"table": "string", "where?": "string", "zorder?": "string"},
        {"path": "string", "snapshot_id": "long"},
        _optimize,
    ),
    "vacuum": Procedure(
        {"table": "string", "dry_run": "string", "hours?": "string"},
        {"path": "string", "kind": "string", "size_in_bytes": "long"},
        _vacuum,
    ),
    "restore": Procedure({"table": "string", "version?": "string", "timestamp?": "long"}, ROLLED_BACK, _restore),
}
"""The procedures by name."""
