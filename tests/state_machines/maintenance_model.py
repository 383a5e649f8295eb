"""A table with branches and tags as plain Python values: what every operation of Lakebed has to make of it.

Rows are dictionaries by column number. A :class:`Version` is what a snapshot holds; it never changes, and snapshots,
tags and branches share it. Nothing here knows of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Row = Mapping[int, Any]
Rows = tuple[Row, ...]

DEFAULT_RETAIN_MIN = 10
UNLIMITED = 2**31 - 1
EXPIRE_LIMIT = 50


@dataclass(frozen=True)
class Column:
    """A column; its number stays when it is renamed."""

    number: int
    name: str


@dataclass(frozen=True)
class Schema:
    """Columns and the options that decide what goes after a commit. No two that are made alter by alter are equal."""

    columns: tuple[Column, ...]
    retain_min: int = DEFAULT_RETAIN_MIN
    retain_max: int = UNLIMITED
    note: int = 0

    def shown(self, rows: Rows) -> list[str]:
        """Rows as a read shows them, in any order."""
        return sorted(repr({column.name: row.get(column.number) for column in self.columns}) for row in rows)


@dataclass(frozen=True, eq=False)
class Version:
    """What a snapshot holds. ``shown`` is set where only the table itself could tell; ``added`` are batches of rows."""

    rows: Rows
    schema_id: int
    schema: Schema
    kind: str
    added: frozenset[int] = frozenset()
    shown: list[str] | None = None

    def as_read(self) -> list[str]:
        return self.schema.shown(self.rows) if self.shown is None else self.shown


@dataclass
class Branch:
    """One history."""

    schemas: dict[int, Schema]
    snapshots: dict[int, Version] = field(default_factory=dict)
    tags: dict[str, tuple[int, Version]] = field(default_factory=dict)
    consumers: dict[str, int] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        return self.schemas[max(self.schemas)]

    @property
    def latest(self) -> int:
        return max(self.snapshots, default=0)

    @property
    def has_holes(self) -> bool:
        """Whether ids are missing, as after a rollback to an old tag and a fast-forward to a later branch."""
        return len(self.snapshots) < self.latest - min(self.snapshots, default=1) + 1

    @property
    def rows(self) -> Rows:
        return self.snapshots[self.latest].rows if self.snapshots else ()

    def alter(self, **changes: Any) -> None:
        self.schemas[max(self.schemas) + 1] = replace(self.schema, **changes)

    # ------------------------------------------------------------------------------------------------ histories

    def started_at(self, snapshot: int | None = None, tag: str | None = None) -> Branch:
        """The branch that is made of this one: empty, or at a snapshot or tag."""
        if tag is not None:
            number, version = self.tags[tag]
        elif snapshot is not None:
            number, version = snapshot, self.snapshots[snapshot]
        else:
            return Branch(dict(self.schemas))
        known = {number: schema for number, schema in self.schemas.items() if number <= version.schema_id}
        return Branch(known, {number: version}, {} if tag is None else {tag: (number, version)})

    def roll_back(self, number: int, version: Version) -> None:
        self.snapshots = {n: one for n, one in self.snapshots.items() if n < number} | {number: version}
        self.tags = {name: held for name, held in self.tags.items() if held[0] <= number}

    def expire(
        self, *, retain_min: int, retain_max: int, everything_is_old: bool, limit: int = EXPIRE_LIMIT
    ) -> list[int]:
        """Let a prefix go; gives the numbers of what went."""
        if not self.snapshots:
            return []
        earliest = min(self.snapshots)
        end = min([self.latest - retain_min + 1, earliest + limit, *self.consumers.values()])
        if not everything_is_old:
            end = min(end, self.latest - retain_max + 1)
        gone = [number for number in sorted(self.snapshots) if number < end]
        for number in gone:
            del self.snapshots[number]
        return gone

    def can_fast_forward(self, other: Branch) -> bool:
        """Whether all that stays keeps the schema that it was written with."""
        first = min(other.snapshots)
        start = other.snapshots[first].schema_id
        after = {n: schema for n, schema in self.schemas.items() if n < start} | other.schemas
        stay = [one for n, one in self.snapshots.items() if n < first]
        stay += [one for name, (n, one) in self.tags.items() if n < first and name not in other.tags]
        return all(after.get(one.schema_id) == one.schema for one in stay)

    def fast_forward(self, other: Branch) -> None:
        first = min(other.snapshots)
        start = other.snapshots[first].schema_id
        self.snapshots = {n: one for n, one in self.snapshots.items() if n < first} | other.snapshots
        self.tags = {name: held for name, held in self.tags.items() if held[0] < first} | other.tags
        self.schemas = {n: schema for n, schema in self.schemas.items() if n < start} | other.schemas

    # ---------------------------------------------------------------------------------------------------- merging

    def missing(self, other: Branch) -> frozenset[int] | None:
        """The batches that another branch has and this one lacks; ``None`` if that cannot be known."""
        parted = self._parted(other)
        if parted is None:
            return None
        found = []
        for branch in (self, other):
            since = list(range(parted + 1, branch.latest + 1))
            if any(n not in branch.snapshots or branch.snapshots[n].kind != "APPEND" for n in since):
                return None
            found.append(frozenset().union(*(branch.snapshots[n].added for n in since)))
        ours, theirs = found
        return theirs - ours

    def _parted(self, other: Branch) -> int | None:
        shared = [n for n, one in self.snapshots.items() if other.snapshots.get(n) is one]
        if shared:
            return max(shared)
        first = min(other.snapshots)
        if any(held is other.snapshots[first] for _, held in self.tags.values()):
            return first
        complete = not self.snapshots or min(self.snapshots) == 1
        return 0 if complete and first == 1 else None
