"""Responses about snapshots and compactions."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import Field

from lakebed.service.models.common import Model, Page

T = TypeVar("T")

CommitKindName = Literal["APPEND", "COMPACT", "OVERWRITE", "ANALYZE"]
CompactionKindName = Literal["FULL", "MINOR", "MANIFESTS"]


class SnapshotInfo(Model):
    """A snapshot. Counts of files are null if its writer did not record them; ``tags`` are the tags of the snapshot."""

    id: int = Field(examples=[12])
    schema_id: int = Field(examples=[0])
    commit_kind: CommitKindName = Field(examples=["APPEND"])
    commit_user: str = Field(examples=["0f2c4a5e-2f1e-4a31-9d5f-3a8f5a3f0c11"])
    commit_identifier: str = Field(
        examples=["9223372036854775807"], description="A 64-bit number as text, because JavaScript would round it."
    )
    time_millis: int = Field(examples=[1763251200000])
    total_record_count: int = Field(examples=[100])
    delta_record_count: int = Field(examples=[10])
    changelog_record_count: int | None
    watermark: str | None = Field(description="A 64-bit number as text.")
    operation: str | None
    writer_version: str | None
    files_added: int | None = Field(examples=[2])
    files_deleted: int | None = Field(examples=[0])
    bytes_added: int | None = Field(examples=[2048])
    bytes_deleted: int | None = Field(examples=[0])
    has_statistics: bool
    has_index: bool
    base_manifest_list: str
    delta_manifest_list: str
    properties: dict[str, str]
    tags: list[str]


class HistoryPage(Model, Generic[T]):
    """A page of a history, newest first.

    ``total`` is null where counting would need more snapshots. A page with ``next_cursor`` can be short or empty: where
    the history index lacks snapshots, a page ends after 1,024 of them. ``scanned`` is the number of snapshot files that
    were read for this page. ``source`` says how they were found: by file names (``listing``), the history index
    (``index``), or reading (``scan``).
    """

    items: list[T]
    next_cursor: str | None = Field(examples=["12-0a1b2c3d"])
    total: int | None = Field(examples=[1000])
    scanned: int = Field(examples=[25])
    source: Literal["listing", "index", "scan"] = Field(examples=["index"])


class CompactionInfo(Model):
    """A compaction: what it read and wrote, when it started, how long it took."""

    snapshot_id: int = Field(examples=[9])
    kind: CompactionKindName = Field(examples=["MINOR"])
    status: Literal["succeeded"] = Field(description="A compaction that waits, runs or failed is a job, see /jobs.")
    started_millis: int
    finished_millis: int
    duration_millis: int = Field(ge=0)
    input_files: int
    input_bytes: int
    input_rows: int
    output_files: int
    output_bytes: int
    output_rows: int
    partitions: int
    buckets: int
    commit_user: str
    from_facts: bool = Field(description="Whether the snapshot records all of this; otherwise manifests were read.")


class ChangedGroup(Model):
    """What a snapshot changed in one bucket."""

    partition: str = Field(examples=["dt=2025-01-01"])
    bucket: int
    files_added: int
    files_deleted: int
    bytes_added: int
    bytes_deleted: int
    records_added: int
    records_deleted: int


class ChangedFile(Model):
    """A file that a snapshot added or deleted."""

    change: Literal["ADD", "DELETE"]
    partition: str
    bucket: int
    level: int
    file_name: str
    record_count: int
    byte_count: int


class SnapshotChanges(Model):
    """What a snapshot changed; ``groups`` are at most 1000 of ``group_count``."""

    files_added: int
    files_deleted: int
    bytes_added: int
    bytes_deleted: int
    records_added: int
    records_deleted: int
    changelog_files: int
    groups: list[ChangedGroup]
    group_count: int
    files: Page[ChangedFile]


class SnapshotDetail(Model):
    """A snapshot and what it changed."""

    snapshot: SnapshotInfo
    changes: SnapshotChanges
