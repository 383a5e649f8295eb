"""The schemas of one branch: ``schema-0``, ``schema-1``, … Each is created once and never changed.

A table may be dropped and another one created under its name. The first schema identifies the table: if it changes
while an object of this class is in use, the object raises an error, so that two tables are never mixed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from lakebed.errors import CommitConflictError, LakebedError, NotFoundError, StorageError
from lakebed.format.paths import SCHEMA_PREFIX, TablePaths
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.numbered_files import numbered_files
from lakebed.metadata.one_look import forget_answer
from lakebed.options import TableOptions
from lakebed.storage import Storage, Sync, run_all, run_both

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
        self._listed: list[int] | None = None
        self._first_ahead: tuple[bytes, str | None] | None = None

    @property
    def question(self) -> tuple[str, int, TablePaths]:
        """What :mod:`lakebed.metadata.one_look` keeps the latest schema under."""
        return "schema", id(self._storage), self._paths

    def ids(self) -> list[int]:
        """Returns the ids that exist, ascending."""
        return list(numbered_files(self._storage, self._paths.schemas, SCHEMA_PREFIX))

    def get(self, schema_id: int) -> TableSchema:
        """Returns one schema by its id."""
        known = self._known.get(schema_id)
        if known is None:
            path = self._paths.schema(schema_id)
            if schema_id == _FIRST_ID or self._known:  # with another schema that was checked and is still valid
                text, stamp = self._read(schema_id)
                first = text if schema_id == _FIRST_ID else None
            else:
                (text, stamp), first = run_both(self._storage, partial(self._read, schema_id), self._read_first)
                if first is None and not self._storage.can_rename:  # it is deleted with the others, and written last
                    raise NotFoundError(f"the table at {self._paths.branch_root} is being dropped or renamed")
            self._check_same_table(first)
            known = _Known(TableSchema.from_json(text, where=path), stamp)
            self._known[schema_id] = known
        return known.schema

    def read_ahead(self, schema_ids: Iterable[int]) -> None:
        """Reads schemas that are not known yet, at the same time. Whoever needs one that is missing, raises."""

        def read(schema_id: int) -> None:
            with contextlib.suppress(LakebedError):
                self.get(schema_id)

        run_all(self._storage, [partial(read, one) for one in schema_ids if one not in self._known])

    def _read(self, schema_id: int) -> tuple[bytes, str | None]:
        if schema_id == _FIRST_ID and self._first_ahead is not None:
            return self._first_ahead
        path = self._paths.schema(schema_id)
        try:
            return self._storage.read_stamped(path)
        except NotFoundError:
            raise NotFoundError(
                f"schema {schema_id} does not exist ({path}); a file or snapshot refers to it, so restore it"
            ) from None

    def _read_first(self) -> bytes | None:
        try:
            return self._storage.read(self._paths.schema(_FIRST_ID))
        except NotFoundError:
            return None

    def latest(self) -> TableSchema | None:
        """Returns the schema with the highest id, or ``None`` if there is no table here."""
        # With a known schema two lookups replace a listing: a new schema always has the next number.
        if self._known:
            latest = max(self._known)
            is_there, has_next = self._unchanged(latest)
            if is_there:
                while has_next:
                    latest += 1
                    has_next = self._storage.exists(self._paths.schema(latest + 1))
                return self.get(latest)
            self._known.clear()
        ids, self._listed = self._listed or self.ids(), None
        try:
            return self.get(ids[-1]) if ids else None
        finally:
            self._first_ahead = None

    def list_once(self) -> list[int]:
        """Returns the ids that exist, which the next :meth:`latest` need not list again.

        On a remote storage the first schema is read at the same time, because most tables have no other one.
        """
        if self._storage.is_remote:
            ids, self._first_ahead = run_both(self._storage, self.ids, self._read_first_ahead)
        else:
            ids = self.ids()
        self._listed = ids
        return ids

    def _read_first_ahead(self) -> tuple[bytes, str | None] | None:
        try:
            return self._storage.read_stamped(self._paths.schema(_FIRST_ID))
        except LakebedError:  # whoever needs the schema reads it again, and raises
            return None

    def _unchanged(self, schema_id: int) -> tuple[bool, bool]:
        """Returns whether the file of a known schema is unchanged, and whether there is a next one."""

        def has_next() -> bool:
            return self._storage.exists(self._paths.schema(schema_id + 1))

        if not self._storage.is_remote:
            return (True, has_next()) if self._is_there(schema_id) else (False, False)
        return run_both(self._storage, partial(self._is_there, schema_id), has_next)

    def _is_there(self, schema_id: int) -> bool:
        """Returns whether the file of a known schema is unchanged."""
        known = self._known.get(schema_id)  # another thread may forget it
        return known is not None and self._storage.stamp(self._paths.schema(schema_id)) == known.stamp

    def _check_same_table(self, first: bytes | None) -> None:
        """Raises NotFoundError if the first schema is not the one that this object read first."""
        if first is None:
            return
        if self._first is not None and first != self._first:
            raise NotFoundError(
                f"the table at {self._paths.branch_root} was dropped and another one created in its place since it was "
                "opened; open it again"
            )
        self._first = first

    def is_same_table(self) -> bool:
        """Returns whether the first schema is still the one that this object read; ``True`` if it read none."""
        return self._first is None or self._read_first() == self._first

    def create(self, schema: TableSchema, *, after: TableSchema | None = None) -> bool:
        """Adds a schema; returns ``False`` if its id is taken, or ``after`` is no longer the latest schema."""

        def still() -> bool:
            return after is None or (after.id in self._known and self._is_there(after.id))

        path, text, sync = self._paths.schema(schema.id), schema.to_json().encode(), self._syncing(schema)
        forget_answer(self.question)
        try:
            made = self._storage.create_exclusive(path, text, still, sync=sync)
        except StorageError:
            if not self._holds(path, text):
                raise
            if sync is not None:
                self._storage.sync([path], below=sync.below)
            made = True  # the file was created, only the acknowledgement was lost
        if made and not self._storage.can_rename and not still():  # the table was dropped before the create
            self._storage.delete(path)
            return False
        return made

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
