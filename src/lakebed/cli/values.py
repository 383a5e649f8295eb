"""The first rows of a scan, and how their columns are aligned. Imports Arrow, so commands import this late."""

from __future__ import annotations

import pyarrow as pa

from lakebed.scan import Scan
from lakebed.system_tables import SystemScan


def head(scan: Scan | SystemScan, limit: int) -> pa.Table:
    """Returns at least one row more than ``limit`` if there are more, so that a command can say so; all rows for 0.

    Of a table only as many batches are read as that takes.
    """
    if limit == 0 or not isinstance(scan, Scan):
        return scan.to_arrow()
    kept: list[pa.RecordBatch] = []
    reader = scan.to_batches()
    for batch in reader:
        kept.append(batch)
        if sum(batch.num_rows for batch in kept) > limit:
            break
    return pa.Table.from_batches(kept, schema=reader.schema)


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this type are aligned to the right."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
