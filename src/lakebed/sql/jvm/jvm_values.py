"""Spark's JVM as the catalog uses it: Java values from Python ones, and Lakebed's own Java classes.

The Java sources beside this module are compiled once per JVM, in the driver. ``Bridge.java`` lists what Python calls.
"""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from lakebed.format.types.data_types import Atomic, Field
from lakebed.format.types.spark_types import DEFAULT_KEY, fields_to_spark_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_bridges: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_EXISTS_DEFAULT: Final = "EXISTS_DEFAULT"
_QUOTED_ROOTS: Final = {"DATE": "DATE ", "TIMESTAMP": "TIMESTAMP_NTZ ", "TIME": "TIME "}
_TEXT_ROOTS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})


class Jvm:
    """The JVM of a session: ``java`` has its packages, ``bridge`` calls Lakebed's own Java."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - no public way
        self.java: Any = self.gateway.jvm
        self.sql: Any = self.java.org.apache.spark.sql
        self.connector: Any = self.sql.connector
        self.bridge: Any = _bridge(self.gateway)

    @property
    def session_state(self) -> Any:
        """The state of the session: its catalogs, the rules of its optimizer, its settings."""
        return self.spark._jsparkSession.sessionState()  # noqa: SLF001 - no public way

    # ---------------------------------------------------------------------------------------------- values

    def array(self, kind: Any, items: Sequence[Any]) -> Any:
        """Returns a Java array."""
        made = self.gateway.new_array(kind, len(items))
        for position, item in enumerate(items):
            made[position] = item
        return made

    def strings(self, items: Sequence[str]) -> Any:
        """Returns a ``String[]``."""
        return self.array(self.java.java.lang.String, items)

    def map(self, entries: Mapping[str, str]) -> Any:
        """Returns a ``java.util.Map``."""
        made = self.java.java.util.LinkedHashMap()
        for key, value in entries.items():
            made.put(key, value)
        return made

    def set(self, items: Iterable[Any]) -> Any:
        """Returns a ``java.util.Set``."""
        made = self.java.java.util.LinkedHashSet()
        for item in items:
            made.add(item)
        return made

    def no_metrics(self, kind: str) -> Any:
        """Returns an empty array of ``CustomMetric`` or ``CustomTaskMetric``."""
        return self.array(getattr(self.connector.metric, kind), [])

    def frame(self, dataset: Any) -> DataFrame:
        """Returns the DataFrame of a Java dataset."""
        from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame  # noqa: PLC0415 - Spark is optional

        return ClassicFrame(dataset, self.spark)

    # --------------------------------------------------------------------------------------------- columns

    def struct(self, fields: Sequence[Field]) -> Any:
        """Returns columns as Spark's ``StructType``, with lengths, comments and defaults."""
        raw = fields_to_spark_json(fields)
        for column, entry in zip(fields, raw["fields"], strict=True):
            if column.default is not None:
                text = default_sql(column)
                entry["metadata"] |= {DEFAULT_KEY: text, _EXISTS_DEFAULT: text}
        return self.sql.types.DataType.fromJson(json.dumps(raw))

    def columns(self, fields: Sequence[Field]) -> Any:
        """Returns columns as those of Spark's catalog interface."""
        raw = self.sql.catalyst.util.CharVarcharUtils.getRawSchema(self.struct(fields))
        return self.bridge.columns(raw)


def struct_type(given: Any) -> StructType:
    """Returns a ``StructType`` of Java as one of PySpark."""
    from pyspark.sql.types import StructType as SparkStruct  # noqa: PLC0415 - Spark is optional

    return SparkStruct.fromJson(json.loads(given.json()))


def version_numbers(text: str) -> tuple[int, ...]:
    """Returns the first two numbers of a version.

    >>> version_numbers("4.3.0-SNAPSHOT") >= (4, 1)
    True
    """
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def default_sql(column: Field) -> str:
    """Returns the default of a column as a SQL literal.

    >>> default_sql(Field(0, "a", Atomic("STRING"), None, "x")), default_sql(Field(0, "a", Atomic("INT"), None, "3"))
    ("'x'", '3')
    """
    text = column.default or ""
    if not isinstance(column.type, Atomic):
        return text
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    if column.type.root in _TEXT_ROOTS:
        return quoted
    prefix = _QUOTED_ROOTS.get(column.type.root)
    return text if prefix is None else prefix + quoted


def _bridge(gateway: Any) -> Any:
    """Returns an instance of ``Bridge``; compiles the Java sources if this JVM has not compiled them yet."""
    if gateway not in _bridges:
        java = gateway.jvm
        sources = java.java.util.HashMap()
        for source in files("lakebed.sql.jvm").iterdir():
            if source.name.endswith(".java"):
                sources.put(f"lakebed/{source.name}", source.read_bytes())
        finder = java.org.codehaus.commons.compiler.util.resource.MapResourceFinder(sources)
        parent = java.java.lang.Thread.currentThread().getContextClassLoader()
        loader = java.org.codehaus.janino.JavaSourceClassLoader(parent, finder, "UTF-8")
        made = loader.loadClass("lakebed.Bridge").getConstructors()[0]
        _bridges[gateway] = made.newInstance(gateway.new_array(java.java.lang.Object, 0))
    return _bridges[gateway]
