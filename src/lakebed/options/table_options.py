"""Table options: what each name means, whether a value is good, and typed access for the code that acts on it.

The rows are in :mod:`lakebed.options.definitions`; this module finds, checks and parses. What it promises:

* :func:`check_new` guards our own CREATE and ALTER: a name nobody knows, a bad value, and a value that Lakebed does not
  support are each one :class:`OptionError`. Options of other engines are accepted and kept.
* :func:`check_existing` guards tables that somebody else made: unknown names are only reported, an unsupported value is
  an :class:`UnsupportedError`, and a bad value matters only where Lakebed would act on it.
* :class:`TableOptions` never guesses: a value that cannot be parsed is an :class:`OptionError`, never a default.

Values are parsed as Apache Paimon parses them. ``python -m lakebed.options`` prints ``docs/options.md``.

>>> parse_size("128 mb"), parse_duration("10 ms"), parse_map("0:none, 1:full")
(134217728, 0.01, {'0': 'none', '1': 'full'})
>>> check_new({"bukcet": "2"}, where="table db.t")
Traceback (most recent call last):
...
lakebed.errors.OptionError: unknown option 'bukcet' in table db.t; did you mean 'bucket'?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from lakebed.errors import OptionError, UnsupportedError, unknown_name
from lakebed.options.definitions import SECTIONS, Kind, Option, Section, Support
from lakebed.options.values import (
    LONG_MAX,
    parse_bool,
    parse_duration,
    parse_float,
    parse_int,
    parse_list,
    parse_map,
    parse_size,
)

__all__ = [
    "OPTIONS",
    "Kind",
    "Option",
    "Support",
    "TableOptions",
    "Value",
    "check_existing",
    "check_new",
    "find",
    "normalise",
    "parse_bool",
    "parse_duration",
    "parse_float",
    "parse_int",
    "parse_list",
    "parse_map",
    "parse_size",
    "to_markdown",
]

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | dict[str, str]
T = TypeVar("T")

OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(
    {option.name: option for section in SECTIONS for option in section.options}
)

_ALIASES: Final = {alias: option for option in OPTIONS.values() for alias in option.aliases}
_MAPS: Final = tuple((f"{option.name}.", option) for option in OPTIONS.values() if option.kind is Kind.MAP)
_PATTERNS: Final = tuple(
    (re.compile(re.sub(r"<\w+>", ".+", re.escape(option.name).replace(r"\<", "<").replace(r"\>", ">"))), option)
    for option in OPTIONS.values()
    if "<" in option.name
)
# Longest first: the nearest family wins.
_PREFIXES: Final = tuple(
    sorted(
        ((option.name[:-1], option) for option in OPTIONS.values() if option.name.endswith("*")),
        key=lambda pair: -len(pair[0]),
    )
)

_TARGET_FILE_SIZE: Final = {True: 128 * 1024**2, False: 256 * 1024**2}

_PARSERS: Final[Mapping[Kind, Callable[[str], Value]]] = {
    Kind.BOOL: parse_bool,
    Kind.INT: parse_int,
    Kind.LONG: lambda text: parse_int(text, LONG_MAX),
    Kind.FLOAT: parse_float,
    Kind.SIZE: parse_size,
    Kind.TIME: parse_duration,
    Kind.TEXT: str,
    Kind.LIST: parse_list,
    Kind.MAP: parse_map,
}


def _parse(option: Option, name: str, text: str, where: str = "") -> Value:
    """The value of ``option``, written as ``text`` under ``name``."""
    try:
        return _parse_value(option, name, text)
    except ValueError as error:
        place = f" in {where}" if where else ""
        raise OptionError(f"option {name!r}{place} is {text!r}; it must be {error}") from None


def _parse_value(option: Option, name: str, text: str) -> Value:
    value: Value
    if option.kind is Kind.ENUM:
        spellings = {known.lower(): known for known in option.values}
        if text.lower() not in spellings:
            raise ValueError(f"one of {', '.join(option.values)}")
        value = spellings[text.lower()]
    elif option.kind is Kind.MAP and name.startswith(f"{option.name}."):
        value = {name.removeprefix(f"{option.name}."): text}
    else:
        value = _PARSERS[option.kind](text)
    # Every map option is one by level.
    if isinstance(value, dict) and not all(re.fullmatch("[0-9]+", level) for level in value):
        raise ValueError("a map whose keys are levels, such as 0:zstd,1:lz4")
    checked: Iterable[str] = value.values() if isinstance(value, dict) else (text,)
    if option.pattern and not all(re.fullmatch(option.pattern, part) for part in checked):
        raise ValueError(option.form)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if option.low is not None and value < option.low:
            raise ValueError(f"at least {option.low}")
        if option.high is not None and value > option.high:
            raise ValueError(f"at most {option.high}")
    return value


@cache
def _default(name: str) -> Value | None:
    """The parsed default of an option, by its name in the table of options."""
    option = OPTIONS[name]
    return None if option.default is None else _parse_value(option, option.name, option.default)


def find(name: str) -> Option | None:
    """The option of this name, also by an alias, an entry of a map, a pattern or a prefix; None if nobody knows it.

    >>> find("fields.price.stats-mode").name, find("parquet.page.size").name, find("file.compression.per.level.0").name
    ('fields.<column>.stats-mode', 'parquet.*', 'file.compression.per.level')
    """
    exact = OPTIONS.get(name) or _ALIASES.get(name)
    if exact is not None:
        return exact
    for prefix, option in _MAPS:
        if name.startswith(prefix) and len(name) > len(prefix):
            return option
    for pattern, option in _PATTERNS:
        if pattern.fullmatch(name):
            return option
    for prefix, option in _PREFIXES:
        if name.startswith(prefix) and len(name) > len(prefix):
            return option
    return None


def _refusal(option: Option, name: str, value: Value, text: str, where: str) -> str | None:
    """Why Lakebed does not support this value, or None if it does."""
    if option.accepted:
        held: Iterable[Value] = value.values() if isinstance(value, dict) else (value,)
        bad = any(part not in option.accepted for part in held)
    elif option.refused:
        bad = str(value) in option.refused
    elif option.support is not Support.REFUSED:
        bad = False
    elif option.default is None:
        bad = not isinstance(value, str | tuple) or bool(text.strip())
    else:
        bad = value != _parse_value(option, option.name, option.default)
    if not bad:
        return None
    place = f" in {where}" if where else ""
    return f"option {name!r}{place} is {text!r}: {option.why}"


def check_new(options: Mapping[str, str], *, where: str) -> None:
    """Checks options of our own CREATE or ALTER; ``where`` names the table in messages.

    >>> check_new({"bucket": "4", "bucket-key": "id", "sink.parallelism": "8"}, where="table db.t")
    >>> check_new({"bucket": "-2"}, where="table db.t")
    Traceback (most recent call last):
    ...
    lakebed.errors.OptionError: option 'bucket' in table db.t is '-2': Lakebed does not support postponed buckets; use -1 or a positive number
    """
    for name, text in options.items():
        option = find(name)
        if option is None:
            raise OptionError(unknown_name("option", name, _known_names(), where=where))
        refusal = _refusal(option, name, _parse(option, name, text, where), text, where)
        if refusal is not None:
            raise OptionError(refusal)


def check_existing(options: Mapping[str, str], *, where: str, writing: bool = True) -> list[str]:
    """Checks options of a table that somebody else may have made; returns sentences worth reporting.

    With ``writing=False`` an unsupported value that leaves the table readable is reported too instead of raised.

    >>> check_existing({"bucket": "1", "my.note": "x"}, where="table db.t")
    ["unknown option 'my.note' in table db.t; it is kept and has no effect"]
    """
    report: list[str] = []
    for name, text in options.items():
        option = find(name)
        if option is None:
            report.append(f"unknown option {name!r} in {where}; it is kept and has no effect")
            continue
        if option.support is Support.KEPT:
            continue
        refusal = _refusal(option, name, _parse(option, name, text, where), text, where)
        if refusal is None:
            continue
        if writing or not option.readable:
            raise UnsupportedError(refusal)
        report.append(refusal)
    return report


def _known_names() -> Iterator[str]:
    yield from OPTIONS
    yield from _ALIASES


def normalise(options: Mapping[str, object]) -> dict[str, str]:
    """Options as they are stored: Python's numbers, booleans and lists of texts become strings.

    >>> normalise({"bucket": 2, "deletion-vectors.enabled": True, "bucket-key": ["a", "b"]})
    {'bucket': '2', 'deletion-vectors.enabled': 'true', 'bucket-key': 'a,b'}
    """
    return {name: _as_text(name, value) for name, value in options.items()}


def _as_text(name: object, value: object) -> str:
    if not isinstance(name, str):
        raise OptionError(f"the name of an option must be a string, not {name!r}")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ",".join(value)
    raise OptionError(
        f"option {name!r} is {value!r} of type {type(value).__name__}; give a string, number, boolean or list of strings"
    )


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of one table, typed: :meth:`get` for any known name, properties for what the code acts on.

    >>> options = TableOptions({"bucket": "4", "target-file-size": "64 mb"})
    >>> options.bucket, options.target_file_size(is_primary_key=True), options.get("commit.max-retries")
    (4, 67108864, 10)
    """

    raw: Mapping[str, str]

    def get(self, name: str) -> Value | None:
        """The parsed value of a known option, its default when it is not set, None when it has none."""
        option = find(name)
        if option is None:
            raise OptionError(unknown_name("option", name, _known_names()))
        if option.kind is Kind.MAP:
            return self._map(option)
        spellings = (name,) if "<" in option.name or "*" in option.name else (option.name, *option.aliases)
        for spelling in spellings:
            if spelling in self.raw:
                return _parse(option, spelling, self.raw[spelling])
        return _default(option.name)

    def _map(self, option: Option) -> dict[str, str]:
        """A map may stand in one value, or spread over one option per key."""
        entries: dict[str, str] = {}
        for name, text in self.raw.items():
            if name == option.name or name.startswith(f"{option.name}."):
                value = _parse(option, name, text)
                entries.update(value if isinstance(value, dict) else {})
        return entries

    def _typed(self, name: str, kind: type[T]) -> T:
        value = self.get(name)
        if not isinstance(value, kind):
            raise OptionError(f"option {name!r} is not set; set it to a {kind.__name__}")
        return value

    def _maybe(self, name: str, kind: type[T]) -> T | None:
        return None if self.get(name) is None else self._typed(name, kind)

    @property
    def branch(self) -> str:
        return self._typed("branch", str)

    @property
    def bucket(self) -> int:
        return self._typed("bucket", int)

    @property
    def bucket_key(self) -> tuple[str, ...]:
        """Empty when the option is not set."""
        return self._maybe("bucket-key", tuple) or ()

    @property
    def bucket_function(self) -> str:
        """``default``, ``mod`` or ``hive``."""
        return self._typed("bucket-function.type", str)

    def target_file_size(self, *, is_primary_key: bool) -> int:
        """Bytes at which a new data file begins."""
        return self._maybe("target-file-size", int) or _TARGET_FILE_SIZE[is_primary_key]

    @property
    def file_format(self) -> str:
        return self._typed("file.format", str)

    @property
    def file_compression(self) -> str:
        """Paimon's name of the codec, as it stands in file names."""
        return self._typed("file.compression", str)

    @property
    def parquet_codec(self) -> str:
        """The same codec as pyarrow calls it."""
        return {"uncompressed": "none", "lz4_raw": "lz4"}.get(self.file_compression, self.file_compression)

    @property
    def zstd_level(self) -> int:
        return self._typed("file.compression.zstd-level", int)

    @property
    def row_group_bytes(self) -> int | None:
        """Size of a Parquet row group, if one was asked for."""
        return self._maybe("file.block-size", int) or self._maybe("parquet.block.size", int)

    @property
    def write_buffer_size(self) -> int:
        """Bytes of rows that a writer on Spark holds before it sorts them to disk."""
        return self._typed("write-buffer-size", int)

    @property
    def suffix_includes_compression(self) -> bool:
        return self._typed("file.suffix.include.compression", bool)

    @property
    def data_file_prefix(self) -> str:
        return self._typed("data-file.prefix", str)

    @property
    def changelog_file_prefix(self) -> str:
        return self._typed("changelog-file.prefix", str)

    @property
    def data_file_directory(self) -> str | None:
        """A folder between the table and its partitions."""
        return self._maybe("data-file.path-directory", str)

    @property
    def stats_mode(self) -> str:
        """As written: ``none``, ``counts``, ``full`` or ``truncate(n)``."""
        return self._typed("metadata.stats-mode", str)

    @property
    def stats_mode_per_level(self) -> dict[int, str]:
        return {int(level): mode for level, mode in self._map(OPTIONS["metadata.stats-mode.per.level"]).items()}

    @property
    def stats_mode_per_column(self) -> dict[str, str]:
        """The modes of single columns, by column name."""
        names = (name for name in self.raw if name.startswith("fields.") and name.endswith(".stats-mode"))
        return {name[len("fields.") : -len(".stats-mode")]: self._typed(name, str) for name in names}

    @property
    def stats_keep_first_columns(self) -> int:
        """-1: all."""
        return self._typed("metadata.stats-keep-first-n-columns", int)

    @property
    def stats_dense_store(self) -> bool:
        return self._typed("metadata.stats-dense-store", bool)

    @property
    def manifest_compression(self) -> str:
        return self._typed("manifest.compression", str)

    @property
    def manifest_target_file_size(self) -> int:
        return self._typed("manifest.target-file-size", int)

    @property
    def commit_max_retries(self) -> int:
        return self._typed("commit.max-retries", int)

    @property
    def commit_timeout(self) -> float | None:
        """Seconds; None: no limit."""
        return self._maybe("commit.timeout", float)

    @property
    def commit_min_retry_wait(self) -> float:
        """Seconds."""
        return self._typed("commit.min-retry-wait", float)

    @property
    def commit_max_retry_wait(self) -> float:
        """Seconds."""
        return self._typed("commit.max-retry-wait", float)

    @property
    def snapshot_num_retained_min(self) -> int:
        return self._typed("snapshot.num-retained.min", int)

    @property
    def snapshot_num_retained_max(self) -> int:
        return self._typed("snapshot.num-retained.max", int)

    @property
    def snapshot_time_retained(self) -> float:
        """Seconds."""
        return self._typed("snapshot.time-retained", float)

    @property
    def snapshot_expire_limit(self) -> int:
        return self._typed("snapshot.expire.limit", int)

    @property
    def snapshot_expire_async(self) -> bool:
        """Whether a commit does not wait for expiry."""
        return self._typed("snapshot.expire.execution-mode", str) == "async"

    @property
    def partition_expiration_time(self) -> float | None:
        """Seconds; None: partitions stay."""
        return self._maybe("partition.expiration-time", float)

    @property
    def partition_expiration_check_interval(self) -> float:
        """Seconds."""
        return self._typed("partition.expiration-check-interval", float)

    @property
    def partition_expiration_strategy(self) -> str:
        return self._typed("partition.expiration-strategy", str)

    @property
    def partition_expiration_max_num(self) -> int:
        return self._typed("partition.expiration-max-num", int)

    @property
    def partition_expiration_batch_size(self) -> int | None:
        """None: all in one commit."""
        return self._maybe("partition.expiration-batch-size", int)

    @property
    def write_merge_schema(self) -> bool:
        return self._typed("write.merge-schema", bool)

    @property
    def write_merge_schema_explicit_cast(self) -> bool:
        return self._typed("write.merge-schema.explicit-cast", bool)

    @property
    def write_merge_schema_type_widening(self) -> bool:
        return self._typed("write.merge-schema.type-widening", bool)

    @property
    def partition_mark_done_action(self) -> tuple[str, ...]:
        return self._typed("partition.mark-done-action", tuple)

    @property
    def partition_timestamp_pattern(self) -> str | None:
        return self._maybe("partition.timestamp-pattern", str)

    @property
    def partition_timestamp_formatter(self) -> str | None:
        return self._maybe("partition.timestamp-formatter", str)

    @property
    def snapshot_clean_empty_directories(self) -> bool:
        return self._typed("snapshot.clean-empty-directories", bool)

    @property
    def consumer_changelog_only(self) -> bool:
        """Whether consumers protect changelogs only, not snapshots."""
        return self._typed("consumer.changelog-only", bool)

    @property
    def tag_default_time_retained(self) -> float | None:
        """Seconds that a tag stays when nothing else is said; None: for ever."""
        return self._maybe("tag.default-time-retained", float)

    @property
    def tag_time_expire_enabled(self) -> bool:
        return self._typed("tag.time-expire-enabled", bool)

    @property
    def consumer_expiration_time(self) -> float | None:
        """Seconds without a note after which a consumer goes; None: it stays."""
        return self._maybe("consumer.expiration-time", float)

    @property
    def commit_user_prefix(self) -> str | None:
        return self._maybe("commit.user-prefix", str)

    @property
    def ignore_empty_commit(self) -> bool:
        """True when not set, as for every batch writer."""
        value = self._maybe("snapshot.ignore-empty-commit", bool)
        return True if value is None else value

    @property
    def dynamic_bucket_target_row_num(self) -> int:
        """Keys of a bucket at which new ones go to another."""
        return self._typed("dynamic-bucket.target-row-num", int)

    @property
    def dynamic_bucket_target_size(self) -> int | None:
        """The same in bytes; None: the size does not matter."""
        return self._maybe("dynamic-bucket.target-size", int)

    @property
    def dynamic_bucket_initial_buckets(self) -> int | None:
        return self._maybe("dynamic-bucket.initial-buckets", int)

    @property
    def dynamic_bucket_max_buckets(self) -> int:
        """Most buckets of a partition; -1: no limit."""
        return self._typed("dynamic-bucket.max-buckets", int)

    @property
    def dynamic_bucket_assigner_parallelism(self) -> int | None:
        return self._maybe("dynamic-bucket.assigner-parallelism", int)

    @property
    def dynamic_partition_overwrite(self) -> bool:
        return self._typed("dynamic-partition-overwrite", bool)

    @property
    def partition_default_name(self) -> str:
        return self._typed("partition.default-name", str)

    @property
    def partition_legacy_name(self) -> bool:
        return self._typed("partition.legacy-name", bool)

    @property
    def deletion_vectors_enabled(self) -> bool:
        return self._typed("deletion-vectors.enabled", bool)

    def is_delta_branch(self, branch: str) -> bool:
        """Whether a branch holds the changes of a chain table: a delete there is a change, and stays one."""
        named = bool(self.get("scan.fallback-snapshot-branch")) and self.get("scan.fallback-delta-branch") == branch
        return named and bool(self.get("chain-table.enabled"))

    def is_full_branch(self, branch: str) -> bool:
        """Whether a branch holds the full partitions of a chain table: one without a row is still one to build on."""
        named = bool(self.get("scan.fallback-delta-branch")) and self.get("scan.fallback-snapshot-branch") == branch
        return named and bool(self.get("chain-table.enabled"))

    @property
    def changelog_producer(self) -> str:
        return self._typed("changelog-producer", str)

    @property
    def looks_up(self) -> bool:
        """Whether compactions look the keys of level 0 up in what lies below, so that rows above level 0 hold all of it."""
        return (
            self.changelog_producer == "lookup"
            or self.deletion_vectors_enabled
            or self.get("merge-engine") == "first-row"
            or self._typed("force-lookup", bool)
        )

    @property
    def changelog_row_deduplicate(self) -> bool:
        """Whether updates that change nothing are left out of the changelog."""
        return self._typed("changelog-producer.row-deduplicate", bool)

    @property
    def changelog_ignored_fields(self) -> tuple[str, ...]:
        """The columns that do not count as a change there."""
        names = self._maybe("changelog-producer.row-deduplicate-ignore-fields", tuple) or ()
        return tuple(name.strip() for name in names)

    @property
    def full_compaction_delta_commits(self) -> int | None:
        """Commits after which everything is compacted; a changelog by full compaction is made after each, if nothing is set."""
        asked = self._maybe("full-compaction.delta-commits", int)
        if asked is None:
            return 1 if self.changelog_producer == "full-compaction" else None
        return max(asked, 1)

    @property
    def changelog_num_retained_min(self) -> int:
        """Changelogs that stay; as many as snapshots, if nothing else is said."""
        asked = self._maybe("changelog.num-retained.min", int)
        return self.snapshot_num_retained_min if asked is None else asked

    @property
    def changelog_num_retained_max(self) -> int:
        asked = self._maybe("changelog.num-retained.max", int)
        return self.snapshot_num_retained_max if asked is None else asked

    @property
    def changelog_time_retained(self) -> float:
        """Seconds."""
        asked = self._maybe("changelog.time-retained", float)
        return self.snapshot_time_retained if asked is None else asked

    @property
    def keeps_changelogs_longer(self) -> bool:
        """Whether changelogs outlive their snapshots."""
        return (
            self.changelog_num_retained_min > self.snapshot_num_retained_min
            or self.changelog_num_retained_max > self.snapshot_num_retained_max
            or self.changelog_time_retained > self.snapshot_time_retained
        )


_INTRODUCTION: Final = """\
# Table options

This page is generated: `python -m lakebed.options > docs/options.md`.

Options are strings that a table carries in its schema. Lakebed knows the options of Apache Paimon and of its Flink and
Spark connectors, and does one of three things with each:

- **honoured**: Lakebed acts on it.
- **kept**: it tunes another engine, or a part of Lakebed that is still to come. It is stored and left alone.
- **refused**: it would change what the data means or where it is, and Lakebed does not support that. Its default (or
  leaving it out) is fine; anything else is refused when a table is created, altered or opened. Where the text says
  *read only*, such a table of somebody else can be read but not written.

A name that is not on this page is refused in our own CREATE and ALTER, and reported on a table that somebody else made.

Values: sizes are `128 mb`, `8mb` or plain bytes (`b`, `kb`, `mb`, `gb`, `tb`, in steps of 1024); durations are `1 h`,
`10 ms` or plain milliseconds (`d`, `h`, `min`, `s`, `ms`, `µs`, `ns`); lists are split at commas and not trimmed; maps are
`0:lz4,1:zstd`, or one option per key (`file.compression.per.level.0`). In a name, `<column>` stands for a column's name
and `*` for any rest. *Fixed* options cannot change once the table has data.
"""


def to_markdown() -> str:
    """The page ``docs/options.md``."""
    return "\n".join([_INTRODUCTION, *(_section_markdown(section) for section in SECTIONS)])


def _section_markdown(section: Section) -> str:
    head = [f"## {section.title}", "", "| option | type | default | meaning | Lakebed |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(_row_markdown(option) for option in section.options), ""])


def _row_markdown(option: Option) -> str:
    name = f"`{option.name}`" + "".join(f"<br>also `{alias}`" for alias in option.aliases)
    kind = ", ".join(f"`{value}`" for value in option.values) or option.kind.value
    default = f"`{option.default}`" if option.default else ""
    return f"| {name} | {kind} | {default} | {option.meaning} | {_support_markdown(option)} |"


def _support_markdown(option: Option) -> str:
    words = [option.support.value]
    if option.accepted:
        words.append(f"only {', '.join(f'`{value}`' for value in option.accepted)}")
    if option.refused:
        words.append(f"not {', '.join(f'`{value}`' for value in option.refused)}")
    if option.readable:
        words.append("else *read only*" if option.accepted or option.refused else "*read only*")
    if option.immutable:
        words.append("*fixed*")
    return ", ".join(words) + (f": {option.why}" if option.why else "")
