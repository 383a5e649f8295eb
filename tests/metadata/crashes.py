"""Tries a call with a failing storage at every step: what the table looks like afterwards, and when it is called again."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.metadata.stores import Failing, open_store

from lakebed.errors import LakebedError
from lakebed.metadata.store import TableStore

MOST_CALLS = 400


def at_every_step(
    table: Path,
    act: Callable[[TableStore], object],
    *,
    between: Callable[[TableStore], object],
    after: Callable[[TableStore], object],
    again: Callable[[TableStore], object] | None = None,
) -> int:
    """Let a call fail at each of its storage calls, in four ways; gives the number of failures tried.

    The table is copied for each. A failure comes before or after the storage did what it was asked; and the storage then
    works again, or not (a process that died). ``between`` looks at the table after the failure, ``after`` at the table
    once the call (or ``again``) was made with a storage that works.
    """
    tried = 0
    for lost_answer in (False, True):
        for dead in (False, True):
            for step in range(1, MOST_CALLS):
                copy = table.parent / f"{table.name}-{lost_answer}-{dead}-{step}"
                shutil.copytree(table, copy)
                storage = Failing(step, after=lost_answer, forever=dead)
                with contextlib.suppress(LakebedError):
                    act(open_store(copy, storage))  # type: ignore[arg-type]
                if not storage.failed:
                    shutil.rmtree(copy)
                    break
                tried += 1
                between(open_store(copy))
                (again or act)(open_store(copy))
                after(open_store(copy))
                shutil.rmtree(copy)
            else:
                raise AssertionError(f"more than {MOST_CALLS} storage calls")
    return tried
