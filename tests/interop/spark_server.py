"""The Spark oracle: the newest paimon-spark connector on Maven Central (0.9.0) in PySpark. Runs in .interop/java-venv.

Everything goes through SQL, procedures included. Each warehouse becomes a catalog of its own; its table cache is off,
so that commits of others are seen. Rows travel to and from Spark as Parquet files.
"""

import hashlib
import itertools
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.interop.protocol import read_ipc, serve, write_ipc
from tests.sql.cases import show

INTEROP = Path(__file__).parents[2] / ".interop"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def spark_type(paimon: Any) -> str:
    """A Paimon type as Spark DDL. TIMESTAMP(p) without a zone is Spark's TIMESTAMP_NTZ, with one its TIMESTAMP."""
    if isinstance(paimon, dict):
        kind = paimon["type"].removesuffix(" NOT NULL")
        if kind == "ARRAY":
            return f"ARRAY<{spark_type(paimon['element'])}>"
        if kind == "MAP":
            return f"MAP<{spark_type(paimon['key'])}, {spark_type(paimon['value'])}>"
        return "STRUCT<" + ", ".join(f"{quoted(f['name'])}: {spark_type(f['type'])}" for f in paimon["fields"]) + ">"
    text = paimon.removesuffix(" NOT NULL")
    if text.startswith("TIMESTAMP"):
        return "TIMESTAMP" if text.endswith("WITH LOCAL TIME ZONE") else "TIMESTAMP_NTZ"
    return "BINARY" if text.startswith(("BYTES", "VARBINARY", "BINARY")) else str(text)


def sql_literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


class Server:
    """The operations, as in ``java_server``, but ``where`` is SQL; and ``sql``, in which ``{table}`` stands for the
    table.
    """

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        jar = next(INTEROP.glob("jars/paimon-spark-*.jar"))
        settings = {
            "spark.jars": str(jar),
            "spark.ui.enabled": "false",
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
            "spark.sql.caseSensitive": "true",
        }
        builder = SparkSession.builder.master("local[1]")
        for key, value in settings.items():
            builder = builder.config(key, value)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        self._sql = self._spark
        self._scratch = tempfile.mkdtemp(dir=os.environ.get("TMPDIR"))
        self._files = itertools.count()

    def _name(self, warehouse: str, table: str) -> str:
        catalog = "w" + hashlib.md5(warehouse.encode()).hexdigest()
        key = f"spark.sql.catalog.{catalog}"
        self._spark.conf.set(key, "org.apache.paimon.spark.SparkCatalog")
        self._spark.conf.set(f"{key}.warehouse", warehouse)
        self._spark.conf.set(f"{key}.cache-enabled", "false")
        database, name = table.split(".", 1)
        return f"{catalog}.{quoted(database)}.{quoted(name)}"

    def _file(self) -> str:
        return str(Path(self._scratch) / f"{next(self._files)}.parquet")

    def version(self) -> str:
        return f"{next(INTEROP.glob('jars/paimon-spark-*.jar')).stem}, Spark {self._spark.version}"

    def sql(self, warehouse: str, table: str, statement: str) -> list[list[Any]]:
        name = self._name(warehouse, table)
        catalog = name.split(".", maxsplit=1)[0]
        rows = self._spark.sql(statement.format(table=name, catalog=catalog)).collect()
        return [[str(value) for value in row] for row in rows]

    def open_sql(self, warehouse: str, catalog: str, settings: dict[str, str]) -> None:
        """A new session, with the warehouse as its current catalog, for the statements of ``run_sql``."""
        self._sql = self._spark.newSession()
        key = f"spark.sql.catalog.{catalog}"
        own = {key: "org.apache.paimon.spark.SparkCatalog", f"{key}.warehouse": warehouse}
        for name, value in (own | settings).items():
            self._sql.conf.set(name, value)
        self._sql.sql(f"USE {catalog}")

    def run_sql(self, text: str) -> dict[str, Any]:
        """``rows`` as the SQL files write them, or the ``error`` of a statement that failed."""
        try:
            rows = self._sql.sql(text).collect()
        except Exception as problem:
            said = [
                line for line in str(problem).splitlines() if line.strip() and not line.startswith("An error occurred")
            ]
            return {"error": f"{type(problem).__name__}: {said[0] if said else ''}"}
        return {"rows": [" | ".join(show(value) for value in row).strip() for row in rows]}

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
        name = self._name(warehouse, table)
        self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {name.rsplit('.', 1)[0]}")
        columns = ", ".join(
            f"{quoted(f['name'])} {spark_type(f['type'])}{' NOT NULL' if str(f['type']).endswith('NOT NULL') else ''}"
            for f in fields
        )
        properties = dict(options) | ({"primary-key": ",".join(primary_keys)} if primary_keys else {})
        statement = f"CREATE TABLE {name} ({columns}) USING paimon"
        if partition_keys:
            statement += f" PARTITIONED BY ({', '.join(map(quoted, partition_keys))})"
        if properties:
            pairs = ", ".join(f"{sql_literal(k)} = {sql_literal(v)}" for k, v in properties.items())
            statement += f" TBLPROPERTIES ({pairs})"
        self._spark.sql(statement)

    def write(
        self,
        *,
        warehouse: str,
        table: str,
        data: str,
        overwrite: dict[str, str] | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        assert not options, "write options are not used with Spark"
        rows = read_ipc(data)
        path = self._file()
        pq.write_table(rows, path)
        name = self._name(warehouse, table)
        incoming = self._spark.read.parquet(path)
        wanted = [f.name for f in self._spark.table(name).schema]
        view = f"incoming_{next(self._files)}"
        incoming.createOrReplaceTempView(view)
        fixed = overwrite or {}
        columns = ", ".join(quoted(c) for c in wanted if c not in fixed)
        partition = ", ".join(f"{quoted(k)} = {sql_literal(v)}" for k, v in fixed.items())
        verb = "INSERT INTO" if overwrite is None else "INSERT OVERWRITE"
        clause = f" PARTITION ({partition})" if partition else ""
        mode = "static" if overwrite is None or fixed else "dynamic"
        self._spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
        self._spark.sql(f"{verb} {name}{clause} SELECT {columns} FROM {view}")

    def read(
        self,
        *,
        warehouse: str,
        table: str,
        into: str,
        options: dict[str, str] | None = None,
        where: str | None = None,
        columns: list[str] | None = None,
    ) -> dict[str, int]:
        version = (options or {}).get("scan.snapshot-id") or (options or {}).get("scan.tag-name")
        travel = f" VERSION AS OF {sql_literal(version)}" if version else ""
        chosen = ", ".join(map(quoted, columns)) if columns else "*"
        statement = f"SELECT {chosen} FROM {self._name(warehouse, table)}{travel}"
        if where:
            statement += f" WHERE {where}"
        path = self._file()
        frame = self._spark.sql(statement)
        frame.write.parquet(path)
        found = [pq.ParquetFile(part).read() for part in sorted(Path(path).glob("*.parquet"))]
        write_ipc(pa.concat_tables(found), into)
        return {"splits": len(found), "files": -1}

    def truncate(self, warehouse: str, table: str, partitions: list[dict[str, str]] | None = None) -> None:
        name = self._name(warehouse, table)
        if partitions is None:
            self._spark.sql(f"TRUNCATE TABLE {name}")
        for partition in partitions or []:
            spec = ", ".join(f"{quoted(k)} = {sql_literal(v)}" for k, v in partition.items())
            self._spark.sql(f"ALTER TABLE {name} DROP PARTITION ({spec})")

    def alter(self, warehouse: str, table: str, changes: list[list[Any]]) -> None:
        for change in changes:
            self._spark.sql(f"ALTER TABLE {self._name(warehouse, table)} {self._change(change)}")

    def _change(self, change: list[Any]) -> str:
        match change:
            case ["add", str(name), kind]:
                return f"ADD COLUMNS ({quoted(name)} {spark_type(kind)})"
            case ["rename", str(name), new]:
                return f"RENAME COLUMN {quoted(name)} TO {quoted(new)}"
            case ["drop", str(name)]:
                return f"DROP COLUMN {quoted(name)}"
            case ["type", str(name), kind]:
                return f"ALTER COLUMN {quoted(name)} TYPE {spark_type(kind)}"
            case ["nullable", str(name), True]:
                return f"ALTER COLUMN {quoted(name)} DROP NOT NULL"
            case ["comment", str(name), text]:
                return f"ALTER COLUMN {quoted(name)} COMMENT {sql_literal(text)}"
            case ["first", str(name)]:
                return f"ALTER COLUMN {quoted(name)} FIRST"
            case ["after", str(name), other]:
                return f"ALTER COLUMN {quoted(name)} AFTER {quoted(other)}"
            case ["set", key, value]:
                return f"SET TBLPROPERTIES ({sql_literal(key)} = {sql_literal(value)})"
        raise ValueError(f"Spark cannot do {change}")


def main() -> None:
    server = Server()
    print(server.version(), file=sys.stderr)
    serve({name: getattr(server, name) for name in dir(server) if not name.startswith("_")})


if __name__ == "__main__":
    main()
