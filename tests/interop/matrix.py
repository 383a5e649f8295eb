"""How a case or a story is played between two sides, and what must hold after every step.

A side is anything with the methods of ``Side``: lakebed (``ours.Ours``) or an oracle. The functions know nothing of
which is which, so the same check can be run between two oracles to see that the case itself is right.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pytest
from tests.interop.cases import Case, Fields, Filter, Story, comparable, expected, table
from tests.interop.oracle import Where
from tests.interop.protocol import PaimonType

TABLE = "db.t"


class Side(Protocol):
    """One implementation of the format."""

    @property
    def name(self) -> str: ...

    def create_table(
        self,
        warehouse: Path,
        table: str,
        fields: list[tuple[str, PaimonType]],
        partition_keys: list[str] | None = None,
        *,
        primary_keys: list[str] | None = None,
        options: dict[str, str] | None = None,
    ) -> None: ...

    def write(self, warehouse: Path, table: str, data: pa.Table, overwrite: dict[str, str] | None = None) -> None: ...

    def read(
        self,
        warehouse: Path,
        table: str,
        where: Where | None = None,
        columns: list[str] | None = None,
        options: dict[str, str] | None = None,
    ) -> pa.Table: ...

    def truncate(self, warehouse: Path, table: str, partitions: list[dict[str, str]] | None = None) -> None: ...

    def alter(self, warehouse: Path, table: str, changes: list[list[Any]]) -> None: ...


def play_case(case: Case, maker: Side, other: Side, warehouse: Path) -> None:
    """``maker`` creates and writes, ``other`` appends, ``maker`` appends again; both read all of it after each step."""
    maker.create_table(warehouse, TABLE, case.fields, case.partition_by, options=case.options)
    rows = []
    for writer, batch in ((maker, case.first), (other, case.second), (maker, case.first)):
        writer.write(warehouse, TABLE, table(case.fields, batch))
        rows += batch
        for reader in (maker, other):
            found = reader.read(warehouse, TABLE)
            assert comparable(found, case.fields) == expected(case.fields, rows), (
                f"{reader.name} after {writer.name} wrote"
            )
    check_filters(case.filters, able_to_filter(case.cannot, (maker, other)), warehouse)
    check_projection(case, (maker, other), warehouse)


def check_filters(filters: Sequence[Filter], readers: Sequence[Side], warehouse: Path) -> None:
    for one in filters:
        for reader in readers:
            found = frozenset(reader.read(warehouse, TABLE, where=one.where)["id"].to_pylist())
            assert found == one.ids, f"{reader.name} with {one.where.sql}"


def able_to_filter(cannot: Mapping[str, str], readers: Sequence[Side]) -> list[Side]:
    return [reader for reader in readers if f"{reader.name} filters" not in cannot]


def check_projection(case: Case, readers: Sequence[Side], warehouse: Path) -> None:
    """The last column alone: a reader that took positions for names would fail here."""
    name, kind = case.fields[-1]
    at = len(case.fields) - 1
    rows = [(row[at],) for row in case.first + case.second + case.first]
    for reader in readers:
        found = reader.read(warehouse, TABLE, columns=[name])
        assert comparable(found, [(name, kind)]) == expected([(name, kind)], rows), reader.name


def play_story(story: Story, maker: Side, actors: Sequence[Side], readers: Sequence[Side], warehouse: Path) -> None:
    """Step i is taken by actor i (cyclically). All readers must agree after each step and find the rows at the end."""
    maker.create_table(warehouse, TABLE, story.fields, story.partition_by, options=story.options)
    fields = story.fields
    for i, step in enumerate(story.steps):
        actor = actors[i % len(actors)]
        fields = take_step(step, actor, fields, warehouse)
        views = [comparable(reader.read(warehouse, TABLE), fields) for reader in readers]
        assert all(view == views[0] for view in views), f"readers differ after {actor.name} did {step[0]}"
    assert fields == story.end_fields
    for reader in readers:
        assert comparable(reader.read(warehouse, TABLE), fields) == expected(fields, story.end), reader.name
    check_filters(story.filters, able_to_filter(story.cannot, readers), warehouse)


def take_step(step: tuple[Any, ...], actor: Side, fields: Fields, warehouse: Path) -> Fields:
    match step:
        case ("write", rows):
            actor.write(warehouse, TABLE, table(fields, rows))
        case ("overwrite", partition, rows):
            actor.write(warehouse, TABLE, table(fields, rows), overwrite=partition)
        case ("truncate",):
            actor.truncate(warehouse, TABLE)
        case ("drop_partition", partition):
            actor.truncate(warehouse, TABLE, [partition])
        case ("alter", changes, new_fields):
            actor.alter(warehouse, TABLE, changes)
            return list(new_fields)
        case _:
            raise ValueError(f"unknown step {step}")
    return fields


def play(case: Case, maker: str, ours: Side, oracle: Side, warehouse: Path) -> None:
    """A case between us and an oracle, unless the case says that the oracle cannot."""
    skip_if_it_cannot(case.cannot, oracle, creates=maker == "theirs")
    first, second = (ours, oracle) if maker == "ours" else (oracle, ours)
    play_case(case, first, second, warehouse)


def play_steps(story: Story, order: str, ours: Side, oracle: Side, warehouse: Path) -> None:
    """A story whose steps are taken by us, by them, or in turn; who takes the first step makes the table."""
    actors = [ours if who == "us" else oracle for who in order.split()]
    skip_if_it_cannot(story.cannot, oracle, creates=actors[0] is oracle)
    play_story(story, actors[0], actors, [ours, oracle], warehouse)


def skip_if_it_cannot(cannot: Mapping[str, str], oracle: Side, *, creates: bool) -> None:
    for what in (oracle.name, *([f"{oracle.name} creates"] if creates else [])):
        if what in cannot:
            pytest.skip(cannot[what])
