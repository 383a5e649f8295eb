"""What actions take, and jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lakebed.service.models.common import Model

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ActionName = Literal[
    "compact",
    "compact-manifests",
    "expire-snapshots",
    "create-tag",
    "delete-tag",
    "create-branch",
    "delete-branch",
    "rollback",
]

Name = Annotated[str, Field(min_length=1, max_length=255, examples=["v1"])]
SnapshotId = Annotated[int, Field(ge=1, lt=2**62, examples=[3])]
Count = Annotated[int, Field(ge=1, lt=2**31, examples=[10])]
Length = Annotated[str, Field(min_length=1, max_length=64, examples=["7 d"])]


class Action(BaseModel):
    """What every action takes: without ``"dry_run": false`` it only tells what it would do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dry_run: bool = True


class Compact(Action):
    """Merge files where there are too many, or all that can be merged if ``full``; ``where`` is about partition columns."""

    full: bool = False
    where: str | None = Field(default=None, max_length=4000, examples=["dt >= '20250101'"])


class CompactManifests(Action):
    """Write the list of files anew, without what cancels out."""


class ExpireSnapshots(Action):
    """Remove old snapshots and what only they need; what is not given comes from the table's options."""

    retain_max: Count | None = None
    retain_min: Count | None = None
    older_than: Length | None = Field(default=None, description="A time such as 2025-01-31 12:00:00, or ago: 3 d.")
    max_deletes: Count | None = None


class CreateTag(Action):
    """Hold a snapshot (the latest, if none is given) under a name, for good or for some time."""

    name: Name
    snapshot: SnapshotId | None = None
    time_retained: Length | None = None


class DeleteTag(Action):
    """Remove a tag and the files that nothing else needs."""

    name: Name


class CreateBranch(Action):
    """Make a branch: empty, or with what a snapshot or a tag holds."""

    name: Annotated[str, Field(min_length=1, max_length=255, examples=["dev"])]
    snapshot: SnapshotId | None = None
    tag: Name | None = None


class DeleteBranch(Action):
    """Remove a branch."""

    name: Annotated[str, Field(min_length=1, max_length=255, examples=["dev"])]


class Rollback(Action):
    """Make an earlier snapshot, given by its id or by a tag, the latest again; later ones and their tags go."""

    snapshot: SnapshotId | None = None
    tag: Name | None = None


class Cancel(BaseModel):
    """Nothing needs to be said to cancel a job; the body is there so that no other site can send it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Progress(Model):
    """How far a job is."""

    done: int
    total: int


class Job(Model):
    """An action under way, or what became of it. ``summary`` is the result in one sentence."""

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
    summary: str | None = Field(examples=["would merge 8 files (1.2 MB) of 2 buckets"])
    result: dict[str, Any] | None
    error: str | None
