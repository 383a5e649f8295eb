"""Records what is read from Parquet files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lakebed.rows.files import parquet, read_columns


class Reads:
    """What is read from Parquet files: the names of the file, the columns and the rows that came."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[tuple[str, tuple[str, ...], int]] = []
        original = parquet.read_parquet

        def spy(storage: Any, paths: list[str], schema: Any, columns: list[str], rows: Any = None) -> pa.Table:
            table = original(storage, paths, schema, columns, rows)
            self.log += [(path.rsplit("/", 1)[-1], tuple(columns), len(table)) for path in paths]
            return table

        monkeypatch.setattr(read_columns, "read_parquet", spy)

    def columns(self, file_name: str) -> set[str]:
        return {column for name, columns, _ in self.log if name == file_name for column in columns}
