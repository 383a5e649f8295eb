"""Which partitions nobody has written to for some time: a compaction of these does not meet writers."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import OptionError
from lakebed.format import predicate as pred
from lakebed.format.partition_names import partition_predicate, partition_table
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore


def idle_partitions(
    store: TableStore, schema: TableSchema, idle_for: dt.timedelta, *, now: dt.datetime | None = None
) -> pred.Node:
    """Returns the condition for the partitions whose newest file is older than this."""
    if not schema.partition_keys:
        raise OptionError(f"table {store.name} has no partitions that could be idle")
    latest = store.snapshots.latest()
    if latest is None:
        return pred.FALSE
    entries = live_entries(store, latest)
    newest = entries.group_by("partition", use_threads=False).aggregate([("creation_time", "max")])
    moment = dt.datetime.now() if now is None else now  # noqa: DTZ005 - files record local times
    limit = pa.scalar(moment - idle_for, pa.timestamp("us"))
    idle = newest.filter(pc.less(newest["creation_time_max"].cast(pa.timestamp("us")), limit))
    specs = partition_table(idle["partition"].combine_chunks(), schema.partition_fields).to_pylist()
    return pred.disjunction(partition_predicate(schema, spec) for spec in specs) if specs else pred.FALSE
