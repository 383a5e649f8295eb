"""The schemas of one branch: ``schema-0``, ``schema-1``, … Each is created once and never changed.

A table may be dropped and another one created under its name. The first schema identifies the table: if it changes
while an object of this class is in use, the object raises an error, so that two tables are never mixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lakebed.errors import CommitConflictError, LakebedError, NotFoundError, StorageError
from lakebed.format.paths import SCHEMA_PREFIX, TablePaths, id_of
from lakebed.format.schema.table_schema import TableSchema
from lakebed.options import TableOptions
from lakebed.storage import Storage, Sync

_FIRST_ID: Final = 0


@dataclass(frozen=True, slots=True)
class _Known:
    """A schema that was read, and the version token of its file before the read."""

    schema: TableSchema
    stamp: str | None


class Schemas:
    """Looks up and adds the schemas of one branch. Schemas are cached until the latest file changes."""

    def __init__(self, storage: Storage, paths: TablePaths, *, durable: bool = True) -> None:
        self._storage = storage
        self._paths = paths
        self._durable = durable
        self._known: dict[int, _Known] = {}
        self._first: bytes | None = None

    def ids(self) -> list[int]:
        """Returns the ids that exist, ascending."""
        found = (id_of(info.name, SCHEMA_PREFIX) for info in self._storage.list(self._paths.schemas))
        return sorted(schema_id for schema_id in found if schema_id is not None)

    def get(self, schema_id: int) -> TableSchema:
        """Returns one schema by its id."""
        known = self._known.get(schema_id)
        if known is None:
            path = self._paths.schema(schema_id)
            stamp = self._storage.stamp(path)
            try:
                text = self._storage.read(path)
            except NotFoundError:
                raise NotFoundError(
                    f"schema {schema_id} does not exist ({path}); a file or snapshot refers to it, so restore it"
                ) from None
            self._check_same_table(text if schema_id == _FIRST_ID else None)
            known = _Known(TableSchema.from_json(text, where=path), stamp)
            self._known[schema_id] = known
        return known.schema

    def latest(self) -> TableSchema | None:
        """Returns the schema with the highest id, or ``None`` if there is no table here."""
        # With a known schema two lookups replace a listing: a new schema always has the next number.
        if self._known:
            latest = max(self._known)
            if self._is_there(latest):
                while self._storage.exists(self._paths.schema(latest + 1)):
                    latest += 1
                return self.get(latest)
            self._known.clear()
        ids = self.ids()
        return self.get(ids[-1]) if ids else None

    def _is_there(self, schema_id: int) -> bool:
        """Returns whether the file of a known schema is unchanged."""
        return self._storage.stamp(self._paths.schema(schema_id)) == self._known[schema_id].stamp

    def _check_same_table(self, first: bytes | None) -> None:
        """Raises NotFoundError if the first schema is not the one that this object read first."""
        if first is None:
            if self._known:
                return  # another schema was checked, and is still valid
            try:
                first = self._storage.read(self._paths.schema(_FIRST_ID))
            except NotFoundError:
                return
        if self._first is not None and first != self._first:
            raise NotFoundError(
                f"the table at {self._paths.branch_root} was dropped and another one created in its place since it was "
                "opened; open it again"
            )
        self._first = first

    def create(self, schema: TableSchema, *, after: TableSchema | None = None) -> bool:
        """Adds a schema; returns ``False`` if its id is taken, or ``after`` is no longer the latest schema."""

        def still() -> bool:
            return after is None or (after.id in self._known and self._is_there(after.id))

        path, text, sync = self._paths.schema(schema.id), schema.to_json().encode(), self._syncing(schema)
        try:
            return self._storage.create_exclusive(path, text, still, sync=sync)
        except StorageError:
            if not self._holds(path, text):
                raise
            if sync is not None:
                self._storage.sync([path], below=sync.below)
            return True  # the file was created, only the acknowledgement was lost

    def _syncing(self, schema: TableSchema) -> Sync | None:
        """Returns what makes a schema durable, and the folder of a new table with it."""
        is_durable = TableOptions(schema.options).is_durable(otherwise=self._durable)
        return Sync(self._paths.root.rpartition("/")[0]) if is_durable else None

    def _holds(self, path: str, text: bytes) -> bool:
        try:
            return self._storage.read(path) == text
        except LakebedError:
            return False

    def change(self, derive: Callable[[TableSchema], TableSchema], *, attempts: int = 20) -> TableSchema:
        """Adds the schema that ``derive`` returns for the latest one; retries if another writer was faster."""
        for _ in range(attempts):
            current = self.latest()
            if current is None:
                raise NotFoundError(f"there is no table at {self._paths.root}")
            changed = derive(current)
            if changed is current or self.create(changed, after=current):
                return changed
        raise CommitConflictError(f"the schema of {self._paths.root} keeps changing; try again later")
