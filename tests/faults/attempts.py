"""Operations on a storage that breaks, in this process or in one that is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.faults.operations import OPERATIONS, Operation
from tests.faults.storage import Fault, Faulty
from tests.races.crew import together

from lakebed import Lake, LakebedError


def attempt(operation: Operation, warehouse: Path, faulty: Faulty) -> Exception | None:
    """Run an operation on a storage; gives what it raised."""
    lake = Lake(str(warehouse), faulty, {})
    table = lake.table("db.t")
    faulty.arm()
    try:
        operation.run(lake, table)
    except (LakebedError, OSError) as error:
        return error
    finally:
        faulty.disarm()
    return None


def killed_at(name: str, places: list[tuple[int, Path]]) -> list[bool]:
    """Run an operation in processes that are killed at their n-th step; gives for each whether it came to that."""
    (killed,) = together([(_kill_each, (name, places))])
    return list(killed)


def _kill_each(name: str, places: list[tuple[int, Path]]) -> list[bool]:
    """Runs apart, where Arrow has not started threads yet, so that forking is safe and quick."""
    return [_is_killed(name, at, warehouse) for at, warehouse in places]


def _is_killed(name: str, at: int, warehouse: Path) -> bool:
    child = os.fork()
    if child == 0:
        try:
            attempt(OPERATIONS[name], warehouse, Faulty(at, Fault.KILL))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
