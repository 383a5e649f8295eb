"""Lakebed and its peers behind one small interface: make a table, append to it, scan it.

All write zstd at level 1, their own default file sizes, partitioned by day. Imports are made by each system itself,
because no environment holds all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from bench.data import COLUMNS, PARTITION, SCHEMA


class System(ABC):
    """One table in a folder. Every call opens it anew, as a short program would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def create(self) -> None:
        """Make an empty table."""

    @abstractmethod
    def append(self, rows: pa.Table) -> None:
        """Add rows, in one commit."""

    @abstractmethod
    def scan(self) -> pa.Table:
        """All rows."""

    def files(self) -> list[str]:
        """The data files."""
        return sorted(str(path) for path in self.folder.rglob("*.parquet"))


class PyArrow(System):
    """The yardstick: one Parquet file written, and the files of a folder read, with nothing around it."""

    def create(self) -> None:
        self.folder.mkdir(parents=True)

    def append(self, rows: pa.Table) -> None:
        pq.write_table(rows, self.folder / "rows.parquet", compression="zstd", compression_level=1)

    def scan(self) -> pa.Table:
        return ds.dataset(self.files()).to_table()


class Lakebed(System):
    def _table(self) -> Any:
        import lakebed

        return lakebed.connect(str(self.folder)).table("bench.t")

    def create(self) -> None:
        import lakebed

        lake = lakebed.connect(str(self.folder))
        lake.create_database("bench")
        lake.create_table("bench.t", COLUMNS, partition_by=[PARTITION])

    def append(self, rows: pa.Table) -> None:
        self._table().write(rows)

    def scan(self) -> pa.Table:
        found: pa.Table = self._table().scan().to_arrow()
        return found


class DeltaLake(System):
    def create(self) -> None:
        from deltalake import DeltaTable

        DeltaTable.create(str(self.folder), schema=SCHEMA, partition_by=[PARTITION])

    def append(self, rows: pa.Table) -> None:
        from deltalake import WriterProperties, write_deltalake

        properties = WriterProperties(compression="ZSTD", compression_level=1)
        write_deltalake(str(self.folder), rows, mode="append", writer_properties=properties)

    def scan(self) -> pa.Table:
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder)).to_pyarrow_table()


class PyIceberg(System):
    def _catalog(self) -> Any:
        from pyiceberg.catalog.sql import SqlCatalog

        return SqlCatalog("bench", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.folder}")

    def create(self) -> None:
        self.folder.mkdir(parents=True)
        catalog = self._catalog()
        catalog.create_namespace("bench")
        table = catalog.create_table("bench.t", SCHEMA, properties={"write.parquet.compression-level": "1"})
        with table.update_spec() as spec:
            spec.add_identity(PARTITION)

    def append(self, rows: pa.Table) -> None:
        self._catalog().load_table("bench.t").append(rows)

    def scan(self) -> pa.Table:
        found: pa.Table = self._catalog().load_table("bench.t").scan().to_arrow()
        return found


class PyPaimon(System):
    def _catalog(self) -> Any:
        from pypaimon import CatalogFactory

        return CatalogFactory.create({"warehouse": str(self.folder)})

    def create(self) -> None:
        from pypaimon import Schema

        catalog = self._catalog()
        catalog.create_database("bench", False)
        catalog.create_table("bench.t", Schema.from_pyarrow_schema(SCHEMA, partition_keys=[PARTITION]), False)

    def append(self, rows: pa.Table) -> None:
        builder = self._catalog().get_table("bench.t").new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def scan(self) -> pa.Table:
        builder = self._catalog().get_table("bench.t").new_read_builder()
        found: pa.Table = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        return found


SYSTEMS: Final[dict[str, type[System]]] = {
    "pyarrow": PyArrow,
    "lakebed": Lakebed,
    "deltalake": DeltaLake,
    "pyiceberg": PyIceberg,
    "pypaimon": PyPaimon,
}
