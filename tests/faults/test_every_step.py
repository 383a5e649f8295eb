"""Every operation breaks at every one of its steps, in every way: afterwards the table is as before or as after it.

On a storage server it breaks at some of them.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.effort import ON_SERVER, STRIDE
from tests.faults.attempts import attempt, killed_at
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.state import State, check_between, check_sound, state_of
from tests.faults.storage import CHANGES, WRITES, Fault, Faulty
from tests.lakes import open_lake
from tests.places import copy_tree, delete_tree, new_folder

from lakebed import connect
from lakebed.errors import CommitOutcomeUnknownError

EVERYTHING = os.environ.get("LAKEBED_FAULTS") == "all"
RANDOM_PART = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
KILLED = CommitOutcomeUnknownError("nobody lived to tell")
QUICK = {
    "append",
    "upsert",
    "roll back",
    "expire partitions",
    "create a branch",
    "create a tag",
    "create a table",
    "alter",
}
EACH_OPERATION = pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(name, name, id=name, marks=() if ON_SERVER or name in QUICK else pytest.mark.long)
        for name in OPERATIONS
    ],
    indirect=["case"],
)


@pytest.fixture(scope="module")
def start_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Operation], Path]:
    """The warehouse that an operation starts from, made once."""
    made: dict[Any, Path] = {}

    def start(operation: Operation) -> Path:
        if operation.prepare not in made:
            path = new_folder(tmp_path_factory) / "w"
            lake = open_lake(path)
            operation.prepare(lake)
            made[operation.prepare] = path
        return made[operation.prepare]

    return start


def copy_of(start: Path, target: Path) -> Path:
    """The same warehouse again; files never change, so links do."""
    if ON_SERVER:
        return copy_tree(start, target)
    shutil.copytree(start, target, copy_function=os.link)
    return target


def points(name: str, steps: list[str], *, kills: bool) -> list[tuple[int, Fault]]:
    """The steps at which an operation is tried, and the faults there; on a storage server some of them."""
    chosen = [(at, fault) for at, fault in _all_points(steps) if (fault is Fault.KILL) == kills]
    return chosen[zlib.crc32(name.encode()) % min(STRIDE, len(chosen)) :: STRIDE] if ON_SERVER else chosen


def _all_points(steps: list[str]) -> Iterator[tuple[int, Fault]]:
    """Every step with every fault that makes a difference there.

    A Parquet file is written in dozens of small pieces. That each may fail is tried; the other faults only at the first
    and the last of a row of pieces, unless everything is asked for.
    """
    for at, name in enumerate(steps, 1):
        yield at, Fault.BEFORE
        inside = name == "arrow write" and steps[at - 2 : at + 1] == [name] * 3
        if name in CHANGES and (EVERYTHING or not inside):
            yield at, Fault.AFTER
            yield at, Fault.KILL
            if name in WRITES:
                yield at, Fault.HALF


@dataclass(frozen=True)
class Case:
    """An operation, the warehouse it starts from, the steps it takes, and what is shown before and after it."""

    operation: Operation
    start: Path
    steps: list[str]
    before: State
    after: State
    seen: set[Any] = field(default_factory=set)

    def is_new(self, warehouse: Path, error: Exception | None) -> bool:
        """Whether this outcome is new: no earlier one had the same files, apart from random parts of names."""
        if ON_SERVER:
            return True
        shape = Counter(RANDOM_PART.sub("*", name) for name in disk_of(warehouse))
        end = (type(error), frozenset(shape.items()))
        new = end not in self.seen
        self.seen.add(end)
        return new

    def check(self, warehouse: Path, error: Exception | None) -> None:
        """Look whether a warehouse is as it must be after the operation ended with this."""
        if not ON_SERVER and disk_of(warehouse) == disk_of(self.start):
            self._check_state(self.before, error)
            return
        operation, lake = self.operation, connect(warehouse)
        found = state_of(lake)
        if error is None and operation.settle is not None and found.latest != self.after.latest:
            operation.settle(lake.table("db.t"))
            assert state_of(lake).latest == self.after.latest, "it was acknowledged, but is not there"
        else:
            self._check_state(found, error)
        check_sound(lake, operation.between)
        if operation.between:
            operation.run(lake, lake.table("db.t"))
            assert state_of(lake) == self.after, "doing it again does not finish it"
            check_sound(lake)

    def _check_state(self, found: State, error: Exception | None) -> None:
        check_between(found, self.before, self.after)
        if error is None:
            assert found.latest == self.after.latest, "it was acknowledged, but is not there"
        elif self.operation.commits and not isinstance(error, CommitOutcomeUnknownError):
            assert found == self.before, "it was not acknowledged, but is there"


@pytest.fixture
def case(request: pytest.FixtureRequest, start_of: Callable[[Operation], Path], tmp_path: Path) -> Case:
    operation = OPERATIONS[request.param]
    start = start_of(operation)
    healthy = Faulty()
    whole = copy_of(start, tmp_path / "whole")
    assert attempt(operation, whole, healthy) is None
    after = state_of(connect(whole))
    check_sound(connect(whole), operation.between & {"bad-hint"})
    return Case(operation, start, healthy.steps, state_of(connect(start)), after)


@EACH_OPERATION
def test_a_fault_at_every_step(case: Case, name: str, tmp_path: Path, tried: Callable[[str, str], None]) -> None:
    for number, (at, fault) in enumerate(points(name, case.steps, kills=False)):
        faulty = Faulty(at, fault)
        warehouse = copy_of(case.start, tmp_path / str(number))
        error = attempt(case.operation, warehouse, faulty)
        with told(f"{name} that {fault.value} at step {at} ({faulty.hit}) ended with {error!r}"):
            # Most steps only look: failing there ends in one of few ways.
            if EVERYTHING or fault is not Fault.BEFORE or case.is_new(warehouse, error):
                case.check(warehouse, error)
        if faulty.hit is not None:  # an operation with threads may take fewer steps at times
            tried(name, fault.value)
        delete_tree(warehouse)


@EACH_OPERATION
def test_a_kill_at_every_change(case: Case, name: str, tmp_path: Path, tried: Callable[[str, str], None]) -> None:
    chosen = points(name, case.steps, kills=True)
    places = [(at, copy_of(case.start, tmp_path / str(at))) for at, _ in chosen]
    for (at, warehouse), killed in zip(places, killed_at(name, places), strict=True):
        with told(f"{name} that is killed at step {at} ({case.steps[at - 1]})"):
            case.check(warehouse, KILLED if killed else None)
        if killed:
            tried(name, Fault.KILL.value)


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Add to a failure what led to it."""
    try:
        yield
    except BaseException as problem:
        problem.add_note(what)
        raise


def disk_of(warehouse: Path) -> dict[str, int]:
    """Every file that is there. Copies link to the same files, so equal numbers are equal contents."""
    return {str(path.relative_to(warehouse)): path.stat().st_ino for path in warehouse.rglob("*") if path.is_file()}
