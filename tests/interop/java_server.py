"""The Java oracle: Apache Paimon 2.0.0's own classes in one JVM, driven through JPype. Runs in .interop/java-venv.

Each operation is what the engines' statements and procedures call in Paimon's core: ``compact_manifest`` is
``CALL sys.compact_manifest``, and so on. The catalog is opened anew for each request, so nothing is cached between
them.
"""

import glob
import json
import os
import sys
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.interop.protocol import arrow_type, catalog_options, from_wire, plain, read_ipc, serve, write_ipc

INTEROP = Path(__file__).parents[2] / ".interop"
HADOOP_AND_LOGGING = ("hadoop-client", "slf4j-api", "log4j-", "jcl-over", "commons-logging")


def start_jvm() -> Any:
    import jpype  # type: ignore

    spark_jars = glob.glob(f"{sys.prefix}/lib/python*/site-packages/pyspark/jars/*.jar")  # noqa: PTH207
    classpath = [jar for jar in spark_jars if os.path.basename(jar).startswith(HADOOP_AND_LOGGING)]  # noqa: PTH119
    classpath.append(str(next(INTEROP.glob("jars/paimon-flink-*.jar"))))
    classpath.append(str(next(INTEROP.glob("jars/paimon-s3-*.jar"))))
    zone = os.environ.get("LAKEBED_INTEROP_ZONE", "UTC")
    crash_log = f"-XX:ErrorFile={tempfile.gettempdir()}/hs_err.log"
    quiet = "-Dlog4j2.level=ERROR"
    jpype.startJVM("-Xmx512m", "-XX:+UseSerialGC", crash_log, quiet, f"-Duser.timezone={zone}", classpath=classpath)
    return jpype


class Paimon:
    """Paimon's classes by short name, and values to and from them."""

    def __init__(self, jpype: Any) -> None:
        self.jpype = jpype

    def cls(self, name: str) -> Any:
        return self.jpype.JClass(name if name.startswith("java.") else f"org.apache.paimon.{name}")

    def array_list(self, items: Any) -> Any:
        result = self.cls("java.util.ArrayList")()
        for item in items:
            result.add(item)
        return result

    def hash_map(self, entries: Any) -> Any:
        result = self.cls("java.util.HashMap")()
        for key, value in dict(entries).items():
            result.put(key, value)
        return result

    def data_type(self, paimon: Any, ids: Any) -> Any:
        mapper = self.cls("shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper")()
        return self.cls("types.DataTypeJsonParser").parseDataType(mapper.readTree(json.dumps(paimon)), ids)

    def to_java(self, value: Any, kind: Any) -> Any:
        """A plain value (see ``protocol.plain``) as Paimon's internal object of that type."""
        if value is None:
            return None
        root = str(kind.getTypeRoot())
        match root:
            case "CHAR" | "VARCHAR":
                return self.cls("data.BinaryString").fromString(value)
            case "BINARY" | "VARBINARY":
                return self.jpype.JArray(self.jpype.JByte)(value)
            case "BOOLEAN":
                return self.cls("java.lang.Boolean")(value)
            case "TINYINT":
                return self.cls("java.lang.Byte")(value)
            case "SMALLINT":
                return self.cls("java.lang.Short")(value)
            case "INTEGER" | "DATE" | "TIME_WITHOUT_TIME_ZONE":
                return self.cls("java.lang.Integer")(value)
            case "BIGINT":
                return self.cls("java.lang.Long")(value)
            case "FLOAT":
                return self.cls("java.lang.Float")(self.jpype.JFloat(value))
            case "DOUBLE":
                return self.cls("java.lang.Double")(value)
            case "DECIMAL":
                big = self.cls("java.math.BigDecimal")(str(value))
                return self.cls("data.Decimal").fromBigDecimal(big, kind.getPrecision(), kind.getScale())
            case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
                precision = int(kind.getPrecision())
                per_milli = 1 if precision <= 3 else 1000 if precision <= 6 else 1_000_000
                millis, rest = divmod(value, per_milli)
                return self.cls("data.Timestamp").fromEpochMillis(millis, rest * (1_000_000 // per_milli))
            case "ARRAY":
                items = [self.to_java(item, kind.getElementType()) for item in value]
                return self.cls("data.GenericArray")(self.jpype.JArray(self.cls("java.lang.Object"))(items))
            case "MAP":
                pairs = self.cls("java.util.LinkedHashMap")()
                for key, item in value:
                    pairs.put(self.to_java(key, kind.getKeyType()), self.to_java(item, kind.getValueType()))
                return self.cls("data.GenericMap")(pairs)
            case "ROW":
                return self.row(value, list(kind.getFieldTypes()))
        raise ValueError(f"no Java value for type {kind}")

    def row(self, values: Any, kinds: Any) -> Any:
        row = self.cls("data.GenericRow")(len(kinds))
        for i, (value, kind) in enumerate(zip(values, kinds, strict=True)):
            row.setField(i, self.to_java(value, kind))
        return row

    def from_java(self, source: Any, at: int, kind: Any) -> Any:
        """Cell ``at`` of an InternalRow or InternalArray as a plain value."""
        if source.isNullAt(at):
            return None
        root = str(kind.getTypeRoot())
        match root:
            case "CHAR" | "VARCHAR":
                return str(source.getString(at).toString())
            case "BINARY" | "VARBINARY":
                return bytes(b & 0xFF for b in source.getBinary(at))
            case "BOOLEAN":
                return bool(source.getBoolean(at))
            case "TINYINT":
                return int(source.getByte(at))
            case "SMALLINT":
                return int(source.getShort(at))
            case "INTEGER" | "DATE" | "TIME_WITHOUT_TIME_ZONE":
                return int(source.getInt(at))
            case "BIGINT":
                return int(source.getLong(at))
            case "FLOAT":
                return float(source.getFloat(at))
            case "DOUBLE":
                return float(source.getDouble(at))
            case "DECIMAL":
                decimal = source.getDecimal(at, kind.getPrecision(), kind.getScale())
                return Decimal(str(decimal.toBigDecimal().toPlainString()))
            case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
                precision = int(kind.getPrecision())
                stamp = source.getTimestamp(at, precision)
                per_milli = 1 if precision <= 3 else 1000 if precision <= 6 else 1_000_000
                return (
                    int(stamp.getMillisecond()) * per_milli + int(stamp.getNanoOfMillisecond()) * per_milli // 1_000_000
                )
            case "ARRAY":
                array = source.getArray(at)
                return [self.from_java(array, i, kind.getElementType()) for i in range(array.size())]
            case "MAP":
                entries = source.getMap(at)
                keys, values = entries.keyArray(), entries.valueArray()
                return [
                    (self.from_java(keys, i, kind.getKeyType()), self.from_java(values, i, kind.getValueType()))
                    for i in range(entries.size())
                ]
            case "ROW":
                row = source.getRow(at, kind.getFieldCount())
                fields = list(kind.getFields())
                return {str(f.name()): self.from_java(row, i, f.type()) for i, f in enumerate(fields)}
        raise ValueError(f"no plain value for type {kind}")


class Server:
    """The operations. ``warehouse`` is a directory, ``table`` a name like ``db.t`` or ``db.t$branch_b``."""

    def __init__(self) -> None:
        self.java = Paimon(start_jvm())
        self._held: list[tuple[Any, Any]] = []

    def _catalog(self, warehouse: str) -> Any:
        options = self.java.hash_map({"warehouse": warehouse, **catalog_options()})
        context = self.java.cls("catalog.CatalogContext").create(self.java.cls("options.Options").fromMap(options))
        return self.java.cls("catalog.CatalogFactory").createCatalog(context)

    def _identifier(self, table: str) -> Any:
        return self.java.cls("catalog.Identifier").create(*table.split(".", 1))

    def _table(self, warehouse: str, table: str, options: dict[str, str] | None = None) -> Any:
        found = self._catalog(warehouse).getTable(self._identifier(table))
        return found.copy(self.java.hash_map(options)) if options else found

    def version(self) -> str:
        return str(next(INTEROP.glob("jars/paimon-flink-*.jar")).stem)

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
        catalog = self._catalog(warehouse)
        catalog.createDatabase(table.split(".", maxsplit=1)[0], True)
        ids = self.java.cls("java.util.concurrent.atomic.AtomicInteger")(-1)
        builder = self.java.cls("schema.Schema").newBuilder()
        for field in fields:
            builder.column(field["name"], self.java.data_type(field["type"], ids), field.get("description"))
        builder.partitionKeys(self.java.array_list(partition_keys))
        builder.primaryKey(self.java.array_list(primary_keys))
        builder.options(self.java.hash_map(options))
        catalog.createTable(self._identifier(table), builder.build(), False)

    def drop_table(self, warehouse: str, table: str) -> None:
        self._catalog(warehouse).dropTable(self._identifier(table), False)

    def databases(self, warehouse: str) -> list[str]:
        return sorted(str(name) for name in self._catalog(warehouse).listDatabases())

    def tables(self, warehouse: str, database: str) -> list[str]:
        return sorted(str(name) for name in self._catalog(warehouse).listTables(database))

    def drop_database(self, warehouse: str, database: str) -> None:
        self._catalog(warehouse).dropDatabase(database, False, True)

    def write(
        self,
        *,
        warehouse: str,
        table: str,
        data: str,
        overwrite: dict[str, str] | None = None,
        options: dict[str, str] | None = None,
        row_kind: str | None = None,
        hold: bool = False,
    ) -> None:
        """Append the rows; or, given ``overwrite``, replace that static partition (``{}``: per the table's mode).

        ``row_kind`` names a column of the data that holds ``+I``, ``-U``, ``+U`` or ``-D``. With ``hold`` the files are
        written, and wait for ``commit_held``.
        """
        target = self._table(warehouse, table, options)
        builder = target.newBatchWriteBuilder()
        if overwrite is not None:
            builder = builder.withOverwrite(self.java.hash_map(overwrite))
        write, commit = builder.newWrite(), builder.newCommit()
        write.withIOManager(self.java.cls("disk.IOManager").create(tempfile.gettempdir()))
        rows = read_ipc(data)
        row_type = target.rowType()
        kinds = list(row_type.getFieldTypes())
        columns = [[plain(cell) for cell in rows.column(str(name))] for name in row_type.getFieldNames()]
        dynamic = str(target.bucketMode()) == "HASH_DYNAMIC"
        bucket_of = self._dynamic_buckets(target, replaces=overwrite is not None) if dynamic else None
        ops = rows.column(row_kind).to_pylist() if row_kind else ["+I"] * len(rows)
        for op, *values in zip(ops, *columns, strict=True):
            row = self.java.row(values, kinds)
            row.setRowKind(self.java.cls("types.RowKind").fromShortString(op))
            if bucket_of is not None:
                write.write(row, bucket_of(row))
            else:
                write.write(row)
        self._finish(write, commit, hold=hold)

    def _dynamic_buckets(self, target: Any, *, replaces: bool) -> Callable[[Any], int]:
        """How Java's own engines find the bucket of a row, as one task."""
        options = target.coreOptions()
        limits = options.dynamicBucketTargetRowNum(), options.dynamicBucketMaxBuckets()
        if replaces:
            assigner = self.java.cls("index.SimpleHashBucketAssigner")(1, 0, *limits)
        else:
            handler = target.store().newIndexFileHandler()
            assigner = self.java.cls("index.HashBucketAssigner")(
                target.snapshotManager(), "interop", handler, 1, 1, 0, *limits
            )
        keys = self.java.cls("table.sink.RowPartitionKeyExtractor")(target.schema())
        return lambda row: int(assigner.assign(keys.partition(row), keys.trimmedPrimaryKey(row).hashCode()))

    def _finish(self, write: Any, commit: Any, *, hold: bool) -> None:
        messages = write.prepareCommit()
        write.close()
        if hold:
            self._held.append((commit, messages))
        else:
            commit.commit(messages)
            commit.close()

    def commit_held(self) -> None:
        """Commit what was written or compacted with ``hold``, the oldest first."""
        commit, messages = self._held.pop(0)
        commit.commit(messages)
        commit.close()

    def read(
        self,
        *,
        warehouse: str,
        table: str,
        into: str,
        options: dict[str, str] | None = None,
        where: list[list[Any]] | None = None,
        columns: list[str] | None = None,
        bucket: int | None = None,
    ) -> dict[str, int]:
        """Rows into an Arrow file; answers how many splits and files the plan held."""
        source = self._table(warehouse, table, options)
        builder = source.newReadBuilder()
        row_type = source.rowType()
        for predicate in self._predicates(row_type, where or []):
            builder = builder.withFilter(predicate)
        if columns is not None:
            builder = builder.withProjection(
                self.java.jpype.JArray(self.java.jpype.JInt)([row_type.getFieldIndex(c) for c in columns])
            )
        if bucket is not None:
            builder = builder.withBucket(bucket)
        splits = builder.newScan().plan().splits()
        read = builder.newRead()
        if where:
            read = read.executeFilter()
        write_ipc(self._rows(read, splits, builder.readType()), into)
        files = sum(int(split.dataFiles().size()) for split in splits if hasattr(split, "dataFiles"))
        return {"splits": int(splits.size()), "files": files}

    def stream(self, *, warehouse: str, table: str, into: str, options: dict[str, str]) -> None:
        """What a streaming reader gets until nothing is new, in its order."""
        builder = self._table(warehouse, table, options).newReadBuilder()
        scan, read = builder.newStreamScan(), builder.newRead()
        tables = [self._rows(read, self.java.array_list([]), builder.readType())]
        while True:
            before = scan.checkpoint()
            splits = scan.plan().splits()
            if splits.isEmpty() and scan.checkpoint() == before:
                break
            tables.append(self._rows(read, splits, builder.readType()))
        write_ipc(pa.concat_tables(tables), into)

    def _rows(self, read: Any, splits: Any, result_type: Any) -> pa.Table:
        fields = list(result_type.getFields())
        found: list[list[Any]] = [[] for _ in fields]
        rows = read.createReader(splits).toCloseableIterator()
        while rows.hasNext():
            row = rows.next()
            for i, field in enumerate(fields):
                found[i].append(self.java.from_java(row, i, field.type()))
        rows.close()
        schema = pa.schema([(str(f.name()), arrow_type(self._type_json(f))) for f in fields])
        return pa.Table.from_arrays([pa.array(c, t) for c, t in zip(found, schema.types, strict=True)], schema=schema)

    def _type_json(self, field: Any) -> Any:
        return json.loads(str(self.java.cls("utils.JsonSerdeUtil").toJson(field)))["type"]

    def _predicates(self, row_type: Any, where: list[list[Any]]) -> list[Any]:
        builder = self.java.cls("predicate.PredicateBuilder")(row_type)
        parts = []
        for column, method, *literals in where:
            at = row_type.getFieldIndex(column)
            kind = row_type.getTypeAt(at)
            values = [self.java.to_java(from_wire(v), kind) for v in literals]
            if method == "in":
                parts.append(builder.in_(at, self.java.array_list(values)))
            else:
                parts.append(getattr(builder, method)(at, *values))
        return parts

    def truncate(self, warehouse: str, table: str, partitions: list[dict[str, str]] | None = None) -> None:
        """Empty the table, or drop the given partitions."""
        commit = self._table(warehouse, table).newBatchWriteBuilder().newCommit()
        if partitions is None:
            commit.truncateTable()
        else:
            commit.truncatePartitions(self.java.array_list(self.java.hash_map(p) for p in partitions))
        commit.close()

    def alter(self, warehouse: str, table: str, changes: list[list[Any]]) -> None:
        self._catalog(warehouse).alterTable(
            self._identifier(table), self.java.array_list(map(self._change, changes)), False
        )

    def _change(self, change: list[Any]) -> Any:
        factory = self.java.cls("schema.SchemaChange")
        ids = self.java.cls("java.util.concurrent.atomic.AtomicInteger")(100_000)
        match change:
            case ["add", str(name), kind]:
                return factory.addColumn(name, self.java.data_type(kind, ids))
            case ["add", list(path), kind]:
                return factory.addColumn(self._path(path), self.java.data_type(kind, ids), None, None)
            case ["rename", str(name), new]:
                return factory.renameColumn(name, new)
            case ["rename", list(path), new]:
                return factory.renameColumn(self._path(path), new)
            case ["drop", str(name)]:
                return factory.dropColumn(name)
            case ["drop", list(path)]:
                return factory.dropColumn(self._path(path))
            case ["type", name, kind]:
                return factory.updateColumnType(name, self.java.data_type(kind, ids), True)
            case ["nullable", name, nullable]:
                return factory.updateColumnNullability(name, nullable)
            case ["comment", name, text]:
                return factory.updateColumnComment(name, text)
            case ["first", name]:
                return factory.updateColumnPosition(self.java.cls("schema.SchemaChange$Move").first(name))
            case ["after", name, other]:
                return factory.updateColumnPosition(self.java.cls("schema.SchemaChange$Move").after(name, other))
            case ["set", key, value]:
                return factory.setOption(key, value)
            case ["unset", key]:
                return factory.removeOption(key)
        raise ValueError(f"unknown change {change}")

    def _path(self, names: list[str]) -> Any:
        return self.java.jpype.JArray(self.java.jpype.JString)(names)

    def delete_rows(self, warehouse: str, table: str, positions: dict[str, list[int]]) -> None:
        """Mark rows of data files (name to positions) as deleted, as DELETE does on an append table with vectors."""
        target = self._table(warehouse, table)
        snapshot = target.latestSnapshot().get()
        handler = target.store().newIndexFileHandler()
        maintainers = self.java.cls("deletionvectors.append.BaseAppendDeleteFileMaintainer")
        messages = []
        for split in target.newReadBuilder().newScan().plan().splits():
            wanted = [f for f in split.dataFiles() if str(f.fileName()) in positions]
            if not wanted:
                continue
            maintainer = maintainers.forUnawareAppend(handler, snapshot, split.partition())
            for file in wanted:
                vector = self._vector(target, maintainer, str(file.fileName()))
                for position in positions[str(file.fileName())]:
                    vector.delete(position)
                maintainer.notifyNewDeletionVector(file.fileName(), vector)
            messages.append(self._index_message(split, maintainer.persist()))
        commit = target.newBatchWriteBuilder().newCommit()
        commit.commit(self.java.array_list(messages))
        commit.close()

    def _vector(self, target: Any, maintainer: Any, name: str) -> Any:
        old = maintainer.getDeletionVector(name)
        if old is not None:
            return old
        kind = "Bitmap64" if target.coreOptions().deletionVectorBitmap64() else "Bitmap"
        return self.java.cls(f"deletionvectors.{kind}DeletionVector")()

    def _index_message(self, split: Any, entries: Any) -> Any:
        added = self.java.array_list(e.indexFile() for e in entries if str(e.kind()) == "ADD")
        removed = self.java.array_list(e.indexFile() for e in entries if str(e.kind()) == "DELETE")
        empty = self.java.array_list([])
        data = self.java.cls("io.DataIncrement")(empty, empty, empty, added, removed)
        compact = self.java.cls("io.CompactIncrement").emptyIncrement()
        return self.java.cls("table.sink.CommitMessageImpl")(
            split.partition(), split.bucket(), split.totalBuckets(), data, compact
        )

    def compact(self, warehouse: str, table: str, *, full: bool, hold: bool = False) -> None:
        """Compact every bucket of a primary-key table, as ``CALL sys.compact`` does; nothing to do: no snapshot."""
        target = self._table(warehouse, table, {"write-only": "false"})
        builder = target.newBatchWriteBuilder()
        write, commit = builder.newWrite(), builder.newCommit()
        write.withIOManager(self.java.cls("disk.IOManager").create(tempfile.gettempdir()))
        places = {(bytes(f.partition().toBytes()), int(f.bucket())): f for f in target.store().newScan().plan().files()}
        for file in places.values():
            write.compact(file.partition(), file.bucket(), full)
        self._finish(write, commit, hold=hold)

    def pick_universal(
        self, buckets: list[list[list[int]]], trigger: int, amplification: int, ratio: int
    ) -> list[list[int] | None]:
        """What universal compaction takes of each bucket's sorted runs (level, bytes), newest first.

        The answers are pairs of output level and number of runs.
        """
        strategy = self.java.cls("mergetree.compact.UniversalCompaction")(amplification, ratio, trigger, None, None)
        level_run = self.java.cls("mergetree.LevelSortedRun")
        single = self.java.cls("mergetree.SortedRun").fromSingle
        answers: list[list[int] | None] = []
        for runs in buckets:
            given = [level_run(level, single(self._file_of(size))) for level, size in runs]
            unit = strategy.pick(trigger + 1, self.java.array_list(given))
            found = unit.get() if unit.isPresent() else None
            answers.append(None if found is None else [int(found.outputLevel()), int(found.files().size())])
        return answers

    def _file_of(self, size: int) -> Any:
        """A data file of which only the size matters."""
        stats = self.java.cls("stats.SimpleStats").EMPTY_STATS
        unknown = [None] * 6
        none = self.java.array_list([])
        return self.java.cls("io.DataFileMeta").forAppend("f", size, 1, stats, 0, 0, 0, none, *unknown)

    def compact_manifest(self, warehouse: str, table: str) -> None:
        commit = self._table(warehouse, table).newBatchWriteBuilder().newCommit()
        commit.compactManifests()
        commit.close()

    def expire_snapshots(
        self,
        warehouse: str,
        table: str,
        retain: int,
        retain_max: int | None = None,
        max_deletes: int | None = None,
        *,
        hours: int = 0,
    ) -> int:
        """At least ``retain`` stay, at most ``retain_max`` (or as many), and all that are younger than ``hours``."""
        config = self.java.cls("options.ExpireConfig").builder()
        config = config.snapshotRetainMax(retain if retain_max is None else retain_max).snapshotRetainMin(retain)
        duration = self.java.cls("java.time.Duration")
        config = config.snapshotTimeRetain(duration.ofHours(hours) if hours else duration.ofMillis(1))
        if max_deletes is not None:
            config = config.snapshotMaxDeletes(max_deletes)
        return int(self._table(warehouse, table).newExpireSnapshots().config(config.build()).expire())

    def expire_with_changelogs(self, warehouse: str, table: str, snapshots: int, changelogs: int) -> None:
        """So many snapshots stay, and so many changelogs counted with them."""
        instant, kept = self.java.cls("java.time.Duration").ofMillis(1), self.java.cls("java.lang.Integer")(changelogs)
        config = self.java.cls("options.ExpireConfig").builder()
        config = config.snapshotRetainMax(snapshots).snapshotRetainMin(snapshots).snapshotTimeRetain(instant)
        config = config.changelogRetainMax(kept).changelogRetainMin(kept).changelogTimeRetain(instant)
        target = self._table(warehouse, table)
        target.newExpireSnapshots().config(config.build()).expire()
        target.newExpireChangelog().config(config.build()).expire()

    def remove_orphan_files(self, warehouse: str, table: str, older_than_millis: int) -> list[str]:
        clean = self.java.cls("operation.LocalOrphanFilesClean")(
            self._table(warehouse, table), older_than_millis, False
        )
        return sorted(str(path.getName()) for path in clean.clean().getDeletedFilesPath())

    def create_tag(
        self, warehouse: str, table: str, tag: str, snapshot: int | None = None, retain_hours: int | None = None
    ) -> None:
        target = self._table(warehouse, table)
        arguments = [tag] if snapshot is None else [tag, snapshot]
        if retain_hours is not None:
            arguments.append(self.java.cls("java.time.Duration").ofHours(retain_hours))
        target.createTag(*arguments)

    def replace_tag(self, warehouse: str, table: str, tag: str, snapshot: int) -> None:
        self._table(warehouse, table).replaceTag(tag, self.java.cls("java.lang.Long")(snapshot), None)

    def rename_tag(self, warehouse: str, table: str, old: str, new: str) -> None:
        self._table(warehouse, table).renameTag(old, new)

    def delete_tag(self, warehouse: str, table: str, tag: str) -> None:
        self._table(warehouse, table).deleteTag(tag)

    def tags(self, warehouse: str, table: str) -> dict[str, int]:
        found = self._table(warehouse, table).tagManager().tagObjects()
        return {str(pair.getRight()): int(pair.getLeft().id()) for pair in found}

    def expire_tags(self, warehouse: str, table: str, older_than_millis: int) -> list[str]:
        """What ``CALL sys.expire_tags`` does: tags made before a moment, or whose time is up."""
        target = self._table(warehouse, table)
        expire = target.newTagAutoManager().getTagTimeExpire()
        moment = self.java.cls("java.time.Instant").ofEpochMilli(older_than_millis)
        zone = self.java.cls("java.time.ZoneId").systemDefault()
        expire.withOlderThanTime(self.java.cls("java.time.LocalDateTime").ofInstant(moment, zone))
        return sorted(str(name) for name in expire.expire())

    def create_branch(self, warehouse: str, table: str, branch: str, tag: str | None = None) -> None:
        self._table(warehouse, table).createBranch(*([branch] if tag is None else [branch, tag]))

    def rename_branch(self, warehouse: str, table: str, old: str, new: str) -> None:
        self._table(warehouse, table).renameBranch(old, new)

    def drop_branch(self, warehouse: str, table: str, branch: str) -> None:
        self._table(warehouse, table).deleteBranch(branch)

    def branches(self, warehouse: str, table: str) -> list[str]:
        return sorted(str(name) for name in self._table(warehouse, table).branchManager().branches())

    def fast_forward(self, warehouse: str, table: str, branch: str) -> None:
        self._table(warehouse, table).fastForward(branch)

    def merge_branch(self, warehouse: str, table: str, branch: str) -> None:
        self._table(warehouse, table).mergeBranch(branch, "main")

    def rollback(self, warehouse: str, table: str, snapshot: int) -> None:
        self._table(warehouse, table).rollbackTo(self.java.jpype.JLong(snapshot))

    def rollback_to_tag(self, warehouse: str, table: str, tag: str) -> None:
        self._table(warehouse, table).rollbackTo(self.java.jpype.JString(tag))

    def reset_consumer(self, warehouse: str, table: str, consumer: str, next_snapshot: int) -> None:
        note = self.java.cls("consumer.Consumer")(next_snapshot)
        self._table(warehouse, table).consumerManager().resetConsumer(consumer, note)

    def consumers(self, warehouse: str, table: str) -> dict[str, int]:
        found = self._table(warehouse, table).consumerManager().consumers()
        return {str(entry.getKey()): int(entry.getValue()) for entry in found.entrySet()}

    def analyze(
        self, warehouse: str, table: str, *, rows: int, size: int, columns: dict[str, list[Any]]
    ) -> dict[str, Any]:
        """Commit statistics as ANALYZE does; a column is distinct values, least, greatest, nulls, average and greatest
        length.
        """
        target = self._table(warehouse, table)
        schema, long = target.schema(), self.java.cls("java.lang.Long")
        made = self.java.cls("java.util.LinkedHashMap")()
        for field in schema.fields():
            if str(field.name()) in columns:
                distinct, least, greatest, *rest = columns[str(field.name())]
                bounds = [self.java.to_java(value, field.type()) for value in (least, greatest)]
                counts = [None if number is None else long(number) for number in (distinct, *rest)]
                made.put(
                    field.name(),
                    self.java.cls("stats.ColStats").newColStats(field.id(), counts[0], *bounds, *counts[1:]),
                )
        latest = target.snapshotManager().latestSnapshot()
        statistics = self.java.cls("stats.Statistics")(latest.id(), schema.id(), long(rows), long(size), made)
        commit = target.store().newCommit("java", target)
        commit.commitStatistics(statistics, (1 << 63) - 1)
        commit.close()
        return dict(self.statistics(warehouse, table))

    def statistics(self, warehouse: str, table: str) -> dict[str, Any]:
        """What Java reads of the statistics of the latest snapshot, its bounds as values again."""
        target = self._table(warehouse, table)
        found = target.statistics().get()
        columns = {}
        for entry in found.colStats().entrySet():
            stats = entry.getValue()
            numbers = [stats.distinctCount(), stats.nullCount(), stats.avgLen(), stats.maxLen()]
            bounds = [str(bound.get()) if bound.isPresent() else None for bound in (stats.min(), stats.max())]
            columns[str(entry.getKey())] = [int(number.getAsLong()) for number in numbers] + bounds
        return {
            "snapshot": int(found.snapshotId()),
            "schema": int(found.schemaId()),
            "rows": int(found.mergedRecordCount().getAsLong()),
            "size": int(found.mergedRecordSize().getAsLong()),
            "columns": columns,
        }

    def row_count(self, warehouse: str, table: str) -> int:
        """Rows by the metadata alone, as COUNT(*) takes them."""
        splits = self._table(warehouse, table).newReadBuilder().newScan().plan().splits()
        return sum(int(split.rowCount()) for split in splits)


def main() -> None:
    server = Server()
    names = [n for n in dir(server) if not n.startswith("_") and callable(getattr(server, n)) and n != "java"]
    print("java oracle", server.version(), file=sys.stderr)
    serve({name: getattr(server, name) for name in names})


if __name__ == "__main__":
    main()
