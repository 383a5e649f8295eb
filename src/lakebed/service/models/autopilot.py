"""What the autopilot of a warehouse does, did and would do."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lakebed.service.models.common import Model, Page

Kind = Literal[
    "compact",
    "full-compaction",
    "chain",
    "manifests",
    "index",
    "partitions",
    "changes",
    "history",
    "statistics",
    "orphans",
]
State = Literal["running", "succeeded", "conflict", "failed", "interrupted"]


class Switch(BaseModel):
    """The empty body of a request that pauses or resumes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PilotJob(Model):
    """A job of the autopilot. ``cost`` and ``gain`` are bytes: what it reads and writes, what each later read saves."""

    id: str = Field(examples=["001763577600000-0f3c9a12"])
    kind: Kind
    table: str = Field(examples=["shop.orders"])
    why: str = Field(examples=["12 files (6.0 KiB) can be merged into about 1 file"])
    cost: int = Field(ge=0)
    gain: int = Field(ge=0)
    state: State
    started_millis: int
    finished_millis: int | None
    summary: str = Field(examples=["merged 6.0 KiB as snapshot 13"])


class PlannedPilotJob(Model):
    """A job that the autopilot would run now."""

    kind: Kind
    table: str = Field(examples=["shop.orders"])
    why: str
    cost: int = Field(ge=0)
    gain: int = Field(ge=0)


class LeftAlone(Model):
    """A table that the autopilot does not look after."""

    table: str = Field(examples=["shop.orders"])
    reason: str = Field(examples=["'autopilot.enabled' is false"])


class PilotPlan(Model):
    """What the tables need now, in the order in which it would be done."""

    jobs: list[PlannedPilotJob]
    left_alone: list[LeftAlone]


class PilotState(Model):
    """Who works, and the jobs of all processes, newest first. ``owner`` is null if no autopilot works."""

    owner: str | None = Field(examples=["process 4711 on db1"])
    is_paused: bool
    jobs: Page[PilotJob]
