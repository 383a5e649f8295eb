"""Which options of a table may change, and what a change of columns does to the options that name them.

Options that say how existing files are read cannot change once the table has snapshots: those that are ``immutable`` in
:mod:`lakebed.options.definitions`, and a few others that may change in one direction only. A rename changes the options
that list a column (``bucket-key``, ``fields.<column>.*``). It is refused where another option names the column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lakebed.errors import OptionError, SchemaError
from lakebed.options import TableOptions, find

_FOLLOWING_LISTS: Final = frozenset({TableOptions.bucket_key.name, TableOptions.sequence_field.name})
_HOLDING_LISTS: Final = frozenset({TableOptions.rowkind_field.name, "record-level.time-field", "clustering.columns"})
_ONCE_TRUE: Final = (TableOptions.ignore_delete, TableOptions.ignore_update_before)
_FIELD_OPTION: Final = re.compile(r"fields\.(?P<columns>.+)\.(?P<suffix>[^.]+)")
_INDEX_OPTION: Final = re.compile(r"file-index\.[^.]+\.columns")


def check_option_change(options: Mapping[str, str], key: str, value: str | None, has_snapshots: bool) -> None:
    """Raises OptionError where existing files would be misread after an option is set, or removed with None."""
    if value == options.get(key):
        return
    option = find(key)
    if option is not None and option.create_only:
        raise OptionError(f"option {key!r} cannot change after a table is created; create a new table")
    if not has_snapshots:
        return
    if option is not None and option.immutable:
        raise OptionError(f"option {key!r} cannot change once a table has snapshots; create a new table")
    others = {name: text for name, text in options.items() if name != key}
    before, after = TableOptions(options), TableOptions(others if value is None else {**others, key: value})
    if before.bucket != after.bucket and -1 in {before.bucket, after.bucket}:
        raise OptionError(
            f"option {key!r} cannot change from {before.bucket} to {after.bucket}: "
            "-1 means dynamic buckets, and a table stays with fixed or with dynamic buckets; create a new table"
        )
    for ignored in _ONCE_TRUE:
        if ignored.read(before) and not ignored.read(after):
            raise OptionError(
                f"option {key!r} cannot change from true to false, because the files do not hold the ignored rows"
            )
    if before.deletion_vectors_enabled != after.deletion_vectors_enabled:
        _check_deletion_vectors(before)
    if (before.changelog_producer == "lookup") != (after.changelog_producer == "lookup"):
        _check_lookup(before)


def _check_lookup(options: TableOptions) -> None:
    """Refuses to switch lookup compaction on or off where rows above level 0 are merged with lower levels."""
    looks_up = options.deletion_vectors_enabled or options.force_lookup
    if options.merge_engine in {"partial-update", "aggregation"} and not looks_up:
        raise OptionError(
            "option 'changelog-producer' cannot change to or from lookup once a table has snapshots and "
            f"'merge-engine' is {options.merge_engine}, because values would be merged twice or not at all; "
            "create a new table"
        )


def _check_deletion_vectors(options: TableOptions) -> None:
    if not options.deletion_vectors_modifiable:
        raise OptionError(
            "option 'deletion-vectors.enabled' cannot change once a table has snapshots, because rows could show up "
            "twice; compact the table fully and set 'deletion-vectors.modifiable' to true first"
        )


def named_columns(key: str, value: str) -> set[str]:
    """Returns the columns that one option names.

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
    """Returns the options after a column got another name."""
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
