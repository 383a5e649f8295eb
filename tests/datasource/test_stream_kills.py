"""Two streams into one table, whose driver and workers are killed at random moments: every row arrives, none twice.

``LAKEBED_STREAM_BATCHES`` (of each stream) and ``LAKEBED_STREAM_KILLS`` make it longer.
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

import pytest

from lakebed import Lake, Table

HERE = Path(__file__).parent
BATCHES = int(os.environ.get("LAKEBED_STREAM_BATCHES", "8"))
KILLS = int(os.environ.get("LAKEBED_STREAM_KILLS", "2"))
PATIENCE = 600
"""Seconds without a commit after which the streams are taken for hanging."""
KEEP = {"snapshot.num-retained.min": "100000", "snapshot.num-retained.max": "100000"}


def start(lake: Lake, folder: Path, row_kind: str) -> subprocess.Popen[bytes]:
    """The driver, in a session of its own with all its children."""
    path = os.pathsep.join(filter(None, [str(HERE.parent.parent), os.environ.get("PYTHONPATH")]))
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, str(HERE / "stream_worker.py"), lake.warehouse, str(folder / "checkpoints"), row_kind],
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


def kill_driver(driver: subprocess.Popen[bytes]) -> None:
    """Kill a driver with all its children."""
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


def kill_workers(driver: subprocess.Popen[bytes]) -> int:
    """Kill the Python workers of a driver; gives how many there were."""
    count = 0
    for process in python_workers(driver.pid):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
        count += 1
    return count


def commits(sink: Table) -> int:
    """How many batches are in the sink."""
    return sum(snapshot.commit_identifier < BATCHES for snapshot in sink.snapshots())


def rows(table: Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def run_and_kill(lake: Lake, sink: Table, folder: Path, row_kind: str = "") -> None:
    """Run both streams to their end, with kills of the driver and of its workers in turn, spread over the commits of
    both.
    """
    pick = random.Random(7)
    marks = sorted(pick.sample(range(1, 2 * BATCHES - 2), KILLS))
    killed: Counter[str] = Counter()
    driver = start(lake, folder, row_kind)
    seen, since = 0, time.monotonic()
    try:
        while driver.poll() is None:
            done = commits(sink)
            if done > seen:
                seen, since = done, time.monotonic()
            assert time.monotonic() < since + PATIENCE, (folder / "log").read_text()[-2000:]
            if marks and done >= marks[0]:
                time.sleep(pick.random() / 2)
                if len(marks) % 2 == 1:
                    kill_driver(driver)
                    killed["drivers"] += 1
                    driver = start(lake, folder, row_kind)
                elif not kill_workers(driver):
                    continue  # none has been started yet
                else:
                    killed["workers"] += 1
                marks.pop(0)
            time.sleep(0.05)
    finally:
        if driver.poll() is None:
            kill_driver(driver)
    assert driver.returncode == 0, (folder / "log").read_text()[-2000:]
    assert killed == {"drivers": KILLS - KILLS // 2, "workers": KILLS // 2}, "every kill took place"
    print(f"{dict(killed)} over {2 * BATCHES} batches")


def check_batches(sink: Table) -> None:
    """Both streams have committed each of their batches once, and the table is sound."""
    made = Counter(
        (snapshot.commit_user, snapshot.commit_identifier)
        for snapshot in sink.snapshots()
        if snapshot.commit_identifier < BATCHES
    )
    users = {user for user, _ in made}
    assert len(users) == 2
    assert made == {(user, number): 1 for user in users for number in range(BATCHES)}
    assert sink.verify().ok


def test_every_row_arrives_once(lake: Lake, tmp_path: Path) -> None:
    sources = [lake.create_table(f"db.{name}", "id BIGINT, origin STRING") for name in ("plain", "batches")]
    sink = lake.create_table("db.sink", "id BIGINT, origin STRING", options=KEEP)
    for number in range(BATCHES):
        for table in sources:
            table.write([{"id": 10 * number + i, "origin": table.name} for i in range(10)])
    run_and_kill(lake, sink, tmp_path)
    assert rows(sink) == rows(sources[0]) + rows(sources[1])
    assert set(rows(sink).values()) == {1}
    check_batches(sink)


@pytest.mark.parametrize("bucket", ["2", "-1"])
def test_every_change_is_counted_once(bucket: str, lake: Lake, tmp_path: Path) -> None:
    """Row kinds into a table of sums, where a change that came twice or never would show for good."""
    pick = random.Random(11)
    keyed: dict[str, Any] = {"primary_key": ["id"], "options": {**KEEP, "bucket": "2", "changelog-producer": "input"}}
    sources = [lake.create_table(f"db.{name}", "id BIGINT, n BIGINT", **keyed) for name in ("plain", "batches")]
    sums = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
    sink = lake.create_table(
        "db.sink", "id BIGINT, n BIGINT", primary_key=["id"], options={**KEEP, **sums, "bucket": bucket}
    )
    model: Counter[int] = Counter()
    for number in range(BATCHES):
        for table in sources:
            # A key is there before anything is taken from it: a compaction may drop what is taken from nothing.
            changes = [
                (
                    pick.randrange(40),
                    pick.randrange(1, 10**6),
                    pick.choice(("+I", "+U", "-U", "-D")) if number else "+I",
                )
                for _ in range(20)
            ] + ([] if number else [(key, 1, "+I") for key in range(40)])
            table.write([{"id": key, "n": n, "op": kind} for key, n, kind in changes], row_kind="op")
            for key, n, kind in changes:
                model[key] += n if kind[0] == "+" else -n
    run_and_kill(lake, sink, tmp_path, "rowkind")
    assert rows(sink) == Counter(model.items())
    check_batches(sink)
