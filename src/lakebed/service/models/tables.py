"""Responses about the service, warehouses, databases and tables."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lakebed.service.models.common import Column, HealthSummary, Model, SchemaChange, Verdict
from lakebed.service.models.history import SnapshotInfo

TableKind = Literal["primary-key", "append", "chain"]


class LimitsInfo(Model):
    """Limits of one request."""

    page: int = Field(examples=[1000])
    preview_rows: int = Field(examples=[1000])
    preview_bytes: int = Field(examples=[4194304])
    jobs: int = Field(examples=[200])


class ServiceInfo(Model):
    """The version, limits and settings of the service."""

    name: str = Field(examples=["lakebed"])
    version: str = Field(examples=["0.1.0"])
    token_required: bool
    allow_actions: bool
    limits: LimitsInfo


class Alive(Model):
    """The service runs."""

    status: Literal["ok"]


class WarehouseInfo(Model):
    """A warehouse of the service. ``problem`` says why its storage cannot be read; ``databases`` is null then."""

    name: str = Field(examples=["demo"])
    path: str = Field(examples=["/data/demo"])
    databases: int | None = Field(examples=[2])
    problem: str | None


class DatabaseInfo(Model):
    """A database of a warehouse."""

    name: str = Field(examples=["shop"])
    tables: int = Field(examples=[3])
    comment: str | None
    properties: dict[str, str]


class TableSummary(Model):
    """A table in a list. ``problem`` says why it cannot be opened; most other fields are null then."""

    database: str = Field(examples=["shop"])
    name: str = Field(examples=["orders"])
    kind: TableKind | None = Field(examples=["primary-key"])
    partition_keys: list[str]
    primary_keys: list[str] = Field(examples=[["id"]])
    comment: str | None
    latest_snapshot_id: int | None = Field(examples=[12])
    last_commit_millis: int | None = Field(examples=[1763251200000])
    record_count: int | None = Field(examples=[1000])
    file_count: int | None = Field(examples=[8])
    byte_count: int | None = Field(examples=[123456])
    health: HealthSummary | None
    problem: str | None


class TableOverview(Model):
    """A branch of a table."""

    warehouse: str = Field(examples=["demo"])
    database: str = Field(examples=["shop"])
    name: str = Field(examples=["orders"])
    branch: str = Field(examples=["main"])
    path: str = Field(examples=["/data/demo/shop.db/orders"])
    kind: TableKind = Field(examples=["primary-key"])
    comment: str | None
    schema_id: int = Field(examples=[0])
    columns: list[Column]
    partition_keys: list[str]
    primary_keys: list[str] = Field(examples=[["id"]])
    bucket_keys: list[str] = Field(examples=[["id"]])
    bucket: str = Field(examples=["2"])
    merge_engine: str | None = Field(examples=["deduplicate"])
    latest_snapshot: SnapshotInfo | None
    latest_snapshot_ids: dict[str, int] = Field(
        description="By branch: the latest snapshot of this branch; of main of a chain table, those of its branches.",
        examples=[{"main": 12}],
    )
    last_commit_millis: int | None = Field(description="The time of the newest of these snapshots.")
    snapshot_count: int = Field(examples=[12])
    earliest_snapshot_id: int | None = Field(examples=[1])
    record_count: int
    file_count: int
    byte_count: int
    partition_count: int
    bucket_count: int
    branches: list[str]
    data_branches: list[str] = Field(description="The branches that hold the rows of main of a chain table.")
    tags: list[str]
    warnings: list[str]
    health: HealthSummary


class SchemaVersion(Model):
    """A schema of a table, and its changes."""

    id: int = Field(examples=[1])
    time_millis: int = Field(examples=[1763251200000])
    comment: str | None
    columns: list[Column]
    partition_keys: list[str]
    primary_keys: list[str]
    options: dict[str, str]
    changes: list[SchemaChange]


class OptionInfo(Model):
    """An option of a table with its documentation."""

    name: str = Field(examples=["bucket"])
    value: str | None = Field(examples=["2"])
    default: str | None = Field(examples=["-1"])
    is_set: bool
    type: str | None = Field(examples=["int"])
    support: Literal["honoured", "kept", "refused", "unknown"]
    meaning: str | None
    section: str | None


class HealthItem(Model):
    """The result of one health check. ``action`` names the action that helps."""

    name: str = Field(examples=["small_files"])
    title: str = Field(examples=["Small files"])
    verdict: Verdict = Field(examples=["ok"])
    reason: str = Field(examples=["14 files; too few adjacent small files to merge."])
    value: float | None = Field(examples=[3])
    unit: str | None = Field(examples=["files"])
    action: str | None


class Health(Model):
    """The health of a table; the verdict is the worst of its items."""

    verdict: Verdict = Field(examples=["ok"])
    snapshot_id: int | None = Field(examples=[12])
    items: list[HealthItem]
