"""Expire partitions: drops partitions that are older than a duration, with a commit.

``values-time`` computes the age from the values of the partition (:mod:`lakebed.format.partition_time`),
``update-time`` from its newest file. The oldest partitions are dropped first, up to a maximum number. A partition whose
values are not a time stays, and a warning is logged. With ``update-time``, a partition that is written to at the same
time stays.
"""

from __future__ import annotations

import datetime as dt
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import DataError, OptionError, UnsupportedError
from lakebed.format.partition_names import partition_table
from lakebed.format.partition_time import PartitionTime
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind
from lakebed.format.time_text import parse_length
from lakebed.metadata.commit.commit import Commit, commit
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.overwrite import delete_partitions
from lakebed.options import TableOptions

_LOG: Final = logging.getLogger("lakebed")
VALUES_TIME: Final = "values-time"
UPDATE_TIME: Final = "update-time"


def expire_partitions(
    store: TableStore,
    *,
    expiration_time: str | dt.timedelta | None = None,
    timestamp_formatter: str | None = None,
    timestamp_pattern: str | None = None,
    strategy: str | None = None,
    max_expires: int | None = None,
    dry_run: bool = False,
    now: dt.datetime | None = None,
) -> list[dict[str, Any]]:
    """Drop the partitions that are older than ``expiration_time``; returns them, the oldest first.

    The ``partition.*`` options of the table are the defaults. With ``dry_run`` nothing is dropped. ``now`` is a local
    time, like the times of partitions and files.
    """
    schema = store.schema()
    options = TableOptions(schema.options)
    if not schema.partition_keys:
        raise OptionError(f"table {store.name} has no partitions, so none can expire")
    if max_expires is not None and (
        isinstance(max_expires, bool) or not isinstance(max_expires, int) or max_expires < 1
    ):
        raise OptionError(f"max_expires is {max_expires!r}; it must be an integer of at least 1")
    cutoff = (now or dt.datetime.now()) - expiry_length(expiration_time, options, store)  # noqa: DTZ005 - local, see above
    by_age = _age(
        strategy or options.partition_expiration_strategy,
        schema,
        timestamp_pattern or options.partition_timestamp_pattern,
        timestamp_formatter or options.partition_timestamp_formatter,
    )
    old = [one for one in by_age.of(live_entries(store, store.snapshots.latest())) if one.time < cutoff]
    old = sorted(old, key=lambda one: one.time)[: max_expires or options.partition_expiration_max_num]
    if not dry_run:
        _drop(store, schema, options, old, by_age, cutoff)
    return [dict(one.values) for one in old]


def expiry_length(given: str | dt.timedelta | None, options: TableOptions, store: TableStore) -> dt.timedelta:
    """Returns how long partitions are kept: the argument, or the option of the table."""
    if given is not None:
        return parse_length(given, "expiration_time")
    seconds = options.partition_expiration_time
    if seconds is not None:
        return dt.timedelta(seconds=seconds)
    raise OptionError(
        f"table {store.name} has no expiration time for partitions; give expiration_time, such as '7 d', or set option "
        "partition.expiration-time"
    )


@dataclass(frozen=True, slots=True)
class _Aged:
    """A partition with its time."""

    encoded: bytes
    values: Mapping[str, Any]
    time: dt.datetime


@dataclass(frozen=True, slots=True)
class _Age:
    """How the time of a partition is computed; with ``from_files`` from its files, so that it can change."""

    schema: TableSchema
    time_of: Callable[[Mapping[str, Any], dt.datetime | None], dt.datetime | None]
    from_files: bool

    def of(self, entries: pa.Table) -> list[_Aged]:
        """Returns the partitions of live files with their times; skips partitions without a time."""
        newest = entries.group_by("partition").aggregate([("creation_time", "max")])
        rows = partition_table(newest["partition"].combine_chunks(), self.schema.partition_fields).to_pylist()
        encoded, created = newest["partition"].to_pylist(), newest["creation_time_max"].to_pylist()
        found = []
        for key, values, when in zip(encoded, rows, created, strict=True):
            time = self.time_of(values, when)
            if time is not None:
                found.append(_Aged(key, values, time))
        return found


def _age(strategy: str, schema: TableSchema, pattern: str | None, formatter: str | None) -> _Age:
    if strategy == UPDATE_TIME:
        return _Age(schema, lambda _, created: created, from_files=True)
    if strategy != VALUES_TIME:
        raise UnsupportedError(
            f"partitions cannot expire by {strategy!r}; option partition.expiration-strategy may be {VALUES_TIME} or "
            f"{UPDATE_TIME}"
        )
    times = PartitionTime(tuple(schema.partition_keys), pattern, formatter)

    def by_values(values: Mapping[str, Any], _: dt.datetime | None) -> dt.datetime | None:
        try:
            return times.parse(values)
        except DataError as problem:
            _LOG.warning("a partition does not expire: %s", problem)
            return None

    return _Age(schema, by_values, from_files=False)


def _drop(
    store: TableStore,
    schema: TableSchema,
    options: TableOptions,
    old: Sequence[_Aged],
    by_age: _Age,
    cutoff: dt.datetime,
) -> None:
    size = options.partition_expiration_batch_size or len(old) or 1

    def still_old(entries: pa.Table) -> pa.Array:
        return pa.array([one.encoded for one in by_age.of(entries) if one.time < cutoff], pa.binary())

    for start, end in itertools.pairwise([*range(0, len(old), size), len(old)]):
        partitions = pa.array([one.encoded for one in old[start:end]], pa.binary())
        plan = delete_partitions(store, partitions, still_old if by_age.from_files else None)
        who = Identity.of(schema)
        commit(store, Commit(kind=CommitKind.OVERWRITE, plan=plan, user=who.user, operation="TRUNCATE"))
