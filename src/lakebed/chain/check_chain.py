"""What the schema and options of a chain table must satisfy. Checked when it is created and whenever it is altered.

Paimon also requires a sequence field; Lakebed does not. Rows without one are ordered by the position of their partition
in the chain, and within a partition by the order in which they were written.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Final

from lakebed.chain.layout import ChainKeys
from lakebed.errors import OptionError, SchemaError
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.branch_roles import DELTA_BRANCH, ENABLED, FULL_BRANCH
from lakebed.metadata.branches import check_branch_name
from lakebed.options import TableOptions

DEFAULT_BRANCHES: Final[Mapping[str, str]] = {FULL_BRANCH: "snapshot", DELTA_BRANCH: "delta"}
"""The names of the data branches if the user gives none."""

_ENGINES: Final = ("deduplicate", "partial-update")
_PRODUCERS: Final = ("none", "input")
_SOME_TIME: Final = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - times of partitions have no zone


def check_chain(schema: TableSchema, where: str) -> None:
    """Raise if a schema sets ``chain-table.enabled`` and cannot be a chain table."""
    if not TableOptions(schema.options).chain_table_enabled:
        return
    if not schema.primary_keys:
        raise SchemaError(f"{where}: a chain table needs a primary key to merge changes by ({ENABLED!r} is set)")
    if not schema.partition_keys:
        raise SchemaError(f"{where}: a chain table needs partition columns for its days ({ENABLED!r} is set)")
    _check_branches(schema, where)
    _check_options(TableOptions(schema.options), where)
    _check_time(schema, where)


def _check_branches(schema: TableSchema, where: str) -> None:
    names = {option: schema.options.get(option, "") for option in DEFAULT_BRANCHES}
    missing = [option for option, name in names.items() if not name]
    if len(missing) == 1:
        raise OptionError(f"{where}: a chain table needs both branches; option {missing[0]!r} does not name one")
    if missing:
        return  # as in Paimon: it is read like any other table until they are named
    for option, name in names.items():
        if name == MAIN_BRANCH:
            raise OptionError(
                f"{where}: option {option!r} names {MAIN_BRANCH!r}, which shows the data branches; name another branch"
            )
        check_branch_name(name)
    if len(set(names.values())) == 1:
        raise OptionError(f"{where}: {FULL_BRANCH!r} and {DELTA_BRANCH!r} name the same branch; they must differ")


def _check_options(options: TableOptions, where: str) -> None:
    if options.bucket <= 0:
        raise OptionError(
            f"{where}: a chain table needs a fixed number of buckets; set 'bucket' to a positive number, not "
            f"{options.bucket}"
        )
    engine, producer = options.merge_engine, options.changelog_producer
    if engine not in _ENGINES:
        raise OptionError(f"{where}: a chain table merges by {' or '.join(_ENGINES)}, not by {engine!r} (merge-engine)")
    if producer not in _PRODUCERS:
        raise OptionError(
            f"{where}: 'changelog-producer' of a chain table may be {' or '.join(_PRODUCERS)}, not {producer!r}"
        )
    if options.deletion_vectors_enabled and engine != "deduplicate":
        raise OptionError(
            f"{where}: a chain table has deletion vectors only with merge-engine deduplicate, not {engine}"
        )
    strategy = options.partition_expiration_strategy
    if options.partition_expiration_time is not None and strategy != "values-time":
        raise OptionError(
            f"{where}: partitions of a chain table expire by their values; set partition.expiration-strategy to "
            f"values-time, not {strategy}"
        )


def _check_time(schema: TableSchema, where: str) -> None:
    keys = ChainKeys.of(schema, where)
    try:
        _ = keys.time.unit
        named = keys.time.format(_SOME_TIME)
    except OptionError as error:
        raise OptionError(f"{where}: {error}") from None
    unnamed = [name for name in keys.chain if name not in named]
    if unnamed:
        raise OptionError(
            f"{where}: option partition.timestamp-pattern does not name chain column {unnamed[0]!r}; name every one of "
            f"{', '.join(keys.chain)}, or say which make the chain with chain-table.chain-partition-keys"
        )
