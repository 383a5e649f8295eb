"""Tables of very many files for Lakebed and its peers: how to create one quickly, commit one row, and plan a read.

File number ``i`` holds the ids from ``1000 i`` to ``1000 i + 999`` of day ``i % 20``. Only files that are committed as
rows exist. All others are manifest entries without a file, created with the means of each system. pypaimon uses the
tables that Lakebed creates. Each system makes its own imports, because no environment contains all of them.
"""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

DAYS: Final = 20
IDS_A_FILE: Final = 1000
SCHEMA: Final = pa.schema([("id", pa.int64()), ("v", pa.float64()), ("day", pa.int32())])
DAY_ASKED: Final = 3
FILTERS: Final = ("all", "partition", "key")
FILES_A_COMMIT: Final = 10_000
SIZE: Final = 25_000


def one_row(number: int) -> pa.Table:
    return pa.table([[number * IDS_A_FILE], [float(number)], [number % DAYS]], schema=SCHEMA)


def file_names(first: int, count: int) -> list[str]:
    """Names as writers make them: a random part and a counter."""
    random = np.random.default_rng(first).bytes(16 * count).hex()
    parts = (random[32 * i : 32 * i + 32] for i in range(count))
    return [f"data-{p[:8]}-{p[8:12]}-{p[12:16]}-{p[16:20]}-{p[20:]}-0.parquet" for p in parts]


def key_asked(files: int) -> int:
    """An id of one file in the middle."""
    return files // 2 * IDS_A_FILE + 5


class Store(ABC):
    """One table in a folder. A handle is what a program holds that keeps the table open."""

    made_by: ClassVar[str | None] = None
    """The system that makes tables for this one."""

    def __init__(self, folder: Path, *, keyed: bool = False) -> None:
        self.folder = folder
        self.keyed = keyed

    def create(self) -> None:
        """Make an empty table."""
        raise NotImplementedError

    def fill(self, files: int) -> None:
        """Make it a table of so many files."""
        raise NotImplementedError

    @abstractmethod
    def open(self) -> Any:
        """A handle."""

    @abstractmethod
    def append(self, handle: Any, rows: pa.Table) -> None:
        """Write rows and commit."""

    @abstractmethod
    def plan(self, handle: Any, which: str, key: int) -> int:
        """Plan a read of the newest version, of all files, of one day, or of one id; gives the number of files."""


class Lakebed(Store):
    def create(self) -> None:
        import lakebed

        lake = lakebed.connect(str(self.folder))
        lake.create_database("bench")
        keys: list[str] = ["day", "id"] if self.keyed else []
        options = {"bucket": "1", "write-only": "true"} if self.keyed else {}
        lake.create_table("bench.t", SCHEMA, partition_by=["day"], primary_key=keys, options=options)

    def store(self) -> Any:
        from lakebed.format.paths import TablePaths
        from lakebed.metadata.store import TableStore
        from lakebed.storage import LocalStorage

        class EntriesOnly(LocalStorage):
            """The data files of the entries are not written, and commits do not miss them."""

            def exists(self, path: str) -> bool:
                return path.endswith(".parquet") or super().exists(path)

        return TableStore(EntriesOnly(), TablePaths(f"{self.folder}/bench.db/t"), "bench.t")

    def entries(self, first: int, count: int) -> pa.Table:
        """Entries of new files, by the pattern of one that the table wrote."""
        from lakebed.format.binary_row import encode_rows
        from lakebed.format.manifest.manifest import ENTRY_SCHEMA, entries_from_rows
        from lakebed.format.types.data_types import Atomic

        numbers = np.arange(first, first + count)
        low, days = pa.array(numbers * IDS_A_FILE), pa.array((numbers % DAYS).astype(np.int32))
        high = pa.array(numbers * IDS_A_FILE + IDS_A_FILE - 1)
        values = pa.array(numbers.astype(np.float64))
        types = [Atomic("BIGINT"), Atomic("DOUBLE"), Atomic("INT")]
        told = {
            "partition": encode_rows([days], types[2:]),
            "file_name": pa.array(file_names(first, count)),
            "value_min": encode_rows([low, values, days], types),
            "value_max": encode_rows([high, values, days], types),
        }
        alike = entries_from_rows([_entry()]).take(pa.array(np.zeros(count, np.int64)))
        columns = [told.get(name, alike[name]) for name in ENTRY_SCHEMA.names]
        return pa.Table.from_arrays(columns, schema=ENTRY_SCHEMA)

    def commit_entries(self, store: Any, entries: pa.Table) -> Any:
        from lakebed.metadata.commit.commit import Change, append, commit

        return commit(store, append(Change(entries=entries)))

    def fill(self, files: int) -> None:
        self.create()
        store = self.store()
        for first in range(0, files, FILES_A_COMMIT):
            self.commit_entries(store, self.entries(first, min(FILES_A_COMMIT, files - first)))

    def open(self) -> Any:
        import lakebed

        return lakebed.connect(str(self.folder)).table("bench.t")

    def append(self, handle: Any, rows: pa.Table) -> None:
        handle.write(rows)

    def plan(self, handle: Any, which: str, key: int) -> int:
        where = {"all": None, "partition": f"day = {DAY_ASKED}", "key": f"id = {key}"}[which]
        return int(handle.scan(where=where).plan().file_count)


def _entry() -> dict[str, Any]:
    """What all made-up entries of an append table have in common."""
    import datetime as dt

    from lakebed.format.binary_row import EMPTY_ROW
    from lakebed.format.manifest.manifest import ADD

    nothing = dict.fromkeys(
        ("partition", "min_key", "max_key", "key_min", "key_max", "value_min", "value_max"), EMPTY_ROW
    )
    absent = (
        "embedded_index",
        "value_stats_cols",
        "external_path",
        "first_row_id",
        "write_cols",
        "write_cols_sequences",
    )
    return {
        **nothing,
        **dict.fromkeys(absent),
        "kind": ADD,
        "bucket": 0,
        "total_buckets": -1,
        "file_name": "",
        "file_size": SIZE,
        "row_count": IDS_A_FILE,
        "key_null_counts": [],
        "value_null_counts": [0, 0, 0],
        "min_sequence_number": 0,
        "max_sequence_number": IDS_A_FILE - 1,
        "schema_id": 0,
        "level": 0,
        "extra_files": [],
        "creation_time": dt.datetime(2026, 1, 2, 3, 4, 5, 678000),
        "delete_row_count": 0,
        "file_source": 0,
    }


class PyPaimon(Store):
    made_by = "lakebed"

    def open(self) -> Any:
        from pypaimon import CatalogFactory

        return CatalogFactory.create({"warehouse": str(self.folder)}).get_table("bench.t")

    def append(self, handle: Any, rows: pa.Table) -> None:
        builder = handle.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows.cast(_not_null(rows.schema)) if self.keyed else rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def plan(self, handle: Any, which: str, key: int) -> int:
        builder = handle.new_read_builder()
        terms = builder.new_predicate_builder()
        if which != "all":
            asked = terms.equal("day", DAY_ASKED) if which == "partition" else terms.equal("id", key)
            builder = builder.with_filter(asked)
        return sum(len(split.files) for split in builder.new_scan().plan().splits())


def _not_null(schema: pa.Schema) -> pa.Schema:
    """Keys are never null, and pypaimon wants that said."""
    return pa.schema([pa.field(f.name, f.type, nullable=f.name == "v") for f in schema])


class DeltaLake(Store):
    def create(self) -> None:
        from deltalake import DeltaTable

        DeltaTable.create(str(self.folder), schema=SCHEMA, partition_by=["day"])

    def fill(self, files: int) -> None:
        from deltalake import DeltaTable
        from deltalake.transaction import AddAction

        self.create()
        table = DeltaTable(str(self.folder))
        for first in range(0, files, FILES_A_COMMIT):
            count = min(FILES_A_COMMIT, files - first)
            actions = [
                AddAction(f"day={number % DAYS}/{name}", SIZE, {"day": str(number % DAYS)}, 0, True, _stats(number))
                for number, name in enumerate(file_names(first, count), first)
            ]
            table.create_write_transaction(actions, "append", SCHEMA, ["day"])
        table.create_checkpoint()

    def open(self) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder))

    def append(self, handle: Any, rows: pa.Table) -> None:
        from deltalake import write_deltalake

        write_deltalake(handle, rows, mode="append")

    def plan(self, handle: Any, which: str, key: int) -> int:
        handle.update_incremental()
        asked = {"all": None, "partition": [("day", "=", DAY_ASKED)], "key": [("id", "=", key)]}[which]
        return len(handle.file_uris(file_pruning_predicate=asked))


def _stats(number: int) -> str:
    low, high = number * IDS_A_FILE, number * IDS_A_FILE + IDS_A_FILE - 1
    return json.dumps(
        {
            "numRecords": IDS_A_FILE,
            "minValues": {"id": low, "v": float(number)},
            "maxValues": {"id": high, "v": float(number)},
            "nullCount": {"id": 0, "v": 0},
        }
    )


class PyIceberg(Store):
    def _catalog(self) -> Any:
        from pyiceberg.catalog.sql import SqlCatalog

        return SqlCatalog("bench", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.folder}")

    def create(self) -> None:
        self.folder.mkdir(parents=True)
        catalog = self._catalog()
        catalog.create_namespace("bench")
        table = catalog.create_table("bench.t", SCHEMA)
        with table.update_spec() as spec:
            spec.add_identity("day")

    def fill(self, files: int) -> None:
        self.create()
        table = self.open()
        for first in range(0, files, FILES_A_COMMIT):
            count = min(FILES_A_COMMIT, files - first)
            with table.transaction() as transaction, transaction.update_snapshot().fast_append() as made:
                for number, name in enumerate(file_names(first, count), first):
                    made.append_data_file(self._data_file(table, number, name))

    def _data_file(self, table: Any, number: int, name: str) -> Any:
        from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
        from pyiceberg.typedef import Record

        low, high = number * IDS_A_FILE, number * IDS_A_FILE + IDS_A_FILE - 1
        value = struct.pack("<d", float(number))
        counts = {1: IDS_A_FILE, 2: IDS_A_FILE, 3: IDS_A_FILE}
        found = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{table.location()}/data/day={number % DAYS}/{name}",
            file_format=FileFormat.PARQUET,
            partition=Record(number % DAYS),
            record_count=IDS_A_FILE,
            file_size_in_bytes=SIZE,
            column_sizes=counts,
            value_counts=counts,
            null_value_counts=dict.fromkeys(counts, 0),
            nan_value_counts={},
            lower_bounds={1: struct.pack("<q", low), 2: value},
            upper_bounds={1: struct.pack("<q", high), 2: value},
            split_offsets=[4],
            sort_order_id=None,
            equality_ids=None,
            key_metadata=None,
        )
        found.spec_id = table.spec().spec_id
        return found

    def open(self) -> Any:
        return self._catalog().load_table("bench.t")

    def append(self, handle: Any, rows: pa.Table) -> None:
        handle.append(rows)

    def plan(self, handle: Any, which: str, key: int) -> int:
        from pyiceberg.expressions import AlwaysTrue, EqualTo

        handle.refresh()
        asked = {"all": AlwaysTrue(), "partition": EqualTo("day", DAY_ASKED), "key": EqualTo("id", key)}[which]
        return sum(1 for _ in handle.scan(row_filter=asked).plan_files())


STORES: Final[dict[str, type[Store]]] = {
    "lakebed": Lakebed,
    "pypaimon": PyPaimon,
    "deltalake": DeltaLake,
    "pyiceberg": PyIceberg,
}
