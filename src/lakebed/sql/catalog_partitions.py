"""The partitions of a table as rows of Spark, for SHOW PARTITIONS and DROP PARTITION."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.partition_names import partition_table
from lakebed.format.types.data_types import Field, to_arrow
from lakebed.sql.jvm.internal_values import from_internal, to_internal
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.table import Table
from lakebed.table.internals import partitions_of


class Partitions:
    """The partitions of a table; ``row`` is always a row of Spark with values of partition columns."""

    def __init__(self, jvm: Jvm, table: Table) -> None:
        self._jvm, self._table = jvm, table

    def matching(self, names: Sequence[str], row: Any) -> Any:
        """Returns the partitions with the values of the row in these columns, as rows of Spark."""
        found = self._having(self._table.schema.select(names), row)
        texts = [to_internal(column) for column in found.columns]
        rows = json.dumps(list(zip(*texts, strict=True)))
        return self._jvm.bridge.rows(rows, self._jvm.struct(self._table.schema.partition_fields))

    def exists(self, row: Any) -> bool:
        """Whether this partition exists."""
        return len(self._having(self._table.schema.partition_fields, row)) > 0

    def drop(self, *rows: Any) -> bool:
        """Drops partitions in one commit; returns whether there were rows to delete."""
        found = [self._values(self._table.schema.partition_fields, row) for row in rows]
        specs = [{name: value.as_py() for name, value in values.items()} for values in found]
        return bool(specs) and self._table.drop_partitions(specs) is not None

    def _having(self, fields: Sequence[Field], row: Any) -> pa.Table:
        encoded = partitions_of(self._table.scan())
        found = partition_table(encoded, self._table.schema.partition_fields)
        for name, value in self._values(fields, row).items():
            column = found[name]
            found = found.filter(pc.equal(column, value) if value.is_valid else column.is_null())
        return found.sort_by([(name, "ascending") for name in found.column_names])

    def _values(self, fields: Sequence[Field], row: Any) -> dict[str, pa.Scalar]:
        if not fields:
            return {}
        texts = json.loads(self._jvm.bridge.values(row, self._jvm.struct(fields)))
        return {
            field.name: pa.scalar(None, to_arrow(field.type))
            if text is None
            else from_internal(text, to_arrow(field.type))
            for field, text in zip(fields, texts, strict=True)
        }
