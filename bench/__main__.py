"""Lakebed beside its peers: ``python -m bench`` (after ``bench/setup.sh``), ``--rows 100000`` for a quick look.

Appends the same rows with each system, day by day and shuffled, scans them all back, and times one-row appends. Every
measurement is a process of its own; systems take turns, so that a slow minute of the machine hits all of them; each
waits for an idle moment and is tried again if it was not idle after all. Prints tables of ratios against pyarrow and
writes everything that was measured to ``bench/results/``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.data import ORDERS
from bench.report import REFERENCE, big_tables, small_table, summarise
from bench.systems import SYSTEMS

ROOT = Path(__file__).parent.parent
DISTURBED = 0.1
PYPAIMON = [".interop/pypaimon-venv/bin/python", ".venv-bench-pypaimon/bin/python"]


def python_of(system: str) -> str:
    """The interpreter a system is installed in; pypaimon needs one of its own."""
    found = [str(ROOT / path) for path in PYPAIMON if (ROOT / path).exists()]
    return found[0] if system == "pypaimon" and found else sys.executable


def measure(system: str, **request: Any) -> dict[str, Any]:
    """One request to a new process."""
    text = json.dumps({"system": system, **request})
    done = subprocess.run(
        [python_of(system), "-m", "bench.measure", text], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{system}: {request['task']} failed\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _disturbance(result: dict[str, Any]) -> float:
    """How many processors others kept busy meanwhile."""
    return float(result["others_cpu_seconds"] / result["seconds"])


@dataclass(frozen=True, slots=True)
class Run:
    """What is asked for."""

    rows: int
    repeats: int
    tries: int
    wait: float
    systems: Sequence[str]
    folder: Path

    def big(self) -> list[dict[str, Any]]:
        for order in ORDERS:
            measure(REFERENCE, task="make", rows=self.rows, order=order, rows_file=self._rows_file(order))
        return [
            one for repeat in range(self.repeats) for order in ORDERS for one in self._round(order, first=repeat == 0)
        ]

    def _rows_file(self, order: str) -> str:
        return str(self.folder / f"{order}.arrow")

    def _round(self, order: str, *, first: bool) -> list[dict[str, Any]]:
        """Every system appends, then every system scans what it wrote; pyarrow scans Lakebed's files."""
        found = []
        folders = {system: self.folder / f"{system}-{order}" for system in self.systems}
        for system, folder in folders.items():
            found.append(self._timed(system, "append", order, folder))
        for system in self.systems:
            folder = folders.get("lakebed", folders[system]) if system == REFERENCE else folders[system]
            result = self._timed(system, "scan", order, folder, check=first)
            if result["rows"] != self.rows or not result.get("equal", True):
                raise SystemExit(f"{system} did not give back the rows that it got")
            found.append(result)
        for folder in folders.values():
            shutil.rmtree(folder)
        return found

    def _timed(self, system: str, task: str, order: str, folder: Path, **request: Any) -> dict[str, Any]:
        """One measurement: the least disturbed of some tries."""
        results: list[dict[str, Any]] = []
        while len(results) < self.tries and (not results or _disturbance(results[-1]) > DISTURBED):
            if task == "append":
                shutil.rmtree(folder, ignore_errors=True)
            rows_file = self._rows_file(order)
            result = measure(system, task=task, folder=str(folder), rows_file=rows_file, wait=self.wait, **request)
            said = f"{result['seconds']:.2f} s (others used {result['others_cpu_seconds']:.1f} s)"
            print(f"  {task} {order} {system}: {said}", file=sys.stderr, flush=True)
            results.append(result)
        least = min(results, key=_disturbance)
        return {"task": task, "order": order, "system": system, **least}

    def small(self, commits: int) -> list[dict[str, Any]]:
        found = []
        for system in self.systems:
            if system != REFERENCE:
                folder = self.folder / f"{system}-small"
                found.append({"system": system, **measure(system, task="small", commits=commits, folder=str(folder))})
                shutil.rmtree(folder)
                print(f"  {commits} one-row appends {system}", file=sys.stderr, flush=True)
        return found


def installed(wanted: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Versions of the systems that are there; says which are not."""
    found = {}
    for system in wanted:
        versions = measure(system, task="versions")
        if versions["version"] is None:
            print(f"BENCH: {system} is not installed and is left out; bench/setup.sh installs it", file=sys.stderr)
        else:
            found[system] = versions
    return found


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cores": os.cpu_count(), "memory_bytes": memory, "system": platform.system(), "arch": platform.machine()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tries", type=int, default=5, help="per measurement, while others use the machine")
    parser.add_argument("--wait", type=float, default=10, help="seconds to wait at most for an idle machine")
    parser.add_argument("--commits", type=int, default=200, help="one-row appends to time, 0 for none")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="which to measure, separated by commas")
    parser.add_argument("--work", type=Path, default=ROOT / "build", help="folder for tables while they are measured")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    asked = parser.parse_args()
    unknown = set(asked.systems.split(",")) - set(SYSTEMS)
    if unknown:
        parser.error(f"no such system: {', '.join(sorted(unknown))}; there are {', '.join(SYSTEMS)}")

    versions = installed(asked.systems.split(","))
    asked.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=asked.work) as folder:
        run = Run(asked.rows, asked.repeats, asked.tries, asked.wait, list(versions), Path(folder))
        measurements = run.big()
        small = run.small(asked.commits) if asked.commits else []
    summary = summarise(measurements)
    today = dt.datetime.now(dt.UTC).date().isoformat()
    report = {
        "date": today,
        "rows": asked.rows,
        "repeats": asked.repeats,
        "python": platform.python_version(),
        "machine": machine(),
        "versions": versions,
        "summary": summary,
        "small": small,
        "measurements": measurements,
    }
    asked.results.mkdir(parents=True, exist_ok=True)
    path = asked.results / f"{today}-{asked.rows}-rows.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(big_tables(summary))
    if small:
        print(f"\n{small_table(small)}")
    print(f"\n{path}")


if __name__ == "__main__":
    main()
