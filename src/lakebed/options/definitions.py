"""Every table option once, as data: the rows that :mod:`lakebed.options` searches, checks and prints.

A row says what a name means and what Lakebed does with it. To start supporting an option, change its ``KEPT`` or
``REFUSED`` to ``HONOURED``. Names, types and defaults are Apache Paimon's (releases 0.9 to 2.0, the Flink and Spark
connectors, pypaimon 2.1); values are strings, written here as they stand in a schema file.

In a name, ``<column>`` or ``<class>`` stands for any text and a trailing ``*`` for any rest. Exact names win over both.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from lakebed.options.stats_mode import STATS_FORM, STATS_MODE


class Kind(Enum):
    """How a value is written."""

    BOOL = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "double"
    SIZE = "size"
    TIME = "duration"
    ENUM = "enum"
    TEXT = "string"
    LIST = "list"
    MAP = "map"


class Support(Enum):
    """What Lakebed does with an option."""

    HONOURED = "honoured"
    KEPT = "kept"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Option:
    """One table option.

    ``accepted`` are the only values that Lakebed supports (for a MAP: of its entries), ``refused`` the ones it does not;
    a REFUSED option without either accepts its default only. ``why`` says why, and what to do. A table that is
    ``readable`` with a refused value may still be read. ``immutable`` options are fixed once a table has data.
    """

    name: str
    support: Support
    kind: Kind
    default: str | None
    meaning: str
    why: str = ""
    values: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    readable: bool = False
    immutable: bool = False
    create_only: bool = False
    aliases: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    pattern: str = ""
    form: str = ""
    unset: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Options that belong together in the docs."""

    title: str
    options: tuple[Option, ...]


HONOURED, KEPT, REFUSED = Support.HONOURED, Support.KEPT, Support.REFUSED
BOOL, INT, LONG, FLOAT, SIZE = Kind.BOOL, Kind.INT, Kind.LONG, Kind.FLOAT, Kind.SIZE
TIME, ENUM, TEXT, LIST, MAP = Kind.TIME, Kind.ENUM, Kind.TEXT, Kind.LIST, Kind.MAP

_PK: Final = "Lakebed does not support it yet; leave it out, or work on this table with Apache Paimon"
_SCAN: Final = "Lakebed does not scan by it yet; use scan.snapshot-id, scan.tag-name or scan.timestamp-millis"
_ROW_IDS: Final = "Lakebed does not assign row ids yet; leave it out, or work on this table with Apache Paimon"
_TYPES: Final = "Lakebed does not support this column type; leave it out, or work on this table with Apache Paimon"
_INDEX: Final = "Lakebed would not keep this index up to date; leave it out, or work on this table with Apache Paimon"
_KEY_ARGUMENT: Final = "give it as an argument of create_table instead"

_NAME_PART: Final = r"[^/\\]+"
_NAME_FORM: Final = "a name without slashes"

# One option per line: it is a table, and reads like one.
# fmt: off
_LAYOUT: Final = (
    Option("type", HONOURED, ENUM, "table", "What kind of table this is.", "Lakebed supports ordinary tables only; open it with the engine that made it", values=("table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table"), accepted=("table",), immutable=True),
    Option("path", HONOURED, TEXT, None, "Where the table lives, when that is not below its database.", create_only=True),
    Option("branch", HONOURED, TEXT, "main", "The branch to read and write.", pattern=r"\S.*", form="the name of a branch"),
    Option("bucket", HONOURED, INT, "-1", "Number of buckets of each partition; -1: no buckets (append tables) or as many as needed (primary-key tables).", "Lakebed does not support postponed buckets; use -1 or a positive number", pattern=r"-[12]|\+?0*[1-9][0-9]*", form="-1 or a positive number", refused=("-2",)),
    Option("bucket-key", HONOURED, LIST, None, "Columns whose hash decides the bucket; without it the primary key. Names are split at commas and not trimmed.", immutable=True),
    Option("bucket-function.type", HONOURED, ENUM, "default", "How the bucket follows from the bucket key.", values=("default", "mod", "hive"), immutable=True),
    Option("bucket-append-ordered", KEPT, BOOL, "true", "Whether rows of an append table's bucket keep their order when compacted."),
    Option("primary-key", REFUSED, LIST, None, "The primary key, given as an option.", _KEY_ARGUMENT, aliases=("primary_key",), create_only=True),
    Option("partition", REFUSED, LIST, None, "The partition columns, given as an option.", _KEY_ARGUMENT, create_only=True),
    Option("primary-key.nullable", REFUSED, BOOL, "false", "Lets key columns hold nulls.", _PK, immutable=True),
    Option("data-file.path-directory", HONOURED, TEXT, None, "A folder between the table and its partitions.", immutable=True, pattern=r"(?!/)(?!(?:.*/)?\.\.(?:/|$)).*\S.*", form="a relative path without '..'"),
    Option("data-file.external-paths", REFUSED, LIST, None, "Other places where data files are written.", "Lakebed keeps data files below the table; leave it out, or work on this table with Apache Paimon"),
    Option("data-file.external-paths.strategy", KEPT, ENUM, "none", "How one of the external paths is chosen.", values=("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin")),
    Option("data-file.external-paths.specific-fs", KEPT, TEXT, None, "The file system of the external paths to use."),
    Option("data-file.external-paths.weights", KEPT, LIST, None, "Weights of the external paths."),
    Option("index-file-in-data-file-dir", REFUSED, BOOL, "false", "Keeps index files beside the data files of their bucket.", "Lakebed keeps index files in the table's index folder; leave it out", immutable=True),
    Option("auto-create", KEPT, BOOL, "false", "Whether an engine creates the storage of a table that is not there."),
    Option("query-auth.enabled", REFUSED, BOOL, "false", "Asks the catalog what a user may see.", "Lakebed cannot ask the catalog for permissions; read this table through the catalog's own engine"),
    Option("upsert-key", REFUSED, LIST, None, "Columns by which an INSERT into an append table becomes a MERGE.", "Lakebed would append duplicates; leave it out and merge explicitly", readable=True),
    Option("add-column-before-partition", KEPT, BOOL, "false", "Whether a new column without a position comes before the partition columns; Lakebed adds it at the end."),
    Option("alter-column-null-to-not-null.disabled", KEPT, BOOL, "true", "Whether other engines forbid NOT NULL on a nullable column."),
    Option("disable-explicit-type-casting", KEPT, BOOL, "false", "Whether other engines forbid narrowing a column's type; Lakebed only widens."),
    Option("owner", KEPT, TEXT, None, "Who owns the table, as engines note it."),
    Option("provider", KEPT, TEXT, None, "The data source that Spark noted."),
    Option("connector", KEPT, TEXT, None, "The connector that Flink noted."),
    Option("lock.enabled", KEPT, BOOL, None, "Whether a catalog's lock guards commits; Lakebed commits by exclusive create."),
    Option("lock.type", KEPT, TEXT, None, "The kind of the catalog's lock."),
)

_FILES: Final = (
    Option("file.format", HONOURED, ENUM, "parquet", "Format of new data files.", "Lakebed writes Parquet only; set it to parquet, or write with Apache Paimon", values=("parquet", "orc", "avro", "csv", "json", "text", "lance", "mosaic", "vortex", "row"), accepted=("parquet",), readable=True),
    Option("file.format.per.level", REFUSED, MAP, "", "Format of new data files by level, such as 0:avro,5:parquet.", "Lakebed writes Parquet only; set it to parquet or leave it out", accepted=("parquet",), readable=True),
    Option("file.compression", HONOURED, ENUM, "zstd", "Codec of new data files.", "Lakebed cannot write Parquet with it so that every reader can read it; use zstd", values=("zstd", "snappy", "gzip", "lz4", "lz4_raw", "none", "uncompressed", "brotli", "lzo", "zlib", "deflate", "bzip2", "xz"), refused=("brotli", "lzo", "zlib", "deflate", "bzip2", "xz"), readable=True),
    Option("file.compression.zstd-level", HONOURED, INT, "1", "Level of zstd, for data files and manifests.", low=0, high=22),
    Option("file.compression.per.level", KEPT, MAP, "", "Codec of new data files by level, such as 0:lz4,1:zstd."),
    Option("file.block-size", HONOURED, SIZE, None, "Size of a row group (Parquet) or stripe (ORC); wins over parquet.block.size.", low=1),
    Option("file.suffix.include.compression", HONOURED, BOOL, "false", "Puts the codec into the names of data files."),
    Option("target-file-size", HONOURED, SIZE, None, "Size at which a new data file begins; 128 mb with a primary key, 256 mb without.", low=1),
    Option("target-file-row-num", KEPT, LONG, "9223372036854775807", "Number of rows at which a new data file begins."),
    Option("data-file.prefix", HONOURED, TEXT, "data-", "How names of data files begin.", pattern=_NAME_PART, form=_NAME_FORM),
    Option("changelog-file.prefix", HONOURED, TEXT, "changelog-", "How names of changelog files begin.", pattern=_NAME_PART, form=_NAME_FORM),
    Option("data-file.thin-mode", HONOURED, BOOL, "false", "Leaves the key columns out of data files, as the value columns hold them too."),
    Option("parquet.block.size", HONOURED, LONG, None, "Size of a row group in bytes.", low=1),
    Option("parquet.enable.dictionary", KEPT, TEXT, None, "Whether other writers encode Parquet columns by dictionary."),
    Option("parquet.filter.columnindex.enabled", KEPT, BOOL, "true", "Whether other readers prune by Parquet's page index."),
    Option("parquet.write-page-index.enabled", KEPT, BOOL, None, "Whether pypaimon writes Parquet's page index."),
    Option("parquet.*", KEPT, TEXT, None, "Settings of other Parquet readers and writers."),
    Option("orc.column.encoding.direct", KEPT, TEXT, None, "ORC columns that are not encoded by dictionary."),
    Option("orc.dictionary.key.threshold", KEPT, FLOAT, "0.8", "Share of distinct values up to which ORC encodes by dictionary."),
    Option("orc.timestamp-ltz.legacy.type", KEPT, BOOL, "true", "How ORC files store local timestamps."),
    Option("orc.*", KEPT, TEXT, None, "Settings of ORC readers and writers."),
    Option("avro.*", KEPT, TEXT, None, "Settings of Avro readers and writers."),
    Option("csv.*", KEPT, TEXT, None, "Settings of CSV format tables."),
    Option("json.*", KEPT, TEXT, None, "Settings of JSON format tables."),
    Option("text.*", KEPT, TEXT, None, "Settings of text format tables."),
    Option("mosaic.*", KEPT, TEXT, None, "Settings of Mosaic readers and writers."),
    Option("lance.*", KEPT, TEXT, None, "Settings of Lance readers and writers."),
    Option("vortex.*", KEPT, TEXT, None, "Settings of Vortex readers and writers."),
    Option("async-file-write", KEPT, BOOL, "true", "Whether other engines write files in the background."),
    Option("write.batch-size", KEPT, INT, "1024", "Rows per batch of other writers.", aliases=("orc.write.batch-size",)),
    Option("write.batch-memory", KEPT, SIZE, "128 mb", "Memory per batch of other writers."),
    Option("write-buffer-size", HONOURED, SIZE, "256 mb", "Rows that a task on Spark holds before it sorts them to disk; memory that other writers fill before they write a file."),
    Option("write-buffer-spillable", KEPT, BOOL, "true", "Whether other writers spill their buffer to disk."),
    Option("write-buffer-spill.max-disk-size", KEPT, SIZE, "9223372036854775807 bytes", "Disk that spilled buffers may take."),
    Option("write-buffer-for-append", KEPT, BOOL, "false", "Whether other writers buffer rows of append tables."),
    Option("write-max-writers-to-spill", KEPT, INT, "10", "Number of open writers from which other engines spill."),
    Option("spill-compression", KEPT, TEXT, "zstd", "Codec of spilled data."),
    Option("spill-compression.zstd-level", KEPT, INT, "1", "Level of zstd for spilled data."),
    Option("page-size", KEPT, SIZE, "64 kb", "Size of a page of other engines' memory."),
    Option("cache-page-size", KEPT, SIZE, "64 kb", "Size of a page of other engines' cache."),
    Option("file-operation.thread-num", KEPT, INT, None, "Threads that other engines use for file operations.", aliases=("delete-file.thread-num",)),
    Option("write.native.enabled", KEPT, BOOL, "false", "Whether pypaimon writes with native code."),
    Option("format-table.commit-hive-sync-url", KEPT, TEXT, None, "Where commits to a format table are told to Hive."),
    Option("format-table.file.compression", KEPT, TEXT, None, "Codec of files of a format table."),
    Option("format-table.implementation", KEPT, ENUM, "paimon", "Who reads and writes format tables.", values=("paimon", "engine")),
    Option("format-table.partition-path-only-value", KEPT, BOOL, "false", "Whether partition folders of a format table hold values only."),
    Option("format-table.scan.list-parallelism", KEPT, INT, "64", "Listings of a format table at once."),
    Option("format-table.repair.collect-statistics", KEPT, BOOL, "false", "Whether Spark measures partitions that a repair finds."),
    Option("format-table.statistics.parallelism", KEPT, INT, "8", "Partitions of a format table that Spark measures at once."),
)

_STATS: Final = (
    Option("metadata.stats-mode", HONOURED, TEXT, "truncate(16)", "Which column statistics go into the manifests.", pattern=STATS_MODE, form=STATS_FORM),
    Option("metadata.stats-mode.per.level", HONOURED, MAP, "", "The same by level, such as 0:none.", pattern=STATS_MODE, form=STATS_FORM),
    Option("fields.<column>.stats-mode", HONOURED, TEXT, None, "The same for one column; wins over the table's.", pattern=STATS_MODE, form=STATS_FORM),
    Option("metadata.stats-keep-first-n-columns", HONOURED, INT, "-1", "Only the first n columns get statistics; -1: all.", low=-1),
    Option("metadata.stats-dense-store", HONOURED, BOOL, "true", "Whether columns without statistics take no room in the manifests."),
    Option("changelog-file.stats-mode", KEPT, TEXT, None, "The statistics of changelog files."),
    Option("file-index.read.enabled", KEPT, BOOL, "true", "Whether other readers prune by file indexes."),
    Option("file-index.in-manifest-threshold", KEPT, SIZE, "500 bytes", "Size up to which other writers put a file index into the manifest."),
    Option("file-index.*", KEPT, TEXT, None, "Columns and settings of file indexes that other writers make; Lakebed writes none."),
)

_MANIFESTS: Final = (
    Option("manifest.format", HONOURED, ENUM, "avro", "Format of manifests.", "manifests are Avro files; leave it out", values=("avro", "parquet", "orc"), accepted=("avro",)),
    Option("manifest.compression", HONOURED, ENUM, "zstd", "Codec of manifests.", "Apache Paimon cannot write manifests with it; use null for none", values=("zstd", "zstandard", "snappy", "deflate", "bzip2", "null", "none", "uncompressed", "xz"), refused=("none", "uncompressed", "xz"), readable=True),
    Option("manifest.target-file-size", HONOURED, SIZE, "8 mb", "Size at which a new manifest begins.", aliases=("paimon.manifest.target-file-size",), low=1),
    Option("manifest.merge-min-count", HONOURED, INT, "30", "Number of small manifests from which they are merged.", aliases=("paimon.manifest.merge-min-count",)),
    Option("manifest.full-compaction-threshold-size", HONOURED, SIZE, "16 mb", "Size of changed manifests from which all are merged.", aliases=("paimon.manifest.full-compaction-threshold-size",)),
    Option("manifest.merge-optimize.enabled", KEPT, BOOL, None, "Whether other engines merge manifests in the faster way."),
    Option("manifest.delete-file-drop-stats", KEPT, BOOL, "false", "Whether entries of deleted files lose their statistics."),
    Option("manifest.sidecar.enabled", KEPT, BOOL, None, "Whether pypaimon writes sidecars of manifests."),
    Option("manifest.compaction.mode", HONOURED, ENUM, "AUTO", "Lakebed's own: when manifests are merged.", values=("AUTO", "MANUAL", "ASYNC"), aliases=("paimon.manifest.compaction.mode",)),
    Option("manifest.compaction.min-delta-count", HONOURED, INT, "10", "Lakebed's own: delta manifests below which none are merged.", aliases=("paimon.manifest.compaction.min-delta-count",), low=1),
    Option("manifest.compaction.max-delta-count", HONOURED, INT, "50", "Lakebed's own: delta manifests from which they are merged.", aliases=("paimon.manifest.compaction.max-delta-count",), low=1),
    Option("manifest.compaction.interval-commits", HONOURED, INT, "100", "Lakebed's own: commits after which manifests are merged.", aliases=("paimon.manifest.compaction.interval-commits",), low=1),
    Option("manifest.compaction.async.threads", HONOURED, INT, "2", "Lakebed's own: threads that merge in the background.", aliases=("paimon.manifest.compaction.async.threads",), low=1),
    Option("manifest.cache.max-size", KEPT, SIZE, None, "Lakebed's own: memory for decoded manifests."),
    Option("manifest-sort.enabled", KEPT, BOOL, "false", "Whether manifests are sorted by partition when merged."),
    Option("manifest-sort.max-rewrite-size", KEPT, SIZE, "256 mb", "Most that one sorting pass rewrites."),
    Option("manifest-sort.partition-field", KEPT, TEXT, None, "The partition column to sort by."),
    Option("scan.manifest.parallelism", KEPT, INT, None, "Manifests that other engines read at once."),
    Option("write-manifest-cache", KEPT, SIZE, "0 bytes", "Memory for manifests in old writers."),
)

_COMMIT: Final = (
    Option("commit.max-retries", HONOURED, INT, None, "How often a commit that lost a race is retried. Without it Lakebed retries until commit.timeout; Apache Paimon retries 10 times.", low=0, unset="no limit"),
    Option("commit.timeout", HONOURED, TIME, None, "How long a commit is tried in all."),
    Option("commit.min-retry-wait", HONOURED, TIME, "10 ms", "Shortest wait between two tries."),
    Option("commit.max-retry-wait", HONOURED, TIME, "10 s", "Longest wait between two tries."),
    Option("commit.user-prefix", HONOURED, TEXT, None, "How the commit user's name begins."),
    Option("snapshot.ignore-empty-commit", HONOURED, BOOL, None, "Whether a commit without changes makes no snapshot; true for batch writes."),
    Option("dynamic-partition-overwrite", HONOURED, BOOL, "true", "Whether an overwrite replaces only the partitions that the new rows are in."),
    Option("commit.strict-mode.last-safe-snapshot", REFUSED, LONG, None, "Makes commits fail when others committed after this snapshot.", "Lakebed does not have this guard; leave it out", readable=True),
    Option("commit.force-compact", KEPT, BOOL, "false", "Whether other writers compact before each commit."),
    Option("commit.force-create-snapshot", KEPT, BOOL, "false", "Whether a streaming writer commits without data too."),
    Option("commit.discard-duplicate-files", KEPT, BOOL, "false", "Whether files that are listed twice are dropped from a commit."),
    Option("commit.callbacks", KEPT, LIST, None, "Java classes that other engines call after a commit."),
    Option("commit.callback.<class>.param", KEPT, TEXT, None, "The parameter of such a class."),
    Option("commit.custom-listeners", KEPT, LIST, None, "Listeners that Flink calls after a commit."),
    Option("commit.native.enabled", KEPT, BOOL, "false", "Whether pypaimon commits with native code."),
    Option("overwrite-upgrade", KEPT, BOOL, "true", "Whether files of an overwrite go straight to the last level."),
    Option("visibility-callback.enabled", KEPT, BOOL, "false", "Whether other writers wait until what they wrote can be read."),
    Option("visibility-callback.timeout", KEPT, TIME, "30 min", "How long they wait at most."),
    Option("visibility-callback.check-interval", KEPT, TIME, "10 s", "How often they look."),
)

_HISTORY: Final = (
    Option("snapshot.num-retained.min", HONOURED, INT, "10", "Snapshots that always stay.", low=1),
    Option("snapshot.num-retained.max", HONOURED, INT, "2147483647", "Snapshots beyond which old ones go.", low=1),
    Option("snapshot.time-retained", HONOURED, TIME, "1 h", "Age from which a snapshot may go."),
    Option("snapshot.expire.limit", HONOURED, INT, "50", "Snapshots that one expiry removes at most.", low=1),
    Option("snapshot.expire.execution-mode", HONOURED, ENUM, "sync", "Whether a commit waits for expiry.", values=("sync", "async")),
    Option("snapshot.clean-empty-directories", HONOURED, BOOL, "false", "Whether expiry removes empty folders.", aliases=("snapshot.expire.clean-empty-directories",)),
    Option("snapshot.watermark-idle-timeout", KEPT, TIME, None, "Idle time after which a Flink source no longer holds snapshots back."),
    Option("changelog.num-retained.min", HONOURED, INT, None, "Changelogs that always stay."),
    Option("changelog.num-retained.max", HONOURED, INT, None, "Changelogs beyond which old ones go."),
    Option("changelog.time-retained", HONOURED, TIME, None, "Age from which a changelog may go."),
    Option("consumer-id", HONOURED, TEXT, None, "Name under which a streaming reader notes how far it is."),
    Option("consumer.mode", KEPT, ENUM, "exactly-once", "How exactly it notes that.", values=("exactly-once", "at-least-once")),
    Option("consumer.expiration-time", HONOURED, TIME, None, "Age from which an unused consumer goes."),
    Option("consumer.ignore-progress", HONOURED, BOOL, "false", "Whether a new job starts anew in spite of the note."),
    Option("consumer.changelog-only", HONOURED, BOOL, "false", "Whether consumers protect changelogs only, not snapshots."),
    Option("tag.automatic-creation", KEPT, ENUM, "none", "When other writers make tags by themselves; Lakebed makes none.", values=("none", "process-time", "watermark", "batch")),
    Option("tag.automatic-completion", KEPT, BOOL, "false", "Whether they fill in tags that are missing."),
    Option("tag.creation-period", KEPT, ENUM, "daily", "How often they make one.", values=("daily", "hourly", "two-hours")),
    Option("tag.creation-period-duration", KEPT, TIME, None, "The same as a length of time."),
    Option("tag.creation-delay", KEPT, TIME, "0 ms", "How long they wait for late data."),
    Option("tag.period-formatter", KEPT, ENUM, "with_dashes", "How such tags are named.", values=("with_dashes", "without_dashes", "without_dashes_and_spaces")),
    Option("tag.num-retained-max", KEPT, INT, None, "Automatic tags beyond which old ones go."),
    Option("tag.default-time-retained", HONOURED, TIME, None, "How long a tag stays when nothing else is said."),
    Option("tag.time-expire-enabled", HONOURED, BOOL, "true", "Whether tags go when their time is up."),
    Option("tag.batch.customized-name", KEPT, TEXT, None, "Name of the tag that a batch job makes."),
    Option("tag.create-success-file", KEPT, BOOL, "false", "Whether a success file is written beside a new tag."),
    Option("tag.callbacks", KEPT, LIST, None, "Java classes that other engines call after a tag."),
    Option("tag.callback.<class>.param", KEPT, TEXT, None, "The parameter of such a class."),
)

_PARTITIONS: Final = (
    Option("partition.default-name", HONOURED, TEXT, "__DEFAULT_PARTITION__", "Folder name of a null or blank partition value.", immutable=True, pattern=_NAME_PART, form=_NAME_FORM),
    Option("partition.legacy-name", HONOURED, BOOL, "true", "Whether folder names use the old text of dates and timestamps (days since 1970).", immutable=True),
    Option("partition.timestamp-pattern", HONOURED, TEXT, None, "How a partition's time follows from its columns, such as $dt $hour:00:00."),
    Option("partition.timestamp-formatter", HONOURED, TEXT, None, "How that text is read as a time, such as yyyyMMdd HH:mm:ss."),
    Option("partition.timestamp-format.strict", REFUSED, BOOL, "false", "Refuses rows whose partition value is not such a time.", "Lakebed does not check it yet; leave it out", readable=True),
    Option("partition.expiration-time", HONOURED, TIME, None, "Age from which a partition goes."),
    Option("partition.expiration-check-interval", HONOURED, TIME, "1 h", "How often writers look for such partitions."),
    Option("partition.expiration-strategy", HONOURED, TEXT, "values-time", "Whether age is told by the partition's value or its last change."),
    Option("partition.expiration-max-num", HONOURED, INT, "100", "Partitions that go at once at most.", low=1),
    Option("partition.expiration-batch-size", HONOURED, INT, None, "Partitions that go in one commit.", low=1),
    Option("partition.end-input-to-done", KEPT, BOOL, "false", "Whether partitions are marked done at the end of a job."),
    Option("partition.idle-time-to-done", KEPT, TIME, None, "Idle time after which Flink marks a partition done."),
    Option("partition.time-interval", KEPT, TIME, None, "The span of time of one partition."),
    Option("partition.mark-done-action", HONOURED, LIST, "success-file", "What marking a partition done does."),
    Option("partition.mark-done-action.mode", KEPT, ENUM, "process-time", "Which clock decides that a partition is done.", values=("process-time", "watermark")),
    Option("partition.mark-done-action.custom.class", KEPT, TEXT, None, "Java class of a custom action."),
    Option("partition.mark-done-action.http.url", KEPT, TEXT, None, "Where to report a done partition."),
    Option("partition.mark-done-action.http.params", KEPT, TEXT, None, "What to report."),
    Option("partition.mark-done.recover-from-state", KEPT, BOOL, "true", "Whether Flink marks partitions again after a restart."),
    Option("partition.idle-time-to-report-statistic", KEPT, TIME, "0 ms", "Idle time after which partition statistics are reported."),
    Option("partition.sink-strategy", KEPT, ENUM, "NONE", "How other writers spread partitions over tasks.", values=("NONE", "HASH", "PARTITION_DYNAMIC")),
    Option("end-input.check-partition-expire", HONOURED, BOOL, "false", "Whether a batch job looks for old partitions at its end."),
)

_READING: Final = (
    Option("scan.snapshot-id", HONOURED, LONG, None, "Reads the table as of this snapshot.", low=1),
    Option("scan.tag-name", HONOURED, TEXT, None, "Reads the table as of this tag."),
    Option("scan.timestamp-millis", HONOURED, LONG, None, "Reads the table as of this time, in milliseconds since 1970.", aliases=("log.scan.timestamp-millis",)),
    Option("scan.timestamp", HONOURED, TEXT, None, "Reads the table as of this local time, such as 2023-12-01 12:00:00."),
    Option("scan.version", HONOURED, TEXT, None, "Reads the table as of this tag or, when there is none, snapshot."),
    Option("scan.mode", HONOURED, ENUM, "default", "Where a read begins; batch reads follow the options above.", _SCAN, values=("default", "latest-full", "full", "latest", "compacted-full", "from-timestamp", "from-creation-timestamp", "from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental"), refused=("compacted-full", "from-creation-timestamp", "from-file-creation-time", "incremental"), aliases=("log.scan",)),
    Option("scan.watermark", HONOURED, LONG, None, "Reads the table as of the first snapshot with at least this watermark."),
    Option("scan.creation-time-millis", REFUSED, LONG, None, "Reads what was created after this time.", _SCAN),
    Option("scan.file-creation-time-millis", REFUSED, LONG, None, "Reads data files created after this time only.", _SCAN),
    Option("scan.bucket", REFUSED, INT, None, "Reads one bucket only.", "Lakebed does not read single buckets; filter by the bucket key"),
    Option("scan.fallback-branch", HONOURED, TEXT, None, "Branch that supplies partitions which this one does not have."),
    Option("scan.primary-branch", HONOURED, TEXT, None, "Branch whose partitions are preferred over this one's."),
    Option("scan.fallback-branch.read-fail-fast", KEPT, BOOL, "false", "Whether an error in the fallback branch ends the read."),
    Option("incremental-between", HONOURED, TEXT, None, "Reads what changed between two snapshots or tags, such as 3,5: after the first, up to the second."),
    Option("incremental-between-timestamp", HONOURED, TEXT, None, "Reads what changed between two times, in milliseconds since 1970 or local."),
    Option("incremental-to-auto-tag", HONOURED, TEXT, None, "Reads what changed from the automatic tag before this one to it."),
    Option("incremental-between-scan-mode", HONOURED, ENUM, "auto", "What such a read looks at: what appends wrote, the changelog, or the difference of the two states; auto: the changelog if there is one, else what appends wrote.", values=("auto", "delta", "changelog", "diff")),
    Option("incremental-between-tag-to-snapshot", HONOURED, BOOL, "false", "Whether tags stand for their snapshots in such a read; else the states of two tags are compared."),
    Option("deletion-vectors.enabled", HONOURED, BOOL, "false", "Marks deleted rows in index files; reads leave them out."),
    Option("deletion-vectors.bitmap64", HONOURED, BOOL, "false", "Whether other engines write the marks in the form that Iceberg shares; Lakebed reads both forms and writes the smaller one."),
    Option("deletion-vectors.merge-on-read", HONOURED, BOOL, "false", "Whether reads of primary-key tables with such marks see files that are not compacted yet."),
    Option("deletion-vectors.modifiable", KEPT, BOOL, "false", "Whether the mode may be switched later."),
    Option("deletion-vector.index-file.target-size", KEPT, SIZE, "2 mb", "Size at which a new index file of marks begins."),
    Option("source.split.target-size", KEPT, SIZE, "128 mb", "How much one task of a read gets."),
    Option("source.split.open-file-cost", KEPT, SIZE, "4 mb", "What opening a file counts for when tasks are packed."),
    Option("scan.ignore-corrupt-files", KEPT, BOOL, "false", "Whether other readers skip damaged files; Lakebed reports them."),
    Option("scan.ignore-lost-files", KEPT, BOOL, "false", "Whether other readers skip missing files; Lakebed reports them."),
    Option("scan.plan-sort-partition", KEPT, BOOL, "false", "Whether files are planned in the order of partitions."),
    Option("scan.plan-auto-tag-for-read.time-retained", KEPT, TIME, None, "How long a tag protects the snapshot that a batch read uses."),
    Option("scan.max-splits-per-task", KEPT, INT, "10", "Splits planned ahead for each task."),
    Option("scan.native-plan.enabled", KEPT, BOOL, "false", "Whether pypaimon plans with native code."),
    Option("batch-scan-mode", KEPT, ENUM, "none", "What an internal job of another engine scans.", values=("none", "compact")),
    Option("read.batch-size", KEPT, INT, "1024", "Rows per batch of other readers."),
    Option("read.native.enabled", KEPT, BOOL, "false", "Whether pypaimon reads with native code."),
    Option("read.parallelism", KEPT, INT, None, "Files that pypaimon reads at once."),
    Option("file-reader-async-threshold", KEPT, SIZE, "10 mb", "Size from which other readers read a file in the background."),
    Option("table-read.sequence-number.enabled", HONOURED, BOOL, "false", "Whether the audit log shows sequence numbers."),
    Option("key-value.sequence_number.enabled", KEPT, BOOL, "false", "Whether internal readers pass sequence numbers on."),
    Option("local-cache.enabled", KEPT, BOOL, "false", "Whether pypaimon caches files on disk."),
    Option("local-cache.*", KEPT, TEXT, None, "Where, how much and what it caches."),
)

_PRIMARY_KEY: Final = (
    Option("merge-engine", HONOURED, ENUM, "deduplicate", "What becomes of rows with the same key.", values=("deduplicate", "partial-update", "aggregation", "first-row"), immutable=True),
    Option("sequence.field", HONOURED, LIST, None, "Columns that tell which of two rows is newer.", immutable=True),
    Option("sequence.field.sort-order", HONOURED, ENUM, "ascending", "Whether the larger or the smaller value is newer.", values=("ascending", "descending")),
    Option("sequence.snapshot-ordering", REFUSED, BOOL, "false", "Makes the later commit win whatever the sequence numbers say.", _PK, immutable=True),
    Option("write.sequence-number-init-mode", REFUSED, ENUM, "scan", "Where a writer takes the next sequence number from.", _PK, values=("scan", "snapshot")),
    Option("rowkind.field", HONOURED, TEXT, None, "Column that says whether a row is +I, -U, +U or -D.", immutable=True),
    Option("ignore-delete", HONOURED, BOOL, "false", "Drops delete rows.", aliases=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete")),
    Option("ignore-update-before", HONOURED, BOOL, "false", "Drops rows that hold the old value of an update."),
    Option("partial-update.remove-record-on-delete", HONOURED, BOOL, "false", "Whether a delete removes the whole row of a partial update.", immutable=True),
    Option("partial-update.remove-record-on-sequence-group", HONOURED, LIST, None, "Sequence groups whose deletes remove the whole row.", immutable=True),
    Option("aggregation.remove-record-on-delete", HONOURED, BOOL, "false", "Whether a delete removes the whole row of an aggregation.", immutable=True),
    Option("fields.default-aggregate-function", HONOURED, TEXT, None, "Aggregate function of columns without one."),
    Option("fields.<column>.aggregate-function", HONOURED, TEXT, None, "Aggregate function of a column."),
    Option("fields.<column>.sequence-group", HONOURED, LIST, None, "Columns that change together, by the named column or columns."),
    Option("fields.<column>.ignore-retract", HONOURED, BOOL, "false", "Whether a column's aggregate takes nothing back."),
    Option("fields.<column>.distinct", HONOURED, BOOL, "false", "Whether a collected list holds each value once."),
    Option("fields.<column>.list-agg-delimiter", HONOURED, TEXT, ",", "What joins the texts of listagg."),
    Option("fields.<column>.nested-key", HONOURED, LIST, None, "Key of the rows inside a nested column."),
    Option("fields.<column>.nested-key-null-strategy", HONOURED, ENUM, "merge", "What becomes of nested rows with a null key.", values=("merge", "ignore", "error")),
    Option("fields.<column>.nested-sequence-field", HONOURED, LIST, None, "Columns that tell which nested row is newer."),
    Option("fields.<column>.count-limit", HONOURED, INT, "2147483647", "Most rows inside a nested column."),
    Option("fields.<column>.ts-field", REFUSED, TEXT, None, "Time inside the values of a merged map.", _PK),
    Option("fields.<column>.default-value", REFUSED, TEXT, None, "Value that old versions show instead of null.", "Lakebed shows what is stored; leave it out and use a column default"),
    Option("record-level.expire-time", REFUSED, TIME, None, "Age from which single rows go.", _PK),
    Option("record-level.time-field", KEPT, TEXT, None, "Column that tells a row's age."),
    Option("record-level.time-field-type", KEPT, TEXT, None, "How old versions read that column."),
    Option("pk-clustering-override", REFUSED, BOOL, "false", "Sorts data files by other columns than the key.", _PK, immutable=True),
    Option("num-levels", HONOURED, INT, None, "Number of levels of a bucket.", low=2),
    Option("num-sorted-run.compaction-trigger", HONOURED, INT, "5", "Sorted runs from which a bucket is compacted.", low=1),
    Option("num-sorted-run.stop-trigger", KEPT, INT, None, "Sorted runs from which writers wait for compaction."),
    Option("sort-engine", KEPT, ENUM, "loser-tree", "How other engines merge sorted runs.", values=("min-heap", "loser-tree")),
    Option("sort-spill-threshold", KEPT, INT, None, "Readers from which a merge spills."),
    Option("sort-spill-buffer-size", KEPT, SIZE, "64 mb", "Memory of a merge that spills."),
    Option("local-sort.max-num-file-handles", KEPT, INT, "128", "Files that a sort on disk keeps open."),
    Option("local-merge-buffer-size", KEPT, SIZE, None, "Memory in which other writers merge rows before the shuffle."),
    Option("local-kv-db.block-size", KEPT, SIZE, "4 kb", "Size of a block of other engines' local key store."),
    Option("cross-partition-upsert.index-ttl", KEPT, TIME, None, "How long other writers remember in which partition a key is."),
    Option("cross-partition-upsert.bootstrap-parallelism", KEPT, INT, "10", "Threads that load those keys."),
)

_COMPACTION: Final = (
    Option("write-only", HONOURED, BOOL, "false", "Whether writers leave compaction and expiry to a job of its own.", aliases=("write.compaction-skip",)),
    Option("full-compaction.delta-commits", HONOURED, INT, None, "Commits after which everything is compacted."),
    Option("compaction.max-size-amplification-percent", HONOURED, INT, "200", "Extra storage from which everything is compacted."),
    Option("compaction.size-ratio", HONOURED, INT, "1", "Slack in percent when sizes of sorted runs are compared."),
    Option("compaction.offpeak-ratio", KEPT, INT, "0", "The same in quiet hours."),
    Option("compaction.offpeak.start.hour", KEPT, INT, "-1", "When quiet hours begin."),
    Option("compaction.offpeak.end.hour", KEPT, INT, "-1", "When quiet hours end."),
    Option("compaction.optimization-interval", KEPT, TIME, None, "How often everything is compacted for the read-optimised table."),
    Option("compaction.total-size-threshold", KEPT, SIZE, None, "Size up to which everything is compacted at once."),
    Option("compaction.incremental-size-threshold", KEPT, SIZE, None, "Size of new data from which everything is compacted."),
    Option("compaction.min.file-num", HONOURED, INT, "5", "Small files of an append table from which they are compacted."),
    Option("compaction.max.file-num", KEPT, INT, None, "The upper bound that old versions had.", aliases=("compaction.early-max.file-num",)),
    Option("compaction.file-num-limit", KEPT, INT, "100000", "Files that one compaction of an append table looks at."),
    Option("compaction.small-file-ratio", HONOURED, FLOAT, "0.7", "Share of the target size below which a file is small."),
    Option("compaction.delete-ratio-threshold", HONOURED, FLOAT, "0.2", "Share of deleted rows from which a file is rewritten."),
    Option("compaction.force-rewrite-all-files", HONOURED, BOOL, "false", "Whether a full compaction rewrites every file."),
    Option("compaction.force-up-level-0", KEPT, BOOL, "false", "Whether every compaction takes all new files."),
    Option("compaction.skip-expired-partitions", KEPT, BOOL, "false", "Whether partitions that are due to go are left out."),
    Option("compaction.bucket-distribution-strategy", KEPT, ENUM, "linear", "How a compaction job spreads buckets over tasks.", values=("linear", "size-aware-batch")),
    Option("force-lookup", HONOURED, BOOL, "false", "Whether compaction always looks older rows up.", immutable=True),
    Option("lookup-compact", KEPT, ENUM, "RADICAL", "How eagerly lookup compaction runs.", values=("RADICAL", "GENTLE")),
    Option("lookup-compact.max-interval", KEPT, INT, None, "Longest pause of the gentle mode."),
    Option("lookup-wait", KEPT, BOOL, "true", "Whether a commit waits for lookup compaction.", aliases=("changelog-producer.lookup-wait",)),
    Option("clustering.columns", KEPT, LIST, None, "Columns by which other engines sort append tables.", aliases=("sink.clustering.by-columns",)),
    Option("clustering.strategy", KEPT, TEXT, "auto", "Order of that sort.", aliases=("sink.clustering.strategy",)),
    Option("clustering.incremental", KEPT, BOOL, "false", "Whether that sort works step by step."),
    Option("clustering.incremental.mode", KEPT, ENUM, "global-sort", "Whether it sorts over files or inside them.", values=("global-sort", "local-sort")),
    Option("clustering.incremental.optimize-write", KEPT, BOOL, "false", "Whether rows are sorted before they are written."),
    Option("clustering.history-partition.idle-to-full-sort", KEPT, TIME, None, "Idle time after which a partition is sorted as a whole."),
    Option("clustering.history-partition.limit", KEPT, INT, "5", "Such partitions at once."),
    Option("sort-compaction.range-strategy", KEPT, ENUM, "SIZE", "How a sorting job cuts ranges.", values=("SIZE", "QUANTITY")),
    Option("sort-compaction.local-sample.magnification", KEPT, INT, "1000", "Samples that it takes per task."),
    Option("zorder.var-length-contribution", KEPT, INT, "8", "Bytes of a text that count in z-order."),
)

_STREAMING: Final = (
    Option("changelog-producer", HONOURED, ENUM, "none", "Who writes changelog files.", values=("none", "input", "full-compaction", "lookup")),
    Option("changelog-producer.row-deduplicate", HONOURED, BOOL, "false", "Whether updates that change nothing are left out of the changelog."),
    Option("changelog-producer.row-deduplicate-ignore-fields", HONOURED, LIST, None, "Columns that do not count as a change."),
    Option("changelog-producer.compaction-interval", KEPT, TIME, "0 ms", "How often old versions compact for the changelog."),
    Option("changelog-file.format", REFUSED, ENUM, None, "Format of changelog files.", "Lakebed writes Parquet only; leave it out", values=("parquet", "orc", "avro"), accepted=("parquet",), readable=True),
    Option("changelog-file.compression", KEPT, TEXT, None, "Codec of changelog files."),
    Option("delete.force-produce-changelog", KEPT, BOOL, "false", "Whether SQL DELETE writes a changelog."),
    Option("streaming-read-overwrite", HONOURED, BOOL, "false", "Whether streams see what an overwrite changed."),
    Option("streaming-read-append-overwrite", HONOURED, BOOL, "false", "The same for append tables."),
    Option("streaming-read-mode", KEPT, TEXT, None, "Whether old versions stream from files or a log."),
    Option("stream-scan-mode", KEPT, ENUM, "none", "What an internal streaming job scans.", values=("none", "compact-bucket-table", "file-monitor")),
    Option("streaming.read.snapshot.delay", KEPT, TIME, None, "How old a snapshot is before streams read it."),
    Option("continuous.discovery-interval", KEPT, TIME, "10 s", "How often streams look for new snapshots."),
    Option("scan.bounded.watermark", KEPT, LONG, None, "Watermark at which a bounded stream ends."),
    Option("log.*", KEPT, TEXT, None, "Settings of the log that old versions could write to."),
    Option("kafka.*", KEPT, TEXT, None, "Settings of that log in Kafka."),
)

_BUCKETS: Final = (
    Option("dynamic-bucket.target-row-num", HONOURED, LONG, "2000000", "Rows at which a new bucket begins.", low=1),
    Option("dynamic-bucket.target-size", HONOURED, SIZE, None, "Lakebed's own: size at which a new bucket begins.", low=1),
    Option("dynamic-bucket.initial-buckets", HONOURED, INT, None, "Buckets that a partition begins with.", low=1, immutable=True),
    Option("dynamic-bucket.max-buckets", HONOURED, INT, "-1", "Most buckets of a partition; -1: no limit.", pattern=r"-1|\+?0*[1-9][0-9]*", form="-1 or a positive number"),
    Option("dynamic-bucket.assigner-parallelism", HONOURED, INT, None, "Tasks that assign buckets.", low=1),
    Option("postpone.default-bucket-num", KEPT, INT, "1", "Buckets that a partition gets at its first compaction."),
    Option("postpone.batch-write-fixed-bucket", KEPT, BOOL, "true", "Whether batch jobs write into buckets at once."),
    Option("postpone.batch-write-fixed-bucket.max-parallelism", KEPT, INT, "2048", "Most tasks of such a job."),
    Option("postpone.merge-on-read", KEPT, BOOL, "false", "Whether reads see rows without a bucket."),
    Option("postpone.target-row-num-per-bucket", KEPT, LONG, None, "Rows that a bucket should get."),
    Option("postpone.target-size-per-bucket", KEPT, SIZE, "1 gb", "Bytes that a bucket should get."),
)

_CHAINS: Final = (
    Option("chain-table.enabled", HONOURED, BOOL, "false", "Reads full and changed partitions of two branches as one table."),
    Option("chain-table.chain-partition-keys", HONOURED, LIST, None, "Partition columns that make the chain; the ones before them are its group."),
    Option("chain-table.split.key-range-enabled", KEPT, BOOL, "true", "Whether a bucket of a chain is read in key ranges."),
    Option("chain-table.streaming.merge-snapshot", HONOURED, BOOL, "false", "Whether a stream begins with the merged state."),
    Option("chain-table.gap-read", HONOURED, ENUM, "carry", "Lakebed's own: whether a day without changes shows the day before.", values=("carry", "strict")),
    Option("scan.fallback-snapshot-branch", HONOURED, TEXT, None, "Branch of the full partitions of a chain table."),
    Option("scan.fallback-delta-branch", HONOURED, TEXT, None, "Branch of the changed partitions of a chain table."),
)

_ROW_IDENTITY: Final = (
    Option("row-tracking.enabled", REFUSED, BOOL, "false", "Gives every row an id.", _ROW_IDS, immutable=True),
    Option("row-tracking.partition-group-on-commit", KEPT, BOOL, "true", "Whether ids of one commit run on inside a partition."),
    Option("data-evolution.enabled", REFUSED, BOOL, "false", "Keeps columns of one row in several files.", _ROW_IDS, immutable=True),
    Option("data-evolution.*", KEPT, TEXT, None, "Settings of such tables."),
    Option("blob-field", REFUSED, LIST, None, "Columns stored as blobs.", _TYPES, immutable=True),
    Option("blob-descriptor-field", REFUSED, LIST, None, "Columns stored as references to blobs.", _TYPES, aliases=("blob.stored-descriptor-fields",), immutable=True),
    Option("blob-view-field", REFUSED, LIST, None, "Columns that show blobs of other tables.", _TYPES, immutable=True),
    Option("blob-external-storage-field", REFUSED, LIST, None, "Columns whose blobs are stored elsewhere.", _TYPES),
    Option("blob-external-storage-path", KEPT, TEXT, None, "Where they are stored."),
    Option("video-frame-field", REFUSED, LIST, None, "Columns that hold frames of videos.", _TYPES, immutable=True),
    Option("blob-as-descriptor", KEPT, BOOL, "false", "Whether blobs are passed as references."),
    Option("blob-compaction.enabled", KEPT, BOOL, "false", "Whether blob files are compacted."),
    Option("blob-view.resolve.enabled", KEPT, BOOL, "true", "Whether reads follow references to other tables."),
    Option("blob-write-null-on-fetch-failure", KEPT, BOOL, "false", "Whether a blob that cannot be fetched becomes null."),
    Option("blob-write-null-on-missing-file", KEPT, BOOL, "false", "Whether a blob whose file is missing becomes null."),
    Option("blob.copy-buffer-size", KEPT, SIZE, "4 kb", "Buffer for copying blobs."),
    Option("blob.split-by-file-size", KEPT, BOOL, None, "Whether blobs count when tasks are packed."),
    Option("blob.target-file-size", KEPT, SIZE, None, "Size at which a new blob file begins."),
    Option("blob-descriptor.*", KEPT, TEXT, None, "Settings for fetching blobs."),
    Option("vector-field", REFUSED, LIST, None, "Array columns stored as vectors.", _TYPES),
    Option("vector.file.format", KEPT, TEXT, None, "Format of vector files."),
    Option("vector.target-file-size", KEPT, SIZE, None, "Size at which a new vector file begins."),
    Option("vector-search.distribute.enabled", KEPT, BOOL, "false", "Whether vector searches are spread over tasks."),
    Option("vector-search.lateral-join.batch-size", KEPT, INT, "256", "Vectors searched at once in a join."),
    Option("vector-search.lateral-join.parallelism", KEPT, INT, "16", "Tasks of such a join."),
    Option("fields.<column>.map.storage-layout", REFUSED, TEXT, "default", "How a map column is laid out in files.", _TYPES),
    Option("fields.<column>.map.shared-shredding.max-columns", KEPT, INT, "256", "Most columns that a map is spread over."),
    Option("fields.<column>.map.shared-shredding.column-placement-policy", KEPT, TEXT, "lru", "Which key of a map gets which column."),
    Option("variant.inferShreddingSchema", KEPT, BOOL, "false", "Whether variant columns are split by what is in them."),
    Option("variant.shreddingSchema", KEPT, TEXT, None, "How variant columns are split.", aliases=("parquet.variant.shreddingSchema",)),
    Option("variant.shredding.*", KEPT, TEXT, None, "Limits of that splitting."),
    Option("global-index.external-path", REFUSED, TEXT, None, "Where global indexes are stored.", "Lakebed keeps index files in the table's index folder; leave it out"),
    Option("global-index.enabled", KEPT, BOOL, "true", "Whether other readers use global indexes; Lakebed reads the rows."),
    Option("global-index.search-mode", KEPT, ENUM, None, "Whether searches look at rows that are not indexed yet.", values=("fast", "full", "detail")),
    Option("scalar-index.search-mode", KEPT, ENUM, "fast", "The same for scalar indexes.", values=("fast", "full", "detail")),
    Option("vector-index.search-mode", KEPT, ENUM, "fast", "The same for vector indexes.", values=("fast", "full", "detail")),
    Option("full-text-index.search-mode", KEPT, ENUM, "fast", "The same for text indexes.", values=("fast", "full", "detail")),
    Option("global-index.column-update-action", KEPT, ENUM, "THROW_ERROR", "What other writers do when an indexed column changes.", values=("THROW_ERROR", "DROP_PARTITION_INDEX", "IGNORE")),
    Option("global-index.*", KEPT, TEXT, None, "Settings for building and reading global indexes."),
    Option("pk-btree.index.columns", REFUSED, LIST, None, "Columns of a B-tree index on a primary-key table.", _INDEX, readable=True),
    Option("pk-bitmap.index.columns", REFUSED, LIST, None, "Columns of a bitmap index on a primary-key table.", _INDEX, readable=True),
    Option("pk-vector.index.columns", REFUSED, LIST, None, "Columns of a vector index on a primary-key table.", _INDEX, readable=True),
    Option("pk-full-text.index.columns", REFUSED, LIST, None, "Columns of a text index on a primary-key table.", _INDEX, readable=True),
    Option("sorted-index.*", KEPT, TEXT, None, "Settings of sorted global indexes."),
    Option("btree-index.*", KEPT, TEXT, None, "Settings of B-tree global indexes."),
    Option("bitmap-index.*", KEPT, TEXT, None, "Settings of bitmap global indexes."),
    Option("lumina.*", KEPT, TEXT, None, "Settings of Lumina vector indexes."),
)

_FLINK: Final = (
    Option("sink.parallelism", KEPT, INT, None, "Writer tasks of a Flink job."),
    Option("sink.writer-cpu", KEPT, FLOAT, "1.0", "Cores of a writer task."),
    Option("sink.writer-memory", KEPT, SIZE, None, "Memory of a writer task."),
    Option("sink.writer-refresh-detectors", KEPT, LIST, None, "Options that a running writer reloads."),
    Option("sink.writer-coordinator.enabled", KEPT, BOOL, "false", "Whether the job manager plans files for writers."),
    Option("sink.writer-coordinator.*", KEPT, TEXT, None, "Cache and page size of that planning."),
    Option("sink.committer-cpu", KEPT, FLOAT, "1.0", "Cores of the committer."),
    Option("sink.committer-memory", KEPT, SIZE, None, "Memory of the committer."),
    Option("sink.committer-operator-chaining", KEPT, BOOL, "true", "Whether writer and committer may share a task."),
    Option("sink.coordinator-commit.enabled", KEPT, BOOL, "false", "Whether the job manager commits."),
    Option("sink.cross-partition.managed-memory", KEPT, SIZE, "256 mb", "Memory of the index for updates across partitions."),
    Option("sink.key-only-deletes.enabled", KEPT, BOOL, "false", "Whether deletes may hold the key only."),
    Option("sink.managed.writer-buffer-memory", KEPT, SIZE, "256 mb", "Managed memory of a writer's buffer."),
    Option("sink.use-managed-memory-allocator", KEPT, BOOL, "false", "Whether writers use managed memory."),
    Option("sink.operator-uid.suffix", KEPT, TEXT, None, "Suffix of the ids of writing operators."),
    Option("sink.savepoint.auto-tag", KEPT, BOOL, "false", "Whether a savepoint makes a tag."),
    Option("sink.process-time-zone", KEPT, TEXT, None, "Time zone of automatic tags."),
    Option("sink.watermark-time-zone", KEPT, TEXT, "UTC", "Time zone of watermarks."),
    Option("sink.clustering.sample-factor", KEPT, INT, "100", "Samples per task for clustering."),
    Option("sink.clustering.sort-in-cluster", KEPT, BOOL, "true", "Whether each task sorts what it got."),
    Option("source.operator-uid.suffix", KEPT, TEXT, None, "Suffix of the ids of reading operators."),
    Option("source.checkpoint-align.enabled", KEPT, BOOL, "false", "Whether checkpoints wait for a snapshot."),
    Option("source.checkpoint-align.timeout", KEPT, TIME, "30 s", "How long they wait."),
    Option("scan.parallelism", KEPT, INT, None, "Reader tasks of a Flink job."),
    Option("scan.infer-parallelism", KEPT, BOOL, "true", "Whether their number follows from the data."),
    Option("scan.infer-parallelism.max", KEPT, INT, "1024", "Most such tasks."),
    Option("scan.partitions", KEPT, TEXT, None, "Partitions that Flink reads.", aliases=("lookup.dynamic-partition",)),
    Option("scan.bounded", KEPT, BOOL, None, "Whether Flink's read ends."),
    Option("scan.dedicated-split-generation", KEPT, BOOL, "false", "Whether a task of its own plans."),
    Option("scan.split-enumerator.batch-size", KEPT, INT, "10", "Splits handed out at once."),
    Option("scan.split-enumerator.mode", KEPT, ENUM, "fair", "How splits are handed out.", values=("fair", "preemptive")),
    Option("scan.max-snapshot.count", KEPT, INT, "-1", "Snapshots read per checkpoint."),
    Option("scan.remove-normalize", KEPT, BOOL, "false", "Whether Flink leaves out its normalising step.", aliases=("log.scan.remove-normalize",)),
    Option("scan.watermark.alignment.group", KEPT, TEXT, None, "Sources whose watermarks are aligned."),
    Option("scan.watermark.alignment.max-drift", KEPT, TIME, None, "How far they may drift apart."),
    Option("scan.watermark.alignment.update-interval", KEPT, TIME, "1 s", "How often they are compared."),
    Option("scan.watermark.emit.strategy", KEPT, ENUM, "on-event", "When watermarks are sent.", values=("on-periodic", "on-event")),
    Option("scan.watermark.idle-timeout", KEPT, TIME, None, "Idle time after which a source no longer counts."),
    Option("read.shuffle-bucket-with-partition", KEPT, BOOL, "true", "Whether reads are spread by partition and bucket.", aliases=("streaming-read.shuffle-bucket-with-partition",)),
    Option("precommit-compact", KEPT, BOOL, "false", "Whether small files are joined before the commit.", aliases=("changelog.precommit-compact",)),
    Option("changelog.precommit-compact.buffer-size", KEPT, SIZE, "128 mb", "Buffer for joining them."),
    Option("changelog.precommit-compact.thread-num", KEPT, INT, None, "Threads for joining them."),
    Option("unaware-bucket.compaction.parallelism", KEPT, INT, None, "Tasks that compact append tables."),
    Option("unaware-bucket.no-shuffle", KEPT, BOOL, "false", "Whether change capture writes append tables without a shuffle."),
    Option("end-input.watermark", KEPT, LONG, None, "Watermark at the end of a batch job."),
    Option("filesystem.job-level-settings.enabled", KEPT, BOOL, "true", "Whether a job's file system settings are passed on."),
    Option("lookup.cache", KEPT, ENUM, "AUTO", "What a lookup join keeps.", values=("AUTO", "FULL", "MEMORY")),
    Option("lookup.*", KEPT, TEXT, None, "Settings of lookup joins and of lookup compaction."),
    Option("rocksdb.*", KEPT, TEXT, None, "Settings of RocksDB in lookup joins."),
    Option("materialized-table.*", KEPT, TEXT, None, "What Flink notes about a materialised table."),
)

_SPARK: Final = (
    Option("write.merge-schema", HONOURED, BOOL, "false", "Whether Spark adds columns that the data has and the table has not."),
    Option("write.merge-schema.explicit-cast", KEPT, BOOL, "false", "Whether it may narrow types too."),
    Option("write.merge-schema.type-widening", HONOURED, BOOL, "false", "Whether it may widen types too."),
    Option("write.use-v2-write", KEPT, BOOL, "false", "Whether Spark writes through its second data source API."),
    Option("write.hive-style-dynamic-partition.enabled", KEPT, BOOL, "false", "Whether inserts order columns as Hive does."),
    Option("write.data-evolution.*", KEPT, TEXT, None, "How often Spark tries an update again."),
    Option("read.changelog", HONOURED, BOOL, "false", "Whether Spark shows the row kind."),
    Option("read.allow.fullScan", KEPT, BOOL, "true", "Whether Spark may read all partitions."),
    Option("read.stream.maxBytesPerTrigger", HONOURED, LONG, None, "Most bytes of a streaming batch."),
    Option("read.stream.maxFilesPerTrigger", HONOURED, INT, None, "Most files of a streaming batch."),
    Option("read.stream.maxRowsPerTrigger", HONOURED, LONG, None, "Most rows of a streaming batch."),
    Option("read.stream.minRowsPerTrigger", KEPT, LONG, None, "Fewest rows of a streaming batch."),
    Option("read.stream.maxTriggerDelayMs", KEPT, LONG, None, "Longest wait for them."),
    Option("source.split.target-size-with-column-pruning", KEPT, BOOL, "false", "Whether tasks are packed by the columns that are read."),
    Option("scan.preserve-data-grouping", KEPT, BOOL, "false", "Whether Spark is told about buckets."),
    Option("legacy-timestamp-mapping.enabled", KEPT, BOOL, "false", "Whether Spark shows timestamps with its older type."),
    Option("requiredSparkConfsCheck.enabled", KEPT, BOOL, "true", "Whether Spark's settings are checked at the start."),
)

_OTHERS: Final = (
    Option("metadata.iceberg.storage", REFUSED, ENUM, "disabled", "Whether each commit writes Iceberg metadata too, and where.", "Lakebed writes no Iceberg metadata, so Iceberg readers would miss its commits; leave it out", values=("disabled", "table-location", "hadoop-catalog", "hive-catalog", "rest-catalog"), readable=True),
    Option("metadata.iceberg-compatible", REFUSED, BOOL, "false", "The same in old versions.", "Lakebed writes no Iceberg metadata, so Iceberg readers would miss its commits; leave it out", readable=True),
    Option("metadata.iceberg.*", KEPT, TEXT, None, "Settings of that metadata."),
    Option("metastore.partitioned-table", KEPT, BOOL, "false", "Whether Hive's metastore lists the partitions."),
    Option("metastore.tag-to-partition", KEPT, TEXT, None, "Column under which Hive sees tags as partitions."),
    Option("metastore.tag-to-partition.preview", KEPT, ENUM, "none", "Whether Hive sees tags to come.", values=("none", "process-time", "watermark", "batch")),
)
# fmt: on

SECTIONS: Final = (
    Section("The table and where it is", _LAYOUT),
    Section("Data files", _FILES),
    Section("Statistics and file indexes", _STATS),
    Section("Manifests", _MANIFESTS),
    Section("Commits", _COMMIT),
    Section("Snapshots, tags and consumers", _HISTORY),
    Section("Partitions", _PARTITIONS),
    Section("Reading and time travel", _READING),
    Section("Primary-key tables", _PRIMARY_KEY),
    Section("Compaction and clustering", _COMPACTION),
    Section("Changelogs and streams", _STREAMING),
    Section("Dynamic and postponed buckets", _BUCKETS),
    Section("Chain tables", _CHAINS),
    Section("Row ids, blobs, vectors, variants and global indexes", _ROW_IDENTITY),
    Section("Flink", _FLINK),
    Section("Spark", _SPARK),
    Section("Iceberg and Hive", _OTHERS),
)
