"""Every operation breaks at every one of its steps, in every way: afterwards the table is as before or as after it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.state import State, check_between, check_sound, state_of
from tests.faults.storage import CHANGES, WRITES, Died, Fault, Faulty

from lakebed import Lake, connect
from lakebed.errors import CommitOutcomeUnknownError, LakebedError


@pytest.fixture(scope="module")
def start_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Operation], Path]:
    """The warehouse that an operation starts from, made once."""
    made: dict[Any, Path] = {}

    def start(operation: Operation) -> Path:
        if operation.prepare not in made:
            path = tmp_path_factory.mktemp("start") / "w"
            lake = connect(path)
            lake.create_database("db")
            operation.prepare(lake)
            made[operation.prepare] = path
        return made[operation.prepare]

    return start


def copy_of(start: Path, target: Path) -> Path:
    """The same warehouse again; files never change, so links do."""
    shutil.copytree(start, target, copy_function=os.link)
    return target


def attempt(operation: Operation, warehouse: Path, faulty: Faulty) -> BaseException | None:
    """Run an operation on a storage; gives what it raised."""
    lake = Lake(str(warehouse), faulty, {})
    table = lake.table("db.t")
    faulty.arm()
    try:
        operation.run(lake, table)
    except (LakebedError, OSError, Died) as error:
        return error
    finally:
        faulty.disarm()
    return None


def points(steps: list[str]) -> Iterator[tuple[int, Fault]]:
    """Every step with every fault that makes a difference there."""
    for at, name in enumerate(steps, 1):
        yield at, Fault.BEFORE
        if name in CHANGES:
            yield at, Fault.AFTER
            yield at, Fault.DIE
        if name in WRITES:
            yield at, Fault.HALF


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_fault_at_every_step(
    name: str, start_of: Callable[[Operation], Path], tmp_path: Path, tried: Callable[[str, str], None]
) -> None:
    operation = OPERATIONS[name]
    start = start_of(operation)
    untouched = disk_of(start)
    before = state_of(connect(start))
    healthy = Faulty()
    whole = copy_of(start, tmp_path / "whole")
    assert attempt(operation, whole, healthy) is None
    after = state_of(connect(whole))
    check_sound(connect(whole))
    for number, (at, fault) in enumerate(points(healthy.steps)):
        faulty = Faulty(at, fault)
        warehouse = copy_of(start, tmp_path / str(number))
        error = attempt(operation, warehouse, faulty)
        try:
            if disk_of(warehouse) == untouched:
                check(operation, before, before, after, error)
            else:
                check_disk(operation, warehouse, before, after, error)
        except BaseException as problem:
            problem.add_note(f"{name} that {fault.value} at step {at} ({faulty.hit}) ended with {error!r}")
            raise
        if faulty.hit is not None:  # what races inside an operation may make it shorter at times
            tried(name, fault.value)
        shutil.rmtree(warehouse)


def disk_of(warehouse: Path) -> dict[str, int]:
    """Every file that is there. Copies link to the same files, so equal numbers are equal contents."""
    return {str(path.relative_to(warehouse)): path.stat().st_ino for path in warehouse.rglob("*") if path.is_file()}


def check_disk(
    operation: Operation, warehouse: Path, before: State, after: State, error: BaseException | None
) -> None:
    lake = connect(warehouse)
    found = state_of(lake)
    if error is None and operation.settle is not None and found.latest != after.latest:
        operation.settle(lake.table("db.t"))
        assert state_of(lake).latest == after.latest, "it was acknowledged, but is not there"
    else:
        check(operation, found, before, after, error)
    check_sound(lake)


def check(operation: Operation, found: State, before: State, after: State, error: BaseException | None) -> None:
    check_between(found, before, after)
    if error is None:
        assert found.latest == after.latest, "it was acknowledged, but is not there"
    elif operation.commits and not isinstance(error, CommitOutcomeUnknownError | Died):
        assert found == before, "it was not acknowledged, but is there"
