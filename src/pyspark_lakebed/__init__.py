"""The Spark data source ``lakebed``. Spark finds it by the name of this package; it need not be registered.

.. code-block:: python

    spark.read.format("lakebed").option("warehouse", "/data/lake").load("shop.orders")
    spark.read.format("lakebed").option("version", 3).load("/data/lake/shop.db/orders")
    frame.write.format("lakebed").option("warehouse", "/data/lake").mode("append").save("shop.orders")

A table is given by its folder, or by ``warehouse`` and its name. A name may contain a branch or a system table
(``shop.orders$branch_dev``, ``shop.orders$snapshots``).

| option | for | means |
|---|---|---|
| `warehouse` | both | the folder of the warehouse that a name belongs to |
| `columns` | reading | the columns to read: `id, name`, or a JSON list |
| `where` | reading | a SQL condition: only such rows are read |
| `version`, `tag`, `timestamp` | reading | the snapshot to read, also as `versionAsOf`, `scan.snapshot-id` etc. |
| `partition` | overwriting | the partition to replace: `dt=20250101, region=eu`, or a JSON object |
| `partitionOverwriteMode` | overwriting | `dynamic` replaces the partitions of the new rows, `static` all rows |
| `row_kind` | writing | the column with the kind of each row: `+I`, `+U`, `-U` or `-D` |
| `read.changelog` | reading | `true` adds a first column `rowkind` with the kind of each row |
| `scan.mode`, `consumer-id`, `read.stream.*` | streams | start, consumer and batch limits: docs/streaming.md |

All other options are options of the table (`branch`, `write-only`, ...), for this read or write only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter
    from pyspark.sql.types import StructType


class DefaultSource(DataSource):  # type: ignore[misc]
    """The data source ``lakebed``.

    Spark imports this package whenever it looks for any data source. Therefore the methods import Lakebed when they are
    called.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format(...)``."""
        return "lakebed"

    def schema(self) -> StructType:
        """Returns the columns of a read."""
        from lakebed.datasource.batch_reader import read_schema  # noqa: PLC0415 - see above

        return read_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns a reader of the columns of the scan, or of those in the user's ``schema``."""
        from lakebed.datasource.batch_reader import make_reader  # noqa: PLC0415 - see above

        return make_reader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Returns a writer of rows with this schema, which must fit the table."""
        from lakebed.datasource.batch_writer import make_writer  # noqa: PLC0415 - see above

        return make_writer(self.options, schema, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Returns a reader of the table as a stream."""
        from lakebed.datasource.stream_options import make_stream_reader  # noqa: PLC0415 - see above

        return make_stream_reader(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """Returns a writer of the batches of a stream; with ``overwrite`` each batch replaces all rows."""
        from lakebed.datasource.stream_options import make_stream_writer  # noqa: PLC0415 - see above

        return make_stream_writer(self.options, schema, overwrite=overwrite)


class PaimonSource(DefaultSource):
    """The same data source by the name of Paimon's connector, for sessions that do not have that connector."""

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format(...)``."""
        return "paimon"
