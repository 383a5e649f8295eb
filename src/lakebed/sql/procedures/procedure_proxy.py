"""Procedures as Java objects that Spark calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lakebed.errors import OptionError, UnsupportedError
from lakebed.format.types.data_types import Atomic, Field
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.jvm.proxy import Proxy
from lakebed.sql.procedures.all_procedures import find_procedure
from lakebed.sql.procedures.procedure import Call, Details
from lakebed.table import Table

_CATALOG: Final = "org.apache.spark.sql.connector.catalog."
_TYPES: Final = {
    "string": Atomic("STRING"),
    "long": Atomic("BIGINT"),
    "integer": Atomic("INT"),
    "boolean": Atomic("BOOLEAN"),
    "timestamp": Atomic("TIMESTAMP_LTZ", (6,)),  # of results; a value is microseconds
}
_WHOLE: Final = ("byte", "short", "integer", "long", "decimal", "string", "void")
_TAKEN: Final = {"long": _WHOLE, "integer": _WHOLE, "boolean": ("boolean", "string", "void")}
"""The types of Spark that an argument may have; text parameters take all types that Spark casts to text."""


class ProcedureProxy(
    Proxy,
    implements=(
        _CATALOG + "procedures.UnboundProcedure",
        _CATALOG + "procedures.BoundProcedure",
    ),
):
    """A procedure that Spark calls."""

    def __init__(
        self,
        jvm: Jvm,
        name: str,
        open_table: Callable[[str, Mapping[str, str]], Table],
        databases: Callable[[], Mapping[str, Sequence[str]]],
    ) -> None:
        super().__init__(jvm)
        self._name, self._procedure = name, find_procedure(name)
        self._open, self._databases = open_table, databases
        self._fields = [
            Field(0, parameter.rstrip("?"), _TYPES[kind]) for parameter, kind in self._procedure.parameters.items()
        ]

    def name(self) -> str:
        return self._name

    def description(self) -> str:
        return f"sys.{self._name}({', '.join(self._procedure.parameters)})"

    def bind(self, given: Any) -> ProcedureProxy:
        """Checks the types of the arguments; without this check Spark would retry a cast that cannot succeed."""
        kinds = {name.rstrip("?"): kind for name, kind in self._procedure.parameters.items()}
        for column, name in zip(given.fields(), kinds, strict=False):
            own = column.name() if column.name() in kinds else name
            found = column.dataType().typeName()
            if not found.startswith(_TAKEN.get(kinds[own], found)):
                raise OptionError(f"procedure {self._name}: argument {own} must be of type {kinds[own]}, not {found}")
        return self

    def isDeterministic(self) -> bool:  # noqa: N802 - Java's name
        return False

    def parameters(self) -> Any:
        made = self._jvm.connector.catalog.procedures.ProcedureParameter
        types = self._jvm.struct(self._fields).fields()
        built = []
        for position, name in enumerate(self._procedure.parameters):
            builder = getattr(made, "in")(name.rstrip("?"), types[position].dataType())
            built.append((builder.defaultValue("NULL") if name.endswith("?") else builder).build())
        return self._jvm.array(made, built)

    def call(self, row: Any) -> Any:
        texts = json.loads(self._jvm.bridge.values(row, self._jvm.struct(self._fields)))
        given = {
            field.name: _argument(text, field)
            for field, text in zip(self._fields, texts, strict=True)
            if text is not None
        }
        for name in self._procedure.parameters:
            if not name.endswith("?") and name not in given:
                raise OptionError(f"procedure {self._name}: argument {name} must not be null")
        result = self._procedure.run(Call(given, self._open, self._databases))
        found = result if isinstance(result, Details) else Details(self._procedure.results, result)
        scans = self._jvm.java.java.util.ArrayList()
        scans.add(ResultScan(self._jvm, found.columns, list(found.rows)))
        return scans.iterator()


def _argument(text: str, field: Field) -> Any:
    root = field.type.root if isinstance(field.type, Atomic) else ""
    if root == "BOOLEAN":
        return text == "true"
    return int(text) if root in {"BIGINT", "INT"} else text


class ResultScan(Proxy, implements=("org.apache.spark.sql.connector.read.LocalScan",)):
    """The rows that a procedure returned."""

    def __init__(self, jvm: Jvm, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        super().__init__(jvm)
        self._fields = [Field(0, name, _TYPES[kind]) for name, kind in columns.items()]
        self._rows = rows

    def readSchema(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.struct(self._fields)

    def rows(self) -> Any:
        texts = [[_text(value) for value in row] for row in self._rows]
        return self._jvm.bridge.rows(json.dumps(texts), self.readSchema())

    def description(self) -> str:
        return "result"

    def toBatch(self) -> Any:  # noqa: N802 - Java's name
        raise UnsupportedError("the rows of a procedure are local; there is nothing to scan")

    def supportedCustomMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomMetric")

    def reportDriverMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomTaskMetric")


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
