"""What the autopilot keeps bounded, and what it costs writers: ``python -m bench.autopilot --minutes 30``.

A warehouse has 50 tables: append tables, with and without partitions, primary-key tables with fixed and dynamic
buckets, and chain tables. All are ``write-only``, so nothing maintains them but the autopilot. Writer processes commit
small batches at a steady pace, most of them to one busy table. The same is run without and with the autopilot, which is
a process of its own, on the same machine. At the end every acknowledged row has to be there, and ``verify`` has to be
clean.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from bench.curves import draw
from bench.report import markdown

import lakebed
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.table.internals import store_of

BUSY: Final = "db.t00"
KINDS: Final = ("append", "append", "partitioned", "keyed", "dynamic", "chain")
PACE: Final = 0.25
ROWS: Final = 500
KEYS: Final = 20_000


def names(tables: int) -> list[str]:
    return [f"db.t{number:02}" for number in range(tables)]


def kind_of(name: str) -> str:
    return "keyed" if name == BUSY else KINDS[int(name[4:]) % len(KINDS)]


def build(warehouse: str, tables: int) -> None:
    lake = lakebed.connect(warehouse)
    lake.create_database("db")
    kept = {"write-only": True, "snapshot.time-retained": "1 min", "snapshot.num-retained.min": 5}
    chain = {
        "chain-table.enabled": True,
        "partition.timestamp-pattern": "$day",
        "partition.timestamp-formatter": "yyyyMMdd",
        "sequence.field": "v",
        "bucket": 1,
        "autopilot.chain.depth": 5,
    }
    for name in names(tables):
        kind = kind_of(name)
        key = {"keyed": ["id"], "dynamic": ["id"], "chain": ["day", "id"]}.get(kind, [])
        options: dict[str, object] = {**kept, **({"bucket": 1} if kind == "keyed" else {})}
        if kind == "chain":
            options |= chain
        by = ["day"] if kind in {"partitioned", "chain"} else []
        lake.create_table(
            name, "id BIGINT, v BIGINT, text STRING, day STRING", primary_key=key, partition_by=by, options=options
        )


def batch(generator: np.random.Generator, kind: str, commit: int) -> pa.Table:
    """Rows of one commit; keys repeat, values grow with the commits, a new day begins every 20 commits."""
    ids = generator.choice(KEYS, ROWS, replace=False) if kind != "append" else generator.integers(0, 2**40, ROWS)
    day = 20250101 + (commit // 20) % 28
    columns = {
        "id": pa.array(ids, pa.int64()),
        "v": pa.array(np.full(ROWS, commit)),
        "text": [f"text {i}" for i in ids],
    }
    return pa.table({**columns, "day": [str(day)] * ROWS})


def write(warehouse: str, tables: int, writer: int, writers: int, minutes: float) -> None:
    """One writer: every second commit goes to the busy table of writer 0, the others to its own tables in turn.

    Prints what was acknowledged, and how long each commit took.
    """
    lake = lakebed.connect(warehouse)
    own = [name for number, name in enumerate(names(tables)) if number % writers == writer]
    generator = np.random.default_rng(writer)
    opened: dict[str, lakebed.Table] = {}
    acknowledged: dict[str, int] = {}
    took: list[float] = []
    end = time.monotonic() + minutes * 60
    number = 0
    while time.monotonic() < end:
        started = time.monotonic()
        name = BUSY if writer == 0 and number % 2 == 0 else own[(number // 2) % len(own)]
        kind = kind_of(name)
        if name not in opened:
            table = lake.table(name)
            opened[name] = table.branch("delta") if kind == "chain" else table
        done = acknowledged.get(name, 0)
        opened[name].write(batch(generator, kind, done))
        acknowledged[name] = done + 1
        took.append(time.monotonic() - started)
        number += 1
        time.sleep(max(0.0, PACE - (time.monotonic() - started)))
    print(json.dumps({"acknowledged": acknowledged, "seconds": took}))


def sample(lake: lakebed.Lake, tables: int) -> dict[str, float]:
    """The worst table of the warehouse: files in a bucket, sorted runs, manifests and snapshots; the busy read."""
    worst = {"files in a bucket": 0, "manifests": 0, "snapshots": 0}
    for name in names(tables):
        table = lake.table(name)
        for branch in (table, *map(table.branch, table.data_branches())):
            store = store_of(branch)
            latest = store.snapshots.latest()
            if latest is None:
                continue
            counted = live_entries(store, latest).group_by(["partition", "bucket"]).aggregate([("level", "count")])
            worst["files in a bucket"] = max(
                worst["files in a bucket"], max(counted["level_count"].to_pylist(), default=0)
            )
            worst["manifests"] = max(worst["manifests"], len(store.manifests.base_and_delta(latest)))
            worst["snapshots"] = max(worst["snapshots"], len(store.snapshots.ids()))
    return {**worst, "read of the busy table, ms": read_millis(lake)}


def read_millis(lake: lakebed.Lake, times: int = 3) -> float:
    def once() -> float:
        started = time.perf_counter()
        lake.table(BUSY).scan().to_arrow()
        return (time.perf_counter() - started) * 1000

    return statistics.median(once() for _ in range(times))


@contextlib.contextmanager
def autopilot(warehouse: str) -> Iterator[None]:
    """The autopilot as its users start it."""
    command = [sys.executable, "-m", "lakebed", "-w", warehouse, "autopilot", "run", "--interval", "2 s"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(120)


def point(lake: lakebed.Lake, tables: int, started: float) -> dict[str, float]:
    found = {"minutes": (time.monotonic() - started) / 60, **sample(lake, tables)}
    print("  " + ", ".join(f"{key} {value:.1f}" for key, value in found.items()), file=sys.stderr, flush=True)
    return found


def run(
    folder: Path, *, with_autopilot: bool, tables: int, minutes: float, writers: int, sample_seconds: float
) -> dict[str, Any]:
    warehouse = str(folder / ("with" if with_autopilot else "without"))
    build(warehouse, tables)
    lake = lakebed.connect(warehouse)
    curve: list[dict[str, float]] = []
    with autopilot(warehouse) if with_autopilot else contextlib.nullcontext():
        command = [sys.executable, "-m", "bench.autopilot", "--minutes", str(minutes), "--tables", str(tables)]
        command += ["--warehouse", warehouse, "--writers", str(writers), "--writer"]
        started = time.monotonic()
        processes = [
            subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True) for number in range(writers)
        ]
        while any(process.poll() is None for process in processes):
            curve.append(point(lake, tables, started))
            with contextlib.suppress(subprocess.TimeoutExpired):
                processes[0].wait(sample_seconds)
        curve.append(point(lake, tables, started))
        told = [json.loads(process.communicate()[0]) for process in processes]
    acknowledged: dict[str, int] = {}
    for one in told:
        for name, commits in one["acknowledged"].items():
            acknowledged[name] = acknowledged.get(name, 0) + commits
    seconds = [took for one in told for took in one["seconds"]]
    last = curve[-1]["read of the busy table, ms"]
    lost = check(lake, acknowledged, tables)
    lake.table(BUSY).compact(full=True)
    return {
        "curve": curve,
        "commits": len(seconds),
        "median_ms": statistics.median(seconds) * 1000,
        "p95_ms": float(np.quantile(seconds, 0.95)) * 1000,
        "read_ms": last,
        "compacted_read_ms": read_millis(lake),
        "lost": lost,
        "unsound": [name for name in names(tables) if not lake.table(name).verify().ok],
    }


def check(lake: lakebed.Lake, acknowledged: dict[str, int], tables: int) -> list[str]:
    """The tables that lack an acknowledged commit: append tables count rows, others hold the last value."""
    lost = []
    for name in names(tables):
        commits = acknowledged.get(name, 0)
        if not commits:
            continue
        table, kind = lake.table(name), kind_of(name)
        if kind in {"append", "partitioned"}:
            found = table.count() == commits * ROWS
        else:
            values = (table.branch("delta") if kind == "chain" else table).scan(["v"]).to_arrow()["v"].to_numpy()
            found = int((values == commits - 1).sum()) == ROWS
        lost += [] if found else [name]
    return lost


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument(
        "--sample", type=float, default=20, metavar="SECONDS", help="how often the tables are looked at"
    )
    parser.add_argument("--plot", type=Path, help="where to draw the curves, as SVG")
    parser.add_argument("--warehouse", help=argparse.SUPPRESS)
    parser.add_argument("--writer", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.writer is not None:
        write(given.warehouse, given.tables, given.writer, given.writers, given.minutes)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for with_autopilot in (False, True):
            name = "with the autopilot" if with_autopilot else "without"
            print(name, file=sys.stderr, flush=True)
            found[name] = run(
                Path(folder),
                with_autopilot=with_autopilot,
                tables=given.tables,
                minutes=given.minutes,
                writers=given.writers,
                sample_seconds=given.sample,
            )
    head = [
        "",
        "commits",
        "median ms",
        "95 % ms",
        "busy read, ms",
        "the same, just compacted",
        "most files",
        "manifests",
    ]
    head += ["snapshots"]
    rows = []
    for name, one in found.items():
        end = one["curve"][-1]
        times = [one[key] for key in ("median_ms", "p95_ms", "read_ms", "compacted_read_ms")]
        counts = [f"{end[key]:,.0f}" for key in ("files in a bucket", "manifests", "snapshots")]
        rows.append([name, f"{one['commits']:,}", *(f"{value:,.0f}" for value in times), *counts])
    print(markdown(head, rows))
    for name, one in found.items():
        print(f"\n{name}: lost {one['lost'] or 'nothing'}, unsound tables {one['unsound'] or 'none'}")
    if given.plot:
        given.plot.write_text(draw({name: one["curve"] for name, one in found.items()}, along="minutes"))
    bad = any(one["lost"] or one["unsound"] for one in found.values())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
