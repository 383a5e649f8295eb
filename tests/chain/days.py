"""Small chain tables for tests: rows of days, written to one branch or the other, and what main shows."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import lakebed
from lakebed import changes
from lakebed.chain.branch_log import forget_logs
from lakebed.chain.layout import ChainTable
from lakebed.chain.staleness import ChainState

COLUMNS = "k BIGINT, v STRING, date STRING"
GROUPED = "k BIGINT, v STRING, region STRING, date STRING"
OPTIONS: Mapping[str, object] = {
    "bucket": 1,
    "partition.timestamp-pattern": "$date",
    "partition.timestamp-formatter": "yyyyMMdd",
    "chain-table.enabled": True,
}
GROUPED_OPTIONS: Mapping[str, object] = {**OPTIONS, "chain-table.chain-partition-keys": "date"}


def new_table(
    lake: lakebed.Lake, name: str = "db.t", *, grouped: bool = False, sequenced: bool = False, **options: object
) -> Days:
    """Creates a chain table; ``sequenced``: with the sequence field that Java needs; rows ascend by day and write."""
    if sequenced:
        options = {**options, "sequence.field": "s"}
    given = {**(GROUPED_OPTIONS if grouped else OPTIONS), **{key.replace("__", "."): v for key, v in options.items()}}
    keys = ["region", "date"] if grouped else ["date"]
    columns = f"{GROUPED if grouped else COLUMNS}{', s BIGINT' if sequenced else ''}"
    lake.create_table(name, columns, partition_by=keys, primary_key=[*keys, "k"], options=given)
    return Days(lake, name, grouped=grouped, sequenced=sequenced)


@dataclass(frozen=True)
class Days:
    """A chain table whose days are numbers: 3 is 20250803."""

    lake: lakebed.Lake
    name: str
    grouped: bool = False
    sequenced: bool = False
    _writes: Iterator[int] = field(default_factory=itertools.count, repr=False)

    @property
    def main(self) -> lakebed.Table:
        return self.lake.table(self.name)

    @property
    def full(self) -> lakebed.Table:
        return self.main.branch("snapshot")

    @property
    def delta(self) -> lakebed.Table:
        return self.main.branch("delta")

    def rows(self, day: int, values: Mapping[int, str | None], region: str = "eu") -> pa.Table:
        """Rows of a day; a value of None deletes the key (in column ``op``)."""
        columns: dict[str, Any] = {
            "k": pa.array(list(values), pa.int64()),
            "v": pa.array(list(values.values()), pa.string()),
            "date": [date_of(day)] * len(values),
            "op": ["-D" if value is None else "+I" for value in values.values()],
        }
        if self.grouped:
            columns["region"] = [region] * len(values)
        if self.sequenced:
            columns["s"] = pa.array([day * 1_000_000 + next(self._writes)] * len(values), pa.int64())
        return pa.table(columns)

    def load(self, day: int, values: Mapping[int, str], region: str = "eu") -> None:
        """Write a full partition by hand."""
        self.full.overwrite(self.rows(day, values, region).drop(["op"]))

    def change(self, day: int, values: Mapping[int, str | None], region: str = "eu") -> None:
        self.delta.write(self.rows(day, values, region), row_kind="op")

    def overwrite_changes(self, day: int, values: Mapping[int, str], region: str = "eu") -> None:
        self.delta.overwrite(self.rows(day, values, region).drop(["op"]))

    @contextlib.contextmanager
    def changes_retained(self, since: dt.datetime) -> Iterator[None]:
        """Sets the option that drops changes before a local time, and lets every commit check for them."""
        age = f"{int((dt.datetime.now() - since).total_seconds())} s"
        wanted = {"chain-table.changes.time-retained": age, "partition.expiration-check-interval": "0 ms"}
        self.main.alter(*(changes.SetOption(name, value) for name, value in wanted.items()))
        try:
            yield
        finally:
            self.main.alter(*(changes.RemoveOption(name) for name in wanted))

    def view(self, day: int, region: str = "eu") -> dict[int, str]:
        where = f"date = '{date_of(day)}'" + (f" AND region = '{region}'" if self.grouped else "")
        return as_dict(self.main.scan(where=where).to_arrow())

    def days(self, branch: str) -> list[int]:
        """The days that a branch holds."""
        table = self.main.branch(branch)
        return sorted({int(text[-2:]) for text in table.scan(["date"]).to_arrow()["date"].to_pylist()})

    @property
    def chain(self) -> ChainTable:
        found = ChainTable.of(self.main._store)
        assert found is not None
        return found

    def state(self) -> ChainState:
        """The state as another process would see it."""
        forget_logs()
        return ChainState.latest(self.chain)

    def stale(self) -> list[int]:
        state = self.state()
        return sorted(int(link.values["date"][-2:]) for link in state.fulls if link.encoded in state.stale)


def date_of(day: int) -> str:
    return f"202508{day:02d}"


def as_dict(table: pa.Table) -> dict[int, str]:
    """Rows by key; a key that comes twice is an error."""
    keys = table["k"].to_pylist()
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, table["v"].to_pylist(), strict=True))


def partition(day: int, region: str | None = None) -> dict[str, str]:
    return {**({} if region is None else {"region": region}), "date": date_of(day)}


def codes(problems: Iterable[Any]) -> list[str]:
    return [problem.code for problem in problems]
