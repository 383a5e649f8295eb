"""Responses about the contents of a version of a table, and its rows."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lakebed.service.models.common import Model, Page, ResultColumn, Row, SchemaChange
from lakebed.service.models.history import SnapshotInfo


class PartitionInfo(Model):
    """A partition."""

    partition: str = Field(examples=["dt=2025-01-01"])
    branch: str = Field(
        description="The branch with its files; main of a chain table shows partitions of other branches."
    )
    values: dict[str, str | None] = Field(examples=[{"dt": "2025-01-01"}])
    record_count: int
    file_count: int
    byte_count: int
    bucket_count: int
    last_update_millis: int | None


class LevelInfo(Model):
    """The files of one level of a bucket."""

    level: int
    file_count: int
    byte_count: int
    record_count: int


class BucketInfo(Model):
    """A bucket with its levels. Each file of level 0 is a sorted run; each other level is one sorted run."""

    partition: str
    bucket: int
    record_count: int
    file_count: int
    byte_count: int
    sorted_runs: int | None
    last_update_millis: int | None
    levels: list[LevelInfo]


class BucketPage(Page[BucketInfo]):
    """Buckets, and the highest level of all buckets."""

    max_level: int


class FileInfo(Model):
    """A data file; ``path`` is relative to the warehouse."""

    partition: str
    bucket: int
    level: int
    file_name: str = Field(examples=["data-0f2c4a5e-0.parquet"])
    path: str = Field(examples=["shop.db/orders/bucket-0/data-0f2c4a5e-0.parquet"])
    record_count: int
    byte_count: int
    deleted_record_count: int | None
    schema_id: int
    min_key: str | None
    max_key: str | None
    min_sequence_number: int
    max_sequence_number: int
    source: Literal["APPEND", "COMPACT"] | None
    created_millis: int | None


class FilePage(Page[FileInfo]):
    """Files, with the records and bytes of all files that match."""

    record_count: int
    byte_count: int


class BranchInfo(Model):
    """A branch; main is one of them."""

    name: str = Field(examples=["main"])
    is_current: bool
    created_millis: int | None
    earliest_snapshot_id: int | None
    latest_snapshot_id: int | None
    last_commit_millis: int | None
    snapshot_count: int
    schema_id: int
    forked_from_snapshot_id: int | None
    role: Literal["fallback", "chain-full", "chain-delta"] | None


class TagInfo(Model):
    """A tag."""

    name: str = Field(examples=["v1"])
    snapshot_id: int
    commit_millis: int
    record_count: int
    schema_id: int
    created_millis: int | None
    expires_millis: int | None


class ChainLink(Model):
    """A partition of a chain table: its kind, and how many partitions a read of it merges."""

    partition: str = Field(examples=["dt=20250101"])
    group: str
    kind: str = Field(examples=["full"])
    anchor: str | None
    depth: int | None
    file_count: int | None
    byte_count: int | None
    is_stale: bool
    time_millis: int | None = Field(description="The time that the partition stands for.")
    bytes_saved: int = Field(description="How many bytes more a full copy would take than the changes do; an estimate.")


class ChainSummary(Model):
    """All partitions of a chain table, or of one group, in numbers."""

    newest_full: str | None = Field(
        examples=["dt=20250101"],
        description="The newest full partition that is not stale. Of several groups, that of the group where it is "
        "oldest; null if a group has none.",
    )
    newest_full_age_millis: int | None = Field(description="The time from that partition until now.")
    group_count: int
    groups_without_full: int
    stale_count: int
    deepest: int = Field(description="How many partitions of changes a read of one partition merges at most.")
    bytes_saved: int = Field(description="How many bytes more full copies of all partitions would take; an estimate.")


class ChainView(Page[ChainLink]):
    """The partitions of a chain table; ``is_chain`` is false for other tables."""

    is_chain: bool
    full_branch: str | None
    delta_branch: str | None
    group_keys: list[str]
    chain_keys: list[str]
    summary: ChainSummary | None


class DiffFile(Model):
    """A file that only one of two snapshots has."""

    path: str
    bucket: int
    level: int
    record_count: int
    byte_count: int


class DiffFiles(Model):
    """Files that only one of two snapshots has; at most 200 are listed."""

    count: int
    byte_count: int
    record_count: int
    items: list[DiffFile]


class DiffRows(Model):
    """Some rows that were added and removed."""

    columns: list[ResultColumn]
    added: list[Row]
    removed: list[Row]
    has_more: bool


class DiffInfo(Model):
    """Differences between two snapshots.

    ``rows`` is null if no rows were compared, because none were asked for or the files are too large.
    """

    before: SnapshotInfo
    after: SnapshotInfo
    schema_changes: list[SchemaChange] = Field(serialization_alias="schema")
    files_added: DiffFiles
    files_removed: DiffFiles
    bytes_to_compare: int
    rows: DiffRows | None


class Preview(Model):
    """Some rows. ``cut_by`` says whether the limit of rows or of bytes was reached."""

    snapshot_id: int | None
    columns: list[ResultColumn]
    rows: list[Row]
    has_more: bool
    cut_by: Literal["rows", "bytes"] | None
    files: int
    bytes_to_read: int
