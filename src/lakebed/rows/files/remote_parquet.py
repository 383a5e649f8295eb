"""Reads Parquet files of a remote storage with few requests that wait for each other.

Arrow would read the ranges of a file one after the other. Here all files are opened at once, each by one request for
its end, which holds its footer. The footers say which ranges the wanted columns have in the row groups that can match.
Then pieces of at most :data:`_PIECE_BYTES` are read, several at a time: each piece requests its ranges together and
decodes them while others wait for the network. So a read has two requests in its longest chain, one for small files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lakebed.storage import Storage, run_together
from lakebed.storage.base import RangedFile

_FORMAT: Final[Any] = ds.ParquetFileFormat(page_checksum_verification=True)
_PIECE_BYTES: Final = 32 * 1024 * 1024
_PIECES_AT_ONCE: Final = 8


def read_remote_parquet(
    storage: Storage, paths: Sequence[str], schema: pa.Schema, columns: Sequence[str], rows: pc.Expression | None
) -> pa.Table:
    """Returns columns of files that share a schema, in the order of the files."""
    files = run_together([partial(storage.open_ranges, path) for path in paths])
    pieces = [
        partial(_read_piece, file, groups, ranges, schema, columns, rows)
        for file in files
        for groups, ranges in _pieces(file, schema, columns, rows)
    ]
    tables = run_together(pieces, threads=_PIECES_AT_ONCE)
    if not columns:  # concat_tables would lose the number of rows
        return pa.table({"": pa.nulls(sum(len(table) for table in tables))}).select([])
    empty = pa.schema([schema.field(name) for name in columns]).empty_table()
    return pa.concat_tables(tables) if tables else empty


def _pieces(
    file: RangedFile, schema: pa.Schema, columns: Sequence[str], rows: pc.Expression | None
) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
    """Returns the row groups of each piece of a file, and the ranges of the wanted columns in them."""
    fragment = _FORMAT.make_fragment(pa.PythonFile(file.fork(), mode="r"))
    chosen = fragment if rows is None else fragment.subset(rows, schema=schema)
    metadata = fragment.metadata
    groups: list[int] = []
    ranges: list[tuple[int, int]] = []
    held = 0
    for group in chosen.row_groups:
        found = list(_column_ranges(metadata.row_group(group.id), columns))
        size = sum(end - start for start, end in found)
        if groups and held + size > _PIECE_BYTES:
            yield groups, ranges
            groups, ranges, held = [], [], 0
        groups.append(group.id)
        ranges += found
        held += size
    if groups:
        yield groups, ranges


def _column_ranges(group: pq.RowGroupMetaData, columns: Sequence[str]) -> Iterator[tuple[int, int]]:
    inner = tuple(f"{name}." for name in columns)
    for index in range(group.num_columns):
        chunk = group.column(index)
        if chunk.path_in_schema in columns or chunk.path_in_schema.startswith(inner):
            offsets = (chunk.dictionary_page_offset, chunk.data_page_offset)
            start = min(offset for offset in offsets if offset is not None and offset > 0)
            yield start, start + chunk.total_compressed_size


def _read_piece(
    file: RangedFile,
    groups: list[int],
    ranges: Sequence[tuple[int, int]],
    schema: pa.Schema,
    columns: Sequence[str],
    rows: pc.Expression | None,
) -> pa.Table:
    own = file.fork()
    own.prefetch(ranges)
    fragment = _FORMAT.make_fragment(pa.PythonFile(own, mode="r"), row_groups=groups)
    return fragment.to_table(schema=schema, columns=list(columns), filter=rows)
