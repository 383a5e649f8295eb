"""Safe repairs: rewrites hints, and deletes damaged sidecar files and old orphan files.

Files that a snapshot, tag or changelog needs are never touched: if a reference could not be read, no file counts as an
orphan. A dry run returns the plan; a repair returns the same steps, marked as done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakebed.errors import CorruptError, StorageError
from lakebed.metadata.references.deletable import check_deletable
from lakebed.metadata.store import TableStore
from lakebed.operations.verify.report import Repair


def carry_out(store: TableStore, plan: Sequence[Repair]) -> tuple[Repair, ...]:
    """Carry out the plan; a step that fails stays undone and contains the error."""
    return tuple(_done(store, step) for step in plan)


def _done(store: TableStore, step: Repair) -> Repair:
    try:
        if step.action == "write" and step.content is not None:
            store.storage.replace(step.path, step.content)
        else:
            check_deletable(store, [step.path])
            store.storage.delete(step.path)
    except (CorruptError, StorageError) as error:
        return replace(step, what=f"{step.what}; failed: {error}")
    return replace(step, done=True)
