"""The catalog that Spark calls: databases, tables and procedures by name.

It opens a table again each time Spark loads it, so it never returns a stale schema.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lakebed.errors import AlreadyExistsError, LakebedError, NotFoundError, StorageError, UnsupportedError
from lakebed.lake import Lake, open_any
from lakebed.metadata.plan.interval import INCREMENTAL_OPTIONS
from lakebed.operations.replace_table import can_replace
from lakebed.sql import options_in_names
from lakebed.sql.catalog_tables import SCAN_OPTIONS, OpenTable, StagedTableProxy, SystemTableProxy, TableProxy
from lakebed.sql.ddl import changes, definition
from lakebed.sql.evolve_on_write import MERGE_SCHEMA
from lakebed.sql.functions import FUNCTIONS, MaxPartition
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.jvm.proxy import JavaThrow, Proxy
from lakebed.sql.names import (
    database_of,
    no_such_namespace,
    no_such_table,
    session_options,
    table_name,
)
from lakebed.sql.procedures.all_procedures import PROCEDURES
from lakebed.sql.procedures.procedure_proxy import ProcedureProxy
from lakebed.sql.procedures.statements import STATEMENTS
from lakebed.sql.sys_tables import DATABASE as _SYS
from lakebed.sql.sys_tables import global_table
from lakebed.system_tables import SystemTable
from lakebed.table import Table
from lakebed.table.internals import replace_table

_LOG: Final = logging.getLogger("lakebed")
_CATALOG: Final = "org.apache.spark.sql.connector.catalog."
_PROCEDURES: Final = _SYS
_DEFAULT_DATABASE: Final = "default"
# Options that decide which columns a table has or takes, or which rows a system table shows. Spark passes them when it
# loads the table (since 4.3).
_STATE_OPTIONS: Final = (
    "branch",
    MERGE_SCHEMA,
    options_in_names.DELTA_MERGE_SCHEMA,
    *INCREMENTAL_OPTIONS,
    *(f"scan.{name}" for name in SCAN_OPTIONS),
)
_OF_ONE_TABLE: Final = frozenset({"path", "location", "branch", "owner"})
_INHERITED: Final = " (inherited)"
_CAPABILITIES: Final = ("SUPPORT_COLUMN_DEFAULT_VALUE", "SUPPORT_TABLE_CONSTRAINT")


class Catalog(
    Proxy,
    implements=(
        _CATALOG + "StagingTableCatalog",
        _CATALOG + "SupportsNamespaces",
        _CATALOG + "ProcedureCatalog",
        _CATALOG + "FunctionCatalog",
    ),
):
    """A lake as a catalog of Spark."""

    def __init__(self, jvm: Jvm, name: str, lake: Lake, *, inherited: bool = False) -> None:
        super().__init__(jvm)
        self._catalog_name, self._lake, self._inherited = name, lake, inherited

    def name(self) -> str:
        return self._catalog_name

    def initialize(self, _name: str, _options: Any) -> None:
        """Does nothing; Spark calls it for catalogs that it creates itself."""

    def defaultNamespace(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.strings([_DEFAULT_DATABASE])

    def capabilities(self) -> Any:
        known = self._jvm.connector.catalog.TableCatalogCapability
        return self._jvm.set(getattr(known, name) for name in _CAPABILITIES)

    def create_default_database(self) -> None:
        """Creates the database that statements use before USE, as Paimon's catalog does.

        A warehouse that cannot be written is used as it is.
        """
        try:
            if _DEFAULT_DATABASE not in self._lake.databases():
                self._lake.create_database(_DEFAULT_DATABASE, ignore_if_exists=True)
        except StorageError:
            _LOG.debug("cannot create database %s in %s", _DEFAULT_DATABASE, self._lake.warehouse, exc_info=True)

    def useNullableQuerySchema(self) -> bool:  # noqa: N802 - Java's name
        return True

    def __repr__(self) -> str:
        return f"<Catalog {self._catalog_name}: {self._lake.warehouse}{_INHERITED if self._inherited else ''}>"

    # --------------------------------------------------------------------------------------------- databases

    def listNamespaces(self, parent: Any = None) -> Any:  # noqa: N802 - Java's name
        inside = parent is not None and len(parent) > 0
        if inside:
            self._existing(parent)
        names = [] if inside else self._lake.databases()
        made = self._jvm.gateway.new_array(self._jvm.java.java.lang.String, len(names), 1)
        for position, name in enumerate(names):
            made[position][0] = name
        return made

    def namespaceExists(self, namespace: Any) -> bool:  # noqa: N802 - Java's name
        parts = list(namespace)
        return len(parts) == 1 and parts[0] in self._lake.databases()

    def loadNamespaceMetadata(self, namespace: Any) -> Any:  # noqa: N802 - Java's name
        name = self._existing(namespace)
        location = f"{self._lake.warehouse}/{name}.db"
        return self._jvm.map({"location": location, **self._lake.database_properties(name)})

    def createNamespace(self, namespace: Any, properties: Any) -> None:  # noqa: N802 - Java's name
        if len(namespace) != 1:
            raise UnsupportedError(f"database {'.'.join(namespace)!r}: databases cannot be nested; give it one name")
        name = database_of(self._jvm, namespace)
        given = {str(key): str(value) for key, value in dict(properties).items() if key != "owner"}
        if "location" in given:
            raise UnsupportedError(
                f"database {name!r}: LOCATION: a database is stored in the warehouse; leave LOCATION out"
            )
        try:
            self._lake.create_database(name, properties=given)
        except AlreadyExistsError:
            exceptions = self._jvm.sql.catalyst.analysis
            raise JavaThrow(exceptions.NamespaceAlreadyExistsException(self._jvm.strings([name]))) from None

    def alterNamespace(self, namespace: Any, given: Any) -> None:  # noqa: N802 - Java's name
        name = self._existing(namespace)
        properties = self._lake.database_properties(name)
        for item in given:
            key = item.property()
            if key in {"location", "owner"}:
                raise UnsupportedError(f"database {name!r}: its {key} cannot be set")
            if item.getClass().getSimpleName() == "SetProperty":
                properties[key] = item.value()
            else:
                properties.pop(key, None)
        self._lake.set_database_properties(name, properties)

    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:  # noqa: N802 - Java's name
        name = self._existing(namespace)
        if not cascade and self._lake.tables(name):
            exceptions = self._jvm.sql.catalyst.analysis
            raise JavaThrow(exceptions.NonEmptyNamespaceException(self._jvm.strings([name])))
        self._lake.drop_database(name, cascade=cascade)
        return True

    def _existing(self, namespace: Any) -> str:
        if not self.namespaceExists(namespace):
            raise no_such_namespace(self._jvm, namespace)
        return database_of(self._jvm, namespace)

    # ------------------------------------------------------------------------------------------------ tables

    def listTables(self, namespace: Any) -> Any:  # noqa: N802 - Java's name
        names = self._lake.tables(self._existing(namespace))
        identifiers = self._jvm.connector.catalog.Identifier
        return self._jvm.array(identifiers, [identifiers.of(namespace, name) for name in names])

    def listTableSummaries(self, namespace: Any) -> Any:  # noqa: N802 - Java's name
        summaries = self._jvm.connector.catalog.TableSummary
        return self._jvm.array(summaries, [summaries.of(ident, "MANAGED") for ident in self.listTables(namespace)])

    def loadTable(self, ident: Any, *more: Any) -> Any:  # noqa: N802 - Java's name
        given = options_in_names.as_table_options(more[1].asCaseSensitiveMap()) if len(more) == 2 else {}
        return self._loaded(ident, _travel(more), given)

    def _loaded(self, ident: Any, travel: Mapping[str, Any], given: Mapping[str, str]) -> Any:
        name = table_name(ident)
        if name is None:
            raise no_such_table(self._jvm, ident)
        name, hidden = options_in_names.name_and_options(self._jvm, name)
        hidden = options_in_names.as_table_options(hidden)
        options = {**session_options(self._jvm, self._catalog_name, name), **hidden, **given}
        title = f"{self._catalog_name}.{name}"
        about_all = global_table(self._lake, name)
        if about_all is not None:
            return SystemTableProxy(self._jvm, title, about_all, travel)

        def opened(more: Mapping[str, str]) -> Table | SystemTable:
            return self._open(name, {**options, **more})

        try:
            table = opened({})
        except NotFoundError:
            if self._has_base(name):  # the branch or system table is missing
                raise
            if hidden:
                raise JavaThrow(options_in_names.no_such_table(self._jvm, name)) from None
            raise no_such_table(self._jvm, ident) from None
        if isinstance(table, SystemTable):
            return SystemTableProxy(self._jvm, title, table, travel, opened)
        return TableProxy(self._jvm, title, table, self._opener(name, options), travel)

    def _open(self, name: str, options: Mapping[str, str] | None = None) -> Table | SystemTable:
        return open_any(self._lake, name, options=options)

    def _opener(self, name: str, options: Mapping[str, str]) -> OpenTable:
        """Returns a function that opens a table with further options."""

        def opened(more: Mapping[str, str]) -> Table:
            table = self._open(name, {**options, **more})
            if isinstance(table, SystemTable):
                raise UnsupportedError(f"{name} is a system table; it can only be read")
            return table

        return opened

    def _has_base(self, name: str) -> bool:
        """Whether the table exists, without regard to the branch and the system table in the name."""
        try:
            self._open(name.partition("$")[0])
        except LakebedError:
            return False
        return True

    def tableExists(self, ident: Any) -> bool:  # noqa: N802 - Java's name
        name = table_name(ident)
        if name is None:
            return False
        try:
            self._open(name)
        except NotFoundError:
            return False
        return True

    def createTable(self, ident: Any, *given: Any) -> Any:  # noqa: N802 - Java's name
        self._create(ident, given, table_name(ident))
        return self._loaded(ident, {}, {})

    def _create(self, ident: Any, given: Sequence[Any], name: str | None) -> None:
        """Creates the table that Spark describes, under this name."""
        constraints: Sequence[Any] = ()
        if len(given) == 1:
            columns, transforms, properties = given[0].columns(), given[0].partitions(), given[0].properties()
            constraints = given[0].constraints()
        else:
            columns, transforms, properties = given
        place = f"{self._lake.warehouse}/{'/'.join(ident.namespace())}.db/{ident.name()}"
        wanted = definition(self._jvm, columns, transforms, dict(properties), constraints, place)
        if name is None or not self.namespaceExists(ident.namespace()):
            raise no_such_namespace(self._jvm, ident.namespace())
        try:
            self._lake.create_table(
                name,
                wanted.columns,
                partition_by=wanted.partition_by,
                primary_key=wanted.primary_key,
                options=wanted.options,
                comment=wanted.comment,
            )
        except AlreadyExistsError:
            if not self.tableExists(ident):  # something else is in its folder
                raise
            raise JavaThrow(self._jvm.sql.catalyst.analysis.TableAlreadyExistsException(ident)) from None

    def stageCreate(self, ident: Any, *given: Any) -> Any:  # noqa: N802 - Java's name
        """Creates the table at once; it is dropped if the query that fills it fails."""
        self._create(ident, given, table_name(ident))
        return self._staged(ident, str(table_name(ident)), lambda: None)

    def stageReplace(self, ident: Any, *given: Any) -> Any:  # noqa: N802 - Java's name
        """Creates the new table under a temporary name; it replaces the old one when it is filled.

        A query may therefore read the table that it replaces, and a query that fails leaves the old table unchanged.
        """
        name = str(table_name(ident))
        beside = f"{name}_replacing_{uuid.uuid4().hex[:8]}"
        try:
            self._create(ident, given, beside)
        except LakebedError as error:  # the message should contain the name that the user wrote
            raise type(error)(str(error).replace(beside, name)) from None
        return self._staged(ident, beside, lambda: self._take_place(beside, name))

    def stageCreateOrReplace(self, ident: Any, *given: Any) -> Any:  # noqa: N802 - Java's name
        return self.stageReplace(ident, *given) if self.tableExists(ident) else self.stageCreate(ident, *given)

    def _staged(self, ident: Any, made: str, commit: Callable[[], None]) -> StagedTableProxy:
        options = session_options(self._jvm, self._catalog_name, str(table_name(ident)))
        opened = self._opener(made, options)
        title = f"{self._catalog_name}.{table_name(ident)}"
        try:
            return StagedTableProxy(self._jvm, title, opened, commit, lambda: self._lake.drop_table(made))
        except LakebedError:  # for example a setting of the session that the new table refuses
            self._lake.drop_table(made)
            raise

    def _take_place(self, made: str, name: str) -> None:
        """Gives a table the place of another one.

        The history stays, unless the partition columns change. Then the old table is renamed first and dropped last, so
        that both tables survive an interruption.
        """
        new, old = self._lake.table(made), self._lake.table(name)
        if can_replace(old.schema, new.schema):
            replace_table(old, new)
            self._lake.drop_table(made)
            return
        aside = f"{name}_replaced_{uuid.uuid4().hex[:8]}"
        self._lake.rename_table(name, aside)
        self._lake.rename_table(made, name)
        self._lake.drop_table(aside)

    def supportedCustomMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomMetric")

    def createTableLike(self, ident: Any, info: Any, source: Any) -> Any:  # noqa: N802 - Java's name
        """Creates a table with the columns, keys and options of another one, which may be a branch."""
        own = {key: value for key, value in dict(source.properties()).items() if key not in _OF_ONE_TABLE}
        like = own | dict(info.properties())
        return self.createTable(ident, source.columns(), source.partitioning(), self._jvm.map(like))

    def alterTable(self, ident: Any, given: Any) -> Any:  # noqa: N802 - Java's name
        table = self._plain_table(ident)

        def has_column(path: tuple[str, ...]) -> bool:
            return path[0] in table.schema.field_names

        table.alter(*changes(self._jvm, given, has_column))
        return self._loaded(ident, {}, {})

    def dropTable(self, ident: Any) -> bool:  # noqa: N802 - Java's name
        if not self.tableExists(ident):
            return False
        self._lake.drop_table(str(table_name(ident)))
        return True

    def purgeTable(self, ident: Any) -> bool:  # noqa: N802 - Java's name
        return self.dropTable(ident)

    def renameTable(self, old: Any, new: Any) -> None:  # noqa: N802 - Java's name
        self._plain_table(old)
        target = table_name(new) or f"{next(iter(old.namespace()))}.{new.name()}"
        if self.tableExists(new):
            raise JavaThrow(self._jvm.sql.catalyst.analysis.TableAlreadyExistsException(new))
        self._lake.rename_table(str(table_name(old)), target)

    def _plain_table(self, ident: Any) -> Table:
        name = table_name(ident)
        if name is None or not self.tableExists(ident):
            raise no_such_table(self._jvm, ident)
        return self._opener(name, {})({})

    def invalidateTable(self, _ident: Any) -> None:  # noqa: N802 - Java's name
        """Does nothing: no table is cached."""

    def tableStateOptionKeys(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.set(_STATE_OPTIONS)

    def changelogStateOptionKeys(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.set([])

    def loadChangelog(self, ident: Any, *_more: Any) -> Any:  # noqa: N802 - Java's name
        raise UnsupportedError(f"changes of {table_name(ident)} are read with paimon_incremental_query")

    # ------------------------------------------------------------------------------- functions and procedures

    def listFunctions(self, namespace: Any) -> Any:  # noqa: N802 - Java's name
        identifiers = self._jvm.connector.catalog.Identifier
        names = FUNCTIONS if list(namespace) == [_SYS] else ()
        return self._jvm.array(identifiers, [identifiers.of(namespace, name) for name in names])

    def loadFunction(self, ident: Any) -> Any:  # noqa: N802 - Java's name
        """Returns a function; for another name, raises the error that Spark reports with suggestions."""
        if not self.functionExists(ident):
            raise JavaThrow(self._jvm.sql.catalyst.analysis.NoSuchFunctionException(ident))
        return MaxPartition(self._jvm, self._named)

    def functionExists(self, ident: Any) -> bool:  # noqa: N802 - Java's name
        return list(ident.namespace()) == [_SYS] and ident.name().lower() in FUNCTIONS

    def listProcedures(self, namespace: Any) -> Any:  # noqa: N802 - Java's name
        identifiers = self._jvm.connector.catalog.Identifier
        names = PROCEDURES if list(namespace) == [_PROCEDURES] or self.namespaceExists(namespace) else ()
        place = self._jvm.strings([_PROCEDURES])
        return self._jvm.array(identifiers, [identifiers.of(place, name) for name in names])

    def loadProcedure(self, ident: Any) -> ProcedureProxy:  # noqa: N802 - Java's name
        if list(ident.namespace()) != [_PROCEDURES]:
            raise NotFoundError(
                f"procedures of this catalog are in {_PROCEDURES!r}: CALL {_PROCEDURES}.{ident.name()}(...)"
            )
        opened = self._stated if ident.name() in STATEMENTS else self._opened
        return ProcedureProxy(self._jvm, ident.name(), opened, self._all_tables)

    def _stated(self, name: str, options: Mapping[str, str]) -> Table:
        """Opens the table that a statement names; a missing table is Spark's error."""
        try:
            return self._opened(name, options)
        except NotFoundError:
            parts = name.split(".")
            if len(parts) == 1:
                parts = [*list(self._jvm.session_state.catalogManager().currentNamespace()), *parts]
            if self._has_base(".".join(parts[-2:])):
                raise
            raise JavaThrow(options_in_names.no_such_table(self._jvm, ".".join(parts[-2:]))) from None

    def _named(self, name: str) -> Table:
        """Opens the table that an argument of a function names, as a query would read it."""
        parts = name.replace("`", "").split(".")
        if len(parts) == 1:
            parts = [*list(self._jvm.session_state.catalogManager().currentNamespace()), *parts]
        return self._opened(name, session_options(self._jvm, self._catalog_name, ".".join(parts[-2:])))

    def _opened(self, name: str, options: Mapping[str, str]) -> Table:
        """Opens the table that an argument names: with or without catalog, or in the current database."""
        parts = [part.strip("`") for part in name.split(".")]
        if len(parts) == 3 and parts[0] == self._catalog_name:
            parts = parts[1:]
        if len(parts) == 1:
            manager = self._jvm.session_state.catalogManager()
            parts = [*list(manager.currentNamespace()), *parts]
        if len(parts) != 2:
            raise NotFoundError(f"{name!r} is not the name of a table; write it as database.table")
        table = self._open(".".join(parts), options)
        if isinstance(table, SystemTable):
            raise UnsupportedError(f"{name} is a system table; procedures are for tables")
        return table

    def _all_tables(self) -> dict[str, list[str]]:
        return {database: self._lake.tables(database) for database in self._lake.databases()}


def is_inherited(shown: str) -> bool:
    """Whether the text of a catalog is that of a lake which a session has from the session that it was made from."""
    return shown.startswith("<Catalog ") and shown.endswith(f"{_INHERITED}>")


def _travel(more: Sequence[Any]) -> dict[str, Any]:
    """Returns the version of a time travel: a text, or microseconds; since Spark 4.3 inside of a context."""
    asked = more[0] if more else None
    if len(more) == 2:
        found = more[0].timeTravel()
        if not found.isPresent():
            return {}
        point = found.get()
        is_version = point.getClass().getSimpleName() == "AsOfVersion"
        asked = point.version() if is_version else point.micros()
    if isinstance(asked, str):
        return {"version": asked}
    return {"timestamp": asked // 1000} if isinstance(asked, int) else {}
