"""A warehouse: databases and tables by name.

``<warehouse>/<database>.db/<table>/`` is the whole catalog; a table exists if it has a schema. A name may carry a branch
and a system table: ``db.t``, ``db.t$branch_b1``, ``db.t$snapshots``, ``db.t$branch_b1$snapshots``.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakebed.errors import (
    AlreadyExistsError,
    CorruptError,
    LakebedError,
    NotFoundError,
    OptionError,
    UnsupportedError,
    unknown_name,
)
from lakebed.format.paths import MAIN_BRANCH, TablePaths
from lakebed.format.schema.table_schema import create_schema
from lakebed.format.types.ddl import to_columns
from lakebed.metadata.manifest_cache import CACHE_BYTES, DISK_BYTES, CacheStatistics, DiskCache, ManifestCache
from lakebed.metadata.manifests import SHARED_CACHE
from lakebed.metadata.schemas import Schemas
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions, check_new, normalise, parse_duration, parse_size
from lakebed.storage import LocalStorage, Storage
from lakebed.system_tables import SystemTable
from lakebed.table import Table
from lakebed.table_checks import check_buckets, check_new_keyed, check_overlay
from lakebed.table_kinds import new_table_rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CATALOG_NAME: Final = "lakebed"
_DATABASE_SUFFIX: Final = ".db"
_DATABASE_FILE: Final = ".lakebed/database.json"
_BRANCH_MARK: Final = "branch_"
_TABLE_DEFAULT: Final = "table-default."
_DROPPED: Final = ".dropped-"
_CACHE_SIZE: Final = "manifest.cache.max-size"
_CACHE_OPTIONS: Final = (
    _CACHE_SIZE,
    "manifest.cache.expire-after",
    "manifest.cache.directory",
    "manifest.cache.directory-size",
)


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's name in its parts."""

    database: str
    table: str
    branch: str = MAIN_BRANCH
    system: str | None = None

    @staticmethod
    def parse(text: str) -> TableName:
        """The parts of ``db.t$branch_b$snapshots``."""
        database, dot, rest = text.partition(".")
        table, *marks = rest.split("$")
        _check_plain(database, "database", text)
        _check_plain(table, "table", text)
        if not dot:
            raise NotFoundError(f"{text!r} is not a table name; write it as database.table")
        branch = MAIN_BRANCH
        if marks and marks[0].startswith(_BRANCH_MARK):
            branch = marks.pop(0).removeprefix(_BRANCH_MARK)
            _check_plain(branch, "branch", text)
        if len(marks) > 1 or (marks and not marks[0]):
            raise NotFoundError(
                f"{text!r} is not a table name; after the table come $branch_<name> and $<system table>"
            )
        return TableName(database, table, branch, marks[0] if marks else None)

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


def _cache_of(options: Mapping[str, str]) -> ManifestCache:
    """The cache that a warehouse asks for; without options the one that the whole process shares."""
    given = {name: options[name] for name in _CACHE_OPTIONS if name in options}
    if not given:
        return SHARED_CACHE
    try:
        disk_size = parse_size(given.get("manifest.cache.directory-size", str(DISK_BYTES)))
        length = given.get("manifest.cache.expire-after")
        return ManifestCache(
            parse_size(given.get(_CACHE_SIZE, str(CACHE_BYTES))),
            expire_after=None if length is None else parse_duration(length),
            disk=DiskCache(folder, disk_size) if (folder := given.get("manifest.cache.directory")) else None,
        )
    except ValueError as error:
        raise OptionError(f"options {', '.join(given)} of a warehouse: a value must be {error}") from None


def _one_branch(name: TableName, option: str) -> str:
    """The branch that a name or the option ``branch`` asks for."""
    if name.branch != MAIN_BRANCH and option not in {MAIN_BRANCH, name.branch}:
        raise OptionError(f"table {name}: its name asks for branch {name.branch!r}, option 'branch' for {option!r}")
    return name.branch if name.branch != MAIN_BRANCH else option


def _check_plain(name: str, what: str, text: str) -> None:
    """Names become folders: nothing that leads out of the warehouse or hides in it."""
    hidden = not name.strip() or name.startswith(".")
    if hidden or any(mark in name for mark in "/\\\0") or name != name.encode(errors="replace").decode():
        raise NotFoundError(f"{name!r} is not a {what} name (in {text!r}); write tables as database.table")


class Lake:
    """A warehouse. Open one with :func:`lakebed.connect`."""

    def __init__(
        self,
        warehouse: str,
        storage: Storage,
        options: Mapping[str, object],
        spark: SparkSession | None = None,
        name: str = CATALOG_NAME,
    ) -> None:
        self._warehouse = warehouse
        self._spark = spark
        self._name = name
        self._storage = storage
        self._options = normalise(options)
        for option in self._options:
            if not option.startswith(_TABLE_DEFAULT) and option not in _CACHE_OPTIONS:
                raise OptionError(
                    f"unknown option {option!r} of a warehouse; options of tables go to create_table, or for all new "
                    f"tables as {_TABLE_DEFAULT + option!r}. A warehouse has {', '.join(_CACHE_OPTIONS)}"
                )
        self._cache = _cache_of(self._options)

    @property
    def warehouse(self) -> str:
        """Where it is."""
        return self._warehouse

    @property
    def spark(self) -> SparkSession:
        """The Spark session: the one given to ``connect``, else the active one, else a local one that is started now."""
        if self._spark is None:
            from lakebed.spark.session import get_session  # noqa: PLC0415 - Spark is optional

            self._spark = get_session()
        return self._spark

    def __repr__(self) -> str:
        return f"<Lake {self._warehouse}>"

    # --------------------------------------------------------------------------------------------------- SQL

    def sql(self, text: str, args: Any = None) -> DataFrame:
        """Run a SQL statement on Spark, in which ``database.table`` is a table of this lake; gives its result.

        ``args`` are the values of parameters (``:name`` or ``?``), as for Spark's own ``sql``. Tables of other catalogs
        have three parts: ``spark_catalog.database.table``. Starts a local Spark if there is none.
        """
        spark = self.spark  # first of all: without Spark the imports below fail, and do not say what to install
        from lakebed.sql.attach import attach  # noqa: PLC0415 - Spark is optional
        from lakebed.sql.statements import run  # noqa: PLC0415 - Spark is optional

        return run(attach(spark, self._name, self), self._name, text, args)

    def attach(self, spark: SparkSession | None = None) -> None:
        """Make the tables known to a Spark session (this lake's own, if none is given) as ``lakebed.database.table``.

        The first part is the lake's name, see :func:`connect`. Sessions made with ``newSession`` are attached separately.
        """
        session = spark or self.spark
        from lakebed.sql.attach import attach  # noqa: PLC0415 - Spark is optional

        attach(session, self._name, self)

    def cache_statistics(self) -> CacheStatistics:
        """How the cache of decoded manifests was used."""
        return self._cache.statistics()

    # ---------------------------------------------------------------------------------------------- databases

    def databases(self) -> list[str]:
        """The names of the databases."""
        return sorted(
            info.name.removesuffix(_DATABASE_SUFFIX)
            for info in self._storage.list(self._warehouse)
            if info.is_dir and info.name.endswith(_DATABASE_SUFFIX)
        )

    def create_database(
        self, name: str, *, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        """Make a database; ``properties`` are for its users to read, ``comment`` among them."""
        _check_plain(name, "database", name)
        if "." in name or "$" in name:
            raise OptionError(f"{name!r} cannot be a database name: it must not hold '.' or '$'")
        if name in self.databases():
            if ignore_if_exists:
                return
            raise AlreadyExistsError(f"database {name!r} already exists in {self._warehouse}")
        self._storage.make_folder(self._database_path(name))
        if properties:
            self.set_database_properties(name, properties)

    def database_properties(self, name: str) -> dict[str, str]:
        """The properties of a database."""
        self._check_database(name)
        path = f"{self._database_path(name)}/{_DATABASE_FILE}"
        if not self._storage.exists(path):
            return {}
        try:
            return normalise(json.loads(self._storage.read(path)))
        except (ValueError, AttributeError):
            raise CorruptError(f"{path} does not hold properties of a database; remove it, or set them anew") from None

    def set_database_properties(self, name: str, properties: Mapping[str, str]) -> None:
        """Replace the properties of a database. Other readers of Paimon tables do not see them."""
        self._check_database(name)
        text = json.dumps(normalise(properties), indent=2, ensure_ascii=False)
        self._storage.replace(f"{self._database_path(name)}/{_DATABASE_FILE}", text.encode())

    def _check_database(self, name: str) -> None:
        if name not in self.databases():
            raise NotFoundError(unknown_name("database", name, self.databases(), where=f"warehouse {self._warehouse}"))

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Remove a database; one with tables only if ``cascade`` says so."""
        if name not in self.databases():
            if ignore_if_missing:
                return
            raise NotFoundError(unknown_name("database", name, self.databases(), where=f"warehouse {self._warehouse}"))
        tables = self.tables(name)
        if tables and not cascade:
            raise OptionError(
                f"database {name!r} has {len(tables)} table(s), {tables[0]!r} among them; drop them first or pass cascade=True"
            )
        self._discard(self._database_path(name))

    def _database_path(self, name: str) -> str:
        return f"{self._warehouse}/{name}{_DATABASE_SUFFIX}"

    # ------------------------------------------------------------------------------------------------- tables

    def tables(self, database: str) -> list[str]:
        """The names of a database's tables."""
        self._check_database(database)
        folder = self._database_path(database)
        return sorted(
            info.name
            for info in self._storage.list(folder)
            if info.is_dir and Schemas(self._storage, TablePaths(f"{folder}/{info.name}")).ids()
        )

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        partition_by: Sequence[str] = (),
        primary_key: Sequence[str] = (),
        options: Mapping[str, object] | None = None,
        comment: str | None = None,
        ignore_if_exists: bool = False,
    ) -> Table:
        """Make a table; ``schema`` is a DDL string, a pyarrow Schema or a Spark StructType. Its database must exist."""
        parsed = TableName.parse(name)
        if parsed.branch != MAIN_BRANCH or parsed.system is not None or "$" in name:
            raise OptionError(f"{name!r}: give the plain name of the table to create, without a $")
        if parsed.database not in self.databases():
            known = unknown_name("database", parsed.database, self.databases(), where=f"warehouse {self._warehouse}")
            raise NotFoundError(f"{known}. Make it with create_database({parsed.database!r})")
        given = {**self._table_defaults(), **normalise(options or {})}
        check_new(given, where=f"table {parsed}")
        rules = new_table_rules(given)
        made = create_schema(
            to_columns(schema),
            partition_by=partition_by,
            primary_key=primary_key,
            options=rules.options,
            comment=comment,
            time_millis=time.time_ns() // 1_000_000,
        )
        rules.check(made, f"table {parsed}")  # before buckets: of a missing primary key it can say more
        check_buckets(made, f"table {parsed}")
        check_new_keyed(made, f"table {parsed}")
        store = self._store(parsed)
        if not store.schemas.ids():
            self._check_nothing_left(store)
            if store.schemas.create(made):
                rules.finish(store)
                return Table(store, self._spark)
        if ignore_if_exists:
            return Table(store, self._spark)
        raise AlreadyExistsError(f"table {parsed} already exists; open it with table({name!r})")

    def _check_nothing_left(self, store: TableStore) -> None:
        """Refuse a folder in which the new table would show what another one committed."""
        ids = store.snapshots.ids()
        left = [*(store.paths.snapshot(number) for number in ids[:1]), *store.snapshots.tags(), *store.branch_names()]
        if left and not store.schemas.ids():  # else somebody else was faster, and this is a table
            raise AlreadyExistsError(
                f"cannot create table {store.name}: {store.paths.root} has no schema, but holds {left[0]} of a table that "
                "was there before; restore its schema or remove the folder"
            )

    def _table_defaults(self) -> dict[str, str]:
        """Options of the lake that start with ``table-default.`` go to every table created."""
        return {
            key.removeprefix(_TABLE_DEFAULT): value
            for key, value in self._options.items()
            if key.startswith(_TABLE_DEFAULT)
        }

    def table(self, name: str, *, options: Mapping[str, object] | None = None) -> Any:
        """Open a table, one of its branches, or one of its system tables.

        ``options`` hold for this handle only, over those that the table stores: ``{"branch": "dev"}``,
        ``{"scan.fallback-branch": "dev"}``, ``{"write-only": True}``.
        """
        parsed = TableName.parse(name)
        given = normalise(options or {})
        store = self._existing(parsed)
        branch = _one_branch(parsed, given.pop("branch", "") or TableOptions(store.schema().options).branch)
        if branch != MAIN_BRANCH:
            store = store.on_branch(branch)
        if given:
            check_overlay(given, store.schema(), f"table {parsed}")
            store = store.with_options(given)
        return Table(store, self._spark) if parsed.system is None else SystemTable(store, parsed.system)

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Remove a table with all its snapshots, branches and files."""
        parsed = TableName.parse(name)
        if "$" in name:
            raise OptionError(f"{name!r}: give the plain name of the table to drop, without a $")
        try:
            store = self._existing(parsed)
        except NotFoundError:
            if ignore_if_missing:
                return
            raise
        self._discard(store.paths.root)

    def _discard(self, path: str) -> None:
        """Remove a folder, at once for all who look: a writer that is still busy there finds nothing to commit to."""
        folder, _, name = path.rpartition("/")
        hidden = f"{folder}/{_DROPPED}{uuid.uuid4()}-{name}"
        self._storage.rename_folder(path, hidden)
        self._storage.delete_tree(TablePaths(hidden).schemas)  # so that nobody takes the hidden folder for a table
        for info in self._storage.list(folder, hidden=True):
            if info.name.startswith(_DROPPED):  # also what a drop left that did not come to its end
                self._storage.delete_tree(f"{folder}/{info.name}")

    def rename_table(self, name: str, new_name: str) -> Table:
        """Give a table another name, in the same or another database."""
        old, new = self._existing(TableName.parse(name)), TableName.parse(new_name)
        if "$" in name or "$" in new_name:
            raise OptionError("give plain names of tables to rename, without a $")
        self._check_database(new.database)
        target = self._store(new)
        if target.schemas.ids():
            raise AlreadyExistsError(f"table {new} already exists")
        self._storage.rename_folder(old.paths.root, target.paths.root)
        return Table(self._store(new), self._spark)

    def _store(self, name: TableName) -> TableStore:
        paths = TablePaths(f"{self._database_path(name.database)}/{name.table}")
        return TableStore(self._storage, paths, str(name), cache=self._cache)

    def _existing(self, name: TableName) -> TableStore:
        store = self._store(name)
        if not store.schemas.ids():
            tables = self.tables(name.database)  # an unknown database says so itself
            raise NotFoundError(unknown_name("table", name.table, tables, where=f"database {name.database}"))
        return store


def connect(
    warehouse: str | os.PathLike[str],
    *,
    spark: SparkSession | None = None,
    options: Mapping[str, object] | None = None,
    name: str = CATALOG_NAME,
) -> Lake:
    """Open a warehouse: a folder that holds databases and tables. It is made if it is not there.

    With a Spark session compactions run on it. Reads and writes of Spark DataFrames do so in any case, in the session of
    the frame or in ``lake.spark``; all else runs in this process. ``name`` is what the lake is called in SQL, as the first
    part of ``lakebed.database.table``.

    >>> import lakebed, tempfile
    >>> lake = lakebed.connect(tempfile.mkdtemp())
    >>> lake.create_database("shop")
    >>> lake.databases()
    ['shop']
    """
    text = os.fspath(warehouse)
    if "://" in text and not text.startswith("file://"):
        raise UnsupportedError(f"cannot open {text}: Lakebed keeps tables on the local disk; give a folder")
    path = os.path.abspath(text.removeprefix("file://"))  # noqa: PTH100 - paths are strings here
    storage = LocalStorage()
    if os.path.exists(path) and not os.path.isdir(path):  # noqa: PTH110, PTH112
        raise LakebedError(f"cannot open {path}: it is a file, not a folder")
    storage.make_folder(path)
    return Lake(path, storage, options or {}, spark, name)
