"""The procedures behind statements that Spark does not know, or restricts more than Paimon.

``Statements.java`` turns such a statement into a CALL of one of these. Their names are no identifiers, and the list of
procedures does not show them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import AlreadyExistsError, NotFoundError, OptionError, unknown_name
from lakebed.format.partition_names import partition_names, partition_table, partition_text, partition_value
from lakebed.sql.procedures.delta_statements import DELTA_STATEMENTS
from lakebed.sql.procedures.procedure import Call, Procedure, Rows
from lakebed.system_tables import SystemTable
from lakebed.table import Table
from lakebed.table.internals import partitions_of, store_of

_NOTHING: Final[Mapping[str, str]] = {}


# ----------------------------------------------------------------------------------------------------------------- tags


def _set_tag(call: Call) -> Rows:
    """CREATE [OR REPLACE] TAG [IF NOT EXISTS], REPLACE TAG."""
    table, name, how = call.table(), call.given["tag"], call.given["how"]
    given = call.some(snapshot="version", time_retained="retained")
    exists = name in table.tags()
    if how == "replace" or (how.startswith("create or replace") and exists):
        table.replace_tag(name, **given)
    elif exists and not how.endswith("if not exists"):
        raise AlreadyExistsError(
            f"tag {name!r} of table {table.name} already exists; write CREATE OR REPLACE TAG, or CREATE TAG IF NOT EXISTS"
        )
    elif not exists:
        table.create_tag(name, **given)
    return []


def _delete_tags(call: Call) -> Rows:
    """DELETE TAG. As in Paimon, a tag that does not exist is no error."""
    table = call.table()
    known = table.tags()
    for name in (part.strip() for part in call.given["tags"].split(",")):
        if name in known:
            table.drop_tag(name)
    return []


def _rename_tag(call: Call) -> Rows:
    call.table().rename_tag(call.given["tag"], call.given["to"])
    return []


def _show_tags(call: Call) -> Rows:
    return [(name,) for name in sorted(call.table().tags())]


# ----------------------------------------------------------------------------------------------------------- partitions


def _drop_partitions(call: Call) -> Rows:
    """DROP [IF EXISTS] PARTITION (...), PARTITION (...): one commit, or none if a partition does not exist.

    A spec may name the first partition columns only; then all partitions that match are dropped, if there are any.
    """
    table = call.table()
    specs = [_checked(table, spec) for spec in json.loads(call.given["specs"])]
    if call.given["if_exists"] != "true":
        for spec in specs:
            if len(spec) == len(table.schema.partition_keys) and _existing(table, spec) is None:
                raise NotFoundError(
                    f"partition {partition_text(spec)} of table {table.name} does not exist; write DROP IF EXISTS PARTITION "
                    "to ignore that"
                )
    table.drop_partitions(specs)
    return []


def _show_partition(call: Call) -> Rows:
    """SHOW TABLE EXTENDED ... PARTITION (...)."""
    table = call.table()
    spec = _checked(table, json.loads(call.given["spec"]))
    missing = [key for key in table.schema.partition_keys if key not in spec]
    if missing:
        raise OptionError(f"Partition spec is invalid: it needs a value of column {missing[0]!r} of table {table.name}")
    name = _existing(table, spec)
    if name is None:
        raise NotFoundError(
            f"[PARTITIONS_NOT_FOUND] partition {partition_text(spec)} of table {table.name} does not exist"
        )
    rows = SystemTable(store_of(table), "partitions").scan().to_arrow()
    (found,) = rows.filter(pc.equal(rows["partition"], name)).to_pylist()
    parameters = {
        "lastFileCreationTime": round(found["last_update_time"].timestamp() * 1000),
        "recordCount": found["record_count"],
        "fileSizeInBytes": found["file_size_in_bytes"],
        "fileCount": found["file_count"],
    }
    shown = ", ".join(f"{name}={value}" for name, value in parameters.items())
    information = (
        f"Partition Values: [{', '.join(f'{name}={value}' for name, value in spec.items())}]\n"
        f"Partition Parameters: {{{shown}}}\n"
        f"Partition Statistics: {found['record_count']} rows, {found['file_size_in_bytes']} bytes\n"
    )
    database, _, title = table.name.rpartition(".")
    return [(database, title, False, information)]


def _checked(table: Table, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a spec in the order of the partition columns; they must be the first ones of the table."""
    keys = table.schema.partition_keys
    if not keys:
        raise OptionError(f"table {table.name} has no partitions")
    folded = {name.lower(): value for name, value in spec.items()}
    known = {key.lower(): key for key in keys}
    for name in folded:
        if name not in known:
            raise OptionError(unknown_name("partition column", name, keys, where=f"table {table.name}"))
    prefix = keys[: len(folded)]
    if set(folded) != {key.lower() for key in prefix}:
        raise OptionError(
            f"Partition spec is invalid: a spec with {len(folded)} of the partition columns of table {table.name} names the "
            f"first ones, {', '.join(prefix)}"
        )
    return {key: folded[key.lower()] for key in prefix}


def _existing(table: Table, spec: Mapping[str, Any]) -> str | None:
    """Returns the name of a partition, as in ``$partitions``; ``None`` if it does not exist."""
    schema = table.schema
    encoded = partitions_of(table.scan())
    found = partition_table(encoded, schema.partition_fields)
    mask = pa.array(np.ones(len(found), dtype=bool))
    for name, value in spec.items():
        column = found[name].combine_chunks()
        same = column.is_null() if value is None else pc.equal(column, partition_value(value, schema.field(name)))
        mask = pc.and_(mask, same.fill_null(False))
    names = partition_names(schema, encoded.filter(mask))
    return str(names[0]) if len(names) else None


STATEMENTS: Final[Mapping[str, Procedure]] = {
    **DELTA_STATEMENTS,
    "set tag": Procedure(
        {"table": "string", "how": "string", "tag": "string", "version?": "long", "retained?": "string"},
        _NOTHING,
        _set_tag,
    ),
    "delete tags": Procedure({"table": "string", "tags": "string"}, _NOTHING, _delete_tags),
    "change tag name": Procedure({"table": "string", "tag": "string", "to": "string"}, _NOTHING, _rename_tag),
    "show tags": Procedure({"table": "string"}, {"tag": "string"}, _show_tags),
    "drop partitions": Procedure(
        {"table": "string", "specs": "string", "if_exists": "string"}, _NOTHING, _drop_partitions
    ),
    "show partition": Procedure(
        {"table": "string", "spec": "string"},
        {"namespace": "string", "tableName": "string", "isTemporary": "boolean", "information": "string"},
        _show_partition,
    ),
}
"""The procedures of statements, by name."""
