"""The actions of the service.

Each takes an open table and arguments and returns an outcome; ``dry_run`` changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import AlreadyExistsError, NotFoundError, OptionError, unknown_name
from lakebed.format.human_text import count_text, ids_text, names_text, size_text
from lakebed.format.partition_names import partition_text
from lakebed.format.paths import MAIN_BRANCH, check_name
from lakebed.metadata.branches import check_branch_name
from lakebed.metadata.plan.time_travel import find_snapshot
from lakebed.metadata.references.removal import Removal
from lakebed.operations.compact.compact_manifests import ManifestShape
from lakebed.operations.compact.plan_compaction import plan_compaction
from lakebed.options import check_existing
from lakebed.rows.where import parse_where
from lakebed.service.jobs import Outcome, Report
from lakebed.service.models import jobs as models
from lakebed.service.numbers.table_contents import total
from lakebed.service.warehouses import OpenTable
from lakebed.table_checks import check_keyed

_SHOWN: Final = 4

# ---------------------------------------------------------------------------------------------------------- compaction


def compact(opened: OpenTable, asked: models.Compact, report: Report) -> Outcome:
    """Merge data files."""
    plan = _plan(opened, asked)
    shape = {
        "input_files": sum(len(files) for files in plan),
        "input_bytes": sum(total(files, "file_size") for files in plan),
        "input_records": sum(total(files, "row_count") for files in plan),
        "buckets": len(plan),
    }
    group = "bucket" if opened.table.schema.primary_keys else "group"
    files = f"{count_text(shape['input_files'], 'file')} ({size_text(shape['input_bytes'])})"
    what = f"{files} in {count_text(len(plan), group)}"
    if not plan:
        return Outcome({"snapshot_id": None, **shape}, "nothing to compact")
    if asked.dry_run:
        return Outcome({"snapshot_id": None, **shape}, f"would merge {what}")
    made = opened.table.compact(full=asked.full, where=asked.where, report=report)
    if made is None:
        return Outcome({"snapshot_id": None, **shape}, "nothing to compact: another compaction was faster")
    return Outcome({"snapshot_id": made.id, **shape}, f"merged {what} as snapshot {made.id}")


def _plan(opened: OpenTable, asked: models.Compact) -> Sequence[pa.Table]:
    """Returns the files that a compaction would merge, one table for each bucket or pack of small files."""
    schema, where = opened.table.schema, f"table {opened.full_name}"
    check_existing(schema.options, where=where, writing=True)
    check_keyed(schema, where)
    condition = None if asked.where is None else parse_where(asked.where, schema.partition_fields)
    return plan_compaction(opened.store, full=asked.full, where=condition)


def compact_manifests(opened: OpenTable, asked: models.CompactManifests, _: Report) -> Outcome:
    """Merge manifests."""
    done = opened.table.compact_manifests(dry_run=asked.dry_run)
    result = {
        "snapshot_id": None if done.snapshot is None else done.snapshot.id,
        "before": _shape(done.before),
        "after": _shape(done.after),
        "rewritten": done.rewritten,
        "cancelled": done.cancelled,
    }
    return Outcome(result, str(done))


def _shape(shape: ManifestShape) -> dict[str, int]:
    return {"manifests": shape.manifests, "entries": shape.entries, "bytes": shape.bytes}


# -------------------------------------------------------------------------------------------------------- chain tables


def compact_chain(opened: OpenTable, asked: models.CompactChain, report: Report) -> Outcome:
    """Build full partitions of a chain table."""
    done = opened.table.compact_chain(
        asked.partition,
        where=asked.where,
        policy=asked.limits or None,
        overwrite=asked.overwrite,
        dry_run=asked.dry_run,
        report=report,
    )
    built = [
        {
            "partition": partition_text(one.partition),
            "anchor": None if one.anchor is None else partition_text(one.anchor),
            "depth": one.depth,
            "files_read": one.files_read,
            "bytes_read": one.bytes_read,
            "delta_files": one.delta_files,
            "delta_bytes": one.delta_bytes,
            "record_count": one.rows,
            "bytes_written": one.bytes_written,
            "snapshot_id": one.snapshot,
        }
        for one in done.built
    ]
    result = {"built": built, "skipped": _reasons(done.skipped)}
    skipped = [f"{partition_text(values)}: {reason}" for values, reason in done.skipped]
    if not done.built:
        return Outcome(result, "; ".join(["nothing to build", *skipped[:_SHOWN]]))
    reads, saved = sum(one.bytes_read for one in done.built), sum(one.delta_bytes for one in done.built)
    which = names_text(one["partition"] for one in built)
    summary = (
        f"{'would build' if asked.dry_run else 'built'} {count_text(len(built), 'full partition')} ({which}) from "
        f"{size_text(reads)}; later reads merge {size_text(saved)} of changes less"
    )
    return Outcome(result, "; ".join([summary, *skipped[:_SHOWN]]))


def expire_changes(opened: OpenTable, asked: models.ExpireChanges, _: Report) -> Outcome:
    """Drop changes of a chain table that full partitions hold."""
    done = opened.table.expire_changes(asked.before, dry_run=asked.dry_run)
    without = [partition_text(values) for values in done.without_view]
    result = {
        "snapshot_id": done.snapshot,
        "partitions": [partition_text(values) for values in done.partitions],
        "without_view": without,
        "kept": _reasons(done.kept),
        "file_count": done.files,
        "byte_count": done.bytes,
    }
    parts = ["no changes to drop"]
    if done.partitions:
        size = f"{count_text(done.files, 'file')}, {size_text(done.bytes)}"
        verb = "would drop" if asked.dry_run else "dropped"
        parts = [f"{verb} the changes of {count_text(len(done.partitions), 'partition')} ({size})"]
    if without:
        parts.append(f"without a view from then on: {names_text(without)}")
    if done.kept:
        parts.append(f"kept those of {names_text(partition_text(values) for values, _ in done.kept)}")
    return Outcome(result, "; ".join(parts))


def _reasons(found: Sequence[tuple[Mapping[str, Any], str]]) -> list[dict[str, str]]:
    return [{"partition": partition_text(values), "reason": reason} for values, reason in found]


# ------------------------------------------------------------------------------------------------------------- history


def expire_snapshots(opened: OpenTable, asked: models.ExpireSnapshots, _: Report) -> Outcome:
    """Delete old snapshots."""
    done = opened.table.expire_snapshots(
        retain_max=asked.retain_max,
        retain_min=asked.retain_min,
        older_than=asked.older_than,
        max_deletes=asked.max_deletes,
        dry_run=asked.dry_run,
    )
    if not done.snapshots:
        summary = "no snapshots to expire"
    else:
        verb = "would expire" if asked.dry_run else "expired"
        summary = f"{verb} {ids_text(done.snapshots, 'snapshot')} and {_files(done.removal)}"
    return Outcome({"snapshots": list(done.snapshots), **_removed(done.removal)}, summary)


def rollback(opened: OpenTable, asked: models.Rollback, _: Report) -> Outcome:
    """Make an earlier snapshot the latest."""
    plan = opened.table.rollback_to(snapshot=asked.snapshot, tag=asked.tag, dry_run=asked.dry_run)
    result = {
        "snapshot_id": plan.target.id,
        "removed_snapshots": list(plan.snapshots),
        "removed_tags": list(plan.tags),
        "removed_changelogs": list(plan.changelogs),
    }
    verb = "would roll back" if asked.dry_run else "rolled back"
    delete = "would delete" if asked.dry_run else "deleted"
    gone = [ids_text(plan.snapshots, "snapshot")] if plan.snapshots else []
    gone += [f"tag {tag}" for tag in plan.tags]
    what = f"{delete} {', '.join(gone)}" if gone else "nothing to delete"
    return Outcome(result, f"{verb} to snapshot {plan.target.id}; {what}")


def _files(removal: Removal) -> str:
    size = sum(max(file.size, 0) for file in removal.files)
    return f"{count_text(removal.count, 'file')} ({size_text(size)})"


def _removed(removal: Removal) -> dict[str, Any]:
    kinds: dict[str, dict[str, int]] = {}
    for file in removal.files:
        sums = kinds.setdefault(file.kind, {"file_count": 0, "byte_count": 0})
        sums["file_count"] += 1
        sums["byte_count"] += max(file.size, 0)
    size = sum(one["byte_count"] for one in kinds.values())
    return {"file_count": removal.count, "byte_count": size, "by_kind": kinds}


# --------------------------------------------------------------------------------------------------- tags and branches


def create_tag(opened: OpenTable, asked: models.CreateTag, _: Report) -> Outcome:
    """Create a tag of a snapshot."""
    if not asked.dry_run:
        made = opened.table.create_tag(asked.name, snapshot=asked.snapshot, time_retained=asked.time_retained)
        result = {"name": made.name, "snapshot_id": made.snapshot.id}
        return Outcome(result, f"created tag {made.name} of snapshot {made.snapshot.id}")
    check_name(asked.name, "tag")
    if asked.name in opened.table.tags():
        raise AlreadyExistsError(f"tag {asked.name!r} of table {opened.full_name} already exists")
    number = _existing_snapshot(opened, asked.snapshot, None)
    return Outcome({"name": asked.name, "snapshot_id": number}, f"would create tag {asked.name} of snapshot {number}")


def drop_tag(opened: OpenTable, asked: models.DropTag, _: Report) -> Outcome:
    """Delete a tag."""
    removal = opened.table.drop_tag(asked.name, dry_run=asked.dry_run)
    verb = "would delete" if asked.dry_run else "deleted"
    return Outcome({"name": asked.name, **_removed(removal)}, f"{verb} tag {asked.name} and {_files(removal)}")


def create_branch(opened: OpenTable, asked: models.CreateBranch, _: Report) -> Outcome:
    """Create a branch."""
    check_branch_name(asked.name)
    start = None
    if asked.snapshot is not None or asked.tag is not None:
        start = _existing_snapshot(opened, asked.snapshot, asked.tag)
    if asked.name in opened.table.branches():
        raise AlreadyExistsError(f"branch {asked.name!r} of table {opened.full_name} already exists")
    if not asked.dry_run:
        opened.table.create_branch(asked.name, tag=asked.tag, snapshot=asked.snapshot)
    verb = "would create" if asked.dry_run else "created"
    content = "empty" if start is None else f"with snapshot {start}"
    return Outcome({"name": asked.name, "snapshot_id": start}, f"{verb} branch {asked.name}, {content}")


def drop_branch(opened: OpenTable, asked: models.DropBranch, _: Report) -> Outcome:
    """Delete a branch."""
    main = opened.on_branch(MAIN_BRANCH)
    known = main.table.branches()
    if asked.name == MAIN_BRANCH:
        raise OptionError(f"branch {MAIN_BRANCH!r} is table {opened.full_name} itself; it cannot be deleted")
    if asked.name not in known:
        raise NotFoundError(unknown_name("branch", asked.name, known, where=f"table {opened.full_name}"))
    naming = [key for key, value in main.table.options.items() if key.endswith("-branch") and value == asked.name]
    if naming:
        raise OptionError(
            f"branch {asked.name!r} cannot be deleted, because options of the table name it: {names_text(naming)}; "
            "reset them first"
        )
    latest = main.on_branch(asked.name).table.latest_snapshot()
    if not asked.dry_run:
        main.table.drop_branch(asked.name)
    verb = "would delete" if asked.dry_run else "deleted"
    result = {"name": asked.name, "snapshot_id": None if latest is None else latest.id}
    return Outcome(result, f"{verb} branch {asked.name}; its files stay until orphan files are removed")


def _existing_snapshot(opened: OpenTable, snapshot: int | None, tag: str | None) -> int:
    found = find_snapshot(opened.store, version=snapshot, timestamp=None, tag=tag)
    if found is None:
        raise NotFoundError(f"table {opened.full_name} has no snapshot")
    return found.id
