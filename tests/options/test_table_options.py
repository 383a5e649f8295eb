from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import OptionError, UnsupportedError
from lakebed.options import (
    OPTIONS,
    Kind,
    Option,
    StatsMode,
    Support,
    TableOptions,
    check_existing,
    check_new,
    check_overlay_names,
    find,
    lookup,
    normalise,
    parse_bool,
    parse_duration,
    parse_float,
    parse_int,
    parse_list,
    parse_map,
    parse_size,
    to_markdown,
)
from lakebed.options.definitions import SECTIONS

WHERE = "table db.t"
DOCS = Path(__file__).parents[2] / "docs" / "options.md"

# What the format and the features to come name; each must be known, whatever Lakebed does with it.
NAMED = """
aggregation.remove-record-on-delete branch bucket bucket-function.type bucket-key chain-table.chain-partition-keys
chain-table.enabled chain-table.gap-read chain-table.split.key-range-enabled chain-table.streaming.merge-snapshot
changelog-producer changelog.num-retained.max changelog.num-retained.min changelog.time-retained
commit.discard-duplicate-files commit.max-retries commit.max-retry-wait commit.min-retry-wait commit.timeout
commit.user-prefix compaction.force-rewrite-all-files compaction.incremental-size-threshold
compaction.max-size-amplification-percent compaction.optimization-interval compaction.size-ratio
compaction.total-size-threshold consumer-id consumer.changelog-only consumer.expiration-time data-evolution.enabled
data-file.external-paths data-file.external-paths.strategy data-file.path-directory data-file.prefix
data-file.thin-mode deletion-vector.index-file.target-size deletion-vectors.bitmap64 deletion-vectors.enabled
deletion-vectors.merge-on-read dynamic-bucket.assigner-parallelism dynamic-bucket.initial-buckets
dynamic-bucket.max-buckets dynamic-bucket.target-row-num dynamic-bucket.target-size dynamic-partition-overwrite
fields.c.aggregate-function fields.c.distinct fields.c.ignore-retract fields.c.list-agg-delimiter fields.c.nested-key
fields.c.stats-mode fields.g1,g2.sequence-group fields.default-aggregate-function file-index.bloom-filter.columns
file-index.in-manifest-threshold file.block-size file.compression file.compression.per.level
file.compression.zstd-level file.format file.format.per.level file.suffix.include.compression
format-table.partition-path-only-value full-compaction.delta-commits global-index.external-path ignore-delete
incremental-between incremental-between-scan-mode incremental-between-timestamp incremental-to-auto-tag
index-file-in-data-file-dir lock.enabled lock.type manifest-sort.enabled manifest.cache.max-size
manifest.compaction.async.threads manifest.compaction.interval-commits manifest.compaction.max-delta-count
manifest.compaction.min-delta-count manifest.compaction.mode manifest.compression manifest.format
manifest.full-compaction-threshold-size manifest.merge-min-count manifest.merge-optimize.enabled
manifest.target-file-size merge-engine metadata.stats-dense-store metadata.stats-keep-first-n-columns
metadata.stats-mode metadata.stats-mode.per.level num-sorted-run.compaction-trigger num-sorted-run.stop-trigger
overwrite-upgrade parquet.block.size partial-update.remove-record-on-delete
partial-update.remove-record-on-sequence-group partition.default-name partition.expiration-batch-size
partition.expiration-check-interval partition.expiration-max-num partition.expiration-strategy
partition.expiration-time partition.legacy-name partition.timestamp-formatter partition.timestamp-pattern path
pk-clustering-override primary-key primary-key.nullable primary_key row-tracking.enabled rowkind.field
scan.creation-time-millis scan.fallback-branch scan.fallback-delta-branch scan.fallback-snapshot-branch
scan.file-creation-time-millis scan.mode scan.primary-branch scan.snapshot-id scan.tag-name scan.timestamp
scan.timestamp-millis scan.version scan.watermark sequence.field sequence.field.sort-order sequence.snapshot-ordering
snapshot.clean-empty-directories snapshot.expire.execution-mode snapshot.expire.limit snapshot.ignore-empty-commit
snapshot.num-retained.max snapshot.num-retained.min snapshot.time-retained source.split.open-file-cost
source.split.target-size streaming-read-overwrite table-read.sequence-number.enabled tag.automatic-creation
tag.creation-period tag.default-time-retained tag.num-retained-max tag.time-expire-enabled target-file-size type
write-only write.merge-schema write.sequence-number-init-mode
""".split()  # noqa: SIM905  a list literal would be a page long


# The table


def test_each_name_stands_once_and_aliases_are_nobody_elses() -> None:
    rows = [option.name for section in SECTIONS for option in section.options]
    aliases = [alias for option in OPTIONS.values() for alias in option.aliases]
    assert len(rows) == len(set(rows)) == len(OPTIONS)
    assert len(aliases) == len(set(aliases))
    assert not set(aliases) & set(rows)
    assert len(rows) > 400


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)
def test_each_row_is_sound(option: Option) -> None:
    assert option.meaning.endswith(".")
    assert "|" not in option.meaning + option.why
    assert bool(option.values) == (option.kind is Kind.ENUM)
    assert bool(option.pattern) == bool(option.form)
    assert bool(option.why) == (option.support is Support.REFUSED or bool(option.accepted or option.refused))
    assert set(option.accepted) <= set(option.values) or option.kind is Kind.MAP
    if option.kind is Kind.ENUM:
        assert set(option.refused) <= set(option.values)
    if option.default:
        # A default is a good value, and a supported one.
        check_new({option.name: option.default}, where=WHERE)


@pytest.mark.parametrize("name", NAMED)
def test_the_names_of_the_format_and_of_later_parts_are_known(name: str) -> None:
    assert find(name) is not None


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("bucket", "bucket"),
        ("write.compaction-skip", "write-only"),
        ("fields.default-aggregate-function", "fields.default-aggregate-function"),
        ("fields.a.b.aggregate-function", "fields.<column>.aggregate-function"),
        ("fields.a,b.sequence-group", "fields.<column>.sequence-group"),
        ("commit.callback.com.x.Y.param", "commit.callback.<class>.param"),
        ("metadata.stats-mode.per.level.0", "metadata.stats-mode.per.level"),
        ("parquet.block.size", "parquet.block.size"),
        ("parquet.page.size", "parquet.*"),
        ("global-index.external-path", "global-index.external-path"),
        ("global-index.thread-num", "global-index.*"),
        ("file-index.bitmap.columns", "file-index.*"),
        ("lookup.async", "lookup.*"),
        ("paimon.manifest.compaction.mode", "manifest.compaction.mode"),
        ("paimon.manifest.merge-min-count", "manifest.merge-min-count"),
    ],
)
def test_find_takes_aliases_patterns_and_prefixes(name: str, row: str) -> None:
    found = find(name)
    assert found is not None
    assert found.name == row


@pytest.mark.parametrize(
    "name",
    [
        "",
        "bukcet",
        "Bucket",
        "paimon.bucket",
        "fields.a.nothing",
        "fields..stats-mode",
        "parquet.",
        "file.compression.per.level.",
    ],
)
def test_find_knows_nothing_else(name: str) -> None:
    assert find(name) is None


# Parsers; the examples were compared with what Apache Paimon 2.0 makes of them.


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("500", 500),
        ("1b", 1),
        ("500 bytes", 500),
        ("8mb", 8 << 20),
        ("128 mb", 128 << 20),
        (" 2 K ", 2048),
        ("1 G", 1 << 30),
        ("1 TB", 1 << 40),
        ("2 kibibytes", 2048),
        ("9223372036854775807 bytes", 2**63 - 1),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", " ", "mb", "1.5 gb", "-1 mb", "10 e", "1 mb 2", "9223372036854775808", "8388608 tb", "infinite"]
)
def test_bad_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="a size such as 128 mb"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1", 0.001),
        ("1 d", 86400),
        ("2 days", 172800),
        ("1h", 3600),
        ("2 hours", 7200),
        ("1 m", 60),
        ("1 min", 60),
        ("3 minutes", 180),
        ("30 s", 30),
        (" 7 S ", 7),
        ("2 secs", 2),
        ("10 ms", 0.01),
        ("2 millis", 0.002),
        ("5 µs", 5e-6),
        ("1 micro", 1e-6),
        ("1 ns", 1e-9),
        ("2 nanoseconds", 2e-9),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["", "PT1H", "-1 s", "1.5 h", "1 w", "2 mins", "s", "9223372036854775807 d"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as 10 s"):
        parse_duration(text)


@given(st.integers(0, 2**40), st.sampled_from(["b", "kb", "mb"]), st.sampled_from(["", " ", "  "]), st.booleans())
def test_sizes_scale_with_their_unit(number: int, unit: str, space: str, upper: bool) -> None:
    text = f"{number}{space}{unit.upper() if upper else unit}"
    assert parse_size(text) == number * {"b": 1, "kb": 1024, "mb": 1024**2}[unit]


@given(
    st.integers(0, 10**9),
    st.sampled_from([("ms", 1), ("s", 1000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)]),
)
def test_durations_scale_with_their_unit(number: int, unit: tuple[str, int]) -> None:
    assert parse_duration(f"{number} {unit[0]}") == pytest.approx(parse_duration(str(number * unit[1])))


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers(number: int) -> None:
    assert parse_int(str(number), 2**63 - 1) == number
    if -(2**31) <= number < 2**31:
        assert parse_int(str(number)) == number
    else:
        with pytest.raises(ValueError, match="a whole number of 32 bits"):
            parse_int(str(number))


@pytest.mark.parametrize("text", ["", " 5", "5 ", "1.0", "0x5", "five", "\u0665", "1_000"])
def test_bad_whole_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="a whole number"):
        parse_int(text)


def test_booleans() -> None:
    assert [parse_bool(text) for text in ("true", "FALSE", "True")] == [True, False, True]
    for text in ("yes", "1", "", " true"):
        with pytest.raises(ValueError, match="true or false"):
            parse_bool(text)


def test_numbers() -> None:
    assert parse_float("0.7") == 0.7
    for text in ("", "nan", "Infinity", "x"):
        with pytest.raises(ValueError, match="a number"):
            parse_float(text)


@given(st.lists(st.text(st.characters(exclude_characters=","), min_size=1), max_size=5))
def test_lists_keep_every_character_but_commas(parts: list[str]) -> None:
    assert parse_list(",".join(parts)) == tuple(parts)


def quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


@given(st.dictionaries(st.text(), st.text(), max_size=4))
def test_maps_survive_quoting(entries: dict[str, str]) -> None:
    text = ",".join(quoted(f"{quoted(key)}:{quoted(value)}") for key, value in entries.items())
    assert parse_map(text) == entries


@given(
    st.dictionaries(
        st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True), st.from_regex(r"[a-z0-9()]{1,8}", fullmatch=True), max_size=4
    )
)
def test_plain_maps(entries: dict[str, str]) -> None:
    assert parse_map(" , ".join(f"{key} : {value}" for key, value in entries.items())) == entries


@pytest.mark.parametrize("text", ["0", "a:b:c", "'a,b':c", "'0':'lz4'", "a:b,a:c", "a:", "'a:b"])
def test_bad_maps(text: str) -> None:
    with pytest.raises(ValueError, match="a map such as"):
        parse_map(text)


# Checks


def test_new_options_may_tune_other_engines() -> None:
    check_new(
        {
            "bucket": "4",
            "bucket-key": "id",
            "file.compression": "ZSTD",
            "sink.parallelism": "8",
            "file-index.bloom-filter.columns": "a,b",
            "fields.a.stats-mode": "truncate(4)",
            "merge-engine": "deduplicate",
            "sequence.field": "",
            "file.format.per.level": "0:parquet",
            "paimon.manifest.compaction.mode": "async",
            "k1": "v1",
            "team.owner": "sales",
        },
        where=WHERE,
    )


@pytest.mark.parametrize("name", ["merge_engine", "bucket_key", "snapshot.num-retained.maxx", "primary_keys", "Bucket"])
def test_a_property_that_looks_like_an_option_is_refused_with_a_suggestion(name: str) -> None:
    with pytest.raises(OptionError, match=f"unknown option '{name}' in table db.t; did you mean '"):
        check_new({name: "1"}, where=WHERE)


def test_an_option_for_one_query_is_never_a_property() -> None:
    check_overlay_names({"branch": "b", "scan.snapshot-id": "1"}, where=WHERE)
    with pytest.raises(OptionError, match="unknown option 'k1'"):
        check_overlay_names({"k1": "v1"}, where=WHERE)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("bukcet", "1", "unknown option 'bukcet' in table db.t; did you mean 'bucket'?"),
        (
            "fields.a.stat-mode",
            "full",
            "unknown option 'fields.a.stat-mode' in table db.t; did you mean 'fields.<column>.stats-mode'?",
        ),
        (
            "bucket",
            "0",
            "option 'bucket' in table db.t is '0'; it must be -1 (dynamic: as many buckets as needed) or a positive number",
        ),
        (
            "bucket",
            "two",
            "option 'bucket' in table db.t is 'two'; it must be -1 (dynamic: as many buckets as needed) or a positive",
        ),
        ("file.compression", "zst", "it must be one of zstd, snappy"),
        ("file.compression.zstd-level", "23", "it must be at most 22"),
        ("commit.max-retries", "-1", "it must be at least 0"),
        ("commit.timeout", "1 year", "it must be a duration such as 10 s"),
        ("target-file-size", "0", "it must be at least 1"),
        ("metadata.stats-mode", "truncate(0)", "it must be none, counts, full or truncate"),
        ("fields.a.stats-mode", "some", "it must be none, counts, full or truncate"),
        ("metadata.stats-mode.per.level", "0:some", "it must be none, counts, full or truncate"),
        ("metadata.stats-mode.per.level", "low:none", "keys are levels"),
        ("metadata.stats-mode.per.level.x", "none", "keys are levels"),
        ("partition.default-name", "a/b", "a name without slashes"),
        ("data-file.path-directory", "/data", "a relative path"),
        ("data-file.path-directory", "a/../b", "a relative path"),
        ("snapshot.time-retained", "soon", "it must be a duration"),
        ("lookup-wait", "maybe", "it must be true or false"),
    ],
)
def test_new_options_must_be_known_and_well_written(name: str, value: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        check_new({"file.format": "parquet", name: value}, where=WHERE)
    assert message in str(caught.value)
    assert repr(name) in str(caught.value)


REFUSED = [
    ("bucket", "-2", False),
    ("type", "format-table", False),
    ("file.format", "lance", True),
    ("file.format.per.level", "0:avro,5:row", True),
    ("file.format.per.level.0", "csv", True),
    ("file.compression.per.level", "0:zstd,1:lzo", True),
    ("changelog-file.compression", "brotli", True),
    ("file.compression", "lzo", True),
    ("manifest.format", "parquet", False),
    ("manifest.compression", "none", True),
    ("primary-key", "id", False),
    ("path", "/elsewhere", True),
    ("primary-key.nullable", "true", False),
    ("row-tracking.enabled", "TRUE", False),
    ("data-evolution.enabled", "true", False),
    ("data-file.external-paths", "s3://b/a", True),
    ("index-file-in-data-file-dir", "true", False),
    ("sequence.snapshot-ordering", "true", False),
    ("pk-clustering-override", "true", False),
    ("record-level.expire-time", "1 d", False),
    ("scan.mode", "incremental", False),
    ("scan.creation-time-millis", "0", False),
    ("global-index.external-path", "s3://b/i", False),
    ("blob-field", "picture", False),
    ("query-auth.enabled", "true", False),
    ("upsert-key", "id", True),
    ("metadata.iceberg.storage", "table-location", True),
    ("pk-btree.index.columns", "a", True),
]


@pytest.mark.parametrize(("name", "value", "readable"), REFUSED)
def test_what_is_not_supported_is_refused_with_what_to_do(name: str, value: str, readable: bool) -> None:
    with pytest.raises(OptionError) as new:
        check_new({name: value}, where=WHERE)
    with pytest.raises(UnsupportedError) as existing:
        check_existing({name: value}, where=WHERE)
    message = str(new.value)
    assert message == str(existing.value)
    assert message.startswith(f"option {name!r} in {WHERE} is {value!r}: ")
    assert len(message.rsplit(": ", 1)[1]) > 20
    if readable:
        assert check_existing({name: value}, where=WHERE, writing=False) == [message]
    else:
        with pytest.raises(UnsupportedError):
            check_existing({name: value}, where=WHERE, writing=False)


def test_flipping_one_word_supports_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    row = OPTIONS["record-level.expire-time"]
    honoured = Option(row.name, Support.HONOURED, row.kind, row.default, row.meaning, row.why, row.values)
    monkeypatch.setattr(lookup, "OPTIONS", {**OPTIONS, row.name: honoured})
    check_new({"record-level.expire-time": "1 d"}, where=WHERE)
    with pytest.raises(OptionError, match="a duration"):
        check_existing({"record-level.expire-time": "soon"}, where=WHERE)


def test_misspelt_options_of_others_are_reported() -> None:
    found = {"my.note": "x", "bukcet": "1", "bucket": "2", "sink.parallelism": "many", "merge-engine": "deduplicate"}
    assert check_existing(found, where=WHERE) == ["unknown option 'bukcet' in table db.t; it is kept and has no effect"]


def test_tables_of_others_may_not_hold_bad_values_that_matter() -> None:
    with pytest.raises(OptionError, match=r"option 'bucket' in table db\.t is 'x'"):
        check_existing({"bucket": "x"}, where=WHERE)


# Values from Python


def test_normalise() -> None:
    assert normalise({"a": True, "b": False, "c": 3, "d": 0.5, "e": "x", "f": ["a", "b"], "g": ()}) == {
        "a": "true",
        "b": "false",
        "c": "3",
        "d": "0.5",
        "e": "x",
        "f": "a,b",
        "g": "",
    }


@pytest.mark.parametrize("value", [None, {"a": 1}, [1, 2], b"x"])
def test_normalise_refuses_what_has_no_text(value: object) -> None:
    with pytest.raises(OptionError, match=r"option 'bucket' is .*; give a string"):
        normalise({"bucket": value})


# Typed access


def test_defaults() -> None:
    options = TableOptions({})
    assert options.branch == "main"
    assert options.bucket == -1
    assert options.bucket_key == ()
    assert options.bucket_function == "default"
    assert options.target_file_size(is_primary_key=True) == 128 << 20
    assert options.target_file_size(is_primary_key=False) == 256 << 20
    assert (options.file_format(), options.file_compression()) == ("parquet", "zstd")
    assert options.zstd_level == 1
    assert options.row_group_bytes is None
    assert options.suffix_includes_compression is False
    assert (options.data_file_prefix, options.changelog_file_prefix) == ("data-", "changelog-")
    assert options.data_file_directory is None
    assert options.stats_mode == StatsMode("truncate", 16)
    assert options.stats_mode_per_level == {}
    assert options.stats_keep_first_columns == -1
    assert options.stats_dense_store is True
    assert (options.manifest_compression, options.manifest_target_file_size) == ("zstd", 8 << 20)
    assert options.commit_max_retries is None
    assert options.commit_timeout is None
    assert (options.commit_min_retry_wait, options.commit_max_retry_wait) == (0.01, 10.0)
    assert options.commit_user_prefix is None
    assert options.dynamic_partition_overwrite is True
    assert options.partition_default_name == "__DEFAULT_PARTITION__"
    assert options.partition_legacy_name is True
    assert options.deletion_vectors_enabled is False


def test_set_values() -> None:
    options = TableOptions(
        {
            "bucket-key": "a,b",
            "target-file-size": "1 mb",
            "file.compression": "UNCOMPRESSED",
            "parquet.block.size": "1000",
            "commit.timeout": "2 min",
            "data-file.path-directory": "data",
            "metadata.stats-mode.per.level": "0:none",
            "metadata.stats-mode.per.level.5": "full",
            "fields.a.b.stats-mode": "counts",
            "fields.a.aggregate-function": "sum",
        }
    )
    assert options.bucket_key == ("a", "b")
    assert options.target_file_size(is_primary_key=True) == options.target_file_size(is_primary_key=False) == 1 << 20
    assert options.file_compression() == "uncompressed"
    assert options.row_group_bytes == 1000
    assert options.commit_timeout == 120.0
    assert options.data_file_directory == "data"
    assert options.stats_mode_per_level == {0: StatsMode("none"), 5: StatsMode("full")}
    assert options.column("a.b").stats_mode == StatsMode("counts")
    assert options.get("fields.a.aggregate-function") == "sum"


def test_block_size_of_the_file_wins_over_parquets() -> None:
    both = TableOptions({"file.block-size": "2 mb", "parquet.block.size": "1000"})
    assert both.row_group_bytes == 2 << 20


def test_get_follows_aliases_and_the_name_itself_wins() -> None:
    assert TableOptions({"write.compaction-skip": "true"}).get("write-only") is True
    assert TableOptions({"write.compaction-skip": "true", "write-only": "false"}).get("write-only") is False
    assert TableOptions({"paimon.manifest.compaction.mode": "async"}).get("manifest.compaction.mode") == "ASYNC"


def test_get_never_guesses() -> None:
    with pytest.raises(OptionError, match="did you mean 'bucket'"):
        TableOptions({}).get("bukcet")
    with pytest.raises(OptionError, match=r"option 'bucket' is '1\.5'; it must be -1 .dynamic"):
        _ = TableOptions({"bucket": "1.5"}).bucket
    with pytest.raises(OptionError, match="keys are levels"):
        _ = TableOptions({"metadata.stats-mode.per.level": "low:none"}).stats_mode_per_level


# The page


def test_the_docs_page_is_the_generated_one() -> None:
    assert DOCS.read_text(encoding="utf-8") == to_markdown(), "run: python -m lakebed.options > docs/options.md"


def test_the_module_prints_the_page() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "lakebed.options"],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": str(DOCS.parent.parent / "src"), "PYTHONIOENCODING": "utf-8"},
    )
    assert printed.stdout.decode() == to_markdown()


def test_every_row_of_the_page_has_five_cells() -> None:
    rows = [line for line in to_markdown().splitlines() if line.startswith("| `")]
    assert len(rows) == len(OPTIONS)
    assert all(line.count("|") == 6 for line in rows)
