"""One measurement in a process of its own: ``python -m bench.measure '<request as JSON>'``; the last line is the result.

What is timed is the call alone: imports, the making of the table and the loading of the rows come before it, and files
to be read have been read once, so that they are in the page cache. The peak of memory is that of the whole process;
``base_bytes`` is what it held when the clock started.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench import data
from bench.systems import SYSTEMS, System

Result = dict[str, Any]
SCAN_RUNS = 5


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
        return _append(system, Path(request["rows_file"]))
    if task == "scan":
        return _scan(system, Path(request["rows_file"]), check=request["check"])
    return _small(system, request["commits"])


def _versions(name: str) -> Result:
    try:
        importlib.import_module(name)
    except ImportError:
        return {"version": None}
    return {"version": importlib.metadata.version(name), "pyarrow": pa.__version__}


def _append(system: System, rows_file: Path) -> Result:
    system.create()
    rows = data.load(rows_file)
    result, _ = _timed(lambda: system.append(rows))
    sizes = [Path(path).stat().st_size for path in system.files()]
    return result | {"rows": len(rows), "files": len(sizes), "bytes": sum(sizes)}


def _scan(system: System, rows_file: Path, *, check: bool) -> Result:
    sizes = [len(Path(path).read_bytes()) for path in system.files()]
    result, found = _timed(system.scan)
    result |= {"rows": len(found), "files": len(sizes), "bytes": sum(sizes)}
    if check:
        result["equal"] = data.same_rows(found, data.load(rows_file))
    return result


def _timed(call: Callable[[], Any]) -> tuple[Result, Any]:
    base = _resident_bytes()
    cpu, wall = time.process_time(), time.perf_counter()
    value = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": wall, "cpu_seconds": cpu, "peak_bytes": peak, "base_bytes": base}, value


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _small(system: System, commits: int) -> Result:
    """Milliseconds of every one-row append, and of a scan of the whole table after some of them."""
    system.create()
    rows = data.make_rows(commits, "shuffled")
    appends: list[float] = []
    scans: dict[int, float] = {}
    for number in range(1, commits + 1):
        result, _ = _timed(lambda row=rows.slice(number - 1, 1): system.append(row))  # type: ignore[misc]
        appends.append(result["seconds"] * 1000)
        if number in {1, 10, 50, 100, 200, commits}:
            runs = [_timed(system.scan) for _ in range(SCAN_RUNS)]
            scans[number] = statistics.median(result["seconds"] * 1000 for result, _ in runs)
            if len(runs[-1][1]) != number:
                raise SystemExit(f"{number} rows were written, {len(runs[-1][1])} were read")
    return {"append_ms": appends, "scan_ms": scans}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
