"""What a commit and a plan cost as a table grows: ``python -m bench.manifests`` (after ``bench/setup.sh``).

The benchmark measures:

* one-row commits at 100, 10,000 and 100,000 live files, and at commit 20, 100, 400 and 5,000 of one table;
* the metadata that a hundred commits of a hundred files write;
* plans of a read at 100,000 files, in a new process and in a process that has planned before.

The same is measured for other table stores. Each has a time limit, and a result that it did not reach is left empty.
*new* opens the table for every commit, as a short program does. *kept* holds the table open. Imports are not timed,
except for those that a system makes later.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.__main__ import installed, machine, python_of
from bench.many_files import FILTERS, STORES, Lakebed, Store, key_asked, one_row
from bench.measure import IDLE_SHARE, IDLE_WINDOW, _machine_seconds
from bench.report import markdown

ROOT: Final = Path(__file__).parent.parent
WINDOW: Final = 20
WARM_RUNS: Final = 15
WARM_SECONDS: Final = 5
KEYED: Final = "primary key"
LOADED: Final = {"lakebed": ("lakebed.lake",), "pyiceberg": ("pyiceberg.catalog.sql", "pyiceberg.io.pyarrow")}
"""What else a system imports with its first table, so that it is there before the clock starts."""

Result = dict[str, Any]


# ------------------------------------------------------------------------------------------- in a process of its own


def run(request: dict[str, Any]) -> Result:
    """One task of one system."""
    for module in (request["system"], *LOADED.get(request["system"], ())):
        importlib.import_module(module)
    store = STORES[request["system"]](Path(request["folder"]), keyed=request.get("keyed", False))
    task = request["task"]
    if task == "make":
        store.fill(request["files"]) if request["files"] else store.create()
        return {}
    wait_for_others(request["wait"])
    if task == "commits":
        return _commits(store, request["files"], request["commits"], request["limit"])
    if task == "history":
        return _history(store, request["marks"], request["limit"])
    if task == "bytes":
        return _bytes_of_commits(store, request["files"], request["commits"], request["files_each"])
    return _plan(store, request["filter"], request["files"])


def wait_for_others(most: float) -> None:
    """Until nobody else uses the machine, so many seconds at most."""
    end = time.monotonic() + most
    while time.monotonic() < end:
        busy, clock = _machine_seconds(), time.monotonic()
        time.sleep(IDLE_WINDOW)
        if _machine_seconds() - busy < IDLE_SHARE * (time.monotonic() - clock):
            return


def _clocked(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Milliseconds of wall and CPU time, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000, value


def _metadata(folder: Path) -> dict[str, int]:
    """The metadata files of a table and their sizes."""
    found: dict[str, int] = {}
    for where, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(".parquet") or "checkpoint" in name:
                path = os.path.join(where, name)  # noqa: PTH118 - ten times faster than Path here
                found[path] = os.path.getsize(path)  # noqa: PTH202
    return found


def _commits(store: Store, files: int, commits: int, limit: float) -> Result:
    """One-row commits on a table of some size: opened for each, held open, and for Lakebed the commit without a row."""
    kinds: dict[str, Callable[[int], Any]] = {}
    kept = store.open()
    kinds["new"] = lambda number: store.append(store.open(), one_row(number))
    kinds["kept"] = lambda number: store.append(kept, one_row(number))
    if isinstance(store, Lakebed):
        lakebed, below = store, store.store()
        entries = [lakebed.entries(10 * files + number, 1) for number in range(commits)]
        kinds["entry"] = lambda number: lakebed.commit_entries(below, entries[number % commits])
    result: Result = {}
    number = files
    for kind, act in kinds.items():
        times: list[tuple[float, float]] = []
        before = _metadata(store.folder)
        end = time.monotonic() + limit
        while len(times) < commits and (time.monotonic() < end or not times):
            wall, cpu, _ = _clocked(lambda: act(number))  # noqa: B023 - called at once
            times.append((wall, cpu))
            number += 1
        after = _metadata(store.folder)
        written = sum(size for path, size in after.items() if path not in before)
        result[kind] = _medians(times) | {"bytes": written / len(times), "commits": len(times)}
    return result


def _medians(times: Sequence[tuple[float, float]]) -> Result:
    walls, cpus = [wall for wall, _ in times], [cpu for _, cpu in times]
    return {"ms": statistics.median(walls), "cpu_ms": statistics.median(cpus), "longest_ms": max(walls)}


def _history(store: Store, marks: Sequence[int], limit: float) -> Result:
    """One-row commits from the first on; of those before each mark the median, as far as the time goes."""
    times: list[tuple[float, float]] = []
    result: Result = {}
    end = time.monotonic() + limit
    before: dict[str, int] = {}
    while len(times) < marks[-1] and time.monotonic() < end:
        if len(times) + WINDOW in marks:
            before = _metadata(store.folder)
        number = len(times)
        wall, cpu, _ = _clocked(lambda: store.append(store.open(), one_row(number)))  # noqa: B023 - called at once
        times.append((wall, cpu))
        if len(times) in marks:
            new = [size for path, size in _metadata(store.folder).items() if path not in before]
            result[str(len(times))] = _medians(times[-WINDOW:]) | {"bytes": sum(new) / WINDOW}
    return {"marks": result, "commits": len(times), "mean_ms": statistics.fmean(wall for wall, _ in times)}


def _bytes_of_commits(store: Store, files: int, commits: int, files_each: int) -> Result:
    """What many commits write, and what a full list of files with each of them would have been."""
    from lakebed.format.manifest.manifest import encode_manifest
    from lakebed.metadata.plan.file_scan import live_entries

    assert isinstance(store, Lakebed)
    below = store.store()
    before = _metadata(store.folder)
    live = live_entries(below, below.snapshots.latest())
    full = 0
    for number in range(commits):
        store.commit_entries(below, store.entries(files + number * files_each, files_each))
        latest = below.snapshots.latest()
        live = live_entries(below, latest)
        full += len(encode_manifest(live))
    written = sum(size for path, size in _metadata(store.folder).items() if path not in before)
    if len(live) != files + commits * files_each:
        raise SystemExit(f"{len(live)} files are live, not {files + commits * files_each}")
    return {"written": written, "full": full, "saved": 1 - written / full}


def _plan(store: Store, which: str, files: int) -> Result:
    """A plan in this new process, and the median of more of them."""
    key = key_asked(files)

    def cold() -> tuple[Any, int]:
        handle = store.open()
        return handle, store.plan(handle, which, key)

    wall, cpu, (handle, found) = _clocked(cold)
    warm: list[tuple[float, float, int]] = []
    end = time.monotonic() + WARM_SECONDS
    while len(warm) < WARM_RUNS and (time.monotonic() < end or not warm):
        warm.append(_clocked(lambda: store.plan(handle, which, key)))
    if any(again != found for _, _, again in warm):
        raise SystemExit(f"{which}: plans differ in their number of files")
    medians = _medians([(w, c) for w, c, _ in warm])
    return {
        "cold_ms": wall,
        "cold_cpu_ms": cpu,
        "warm_ms": medians["ms"],
        "warm_cpu_ms": medians["cpu_ms"],
        "found": found,
    }


# --------------------------------------------------------------------------------------------------- all of them


def measure(system: str, *, by: str | None = None, **request: Any) -> Result:
    """One request to a new process; ``by`` is the system whose interpreter runs it."""
    text = json.dumps({"system": system, **request})
    command = [python_of(by or system), "-m", "bench.manifests", "--measure", text]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{system}: {request['task']} failed\n{done.stderr}")
    found: Result = json.loads(done.stdout.splitlines()[-1])
    return found


def say(what: str) -> None:
    print(f"  {what} (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)


class Run:
    """What is asked for, and the folder it happens in."""

    def __init__(self, asked: argparse.Namespace, systems: Sequence[str], folder: Path) -> None:
        self.asked, self.systems, self.folder = asked, systems, folder

    def make(self, system: str, files: int, *, keyed: bool = False) -> Path:
        """A table of its own for one measurement."""
        folder = self.folder / f"{system}-{files}"
        shutil.rmtree(folder, ignore_errors=True)
        maker = STORES[system].made_by or system
        measure(maker, task="make", folder=str(folder), files=files, keyed=keyed)
        return folder

    def commits(self) -> dict[str, dict[str, Result]]:
        found: dict[str, dict[str, Result]] = {system: {} for system in self.systems}
        for files in self.asked.files:
            for system in self.systems:
                folder = self.make(system, files)
                request = {"files": files, "commits": self.asked.commits, "limit": self.asked.limit}
                found[system][str(files)] = self.measured(system, "commits", folder, **request)
                shutil.rmtree(folder)
                say(f"commits of {system} at {files:,} files")
        return found

    def history(self, *, keyed: bool) -> dict[str, Result]:
        found = {}
        for system in self.systems:
            if keyed and system not in {"lakebed", "pypaimon"}:
                continue
            folder = self.make(system, 0, keyed=keyed)
            request = {"marks": self.asked.marks, "limit": self.asked.limit, "keyed": keyed}
            found[system] = self.measured(system, "history", folder, **request)
            shutil.rmtree(folder)
            say(f"{found[system]['commits']:,} commits of {system}{f', {KEYED}' if keyed else ''}")
        return found

    def bytes(self) -> Result:
        files = self.asked.files[1]
        folder = self.make("lakebed", files)
        return self.measured("lakebed", "bytes", folder, files=files, commits=100, files_each=files // 100)

    def plans(self) -> dict[str, dict[str, Result]]:
        files = self.asked.files[-1]
        folders = {system: self.make(system, files) for system in self.systems if STORES[system].made_by is None}
        found: dict[str, dict[str, Result]] = {system: {} for system in self.systems}
        for which in FILTERS:
            for _ in range(self.asked.repeats):
                for system in self.systems:
                    folder = folders[STORES[system].made_by or system]
                    one = self.measured(system, "plan", folder, filter=which, files=files)
                    best = found[system].setdefault(which, one)
                    if one["found"] != best["found"]:
                        raise SystemExit(f"{system}: plans differ in their number of files")
                    found[system][which] = {name: min(value, best[name]) for name, value in one.items()}
            say(f"plans of {which}")
        return found

    def measured(self, system: str, task: str, folder: Path, **request: Any) -> Result:
        return measure(system, task=task, folder=str(folder), wait=self.asked.wait, **request)


# -------------------------------------------------------------------------------------------------------- the report


def commit_table(commits: dict[str, dict[str, Result]]) -> str:
    sizes = list(next(iter(commits.values())))
    head = ["one-row commit, ms", *(f"{int(size):,} files" for size in sizes), "last of first", "bytes at the last"]
    body = []
    for system, by_size in commits.items():
        for kind in by_size[sizes[0]]:
            times = [by_size[size][kind]["ms"] for size in sizes]
            name = f"{system}, {kind}" if kind != "entry" else f"{system}, without writing the row"
            said = [
                *(f"{ms:.1f}" for ms in times),
                f"{times[-1] / times[0]:.2f}",
                f"{by_size[sizes[-1]][kind]['bytes']:,.0f}",
            ]
            body.append([name, *said])
    return markdown(head, body)


def history_table(history: dict[str, Result], marks: Sequence[int], label: str = "") -> str:
    head = ["one-row commit, ms", *(f"commit {mark:,}" for mark in marks), "last of first", "bytes at the last"]
    body = []
    for system, result in history.items():
        there = [result["marks"].get(str(mark)) for mark in marks]
        reached = [one for one in there if one is not None]
        ratio = f"{reached[-1]['ms'] / reached[0]['ms']:.2f}" if reached else ""
        size = f"{reached[-1]['bytes']:,.0f}" if reached else ""
        times = ["" if one is None else f"{one['ms']:.1f}" for one in there]
        body.append([f"{system}{label}", *times, ratio, size])
    return markdown(head, body)


def plan_table(plans: dict[str, dict[str, Result]]) -> str:
    head = ["plan, ms", *(f"{which}, {kind}" for which in FILTERS for kind in ("cold", "warm"))]
    body = [
        [system, *(f"{by_filter[which][f'{kind}_ms']:.0f}" for which in FILTERS for kind in ("cold", "warm"))]
        for system, by_filter in plans.items()
    ]
    return markdown(head, body)


def bytes_line(saved: Result) -> str:
    return (
        f"100 commits wrote {saved['written'] / 1e6:.2f} MB of metadata; full lists would have been "
        f"{saved['full'] / 1e6:.1f} MB: {saved['saved']:.1%} saved"
    )


def report(found: dict[str, Any]) -> str:
    marks = [int(mark) for mark in found["marks"]]
    return "\n\n".join(
        [
            commit_table(found["commits"]),
            history_table(found["history"], marks),
            history_table(found["keyed history"], marks, f", {KEYED}"),
            bytes_line(found["bytes"]),
            plan_table(found["plans"]),
        ]
    )


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.manifests", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--files", type=numbers, default=[100, 10_000, 100_000], help="sizes of tables, three of them")
    parser.add_argument("--marks", type=numbers, default=[20, 100, 400, 5000], help="commits to look at")
    parser.add_argument("--commits", type=int, default=40, help="commits to time at each size")
    parser.add_argument("--limit", type=float, default=120, help="seconds that one system may take for one task")
    parser.add_argument("--repeats", type=int, default=3, help="processes that plan")
    parser.add_argument("--wait", type=float, default=10, help="seconds to wait at most for an idle machine")
    parser.add_argument("--systems", default=",".join(STORES), help="which to measure, separated by commas")
    parser.add_argument("--work", type=Path, default=ROOT / "build", help="folder for tables while they are measured")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(run(json.loads(asked.measure))), flush=True)
        os._exit(0)  # the threads of some systems abort now and then when the interpreter shuts down
    versions = installed(asked.systems.split(","))
    asked.work.mkdir(parents=True, exist_ok=True)
    asked.results.mkdir(parents=True, exist_ok=True)
    path = asked.results / f"manifests-{asked.files[-1]}-files.json"
    found: dict[str, Any] = {"machine": machine(), "versions": versions, "marks": asked.marks}
    with tempfile.TemporaryDirectory(prefix="bench-", dir=asked.work) as folder:
        tasks = Run(asked, list(versions), Path(folder))
        parts: dict[str, Callable[[], Any]] = {
            "commits": tasks.commits,
            "history": lambda: tasks.history(keyed=False),
            "keyed history": lambda: tasks.history(keyed=True),
            "bytes": tasks.bytes,
            "plans": tasks.plans,
        }
        for name, part in parts.items():
            found[name] = part()
            path.write_text(json.dumps(found, indent=1) + "\n")  # what is there so far, as all of it takes long
    print(report(found))
    print(f"\n{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


if __name__ == "__main__":
    main()
