"""A process that writes, upserts, compacts, expires and tags is killed at random moments, again and again.

After each kill: every acknowledged row is there, none twice, what was under way is there whole or not at all, tags show
what they showed, and verify finds nothing but files that nobody refers to.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.effort import examples
from tests.faults import victim
from tests.faults.state import check_harmless, check_sound, rows_of
from tests.races.crew import start

from lakebed import connect

KILLS = int(os.environ.get("LAKEBED_KILLS", examples(40)))


@dataclass
class Model:
    """What the tables must hold, told from the notes of the victim."""

    events: set[tuple[int, int]] = field(default_factory=set)
    state: dict[int, int] = field(default_factory=dict)
    tags: dict[str, set[tuple[int, int]]] = field(default_factory=dict)

    def apply(self, what: str, number: int) -> None:
        match what:
            case "append":
                self.events |= set(victim.rows_appended(number))
            case "upsert":
                self.state |= dict.fromkeys(victim.keys_touched(number), number)
            case "delete":
                self.state = {k: v for k, v in self.state.items() if k not in victim.keys_touched(number)}
            case "tag":
                self.tags[f"t{number}"] = set(self.events)

    def after(self, what: str, number: int) -> Model:
        copy = Model(set(self.events), dict(self.state), dict(self.tags))
        copy.apply(what, number)
        return copy


@pytest.mark.scales
def test_a_process_that_is_killed_again_and_again(tmp_path: Path, tried: Callable[[str, str], None]) -> None:
    warehouse, notes = str(tmp_path / "w"), tmp_path / "notes"
    victim.create(warehouse)
    notes.touch()
    model, dice = Model(), random.Random(7)
    read = interrupted = 0
    for kill in range(KILLS):
        process = start(victim.work, (warehouse, str(notes), 1 + _last_number(notes)))
        _wait_for_lines(notes, 1 + read + 2 * dice.randint(0, 5))  # by what it does, not by the clock
        time.sleep(dice.uniform(0, 0.05))
        process.kill()
        process.join()
        lines = [line.split() for line in notes.read_text().splitlines()]
        pending = None
        for word, number, *what in lines[read:]:
            if word == "begin":
                pending = (what[0], int(number))
            elif pending is not None:
                model.apply(*pending)
                pending = None
        read = len(lines)
        interrupted += pending is not None
        model = check(warehouse, model, pending)
        tried("a working process", "is killed")
        if kill % 10 == 9:
            check_sound(connect(warehouse))
    assert interrupted > KILLS // 2, "the process was rarely killed while it was at work"
    assert len(model.events) > KILLS
    check_sound(connect(warehouse))
    check(warehouse, model, None)


def _last_number(notes: Path) -> int:
    lines = notes.read_text().splitlines()
    return int(lines[-1].split()[1]) if lines else 0


def _wait_for_lines(notes: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while notes.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline, "the process does not work"
        time.sleep(0.002)


def check(warehouse: str, model: Model, pending: tuple[str, int] | None) -> Model:
    """The tables hold what the model does, or what it does after the operation that was under way; gives that one."""
    lake = connect(warehouse)
    events, state = lake.table(victim.EVENTS), lake.table(victim.STATE)
    rows, pairs = rows_of(events), rows_of(state)
    assert len(set(rows)) == len(rows), "a row is there twice"
    found = Model(set(rows), dict(pairs))
    assert len(found.state) == len(pairs), "a key is there twice"
    wanted = [model] if pending is None else [model, model.after(*pending)]
    fitting = [one for one in wanted if (one.events, one.state) == (found.events, found.state)]
    assert fitting, f"{pending}: {found} is none of {wanted}"
    there = set(events.tags())
    for name in there:
        assert set(rows_of(events, tag=name)) == fitting[-1].tags[name], f"tag {name} shows something else"
    for table in (events, state):
        for snapshot in table.snapshots():
            rows_of(table, version=snapshot.id)
        check_harmless(table)
    return Model(found.events, found.state, {name: fitting[-1].tags[name] for name in there})
