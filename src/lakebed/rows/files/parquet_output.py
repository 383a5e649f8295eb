"""Writes Parquet data files as Paimon's Java writer does: field ids, decimals as numbers, no Arrow schema inside."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.format.schema.table_schema import parquet_schema
from lakebed.format.statistics.file_stats import ColumnStats, collect_from_parquet
from lakebed.format.types.data_types import Atomic, Field
from lakebed.rows.files.dictionaries import dictionary_columns


class ParquetOutput:
    """A Parquet file being written; ``first`` are rows from which encodings are chosen."""

    def __init__(
        self,
        sink: pa.NativeFile,
        fields: Sequence[Field],
        codec: str,
        level: int,
        without_stats: frozenset[str],
        first: pa.Table,
    ) -> None:
        self._sink = sink
        self._schema = parquet_schema(fields)
        self._footers: list[pq.FileMetaData] = []
        with_stats = [
            column.name for column in fields if isinstance(column.type, Atomic) and column.name not in without_stats
        ]
        self._writer = pq.ParquetWriter(
            sink,
            self._schema,
            metadata_collector=self._footers,
            write_statistics=with_stats if without_stats else True,
            use_dictionary=dictionary_columns(first),
            write_page_checksum=True,
            compression=codec,
            compression_level=level if codec == "zstd" else None,
            store_schema=False,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            version="2.6",
        )

    def write(self, columns: Sequence[pa.ChunkedArray]) -> int:
        """Write one row group; return the bytes written so far."""
        rows = pa.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(rows, row_group_size=len(rows))
        return int(self._sink.tell())

    def close(self) -> None:
        self._writer.close()

    def give_up(self) -> None:
        """Keep the writer from finishing its file when it is garbage-collected."""
        self._writer.is_open = False

    def stats(self, fields: Sequence[Field]) -> list[ColumnStats | None]:
        """Return what the footer says about these columns, once the file is closed."""
        return collect_from_parquet(self._footers[0], fields)
