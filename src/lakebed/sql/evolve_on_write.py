"""Option ``write.merge-schema``: adds the columns of new rows to the table when the rows are written.

Spark does not check or cast rows for such a table. This is done here, with the methods that Spark uses for other
tables: they cast values, fill missing columns with defaults and raise Spark's errors. Texts are cast to the types of
the columns, as in other writes. The new columns are stored right before the commit, so a write that fails does not add
columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lakebed.format.schema.merge_schema import merging_changes
from lakebed.format.types.spark_types import fields_from_spark
from lakebed.options import TableOptions
from lakebed.spark.columns import all_nullable
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.table import Table
from lakebed.table.internals import with_changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


MERGE_SCHEMA: Final = TableOptions.write_merge_schema.name


def merges_schema(table: Table) -> bool:
    """Whether writes may add columns to the table."""
    return TableOptions(table.options).write_merge_schema


def evolved(table: Table, columns: StructType) -> Table:
    """Returns the table with the columns of new rows. It stores them when rows are written."""
    options = TableOptions(table.options)
    known = {field.name.lower() for field in table.schema.fields}
    given = [column for column in columns if column.dataType.typeName() != "void" or column.name.lower() not in known]
    data = [replace(field, type=all_nullable(field.type)) for field in fields_from_spark(type(columns)(given))]
    changes = merging_changes(table.schema.fields, data, widen=options.write_merge_schema_type_widening)
    return with_changes(table, changes) if changes else table


def merged(jvm: Jvm, table: Table, frame: DataFrame) -> DataFrame:
    """Returns a frame with the columns of a table."""
    state = jvm.session_state
    plan = jvm.bridge.fitted(table.name, jvm.struct(table.schema.fields), frame._jdf, state.conf())  # noqa: SLF001 - no public way
    session = jvm.spark._jsparkSession  # noqa: SLF001 - no public way
    return jvm.frame(jvm.sql.classic.Dataset.ofRows(session, plan))
