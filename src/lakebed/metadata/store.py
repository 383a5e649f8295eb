"""One branch of one table on one storage: the handle that all operations work with.

``overlay`` are options of this handle only; they override those that the table stores. ``durable`` says whether commits
survive a power cut in a table that does not say it with its option. ``pending`` is the next schema of the table, which
only this handle knows until a write publishes it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from lakebed.errors import SHARE_THE_WAREHOUSE, CommitConflictError, LakebedError, NotFoundError, StorageError
from lakebed.format.paths import BRANCH_PREFIX, MAIN_BRANCH, TablePaths
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.metadata.manifests import SHARED_CACHE, Manifests
from lakebed.metadata.one_look import is_recent, looked_up, note_answer
from lakebed.metadata.schemas import Schemas
from lakebed.metadata.snapshots import Snapshots
from lakebed.options import TableOptions
from lakebed.storage import Storage, Sync, run_all, run_together

_MOMENT: Final = 1.0
"""So many seconds old are answers at most that a write builds on without asking again."""


@dataclass(frozen=True)
class TableStore:
    """The metadata of one branch. ``name`` is the name of the table in messages."""

    storage: Storage
    paths: TablePaths
    name: str
    overlay: Mapping[str, str] = field(default_factory=dict)
    cache: ManifestCache = field(default=SHARED_CACHE, compare=False, repr=False)
    durable: bool = True
    pending: TableSchema | None = None
    schemas: Schemas = field(init=False)
    snapshots: Snapshots = field(init=False)
    manifests: Manifests = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schemas", Schemas(self.storage, self.paths, durable=self.durable))
        object.__setattr__(self, "snapshots", Snapshots(self.storage, self.paths))
        object.__setattr__(self, "manifests", Manifests(self.storage, self.paths, self.cache))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the store without its caches."""
        made = partial(TableStore, durable=self.durable, pending=self.pending)
        return made, (self.storage, self.paths, self.name, dict(self.overlay))

    def schema(self) -> TableSchema:
        """Returns the latest schema; looked up once in an operation (:mod:`lakebed.metadata.one_look`)."""
        return self._overlaid(self._next(self._existing(looked_up(self.schemas.question, self.schemas.latest))))

    def fresh_schema(self) -> TableSchema:
        """Returns the latest schema as it is now. Raises if the table was dropped, or created again."""
        latest = self.schemas.latest()
        note_answer(self.schemas.question, latest)
        return self._overlaid(self._next(self._existing(latest)))

    def _next(self, latest: TableSchema) -> TableSchema:
        return latest if self.pending is None or latest.id > self.pending.id else self.pending

    def with_next_schema(self, schema: TableSchema) -> TableStore:
        """Returns the same branch with a schema that follows the latest one and is not stored yet."""
        return replace(self, pending=schema)

    def publish_schema(self) -> None:
        """Stores the pending schema, if there is one. Raises CommitConflictError if another schema was stored first."""
        if self.pending is None:
            return
        latest = self._existing(self.schemas.latest())
        if latest == self.pending or (
            latest.id + 1 == self.pending.id and self.schemas.create(self.pending, after=latest)
        ):
            return
        raise CommitConflictError(
            f"the columns of table {self.name} were changed by another writer while this one added columns. Nothing was "
            "written; run the statement again"
        )

    def latest_snapshot(self) -> Snapshot | None:
        """Returns the latest snapshot for a read; looked up once in an operation."""
        return looked_up(self.snapshots.question, self.snapshots.latest)

    def look(self, *, writing: bool = False) -> None:
        """Looks up the schema and the latest snapshot at the same time, for the operation that begins.

        A write also reads the hint of the earliest snapshot, because expiry follows it.
        """
        if self.storage.is_remote:
            more = [self.snapshots.expect_earliest_hint] if writing else []
            run_together([self.schema, self.latest_snapshot, *more])

    def has_just_looked(self) -> bool:
        """Returns whether this operation got the schema and the latest snapshot a moment ago, on a remote storage."""
        questions = (self.schemas.question, self.snapshots.question)
        return self.storage.is_remote and all(is_recent(each, _MOMENT) for each in questions)

    def _existing(self, schema: TableSchema | None) -> TableSchema:
        if schema is None:
            raise NotFoundError(f"table {self.name} does not exist at {self.paths.root}")
        return schema

    @property
    def has_older_schemas(self) -> bool:
        """Whether there are schemas before the latest one."""
        return len(self.schemas.ids()) > 1

    def check_seen(self) -> None:
        """Raises StorageError if this machine does not see the folder of the table on its local disk.

        For tasks, which may run on other machines: there a write would create the folder, and the table would lack the
        files.
        """
        if not self.storage.is_remote and not self.storage.exists(self.paths.root):
            raise StorageError(
                f"cannot open table {self.name}: there is no folder {self.paths.root} on machine {socket.gethostname()}. "
                f"{SHARE_THE_WAREHOUSE}"
            )

    def schema_of(self, snapshot: Snapshot) -> TableSchema:
        """Returns the schema that a snapshot was written with."""
        return self._overlaid(self.schemas.get(snapshot.schema_id))

    def _overlaid(self, schema: TableSchema) -> TableSchema:
        return replace(schema, options={**schema.options, **self.overlay}) if self.overlay else schema

    def with_options(self, options: Mapping[str, str]) -> TableStore:
        """Returns the same branch with additional options of this handle only."""
        return replace(self, overlay={**self.overlay, **options})

    @property
    def is_durable(self) -> bool:
        """Whether commits survive a power cut: what ``commit.durable`` of the table says, else of the warehouse."""
        try:
            latest = looked_up(self.schemas.question, self.schemas.latest)
        except LakebedError:  # a damaged schema; the operation itself says so
            latest = None
        options = TableOptions(self.overlay if latest is None else self._overlaid(latest).options)
        return options.is_durable(otherwise=self.durable)

    def syncing(self, *files: str) -> Sync | None:
        """Returns what makes a new file and the files that it refers to durable; ``None`` if commits are not."""
        return Sync(self.paths.root, files) if self.is_durable else None

    def sync(self, paths: Iterable[str]) -> None:
        """Makes files, or the deletion of files from a folder, durable; does nothing if commits are not."""
        if self.is_durable:
            self.storage.sync(paths, below=self.paths.root)

    def branch_names(self) -> list[str]:
        """Returns the branches besides main, by name."""
        names = sorted(
            info.name.removeprefix(BRANCH_PREFIX)
            for info in self.storage.list(self.paths.branches)
            if info.is_dir and info.name.startswith(BRANCH_PREFIX)
        )
        if self.storage.can_rename:
            return names
        found = run_all(self.storage, [partial(self._has_schema, name) for name in names])
        return [name for name, is_there in zip(names, found, strict=True) if is_there]

    def has_branch(self, branch: str) -> bool:
        """Returns whether there is a branch besides main of this name."""
        return branch in self.branch_names() if self.storage.can_rename else self._has_schema(branch)

    def _has_schema(self, branch: str) -> bool:
        """Returns whether a branch has a schema. Without rename, one that is being created or dropped has none."""
        return bool(Schemas(self.storage, self.paths.on_branch(branch)).ids())

    def on_branch(self, branch: str) -> TableStore:
        """Returns the same table on another branch."""
        if branch != MAIN_BRANCH and not self.has_branch(branch):
            known = ", ".join([MAIN_BRANCH, *self.branch_names()])
            raise NotFoundError(f"table {self.name} has no branch {branch!r}; its branches: {known}")
        return replace(self, paths=self.paths.on_branch(branch), pending=None)
