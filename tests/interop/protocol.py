"""What client and servers of the interop tests agree on. Imported in all three venvs, so it needs pyarrow only.

A request is one line of JSON ``{"op": name, "args": {...}}`` on a server's stdin, an answer one line ``{"ok": result}``
or ``{"error": text}`` on its stdout. Rows travel as Arrow IPC files, always in the *canonical* Arrow types of
``arrow_type``, so that neither side has to guess what a type of the other library means.
"""

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

# A Paimon type as it stands in the schema JSON: a string, or an object for ARRAY, MAP and ROW.
PaimonType = str | dict[str, Any]

_SIMPLE = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "STRING": pa.string(),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BYTES": pa.binary(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "TIME": pa.time32("ms"),
}


def is_nullable(paimon: PaimonType) -> bool:
    text = paimon if isinstance(paimon, str) else str(paimon["type"])
    return not text.endswith(" NOT NULL")


def arrow_type(paimon: PaimonType) -> pa.DataType:
    """The canonical Arrow type of a Paimon type; timestamps in ms (p<=3), us (p<=6) or ns."""
    if isinstance(paimon, dict):
        kind = str(paimon["type"]).removesuffix(" NOT NULL")
        if kind == "ARRAY":
            return pa.list_(arrow_type(paimon["element"]))
        if kind == "MAP":
            return pa.map_(arrow_type(paimon["key"]), arrow_type(paimon["value"]))
        return pa.struct([(f["name"], arrow_type(f["type"])) for f in paimon["fields"]])
    text = paimon.removesuffix(" NOT NULL")
    name, *numbers = re.split(r"[(), ]+", text.split(" WITH ")[0].rstrip(")"))
    if name == "DECIMAL":
        return pa.decimal128(int(numbers[0]), int(numbers[1]))
    if name in {"TIMESTAMP", "TIMESTAMP_LTZ"}:
        precision = int(numbers[0]) if numbers else 6
        local = name == "TIMESTAMP_LTZ" or text.endswith("WITH LOCAL TIME ZONE")
        unit = "ms" if precision <= 3 else "us" if precision <= 6 else "ns"
        return pa.timestamp(unit, tz="UTC" if local else None)
    return _SIMPLE[name]


def plain(scalar: pa.Scalar) -> Any:
    """A cell as plain Python: temporal values as integers of their unit, maps as lists of pairs in a fixed order."""
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if pa.types.is_temporal(kind):
        return scalar.value
    if pa.types.is_map(kind):
        return sorted(((plain(entry["key"]), plain(entry["value"])) for entry in scalar.values), key=repr)
    if pa.types.is_list(kind):
        return [plain(item) for item in scalar.values]
    if pa.types.is_struct(kind):
        return [plain(scalar[i]) for i in range(kind.num_fields)]
    return scalar.as_py()


def plain_rows(table: pa.Table) -> list[list[Any]]:
    columns = [[plain(cell) for cell in column] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def from_wire(value: Any) -> Any:
    """A value of a filter, as JSON carries it, as a plain value."""
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"]) if "hex" in value else Decimal(value["decimal"])
    return value


def to_wire(value: Any) -> Any:
    """The other way round: bytes and decimals have no JSON form of their own."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return {"decimal": str(value)} if isinstance(value, Decimal) else value


def read_ipc(path: str) -> pa.Table:
    with pa.ipc.open_file(path) as reader:
        return reader.read_all()


def write_ipc(table: pa.Table, path: str) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def catalog_options() -> dict[str, str]:
    """How a server reaches the storage of its warehouses, besides their paths; see ``Oracle``."""
    options: dict[str, str] = json.loads(os.environ.get("LAKEBED_INTEROP_OPTIONS", "{}"))
    return options


def serve(operations: Mapping[str, Callable[..., Any]]) -> None:
    """Answer requests until stdin ends. Whatever else prints to stdout goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": operations[request["op"]](**request["args"])}
        except Exception as problem:
            traceback.print_exc()
            text = [line for line in str(problem).splitlines() if not line.lstrip().startswith("at ")]
            answer = {"error": f"{type(problem).__name__}: " + "\n".join(text)[:3000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    answers.close()
