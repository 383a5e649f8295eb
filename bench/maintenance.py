"""Expiry and verify of a table with a long history: ``python -m bench.maintenance`` (after ``bench/setup.sh``).

The table has 20,000 files in ten partitions and 1,100 snapshots: nine appends, then a compaction, and so on. The
benchmark measures a dry run of the expiry of 1,000 snapshots, verify, the expiry itself, and verify of the rest. It
repeats this in the same run on a table of a quarter of the size: linear work takes four times as long on the larger
table, quadratic work sixteen times. Every data file is a hard link to one of ten real files, so the table can be read.

Other table stores are left out: pypaimon 2.1 does not expire snapshots, pyiceberg 0.12 expires them without deleting
files, and deltalake's vacuum has not been set up here yet.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from bench.measure import _prepare, _timed
from bench.report import markdown

import lakebed
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.paths import TablePaths
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.commit.commit import Change, Commit, append, commit
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.storage import LocalStorage
from lakebed.table import Table

ROOT: Final = Path(__file__).parent.parent
PARTITIONS: Final = 10
COMPACT_EVERY: Final = 10
COMPACTED: Final = 20
TASKS: Final = ("dry run of expiry", "verify", "expiry", "verify of the rest")
FUTURE: Final = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


class Counted:
    """A storage that counts what is done with files."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._inner = LocalStorage()
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            self.counts[name] += 1
        return getattr(self._inner, name)


def open_store(folder: Path, storage: Any = None) -> TableStore:
    return TableStore(storage or LocalStorage(), TablePaths(f"{folder}/bench.db/t"), "bench.t")


def open_table(folder: Path, storage: Any = None) -> Table:
    return Table(open_store(folder, storage))


def build(folder: Path, files: int, snapshots: int) -> None:
    """A table with so many live files and snapshots; the files are links to the first ones."""
    lake = lakebed.connect(str(folder))
    lake.create_database("bench")
    table = lake.create_table("bench.t", "day INT, v BIGINT", partition_by=["day"], options={"write-only": True})
    table.write(pa.table({"day": pa.array(range(PARTITIONS), pa.int32()), "v": range(PARTITIONS)}))
    store = open_store(folder)
    originals = live_entries(store, store.snapshots.latest())
    root = Path(store.paths.root)
    sources = [next(root.glob(f"day=*/bucket-0/{name}")) for name in originals["file_name"].to_pylist()]

    def add(numbers: range) -> pa.Table:
        chosen = [number % PARTITIONS for number in numbers]
        names = [f"data-{number:08d}-0.parquet" for number in numbers]
        for at, name in zip(chosen, names, strict=True):
            os.link(sources[at], sources[at].with_name(name))
        column = originals.schema.get_field_index("file_name")
        return originals.take(chosen).set_column(column, originals.schema.field(column), pa.array(names))

    compactions = (snapshots - 1) // COMPACT_EVERY
    appends = snapshots - 1 - compactions
    wanted = files - PARTITIONS + compactions * (COMPACTED - 1)
    made = 0
    waiting: list[pa.Table] = []
    for number in range(1, snapshots):
        if number % COMPACT_EVERY:
            done = number - number // COMPACT_EVERY
            added = add(range(made, wanted * done // appends))
            made = wanted * done // appends
            waiting.append(added)
            commit(store, append(Change(entries=added)))
        else:
            _compact(store, waiting, add(range(10**7 + number, 10**7 + number + 1)))


def _compact(store: TableStore, waiting: list[pa.Table], replacement: pa.Table) -> None:
    """Replace the oldest files by one."""
    entries = pa.concat_tables(waiting)
    waiting[:] = [entries.slice(COMPACTED)]
    change = Change(entries=pa.concat_tables([as_deletes(entries.slice(0, COMPACTED)), replacement]))
    commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: change))


def run(request: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own: build a table, or one of the tasks."""
    folder, task = Path(request["folder"]), request["task"]
    if task == "build":
        build(folder, request["files"], request["snapshots"])
        return {}
    storage = Counted()
    table = open_table(folder, storage)
    keep = request["keep"]
    _prepare(Path(__file__), request["wait"])
    storage.counts.clear()
    if task.startswith("verify"):
        result, report = _timed(table.verify)
        said = {"problems": [problem.code for problem in report.problems], "snapshots": report.looked_at.snapshots}
        said["files"] = report.looked_at.data_files
    else:
        dry = task.startswith("dry")
        limits = {"retain_min": keep, "retain_max": keep, "max_deletes": 10**9, "older_than": FUTURE}
        result, expiry = _timed(partial(table.expire_snapshots, **limits, dry_run=dry))
        said = {"problems": [], "snapshots": len(expiry.snapshots), "files": expiry.removal.count}
    counts = storage.counts
    opened = counts["read"] + counts["read_range"]
    return {**result, **said, "opened": opened, "listed": counts["list"], "deleted": counts["delete"]}


def measure(**request: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.maintenance", "--measure", json.dumps(request)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{request['task']} failed\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(folder: Path, files: int, snapshots: int, keep: int, wait: float) -> dict[str, dict[str, Any]]:
    """Every task on a table of some size, in the order in which they must be."""
    measure(task="build", folder=str(folder), files=files, snapshots=snapshots)
    print(f"  {files:,} files and {snapshots:,} snapshots are there", file=sys.stderr, flush=True)
    found = {}
    for task in TASKS:
        found[task] = measure(task=task, folder=str(folder), keep=keep, wait=wait)
        said = f"{found[task]['seconds']:.2f} s (others used {found[task]['others_cpu_seconds']:.1f} s)"
        print(f"  {task}: {said}", file=sys.stderr, flush=True)
        if found[task]["problems"]:
            raise SystemExit(f"{task}: verify found {found[task]['problems']}")
    return found


def report(small: dict[str, dict[str, Any]], large: dict[str, dict[str, Any]]) -> str:
    """A line for each task: what it took on the large table, and how many times as much as on the small one."""
    lines = []
    for task in TASKS:
        one, other = small[task], large[task]
        lines.append(
            [
                task,
                f"{other['snapshots']:,}",
                f"{other['files']:,}",
                f"{other['seconds']:.2f}",
                f"{other['seconds'] / one['seconds']:.1f}",
                f"{other['cpu_seconds']:.2f}",
                f"{other['cpu_seconds'] / one['cpu_seconds']:.1f}",
                f"{(other['peak_bytes'] - other['base_bytes']) / 1e6:.0f} MB",
                f"{other['opened']:,}",
                f"{other['opened'] / one['opened']:.1f}",
                f"{other['deleted']:,}",
            ]
        )
    head = [
        "task",
        "snapshots",
        "files",
        "s",
        "of 1/4",
        "CPU s",
        "of 1/4",
        "extra memory",
        "opened",
        "of 1/4",
        "deleted",
    ]
    return markdown(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.maintenance", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--snapshots", type=int, default=1_100)
    parser.add_argument("--keep", type=int, default=100)
    parser.add_argument("--wait", type=float, default=10, help="seconds to wait at most for an idle machine")
    parser.add_argument("--work", type=Path, default=ROOT / "build", help="folder for tables while they are measured")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(run(json.loads(asked.measure))))
        return
    asked.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=asked.work) as work:
        small, large = (
            measured(Path(work) / name, asked.files // part, asked.snapshots // part, asked.keep // part, asked.wait)
            for name, part in (("small", 4), ("large", 1))
        )
    asked.results.mkdir(parents=True, exist_ok=True)
    path = asked.results / f"maintenance-{asked.files}-files.json"
    path.write_text(json.dumps({"quarter": small, "whole": large}, indent=1) + "\n")
    print(report(small, large))
    print(f"\n{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


if __name__ == "__main__":
    main()
