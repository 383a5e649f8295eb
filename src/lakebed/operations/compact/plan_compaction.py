"""What a compaction of a table would merge, without running it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lakebed.format import predicate as pred
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_append import plan_append_compaction
from lakebed.operations.compact.compact_keyed import plan_keyed_compaction


def plan_compaction(store: TableStore, *, full: bool = False, where: pred.Node | None = None) -> Sequence[pa.Table]:
    """Returns the entries of the files that would be merged, one table for each bucket or pack of small files."""
    make = plan_keyed_compaction if store.schema().primary_keys else plan_append_compaction
    plan = make(store, full=full, where=where)
    return () if plan is None else plan.inputs
