"""Verify a table: checks its structure, optionally its rows, and carries out safe repairs."""

from __future__ import annotations

from lakebed.errors import LakebedError
from lakebed.metadata.storage_clock import storage_millis
from lakebed.metadata.store import TableStore
from lakebed.operations.verify import Progress, Report, carry_out, check_structure
from lakebed.operations.verify.check_rows import check_rows


def verify(
    store: TableStore,
    *,
    deep: bool = False,
    repair: bool = False,
    dry_run: bool = True,
    report: Progress | None = None,
) -> Report:
    """Check all branches of a table; damage is reported and never raised.

    ``deep`` reads every data and index file. ``repair`` plans what is safe to do, and does it unless ``dry_run``; the
    report has the plan, or what was done. ``report`` is called with the name of the current step, how much of it is
    done, and how much there is.
    """
    progress = report or _silent
    structure = check_structure(store, progress, _storage_time(store) if repair and not dry_run else None)
    found = structure.found
    if deep:
        check_rows(structure, progress)
    repairs = tuple(found.repairs) if repair else ()
    if repair and not dry_run:
        repairs = carry_out(store, repairs)
    notes: tuple[str, ...] = ()
    if found.blind:
        notes = (f"orphan files were not searched for, because a reference to files cannot be read: {found.blind[0]}",)
    return Report(
        table=store.name,
        problems=found.in_order(),
        looked_at=structure.looked_at,
        deep=deep,
        repairs=repairs,
        notes=notes,
    )


def _storage_time(store: TableStore) -> int:
    """Returns the time of the storage; a very early one if it is unknown, so that no file counts as old."""
    try:
        return storage_millis(store)
    except LakebedError:  # damage, which the check reports
        return 0


def _silent(_what: str, _done: int, _total: int) -> None:
    """Ignores progress."""
