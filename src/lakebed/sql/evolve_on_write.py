"""Option ``write.merge-schema``: adds the columns of new rows to the table before the rows are written.

Spark does not check or cast rows for such a table. This is done here, after the schema has changed, with the methods
that Spark uses for other tables: they cast values, fill missing columns with defaults and raise Spark's errors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lakebed.errors import UnsupportedError
from lakebed.format.schema.merge_schema import merging_changes
from lakebed.format.types.spark_types import fields_from_spark
from lakebed.options import TableOptions
from lakebed.spark.columns import all_nullable
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MERGE_SCHEMA: Final = TableOptions.write_merge_schema.name


def merges_schema(table: Table) -> bool:
    """Whether writes may add columns to the table."""
    return TableOptions(table.options).write_merge_schema


def merged(jvm: Jvm, table: Table, frame: DataFrame) -> DataFrame:
    """Adds the columns of a frame to a table; returns the frame with the columns of the table."""
    options = TableOptions(table.options)
    if options.write_merge_schema_explicit_cast:
        raise UnsupportedError(
            f"table {table.name}: option 'write.merge-schema.explicit-cast' would narrow types and change values; "
            "unset it, and cast the rows in the query"
        )
    known = {field.name.lower() for field in table.schema.fields}
    columns = type(frame.schema)(
        [column for column in frame.schema if column.dataType.typeName() != "void" or column.name.lower() not in known]
    )
    data = [replace(field, type=all_nullable(field.type)) for field in fields_from_spark(columns)]
    changes = merging_changes(table.schema.fields, data, widen=options.write_merge_schema_type_widening)
    if changes:
        table.alter(*changes)
    state = jvm.session_state
    plan = jvm.bridge.fitted(table.name, jvm.struct(table.schema.fields), frame._jdf, state.conf())  # noqa: SLF001 - no public way
    session = jvm.spark._jsparkSession  # noqa: SLF001 - no public way
    return jvm.frame(jvm.sql.classic.Dataset.ofRows(session, plan))
