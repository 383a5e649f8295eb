"""The health of a table: a verdict and a reason for each condition that degrades slowly.

``ok``: nothing needs to be done. ``warning``: something should be done. ``problem``: reads or writes are slow now.
``unknown``: the check was skipped or failed. All checks read metadata only, except the one for orphan files, which
lists folders: summaries skip it, and so do tables where that would take long.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import LakebedError
from lakebed.format.human_text import count_text, names_text, size_text
from lakebed.metadata.plan.marked_rows import marked_rows
from lakebed.metadata.plan.small_files import SmallFilePolicy, pick_small_files
from lakebed.operations.compact.compact_manifests import ManifestShape
from lakebed.operations.compact.compaction_rules import compaction_options
from lakebed.options import TableOptions
from lakebed.service.models.common import HealthSummary, Verdict
from lakebed.service.models.tables import Health, HealthItem
from lakebed.service.numbers.chain_partitions import chain_age_text, chain_rows, summary_of_chain
from lakebed.service.numbers.table_contents import Contents, total
from lakebed.service.warehouses import OpenTable

_RANK: Final[dict[Verdict, int]] = {"ok": 0, "unknown": 0, "warning": 1, "problem": 2}
_MANY_SMALL_FILES: Final = 1000
_SMALL_BUCKET: Final = 1024**2
_MANY_BUCKETS: Final = 32
_EXTRA_RUNS: Final = 3
_MARKED_SHARE: Final = 0.2
_MANY_MANIFESTS: Final = 100
_TOO_MANY_MANIFESTS: Final = 1000
_SMALL_MANIFEST: Final = 256 * 1024
_DEAD_SHARE: Final = 0.5
_FEW_ENTRIES: Final = 1000
_LARGE_INDEX: Final = 1024**3
_MANY_SNAPSHOTS: Final = 10_000
_TOO_MANY_SNAPSHOTS: Final = 200_000
_LISTABLE_FILES: Final = 100_000
_LISTABLE_SNAPSHOTS: Final = 2_000
_REMEMBERED: Final = 1024
_LOG: Final = logging.getLogger("lakebed.service")


@dataclass(frozen=True, slots=True)
class Patient:
    """A table to check, and what it consists of; ``branches`` hold the rows of main of a chain table."""

    opened: OpenTable
    contents: Contents
    snapshot_count: int
    branches: tuple[Patient, ...] = ()

    @property
    def options(self) -> TableOptions:
        return TableOptions(self.contents.schema.options)


def examine(patient: Patient, *, orphans: bool) -> Health:
    """Run all checks; the one for orphan files only if asked."""
    if patient.branches:
        own = () if patient.contents.snapshot is None else (patient,)
        items = [item for look in _BRANCH_LOOKS for item in _in_branches(look, (*own, *patient.branches))]
    else:
        items = [item for look in _BRANCH_LOOKS for item in _safely(look, patient)]
    items += [item for look in _TABLE_LOOKS for item in _safely(look, patient)]
    items += _safely(_orphans, patient) if orphans else [_item("orphans", "unknown", "Not checked.")]
    snapshot = patient.contents.snapshot
    return Health(
        verdict=max((item.verdict for item in items), key=lambda verdict: _RANK[verdict], default="ok"),
        snapshot_id=None if snapshot is None else snapshot.id,
        items=items,
    )


def summary_of(health: Health) -> HealthSummary:
    """Returns the verdict and the reasons why it is not ok."""
    verdict: Verdict = "ok" if _RANK[health.verdict] == 0 else health.verdict
    return HealthSummary(verdict=verdict, reasons=[item.reason for item in health.items if _RANK[item.verdict] > 0])


class Examined:
    """Caches results by the state of a table, so that a list of tables does not repeat the checks."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Any, ...], Health] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: tuple[Any, ...], look: Callable[[], Health]) -> Health:
        """Returns the cached result for a key; ``look`` computes a missing one."""
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = look()
            with self._lock:
                self._known[key] = known
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        return known


# ------------------------------------------------------------------------------------------------------------ checks


_TITLES: Final = {
    "small_files": "Small files",
    "levels": "Levels",
    "deleted_rows": "Deleted rows",
    "manifests": "Manifests",
    "indexes": "Indexes",
    "history": "History",
    "chain": "Chain",
    "orphans": "Orphan files",
    "options": "Options",
}


def _item(
    name: str,
    verdict: Verdict,
    reason: str,
    *,
    value: float | None = None,
    unit: str | None = None,
    action: str | None = None,
) -> HealthItem:
    return HealthItem(
        name=name,
        title=_TITLES[name],
        verdict=verdict,
        reason=reason,
        value=value,
        unit=unit,
        action=None if verdict in {"ok", "unknown"} else action,
    )


def _safely(look: Callable[[Patient], Iterator[HealthItem]], patient: Patient) -> list[HealthItem]:
    """Run one check; if it fails, its item says why and the other checks still run."""
    try:
        return list(look(patient))
    except LakebedError as error:
        why = str(error)
    except Exception:  # noqa: BLE001 - an error here must not hide the table or the list of tables
        _LOG.exception("check %s of table %s failed", look.__name__, patient.opened.full_name)
        why = "see the log of the service"
    return [_item(look.__name__.removeprefix("_"), "unknown", f"The check failed: {why}")]


def _in_branches(look: Callable[[Patient], Iterator[HealthItem]], patients: Sequence[Patient]) -> list[HealthItem]:
    """Run one check on several branches; the item has the worst verdict and the reasons of all.

    It offers no action: that would act on main, which has no files of its own.
    """
    found = [(patient.opened.table.branch_name, item) for patient in patients for item in _safely(look, patient)]
    if not found:
        return []
    _, worst = max(found, key=lambda one: (_RANK[one[1].verdict], one[1].value or 0))
    reasons = " ".join(f"Branch {name}: {item.reason}" for name, item in found)
    return [worst.model_copy(update={"reason": reasons, "action": None})]


def _small_files(patient: Patient) -> Iterator[HealthItem]:
    entries, schema = patient.contents.entries, patient.contents.schema
    if schema.primary_keys:
        yield _small_buckets(patient)
        return
    policy = SmallFilePolicy.of(patient.options, full=False)
    nothing = np.zeros(len(entries), np.int64)
    packs = pick_small_files(entries, policy, deleted_rows=nothing, ordered=patient.options.bucket > 0)
    merged = sum(len(pack) for pack in packs)
    small = int(pc.sum(pc.less(entries["file_size"], policy.small_size)).as_py() or 0)
    if not merged:
        reason = f"{count_text(len(entries), 'file')}; too few adjacent small files to merge."
        yield _item("small_files", "ok", reason, value=small, unit="files")
        return
    reason = (
        f"{merged:,} of {count_text(len(entries), 'file')} are small enough to be merged; a compaction would merge "
        "them into "
        f"about {count_text(len(packs), 'file')}."
    )
    verdict: Verdict = "problem" if merged >= _MANY_SMALL_FILES else "warning"
    yield _item("small_files", verdict, reason, value=small, unit="files", action="compact")


def _small_buckets(patient: Patient) -> HealthItem:
    """Returns whether buckets are small, because files of a primary-key table are as large as their buckets."""
    buckets = patient.contents.bucket_count
    mean = patient.contents.byte_count // max(buckets, 1)
    files = len(patient.contents.entries)
    if buckets >= _MANY_BUCKETS and mean < _SMALL_BUCKET:
        reason = (
            f"{count_text(buckets, 'bucket')} of {size_text(mean)} on average; use fewer buckets or fewer partitions "
            "to get fewer "
            "files."
        )
        return _item("small_files", "warning", reason, value=files, unit="files")
    reason = f"{count_text(files, 'file')} in {count_text(buckets, 'bucket')}, {size_text(mean)} per bucket on average."
    return _item("small_files", "ok", reason, value=files, unit="files")


def _levels(patient: Patient) -> Iterator[HealthItem]:
    if not patient.contents.schema.primary_keys:
        return
    trigger = compaction_options(patient.options).trigger
    most = _most_runs(patient.contents.entries)
    unit, action = "sorted runs", "compact"
    reason = f"The fullest bucket has {count_text(most, 'sorted run')}; compaction starts at {trigger}."
    if most <= trigger:
        yield _item("levels", "ok", reason, value=most, unit=unit)
    elif most <= trigger + _EXTRA_RUNS:
        yield _item("levels", "warning", f"{reason} A compaction is due.", value=most, unit=unit, action=action)
    else:
        slow = "Every read merges all of them."
        yield _item("levels", "problem", f"{reason} {slow}", value=most, unit=unit, action=action)


def _most_runs(entries: pa.Table) -> int:
    """Returns the largest number of sorted runs of a bucket: files of level 0, and other levels that are not empty."""
    levels = entries.group_by(["partition", "bucket", "level"], use_threads=False).aggregate([("file_name", "count")])
    runs = pc.if_else(pc.equal(levels["level"], 0), levels["file_name_count"], 1)
    counted = levels.append_column("runs", runs).group_by(["partition", "bucket"]).aggregate([("runs", "sum")])
    return int(pc.max(counted["runs_sum"]).as_py() or 0)


def _deleted_rows(patient: Patient) -> Iterator[HealthItem]:
    snapshot = patient.contents.snapshot
    if snapshot is None or snapshot.index_manifest is None:
        return
    marked = marked_rows(patient.opened.store, snapshot)
    if not marked:
        return
    share = marked / max(total(patient.contents.entries, "row_count"), 1)
    reason = (
        f"{count_text(marked, 'row')} in data files ({share:.0%}) {'is' if marked == 1 else 'are'} marked as deleted."
    )
    verdict: Verdict = "warning" if share > _MARKED_SHARE else "ok"
    yield _item("deleted_rows", verdict, reason, value=marked, unit="rows", action="compact")


def _manifests(patient: Patient) -> Iterator[HealthItem]:
    snapshot = patient.contents.snapshot
    metas = [] if snapshot is None else patient.opened.store.manifests.base_and_delta(snapshot)
    shape = ManifestShape.of(metas)
    dead = 1 - len(patient.contents.entries) / max(shape.entries, 1)
    entries = count_text(shape.entries, "entry", "entries")
    reason = f"{count_text(shape.manifests, 'manifest')} with {entries}, {size_text(shape.bytes)}."
    action, unit = "compact-manifests", "manifests"
    is_split = shape.manifests > _MANY_MANIFESTS and shape.bytes < shape.manifests * _SMALL_MANIFEST
    verdict: Verdict = "ok"
    if shape.entries > _FEW_ENTRIES and dead > _DEAD_SHARE:
        verdict, reason = "warning", f"{reason} {dead:.0%} of the entries refer to deleted files."
    if is_split:
        verdict = "problem" if shape.manifests > _TOO_MANY_MANIFESTS else "warning"
        reason = f"{reason} They are small, and every read opens many of them."
    yield _item("manifests", verdict, reason, value=shape.manifests, unit=unit, action=action)


def _indexes(patient: Patient) -> Iterator[HealthItem]:
    snapshot = patient.contents.snapshot
    index = [] if snapshot is None else patient.opened.store.manifests.read_index(snapshot.index_manifest)
    if not index:
        yield _item("indexes", "ok", "The table has no index files.", value=0, unit="bytes")
        return
    size = sum(entry.file_size for entry in index)
    reason = f"{count_text(len(index), 'index file')}, {size_text(size)}."
    if size > max(_LARGE_INDEX, patient.contents.byte_count // 2):
        yield _item("indexes", "warning", f"{reason} They are large compared with the data.", value=size, unit="bytes")
        return
    yield _item("indexes", "ok", reason, value=size, unit="bytes")


def _history(patient: Patient) -> Iterator[HealthItem]:
    count = patient.snapshot_count
    most = patient.options.snapshot_num_retained_max
    reason, action, unit = f"{count_text(count, 'snapshot')}.", "expire-snapshots", "snapshots"
    if count > most:
        reason = f"{reason} The options of the table keep at most {most:,}; expiry does not run."
        yield _item("history", "warning", reason, value=count, unit=unit, action=action)
    elif count > _MANY_SNAPSHOTS:
        verdict: Verdict = "problem" if count > _TOO_MANY_SNAPSHOTS else "warning"
        reason = f"{reason} Snapshots keep old files alive; expire those that are not needed."
        yield _item("history", verdict, reason, value=count, unit=unit, action=action)
    else:
        yield _item("history", "ok", reason, value=count, unit=unit)


def _chain(patient: Patient) -> Iterator[HealthItem]:
    try:
        rows = chain_rows(patient.opened)
    except LakebedError as error:  # branches are missing or do not fit together, so no partition can be read
        yield _item("chain", "problem", f"The table cannot be read: {error}")
        return
    if rows is None:
        return
    summary = summary_of_chain(rows)
    more = chain_age_text(summary)
    stale = [row.partition for row in rows if row.is_stale]
    if stale:
        verb = "is" if len(stale) == 1 else "are"
        which = f"{count_text(len(stale), 'full partition')} {verb} stale"
        reason = f"{which}, because older changes were overwritten: {names_text(stale)}. {more}".rstrip()
        yield _item("chain", "warning", reason, value=len(stale), unit="partitions", action="compact-chain")
        return
    deepest = count_text(summary.deepest, "partition")
    reason = f"No partition is stale; a read merges at most {deepest} of changes. {more}".rstrip()
    yield _item("chain", "ok", reason, value=0, unit="partitions")


def _options(patient: Patient) -> Iterator[HealthItem]:
    warnings = patient.opened.table.warnings
    if warnings:
        yield _item("options", "warning", f"{warnings[0]}.".replace("..", "."), value=len(warnings), unit="options")
        return
    yield _item("options", "ok", "All options that are set are supported.", value=0, unit="options")


def _orphans(patient: Patient) -> Iterator[HealthItem]:
    files = len(patient.contents.entries)
    if files > _LISTABLE_FILES or patient.snapshot_count > _LISTABLE_SNAPSHOTS:
        where = f"lakebed orphans {patient.opened.full_name} --dry-run"
        yield _item("orphans", "unknown", f"Not checked, because the table is large; run {where}.")
        return
    found = patient.opened.table.remove_orphan_files(dry_run=True)
    size = sum(max(file.size, 0) for file in found.files)
    if not found.files:
        yield _item("orphans", "ok", "No orphan files older than one day.", value=0, unit="files")
        return
    reason = f"{count_text(found.count, 'orphan file')} ({size_text(size)}); lakebed orphans deletes them."
    share: Verdict = "warning" if size > patient.contents.byte_count // 10 else "ok"
    yield _item("orphans", share, reason, value=found.count, unit="files")


_BRANCH_LOOKS: Final = (_small_files, _levels, _deleted_rows, _manifests, _indexes, _history)
_TABLE_LOOKS: Final = (_chain, _options)
