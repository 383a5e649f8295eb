"""The Avro schema of data files, as Paimon's Java writer makes it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from lakebed.errors import OptionError
from lakebed.format.manifest import avro
from lakebed.format.types.data_types import (
    BINARY_ROOTS,
    STRING_ROOTS,
    TIMESTAMP_ROOTS,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MOST_PRECISE: Final = 6
_PLAIN: Final[dict[str, Any]] = {
    "BOOLEAN": "boolean",
    "TINYINT": "int",
    "SMALLINT": "int",
    "INT": "int",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": {"type": "int", "logicalType": "date"},
    "TIME": {"type": "int", "logicalType": "time-millis"},
}


def avro_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """Returns the schema of a data file with these columns, as Java writes it.

    Raises:
        OptionError: If Avro has no such name, or Java no such type in Avro.
    """
    return _record(fields, avro.RECORD, itertools.count())


def _record(fields: Sequence[Field], name: str, numbers: Iterator[int]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [_field(field, name, numbers) for field in fields]}


def _field(field: Field, owner: str, numbers: Iterator[int]) -> dict[str, Any]:
    if not _NAME.fullmatch(field.name):
        raise OptionError(
            f"option file.format: Avro has no column {field.name!r}, because its names consist of ASCII letters, digits "
            "and underscores; use orc or parquet, or rename the column"
        )
    kind = _type(field.type, f"{owner}_{field.name}", numbers)
    if not field.nullable:
        return {"name": field.name, "type": kind}
    return {"name": field.name, **avro.optional(kind)}


def _type(data_type: DataType, name: str, numbers: Iterator[int]) -> Any:
    match data_type:
        case Atomic(root, params):
            return _atomic(root, params)
        case Array(element):
            return {"type": "array", "items": _item(element, name, numbers)}
        case Map(key, value) if isinstance(key, Atomic) and key.root in STRING_ROOTS:
            return {"type": "map", "values": _item(value, name, numbers)}
        case Map(key, value):
            record = {
                "type": "record",
                "name": f"{name}_{next(numbers)}",  # one name for one record in a file
                "fields": [
                    {"name": "key", "type": _type(key, f"{name}_key", numbers)},
                    _value(value, f"{name}_value", numbers),
                ],
            }
            return {"type": "array", "items": record, "logicalType": "map"}
        case Row(fields):
            return _record(fields, f"{name}_{next(numbers)}", numbers)


def _value(value: DataType, name: str, numbers: Iterator[int]) -> dict[str, Any]:
    kind = _type(value, name, numbers)
    return {"name": "value", **avro.optional(kind)} if value.nullable else {"name": "value", "type": kind}


def _item(data_type: DataType, name: str, numbers: Iterator[int]) -> Any:
    kind = _type(data_type, name, numbers)
    return ["null", kind] if data_type.nullable else kind


def _atomic(root: str, params: tuple[int, ...]) -> Any:
    if root in STRING_ROOTS:
        return "string"
    if root in BINARY_ROOTS:
        return "bytes"
    if root == "DECIMAL":
        return {"type": "bytes", "logicalType": "decimal", "precision": params[0], "scale": params[1]}
    if root in TIMESTAMP_ROOTS:
        if params[0] > _MOST_PRECISE:
            raise OptionError(
                f"option file.format: Avro has no timestamps of precision {params[0]}; use orc or parquet, or a "
                f"precision up to {_MOST_PRECISE}"
            )
        unit = "millis" if params[0] <= 3 else "micros"
        prefix = "local-" if root == "TIMESTAMP_LTZ" else ""
        return {"type": "long", "logicalType": f"{prefix}timestamp-{unit}"}
    return _PLAIN[root]
