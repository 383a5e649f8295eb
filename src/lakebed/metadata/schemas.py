"""The schemas of one branch: ``schema-0``, ``schema-1``, … Each is created once and never changed."""

from __future__ import annotations

from collections.abc import Callable

from lakebed.errors import CommitConflictError, NotFoundError
from lakebed.format.paths import SCHEMA_PREFIX, TablePaths, id_of
from lakebed.format.schema import TableSchema
from lakebed.storage import Storage


class Schemas:
    """Looks up and adds the schemas of one branch. What was read is kept: schema files never change."""

    def __init__(self, storage: Storage, paths: TablePaths) -> None:
        self._storage = storage
        self._paths = paths
        self._known: dict[int, TableSchema] = {}

    def ids(self) -> list[int]:
        """The ids that exist, ascending."""
        found = (id_of(info.name, SCHEMA_PREFIX) for info in self._storage.list(self._paths.schemas))
        return sorted(schema_id for schema_id in found if schema_id is not None)

    def get(self, schema_id: int) -> TableSchema:
        """One schema by its id."""
        if schema_id not in self._known:
            path = self._paths.schema(schema_id)
            try:
                text = self._storage.read(path)
            except NotFoundError:
                raise NotFoundError(
                    f"schema {schema_id} is not there ({path}); a file or snapshot refers to it, so restore it"
                ) from None
            self._known[schema_id] = TableSchema.from_json(text, where=path)
        return self._known[schema_id]

    def latest(self) -> TableSchema | None:
        """The schema with the highest id, or ``None`` if there is no table here."""
        # A known schema plus one probe saves a listing; whoever adds a schema adds the next number.
        if self._known:
            latest = max(self._known)
            while self._storage.exists(self._paths.schema(latest + 1)):
                latest += 1
            return self.get(latest)
        ids = self.ids()
        return self.get(ids[-1]) if ids else None

    def create(self, schema: TableSchema) -> bool:
        """Add a schema; ``False`` if its id was taken by someone else."""
        return self._storage.create_exclusive(self._paths.schema(schema.id), schema.to_json().encode())

    def change(self, derive: Callable[[TableSchema], TableSchema], *, attempts: int = 20) -> TableSchema:
        """Add the schema that ``derive`` makes of the latest one, again if someone else was faster."""
        for _ in range(attempts):
            current = self.latest()
            if current is None:
                raise NotFoundError(f"there is no table at {self._paths.root}")
            changed = derive(current)
            if changed is current or self.create(changed):
                return changed
        raise CommitConflictError(f"the schema of {self._paths.root} keeps changing; try again later")
