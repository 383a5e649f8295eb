"""What a change of schema does to options, and which changes of options a table bears.

Options that say how existing files are to be understood cannot change once there are any; some others only in one
direction. Options that name columns follow a rename where their meaning is plain, and hold the column otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lakebed.errors import OptionError, SchemaError

# Those that Paimon marks immutable, and sequence.field, whose change would reorder what is merged already.
IMMUTABLE_OPTIONS: Final = frozenset(
    {
        "aggregation.remove-record-on-delete",
        "blob-descriptor-field",
        "blob-field",
        "blob-view-field",
        "bucket-function.type",
        "bucket-key",
        "data-evolution.enabled",
        "data-file.path-directory",
        "dynamic-bucket.initial-buckets",
        "force-lookup",
        "index-file-in-data-file-dir",
        "merge-engine",
        "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group",
        "partition",
        "partition.default-name",
        "partition.legacy-name",
        "pk-clustering-override",
        "primary-key",
        "primary-key.nullable",
        "row-tracking.enabled",
        "rowkind.field",
        "sequence.field",
        "sequence.snapshot-ordering",
        "type",
        "video-frame-field",
    }
)
# Not options of a living table at all: keys are part of the schema, the path is where it lies.
_NEVER: Final = frozenset({"primary-key", "partition", "path"})
_ONCE_TRUE: Final = frozenset({"ignore-delete", "ignore-update-before"})

_FOLLOWING_LISTS: Final = frozenset({"bucket-key", "sequence.field"})
_HOLDING_LISTS: Final = frozenset({"rowkind.field", "record-level.time-field", "clustering.columns"})
_FIELD_OPTION: Final = re.compile(r"fields\.(?P<columns>.+)\.(?P<suffix>[^.]+)")
_INDEX_OPTION: Final = re.compile(r"file-index\.[^.]+\.columns")


def check_option_change(options: Mapping[str, str], key: str, value: str | None, has_snapshots: bool) -> None:
    """Refuse to set (or with None to remove) an option where files of the table would be misread afterwards."""
    old = options.get(key)
    if value == old:
        return
    if key in _NEVER:
        raise OptionError(f"option {key!r} cannot change after a table is created; create a new table")
    if not has_snapshots:
        return
    if key in IMMUTABLE_OPTIONS:
        raise OptionError(f"option {key!r} cannot change once a table has snapshots; create a new table")
    if key == "bucket" and (value is None or "-1" in {value, options.get("bucket", "-1")}):
        raise OptionError(
            f"option 'bucket' cannot change from {old or '-1'} to {value or 'its default'}: "
            "a table stays with fixed or with dynamic buckets; create a new table"
        )
    if key in _ONCE_TRUE and _is_true(old) and not _is_true(value):
        raise OptionError(f"option {key!r} cannot go from true to false: what was ignored is not in the files")
    if key == "deletion-vectors.enabled" and _is_true(old) != _is_true(value):
        _check_deletion_vectors(options)
    if key == "changelog-producer" and "lookup" in {old, value}:
        _check_lookup(options)


def _check_lookup(options: Mapping[str, str]) -> None:
    """Where keys are looked up, rows above level 0 hold what lies below; elsewhere that would count twice, or not at all."""
    looks_up = any(_is_true(options.get(name)) for name in ("deletion-vectors.enabled", "force-lookup"))
    engine = options.get("merge-engine", "deduplicate")
    if engine in {"partial-update", "aggregation"} and not looks_up:
        raise OptionError(
            "option 'changelog-producer' cannot become lookup or cease to be once a table has snapshots and "
            f"'merge-engine' is {engine}, because values would be merged twice or not at all; create a new table"
        )


def _check_deletion_vectors(options: Mapping[str, str]) -> None:
    if not _is_true(options.get("deletion-vectors.modifiable")):
        raise OptionError(
            "option 'deletion-vectors.enabled' cannot change once a table has snapshots, because rows could show up "
            "twice; compact the table fully and set 'deletion-vectors.modifiable' to true first"
        )


def _is_true(value: str | None) -> bool:
    return (value or "").strip().lower() == "true"


def named_columns(key: str, value: str) -> set[str]:
    """The columns that one option names.

    >>> sorted(named_columns("fields.a,b.sequence-group", "c,d"))
    ['a', 'b', 'c', 'd']
    """
    if key in _FOLLOWING_LISTS or key in _HOLDING_LISTS:
        return {name.strip() for name in value.split(",")} | set(value.split(","))
    if _INDEX_OPTION.fullmatch(key):
        # A map column may be indexed by key: column[key].
        return {name.split("[")[0].strip() for name in value.split(",")}
    match = _FIELD_OPTION.fullmatch(key)
    if match is None:
        return set()
    columns = set(match["columns"].split(","))
    return columns | set(value.split(",")) if match["suffix"] == "sequence-group" else columns


def rename_in_options(options: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """The options after a column got another name."""
    renamed: dict[str, str] = {}
    for key, value in options.items():
        if old not in named_columns(key, value):
            renamed[key] = value
            continue
        if "," in new:
            raise SchemaError(f"column {old!r} cannot be renamed to {new!r}: option {key!r} separates names by commas")
        match = _FIELD_OPTION.fullmatch(key)
        if key in _FOLLOWING_LISTS:
            renamed[key] = _rename_in_list(value, old, new)
        elif match is not None:
            columns = _rename_in_list(match["columns"], old, new)
            in_value = match["suffix"] == "sequence-group"
            renamed[f"fields.{columns}.{match['suffix']}"] = _rename_in_list(value, old, new) if in_value else value
        else:
            raise SchemaError(f"column {old!r} cannot be renamed: option {key!r} names it; change that first")
    return renamed


def _rename_in_list(names: str, old: str, new: str) -> str:
    return ",".join(new if name.strip() == old or name == old else name for name in names.split(","))
