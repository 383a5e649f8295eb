"""How fast the service answers under load: ``python -m bench.service``.

The service runs in its own process, on loopback. Several connections send one request after the other without a pause,
for every kind of page in turn. Two tables have 1,000 and 100,000 snapshots without files (see ``bench/history.py``),
and one table has files and rows. Client and service share the machine, so more cores would give more requests.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import numpy as np
from bench.history import build
from bench.report import markdown

import lakebed

TABLES: Final = "/api/v1/warehouses/bench/databases/db/tables"


@dataclass
class Load:
    """Seconds that answers took, by the kind of question; shared by all connections."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, took: float) -> None:
        with self.lock:
            self.seconds.setdefault(what, []).append(took)


def questions(counts: list[int]) -> list[tuple[str, str]]:
    """What is asked, and the path; pages of histories by offset somewhere in the middle as well as the first."""
    asked = [
        ("list of tables with health", "/api/v1/warehouses/bench/tables"),
        ("table", f"{TABLES}/rows"),
        ("buckets and levels", f"{TABLES}/rows/buckets"),
        ("files, page of 100", f"{TABLES}/rows/files"),
        ("partitions", f"{TABLES}/rows/partitions"),
        ("health without orphans", f"{TABLES}/rows/health?orphans=false"),
        ("rows, 50 of one partition", f"{TABLES}/rows/rows?where=p=3"),
    ]
    for count in counts:
        table, shown = f"{TABLES}/h{count}", f"of {count:,}"
        asked += [
            (f"snapshots {shown}, first page of 25", f"{table}/snapshots"),
            (f"snapshots {shown}, a page in the middle", f"{table}/snapshots?offset={count // 2}"),
            (f"snapshots {shown}, APPEND only, page 10", f"{table}/snapshots?kind=APPEND&offset=225"),
        ]
    return asked


def make_tables(folder: Path, counts: list[int]) -> None:
    lake = lakebed.connect(folder)
    lake.create_database("db")
    for count in counts:
        build(folder / "db.db" / f"h{count}", count, lambda _: False, noted=True)
    keyed = {"partition_by": ["p"], "primary_key": ["p", "id"], "options": {"bucket": "4"}}
    rows = lake.create_table("db.rows", "id INT, v STRING, p INT", **keyed)  # type: ignore[arg-type]
    for number in range(20):
        rows.write([{"id": number * 1000 + one, "v": f"value {one}", "p": one % 5} for one in range(1000)])


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """``lakebed serve`` as a process; gives host and port."""
    command = [sys.executable, "-m", "lakebed", "serve", f"bench={folder}", "--port", "0", "--rate-limit", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline() if process.stderr is not None else ""
            found = re.search(r"at (http://\S+)", line)
            if found is None:
                raise SystemExit(f"the service did not start: {line}")
            yield urlsplit(found[1]).netloc
        finally:
            process.terminate()


def ask(place: str, asked: list[tuple[str, str]], load: Load, stop: float, first: int) -> None:
    """One connection that asks until the time is up, beginning with another question than its neighbours."""
    connection = http.client.HTTPConnection(place, timeout=60)
    number = first
    while time.monotonic() < stop:
        what, path = asked[number % len(asked)]
        number += 1
        started = time.perf_counter()
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        took = time.perf_counter() - started
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status} {body[:300]!r}")
        json.loads(body)
        load.note(what, took)
    connection.close()


def run(place: str, asked: list[tuple[str, str]], connections: int, seconds: float) -> str:
    """The table in the documentation: answers per second and how long they took, by question and in all."""
    ask_each_once = Load()
    for number in range(len(asked)):
        ask(place, asked[number : number + 1], ask_each_once, time.monotonic() + 0.001, 0)
    load = Load()
    stop = time.monotonic() + seconds
    threads = [threading.Thread(target=ask, args=(place, asked, load, stop, n)) for n in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [_line(what, np.array(load.seconds[what]) * 1000, seconds) for what, _ in asked if what in load.seconds]
    every = np.concatenate([np.array(one) for one in load.seconds.values()]) * 1000
    lines.append(_line("all together", every, seconds))
    return markdown(["asked for", "answers", "per second", "p50, ms", "p99, ms", "slowest, ms"], lines)


def _line(what: str, millis: np.ndarray, seconds: float) -> list[str]:
    p50, p99 = np.percentile(millis, [50, 99])
    return [what, f"{len(millis):,}", f"{len(millis) / seconds:.1f}", f"{p50:.1f}", f"{p99:.1f}", f"{millis.max():.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.service", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--snapshots", type=int, nargs="*", default=[1_000, 100_000])
    parser.add_argument("--work", type=Path, default=Path(__file__).parent.parent / "build", help="folder for tables")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=asked.work) as work:
        make_tables(Path(work), asked.snapshots)
        print("tables are there", file=sys.stderr, flush=True)
        with serving(Path(work)) as place:
            print(run(place, questions(asked.snapshots), asked.connections, asked.seconds))


if __name__ == "__main__":
    main()
