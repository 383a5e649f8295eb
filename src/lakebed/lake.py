"""A warehouse as its user sees it: :func:`connect` opens one, :class:`Lake` creates, opens and drops its tables.

Which databases and tables there are is the business of a catalog (:mod:`lakebed.catalogs`). A name may carry a branch
and a system table: ``db.t``, ``db.t$branch_b1``, ``db.t$snapshots``, ``db.t$branch_b1$snapshots``.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from lakebed.catalogs.choose_warehouse import check_is_warehouse, chosen_warehouse
from lakebed.catalogs.file_system import FileSystemCatalog
from lakebed.catalogs.table_name import TableName
from lakebed.catalogs.warehouse_options import check_warehouse_options, is_durable, manifest_cache, table_defaults
from lakebed.errors import (
    AlreadyExistsError,
    CorruptError,
    NotFoundError,
    OptionError,
    unknown_name,
)
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.table_schema import create_schema
from lakebed.format.types.column_ddl import to_columns
from lakebed.metadata.manifest_cache import CacheStatistics
from lakebed.metadata.one_look import one_look
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions, check_new, normalise
from lakebed.storage import LocalStorage, Storage, open_storage
from lakebed.storage.location import parse_location
from lakebed.system_tables import SystemTable
from lakebed.table import Table
from lakebed.table_checks import check_buckets, check_files, check_new_keyed, check_overlay
from lakebed.table_kinds import new_table_rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CATALOG_NAME: Final = "lakebed"


class Lake:
    """A warehouse: databases that hold tables. Open one with :func:`lakebed.connect`.

    Example:
        >>> lake.databases()
        ['shop']
        >>> lake.tables()
        ['shop.orders']
        >>> "shop.orders" in lake
        True
        >>> lake["shop.orders"].count()
        3
    """

    def __init__(
        self,
        warehouse: str,
        storage: Storage,
        options: Mapping[str, object],
        spark: SparkSession | None = None,
        name: str = CATALOG_NAME,
    ) -> None:
        self._spark = spark
        self._spark_is_given = spark is not None
        self._name = name
        self._options = normalise(options)
        check_warehouse_options(self._options, parse_location(warehouse).service)
        self._cache = manifest_cache(self._options)
        self._catalog = FileSystemCatalog(warehouse, storage, self._cache, durable=is_durable(self._options))

    @property
    def warehouse(self) -> str:
        """The folder of the warehouse."""
        return self._catalog.warehouse

    @property
    def spark(self) -> SparkSession:
        """The Spark session: the one given to ``connect``, else the active one, else a new local one.

        Another session takes the place of one that was stopped, unless it was given.
        """
        from lakebed.spark.session import get_session, is_stopped  # noqa: PLC0415 - Spark is optional

        if self._spark is not None and not self._spark_is_given and is_stopped(self._spark):
            self._spark = None
        self._spark = get_session(self._spark)
        return self._spark

    def __repr__(self) -> str:
        return f"<Lake {self.warehouse}>"

    # --------------------------------------------------------------------------------------------------- SQL

    def sql(self, text: str, args: Any = None) -> DataFrame:
        """Runs SQL statements on Spark, in which ``database.table`` is a table of this lake.

        A local Spark is started if there is none. Tables of other catalogs have three parts:
        ``spark_catalog.database.table``.

        Args:
            text: The statement, or several that are separated by ``;``.
            args: The values of parameters (``:name`` or ``?``), as for Spark's own ``sql``. Several statements share
                those with names.

        Returns:
            The result of the last statement as a Spark DataFrame.

        Raises:
            UnsupportedError: Spark is not installed, or is a version without support.

        Example:
            ``lake.sql("SELECT count(*) FROM shop.orders WHERE day = :day", {"day": "2025-01-31"}).show()``
        """
        spark = self.spark  # first of all: without Spark the imports below fail, and do not say what to install
        from lakebed.sql.attach import attach  # noqa: PLC0415 - Spark is optional
        from lakebed.sql.statements import run  # noqa: PLC0415 - Spark is optional

        return run(attach(spark, self._name, self), self._name, text, args)

    def attach(self, spark: SparkSession | None = None) -> None:
        """Makes the tables known to a Spark session as ``lakebed.database.table``.

        The first part is the lake's name, see :func:`connect`. Sessions that are made from this one later, with
        ``newSession``, know the tables, too.

        Args:
            spark: The session; without one :attr:`spark`.

        Raises:
            UnsupportedError: Spark is not installed, or is a version without support.
        """
        session = spark or self.spark
        from lakebed.sql.attach import attach  # noqa: PLC0415 - Spark is optional

        attach(session, self._name, self)

    def cache_statistics(self) -> CacheStatistics:
        """Returns how the cache of decoded manifests was used.

        Returns:
            How often the cache was asked, and what it holds now.
        """
        return self._cache.statistics()

    # ---------------------------------------------------------------------------------------------- databases

    def databases(self) -> list[str]:
        """Returns the names of the databases, sorted."""
        return self._catalog.databases()

    def create_database(
        self, name: str, *, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        """Creates a database.

        Args:
            name: Its name, without ``.`` and ``$``.
            ignore_if_exists: Do nothing if there is such a database.
            properties: Texts for its users, ``comment`` among them.

        Raises:
            AlreadyExistsError: There is such a database.
            OptionError: The name cannot be the name of a database.

        Example:
            >>> lake.create_database("archive", properties={"comment": "old orders"})
            >>> lake.databases()
            ['archive', 'shop']
        """
        if not self._catalog.create_database(name):
            if ignore_if_exists:
                return
            raise AlreadyExistsError(f"database {name!r} already exists in {self.warehouse}")
        if properties:
            self.set_database_properties(name, properties)

    def database_properties(self, name: str) -> dict[str, str]:
        """Returns the properties of a database.

        Args:
            name: The database.

        Raises:
            NotFoundError: There is no such database.
        """
        return self._catalog.database_properties(name)

    def set_database_properties(self, name: str, properties: Mapping[str, str]) -> None:
        """Replaces the properties of a database. Other readers of Paimon tables do not see them.

        Args:
            name: The database.
            properties: All its properties from now on.

        Raises:
            NotFoundError: There is no such database.
        """
        self._catalog.set_database_properties(name, properties)

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Deletes a database.

        Args:
            name: The database.
            cascade: Delete its tables as well.
            ignore_if_missing: Do nothing if there is no such database.

        Raises:
            NotFoundError: There is no such database.
            OptionError: The database has tables, and ``cascade`` is false.
        """
        if ignore_if_missing and name not in self.databases():
            return
        self._catalog.drop_database(name, cascade=cascade)

    # ------------------------------------------------------------------------------------------------- tables

    def tables(self, database: str | None = None) -> list[str]:
        """Returns the names of the tables, sorted.

        Args:
            database: The database; without one the tables of all databases, as ``database.table``.

        Raises:
            NotFoundError: There is no such database.

        Example:
            >>> lake.tables("shop"), lake.tables()
            (['orders'], ['shop.orders'])
        """
        if database is not None:
            return self._catalog.tables(database)
        return [f"{each}.{table}" for each in self._catalog.databases() for table in self._catalog.tables(each)]

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        partition_by: str | Sequence[str] = (),
        primary_key: str | Sequence[str] = (),
        options: Mapping[str, object] | None = None,
        comment: str | None = None,
        ignore_if_exists: bool = False,
    ) -> Table:
        """Creates a table in an existing database.

        Args:
            name: Its name, as ``database.table``.
            schema: The columns: DDL text, a pyarrow Schema or a Spark StructType. Of Arrow, pandas or Polars data the
                names and types are taken, but no rows: write them with :meth:`lakebed.Table.write`.
            partition_by: The names of the partition columns, or one name.
            primary_key: The names of the columns of the primary key, or one name. Without one, rows are only appended.
            options: Options of the table, see ``docs/options.md``.
            comment: A comment.
            ignore_if_exists: Return the existing table if there is one of that name.

        Returns:
            The table.

        Raises:
            AlreadyExistsError: There is such a table.
            NotFoundError: There is no such database.
            OptionError: An option is unknown or has a wrong value.
            SchemaError: The columns or keys are not possible.

        Example:
            >>> lake.create_table("shop.items", "id BIGINT, name STRING", primary_key=["id"], options={"bucket": 1})
            <Table shop.items: id BIGINT NOT NULL, name STRING>
            >>> lake.create_table("shop.copy", orders.to_arrow(), partition_by="day").count()  # the columns, no rows
            0
        """
        parsed = TableName.parse_plain(name, to="create")
        if parsed.database not in self.databases():
            known = unknown_name("database", parsed.database, self.databases(), where=f"warehouse {self.warehouse}")
            raise NotFoundError(f"{known}. Make it with create_database({parsed.database!r})")
        given = {**table_defaults(self._options), **normalise(options or {})}
        check_new(given, where=f"table {parsed}")
        rules = new_table_rules(given)
        made = create_schema(
            to_columns(schema),
            partition_by=_names(partition_by),
            primary_key=_names(primary_key),
            options=rules.options,
            comment=comment,
            time_millis=time.time_ns() // 1_000_000,
        )
        rules.check(made, f"table {parsed}")  # before buckets: of a missing primary key it can say more
        check_buckets(made, f"table {parsed}")
        check_files(made, f"table {parsed}")
        check_new_keyed(made, f"table {parsed}")
        store = self._catalog.store(parsed)
        if self._catalog.create_table(store, made):
            rules.finish(store)
        elif not ignore_if_exists:
            raise AlreadyExistsError(f"table {parsed} already exists; open it with table({name!r})")
        return Table(store, self._spark)

    def table(self, name: str, *, options: Mapping[str, object] | None = None) -> Table:
        """Opens a table, or one of its branches.

        Args:
            name: ``database.table``, or ``database.table$branch_name`` for a branch.
            options: Options for this handle only, over those that the table stores, such as ``{"branch": "dev"}``,
                ``{"scan.fallback-branch": "dev"}`` or ``{"write-only": True}``.

        Returns:
            The table. The name of a system table returns that one and warns; use :meth:`system_table`.

        Raises:
            NotFoundError: There is no such table or branch.
            OptionError: An option is unknown, has a wrong value, or is fixed in the table.

        Example:
            >>> lake.table("shop.orders").count()
            3
        """
        parsed = TableName.parse(name)
        if parsed.system is not None:
            warnings.warn(
                f"table({name!r}) opens a system table; write system_table({name!r}) instead",
                DeprecationWarning,
                stacklevel=2,
            )
            return cast("Table", self.system_table(name, options=options))
        with one_look():
            return Table(self._opened(parsed, options), self._spark)

    def system_table(self, name: str, *, options: Mapping[str, object] | None = None) -> SystemTable:
        """Opens a system table: a read-only table about a table, such as its snapshots or files.

        Args:
            name: ``database.table$snapshots``, or ``database.table$branch_name$snapshots`` for a branch.
            options: Options for this handle only, as for :meth:`table`.

        Returns:
            The system table.

        Raises:
            NotFoundError: There is no such table, branch or system table.
            OptionError: The name is the name of a table; open it with :meth:`table`.

        Example:
            >>> lake.system_table("shop.orders$snapshots").scan(["snapshot_id", "commit_kind"]).to_arrow().to_pylist()
            [{'snapshot_id': 1, 'commit_kind': 'APPEND'}]
        """
        parsed = TableName.parse(name)
        if parsed.system is None:
            raise OptionError(
                f"{name!r} is a table, not a system table; open it with table({name!r}), or write {name}$snapshots"
            )
        with one_look():
            return SystemTable(self._opened(parsed, options), parsed.system)

    def _opened(self, name: TableName, options: Mapping[str, object] | None) -> TableStore:
        given = normalise(options or {})
        store = self._catalog.existing(name)
        branch = name.one_branch(given.pop("branch", "") or _branch_option(store))
        if branch != MAIN_BRANCH:
            store = store.on_branch(branch)
        if given:
            check_overlay(given, store.schema(), f"table {name}")
            store = store.with_options(given)
        return store

    def __getitem__(self, name: str) -> Table:
        if TableName.parse(name).system is not None:
            raise OptionError(f"{name!r} is a system table; open it with system_table({name!r})")
        return self.table(name)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            parsed = TableName.parse(name)
            return parsed.system is None and self._opened(parsed, None) is not None
        except NotFoundError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables())

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Deletes a table with all its snapshots, branches and files.

        Args:
            name: ``database.table``.
            ignore_if_missing: Do nothing if there is no such table.

        Raises:
            NotFoundError: There is no such table.
        """
        parsed = TableName.parse_plain(name, to="drop")
        try:
            self._catalog.drop_table(parsed)
        except NotFoundError:
            if not ignore_if_missing:
                raise

    def rename_table(self, name: str, new_name: str) -> Table:
        """Gives a table another name, in the same or another database.

        Args:
            name: ``database.table``.
            new_name: The new name, as ``database.table``.

        Returns:
            The table under its new name.

        Raises:
            AlreadyExistsError: There is a table of the new name.
            NotFoundError: There is no such table, or no database of the new name.
        """
        old, new = (TableName.parse_plain(each, to="rename") for each in (name, new_name))
        return Table(self._catalog.rename_table(old, new), self._spark)


def _names(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def _branch_option(store: TableStore) -> str:
    """Returns the branch that the table's options name; main if the newest of its schemas is damaged."""
    try:
        return TableOptions(store.schema().options).branch
    except CorruptError:
        if not store.has_older_schemas:
            raise
        return MAIN_BRANCH  # so that the table can be opened and repaired


def open_any(lake: Lake, name: str, *, options: Mapping[str, object] | None = None) -> Table | SystemTable:
    """Opens a table or a system table, whichever the name asks for."""
    if TableName.parse(name).system is None:
        return lake.table(name, options=options)
    return lake.system_table(name, options=options)


def connect(
    warehouse: str | os.PathLike[str] | None = None,
    *,
    spark: SparkSession | None = None,
    options: Mapping[str, object] | None = None,
    name: str = CATALOG_NAME,
    create: bool = True,
) -> Lake:
    """Opens a warehouse: a folder that holds databases and tables. A local folder is created if it does not exist.

    Args:
        warehouse: The folder: a path, ``s3://bucket/folder``, ``gs://``, ``abfss://``, ``az://``, ``oss://`` or
            ``hdfs://``. Or the name of a warehouse in ``lakebed.toml`` (docs/storage.md); ``options`` come before those
            of the file. Without it, the variable ``LAKEBED_WAREHOUSE`` says which. ``~`` is the home folder.
        spark: A Spark session for compactions and SQL. Reads and writes of Spark DataFrames run on the session of the
            frame in any case. Everything else runs in this process.
        options: Options of the warehouse: ``table-default.*`` for new tables, ``manifest.cache.*`` for the cache,
            ``commit.durable`` for commits that survive a power cut (on by default), and the settings of the storage,
            such as ``s3.endpoint`` and ``s3.access-key`` (docs/storage.md).
        name: The name of the lake in SQL, the first part of ``lakebed.database.table``.
        create: Whether a folder that does not exist is created. With ``False`` it is an error.

    Returns:
        The lake.

    Raises:
        LakebedError: The path is a file.
        NotFoundError: There is no such folder, and ``create`` is false.
        OptionError: An option is unknown, has a wrong value, or belongs to another storage; the path is empty, or the
            folder of a table or database; or the text is a folder and a name in ``lakebed.toml``.
        UnsupportedError: Lakebed does not know the scheme of the path, or a library for it is not installed.

    Example:
        >>> import lakebed, tempfile
        >>> lake = lakebed.connect(tempfile.mkdtemp())
        >>> lake.create_database("shop")
        >>> lake.databases()
        ['shop']
    """
    given = normalise(options or {})
    del options  # tools that print the local variables of a traceback would show its secrets
    path, settings = chosen_warehouse(warehouse, given)
    check_warehouse_options(settings, parse_location(path).service)
    storage = open_storage(path, settings)
    check_is_warehouse(path, storage, create=create)
    if isinstance(storage, LocalStorage):
        _make_warehouse(path, storage)
    else:
        storage.make_folder(path)
    return Lake(path, storage, settings, spark, name)


def _make_warehouse(path: str, storage: LocalStorage) -> None:
    """Creates the folder of a warehouse on the local disk, so that it survives a power cut."""
    nearest = path
    while not os.path.exists(nearest):  # noqa: PTH110
        nearest = os.path.dirname(nearest)  # noqa: PTH120
    storage.make_folder(path)
    if nearest != path:
        storage.sync([path], below=nearest)
