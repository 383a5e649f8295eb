"""The path of every file of a table.

Schemas, snapshots and tags belong to a branch. Manifests, index files, statistics and data files of all branches are in
the root of the table. The names of partition folders are in ``partition_names``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lakebed.errors import OptionError

MAIN_BRANCH: Final = "main"
SIDECAR_FOLDER: Final = ".lakebed"
SNAPSHOT_PREFIX: Final = "snapshot-"
SCHEMA_PREFIX: Final = "schema-"
TAG_PREFIX: Final = "tag-"
BRANCH_PREFIX: Final = "branch-"
CHANGELOG_PREFIX: Final = "changelog-"
CONSUMER_PREFIX: Final = "consumer-"
HISTORY_PREFIX: Final = "history-"

_UNFIT: Final = re.compile(r"[/\\\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class TablePaths:
    """The layout of one branch of one table."""

    root: str
    branch: str = MAIN_BRANCH

    @property
    def branch_root(self) -> str:
        return self.root if self.branch == MAIN_BRANCH else f"{self.branches}/{BRANCH_PREFIX}{self.branch}"

    def on_branch(self, branch: str) -> TablePaths:
        return TablePaths(self.root, branch)

    @property
    def branches(self) -> str:
        return f"{self.root}/branch"

    @property
    def schemas(self) -> str:
        return f"{self.branch_root}/schema"

    def schema(self, schema_id: int) -> str:
        return f"{self.schemas}/{SCHEMA_PREFIX}{schema_id}"

    @property
    def snapshots(self) -> str:
        return f"{self.branch_root}/snapshot"

    def snapshot(self, snapshot_id: int) -> str:
        return f"{self.snapshots}/{SNAPSHOT_PREFIX}{snapshot_id}"

    @property
    def latest_hint(self) -> str:
        return f"{self.snapshots}/LATEST"

    @property
    def earliest_hint(self) -> str:
        return f"{self.snapshots}/EARLIEST"

    @property
    def tags(self) -> str:
        return f"{self.branch_root}/tag"

    def tag(self, name: str) -> str:
        return f"{self.tags}/{TAG_PREFIX}{name}"

    @property
    def changelogs(self) -> str:
        return f"{self.branch_root}/changelog"

    def changelog(self, snapshot_id: int) -> str:
        return f"{self.changelogs}/{CHANGELOG_PREFIX}{snapshot_id}"

    @property
    def consumers(self) -> str:
        return f"{self.branch_root}/consumer"

    def consumer(self, name: str) -> str:
        return f"{self.consumers}/{CONSUMER_PREFIX}{name}"

    @property
    def manifests(self) -> str:
        return f"{self.root}/manifest"

    def manifest(self, name: str) -> str:
        return f"{self.manifests}/{name}"

    @property
    def indexes(self) -> str:
        return f"{self.root}/index"

    def index(self, name: str) -> str:
        return f"{self.indexes}/{name}"

    @property
    def statistics(self) -> str:
        return f"{self.root}/statistics"

    @property
    def sidecars(self) -> str:
        return f"{self.root}/{SIDECAR_FOLDER}"

    @property
    def history_index(self) -> str:
        """The folder of the history index.

        It is part of the branch folder, so it is renamed and deleted with the branch.
        """
        return f"{self.branch_root}/{SIDECAR_FOLDER}"

    def history_segment(self, number: int) -> str:
        return f"{self.history_index}/{HISTORY_PREFIX}{number}"

    def data_root(self, directory: str | None) -> str:
        """Returns the folder of the partitions; ``directory`` is the table's option for it."""
        below = (directory or "").strip("/")
        return f"{self.root}/{below}" if below else self.root

    def bucket(self, partition_path: str, bucket: int, *, directory: str | None = None) -> str:
        """Returns the folder of one bucket; ``partition_path`` is empty for unpartitioned tables."""
        name = "bucket-postpone" if bucket == -2 else f"bucket-{bucket}"
        return "/".join(part for part in (self.data_root(directory), partition_path, name) if part)


def check_name(name: object, what: str) -> None:
    """Raises OptionError for a name of a tag, branch or consumer that cannot be the name of one file or folder.

    >>> check_name("a/b", "tag")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    lakebed.errors.OptionError: 'a/b' cannot be the name of a tag: ... contains no slash, backslash or control character
    """
    good = (
        isinstance(name, str)
        and bool(name.strip())
        and not name.startswith(".")
        and _UNFIT.search(name) is None
        and name == name.encode(errors="replace").decode()
    )
    if not good:
        raise OptionError(
            f"{name!r} cannot be the name of a {what}: it must be a text that is not blank, does not start with a dot "
            "and contains no slash, backslash or control character"
        )


def id_of(name: str, prefix: str) -> int | None:
    """Returns the number in names like ``snapshot-12``; ``None`` for any other name, ``snapshot-012`` included.

    >>> id_of("snapshot-12", "snapshot-"), id_of("snapshot-012", "snapshot-")
    (12, None)
    """
    digits = name.removeprefix(prefix)
    number = int(digits) if name.startswith(prefix) and digits.isascii() and digits.isdigit() else None
    return number if number is not None and name == f"{prefix}{number}" else None
