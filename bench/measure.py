"""One measurement in its own process: ``python -m bench.measure '<request as JSON>'``. The last line is the result.

Only the call itself is timed. Imports, creating the table and loading the rows come before it, and files to read are
already in the page cache. The process first waits until no other process uses the machine. The result includes the CPU
time that others used meanwhile. ``base_bytes`` is the memory of the process when the clock started, ``peak_bytes`` the
maximum after that. Linux only.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from bench.systems import SYSTEMS, System

from bench import data

Result = dict[str, Any]
SCAN_RUNS = 5
IDLE_WINDOW = 0.25
IDLE_SHARE = 0.1
WARM_FACTOR = 3


def run(request: dict[str, Any]) -> Result:
    task = request["task"]
    if task == "make":
        data.save(Path(request["rows_file"]), request["rows"], request["order"])
        return {}
    if task == "versions":
        return _versions(request["system"])
    importlib.import_module(request["system"])
    system = SYSTEMS[request["system"]](Path(request["folder"]))
    if task == "append":
        return _append(system, Path(request["rows_file"]), request["wait"])
    if task == "scan":
        return _scan(system, Path(request["rows_file"]), request["wait"], check=request["check"])
    return _small(system, request["commits"])


def _versions(name: str) -> Result:
    try:
        return {"version": importlib.metadata.version(name), "pyarrow": pa.__version__}
    except importlib.metadata.PackageNotFoundError:
        return {"version": None}


def _append(system: System, rows_file: Path, wait: float) -> Result:
    system.create()
    rows = data.load(rows_file)
    _prepare(rows_file, wait)
    result, _ = _timed(partial(system.append, rows))
    sizes = [Path(path).stat().st_size for path in system.files()]
    return result | {"rows": len(rows), "files": len(sizes), "bytes": sum(sizes)}


def _scan(system: System, rows_file: Path, wait: float, *, check: bool) -> Result:
    sizes = [len(Path(path).read_bytes()) for path in system.files()]
    _prepare(rows_file, wait)
    result, found = _timed(system.scan)
    result |= {"rows": len(found), "files": len(sizes), "bytes": sum(sizes)}
    if check:
        result["equal"] = data.same_rows(found, data.load(rows_file))
    return result


def _prepare(rows_file: Path, wait: float) -> None:
    """Wait until the machine is idle, for a limited time, and touch memory first.

    A virtual machine may hand out memory slowly that was not used for a while, which would distort the measurement.
    """
    end = time.monotonic() + wait
    while time.monotonic() < end:
        busy, clock = _machine_seconds(), time.monotonic()
        time.sleep(IDLE_WINDOW)
        if _machine_seconds() - busy < IDLE_SHARE * (time.monotonic() - clock):
            break
    np.ones(WARM_FACTOR * rows_file.stat().st_size, np.uint8)


def _timed(call: Callable[[], Any]) -> tuple[Result, Any]:
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of memory
    base = _status("VmRSS")
    machine, cpu, wall = _machine_seconds(), time.process_time(), time.perf_counter()
    value = call()
    wall, cpu, machine = time.perf_counter() - wall, time.process_time() - cpu, _machine_seconds() - machine
    others = max(0.0, machine - cpu)
    result = {"seconds": wall, "cpu_seconds": cpu, "others_cpu_seconds": others}
    return result | {"peak_bytes": _status("VmHWM"), "base_bytes": base}, value


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/self/status does not tell {name}")


def _machine_seconds() -> float:
    """Seconds that all processors together have been busy, with what other virtual machines took of them."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _small(system: System, commits: int) -> Result:
    """Milliseconds of every one-row append, and of a scan of the whole table after some of them."""
    system.create()
    rows = data.make_rows(commits, "shuffled")
    appends: list[float] = []
    scans: dict[int, float] = {}
    for number in range(1, commits + 1):
        result, _ = _timed(partial(system.append, rows.slice(number - 1, 1)))
        appends.append(result["seconds"] * 1000)
        if number in {1, 10, 50, 100, 200, commits}:
            runs = [_timed(system.scan) for _ in range(SCAN_RUNS)]
            scans[number] = statistics.median(result["seconds"] * 1000 for result, _ in runs)
            if len(runs[-1][1]) != number:
                raise SystemExit(f"{number} rows were written, {len(runs[-1][1])} were read")
    return {"append_ms": appends, "scan_ms": scans}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))), flush=True)
    os._exit(0)  # the threads of some systems abort now and then when the interpreter shuts down; that is not measured
