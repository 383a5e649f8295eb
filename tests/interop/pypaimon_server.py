"""The pypaimon oracle. Runs in .interop/pypaimon-venv; the operations mirror those of ``java_server``."""

import os
import sys
import time
from typing import Any

import pyarrow as pa
from tests.interop.protocol import arrow_type, catalog_options, from_wire, read_ipc, serve, write_ipc

Where = list[list[Any]]

# Names of predicates in the requests (Java's) to pypaimon's.
PREDICATES = {
    "equal": "equal",
    "notEqual": "not_equal",
    "lessThan": "less_than",
    "lessOrEqual": "less_or_equal",
    "greaterThan": "greater_than",
    "greaterOrEqual": "greater_or_equal",
    "isNull": "is_null",
    "isNotNull": "is_not_null",
    "startsWith": "startswith",
    "in": "is_in",
}


def literal(value: Any, kind: pa.DataType) -> Any:
    """A plain value of the request as the Python object pypaimon compares with."""
    return pa.scalar(value, kind).as_py()


class Server:
    """The operations. ``warehouse`` is a directory, ``table`` a name like ``db.t`` or ``db.t$branch_b``."""

    def _catalog(self, warehouse: str) -> Any:
        from pypaimon import CatalogFactory

        return CatalogFactory.create({"warehouse": warehouse, **catalog_options()})

    def _table(self, warehouse: str, table: str, options: dict[str, str] | None = None) -> Any:
        found = self._catalog(warehouse).get_table(table)
        return found.copy(options) if options else found

    def version(self) -> str:
        from importlib.metadata import version

        return f"pypaimon {version('pypaimon')}, pyarrow {pa.__version__}"

    def create_table(
        self,
        *,
        warehouse: str,
        table: str,
        fields: list[dict[str, Any]],
        partition_keys: list[str],
        primary_keys: list[str],
        options: dict[str, str],
    ) -> None:
        from pypaimon import Schema
        from pypaimon.schema.data_types import AtomicInteger, DataField, DataTypeParser

        ids = AtomicInteger(-1)
        parsed = []
        for field in fields:
            position = ids.increment_and_get()
            parsed.append(DataField(position, field["name"], DataTypeParser.parse_data_type(field["type"], ids)))
        schema = Schema(fields=parsed, partition_keys=partition_keys, primary_keys=primary_keys, options=options)
        catalog = self._catalog(warehouse)
        catalog.create_database(table.split(".", maxsplit=1)[0], True)
        catalog.create_table(table, schema, False)

    def write(
        self,
        *,
        warehouse: str,
        table: str,
        data: str,
        overwrite: dict[str, str] | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        from pypaimon.schema.data_types import PyarrowFieldParser

        target = self._table(warehouse, table, options)
        builder = target.new_batch_write_builder()
        if overwrite is not None:
            builder = builder.overwrite(overwrite)
        write, commit = builder.new_write(), builder.new_commit()
        wanted = PyarrowFieldParser.from_paimon_schema(target.fields)
        rows = read_ipc(data)
        write.write_arrow(pa.table([rows[f.name].cast(f.type) for f in wanted], schema=wanted))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def read(
        self,
        *,
        warehouse: str,
        table: str,
        into: str,
        options: dict[str, str] | None = None,
        where: Where | None = None,
        columns: list[str] | None = None,
    ) -> dict[str, int]:
        source = self._table(warehouse, table, options)
        builder = source.new_read_builder()
        if where:
            builder = builder.with_filter(self._predicate(builder.new_predicate_builder(), source, where))
        if columns is not None:
            builder = builder.with_projection(columns)
        splits = builder.new_scan().plan().splits()
        found = builder.new_read().to_arrow(splits)
        types = {f.name: arrow_type(f.type.to_dict()) for f in source.fields}
        write_ipc(pa.table({name: found[name].cast(types[name]) for name in found.column_names}), into)
        return {"splits": len(splits), "files": sum(len(s.files) for s in splits)}

    def _predicate(self, builder: Any, source: Any, where: Where) -> Any:
        types = {f.name: arrow_type(f.type.to_dict()) for f in source.fields}
        parts = []
        for column, method, *values in where:
            literals = [literal(from_wire(value), types[column]) for value in values]
            build = getattr(builder, PREDICATES[method])
            parts.append(build(column, literals) if method == "in" else build(column, *literals))
        return builder.and_predicates(parts)

    def truncate(self, warehouse: str, table: str, partitions: list[dict[str, str]] | None = None) -> None:
        commit = self._table(warehouse, table).new_batch_write_builder().new_commit()
        if partitions is None:
            commit.truncate_table()
        else:
            commit.truncate_partitions(partitions)
        commit.close()

    def alter(self, warehouse: str, table: str, changes: list[list[Any]]) -> None:
        self._catalog(warehouse).alter_table(table, [self._change(change) for change in changes], False)

    def _change(self, change: list[Any]) -> Any:
        from pypaimon.schema.data_types import DataTypeParser
        from pypaimon.schema.schema_change import Move, SchemaChange

        match change:
            case ["add", name, kind]:
                return SchemaChange.add_column(name, DataTypeParser.parse_data_type(kind))
            case ["rename", name, new]:
                return SchemaChange.rename_column(name, new)
            case ["drop", name]:
                return SchemaChange.drop_column(name)
            case ["type", name, kind]:
                return SchemaChange.update_column_type(name, DataTypeParser.parse_data_type(kind), True)
            case ["nullable", name, nullable]:
                return SchemaChange.update_column_nullability(name, nullable)
            case ["comment", name, text]:
                return SchemaChange.update_column_comment(name, text)
            case ["first", name]:
                return SchemaChange.update_column_position(Move.first(name))
            case ["after", name, other]:
                return SchemaChange.update_column_position(Move.after(name, other))
            case ["set", key, value]:
                return SchemaChange.set_option(key, value)
            case ["unset", key]:
                return SchemaChange.remove_option(key)
        raise ValueError(f"unknown change {change}")

    def create_tag(self, warehouse: str, table: str, tag: str, snapshot: int | None = None) -> None:
        self._table(warehouse, table).create_tag(tag, snapshot)

    def drop_table(self, warehouse: str, table: str) -> None:
        self._catalog(warehouse).drop_table(table, False)

    def databases(self, warehouse: str) -> list[str]:
        return sorted(self._catalog(warehouse).list_databases())

    def tables(self, warehouse: str, database: str) -> list[str]:
        return sorted(self._catalog(warehouse).list_tables(database))

    def drop_database(self, warehouse: str, database: str) -> None:
        self._catalog(warehouse).drop_database(database, False, True)

    def create_branch(self, warehouse: str, table: str, branch: str, tag: str | None = None) -> None:
        from pypaimon.common.identifier import Identifier

        self._catalog(warehouse).create_branch(Identifier.from_string(table), branch, tag)


def main() -> None:
    os.environ.setdefault("TZ", "UTC")
    time.tzset()
    server = Server()
    names = [n for n in dir(server) if not n.startswith("_")]
    print(server.version(), file=sys.stderr)
    serve({name: getattr(server, name) for name in names})


if __name__ == "__main__":
    main()
