"""Calls an operation with a storage that fails at each step, and checks the table afterwards and after a repeat."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from tests.effort import STRIDE
from tests.metadata.stores import Failing, Logged, open_store
from tests.places import copy_tree, delete_tree

from lakebed.errors import LakebedError
from lakebed.metadata.store import TableStore

READS = {"read", "read_range", "read_stamped", "exists", "size", "stamp", "list"}


def at_every_step(
    table: Path,
    act: Callable[[TableStore], object],
    *,
    between: Callable[[TableStore], object],
    after: Callable[[TableStore], object],
) -> int:
    """Let a call fail at each of its storage calls, in ``make test`` at some of them; returns how many failures there
    are.

    The table is copied for each. ``between`` looks at the table after the failure, ``after`` at the table once the call
    was made again with a storage that works.
    """
    failures = _failures(_calls(table, act))
    for number, (step, lost_answer, dead) in list(enumerate(failures))[::STRIDE]:
        copy = table.parent / f"{table.name}-{number}"
        copy_tree(table, copy)
        storage = Failing(step, after=lost_answer, forever=dead)
        with contextlib.suppress(LakebedError):
            act(open_store(copy, storage))
        assert storage.failed
        between(open_store(copy))
        act(open_store(copy))
        after(open_store(copy))
        delete_tree(copy)
    return len(failures)


def _calls(table: Path, act: Callable[[TableStore], object]) -> list[str]:
    """The storage calls that the call makes if nothing fails."""
    copy = table.parent / f"{table.name}-whole"
    copy_tree(table, copy)
    log = Logged()
    act(open_store(copy, log))
    delete_tree(copy)
    return [name for name, _ in log.log]


def _failures(calls: list[str]) -> list[tuple[int, bool, bool]]:
    """Step, whether the storage did it all the same, and whether it never works again (as for a process that died).

    Reads change nothing, so of those of one kind between two writes one fails, and dying is tried before each write and
    after the last.
    """
    found: list[tuple[int, bool, bool]] = []
    seen: set[str] = set()
    last = len(calls)
    for step, name in enumerate(calls, 1):
        if name in READS:
            if name not in seen:
                found.append((step, False, False))
            seen.add(name)
        else:
            found += [(step, False, False), (step, True, False), (step, False, True)]
            seen.clear()
            last = step
    return [*found, (last, True, True)]
