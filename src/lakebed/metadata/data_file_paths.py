"""The paths of data files and index files, from their manifest entries.

Every path is below the table, or below a root for external files that the table declares: decoders check the names
(:mod:`lakebed.format.file_names`), and :mod:`lakebed.metadata.external_paths` checks the rest. Other paths raise
CorruptError.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.partition_names import partition_folder, partition_table
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.external_paths import checked_paths
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions


def data_file_paths(store: TableStore, schema: TableSchema, entries: pa.Table) -> list[str]:
    """Returns the paths of the files of entries; each distinct partition is decoded once."""
    paths: list[str] = path_array(store, schema, entries).to_pylist()
    return paths


def path_array(store: TableStore, schema: TableSchema, entries: pa.Table) -> pa.Array:
    """Returns the paths as Arrow strings. External paths on the local disk are returned without ``file:``."""
    if not len(entries):
        return pa.array([], pa.string())
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    folders = np.array(_partition_folders(schema, encoded.dictionary), object)
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    buckets, bucket_codes = np.unique(entries["bucket"].to_numpy(), return_inverse=True)
    pairs, places = np.unique(codes * len(buckets) + bucket_codes, return_inverse=True)
    directory = TableOptions(schema.options).data_file_directory
    known = [
        store.paths.bucket(folders[pair // len(buckets)], int(buckets[pair % len(buckets)]), directory=directory)
        for pair in pairs.tolist()
    ]
    names, external = entries["file_name"].combine_chunks(), entries["external_path"].combine_chunks()
    own = pc.binary_join_element_wise(pa.array(known, pa.string()).take(pa.array(places)), names, "/")
    if external.null_count == len(external):
        return own
    return pc.coalesce(checked_paths(store, schema, external, names), own)


def index_file_path(store: TableStore, entry: IndexEntry) -> str:
    """Returns the path of an index file."""
    if entry.external_path is None:
        return store.paths.index(entry.file_name)
    external, name = pa.array([entry.external_path], pa.string()), pa.array([entry.file_name], pa.string())
    path: str = checked_paths(store, store.schema(), external, name)[0].as_py()
    return path


def _partition_folders(schema: TableSchema, partitions: pa.Array) -> list[str]:
    fields = schema.partition_fields
    if not fields:
        return [""] * len(partitions)
    options = TableOptions(schema.options)
    return [
        partition_folder(schema, list(row.values()), options) for row in partition_table(partitions, fields).to_pylist()
    ]
