"""Two streams into one table, whose driver and workers are killed at random moments: every row arrives, none twice.

``LAKEBED_STREAM_BATCHES`` and ``LAKEBED_STREAM_KILLS`` make it longer.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lakebed import Lake, Table

HERE = Path(__file__).parent
BATCHES = int(os.environ.get("LAKEBED_STREAM_BATCHES", "8"))
KILLS = int(os.environ.get("LAKEBED_STREAM_KILLS", "2"))
PATIENCE = 600


def start(lake: Lake, folder: Path) -> subprocess.Popen[bytes]:
    """The driver, in a session of its own with all its children."""
    path = os.pathsep.join(filter(None, [str(HERE.parent.parent), os.environ.get("PYTHONPATH")]))
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, str(HERE / "stream_worker.py"), lake.warehouse, str(folder / "checkpoints")],
            env={**os.environ, "PYTHONPATH": path},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def python_workers(driver: int) -> list[int]:
    """The processes of Spark's Python workers below a driver."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    ours = {driver}
    for _ in range(5):
        ours |= {process for process, parent in parents.items() if parent in ours}
    return [
        process for process in ours - {driver} if b"pyspark" in _command(process) and b"java" not in _command(process)
    ]


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def kill(driver: subprocess.Popen[bytes], *, whole: bool) -> None:
    if whole:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        return
    for process in python_workers(driver.pid):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue


def commits(sink: Table) -> int:
    latest = sink.latest_snapshot()
    return 0 if latest is None else latest.id


def rows(table: Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def test_every_row_arrives_once(lake: Lake, tmp_path: Path) -> None:
    pick = random.Random(7)
    sources = [lake.create_table(f"db.{name}", "id BIGINT, origin STRING") for name in ("plain", "batches")]
    sink = lake.create_table("db.sink", "id BIGINT, origin STRING", options={"snapshot.num-retained.min": "1000"})
    for number in range(BATCHES):
        for table in sources:
            table.write([{"id": 10 * number + i, "origin": table.name} for i in range(10)])
    # One kill of everything and one of the workers in turn, spread over the commits of both streams.
    marks = sorted(pick.sample(range(1, 2 * BATCHES - 2), KILLS))
    driver = start(lake, tmp_path)
    ends = time.monotonic() + PATIENCE
    try:
        while driver.poll() is None:
            assert time.monotonic() < ends, (tmp_path / "log").read_text()[-2000:]
            if marks and commits(sink) >= marks[0]:
                marks.pop(0)
                time.sleep(pick.random() / 2)
                whole = len(marks) % 2 == 0
                kill(driver, whole=whole)
                if whole:
                    driver = start(lake, tmp_path)
            time.sleep(0.02)
    finally:
        if driver.poll() is None:
            kill(driver, whole=True)
    assert driver.returncode == 0, (tmp_path / "log").read_text()[-2000:]
    assert marks == [], "every kill took place"
    assert rows(sink) == rows(sources[0]) + rows(sources[1])
    assert set(rows(sink).values()) == {1}
    kept = Counter((snapshot.commit_user, snapshot.commit_identifier) for snapshot in sink.snapshots())
    assert max(kept.values()) == 1
    assert sink.verify().ok
