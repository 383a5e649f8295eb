"""Streams of tables that a query names through the catalog: ``readStream.table(...)`` and ``writeStream.toTable(...)``.

Spark asks the catalog's table for a ``MicroBatchStream`` or a ``StreamingWrite``. Both are made by Spark's own classes
for data sources in Python, with the data source ``lakebed``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lakebed.errors import UnsupportedError
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.types.data_types import Field
from lakebed.metadata.store import TableStore
from lakebed.spark.columns import spark_schema
from lakebed.sql.jvm.jvm_values import Jvm, version_numbers

_SOURCE: Final = "lakebed"
_READABLE: Final = (4, 2)
STREAM_ONLY: Final = frozenset({"read.stream.maxsnapshotspertrigger", "read.stream.newcolumns", "checkpointlocation"})
"""Options of streams that are not options of the table, in lower case."""


def micro_batch_stream(
    jvm: Jvm, store: TableStore, fields: Sequence[Field], options: Mapping[str, str], checkpoint: str
) -> Any:
    """Returns the ``MicroBatchStream`` that reads a table."""
    if version_numbers(jvm.spark.version) < _READABLE:
        raise UnsupportedError("streams of Lakebed tables need PySpark 4.2 or newer; batch reads do not")
    given = _options(jvm, store, options)
    schema = jvm.sql.types.DataType.fromJson(json.dumps(spark_schema(fields).jsonValue()))
    return _table(jvm, schema).newScanBuilder(given).build().toMicroBatchStream(checkpoint)


def streaming_write(jvm: Jvm, store: TableStore, info: Any, options: Mapping[str, str], *, overwrite: bool) -> Any:
    """Returns the ``StreamingWrite`` that writes the batches of a stream."""
    nothing = jvm.java.java.util.Optional.empty()
    own = jvm.connector.write.LogicalWriteInfoImpl(
        info.queryId(), info.schema(), _options(jvm, store, options), nothing, nothing
    )
    builder = _table(jvm, info.schema()).newWriteBuilder(own)
    return (builder.truncate() if overwrite else builder).build().toStreaming()


def _table(jvm: Jvm, schema: Any) -> Any:
    """Returns the table of the data source. Spark calls the data source only for a scan or a write of it."""
    sources = jvm.sql.execution.datasources.DataSource
    source = sources.lookupDataSourceV2(_SOURCE, jvm.session_state.conf())
    if source.isEmpty():
        raise UnsupportedError(
            f'this Spark session does not know the data source "{_SOURCE}"; is Lakebed installed where its driver runs?'
        )
    transforms = jvm.array(jvm.connector.expressions.Transform, [])
    return source.get().getTable(schema, transforms, jvm.map({}))


def _options(jvm: Jvm, store: TableStore, options: Mapping[str, str]) -> Any:
    branch = {} if store.paths.branch == MAIN_BRANCH else {"branch": store.paths.branch}
    settings = getattr(store.storage, "settings", None)  # the data source runs in other processes
    storage = {} if settings is None else settings.values
    given = {**store.overlay, **options, **branch, **storage, "path": store.paths.root}
    return jvm.sql.util.CaseInsensitiveStringMap(jvm.map(given))
