"""The file-system catalog: the folders of a warehouse are the catalog.

A database is a folder ``<warehouse>/<database>.db``, a table a folder ``<database>.db/<table>`` with at least one
schema. Creating a table is the exclusive creation of its first schema. Dropping a table or database first renames its
folder, so that it disappears at once for all readers and a writer that is still running cannot commit; then the files
are deleted. A drop that was interrupted leaves a hidden folder, which the next drop deletes. Object stores cannot
rename: there :mod:`lakebed.metadata.move_folder` drops and renames tables.

Properties of a database are in ``<database>.db/.lakebed/database.json``, which other Paimon readers ignore. On object
stores every database has this file, because a folder without files does not exist there.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Final

from lakebed.catalogs.table_name import TableName, check_plain
from lakebed.errors import AlreadyExistsError, CorruptError, NotFoundError, OptionError, unknown_name
from lakebed.format.human_text import count_text
from lakebed.format.paths import TablePaths
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.metadata.move_folder import (
    delete_folder,
    delete_remains,
    is_being_deleted,
    move_folder,
    moving_from,
    moving_to,
)
from lakebed.metadata.schemas import Schemas
from lakebed.metadata.store import TableStore
from lakebed.options import normalise
from lakebed.storage import Storage, Sync, run_all

_DATABASE_SUFFIX: Final = ".db"
_DATABASE_FILE: Final = ".lakebed/database.json"
_DROPPED: Final = ".dropped-"
_FIRST_SCHEMA: Final = 0
_LONGEST_WAIT: Final = 1.0
_PAUSE: Final = 0.05


class FileSystemCatalog:
    """The databases and tables in a folder.

    Args:
        warehouse: The folder.
        storage: Where it is.
        cache: The cache of decoded manifests that its tables use.
        durable: Whether changes survive a power cut; tables may say otherwise for themselves.
    """

    def __init__(self, warehouse: str, storage: Storage, cache: ManifestCache, *, durable: bool = True) -> None:
        self.warehouse = warehouse
        self._storage = storage
        self._cache = cache
        self._durable = durable

    @property
    def storage(self) -> Storage:
        """Where the warehouse is."""
        return self._storage

    # ---------------------------------------------------------------------------------------------- databases

    def databases(self) -> list[str]:
        """Returns the names of the databases, sorted."""
        return sorted(
            info.name.removesuffix(_DATABASE_SUFFIX)
            for info in self._storage.list(self.warehouse)
            if info.is_dir and info.name.endswith(_DATABASE_SUFFIX)
        )

    def create_database(self, name: str) -> bool:
        """Creates a database and returns whether it did not exist before."""
        check_plain(name, "database", name)
        if "." in name or "$" in name:
            raise OptionError(f"{name!r} cannot be a database name: it must not hold '.' or '$'")
        if name in self.databases():
            return False
        if not self._storage.can_rename:
            return self._storage.create_exclusive(f"{self._database_path(name)}/{_DATABASE_FILE}", b"{}")
        self._storage.make_folder(self._database_path(name))
        self._sync(self._database_path(name))
        return True

    def drop_database(self, name: str, *, cascade: bool) -> None:
        """Deletes a database; one that has tables only with ``cascade``."""
        self.check_database(name)
        tables = self.tables(name)
        if tables and not cascade:
            raise OptionError(
                f"database {name!r} has {count_text(len(tables), 'table')}, {tables[0]!r} among them; drop them first "
                "or pass cascade=True"
            )
        if self._storage.can_rename:
            self._discard(self._database_path(name))
            return
        for info in self._storage.list(self._database_path(name)):  # tables, and what is left of them
            if info.is_dir:
                delete_folder(self._storage, f"{self._database_path(name)}/{info.name}")
        self._storage.delete_tree(self._database_path(name))

    def database_properties(self, name: str) -> dict[str, str]:
        """Returns the properties of a database."""
        self.check_database(name)
        path = f"{self._database_path(name)}/{_DATABASE_FILE}"
        if not self._storage.exists(path):
            return {}
        try:
            return normalise(json.loads(self._storage.read(path)))
        except (ValueError, AttributeError):
            raise CorruptError(f"{path} does not hold properties of a database; delete it, or set them again") from None

    def set_database_properties(self, name: str, properties: Mapping[str, str]) -> None:
        """Replaces the properties of a database."""
        self.check_database(name)
        text = json.dumps(normalise(properties), indent=2, ensure_ascii=False)
        sync = Sync(self.warehouse) if self._durable else None
        self._storage.replace(f"{self._database_path(name)}/{_DATABASE_FILE}", text.encode(), sync=sync)

    def check_database(self, name: str) -> None:
        """Raises if there is no such database."""
        known = self.databases()
        if name not in known:
            raise NotFoundError(unknown_name("database", name, known, where=f"warehouse {self.warehouse}"))

    def _database_path(self, name: str) -> str:
        return f"{self.warehouse}/{name}{_DATABASE_SUFFIX}"

    # ------------------------------------------------------------------------------------------------- tables

    def tables(self, database: str) -> list[str]:
        """Returns the names of the tables of a database, sorted."""
        self.check_database(database)
        folder = self._database_path(database)
        names = sorted(info.name for info in self._storage.list(folder) if info.is_dir)
        found = run_all(self._storage, [Schemas(self._storage, TablePaths(f"{folder}/{name}")).ids for name in names])
        return [name for name, ids in zip(names, found, strict=True) if ids]

    def store(self, name: TableName) -> TableStore:
        """Returns the store of a table, which need not exist."""
        paths = TablePaths(f"{self._database_path(name.database)}/{name.table}")
        return TableStore(self._storage, paths, str(name), cache=self._cache, durable=self._durable)

    def existing(self, name: TableName) -> TableStore:
        """Returns the store of a table, and raises if the table does not exist."""
        store = self.store(name)
        lookups: list[Callable[[], object]] = [store.schemas.list_once]
        if self._storage.is_remote:
            lookups.append(store.snapshots.expect_hint)  # with it a read needs one round trip less
        if not run_all(self._storage, lookups)[0]:
            tables = self.tables(name.database)  # raises for an unknown database
            raise NotFoundError(unknown_name("table", name.table, tables, where=f"database {name.database}"))
        return store

    def create_table(self, store: TableStore, schema: TableSchema) -> bool:
        """Creates a table by its first schema and returns whether it did not exist before."""
        if not self._is_free(store) or not store.schemas.create(schema):
            return False
        # Looked up after the schema was created: who renames a table to this name looks for schemas after its mark.
        if not self._storage.can_rename and moving_from(self._storage, store.paths.root) is not None:
            self._storage.delete(store.paths.schema(schema.id))
            raise AlreadyExistsError(f"cannot create table {store.name}: another table is being renamed to it")
        return True

    def _is_free(self, store: TableStore) -> bool:
        """Returns whether there is no table. Raises if something is left of an earlier one.

        Without rename, a commit or a change of the schema of a dropped table needs a moment to withdraw its file.
        """
        until = time.monotonic() + (0.0 if self._storage.can_rename else _LONGEST_WAIT)
        while True:
            is_late = time.monotonic() > until
            ids = store.schemas.ids()
            if _FIRST_SCHEMA in ids or (ids and is_late):
                return False
            if not ids:
                try:
                    self._check_empty(store)
                except AlreadyExistsError:
                    if is_late:
                        raise
                else:
                    return True
            time.sleep(0.0 if self._storage.can_rename else _PAUSE)

    def _check_empty(self, store: TableStore) -> None:
        """Raises if the folder holds snapshots, tags or branches of an earlier table, which the new one would show."""
        root = store.paths.root
        if not self._storage.can_rename:
            if is_being_deleted(self._storage, root):
                raise AlreadyExistsError(
                    f"cannot create table {store.name}: a drop of an earlier table of that name is not finished. If it "
                    "was interrupted, call drop_table again, which finishes it"
                )
            source = moving_from(self._storage, root)
            if source is not None:
                raise AlreadyExistsError(
                    f"cannot create table {store.name}: {source} is being renamed to it. If that was interrupted, "
                    "rename it again"
                )
            target = moving_to(self._storage, root)
            if target is not None:
                raise AlreadyExistsError(
                    f"cannot create table {store.name}: it is being renamed to {target}. If that was interrupted, "
                    "rename it again"
                )
        ids = store.snapshots.ids()
        left = [*(store.paths.snapshot(number) for number in ids[:1]), *store.snapshots.tags(), *store.branch_names()]
        if left and not store.schemas.ids():  # with a schema, another process has created the table meanwhile
            raise AlreadyExistsError(
                f"cannot create table {store.name}: {store.paths.root} has no schema, but holds {left[0]} of a table "
                f"that was there before; restore its schema or {_remedy(self._storage)}"
            )

    def drop_table(self, name: TableName) -> None:
        """Deletes a table with all its snapshots, branches and files."""
        root = self.store(name).paths.root
        if self._storage.can_rename:
            self.existing(name)
            self._discard(root)
        elif not delete_remains(self._storage, root):  # else an earlier call was interrupted
            self.existing(name)
            delete_folder(self._storage, root)

    def rename_table(self, old: TableName, new: TableName) -> TableStore:
        """Gives a table another name, in the same or another database, and returns its store."""
        source, target = self.store(old), self.store(new)
        if not self._storage.can_rename and moving_from(self._storage, target.paths.root) == source.paths.root:
            move_folder(self._storage, source.paths.root, target.paths.root)  # an earlier call was interrupted
            return self.store(new)
        self.existing(old)
        self.check_database(new.database)
        if target.schemas.ids():
            raise AlreadyExistsError(f"table {new} already exists")
        if not self._storage.can_rename:
            self._check_empty(target)
            move_folder(self._storage, source.paths.root, target.paths.root)
            return self.store(new)
        self._storage.rename_folder(source.paths.root, target.paths.root)
        self._sync(target.paths.root, source.paths.root.rpartition("/")[0])
        return self.store(new)

    def _sync(self, *paths: str) -> None:
        if self._durable:
            self._storage.sync(paths, below=self.warehouse)

    def _discard(self, path: str) -> None:
        """Renames a folder to a hidden name, then deletes it, and the remains of drops that were interrupted."""
        folder, _, name = path.rpartition("/")
        hidden = f"{folder}/{_DROPPED}{uuid.uuid4()}-{name}"
        self._storage.rename_folder(path, hidden)
        self._sync(folder)  # before any file is deleted, so that no part of the table is there after a power cut
        self._storage.delete_tree(TablePaths(hidden).schemas)  # without a schema the hidden folder is not a table
        for info in self._storage.list(folder, hidden=True):
            if info.name.startswith(_DROPPED):
                self._storage.delete_tree(f"{folder}/{info.name}")


def _remedy(storage: Storage) -> str:
    return "remove the folder" if storage.can_rename else "call drop_table, which deletes what is left"
