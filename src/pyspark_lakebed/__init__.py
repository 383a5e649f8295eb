"""The Spark data source ``lakebed``; Spark finds it by the name of this package, without registering.

.. code-block:: python

    spark.read.format("lakebed").option("warehouse", "/data/lake").load("shop.orders")
    spark.read.format("lakebed").option("version", 3).load("/data/lake/shop.db/orders")
    frame.write.format("lakebed").option("warehouse", "/data/lake").mode("append").save("shop.orders")

A table is named by its folder, or by ``warehouse`` and its name; a name may carry a branch or a system table
(``shop.orders$branch_dev``, ``shop.orders$snapshots``).

| option | for | means |
|---|---|---|
| `warehouse` | both | the folder of the warehouse that a name belongs to |
| `columns` | reading | the columns to read: `id, name`, or a JSON list |
| `where` | reading | a SQL condition: only such rows are read |
| `version`, `tag`, `timestamp` | reading | the snapshot to read; also `scan.snapshot-id`, `scan.version`, `scan.tag-name`, `scan.timestamp`, `scan.timestamp-millis` |
| `partition` | overwriting | the partition to replace: `dt=20250101, region=eu`, or a JSON object |
| `partitionOverwriteMode` | overwriting | `dynamic` replaces the partitions that the data has rows of, `static` everything |
| `row_kind` | writing | the column that says what each row is: `+I`, `+U`, `-U` or `-D` |
| `read.changelog` | reading | `true` puts a column `rowkind` first that says what each row is |
| `scan.mode`, `consumer-id`, `read.stream.*` | streams | where a stream begins, who reads, how much at a time: docs/streaming.md |

Any other option is one of the table's own (`branch`, `write-only`, ...), for this read or write only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter
    from pyspark.sql.types import StructType


class DefaultSource(DataSource):  # type: ignore[misc]
    """The data source ``lakebed``.

    Spark imports this package whenever it looks for data sources, also for others', so what it needs of Lakebed is imported
    when it is used.
    """

    @classmethod
    def name(cls) -> str:
        """What follows ``format(`` in Spark."""
        return "lakebed"

    def schema(self) -> StructType:
        """The columns that a read gives."""
        from lakebed.datasource.batch_reader import read_schema  # noqa: PLC0415 - see above

        return read_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns that Spark asks for: all of the scan's, or those that the user named in ``schema``."""
        from lakebed.datasource.batch_reader import make_reader  # noqa: PLC0415 - see above

        return make_reader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer of rows with this schema, which must be the table's."""
        from lakebed.datasource.batch_writer import make_writer  # noqa: PLC0415 - see above

        return make_writer(self.options, schema, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """A reader of a stream of what the table holds and will hold."""
        from lakebed.datasource.stream_options import make_stream_reader  # noqa: PLC0415 - see above

        return make_stream_reader(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """A writer of the batches of a stream; ``overwrite``: each of them replaces all rows."""
        from lakebed.datasource.stream_options import make_stream_writer  # noqa: PLC0415 - see above

        return make_stream_writer(self.options, schema, overwrite=overwrite)
