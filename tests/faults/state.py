"""What a table shows, piece by piece: every snapshot and tag of every branch with its rows, schemas, consumers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.places import stored_path

from lakebed import Lake, Table

Piece = tuple[str, ...]
Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class State:
    """Everything that a lake's table shows; ``latest`` are the current rows of each branch."""

    pieces: Mapping[Piece, Any]
    latest: Mapping[str, Rows]

    def history(self, place: str) -> list[Rows]:
        """The rows of every snapshot of a branch."""
        return [rows for piece, rows in self.pieces.items() if piece[:2] == ("snapshot", place)]

    def versions(self, place: str) -> list[Rows]:
        """The rows of every snapshot and every tag of a branch: what a rollback can go back to."""
        return [rows for piece, rows in self.pieces.items() if piece[:2] in {("snapshot", place), ("tag", place)}]


def rows_of(table: Table, **at: Any) -> Rows:
    """All rows, sorted, none left out that is there twice."""
    rows = table.scan(**at).to_arrow()
    return tuple(sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True), key=repr))


def state_of(lake: Lake) -> State:
    """Read all that there is of ``db.t``."""
    pieces: dict[Piece, Any] = {}
    latest: dict[str, Rows] = {}
    for name in lake.tables("db"):
        main = lake.table(f"db.{name}")
        for branch in ("main", *main.branches()):
            table = main.branch(branch)
            place = f"{name}/{branch}"
            pieces["schema", place] = (table.schema.id, table.schema.fields, dict(table.options))
            for snapshot in table.snapshots():
                pieces["snapshot", place, str(snapshot.id)] = rows_of(table, version=snapshot.id)
            for tag in table.tags():
                pieces["tag", place, tag] = rows_of(table, tag=tag)
            latest[place] = rows_of(table)
        for file in sorted(stored_path(main.path).glob("consumer/consumer-*")):
            pieces["consumer", name, file.name] = file.read_text()
    return State(pieces, latest)


def check_between(found: State, before: State, after: State) -> None:
    """Each piece is as it was before or as it is after; what an operation does not touch is there as it was.

    The current rows are those of some snapshot of either: a rollback goes through the snapshots between.
    """
    for piece, value in found.pieces.items():
        wanted = [state.pieces[piece] for state in (before, after) if piece in state.pieces]
        assert value in wanted, f"{piece} shows {value}, not one of {wanted}"
    for piece, value in before.pieces.items():
        if after.pieces.get(piece) == value:
            assert piece in found.pieces, f"{piece} is lost"
    for place, rows in found.latest.items():
        wanted_rows = [state.latest[place] for state in (before, after) if place in state.latest]
        if {before.latest.get(place), after.latest.get(place)} <= {*before.versions(place)}:  # it goes back
            wanted_rows += before.history(place)
        assert rows in wanted_rows, f"{place} shows {rows}, not one of {wanted_rows}"


# ---------------------------------------------------------------------------------------------------------- soundness

_HARMLESS = re.compile("unreferenced-.*|stale-hint|hint-ahead")


def check_harmless(table: Table, between: frozenset[str] = frozenset()) -> bool:
    """Verify finds nothing but files that nobody refers to, and hints; gives whether it finds nothing at all."""
    found = table.verify().problems
    wrong = [one for one in found if not _HARMLESS.fullmatch(one.code) and one.code not in between]
    assert wrong == [], "\n".join(map(str, wrong))
    return not found


def check_sound(lake: Lake, between: frozenset[str] = frozenset()) -> None:
    """No table has problems except unreferenced files and hints; after cleanup there are no problems at all."""
    for name in lake.tables("db"):
        table = lake.table(f"db.{name}")
        if check_harmless(table, between):
            continue
        table.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)
        left = table.verify(repair=True, dry_run=False)
        wrong = [one for one in left.problems if not one.code.endswith("-hint") and one.code not in between]
        assert wrong == [], "\n".join(map(str, wrong))
        if left.repairs:
            problems = table.verify().problems
            assert {one.code for one in problems} <= between, "\n".join(map(str, problems))
