"""The arguments of actions, and jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lakebed.service.models.common import Model

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ActionName = Literal[
    "compact",
    "compact-manifests",
    "compact-chain",
    "expire-snapshots",
    "expire-changes",
    "create-tag",
    "drop-tag",
    "delete-tag",
    "create-branch",
    "drop-branch",
    "delete-branch",
    "rollback",
]

Name = Annotated[str, Field(min_length=1, max_length=255, examples=["v1"])]
SnapshotId = Annotated[int, Field(ge=1, lt=2**62, examples=[3])]
Count = Annotated[int, Field(ge=1, lt=2**31, examples=[10])]
Length = Annotated[str, Field(min_length=1, max_length=64, examples=["7 d"])]


class Action(BaseModel):
    """The argument of every action: it is a dry run unless the request says ``"dry_run": false``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dry_run: bool = True


class Compact(Action):
    """Merge files where there are too many, or all that can be merged if ``full``.

    ``where`` is a condition over partition columns.
    """

    full: bool = False
    where: str | None = Field(default=None, max_length=4000, examples=["dt >= '20250101'"])


class CompactManifests(Action):
    """Rewrite the manifests without entries of deleted files."""


class CompactChain(Action):
    """Build full partitions of a chain table; rows do not change.

    ``partition`` and ``where`` select partitions. With ``depth``, ``bytes`` or ``age`` only those of them are built
    that reach one of these limits: partitions of changes that a read merges, their size, and the time since the last
    full partition. At least one of the five is required. ``overwrite`` also rebuilds full partitions that are not
    stale.
    """

    partition: dict[str, str | int | None] | None = Field(default=None, examples=[{"dt": "20250103"}])
    where: str | None = Field(default=None, max_length=4000, examples=["dt >= '20250101'"])
    depth: Count | None = None
    bytes: Annotated[str, Field(min_length=1, max_length=64, examples=["1 gb"])] | None = None
    age: Length | None = None
    overwrite: bool = False

    @property
    def limits(self) -> dict[str, int | str]:
        """The limits that are set, by name."""
        given = {"depth": self.depth, "bytes": self.bytes, "age": self.age}
        return {name: limit for name, limit in given.items() if limit is not None}


class ExpireChanges(Action):
    """Drop the changes of old days that full partitions hold; no full partition is dropped.

    Views of full partitions, and of days at or after ``before``, stay. An older day that is not full has no view any
    more.
    """

    before: Length | None = Field(
        default=None,
        description="A time such as 2025-01-31, or a duration ago such as 30 d; the default is the age in the option "
        "chain-table.changes.time-retained.",
    )


class ExpireSnapshots(Action):
    """Delete old snapshots and the files that only they need; the options of the table are the defaults."""

    retain_max: Count | None = None
    retain_min: Count | None = None
    older_than: Length | None = Field(
        default=None, description="A time such as 2025-01-31 12:00:00, or a duration ago such as 3 d."
    )
    max_deletes: Count | None = None


class CreateTag(Action):
    """Create a tag of a snapshot (default: the latest), for ever or for ``time_retained``."""

    name: Name
    snapshot: SnapshotId | None = None
    time_retained: Length | None = None


class DropTag(Action):
    """Delete a tag and the files that only it needs."""

    name: Name


class CreateBranch(Action):
    """Create a branch: empty, or with the rows of a snapshot or a tag."""

    name: Annotated[str, Field(min_length=1, max_length=255, examples=["dev"])]
    snapshot: SnapshotId | None = None
    tag: Name | None = None


class DropBranch(Action):
    """Delete a branch."""

    name: Annotated[str, Field(min_length=1, max_length=255, examples=["dev"])]


class Rollback(Action):
    """Make an earlier snapshot, given by its id or a tag, the latest. Deletes later snapshots and their tags."""

    snapshot: SnapshotId | None = None
    tag: Name | None = None


class Cancel(BaseModel):
    """Takes no arguments; the JSON body is required so that pages of other sites cannot send the request."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Progress(Model):
    """The progress of a job."""

    done: int
    total: int


class Job(Model):
    """An action that runs or has ended. ``summary`` is the result in one sentence."""

    id: str = Field(examples=["6b3f0c1e9a7d4c52"])
    action: ActionName = Field(examples=["compact"])
    warehouse: str = Field(examples=["demo"])
    database: str = Field(examples=["shop"])
    table: str = Field(examples=["orders"])
    branch: str = Field(examples=["main"])
    dry_run: bool
    arguments: dict[str, Any]
    state: JobState = Field(examples=["succeeded"])
    created_millis: int
    started_millis: int | None
    finished_millis: int | None
    progress: Progress | None
    can_cancel: bool
    summary: str | None = Field(examples=["would merge 8 files (1.2 MiB) in 2 buckets"])
    result: dict[str, Any] | None
    error: str | None
