"""The paths of data files, from their manifest entries."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.partition_names import partition_folder, partition_table
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_LOCAL_URI: Final = r"^file:(?://)?(/)"


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
    directory = TableOptions(schema.options).data_file_directory or ""
    known = [
        store.paths.bucket(folders[pair // len(buckets)], int(buckets[pair % len(buckets)]), directory=directory)
        for pair in pairs.tolist()
    ]
    own = pc.binary_join_element_wise(pa.array(known, pa.string()).take(pa.array(places)), _names(entries), "/")
    external = pc.replace_substring_regex(entries["external_path"].combine_chunks(), _LOCAL_URI, r"\1")
    return pc.coalesce(external, own)


def _names(entries: pa.Table) -> pa.Array:
    return entries["file_name"].combine_chunks()


def _partition_folders(schema: TableSchema, partitions: pa.Array) -> list[str]:
    fields = schema.partition_fields
    if not fields:
        return [""] * len(partitions)
    options = TableOptions(schema.options)
    return [
        partition_folder(schema, list(row.values()), options) for row in partition_table(partitions, fields).to_pylist()
    ]
