"""Safe repairs: rewrites hints, and deletes damaged sidecar files and old orphan files.

Nothing that a snapshot, tag or changelog needs is ever touched: if a reference could not be read, no file counts as
unreferenced. A dry run gives the plan; carrying it out gives the same steps, marked as done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakebed.errors import StorageError
from lakebed.metadata.store import TableStore
from lakebed.operations.verify.report import Repair


def carry_out(store: TableStore, plan: Sequence[Repair]) -> tuple[Repair, ...]:
    """Do what is planned; a step that the storage refuses stays undone and says why."""
    return tuple(_done(store, step) for step in plan)


def _done(store: TableStore, step: Repair) -> Repair:
    try:
        if step.action == "write" and step.content is not None:
            store.storage.replace(step.path, step.content)
        else:
            store.storage.delete(step.path)
    except StorageError as error:
        return replace(step, what=f"{step.what}; failed: {error}")
    return replace(step, done=True)
