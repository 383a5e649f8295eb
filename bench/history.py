"""How many snapshot files a page of history opens, and how long it takes: ``python -m bench.history``.

The tables consist of snapshot files only. Counts are taken on 1,000 snapshots with 200 compactions: spread evenly, in
four groups, and all at the old end. A page has ten rows, so there are twenty pages of compactions. ``docs/history.md``
shows the result of :func:`opened`. Times are taken on 100,000 snapshots with 20,000 compactions and pages of 25 rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.report import markdown

from lakebed.errors import StorageError
from lakebed.format.paths import TablePaths
from lakebed.format.schema.table_schema import create_schema
from lakebed.format.snapshot import CommitKind, Snapshot, snapshot_to_json
from lakebed.format.types.column_ddl import parse_columns
from lakebed.metadata.history.history_index import forget_indexes, note
from lakebed.metadata.history.pages import find_page
from lakebed.metadata.store import TableStore
from lakebed.storage import LocalStorage

COUNT: Final = 1000
COMPACTIONS: Final = 200
LIMIT: Final = 10
TIMED_LIMIT: Final = 25


def _is_spread(number: int) -> bool:
    return number % (COUNT // COMPACTIONS) == 0


def _is_clustered(number: int) -> bool:
    return number % 250 < COMPACTIONS // 4


def _is_old(number: int) -> bool:
    return number <= COMPACTIONS


SHAPES: Final[dict[str, Callable[[int], bool]]] = {
    "spread evenly": _is_spread,
    "in four groups": _is_clustered,
    "all at the old end": _is_old,
}


class ReadOnly(LocalStorage):
    """A disk that nobody may write to."""

    def append(self, path: str, data: bytes) -> None:
        raise StorageError(f"cannot write {len(data)} bytes to {path}: the file system is read-only")


def store_at(folder: Path, storage: Any = None) -> TableStore:
    return TableStore(storage or LocalStorage(), TablePaths(str(folder)), "bench.t")


def build(folder: Path, count: int, is_compaction: Callable[[int], bool], *, noted: bool) -> TableStore:
    """A table with so many snapshots; ``noted`` with an index, as our commits keep it."""
    store = store_at(folder)
    store.schemas.create(create_schema(parse_columns("id INT"), time_millis=0))
    Path(store.paths.snapshots).mkdir()
    latest = None
    for number in range(1, count + 1):
        made = Snapshot(
            id=number,
            schema_id=0,
            base_manifest_list=f"manifest-list-{number:036d}-0",
            delta_manifest_list=f"manifest-list-{number:036d}-1",
            commit_user=f"{number:036d}",
            commit_identifier=2**63 - 1,
            commit_kind=CommitKind.COMPACT if is_compaction(number) else CommitKind.APPEND,
            time_millis=1_700_000_000_000 + number,
            total_record_count=number,
            delta_record_count=1,
        )
        Path(store.paths.snapshot(number)).write_text(snapshot_to_json(made))
        if noted:
            note(store, made, latest)
        latest = made
    Path(store.paths.latest_hint).write_text(str(count))
    return store


# ------------------------------------------------------------------------------------------------------- opened files


def opened(folder: Path) -> str:
    """The table in the documentation: snapshot files opened by pages 1, 2, 10 and the last, each in a new process."""
    build(folder / "all", COUNT, _is_spread, noted=False)
    counts = {_opened(lambda: store_at(folder / "all"), None, page, by_cursor=False) for page in _pages(COUNT)}
    if counts != {LIMIT}:
        raise SystemExit(f"pages of all snapshots opened {counts}")
    lines = [["all snapshots", "with or without an index", *[str(LIMIT)] * 4, f"{COUNT:,}"]]
    for shape, is_compaction in SHAPES.items():
        root = folder / shape
        build(root, COUNT, is_compaction, noted=False)
        for way, store, by_cursor in (
            ("no index allowed, by offset", lambda root=root: store_at(root, ReadOnly()), False),
            ("no index allowed, by cursor", lambda root=root: store_at(root, ReadOnly()), True),
            ("no index yet", lambda root=root: _without_index(root), False),
            ("index, by offset", lambda root=root: store_at(root), False),
            ("index, by cursor", lambda root=root: store_at(root), True),
        ):
            counts_of_pages = [_opened(store, "COMPACT", page, by_cursor=by_cursor) for page in _pages(COMPACTIONS)]
            lines.append([f"compactions, {shape}", way, *(f"{number:,}" for number in counts_of_pages), f"{COUNT:,}"])
    return markdown(["page of", "", "page 1", "page 2", "page 10", "last page", "read all"], lines)


def _pages(total: int) -> tuple[int, ...]:
    return 0, 1, 9, total // LIMIT - 1


def _without_index(root: Path) -> TableStore:
    store = store_at(root)
    for path in Path(store.paths.history_index).glob("*"):
        path.unlink()
    return store


def _opened(make_store: Callable[[], TableStore], kind: str | None, page: int, *, by_cursor: bool) -> int:
    store = make_store()
    forget_indexes()
    if not by_cursor or not page:
        return find_page(store, kind=kind, offset=page * LIMIT, limit=LIMIT).scanned
    cursor = find_page(store, kind=kind, limit=page * LIMIT).next_cursor
    forget_indexes()
    return find_page(store, kind=kind, cursor=cursor, limit=LIMIT).scanned


# ------------------------------------------------------------------------------------------------------------- times


def timed(folder: Path, count: int, repeats: int) -> str:
    """Milliseconds of a page of a long history: the first of a process, later ones, and one after a commit."""
    store = build(folder / "long", count, _is_spread, noted=True)
    print(f"  {count:,} snapshots are there", file=sys.stderr, flush=True)
    matching = count // (COUNT // COMPACTIONS)
    lines = []
    for kind, total in ((None, count), ("COMPACT", matching)):
        for name, offset in (("first page", 0), ("page 10", 9 * TIMED_LIMIT), ("last page", total - TIMED_LIMIT)):
            forget_indexes()
            cold = _millis(store, kind, offset)
            warm = [_millis(store, kind, offset) for _ in range(repeats)]
            after = [_after_commit(store, kind, offset) for _ in range(repeats)]
            what = "all snapshots" if kind is None else "compactions"
            lines.append(
                [what, name, f"{cold:.0f}", f"{statistics.median(warm):.1f}", f"{statistics.median(after):.1f}"]
            )
    return markdown(["page of", "", "new process, ms", "warm, ms", "after a commit, ms"], lines)


def _millis(store: TableStore, kind: str | None, offset: int) -> float:
    start = time.perf_counter()
    page = find_page(store, kind=kind, offset=offset, limit=TIMED_LIMIT)
    took = time.perf_counter() - start
    if not page.snapshots or page.total is None:
        raise SystemExit("the page is empty")
    return took * 1000


def _after_commit(store: TableStore, kind: str | None, offset: int) -> float:
    latest = store.snapshots.latest()
    if latest is None:
        raise SystemExit("the table is empty")
    made = Snapshot(**{name: getattr(latest, name) for name in latest.__slots__} | {"id": latest.id + 1})
    store.snapshots.create(made)
    note(store, made, latest)
    return _millis(store, kind, offset)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--snapshots", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--work", type=Path, default=Path(__file__).parent.parent / "build", help="folder for tables")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=asked.work) as work:
        print(opened(Path(work)))
        print()
        print(timed(Path(work), asked.snapshots, asked.repeats))


if __name__ == "__main__":
    main()
