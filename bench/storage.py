"""Tables on an object store, Lakebed beside its peers: ``python -m bench.storage`` (after ``bench/setup.sh``).

MinIO runs on this machine behind a proxy that adds 20 ms to every request, as a store in the same region would. Each
line is measured in turns, every time in a new process. *Requests* are what the proxy has seen. *Chain* is the longest
chain of requests of which each began after the one before had ended: the same estimate for all systems, because the
peers are black boxes. Of both the table has the lowest of all repeats: threads that a busy machine starts late can only
make the chain longer. pyiceberg keeps the pointer to its newest metadata in a local SQLite file, which costs no
request; a catalog on the network would. Prints a table with the median, the lowest and the highest time, and writes
all measurements to ``bench/results/``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench.__main__ import ROOT, installed, machine, python_of
from bench.data import save
from bench.report import markdown
from bench.storage_systems import SYSTEMS
from tests.servers.minio import MinIO
from tests.servers.proxy import Proxy, by_method, longest_chain

LATENCY: Final = 0.02
LINES: Final = {
    ("append", "cold"): "open, append one row",
    ("append", "warm"): "append one row, open handle",
    ("plan", "cold"): "open, plan a read of {commits} commits",
    ("plan", "warm"): "plan it again, open handle",
    ("history", "cold"): "open, 20 newest commits",
    ("lookup", "cold"): "open, look up one of {keys:,} keys",
    ("lookup", "warm"): "look up another, open handle",
    ("load", "cold"): "open, append {rows:,} rows",
    ("read", "cold"): "open, read {rows:,} rows",
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    commits: int
    keys: int
    rows: int
    repeats: int
    big_repeats: int
    warm: int


@dataclass
class Run:
    """The tables of all systems on one server."""

    proxy: Proxy
    bucket: str
    folder: Path
    sizes: Sizes
    systems: Sequence[str]

    def measure(self, system: str, task: str, table: str, **request: Any) -> list[dict[str, Any]]:
        """One task in a new process, with the requests that the proxy has seen meanwhile."""
        asked = {
            "system": system,
            "task": task,
            "table": table,
            "bucket": self.bucket,
            "options": self.proxy.options,
            "folder": str(self.folder),
            "commits": self.sizes.commits,
            "warm": self.sizes.warm,
            **request,
        }
        done = subprocess.run(
            [python_of(system), "-m", "bench.storage_systems", json.dumps(asked)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{system}: {task} failed\n{done.stderr}")
        results: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
        for result in results:
            seen = self.proxy.between(result["start"], result["end"])
            result |= {"system": system, "task": task, "requests": len(seen), "chain": longest_chain(seen)}
            result["by_method"] = dict(by_method(seen))
            result["trace"] = [
                (each.method, each.target, round(each.started - result["start"], 4), each.status) for each in seen[:60]
            ]
            said = f"{result['seconds'] * 1000:.0f} ms, {len(seen)} requests, chain {result['chain']}"
            print(f"  {task} {result['state']} {system}: {said}", file=sys.stderr, flush=True)
        return results

    def build(self) -> None:
        """Makes the small tables, without latency."""
        self.proxy.latency = 0.0
        for system in self.systems:
            self.measure(system, "build", "log", keys=0)
            self.measure(system, "build", "keyed", keys=self.sizes.keys, commits=10)
            print(f"  tables of {system} are there", file=sys.stderr, flush=True)
        self.proxy.latency = LATENCY

    def small(self) -> Iterator[dict[str, Any]]:
        """The lines about metadata; appends come last, so that the others see the same number of commits."""
        for repeat in range(self.sizes.repeats):
            for system in self._turn(repeat):
                yield from self.measure(system, "plan", "log")
            for system in self._turn(repeat):
                yield from self.measure(system, "history", "log")
            for system in self._turn(repeat):
                yield from self.measure(system, "lookup", "keyed", key=(repeat + 1) * 7919 % self.sizes.keys)
        for repeat in range(self.sizes.repeats):
            for system in self._turn(repeat):
                yield from self.measure(system, "append", "log", first=10**6 + repeat)

    def big(self) -> Iterator[dict[str, Any]]:
        """The lines about many rows."""
        rows_file = self.folder / "rows.arrow"
        save(rows_file, self.sizes.rows, "sorted")
        for repeat in range(self.sizes.big_repeats):
            for task in ("load", "read"):
                for system in self._turn(repeat):
                    check = repeat == 0
                    yield from self.measure(system, task, f"big{repeat}", rows_file=str(rows_file), check=check)

    def _turn(self, repeat: int) -> list[str]:
        """The systems, each time another one first."""
        at = repeat % len(self.systems)
        return [*self.systems[at:], *self.systems[:at]]


def table_of(measurements: Sequence[dict[str, Any]], sizes: Sizes) -> str:
    """One block for each line, one row for each system."""
    head = ["line", "system", "median ms", "lowest to highest", "requests", "chain", "extra memory"]
    body = []
    for (task, state), title in LINES.items():
        for system in SYSTEMS:
            found = [one for one in measurements if (one["task"], one["state"], one["system"]) == (task, state, system)]
            if found:
                times = sorted(one["seconds"] * 1000 for one in found)
                memory = statistics.median((one["peak_bytes"] - one["base_bytes"]) / 1e6 for one in found)
                body.append(
                    [
                        title.format(**asdict(sizes)),
                        system,
                        f"{statistics.median(times):,.0f}",
                        f"{times[0]:,.0f} to {times[-1]:,.0f}",
                        str(min(one["requests"] for one in found)),
                        str(min(one["chain"] for one in found)),
                        f"{memory:,.0f} MB" if task in {"load", "read"} else "",
                    ]
                )
    return markdown(head, body)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.storage", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the big appends and reads, 0 for none")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--big-repeats", type=int, default=3)
    parser.add_argument("--warm", type=int, default=3, help="calls with an open handle in each process")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="which to measure, separated by commas")
    parser.add_argument("--work", type=Path, default=ROOT / "build", help="folder for tables while they are measured")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    asked = parser.parse_args()
    sizes = Sizes(asked.commits, asked.keys, asked.rows, asked.repeats, asked.big_repeats, asked.warm)
    versions = installed(asked.systems.split(","))
    asked.work.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=asked.work) as folder,
        MinIO(Path(folder) / "minio") as server,
        Proxy(server, LATENCY) as proxy,
    ):
        run = Run(proxy, server.create_bucket("bench"), Path(folder), sizes, list(versions))
        run.build()
        measurements = list(run.small())
        if asked.rows:
            measurements += run.big()
    today = dt.datetime.now(dt.UTC).date().isoformat()
    report = {
        "date": today,
        "sizes": asdict(sizes),
        "latency_seconds": LATENCY,
        "python": platform.python_version(),
        "machine": machine(),
        "versions": versions,
        "measurements": measurements,
    }
    asked.results.mkdir(parents=True, exist_ok=True)
    path = asked.results / f"{today}-storage.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(table_of(measurements, sizes))
    print(f"\n{path}")


if __name__ == "__main__":
    main()
