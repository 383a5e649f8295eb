"""Tables with files to compact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from tests.spark.tables import put

from lakebed.metadata.store import TableStore

Make = Callable[..., TableStore]


TABLE: dict[str, Any] = {"primary_key": ["p", "k"], "partition_by": ["p"]}


def filled(make: Make, **options: str) -> TableStore:
    """A table with several overlapping files in each of its buckets, and some deletes."""
    table = make("p STRING, k INT, v STRING", **TABLE, options={"bucket": "3", "write-only": "true", **options})
    for number in range(3):
        keys = [k for k in range(30) if k % (number + 2) == 0]
        columns = {
            "p": pa.array(["a", "b"] * len(keys)),
            "k": pa.array([k for k in keys for _ in "ab"], pa.int32()),
            "v": pa.array([f"{number}-{k}" for k in keys for _ in "ab"]),
        }
        kinds = ["-D" if number == 1 and k % 6 == 0 else "+I" for k in keys for _ in "ab"]
        if options.get("merge-engine") == "first-row":
            put(table, pa.table(columns))
        else:
            put(table, pa.table({**columns, "op": pa.array(kinds)}), "op")
    return table
