"""Lakebed and its peers on an object store, one task in its own process: ``python -m bench.storage_systems '<JSON>'``.

The last line of the output is the result. Every process first does all tasks with a small table on the local disk, so
that modules are imported before the clock starts. A *cold* call opens the table in a process that has not touched the
store before. A *warm* call uses the same handle again; readers that have to ask for new commits of others do so.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from bench.data import PARTITION, load, same_rows
from bench.measure import Result, _timed
from pyarrow.fs import S3FileSystem

BUCKETS: Final = 4
PAGE: Final = 20
SMALL: Final = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("price", pa.float64())])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table is: below a bucket, with the options of Lakebed to reach it, and a local folder for catalogs."""

    bucket: str
    options: dict[str, str]
    folder: Path
    name: str


class StoredTable(ABC):
    """One table of one system. A handle is whatever the system keeps open."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def import_client(self) -> None:
        """Loads the client of the store, without a request; for most it is pyarrow's."""
        S3FileSystem(endpoint_override="127.0.0.1:9", access_key="none", secret_key="none", region="us-east-1")

    @abstractmethod
    def create(self, schema: pa.Schema, *, key: str | None = None, partition: str | None = None) -> None: ...

    @abstractmethod
    def open(self) -> Any: ...

    def refresh(self, handle: Any) -> None:  # noqa: B027 - most have nothing to do
        """Looks for new commits; most do that with every call."""

    @abstractmethod
    def append(self, handle: Any, rows: pa.Table) -> None:
        """Adds rows in one commit."""

    @abstractmethod
    def plan(self, handle: Any) -> int:
        """Returns the number of files that a read of the newest version would open."""

    @abstractmethod
    def history(self, handle: Any) -> int:
        """Returns how many of the newest commits were found: at most a page."""

    @abstractmethod
    def lookup(self, handle: Any, key: int) -> pa.Table:
        """Returns the rows with a key, of the newest version."""

    @abstractmethod
    def read(self, handle: Any) -> pa.Table:
        """Returns all rows."""


class Lakebed(StoredTable):
    def import_client(self) -> None:
        importlib.import_module("obstore.store")

    def _lake(self) -> Any:
        import lakebed

        return lakebed.connect(f"{self.place.bucket}/lakebed", options=self.place.options)

    def create(self, schema: pa.Schema, *, key: str | None = None, partition: str | None = None) -> None:
        lake = self._lake()
        if "bench" not in lake.databases():
            lake.create_database("bench")
        keyed: dict[str, Any] = {"primary_key": [key], "options": {"bucket": BUCKETS}} if key else {}
        parts = {"partition_by": [partition]} if partition else {}
        lake.create_table(f"bench.{self.place.name}", schema, **keyed, **parts)

    def open(self) -> Any:
        return self._lake().table(f"bench.{self.place.name}")

    def append(self, handle: Any, rows: pa.Table) -> None:
        handle.write(rows)

    def plan(self, handle: Any) -> int:
        return int(handle.scan().plan().file_count)

    def history(self, handle: Any) -> int:
        return len(handle.history(limit=PAGE))

    def lookup(self, handle: Any, key: int) -> pa.Table:
        found: pa.Table = handle.scan(where=f"id = {key}").to_arrow()
        return found

    def read(self, handle: Any) -> pa.Table:
        found: pa.Table = handle.scan().to_arrow()
        return found


class DeltaLake(StoredTable):
    @property
    def _uri(self) -> str:
        return f"{self.place.bucket}/deltalake/{self.place.name}"

    @property
    def _options(self) -> dict[str, str]:
        options = self.place.options
        if not options:
            return {}
        return {
            "AWS_ENDPOINT_URL": options["s3.endpoint"],
            "AWS_ACCESS_KEY_ID": options["s3.access-key"],
            "AWS_SECRET_ACCESS_KEY": options["s3.secret-key"],
            "AWS_REGION": options["s3.region"],
            "AWS_ALLOW_HTTP": "true",
            "conditional_put": "etag",
        }

    def create(self, schema: pa.Schema, *, key: str | None = None, partition: str | None = None) -> None:  # noqa: ARG002
        from deltalake import DeltaTable

        parts = [partition] if partition else None
        DeltaTable.create(self._uri, schema=schema, partition_by=parts, storage_options=self._options)

    def open(self) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self._uri, storage_options=self._options)

    def import_client(self) -> None:
        """Its client is part of its library."""

    def refresh(self, handle: Any) -> None:
        handle.update_incremental()

    def append(self, handle: Any, rows: pa.Table) -> None:
        from deltalake import WriterProperties, write_deltalake

        properties = WriterProperties(compression="ZSTD", compression_level=1)
        write_deltalake(handle, rows, mode="append", writer_properties=properties)

    def plan(self, handle: Any) -> int:
        return len(handle.file_uris())

    def history(self, handle: Any) -> int:
        return len(handle.history(PAGE))

    def lookup(self, handle: Any, key: int) -> pa.Table:
        return handle.to_pyarrow_table(filters=[("id", "=", key)])

    def read(self, handle: Any) -> pa.Table:
        return handle.to_pyarrow_table()


class PyIceberg(StoredTable):
    def _catalog(self) -> Any:
        from pyiceberg.catalog.sql import SqlCatalog

        names = {"s3.access-key": "s3.access-key-id", "s3.secret-key": "s3.secret-access-key"}
        return SqlCatalog(
            "bench",
            uri=f"sqlite:///{self.place.folder}/pyiceberg.db",
            warehouse=f"{self.place.bucket}/pyiceberg",
            **{names.get(name, name): value for name, value in self.place.options.items()},
        )

    def create(self, schema: pa.Schema, *, key: str | None = None, partition: str | None = None) -> None:  # noqa: ARG002
        catalog = self._catalog()
        catalog.create_namespace_if_not_exists("bench")
        properties = {"write.parquet.compression-level": "1"}
        table = catalog.create_table(f"bench.{self.place.name}", schema, properties=properties)
        if partition:
            with table.update_spec() as spec:
                spec.add_identity(partition)

    def open(self) -> Any:
        return self._catalog().load_table(f"bench.{self.place.name}")

    def refresh(self, handle: Any) -> None:
        handle.refresh()

    def append(self, handle: Any, rows: pa.Table) -> None:
        handle.append(rows)

    def plan(self, handle: Any) -> int:
        return len(list(handle.scan().plan_files()))

    def history(self, handle: Any) -> int:
        return len(handle.metadata.snapshots[-PAGE:])

    def lookup(self, handle: Any, key: int) -> pa.Table:
        found: pa.Table = handle.scan(row_filter=f"id = {key}").to_arrow()
        return found

    def read(self, handle: Any) -> pa.Table:
        found: pa.Table = handle.scan().to_arrow()
        return found


class PyPaimon(StoredTable):
    def _catalog(self) -> Any:
        from pypaimon import CatalogFactory

        return CatalogFactory.create({"warehouse": f"{self.place.bucket}/pypaimon", **self.place.options})

    def create(self, schema: pa.Schema, *, key: str | None = None, partition: str | None = None) -> None:
        from pypaimon import Schema

        catalog = self._catalog()
        catalog.create_database("bench", True)
        keyed: dict[str, Any] = {"primary_keys": [key], "options": {"bucket": str(BUCKETS)}} if key else {}
        parts = {"partition_keys": [partition]} if partition else {}
        made = Schema.from_pyarrow_schema(schema, **keyed, **parts)
        catalog.create_table(f"bench.{self.place.name}", made, False)

    def open(self) -> Any:
        return self._catalog().get_table(f"bench.{self.place.name}")

    def append(self, handle: Any, rows: pa.Table) -> None:
        builder = handle.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def plan(self, handle: Any) -> int:
        splits = handle.new_read_builder().new_scan().plan().splits()
        return sum(len(split.files) for split in splits)

    def history(self, handle: Any) -> int:
        manager = handle.snapshot_manager()
        latest = manager.get_latest_snapshot().id
        return len(manager.get_snapshots_batch(list(range(latest, latest - PAGE, -1)), max_workers=PAGE))

    def lookup(self, handle: Any, key: int) -> pa.Table:
        builder = handle.new_read_builder()
        builder = builder.with_filter(builder.new_predicate_builder().equal("id", key))
        found: pa.Table = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        return found

    def read(self, handle: Any) -> pa.Table:
        builder = handle.new_read_builder()
        found: pa.Table = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        return found


SYSTEMS: Final[dict[str, type[StoredTable]]] = {
    "lakebed": Lakebed,
    "deltalake": DeltaLake,
    "pyiceberg": PyIceberg,
    "pypaimon": PyPaimon,
}


def small_rows(first: int, count: int) -> pa.Table:
    """Rows with keys from ``first`` on."""
    ids = pa.array(range(first, first + count), pa.int64())
    names = pa.array([f"name {number * 7919 % 100_003}" for number in range(first, first + count)])
    return pa.table([ids, names, pa.array([number / 4 for number in range(first, first + count)])], schema=SMALL)


# ------------------------------------------------------------------------------------------------------------- tasks


def run(request: dict[str, Any]) -> list[Result]:
    """Does a task; returns what was timed, with the times of the clock that all processes share."""
    importlib.import_module(request["system"])
    place = Place(request["bucket"], request["options"], Path(request["folder"]), request["table"])
    table = SYSTEMS[request["system"]](place)
    if request["task"] != "build":
        _prepare(type(table))
    task: Callable[[StoredTable, dict[str, Any]], list[Result]] = TASKS[request["task"]]
    return task(table, request)


def _prepare(system: type[StoredTable]) -> None:
    """Does everything once on the local disk, which imports all modules."""
    with tempfile.TemporaryDirectory() as folder:
        table = system(Place(f"{folder}/warehouse", {}, Path(folder), "t"))
        table.import_client()
        table.create(SMALL)
        handle = table.open()
        for number in range(PAGE):
            table.append(handle, small_rows(number, 1))
        table.refresh(handle)
        table.plan(handle)
        table.history(handle)
        table.lookup(handle, 0)
        table.read(handle)


def _build(table: StoredTable, request: dict[str, Any]) -> list[Result]:
    """A table of one-row commits, or a keyed one that was loaded and then got some more commits."""
    table.create(SMALL, key="id" if request["keys"] else None)
    handle = table.open()
    if request["keys"]:
        table.append(handle, small_rows(0, request["keys"]))
    for number in range(request["commits"]):
        table.append(handle, small_rows(request["keys"] + number, 1))
    return []


def _append(table: StoredTable, request: dict[str, Any]) -> list[Result]:
    rows = small_rows(request["first"], 1)
    return _cold_and_warm(table, lambda handle: table.append(handle, rows), request["warm"], refresh=False)


def _plan(table: StoredTable, request: dict[str, Any]) -> list[Result]:
    def plan(handle: Any) -> None:
        if table.plan(handle) < request["commits"]:
            raise SystemExit("the plan has too few files")

    return _cold_and_warm(table, plan, request["warm"])


def _history(table: StoredTable, request: dict[str, Any]) -> list[Result]:
    def page(handle: Any) -> None:
        if table.history(handle) != min(PAGE, request["commits"]):
            raise SystemExit("the page of history is not full")

    return _cold_and_warm(table, page, 0)


def _lookup(table: StoredTable, request: dict[str, Any]) -> list[Result]:
    def lookup(handle: Any) -> None:
        found = table.lookup(handle, request["key"])
        if found["id"].to_pylist() != [request["key"]]:
            raise SystemExit(f"key {request['key']}: found {found['id'].to_pylist()}")

    return _cold_and_warm(table, lookup, request["warm"])


def _load(table: StoredTable, request: dict[str, Any]) -> list[Result]:
    rows = load(Path(request["rows_file"]))
    table.create(rows.schema, partition=PARTITION)
    return [_clocked(lambda: table.append(table.open(), rows), "cold")]


def _read(table: StoredTable, request: dict[str, Any]) -> list[Result]:
    found: list[pa.Table] = []
    result = _clocked(lambda: found.append(table.read(table.open())), "cold")
    if request["check"] and not same_rows(found[0], load(Path(request["rows_file"]))):
        raise SystemExit("the rows that were read are not the rows that were written")
    return [result]


def _cold_and_warm(table: StoredTable, call: Callable[[Any], None], warm: int, *, refresh: bool = True) -> list[Result]:
    handles: list[Any] = []

    def cold() -> None:
        handles.append(table.open())
        call(handles[0])

    def again(handle: Any) -> None:
        if refresh:
            table.refresh(handle)
        call(handle)

    results = [_clocked(cold, "cold")]
    for _ in range(warm):
        time.sleep(0.05)  # what a system still does in the background belongs to the call before
        results.append(_clocked(lambda: again(handles[0]), "warm"))
    return results


def _clocked(call: Callable[[], object], state: str) -> Result:
    start = time.monotonic()
    result, _ = _timed(call)
    return result | {"state": state, "start": start, "end": time.monotonic()}


TASKS: Final = {
    "build": _build,
    "append": _append,
    "plan": _plan,
    "history": _history,
    "lookup": _lookup,
    "load": _load,
    "read": _read,
}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))), flush=True)
    os._exit(0)  # threads of some systems abort now and then when the interpreter shuts down; that is not measured
