"""Reads manifests record by record, with the Avro library alone."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro

CODECS = ["null", "deflate", "snappy", "bzip2", "zstd"]


RECORD = "org.apache.paimon.avro.generated.record"


def describe(record: Mapping[str, Any]) -> str:
    """The fields of an Avro record in the spelling of the tables above."""
    return "\n" + "".join(f"{field['name']} {_type(field)}\n" for field in record["fields"])


def _type(field: Mapping[str, Any]) -> str:
    kind = field["type"]
    if isinstance(kind, list):
        assert kind[0] == "null"
        assert len(kind) == 2
        assert "default" in field
        assert field["default"] is None
        return _plain(kind[1]) + "?"
    assert "default" not in field
    return _plain(kind)


def _plain(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    if kind["type"] == "record":
        return "record:" + str(kind["name"]).rsplit(".", 1)[-1]
    if kind["type"] == "array":
        return f"array<{json.dumps(kind['items'])}>"
    return f"{kind['type']}:{kind['logicalType']}"


def schema_on_disk(data: bytes) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(fastavro.reader(io.BytesIO(data)).metadata["avro.schema"])
    return schema


def fields_of(record: Mapping[str, Any]) -> dict[str, Any]:
    return {field["name"]: field["type"] for field in record["fields"]}


def records_of(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = list(fastavro.reader(io.BytesIO(data)))
    return found


def written(schema: Mapping[str, Any], records: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, schema, records)
    return out.getvalue()
