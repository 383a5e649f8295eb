"""Typed access to the options of a table: one attribute per option that Lakebed acts on.

An attribute parses the stored text on access and returns the default where the option is not set. A value that cannot
be parsed raises :class:`~lakebed.errors.OptionError`; it is never replaced by a default. Durations are seconds and
sizes are bytes. What an option means is in :mod:`lakebed.options.definitions`.

``TableOptions.bucket.name`` is the name of the option, for code that writes an option or names it in a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from lakebed.errors import OptionError, unknown_name
from lakebed.options.definitions import Option
from lakebed.options.lookup import find, known_names
from lakebed.options.parsing import Value
from lakebed.options.stats_mode import StatsMode
from lakebed.options.typed import Typed, listed, names, optional, read_option, required

T = TypeVar("T")

_COLUMN: Final = "<column>"
_TARGET_FILE_SIZE: Final = {True: 128 * 1024**2, False: 256 * 1024**2}


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of one table, parsed on access.

    >>> options = TableOptions({"bucket": "4", "target-file-size": "64 mb"})
    >>> options.bucket, options.target_file_size(is_primary_key=True), options.commit_min_retry_wait
    (4, 67108864, 0.01)
    >>> TableOptions.bucket.name
    'bucket'
    """

    raw: Mapping[str, str]

    # The table and its files
    branch = required("branch", str)
    branch_merge_enabled = required("branch-merge.enabled", bool)
    bucket = required("bucket", int)
    bucket_key = listed("bucket-key")
    bucket_function = required("bucket-function.type", str)
    add_column_before_partition = required("add-column-before-partition", bool)
    partition_default_name = required("partition.default-name", str)
    partition_legacy_name = required("partition.legacy-name", bool)
    data_file_directory = optional("data-file.path-directory", str)
    data_file_external_paths = names("data-file.external-paths")
    data_file_prefix = required("data-file.prefix", str)
    data_file_thin_mode = required("data-file.thin-mode", bool)
    changelog_file_prefix = required("changelog-file.prefix", str)
    _file_format = required("file.format", str)
    _file_format_per_level = required("file.format.per.level", dict)
    _file_compression = required("file.compression", str)
    _file_compression_per_level = required("file.compression.per.level", dict)
    _changelog_file_format = optional("changelog-file.format", str)
    _changelog_file_compression = optional("changelog-file.compression", str)
    zstd_level = required("file.compression.zstd-level", int)
    suffix_includes_compression = required("file.suffix.include.compression", bool)
    write_buffer_size = required("write-buffer-size", int)
    _target_file_size = optional("target-file-size", int)
    _file_block_size = optional("file.block-size", int)
    _parquet_block_size = optional("parquet.block.size", int)

    # Statistics
    stats_keep_first_columns = required("metadata.stats-keep-first-n-columns", int)
    stats_dense_store = required("metadata.stats-dense-store", bool)
    _stats_mode = required("metadata.stats-mode", str)
    _stats_mode_per_level = required("metadata.stats-mode.per.level", dict)

    # Manifests
    manifest_compression = required("manifest.compression", str)
    manifest_target_file_size = required("manifest.target-file-size", int)
    manifest_merge_min_count = required("manifest.merge-min-count", int)
    manifest_full_compaction_threshold_size = required("manifest.full-compaction-threshold-size", int)
    manifest_compaction_mode = required("manifest.compaction.mode", str)
    manifest_compaction_min_delta_count = required("manifest.compaction.min-delta-count", int)
    manifest_compaction_max_delta_count = required("manifest.compaction.max-delta-count", int)
    manifest_compaction_interval_commits = required("manifest.compaction.interval-commits", int)
    manifest_compaction_async_threads = required("manifest.compaction.async.threads", int)

    # Commits and writes
    commit_max_retries = optional("commit.max-retries", int)
    commit_timeout = optional("commit.timeout", float)
    commit_min_retry_wait = required("commit.min-retry-wait", float)
    commit_max_retry_wait = required("commit.max-retry-wait", float)
    commit_user_prefix = optional("commit.user-prefix", str)
    commit_durable = optional("commit.durable", bool)
    dynamic_partition_overwrite = required("dynamic-partition-overwrite", bool)
    write_only = required("write-only", bool)
    read_allow_full_scan = required("read.allow.fullScan", bool)
    write_merge_schema = required("write.merge-schema", bool)
    write_merge_schema_type_widening = required("write.merge-schema.type-widening", bool)

    # Snapshots, changelogs, tags and consumers
    snapshot_num_retained_min = required("snapshot.num-retained.min", int)
    snapshot_num_retained_max = required("snapshot.num-retained.max", int)
    snapshot_time_retained = required("snapshot.time-retained", float)
    snapshot_expire_limit = required("snapshot.expire.limit", int)
    snapshot_clean_empty_directories = required("snapshot.clean-empty-directories", bool)
    tag_default_time_retained = optional("tag.default-time-retained", float)
    tag_time_expire_enabled = required("tag.time-expire-enabled", bool)
    tag_period_formatter = required("tag.period-formatter", str)
    tag_creation_period = required("tag.creation-period", str)
    tag_creation_period_duration = optional("tag.creation-period-duration", float)
    consumer_id = optional("consumer-id", str)
    consumer_expiration_time = optional("consumer.expiration-time", float)
    consumer_ignore_progress = required("consumer.ignore-progress", bool)
    consumer_changelog_only = required("consumer.changelog-only", bool)
    _snapshot_expire_execution_mode = required("snapshot.expire.execution-mode", str)
    _changelog_num_retained_min = optional("changelog.num-retained.min", int)
    _changelog_num_retained_max = optional("changelog.num-retained.max", int)
    _changelog_time_retained = optional("changelog.time-retained", float)

    # Partitions
    partition_expiration_time = optional("partition.expiration-time", float)
    partition_expiration_check_interval = required("partition.expiration-check-interval", float)
    partition_expiration_strategy = required("partition.expiration-strategy", str)
    partition_expiration_max_num = required("partition.expiration-max-num", int)
    partition_expiration_batch_size = optional("partition.expiration-batch-size", int)
    partition_mark_done_action = listed("partition.mark-done-action")
    partition_timestamp_pattern = optional("partition.timestamp-pattern", str)
    partition_timestamp_formatter = optional("partition.timestamp-formatter", str)
    end_input_check_partition_expire = required("end-input.check-partition-expire", bool)

    # Reading
    scan_mode = required("scan.mode", str)
    scan_snapshot_id = optional("scan.snapshot-id", int)
    scan_version = optional("scan.version", str)
    scan_tag_name = optional("scan.tag-name", str)
    scan_timestamp = optional("scan.timestamp", str)
    scan_timestamp_millis = optional("scan.timestamp-millis", int)
    scan_watermark = optional("scan.watermark", int)
    scan_fallback_branch = optional("scan.fallback-branch", str)
    scan_primary_branch = optional("scan.primary-branch", str)
    incremental_between = optional("incremental-between", str)
    incremental_between_timestamp = optional("incremental-between-timestamp", str)
    incremental_to_auto_tag = optional("incremental-to-auto-tag", str)
    incremental_between_scan_mode = required("incremental-between-scan-mode", str)
    incremental_between_tag_to_snapshot = required("incremental-between-tag-to-snapshot", bool)
    read_changelog = required("read.changelog", bool)
    table_read_sequence_number = required("table-read.sequence-number.enabled", bool)

    # Primary-key tables
    merge_engine = required("merge-engine", str)
    sequence_field = names("sequence.field")
    rowkind_field = optional("rowkind.field", str)
    ignore_delete = required("ignore-delete", bool)
    ignore_update_before = required("ignore-update-before", bool)
    partial_update_remove_on_delete = required("partial-update.remove-record-on-delete", bool)
    partial_update_remove_on_sequence_group = names("partial-update.remove-record-on-sequence-group")
    aggregation_remove_on_delete = required("aggregation.remove-record-on-delete", bool)
    default_aggregate_function = optional("fields.default-aggregate-function", str)
    sequence_snapshot_ordering = required("sequence.snapshot-ordering", bool)
    deletion_vectors_enabled = required("deletion-vectors.enabled", bool)
    deletion_vectors_modifiable = required("deletion-vectors.modifiable", bool)
    deletion_vectors_merge_on_read = required("deletion-vectors.merge-on-read", bool)
    _sequence_sort_order = required("sequence.field.sort-order", str)

    # Compaction
    num_sorted_run_compaction_trigger = required("num-sorted-run.compaction-trigger", int)
    compaction_max_size_amplification = required("compaction.max-size-amplification-percent", int)
    compaction_size_ratio = required("compaction.size-ratio", int)
    compaction_min_file_num = required("compaction.min.file-num", int)
    compaction_small_file_ratio = required("compaction.small-file-ratio", float)
    compaction_delete_ratio_threshold = required("compaction.delete-ratio-threshold", float)
    compaction_force_rewrite_all_files = required("compaction.force-rewrite-all-files", bool)
    force_lookup = required("force-lookup", bool)
    _num_levels = optional("num-levels", int)
    _full_compaction_delta_commits = optional("full-compaction.delta-commits", int)

    # Changelogs and streams
    changelog_producer = required("changelog-producer", str)
    changelog_row_deduplicate = required("changelog-producer.row-deduplicate", bool)
    changelog_ignored_fields = names("changelog-producer.row-deduplicate-ignore-fields")
    read_stream_max_files = optional("read.stream.maxFilesPerTrigger", int)
    read_stream_max_bytes = optional("read.stream.maxBytesPerTrigger", int)
    read_stream_max_rows = optional("read.stream.maxRowsPerTrigger", int)
    streaming_read_overwrite = required("streaming-read-overwrite", bool)
    streaming_read_append_overwrite = required("streaming-read-append-overwrite", bool)

    # Dynamic buckets
    dynamic_bucket_target_row_num = required("dynamic-bucket.target-row-num", int)
    dynamic_bucket_target_size = optional("dynamic-bucket.target-size", int)
    dynamic_bucket_initial_buckets = optional("dynamic-bucket.initial-buckets", int)
    dynamic_bucket_max_buckets = required("dynamic-bucket.max-buckets", int)
    dynamic_bucket_assigner_parallelism = optional("dynamic-bucket.assigner-parallelism", int)

    # Chain tables
    autopilot_enabled = optional("autopilot.enabled", bool)
    autopilot_skip = names("autopilot.skip")
    autopilot_deleted_rows = required("autopilot.deleted-rows", float)
    autopilot_full_compaction_interval = optional("autopilot.full-compaction.interval", float)
    autopilot_orphans_interval = required("autopilot.orphans.interval", float)
    autopilot_statistics_interval = optional("autopilot.statistics.interval", float)
    autopilot_chain_depth = required("autopilot.chain.depth", int)
    autopilot_chain_bytes = optional("autopilot.chain.bytes", int)
    autopilot_chain_age = optional("autopilot.chain.age", float)
    chain_table_enabled = required("chain-table.enabled", bool)
    chain_partition_keys = names("chain-table.chain-partition-keys")
    chain_gap_read = required("chain-table.gap-read", str)
    chain_changes_time_retained = optional("chain-table.changes.time-retained", float)
    chain_streaming_merge_snapshot = required("chain-table.streaming.merge-snapshot", bool)
    scan_fallback_snapshot_branch = optional("scan.fallback-snapshot-branch", str)
    scan_fallback_delta_branch = optional("scan.fallback-delta-branch", str)

    def is_durable(self, *, otherwise: bool) -> bool:
        """Returns whether commits survive a power cut; ``otherwise`` holds where the option is not set.

        >>> [TableOptions(given).is_durable(otherwise=True) for given in ({}, {"commit.durable": "false"})]
        [True, False]
        """
        chosen = self.commit_durable
        return otherwise if chosen is None else chosen

    def get(self, name: str) -> Value | None:
        """Returns the parsed value of a known option, its default if it is not set, or None if it has no default."""
        option = find(name)
        if option is None:
            raise OptionError(unknown_name("option", name, known_names()))
        if "<" in option.name or "*" in option.name:
            return read_option(_Spelled(self.raw, name), option)
        return read_option(self, option)

    def spelled(self, option: Option) -> tuple[str, ...]:
        """Returns the names under which an option may be stored; the first one found counts."""
        return (option.name, *option.aliases)

    def column(self, name: str) -> ColumnOptions:
        """Returns the options of one column (``fields.<column>.*``)."""
        return ColumnOptions(self.raw, name)

    def by_column(self, attribute: Typed[T]) -> dict[str, T]:
        """Returns one option of every column that has it, by column, in the order of their names.

        >>> TableOptions({"fields.a,b.sequence-group": "c,d"}).by_column(ColumnOptions.sequence_group)
        {'a,b': ('c', 'd')}
        """
        head, tail = attribute.name.split(_COLUMN)
        stored = (name for name in sorted(self.raw) if name.startswith(head) and name.endswith(tail))
        columns = (name[len(head) : -len(tail)] for name in stored)
        return {column: attribute.read(self.column(column)) for column in columns if column}

    def joined_branch(self, branch: str) -> tuple[str, str] | None:
        """Returns the option and the other branch that a read of ``branch`` is combined with; None: with no other.

        >>> TableOptions({"scan.fallback-branch": "old"}).joined_branch("main")
        ('scan.fallback-branch', 'old')
        """
        for option in (TableOptions.scan_fallback_branch, TableOptions.scan_primary_branch):
            other = option.read(self)
            if other and other != branch:
                return option.name, other
        return None

    def target_file_size(self, *, is_primary_key: bool) -> int:
        """Bytes at which a writer begins a new data file."""
        return self._target_file_size or _TARGET_FILE_SIZE[is_primary_key]

    def file_format(self, level: int | None = None, *, is_changelog: bool = False) -> str:
        """Returns the format of a new file; ``level`` is None for append tables.

        >>> options = TableOptions({"file.format": "orc", "file.format.per.level": "0:avro"})
        >>> options.file_format(0), options.file_format(5), options.file_format()
        ('avro', 'orc', 'orc')
        """
        return (
            (self._changelog_file_format if is_changelog else None)
            or self._file_format_per_level.get(str(level))
            or self._file_format
        )

    def file_compression(self, level: int | None = None, *, is_changelog: bool = False) -> str:
        """Returns the codec of a new file, as :meth:`file_format` does its format."""
        return (
            (self._changelog_file_compression if is_changelog else None)
            or self._file_compression_per_level.get(str(level))
            or self._file_compression
        )

    def new_files(self, *, has_levels: bool) -> set[tuple[str, str]]:
        """Returns the format and codec of all kinds of new files; only primary-key tables have levels.

        >>> sorted(TableOptions({"file.format": "orc", "file.format.per.level": "0:avro"}).new_files(has_levels=True))
        [('avro', 'zstd'), ('orc', 'zstd')]
        """
        levels: list[int | None] = [None]
        if has_levels:
            levels += [int(level) for level in {*self._file_format_per_level, *self._file_compression_per_level}]
        return {
            (self.file_format(level, is_changelog=changes), self.file_compression(level, is_changelog=changes))
            for level in levels
            for changes in {False, has_levels and self.changelog_producer != "none"}
        }

    @property
    def row_group_bytes(self) -> int | None:
        """Size of a Parquet row group; None if no option sets one."""
        return self._file_block_size or self._parquet_block_size

    @property
    def stats_mode(self) -> StatsMode:
        """The statistics that files keep of a column without a mode of its own."""
        return StatsMode.parse(self._stats_mode)

    @property
    def stats_mode_per_level(self) -> dict[int, StatsMode]:
        """The statistics that files of single levels keep."""
        return {int(level): StatsMode.parse(mode) for level, mode in self._stats_mode_per_level.items()}

    @property
    def snapshot_expire_async(self) -> bool:
        """Whether snapshots expire in the background, so that a commit does not wait."""
        return self._snapshot_expire_execution_mode == "async"

    @property
    def sequence_descending(self) -> bool:
        """Whether the smaller value of the sequence field is the newer one."""
        return self._sequence_sort_order == "descending"

    @property
    def num_levels(self) -> int:
        """Levels of a bucket: one more than the compaction trigger unless set, and at least 2."""
        return max(2, self._num_levels or self.num_sorted_run_compaction_trigger + 1)

    @property
    def skips_level0(self) -> bool:
        """Whether readers of a primary-key table skip level 0, so that rows are visible only after a compaction."""
        return self.merge_engine == "first-row" or (
            self.deletion_vectors_enabled and not self.deletion_vectors_merge_on_read
        )

    @property
    def looks_up(self) -> bool:
        """Whether compactions look up the keys of level 0 in lower levels, so that rows above level 0 are complete."""
        return (
            self.changelog_producer == "lookup"
            or self.deletion_vectors_enabled
            or self.merge_engine == "first-row"
            or self.force_lookup
        )

    @property
    def full_compaction_delta_commits(self) -> int | None:
        """Commits between full compactions; None: no full compactions by count.

        With ``changelog-producer = full-compaction`` the default is a full compaction after each commit.
        """
        commits = self._full_compaction_delta_commits
        if commits is None:
            return 1 if self.changelog_producer == "full-compaction" else None
        return max(commits, 1)

    @property
    def changelog_num_retained_min(self) -> int:
        """Changelogs that always stay; the default is the number of snapshots that stay."""
        number = self._changelog_num_retained_min
        return self.snapshot_num_retained_min if number is None else number

    @property
    def changelog_num_retained_max(self) -> int:
        """Most changelogs to retain; the default is that of snapshots."""
        number = self._changelog_num_retained_max
        return self.snapshot_num_retained_max if number is None else number

    @property
    def changelog_time_retained(self) -> float:
        """Age from which a changelog may expire; the default is that of snapshots."""
        seconds = self._changelog_time_retained
        return self.snapshot_time_retained if seconds is None else seconds

    @property
    def keeps_changelogs_longer(self) -> bool:
        """Whether changelogs are retained longer than their snapshots."""
        return (
            self.changelog_num_retained_min > self.snapshot_num_retained_min
            or self.changelog_num_retained_max > self.snapshot_num_retained_max
            or self.changelog_time_retained > self.snapshot_time_retained
        )


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """The options of one column, which are stored as ``fields.<column>.<option>``.

    >>> price = TableOptions({"fields.price.aggregate-function": "sum"}).column("price")
    >>> price.aggregate_function, price.list_agg_delimiter
    ('sum', ',')
    """

    raw: Mapping[str, str]
    name: str

    aggregate_function = optional("fields.<column>.aggregate-function", str)
    ignore_retract = required("fields.<column>.ignore-retract", bool)
    distinct = required("fields.<column>.distinct", bool)
    list_agg_delimiter = required("fields.<column>.list-agg-delimiter", str)
    nested_key = names("fields.<column>.nested-key")
    nested_key_null_strategy = required("fields.<column>.nested-key-null-strategy", str)
    nested_sequence_field = names("fields.<column>.nested-sequence-field")
    sequence_group = listed("fields.<column>.sequence-group")
    count_limit = required("fields.<column>.count-limit", int)
    _stats_mode = optional("fields.<column>.stats-mode", str)

    def spelled(self, option: Option) -> tuple[str, ...]:
        """Returns the name under which an option of this column is stored."""
        return (option.name.replace(_COLUMN, self.name),)

    def stored_name(self, attribute: Typed[object]) -> str:
        """Returns the name under which an option of this column is stored, by its attribute.

        >>> TableOptions({}).column("price").stored_name(ColumnOptions.distinct)
        'fields.price.distinct'
        """
        return self.spelled(attribute.option)[0]

    @property
    def stats_mode(self) -> StatsMode | None:
        """The statistics that files keep of this column; None: the table's mode applies."""
        text = self._stats_mode
        return None if text is None else StatsMode.parse(text)


@dataclass(frozen=True, slots=True)
class _Spelled:
    """Options that are read under one given name."""

    raw: Mapping[str, str]
    name: str

    def spelled(self, _option: Option) -> tuple[str, ...]:
        return (self.name,)
