"""What a chain table is: its three branches, and how its partitions are ordered in time.

The last partition columns (``chain-table.chain-partition-keys``; by default all) form a time, by
``partition.timestamp-pattern`` and ``partition.timestamp-formatter``. The columns before them are the *group*, and each
group is a chain of its own. The partitions of a chain are ordered by time, whatever the types of their columns.

Main shows what both data branches hold; the data branches themselves are read like ordinary tables
(:class:`lakebed.metadata.branch_roles.BranchRole`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import NotFoundError, OptionError
from lakebed.format.partition_names import partition_table, partition_value
from lakebed.format.partition_time import PartitionTime
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.branch_roles import DELTA_BRANCH, FULL_BRANCH, chain_branches
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

CHAIN_KEYS: Final = TableOptions.chain_partition_keys.name


@dataclass(frozen=True, slots=True)
class Link:
    """One partition of a chain: its encoded row, its values by column, its group and its time."""

    encoded: bytes
    values: Mapping[str, Any]
    group: tuple[Any, ...]
    time: dt.datetime


@dataclass(frozen=True)
class ChainKeys:
    """How the partitions of a table form chains."""

    schema: TableSchema
    group: tuple[str, ...]
    chain: tuple[str, ...]
    time: PartitionTime

    @staticmethod
    def of(schema: TableSchema, where: str) -> ChainKeys:
        """From the options of a schema; raises if the chain columns are not the last partition columns."""
        options = TableOptions(schema.options)
        keys = tuple(schema.partition_keys)
        asked = tuple(name for name in options.chain_partition_keys if name) or keys
        if not keys or keys[len(keys) - len(asked) :] != asked:
            raise OptionError(
                f"{where}: option {CHAIN_KEYS!r} is {', '.join(asked)!r}; it must be the last of the partition columns "
                f"({', '.join(keys)}), in their order"
            )
        pattern, formatter = options.partition_timestamp_pattern, options.partition_timestamp_formatter
        for option in (TableOptions.partition_timestamp_pattern, TableOptions.partition_timestamp_formatter):
            if option.read(options) is None:
                raise OptionError(
                    f"{where}: a chain table needs option {option.name!r} to find the time of a partition, such as "
                    "'$dt' with 'yyyyMMdd'"
                )
        return ChainKeys(schema, keys[: len(keys) - len(asked)], asked, PartitionTime(asked, pattern, formatter))

    def link(self, encoded: bytes, values: Mapping[str, Any]) -> Link:
        """A partition as a link of its chain; raises a ``DataError`` if its values do not form a time."""
        return Link(encoded, values, tuple(values[name] for name in self.group), self.time.parse(values))

    def links(self, partitions: pa.Array) -> list[Link]:
        """Encoded partitions as links of their chains, sorted by group and time."""
        rows = partition_table(partitions, self.schema.partition_fields).to_pylist()
        found = [self.link(code, values) for code, values in zip(partitions.to_pylist(), rows, strict=True)]
        return sorted(found, key=lambda one: (repr(one.group), one.time))

    def values_at(self, group: tuple[Any, ...], moment: dt.datetime) -> dict[str, Any]:
        """The partition values of a group at a time, in the types of their columns."""
        texts = self.time.format(moment)
        missing = [name for name in self.chain if name not in texts]
        if missing:
            raise OptionError(f"option partition.timestamp-pattern does not name chain column {missing[0]!r}")
        made = {name: partition_value(texts[name], self.schema.field(name)).as_py() for name in self.chain}
        return {**dict(zip(self.group, group, strict=True)), **made}


@dataclass(frozen=True)
class ChainTable:
    """The three branches of a chain table."""

    main: TableStore
    full: TableStore
    delta: TableStore

    @cached_property
    def keys(self) -> ChainKeys:
        return ChainKeys.of(self.main.schema(), f"table {self.main.name}")

    @staticmethod
    def of(store: TableStore) -> ChainTable | None:
        """The chain table of a branch (main or a data branch); ``None`` if it is not a branch of a chain table.

        Raises if a data branch that the options name does not exist.
        """
        names = chain_branches(store.schema().options)
        if names is None or store.paths.branch not in {MAIN_BRANCH, *names}:
            return None
        return ChainTable(
            store.on_branch(MAIN_BRANCH),
            _branch(store, FULL_BRANCH, names.full),
            _branch(store, DELTA_BRANCH, names.delta),
        )


def _branch(store: TableStore, option: str, name: str) -> TableStore:
    try:
        return store.on_branch(name)
    except NotFoundError as error:
        raise NotFoundError(
            f"{error}; option {option!r} names it. Create it: CALL sys.create_branch('{store.name}', '{name}')"
        ) from None
