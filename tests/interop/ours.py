"""Lakebed as one side of the interop matrix, through its public interface only."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.interop.oracle import Where
from tests.interop.protocol import PaimonType

import lakebed
from lakebed import changes


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def ddl_type(kind: PaimonType) -> str:
    if isinstance(kind, str):
        return kind
    root, *rest = str(kind["type"]).split(" ")
    if root == "ARRAY":
        inner = ddl_type(kind["element"])
    elif root == "MAP":
        inner = f"{ddl_type(kind['key'])}, {ddl_type(kind['value'])}"
    else:
        inner = ", ".join(f"{quoted(f['name'])} {ddl_type(f['type'])}" for f in kind["fields"])
    return " ".join([f"{root}<{inner}>", *rest])


class Ours:
    """Each call opens the warehouse anew, as another process would. ``options`` say how to reach an object store."""

    name = "lakebed"

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._options = options or {}

    def lake(self, warehouse: Path | str) -> lakebed.Lake:
        return lakebed.connect(str(warehouse), options=self._options)

    def _table(self, warehouse: Path | str, table: str) -> lakebed.Table:
        found = self.lake(warehouse).table(table)
        assert isinstance(found, lakebed.Table)
        return found

    def create_table(
        self,
        warehouse: Path | str,
        table: str,
        fields: list[tuple[str, PaimonType]],
        partition_keys: list[str] | None = None,
        *,
        primary_keys: list[str] | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        lake = self.lake(warehouse)
        database = table.split(".", maxsplit=1)[0]
        if database not in lake.databases():
            lake.create_database(database)
        lake.create_table(
            table,
            ", ".join(f"{quoted(name)} {ddl_type(kind)}" for name, kind in fields),
            partition_by=partition_keys or [],
            primary_key=primary_keys or [],
            options=options or {},
        )

    def write(
        self,
        warehouse: Path | str,
        table: str,
        data: pa.Table,
        overwrite: dict[str, str] | None = None,
        *,
        row_kind: str | None = None,
    ) -> None:
        target = self._table(warehouse, table)
        if overwrite is None:
            target.write(data, row_kind=row_kind)
        else:
            target.overwrite(data, partition=overwrite or None)

    def read(
        self,
        warehouse: Path | str,
        table: str,
        where: Where | None = None,
        columns: list[str] | None = None,
        options: dict[str, str] | None = None,
    ) -> pa.Table:
        chosen: dict[str, Any] = {}
        for key, value in (options or {}).items():
            match key:
                case "scan.snapshot-id":
                    chosen["version"] = int(value)
                case "scan.tag-name":
                    chosen["tag"] = value
                case _:
                    raise ValueError(f"unknown read option {key}")
        found = self._table(warehouse, table).scan(columns=columns, where=where.sql if where else None, **chosen)
        return found.to_arrow()

    def truncate(self, warehouse: Path | str, table: str, partitions: list[dict[str, str]] | None = None) -> None:
        target = self._table(warehouse, table)
        if partitions is None:
            target.truncate()
        for partition in partitions or []:
            target.drop_partition(partition)

    def compact(self, warehouse: Path | str, table: str, *, full: bool) -> None:
        self._table(warehouse, table).compact(full=full)

    def delete(self, warehouse: Path | str, table: str, where: str) -> None:
        self._table(warehouse, table).delete(where)

    def alter(self, warehouse: Path | str, table: str, given: list[list[Any]]) -> None:
        self._table(warehouse, table).alter(*map(change, given))


def change(given: list[Any]) -> Any:
    """A change as the oracles take it, as lakebed takes it."""
    operation, *rest = given
    path = tuple(rest[0]) if isinstance(rest[0], list) else rest[0]
    match operation:
        case "add":
            return changes.AddColumn(path, ddl_type(rest[1]))
        case "rename":
            return changes.RenameColumn(path, rest[1])
        case "drop":
            return changes.DropColumn(path)
        case "type":
            return changes.UpdateColumnType(path, ddl_type(rest[1]))
        case "nullable":
            return changes.UpdateColumnNullability(path, rest[1])
        case "comment":
            return changes.UpdateColumnComment(path, rest[1])
        case "first":
            return changes.UpdateColumnPosition(path, changes.First())
        case "after":
            return changes.UpdateColumnPosition(path, changes.After(rest[1]))
        case "set":
            return changes.SetOption(rest[0], rest[1])
        case "unset":
            return changes.RemoveOption(rest[0])
    raise ValueError(f"unknown change {given}")
