"""What a write from Spark does with the rows that are in the table already, for the data source and for SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WriteMode:
    """How a write treats existing rows.

    Without ``overwrite`` they stay: new rows are appended, or upserted where the table has a primary key. With
    ``overwrite`` the write replaces the rows of ``partition`` if one is given. Otherwise ``dynamic`` decides: ``True``
    replaces the partitions that the new rows belong to, ``False`` replaces all rows, ``None`` follows the table's
    option
    ``dynamic-partition-overwrite``.

    ``row_kind`` names the column of the data that holds the kind of each row (``+I``, ``+U``, ``-U``, ``-D``).
    """

    overwrite: bool = False
    partition: Mapping[str, Any] | None = None
    dynamic: bool | None = None
    row_kind: str | None = None
