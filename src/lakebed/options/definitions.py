"""The table of options: every option once, as data that :mod:`lakebed.options` searches, checks and prints.

A row says what an option means and what Lakebed does with it:

* ``HONOURED``: Lakebed acts on it. :class:`~lakebed.options.TableOptions` has an attribute for it, unless ``accepted``
  allows one value only.
* ``KEPT``: Lakebed stores it for other engines and never reads it.
* ``REFUSED``: it would change what the data means, and Lakebed does not support that.

Names, types and defaults are those of Apache Paimon (releases 0.9 to 2.1, the Flink and Spark connectors,
pypaimon 2.1). Where Lakebed behaves differently without the option, the default is None and ``unset`` describes the
behaviour. Values are strings, written as a schema file stores them.

In a name, ``<column>`` or ``<class>`` stands for any text and a trailing ``*`` for any rest. Exact names take
precedence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from lakebed.options.stats_mode import STATS_FORM, STATS_MODE


class Kind(Enum):
    """The type of an option's value."""

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

    ``accepted`` are the only values that Lakebed supports (for a MAP: of its entries). ``refused`` are values that it
    does not support. A REFUSED option without either accepts its default only. ``why`` is the reason, and what to do
    instead. ``readable``: a table with an unsupported value may still be read. ``immutable`` options cannot change
    once a table has snapshots, ``create_only`` options never. ``aliases`` are other names of the same option. ``low``
    and ``high`` limit a number. ``pattern`` limits a text, and ``form`` describes that pattern in messages. ``unset``
    describes what happens if an option without a default is not set.
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
    """One section of the docs page."""

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

# One option per line, like the rows of a table.
# fmt: off
_LAYOUT: Final = (
    Option("type", HONOURED, ENUM, "table", "The kind of table.", "Lakebed supports ordinary tables only; open it with the engine that made it", values=("table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table"), accepted=("table",), immutable=True),
    Option("path", REFUSED, TEXT, None, "A location of the table outside its database.", "Lakebed stores every table below its database; leave it out", readable=True, create_only=True),
    Option("branch", HONOURED, TEXT, "main", "The branch that is read and written.", pattern=r"\S.*", form="the name of a branch"),
    Option("bucket", HONOURED, INT, "-1", "Number of buckets of each partition. -1: no buckets (append tables), or dynamic buckets, as many as needed (primary-key tables).", "Lakebed does not support postponed buckets; use -1 (dynamic buckets) or a positive number", pattern=r"-[12]|\+?0*[1-9][0-9]*", form="-1 (dynamic: as many buckets as needed) or a positive number", refused=("-2",)),
    Option("bucket-key", HONOURED, LIST, None, "Columns whose hash decides the bucket of a row. Names are split at commas and not trimmed.", immutable=True, unset="the primary key without partition columns"),
    Option("bucket-function.type", HONOURED, ENUM, "default", "The function that computes the bucket from the bucket key.", values=("default", "mod", "hive"), immutable=True),
    Option("bucket-append-ordered", KEPT, BOOL, "true", "Whether a compaction keeps the order of rows in a bucket of an append table."),
    Option("primary-key", REFUSED, LIST, None, "The primary key, given as an option.", _KEY_ARGUMENT, aliases=("primary_key",), create_only=True),
    Option("partition", REFUSED, LIST, None, "The partition columns, given as an option.", _KEY_ARGUMENT, create_only=True),
    Option("primary-key.nullable", REFUSED, BOOL, "false", "Whether columns of the primary key may hold nulls.", _PK, immutable=True),
    Option("data-file.path-directory", HONOURED, TEXT, None, "A directory between the table and its partition directories.", immutable=True, pattern=r"(?!/)(?!(?:.*/)?\.\.(?:/|$)).*\S.*", form="a relative path without '..'"),
    Option("data-file.external-paths", REFUSED, LIST, None, "Locations outside the table where data files are written.", "Lakebed writes data files below the table only; leave it out, or write to this table with Apache Paimon", readable=True),
    Option("data-file.external-paths.strategy", KEPT, ENUM, "none", "How a writer chooses one of the external paths.", values=("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin")),
    Option("data-file.external-paths.specific-fs", KEPT, TEXT, None, "The file system of the external paths that writers use."),
    Option("data-file.external-paths.weights", KEPT, LIST, None, "Weights of the external paths."),
    Option("index-file-in-data-file-dir", REFUSED, BOOL, "false", "Whether index files are stored in the directory of their bucket.", "Lakebed keeps index files in the table's index folder; leave it out", immutable=True),
    Option("auto-create", KEPT, BOOL, "false", "Whether an engine creates the storage of a table that does not exist."),
    Option("query-auth.enabled", REFUSED, BOOL, "false", "Whether readers ask the catalog which rows and columns a user may read.", "Lakebed cannot ask the catalog for permissions; read this table through the catalog's own engine"),
    Option("upsert-key", REFUSED, LIST, None, "Columns by which an INSERT into an append table becomes a MERGE.", "Lakebed would append duplicates; leave it out and merge explicitly", readable=True),
    Option("add-column-before-partition", HONOURED, BOOL, "false", "Whether a new column without a position is added before the partition columns. Otherwise it is added at the end."),
    Option("alter-column-null-to-not-null.disabled", KEPT, BOOL, "true", "Whether other engines forbid NOT NULL on a nullable column; Lakebed always does."),
    Option("disable-explicit-type-casting", KEPT, BOOL, "false", "Whether other engines forbid changing a column to a narrower type; Lakebed always does."),
    Option("owner", KEPT, TEXT, None, "The owner of the table, as recorded by engines."),
    Option("provider", KEPT, TEXT, None, "The data source, as recorded by Spark."),
    Option("connector", KEPT, TEXT, None, "The connector, as recorded by Flink."),
    Option("lock.enabled", KEPT, BOOL, None, "Whether a lock of the catalog guards commits; Lakebed creates the snapshot file exclusively instead."),
    Option("lock.type", KEPT, TEXT, None, "The type of the catalog's lock."),
)

_NO_CODECS: Final = ("brotli", "lzo", "xz")
_CODECS: Final = (
    *("zstd", "snappy", "gzip", "lz4", "lz4_raw", "none", "uncompressed", "zlib", "deflate", "bzip2", "null"),
    *_NO_CODECS,
)

_FILES: Final = (
    Option("file.format", HONOURED, ENUM, "parquet", "Format of new data files.", "Lakebed writes Parquet, ORC and Avro only; set it to one of them, or write with Apache Paimon", values=("parquet", "orc", "avro", "csv", "json", "text", "lance", "mosaic", "vortex", "row"), accepted=("parquet", "orc", "avro"), readable=True),
    Option("file.format.per.level", HONOURED, MAP, "", "Format of new data files of primary-key tables by level, such as 0:avro,5:parquet.", "Lakebed writes Parquet, ORC and Avro only; use parquet, orc or avro for each level", accepted=("parquet", "orc", "avro"), readable=True),
    Option("file.compression", HONOURED, ENUM, "zstd", "Codec of new data files. Parquet has zstd, snappy, gzip, lz4, lz4_raw and none; ORC has zstd, snappy, lz4, zlib and none; Avro has zstd, snappy, deflate, bzip2 and null.", "Lakebed cannot write data files with it so that every reader can read them; use zstd", values=_CODECS, refused=_NO_CODECS, readable=True),
    Option("file.compression.zstd-level", HONOURED, INT, "1", "Compression level of zstd, for data files and manifests.", low=0, high=22),
    Option("file.compression.per.level", HONOURED, MAP, "", "Codec of new data files of primary-key tables by level, such as 0:lz4,1:zstd.", "Lakebed cannot write data files with it so that every reader can read them; use zstd", accepted=_CODECS[: -len(_NO_CODECS)], readable=True),
    Option("file.block-size", HONOURED, SIZE, None, "Size of a row group (Parquet) or stripe (ORC). Takes precedence over parquet.block.size.", low=1, unset="parquet.block.size, or 128 mb"),
    Option("file.suffix.include.compression", HONOURED, BOOL, "false", "Whether names of data files contain the codec."),
    Option("target-file-size", HONOURED, SIZE, None, "Size at which a writer begins a new data file.", low=1, unset="128 mb with a primary key, 256 mb without"),
    Option("target-file-row-num", KEPT, LONG, "9223372036854775807", "Number of rows at which other writers begin a new data file."),
    Option("data-file.prefix", HONOURED, TEXT, "data-", "Prefix of the names of data files.", pattern=_NAME_PART, form=_NAME_FORM),
    Option("changelog-file.prefix", HONOURED, TEXT, "changelog-", "Prefix of the names of changelog files.", pattern=_NAME_PART, form=_NAME_FORM),
    Option("data-file.thin-mode", HONOURED, BOOL, "false", "Whether data files omit the separate key columns, which repeat columns of the table."),
    Option("parquet.block.size", HONOURED, LONG, None, "Size of a row group in bytes.", low=1, unset="128 mb"),
    Option("parquet.enable.dictionary", KEPT, TEXT, None, "Whether other writers use dictionary encoding in Parquet."),
    Option("parquet.filter.columnindex.enabled", KEPT, BOOL, "true", "Whether other readers skip pages by Parquet's page index."),
    Option("parquet.write-page-index.enabled", KEPT, BOOL, None, "Whether pypaimon writes Parquet's page index."),
    Option("parquet.*", KEPT, TEXT, None, "Settings of other Parquet readers and writers."),
    Option("orc.column.encoding.direct", KEPT, TEXT, None, "ORC columns without dictionary encoding."),
    Option("orc.dictionary.key.threshold", KEPT, FLOAT, "0.8", "Share of distinct values up to which ORC uses dictionary encoding."),
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
    Option("write-buffer-size", HONOURED, SIZE, "256 mb", "Bytes of rows that a Spark task of Lakebed holds before it sorts them to disk, and that other writers hold before they write a file."),
    Option("write-buffer-spillable", KEPT, BOOL, "true", "Whether other writers spill their buffer to disk."),
    Option("write-buffer-spill.max-disk-size", KEPT, SIZE, "9223372036854775807 bytes", "Maximum disk space for spilled buffers."),
    Option("write-buffer-for-append", KEPT, BOOL, "false", "Whether other writers buffer rows of append tables."),
    Option("write-max-writers-to-spill", KEPT, INT, "10", "Number of open writers above which other engines spill."),
    Option("spill-compression", KEPT, TEXT, "zstd", "Codec of spilled data."),
    Option("spill-compression.zstd-level", KEPT, INT, "1", "Level of zstd for spilled data."),
    Option("page-size", KEPT, SIZE, "64 kb", "Size of a memory page in other engines."),
    Option("cache-page-size", KEPT, SIZE, "64 kb", "Size of a cache page in other engines."),
    Option("file-operation.thread-num", KEPT, INT, None, "Threads that other engines use for file operations.", aliases=("delete-file.thread-num",)),
    Option("write.native.enabled", KEPT, BOOL, "false", "Whether pypaimon writes with native code."),
    Option("format-table.commit-hive-sync-url", KEPT, TEXT, None, "Where commits to a format table are reported to Hive."),
    Option("format-table.file.compression", KEPT, TEXT, None, "Codec of files of a format table."),
    Option("format-table.implementation", KEPT, ENUM, "paimon", "Whether Paimon or the engine reads and writes format tables.", values=("paimon", "engine")),
    Option("format-table.partition-path-only-value", KEPT, BOOL, "false", "Whether partition directories of a format table contain values only."),
    Option("format-table.scan.list-parallelism", KEPT, INT, "64", "Directory listings of a format table that run at the same time."),
    Option("format-table.repair.collect-statistics", KEPT, BOOL, "false", "Whether Spark collects statistics of partitions that a repair finds."),
    Option("format-table.statistics.parallelism", KEPT, INT, "8", "Partitions of a format table whose statistics Spark collects at the same time."),
)

_STATS: Final = (
    Option("metadata.stats-mode", HONOURED, TEXT, "truncate(16)", "Which statistics of a column are stored in the manifests.", pattern=STATS_MODE, form=STATS_FORM),
    Option("metadata.stats-mode.per.level", HONOURED, MAP, "", "Statistics mode of files by level, such as 0:none.", pattern=STATS_MODE, form=STATS_FORM),
    Option("fields.<column>.stats-mode", HONOURED, TEXT, None, "Statistics mode of one column. Takes precedence over the modes of the table.", pattern=STATS_MODE, form=STATS_FORM),
    Option("metadata.stats-keep-first-n-columns", HONOURED, INT, "-1", "Number of columns that have statistics, counted from the first one. -1: all columns.", low=-1),
    Option("metadata.stats-dense-store", HONOURED, BOOL, "true", "Whether columns without statistics take no space in the manifests."),
    Option("changelog-file.stats-mode", KEPT, TEXT, None, "Statistics mode of changelog files."),
    Option("file-index.read.enabled", KEPT, BOOL, "true", "Whether other readers skip files by file indexes."),
    Option("file-index.in-manifest-threshold", KEPT, SIZE, "500 bytes", "Size up to which other writers store a file index in the manifest."),
    Option("file-index.*", KEPT, TEXT, None, "Columns and settings of file indexes that other writers create; Lakebed creates none."),
)

_MANIFESTS: Final = (
    Option("manifest.format", HONOURED, ENUM, "avro", "Format of manifests.", "manifests are Avro files; leave it out", values=("avro", "parquet", "orc"), accepted=("avro",)),
    Option("manifest.compression", HONOURED, ENUM, "zstd", "Codec of manifests.", "Apache Paimon cannot write manifests with it; use null for none", values=("zstd", "zstandard", "snappy", "deflate", "bzip2", "null", "none", "uncompressed", "xz"), refused=("none", "uncompressed", "xz"), readable=True),
    Option("manifest.target-file-size", HONOURED, SIZE, "8 mb", "Size at which a writer begins a new manifest.", aliases=("paimon.manifest.target-file-size",), low=1),
    Option("manifest.merge-min-count", HONOURED, INT, "30", "Number of small manifests from which a commit merges them.", aliases=("paimon.manifest.merge-min-count",)),
    Option("manifest.full-compaction-threshold-size", HONOURED, SIZE, "16 mb", "Total size of small manifests, and of manifests with deletes, from which manifest.compaction.mode ASYNC rewrites all manifests. Commits of mode AUTO never do, so that the work of a commit is bounded; compact_manifests() always does.", aliases=("paimon.manifest.full-compaction-threshold-size",)),
    Option("manifest.merge-optimize.enabled", KEPT, BOOL, None, "Whether other engines use the faster algorithm to merge manifests."),
    Option("manifest.delete-file-drop-stats", KEPT, BOOL, "false", "Whether manifest entries of deleted files omit statistics."),
    Option("manifest.sidecar.enabled", KEPT, BOOL, None, "Whether pypaimon writes sidecar files of manifests."),
    Option("manifest.compaction.mode", HONOURED, ENUM, "AUTO", "Lakebed only: who merges manifests. AUTO: commits; ASYNC: a background thread; MANUAL: compact_manifests() only.", values=("AUTO", "MANUAL", "ASYNC"), aliases=("paimon.manifest.compaction.mode",)),
    Option("manifest.compaction.min-delta-count", HONOURED, INT, "10", "Lakebed only: number of manifests from which a merge that is due by manifest.compaction.interval-commits runs.", aliases=("paimon.manifest.compaction.min-delta-count",), low=1),
    Option("manifest.compaction.max-delta-count", HONOURED, INT, "50", "Lakebed only: number of small manifests from which a commit merges them, if it is smaller than manifest.merge-min-count.", aliases=("paimon.manifest.compaction.max-delta-count",), low=1),
    Option("manifest.compaction.interval-commits", HONOURED, INT, "100", "Lakebed only: number of commits after which manifests are merged, even if there are few.", aliases=("paimon.manifest.compaction.interval-commits",), low=1),
    Option("manifest.compaction.async.threads", HONOURED, INT, "2", "Lakebed only: background threads that merge manifests.", aliases=("paimon.manifest.compaction.async.threads",), low=1),
    Option("manifest.cache.max-size", KEPT, SIZE, None, "Lakebed only: memory for decoded manifests. An option of the warehouse: pass it to lakebed.connect(). Refused on a table, where it would have no effect."),
    Option("manifest-sort.enabled", KEPT, BOOL, "false", "Whether manifests are sorted by partition when merged."),
    Option("manifest-sort.max-rewrite-size", KEPT, SIZE, "256 mb", "Maximum size that one sorting pass rewrites."),
    Option("manifest-sort.partition-field", KEPT, TEXT, None, "The partition column by which manifests are sorted."),
    Option("scan.manifest.parallelism", KEPT, INT, None, "Manifests that other engines read at the same time."),
    Option("write-manifest-cache", KEPT, SIZE, "0 bytes", "Memory for manifests in old versions of Paimon's writers."),
)

_COMMIT: Final = (
    Option("commit.max-retries", HONOURED, INT, None, "How often a commit that lost a race is retried. Without it Lakebed retries until commit.timeout; Apache Paimon retries 10 times.", low=0, unset="no limit"),
    Option("commit.timeout", HONOURED, TIME, None, "Time after which a commit that loses every race is not retried any more.", unset="no limit"),
    Option("commit.min-retry-wait", HONOURED, TIME, "10 ms", "Upper bound of the random wait before the first retry. It doubles with every retry."),
    Option("commit.max-retry-wait", HONOURED, TIME, "10 s", "Maximum of the upper bound of that wait."),
    Option("commit.durable", HONOURED, BOOL, None, "Lakebed only: whether the files of a commit are flushed to disk before it is acknowledged, so that it survives a power cut. A warehouse has the same option, for tables that do not set it; the option of the table wins.", unset="as the warehouse says; true if it does not say it"),
    Option("commit.user-prefix", HONOURED, TEXT, None, "Prefix of the commit user's name."),
    Option("snapshot.ignore-empty-commit", KEPT, BOOL, None, "Whether a commit without changes creates no snapshot. Lakebed never creates one for a write without changes."),
    Option("dynamic-partition-overwrite", HONOURED, BOOL, "true", "Whether an overwrite replaces only the partitions of the new rows."),
    Option("commit.strict-mode.last-safe-snapshot", REFUSED, LONG, None, "Makes a commit fail if there are other commits after this snapshot.", "Lakebed does not have this guard; leave it out", readable=True),
    Option("commit.force-compact", KEPT, BOOL, "false", "Whether other writers compact before each commit."),
    Option("commit.force-create-snapshot", KEPT, BOOL, "false", "Whether a streaming writer of another engine commits without data too."),
    Option("branch-merge.enabled", HONOURED, BOOL, "false", "Whether the history only ever adds files, so that branches can always be merged: compactions, overwrites and deletes fail. Not with deletion vectors.", immutable=True),
    Option("commit.discard-duplicate-files", KEPT, BOOL, "false", "Whether other engines remove files that a commit lists twice."),
    Option("commit.callbacks", KEPT, LIST, None, "Java classes that other engines call after a commit."),
    Option("commit.callback.<class>.param", KEPT, TEXT, None, "The parameter of a class in commit.callbacks."),
    Option("commit.custom-listeners", KEPT, LIST, None, "Listeners that Flink calls after a commit."),
    Option("commit.native.enabled", KEPT, BOOL, "false", "Whether pypaimon commits with native code."),
    Option("overwrite-upgrade", KEPT, BOOL, "true", "Whether other engines move files of an overwrite to the highest level."),
    Option("visibility-callback.enabled", KEPT, BOOL, "false", "Whether other writers wait until readers see the rows that they wrote."),
    Option("visibility-callback.timeout", KEPT, TIME, "30 min", "Maximum time of that wait."),
    Option("visibility-callback.check-interval", KEPT, TIME, "10 s", "Time between two checks during that wait."),
)

_HISTORY: Final = (
    Option("snapshot.num-retained.min", HONOURED, INT, "10", "Number of snapshots that expiry always keeps.", low=1),
    Option("snapshot.num-retained.max", HONOURED, INT, "2147483647", "Number of snapshots above which expiry deletes the oldest ones, whatever their age.", low=1),
    Option("snapshot.time-retained", HONOURED, TIME, "1 h", "Age from which a snapshot expires."),
    Option("snapshot.expire.limit", HONOURED, INT, "50", "Maximum number of snapshots that one expiry deletes.", low=1),
    Option("snapshot.expire.execution-mode", HONOURED, ENUM, "sync", "Whether a commit waits for the expiry of snapshots (sync) or not (async).", values=("sync", "async")),
    Option("snapshot.clean-empty-directories", HONOURED, BOOL, "false", "Whether expiry deletes empty directories.", aliases=("snapshot.expire.clean-empty-directories",)),
    Option("snapshot.watermark-idle-timeout", KEPT, TIME, None, "Idle time after which a Flink source no longer holds back snapshots."),
    Option("changelog.num-retained.min", HONOURED, INT, None, "Number of changelogs that expiry always keeps.", unset="as for snapshots"),
    Option("changelog.num-retained.max", HONOURED, INT, None, "Number of changelogs above which expiry deletes the oldest ones.", unset="as for snapshots"),
    Option("changelog.time-retained", HONOURED, TIME, None, "Age from which a changelog expires.", unset="as for snapshots"),
    Option("consumer-id", HONOURED, TEXT, None, "Name under which a streaming reader records its position."),
    Option("consumer.mode", KEPT, ENUM, "exactly-once", "Whether the recorded position is exact or may be earlier.", values=("exactly-once", "at-least-once")),
    Option("consumer.expiration-time", HONOURED, TIME, None, "Time without progress after which a consumer is deleted.", unset="never"),
    Option("consumer.ignore-progress", HONOURED, BOOL, "false", "Whether a new stream ignores the recorded position."),
    Option("consumer.changelog-only", HONOURED, BOOL, "false", "Whether consumers protect changelogs only, not snapshots."),
    Option("tag.automatic-creation", KEPT, ENUM, "none", "When other writers create tags automatically; Lakebed creates none.", values=("none", "process-time", "watermark", "batch")),
    Option("tag.automatic-completion", KEPT, BOOL, "false", "Whether other writers create missing automatic tags."),
    Option("tag.creation-period", HONOURED, ENUM, "daily", "Period of automatic tags. Lakebed reads their names with it (incremental-to-auto-tag).", values=("daily", "hourly", "two-hours")),
    Option("tag.creation-period-duration", HONOURED, TIME, None, "Period of automatic tags as a duration. Lakebed reads their names with it (incremental-to-auto-tag)."),
    Option("tag.creation-delay", KEPT, TIME, "0 ms", "How long other writers wait for late data before they create a tag."),
    Option("tag.period-formatter", HONOURED, ENUM, "with_dashes", "Format of the names of automatic tags. Lakebed reads their names with it (incremental-to-auto-tag).", values=("with_dashes", "without_dashes", "without_dashes_and_spaces")),
    Option("tag.num-retained-max", KEPT, INT, None, "Number of automatic tags above which other engines delete the oldest ones."),
    Option("tag.default-time-retained", HONOURED, TIME, None, "How long a tag is kept if it was created without a time.", unset="forever"),
    Option("tag.time-expire-enabled", HONOURED, BOOL, "true", "Whether commits delete tags whose time is over."),
    Option("tag.batch.customized-name", KEPT, TEXT, None, "Name of the tag that a batch job of another engine creates."),
    Option("tag.create-success-file", KEPT, BOOL, "false", "Whether other engines write a success file for a new tag."),
    Option("tag.callbacks", KEPT, LIST, None, "Java classes that other engines call after they create a tag."),
    Option("tag.callback.<class>.param", KEPT, TEXT, None, "The parameter of a class in tag.callbacks."),
)

_PARTITIONS: Final = (
    Option("partition.default-name", HONOURED, TEXT, "__DEFAULT_PARTITION__", "Directory name of a null or blank partition value.", immutable=True, pattern=_NAME_PART, form=_NAME_FORM),
    Option("partition.legacy-name", HONOURED, BOOL, "true", "Whether directory names contain dates and timestamps in the old form (days since 1970).", immutable=True),
    Option("partition.timestamp-pattern", HONOURED, TEXT, None, "How the time of a partition is built from its columns, such as $dt $hour:00:00."),
    Option("partition.timestamp-formatter", HONOURED, TEXT, None, "How that text is parsed as a time, such as yyyyMMdd HH:mm:ss."),
    Option("partition.timestamp-format.strict", REFUSED, BOOL, "false", "Rejects rows whose partition value is not such a time.", "Lakebed does not check it yet; leave it out", readable=True),
    Option("partition.expiration-time", HONOURED, TIME, None, "Age from which a partition expires.", unset="never"),
    Option("partition.expiration-check-interval", HONOURED, TIME, "1 h", "Time between two checks of a writer for expired partitions, and for old changes of a chain table."),
    Option("partition.expiration-strategy", HONOURED, TEXT, "values-time", "Whether the age of a partition follows from its value (values-time) or its last change (update-time)."),
    Option("partition.expiration-max-num", HONOURED, INT, "100", "Maximum number of partitions that one expiry deletes.", low=1),
    Option("partition.expiration-batch-size", HONOURED, INT, None, "Number of partitions that expire in one commit.", low=1, unset="all in one commit"),
    Option("partition.end-input-to-done", KEPT, BOOL, "false", "Whether other engines mark partitions as done at the end of a job."),
    Option("partition.idle-time-to-done", KEPT, TIME, None, "Idle time after which Flink marks a partition as done."),
    Option("partition.time-interval", KEPT, TIME, None, "The time span of one partition."),
    Option("partition.mark-done-action", HONOURED, LIST, "success-file", "What marking a partition as done does. Lakebed writes a success file; marking a partition fails with any other action."),
    Option("partition.mark-done-action.mode", KEPT, ENUM, "process-time", "Which clock other engines use to decide that a partition is done.", values=("process-time", "watermark")),
    Option("partition.mark-done-action.custom.class", KEPT, TEXT, None, "Java class of a custom mark-done action."),
    Option("partition.mark-done-action.http.url", KEPT, TEXT, None, "Address to which the HTTP mark-done action reports a partition."),
    Option("partition.mark-done-action.http.params", KEPT, TEXT, None, "Content of that report."),
    Option("partition.mark-done.recover-from-state", KEPT, BOOL, "true", "Whether Flink marks partitions as done again after a restart."),
    Option("partition.idle-time-to-report-statistic", KEPT, TIME, "0 ms", "Idle time after which other engines report partition statistics."),
    Option("partition.sink-strategy", KEPT, ENUM, "NONE", "How other writers distribute partitions over tasks.", values=("NONE", "HASH", "PARTITION_DYNAMIC")),
    Option("end-input.check-partition-expire", HONOURED, BOOL, "false", "Whether each commit of a batch job checks for expired partitions, regardless of the check interval."),
)

_READING: Final = (
    Option("scan.snapshot-id", HONOURED, LONG, None, "Reads the table as of this snapshot.", low=1),
    Option("scan.tag-name", HONOURED, TEXT, None, "Reads the table as of this tag."),
    Option("scan.timestamp-millis", HONOURED, LONG, None, "Reads the table as of this time, in milliseconds since 1970.", aliases=("log.scan.timestamp-millis",)),
    Option("scan.timestamp", HONOURED, TEXT, None, "Reads the table as of this local time, such as 2023-12-01 12:00:00."),
    Option("scan.version", HONOURED, TEXT, None, "Reads the table as of this tag or, if there is no such tag, snapshot."),
    Option("scan.mode", HONOURED, ENUM, "default", "Where a read begins. Batch reads follow the options above.", _SCAN, values=("default", "latest-full", "full", "latest", "compacted-full", "from-timestamp", "from-creation-timestamp", "from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental"), refused=("compacted-full", "from-creation-timestamp", "from-file-creation-time", "incremental"), aliases=("log.scan",)),
    Option("scan.watermark", HONOURED, LONG, None, "Reads the table as of the first snapshot with at least this watermark."),
    Option("scan.creation-time-millis", REFUSED, LONG, None, "Reads what was created after this time.", _SCAN),
    Option("scan.file-creation-time-millis", REFUSED, LONG, None, "Reads data files created after this time only.", _SCAN),
    Option("scan.bucket", REFUSED, INT, None, "Reads one bucket only.", "Lakebed does not read single buckets; filter by the bucket key"),
    Option("scan.fallback-branch", HONOURED, TEXT, None, "Branch from which partitions are read that this branch does not have."),
    Option("scan.primary-branch", HONOURED, TEXT, None, "Branch whose partitions are read instead of the same partitions of this branch."),
    Option("scan.fallback-branch.read-fail-fast", KEPT, BOOL, "false", "Whether an error in the fallback branch ends the read in other engines; in Lakebed it always does."),
    Option("incremental-between", HONOURED, TEXT, None, "Reads the changes between two snapshots or tags, such as 3,5: after the first, up to the second."),
    Option("incremental-between-timestamp", HONOURED, TEXT, None, "Reads the changes between two times, in milliseconds since 1970 or as local time."),
    Option("incremental-to-auto-tag", HONOURED, TEXT, None, "Reads the changes between the previous automatic tag and this one."),
    Option("incremental-between-scan-mode", HONOURED, ENUM, "auto", "Which changes an incremental read returns. delta: the rows of appends; changelog: the changelog; diff: the difference of the two states; auto: the changelog if there is one, otherwise delta.", values=("auto", "delta", "changelog", "diff")),
    Option("incremental-between-tag-to-snapshot", HONOURED, BOOL, "false", "Whether an incremental read between two tags reads the snapshots between them. Otherwise it compares the states of the two tags."),
    Option("deletion-vectors.enabled", HONOURED, BOOL, "false", "Whether deleted rows are marked in index files (deletion vectors), which reads apply."),
    Option("deletion-vectors.bitmap64", KEPT, BOOL, "false", "Whether other engines write deletion vectors with 64 bits. Lakebed reads both forms and writes 32 bits."),
    Option("deletion-vectors.merge-on-read", HONOURED, BOOL, "false", "Whether reads of a primary-key table with deletion vectors include files that are not compacted yet."),
    Option("deletion-vectors.modifiable", HONOURED, BOOL, "false", "Whether deletion-vectors.enabled may change once the table has snapshots."),
    Option("deletion-vector.index-file.target-size", KEPT, SIZE, "2 mb", "Size at which other writers begin a new file of deletion vectors."),
    Option("source.split.target-size", KEPT, SIZE, "128 mb", "Bytes that one task of a read gets in other engines."),
    Option("source.split.open-file-cost", KEPT, SIZE, "4 mb", "Bytes that opening a file counts as when other engines pack tasks."),
    Option("scan.ignore-corrupt-files", KEPT, BOOL, "false", "Whether other readers skip damaged files; Lakebed reports them."),
    Option("scan.ignore-lost-files", KEPT, BOOL, "false", "Whether other readers skip missing files; Lakebed reports them."),
    Option("scan.plan-sort-partition", KEPT, BOOL, "false", "Whether other engines plan files in the order of partitions."),
    Option("scan.plan-auto-tag-for-read.time-retained", KEPT, TIME, None, "How long other engines protect the snapshot of a batch read with a tag."),
    Option("scan.max-splits-per-task", KEPT, INT, "10", "Splits that other engines plan ahead for each task."),
    Option("scan.native-plan.enabled", KEPT, BOOL, "false", "Whether pypaimon plans with native code."),
    Option("batch-scan-mode", KEPT, ENUM, "none", "What internal jobs of other engines scan.", values=("none", "compact")),
    Option("read.batch-size", KEPT, INT, "1024", "Rows per batch of other readers."),
    Option("read.native.enabled", KEPT, BOOL, "false", "Whether pypaimon reads with native code."),
    Option("read.parallelism", KEPT, INT, None, "Files that pypaimon reads at the same time."),
    Option("file-reader-async-threshold", KEPT, SIZE, "10 mb", "Size from which other readers read a file in the background."),
    Option("table-read.sequence-number.enabled", HONOURED, BOOL, "false", "Whether $audit_log has a column of sequence numbers."),
    Option("key-value.sequence_number.enabled", KEPT, BOOL, "false", "Whether internal readers of other engines return sequence numbers."),
    Option("local-cache.enabled", KEPT, BOOL, "false", "Whether pypaimon caches files on disk."),
    Option("local-cache.*", KEPT, TEXT, None, "Location, size and content of that cache."),
)

_PRIMARY_KEY: Final = (
    Option("merge-engine", HONOURED, ENUM, "deduplicate", "How rows with the same primary key are merged.", values=("deduplicate", "partial-update", "aggregation", "first-row"), immutable=True),
    Option("sequence.field", HONOURED, LIST, None, "Columns that decide which of two rows is newer.", immutable=True),
    Option("sequence.field.sort-order", HONOURED, ENUM, "ascending", "Whether the larger value (ascending) or the smaller value (descending) is newer.", values=("ascending", "descending")),
    Option("sequence.snapshot-ordering", REFUSED, BOOL, "false", "Whether the later commit is newer, whatever the sequence numbers are.", _PK, immutable=True),
    Option("write.sequence-number-init-mode", REFUSED, ENUM, "scan", "How a writer finds the next sequence number.", _PK, values=("scan", "snapshot")),
    Option("rowkind.field", HONOURED, TEXT, None, "Column that holds the row kind: +I, -U, +U or -D.", immutable=True),
    Option("ignore-delete", HONOURED, BOOL, "false", "Whether delete rows (-D) are ignored.", aliases=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete")),
    Option("ignore-update-before", HONOURED, BOOL, "false", "Whether rows with the old value of an update (-U) are ignored."),
    Option("partial-update.remove-record-on-delete", HONOURED, BOOL, "false", "Whether a delete removes the whole row with merge engine partial-update.", immutable=True),
    Option("partial-update.remove-record-on-sequence-group", HONOURED, LIST, None, "Sequence groups whose deletes remove the whole row.", immutable=True),
    Option("aggregation.remove-record-on-delete", HONOURED, BOOL, "false", "Whether a delete removes the whole row with merge engine aggregation.", immutable=True),
    Option("fields.default-aggregate-function", HONOURED, TEXT, None, "Aggregate function of columns without a function of their own."),
    Option("fields.<column>.aggregate-function", HONOURED, TEXT, None, "Aggregate function of one column."),
    Option("fields.<column>.sequence-group", HONOURED, LIST, None, "Columns that are updated together, if the named sequence column is not older."),
    Option("fields.<column>.ignore-retract", HONOURED, BOOL, "false", "Whether the aggregate function of a column ignores retractions (-U, -D)."),
    Option("fields.<column>.distinct", HONOURED, BOOL, "false", "Whether collect and listagg keep each value once."),
    Option("fields.<column>.list-agg-delimiter", HONOURED, TEXT, ",", "Delimiter between the texts of listagg."),
    Option("fields.<column>.nested-key", HONOURED, LIST, None, "Key columns of the rows inside a nested column (nested_update)."),
    Option("fields.<column>.nested-key-null-strategy", HONOURED, ENUM, "merge", "What nested_update does with nested rows whose key is null.", values=("merge", "ignore", "error")),
    Option("fields.<column>.nested-sequence-field", HONOURED, LIST, None, "Columns that decide which nested row is newer (nested_update)."),
    Option("fields.<column>.count-limit", HONOURED, INT, "2147483647", "Maximum number of rows inside a nested column. Lakebed raises an error if nested_update has another limit than the default."),
    Option("fields.<column>.ts-field", REFUSED, TEXT, None, "Time inside the values of a merged map.", _PK),
    Option("fields.<column>.default-value", REFUSED, TEXT, None, "Value that old versions of Paimon return instead of null.", "Lakebed shows what is stored; leave it out and use a column default"),
    Option("record-level.expire-time", REFUSED, TIME, None, "Age from which single rows expire.", _PK),
    Option("record-level.time-field", KEPT, TEXT, None, "Column with the time of a row."),
    Option("record-level.time-field-type", KEPT, TEXT, None, "How old versions of Paimon parse that column."),
    Option("pk-clustering-override", REFUSED, BOOL, "false", "Sorts data files by other columns than the key.", _PK, immutable=True),
    Option("num-levels", HONOURED, INT, None, "Number of levels of a bucket.", low=2, unset="num-sorted-run.compaction-trigger + 1"),
    Option("num-sorted-run.compaction-trigger", HONOURED, INT, "5", "Number of sorted runs from which a bucket is compacted.", low=1),
    Option("num-sorted-run.stop-trigger", KEPT, INT, None, "Number of sorted runs from which other writers wait for a compaction."),
    Option("sort-engine", KEPT, ENUM, "loser-tree", "How other engines merge sorted runs.", values=("min-heap", "loser-tree")),
    Option("sort-spill-threshold", KEPT, INT, None, "Number of readers from which a merge of other engines spills to disk."),
    Option("sort-spill-buffer-size", KEPT, SIZE, "64 mb", "Memory of a merge that spills to disk in other engines."),
    Option("local-sort.max-num-file-handles", KEPT, INT, "128", "Maximum number of open files of an external sort in other engines."),
    Option("local-merge-buffer-size", KEPT, SIZE, None, "Memory in which other writers merge rows before the shuffle."),
    Option("local-kv-db.block-size", KEPT, SIZE, "4 kb", "Block size of the local key store of other engines."),
    Option("cross-partition-upsert.index-ttl", KEPT, TIME, None, "How long other writers keep the partition of a key in their index."),
    Option("cross-partition-upsert.bootstrap-parallelism", KEPT, INT, "10", "Threads that load that index."),
)

_COMPACTION: Final = (
    Option("write-only", HONOURED, BOOL, "false", "Whether writers skip compaction and expiry, which a separate job then does.", aliases=("write.compaction-skip",)),
    Option("full-compaction.delta-commits", HONOURED, INT, None, "Number of commits after which all files are compacted.", unset="never; after each commit if changelog-producer is full-compaction"),
    Option("compaction.max-size-amplification-percent", HONOURED, INT, "200", "Extra storage in percent from which all files of a bucket are compacted."),
    Option("compaction.size-ratio", HONOURED, INT, "1", "Tolerance in percent when sizes of sorted runs are compared."),
    Option("compaction.offpeak-ratio", KEPT, INT, "0", "That tolerance in off-peak hours, for other engines."),
    Option("compaction.offpeak.start.hour", KEPT, INT, "-1", "Begin of off-peak hours."),
    Option("compaction.offpeak.end.hour", KEPT, INT, "-1", "End of off-peak hours."),
    Option("compaction.optimization-interval", KEPT, TIME, None, "Time between full compactions for the read-optimized table in other engines."),
    Option("compaction.total-size-threshold", KEPT, SIZE, None, "Total size below which other engines always compact all files."),
    Option("compaction.incremental-size-threshold", KEPT, SIZE, None, "Size of new data from which other engines compact all files."),
    Option("compaction.min.file-num", HONOURED, INT, "5", "Number of small files of an append table from which they are compacted."),
    Option("compaction.max.file-num", KEPT, INT, None, "Maximum number of files in one compaction in old versions of Paimon.", aliases=("compaction.early-max.file-num",)),
    Option("compaction.file-num-limit", KEPT, INT, "100000", "Maximum number of files that one compaction of an append table considers in other engines."),
    Option("compaction.small-file-ratio", HONOURED, FLOAT, "0.7", "Share of the target size below which a file is small."),
    Option("compaction.delete-ratio-threshold", HONOURED, FLOAT, "0.2", "Share of deleted rows from which a file is rewritten."),
    Option("compaction.force-rewrite-all-files", HONOURED, BOOL, "false", "Whether a full compaction rewrites every file."),
    Option("compaction.force-up-level-0", KEPT, BOOL, "false", "Whether every compaction of other engines includes all files of level 0."),
    Option("compaction.skip-expired-partitions", KEPT, BOOL, "false", "Whether compactions of other engines skip partitions that are about to expire."),
    Option("compaction.bucket-distribution-strategy", KEPT, ENUM, "linear", "How a compaction job distributes buckets over tasks in other engines.", values=("linear", "size-aware-batch")),
    Option("force-lookup", HONOURED, BOOL, "false", "Whether compactions always look up older rows of the same key.", immutable=True),
    Option("lookup-compact", KEPT, ENUM, "RADICAL", "How eagerly lookup compaction runs in other engines.", values=("RADICAL", "GENTLE")),
    Option("lookup-compact.max-interval", KEPT, INT, None, "Maximum interval of the GENTLE mode of lookup-compact."),
    Option("lookup-wait", KEPT, BOOL, "true", "Whether a commit of other engines waits for lookup compaction.", aliases=("changelog-producer.lookup-wait",)),
    Option("clustering.columns", KEPT, LIST, None, "Columns by which other engines sort append tables.", aliases=("sink.clustering.by-columns",)),
    Option("clustering.strategy", KEPT, TEXT, "auto", "Sort order of clustering.", aliases=("sink.clustering.strategy",)),
    Option("clustering.incremental", KEPT, BOOL, "false", "Whether clustering is incremental."),
    Option("clustering.incremental.mode", KEPT, ENUM, "global-sort", "Whether incremental clustering sorts across files or inside each file.", values=("global-sort", "local-sort")),
    Option("clustering.incremental.optimize-write", KEPT, BOOL, "false", "Whether other engines sort rows before they write them."),
    Option("clustering.history-partition.idle-to-full-sort", KEPT, TIME, None, "Idle time after which other engines sort a whole partition."),
    Option("clustering.history-partition.limit", KEPT, INT, "5", "Number of partitions that are sorted at the same time."),
    Option("sort-compaction.range-strategy", KEPT, ENUM, "SIZE", "How a sorting compaction of other engines chooses ranges.", values=("SIZE", "QUANTITY")),
    Option("sort-compaction.local-sample.magnification", KEPT, INT, "1000", "Samples that a sorting compaction takes per task."),
    Option("zorder.var-length-contribution", KEPT, INT, "8", "Bytes of a text that are used in z-order."),
)

_STREAMING: Final = (
    Option("changelog-producer", HONOURED, ENUM, "none", "How changelog files are produced.", values=("none", "input", "full-compaction", "lookup")),
    Option("changelog-producer.row-deduplicate", HONOURED, BOOL, "false", "Whether the changelog omits updates that change nothing."),
    Option("changelog-producer.row-deduplicate-ignore-fields", HONOURED, LIST, None, "Columns that do not count as a change for row-deduplicate."),
    Option("changelog-producer.compaction-interval", KEPT, TIME, "0 ms", "Time between compactions that produce the changelog in old versions of Paimon."),
    Option("changelog-file.format", HONOURED, ENUM, None, "Format of changelog files.", values=("parquet", "orc", "avro"), unset="as data files of their level"),
    Option("changelog-file.compression", HONOURED, ENUM, None, "Codec of changelog files.", "Lakebed cannot write changelog files with it so that every reader can read them; use zstd", values=_CODECS, refused=_NO_CODECS, readable=True, unset="as data files of their level"),
    Option("delete.force-produce-changelog", KEPT, BOOL, "false", "Whether SQL DELETE of other engines writes a changelog."),
    Option("streaming-read-overwrite", HONOURED, BOOL, "false", "Whether streams read the changes of overwrites."),
    Option("streaming-read-append-overwrite", HONOURED, BOOL, "false", "Whether streams of append tables read the rows that overwrites add."),
    Option("streaming-read-mode", KEPT, TEXT, None, "Whether old versions of Paimon stream from files or from a log."),
    Option("stream-scan-mode", KEPT, ENUM, "none", "What internal streaming jobs of other engines scan.", values=("none", "compact-bucket-table", "file-monitor")),
    Option("streaming.read.snapshot.delay", KEPT, TIME, None, "Minimum age of a snapshot that streams of other engines read."),
    Option("continuous.discovery-interval", KEPT, TIME, "10 s", "Time between two checks for new snapshots in streams of other engines."),
    Option("scan.bounded.watermark", KEPT, LONG, None, "Watermark at which a bounded stream of Flink ends."),
    Option("log.*", KEPT, TEXT, None, "Settings of the log system of old versions of Paimon."),
    Option("kafka.*", KEPT, TEXT, None, "Settings of that log system in Kafka."),
)

_BUCKETS: Final = (
    Option("dynamic-bucket.target-row-num", HONOURED, LONG, "2000000", "Number of rows from which new keys go to another bucket.", low=1),
    Option("dynamic-bucket.target-size", HONOURED, SIZE, None, "Lakebed only: size from which new keys go to another bucket.", low=1, unset="no limit"),
    Option("dynamic-bucket.initial-buckets", HONOURED, INT, None, "Number of buckets with which a partition begins.", low=1, immutable=True),
    Option("dynamic-bucket.max-buckets", HONOURED, INT, "-1", "Maximum number of buckets of a partition. -1: no limit.", pattern=r"-1|\+?0*[1-9][0-9]*", form="-1 or a positive number"),
    Option("dynamic-bucket.assigner-parallelism", HONOURED, INT, None, "Number of tasks that assign buckets.", low=1),
    Option("postpone.default-bucket-num", KEPT, INT, "1", "Number of buckets that a partition gets at its first compaction."),
    Option("postpone.batch-write-fixed-bucket", KEPT, BOOL, "true", "Whether batch jobs write directly into buckets."),
    Option("postpone.batch-write-fixed-bucket.max-parallelism", KEPT, INT, "2048", "Maximum number of tasks of such a batch job."),
    Option("postpone.batch-write-fixed-bucket.rescale-load-factor", KEPT, INT, "32", "Load factor at which such a batch job changes the number of buckets."),
    Option("postpone.merge-on-read", KEPT, BOOL, "false", "Whether reads include rows that have no bucket yet."),
    Option("postpone.target-row-num-per-bucket", KEPT, LONG, None, "Target number of rows of a bucket."),
    Option("postpone.target-size-per-bucket", KEPT, SIZE, "1 gb", "Target size of a bucket."),
)

_CHAINS: Final = (
    Option("chain-table.enabled", HONOURED, BOOL, "false", "Whether the full partitions and the changes of two branches are read as one table."),
    Option("chain-table.chain-partition-keys", HONOURED, LIST, None, "Partition columns that form the chain. The partition columns before them form its groups.", unset="all partition columns"),
    Option("chain-table.split.key-range-enabled", KEPT, BOOL, "true", "Whether other engines read a bucket of a chain in key ranges."),
    Option("chain-table.streaming.merge-snapshot", HONOURED, BOOL, "false", "Whether a stream begins with the merged state."),
    Option("chain-table.gap-read", HONOURED, ENUM, "carry", "Lakebed only: what a read returns for a day without changes. carry: the rows of the day before; strict: no rows.", values=("carry", "strict")),
    Option("chain-table.changes.time-retained", HONOURED, TIME, None, "Lakebed only: age of a day from which its changes are dropped after a commit, if a full partition holds them.", unset="forever"),
    Option("scan.fallback-snapshot-branch", HONOURED, TEXT, None, "Branch that holds the full partitions of a chain table."),
    Option("scan.fallback-delta-branch", HONOURED, TEXT, None, "Branch that holds the changes of a chain table."),
)

_AUTOPILOT: Final = (
    Option("autopilot.enabled", HONOURED, BOOL, None, "Lakebed only: whether the autopilot looks after the table.", unset="it does unless another engine compacts the table"),
    Option("autopilot.skip", HONOURED, LIST, None, "Lakebed only: kinds of jobs that the autopilot does not run, such as orphans.", unset="none"),
    Option("autopilot.deleted-rows", HONOURED, FLOAT, "0.2", "Lakebed only: share of rows in data files that are marked as deleted, from which the autopilot rewrites the files."),
    Option("autopilot.full-compaction.interval", HONOURED, TIME, None, "Lakebed only: time after which the autopilot merges a primary-key table as a whole again.", unset="never"),
    Option("autopilot.orphans.interval", HONOURED, TIME, "1 d", "Lakebed only: time after which the autopilot looks for orphan files again."),
    Option("autopilot.statistics.interval", HONOURED, TIME, None, "Lakebed only: time after which the autopilot analyzes a changed table again.", unset="never"),
    Option("autopilot.chain.depth", HONOURED, INT, "7", "Lakebed only: number of partitions of changes that a read merges, from which the autopilot builds a full partition.", low=1),
    Option("autopilot.chain.bytes", HONOURED, SIZE, None, "Lakebed only: size of these changes from which it builds one.", low=1, unset="any"),
    Option("autopilot.chain.age", HONOURED, TIME, None, "Lakebed only: time between the newest full partition and the day from which it builds one.", unset="any"),
)

_ROW_IDENTITY: Final = (
    Option("row-tracking.enabled", REFUSED, BOOL, "false", "Whether every row has an id.", _ROW_IDS, immutable=True),
    Option("row-tracking.partition-group-on-commit", KEPT, BOOL, "true", "Whether row ids of one commit are consecutive inside a partition."),
    Option("data-evolution.enabled", REFUSED, BOOL, "false", "Whether columns of one row may be stored in several files.", _ROW_IDS, immutable=True),
    Option("data-evolution.*", KEPT, TEXT, None, "Settings of tables with data evolution."),
    Option("blob-field", REFUSED, LIST, None, "Columns stored as blobs.", _TYPES, immutable=True),
    Option("blob-descriptor-field", REFUSED, LIST, None, "Columns stored as references to blobs.", _TYPES, aliases=("blob.stored-descriptor-fields",), immutable=True),
    Option("blob-view-field", REFUSED, LIST, None, "Columns that reference blobs of other tables.", _TYPES, immutable=True),
    Option("blob-external-storage-field", REFUSED, LIST, None, "Columns whose blobs are stored elsewhere.", _TYPES),
    Option("blob-external-storage-path", KEPT, TEXT, None, "Where external blobs are stored."),
    Option("video-frame-field", REFUSED, LIST, None, "Columns that hold frames of videos.", _TYPES, immutable=True),
    Option("blob-as-descriptor", KEPT, BOOL, "false", "Whether blobs are passed as references."),
    Option("blob-compaction.enabled", KEPT, BOOL, "false", "Whether blob files are compacted."),
    Option("blob-view.resolve.enabled", KEPT, BOOL, "true", "Whether reads resolve references to blobs of other tables."),
    Option("blob-write-null-on-fetch-failure", KEPT, BOOL, "false", "Whether a blob that cannot be fetched becomes null."),
    Option("blob-write-null-on-missing-file", KEPT, BOOL, "false", "Whether a blob whose file is missing becomes null."),
    Option("blob.copy-buffer-size", KEPT, SIZE, "4 kb", "Buffer for copying blobs."),
    Option("blob.split-by-file-size", KEPT, BOOL, None, "Whether sizes of blobs count when other engines pack tasks."),
    Option("blob.target-file-size", KEPT, SIZE, None, "Size at which other writers begin a new blob file."),
    Option("blob-descriptor.*", KEPT, TEXT, None, "Settings for fetching blobs."),
    Option("vector-field", REFUSED, LIST, None, "Array columns stored as vectors.", _TYPES),
    Option("vector.file.format", KEPT, TEXT, None, "Format of vector files."),
    Option("vector.target-file-size", KEPT, SIZE, None, "Size at which other writers begin a new vector file."),
    Option("vector-search.distribute.enabled", KEPT, BOOL, "false", "Whether vector searches are distributed over tasks."),
    Option("vector-search.lateral-join.batch-size", KEPT, INT, "256", "Vectors that a lateral join searches at the same time."),
    Option("vector-search.lateral-join.parallelism", KEPT, INT, "16", "Tasks of a lateral join with a vector search."),
    Option("fields.<column>.map.storage-layout", REFUSED, TEXT, "default", "Layout of a map column in files.", _TYPES),
    Option("fields.<column>.map.shared-shredding.max-columns", KEPT, INT, "256", "Maximum number of columns into which a map is shredded."),
    Option("fields.<column>.map.shared-shredding.column-placement-policy", KEPT, TEXT, "lru", "How keys of a shredded map are assigned to columns."),
    Option("variant.inferShreddingSchema", KEPT, BOOL, "false", "Whether other writers infer the shredding schema of variant columns."),
    Option("variant.shreddingSchema", KEPT, TEXT, None, "Shredding schema of variant columns.", aliases=("parquet.variant.shreddingSchema",)),
    Option("variant.shredding.*", KEPT, TEXT, None, "Limits of variant shredding."),
    Option("global-index.external-path", REFUSED, TEXT, None, "Where global indexes are stored.", "Lakebed keeps index files in the table's index folder; leave it out"),
    Option("global-index.enabled", KEPT, BOOL, "true", "Whether other readers use global indexes; Lakebed reads the rows."),
    Option("global-index.search-mode", KEPT, ENUM, None, "Whether searches include rows that are not indexed yet.", values=("fast", "full", "detail")),
    Option("scalar-index.search-mode", KEPT, ENUM, "fast", "Whether searches in scalar indexes include rows that are not indexed yet.", values=("fast", "full", "detail")),
    Option("vector-index.search-mode", KEPT, ENUM, "fast", "Whether searches in vector indexes include rows that are not indexed yet.", values=("fast", "full", "detail")),
    Option("full-text-index.search-mode", KEPT, ENUM, "fast", "Whether searches in text indexes include rows that are not indexed yet.", values=("fast", "full", "detail")),
    Option("global-index.column-update-action", KEPT, ENUM, "THROW_ERROR", "What other writers do when an indexed column changes.", values=("THROW_ERROR", "DROP_PARTITION_INDEX", "IGNORE")),
    Option("global-index.*", KEPT, TEXT, None, "Settings for building and reading global indexes."),
    Option("pk-btree.index.columns", REFUSED, LIST, None, "Columns of a B-tree index on a primary-key table.", _INDEX, readable=True),
    Option("pk-bitmap.index.columns", REFUSED, LIST, None, "Columns of a bitmap index on a primary-key table.", _INDEX, readable=True),
    Option("pk-vector.index.columns", REFUSED, LIST, None, "Columns of a vector index on a primary-key table.", _INDEX, readable=True),
    Option("pk-multivalue.index.columns", REFUSED, LIST, None, "Columns of an index of several values on a primary-key table.", _INDEX, readable=True),
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
    Option("sink.writer-coordinator.enabled", KEPT, BOOL, "false", "Whether Flink's job manager plans files for writers."),
    Option("sink.writer-coordinator.*", KEPT, TEXT, None, "Cache and page size of the writer coordinator."),
    Option("sink.committer-cpu", KEPT, FLOAT, "1.0", "Cores of the committer."),
    Option("sink.committer-memory", KEPT, SIZE, None, "Memory of the committer."),
    Option("sink.committer-operator-chaining", KEPT, BOOL, "true", "Whether writer and committer may share a task."),
    Option("sink.coordinator-commit.enabled", KEPT, BOOL, "false", "Whether Flink's job manager commits."),
    Option("sink.cross-partition.managed-memory", KEPT, SIZE, "256 mb", "Memory of the index for updates across partitions."),
    Option("sink.key-only-deletes.enabled", KEPT, BOOL, "false", "Whether deletes may hold the key only."),
    Option("sink.managed.writer-buffer-memory", KEPT, SIZE, "256 mb", "Managed memory of a writer's buffer."),
    Option("sink.use-managed-memory-allocator", KEPT, BOOL, "false", "Whether writers use managed memory."),
    Option("sink.operator-uid.suffix", KEPT, TEXT, None, "Suffix of the ids of writing operators."),
    Option("sink.savepoint.auto-tag", KEPT, BOOL, "false", "Whether a savepoint creates a tag."),
    Option("sink.process-time-zone", KEPT, TEXT, None, "Time zone of automatic tags."),
    Option("sink.watermark-time-zone", KEPT, TEXT, "UTC", "Time zone of watermarks."),
    Option("sink.clustering.sample-factor", KEPT, INT, "100", "Samples per task for clustering."),
    Option("sink.clustering.sort-in-cluster", KEPT, BOOL, "true", "Whether each task sorts its rows for clustering."),
    Option("source.operator-uid.suffix", KEPT, TEXT, None, "Suffix of the ids of reading operators."),
    Option("source.checkpoint-align.enabled", KEPT, BOOL, "false", "Whether checkpoints wait for a snapshot."),
    Option("source.checkpoint-align.timeout", KEPT, TIME, "30 s", "Maximum time of that wait."),
    Option("scan.parallelism", KEPT, INT, None, "Reader tasks of a Flink job."),
    Option("scan.infer-parallelism", KEPT, BOOL, "true", "Whether Flink derives the number of reader tasks from the data."),
    Option("scan.infer-parallelism.max", KEPT, INT, "1024", "Maximum number of reader tasks that Flink derives."),
    Option("scan.partitions", KEPT, TEXT, None, "Partitions that Flink reads.", aliases=("lookup.dynamic-partition",)),
    Option("scan.bounded", KEPT, BOOL, None, "Whether Flink's read is bounded."),
    Option("scan.dedicated-split-generation", KEPT, BOOL, "false", "Whether Flink plans splits in a separate task."),
    Option("scan.split-enumerator.batch-size", KEPT, INT, "10", "Splits that Flink assigns at the same time."),
    Option("scan.split-enumerator.mode", KEPT, ENUM, "fair", "How Flink assigns splits to tasks.", values=("fair", "preemptive")),
    Option("scan.max-snapshot.count", KEPT, INT, "-1", "Snapshots read per checkpoint."),
    Option("scan.remove-normalize", KEPT, BOOL, "false", "Whether Flink omits its normalize step.", aliases=("log.scan.remove-normalize",)),
    Option("scan.watermark.alignment.group", KEPT, TEXT, None, "Sources whose watermarks are aligned."),
    Option("scan.watermark.alignment.max-drift", KEPT, TIME, None, "Maximum drift between aligned watermarks."),
    Option("scan.watermark.alignment.update-interval", KEPT, TIME, "1 s", "Time between two alignments of watermarks."),
    Option("scan.watermark.emit.strategy", KEPT, ENUM, "on-event", "When Flink emits watermarks.", values=("on-periodic", "on-event")),
    Option("scan.watermark.idle-timeout", KEPT, TIME, None, "Idle time after which Flink ignores a source for watermarks."),
    Option("read.shuffle-bucket-with-partition", KEPT, BOOL, "true", "Whether Flink distributes reads by partition and bucket.", aliases=("streaming-read.shuffle-bucket-with-partition",)),
    Option("precommit-compact", KEPT, BOOL, "false", "Whether Flink merges small files before a commit.", aliases=("changelog.precommit-compact",)),
    Option("changelog.precommit-compact.buffer-size", KEPT, SIZE, "128 mb", "Buffer of that merge."),
    Option("changelog.precommit-compact.thread-num", KEPT, INT, None, "Threads of that merge."),
    Option("unaware-bucket.compaction.parallelism", KEPT, INT, None, "Tasks that compact append tables in Flink."),
    Option("unaware-bucket.no-shuffle", KEPT, BOOL, "false", "Whether change capture writes append tables without a shuffle."),
    Option("end-input.watermark", KEPT, LONG, None, "Watermark at the end of a batch job."),
    Option("filesystem.job-level-settings.enabled", KEPT, BOOL, "true", "Whether a job's file system settings are passed on."),
    Option("lookup.cache", KEPT, ENUM, "AUTO", "What a lookup join of Flink caches.", values=("AUTO", "FULL", "MEMORY")),
    Option("lookup.*", KEPT, TEXT, None, "Settings of lookup joins and of lookup compaction."),
    Option("rocksdb.*", KEPT, TEXT, None, "Settings of RocksDB in lookup joins."),
    Option("materialized-table.*", KEPT, TEXT, None, "Properties of a materialized table, as recorded by Flink."),
)

_SPARK: Final = (
    Option("write.merge-schema", HONOURED, BOOL, "false", "Whether a Spark write adds columns that the data has and the table does not have."),
    Option("write.merge-schema.explicit-cast", KEPT, BOOL, "false", "Whether write.merge-schema.type-widening may also change columns to narrower types, as Paimon's Spark connector does."),
    Option("write.merge-schema.type-widening", HONOURED, BOOL, "false", "Whether write.merge-schema may change columns to wider types."),
    Option("write.use-v2-write", KEPT, BOOL, "false", "Whether Paimon's Spark connector writes through Spark's second data source API."),
    Option("write.hive-style-dynamic-partition.enabled", KEPT, BOOL, "false", "Whether inserts of other engines order columns as Hive does."),
    Option("write.data-evolution.*", KEPT, TEXT, None, "How often Spark retries an update of a table with data evolution."),
    Option("read.changelog", HONOURED, BOOL, "false", "Whether spark.read and spark.readStream return the row kind of each row. Pass it to the reader; it has no effect on a table."),
    Option("read.allow.fullScan", HONOURED, BOOL, "true", "Whether an SQL query may read all partitions of a partitioned table."),
    Option("read.stream.maxBytesPerTrigger", HONOURED, LONG, None, "Maximum number of bytes of a streaming batch.", unset="no limit"),
    Option("read.stream.maxFilesPerTrigger", HONOURED, INT, None, "Maximum number of files of a streaming batch.", unset="no limit"),
    Option("read.stream.maxRowsPerTrigger", HONOURED, LONG, None, "Maximum number of rows of a streaming batch.", unset="no limit"),
    Option("read.stream.minRowsPerTrigger", KEPT, LONG, None, "Minimum number of rows of a streaming batch in Paimon's Spark connector."),
    Option("read.stream.maxTriggerDelayMs", KEPT, LONG, None, "Maximum wait for that minimum."),
    Option("source.split.target-size-with-column-pruning", KEPT, BOOL, "false", "Whether tasks are packed by the size of the columns that are read."),
    Option("scan.preserve-data-grouping", KEPT, BOOL, "false", "Whether Paimon's Spark connector reports buckets to Spark."),
    Option("legacy-timestamp-mapping.enabled", KEPT, BOOL, "false", "Whether Paimon's Spark connector maps timestamps to Spark's older type."),
    Option("requiredSparkConfsCheck.enabled", KEPT, BOOL, "true", "Whether Paimon's Spark connector checks Spark's settings at the start."),
)

_OTHERS: Final = (
    Option("metadata.iceberg.storage", REFUSED, ENUM, "disabled", "Whether each commit also writes Iceberg metadata, and where.", "Lakebed writes no Iceberg metadata, so Iceberg readers would miss its commits; leave it out", values=("disabled", "table-location", "hadoop-catalog", "hive-catalog", "rest-catalog"), readable=True),
    Option("metadata.iceberg-compatible", REFUSED, BOOL, "false", "Whether each commit also writes Iceberg metadata, in old versions of Paimon.", "Lakebed writes no Iceberg metadata, so Iceberg readers would miss its commits; leave it out", readable=True),
    Option("metadata.iceberg.*", KEPT, TEXT, None, "Settings of the Iceberg metadata."),
    Option("metastore.partitioned-table", KEPT, BOOL, "false", "Whether Hive's metastore lists the partitions."),
    Option("metastore.tag-to-partition", KEPT, TEXT, None, "Column under which Hive shows tags as partitions."),
    Option("metastore.tag-to-partition.preview", KEPT, ENUM, "none", "Whether Hive shows automatic tags before they are created.", values=("none", "process-time", "watermark", "batch")),
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
    Section("Autopilot", _AUTOPILOT),
    Section("Row ids, blobs, vectors, variants and global indexes", _ROW_IDENTITY),
    Section("Flink", _FLINK),
    Section("Spark", _SPARK),
    Section("Iceberg and Hive", _OTHERS),
)
