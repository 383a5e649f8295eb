"""Dynamic buckets beside pypaimon and a Python dict: ``python -m bench.dynamic_buckets --keys 1000000 5000000``.

There are two parts, and each system runs in its own process.

* *Assigner* turns hashes into buckets and does nothing else. It gets new hashes only, then the same hashes again, then
  a tenth as many new ones. The dict is filled by a loop over hashes, as in pypaimon.
* *Table* measures the first load of a table, upserts of 10,000 rows of which half are new, one new key, and the lookup
  of one key with and without the index.

Times are seconds of CPU and of the clock, because other programs may use the machine. Memory is the peak of the process
minus what it held before. ``--systems`` selects systems. Results are written to ``bench/results/``.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ROOT = Path(__file__).parent.parent
PYPAIMON = [".interop/pypaimon-venv/bin/python", ".venv-bench-pypaimon/bin/python"]
TARGET_ROWS = 2_000_000
BATCH = 1_000_000
FEW = 10_000
LOOKUPS = 15
DICT_LIMIT = 5_000_000
PYPAIMON_LIMIT = 5_000_000


def timed(run: Callable[[], Any]) -> dict[str, float]:
    gc.collect()
    began, clock = time.process_time(), time.perf_counter()
    run()
    return {"cpu": time.process_time() - began, "clock": time.perf_counter() - clock}


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def hashes_of(first: int, count: int) -> npt.NDArray[np.int32]:
    """Hashes as even as those of keys, each once: multiplying by an odd number permutes 32 bits."""
    return (np.arange(first, first + count, dtype=np.uint64) * np.uint64(2654435761)).astype(np.uint32).view(np.int32)


def batches(first: int, count: int) -> Iterator[npt.NDArray[np.int32]]:
    for start in range(first, first + count, BATCH):
        yield hashes_of(start, min(BATCH, first + count - start))


# ------------------------------------------------------------------------------------------------------- assigners


def assigner(system: str, keys: int) -> dict[str, Any]:
    """Rates of one assigner, in millions of hashes for a second of CPU, and bytes for a key."""
    assign, size = {"lakebed": _ours, "dict": _dict}[system]()
    more = max(1, keys // 10)

    def over(first: int, count: int) -> dict[str, float]:
        given = list(batches(first, count))
        return timed(lambda: [assign(batch) for batch in given])

    first, again, new = over(0, keys), over(0, keys), over(keys, more)
    rate = {
        "first": keys / first["cpu"] / 1e6,
        "known": keys / again["cpu"] / 1e6,
        "new": more / new["cpu"] / 1e6,
    }
    return {"keys": keys, "millions_per_second": rate, "bytes_per_key": size() / (keys + more)}


def _ours() -> tuple[Callable[[npt.NDArray[np.int32]], Any], Callable[[], int]]:
    from lakebed.buckets.choose_dynamic import Assigner, Spread

    made = Assigner(Spread(TARGET_ROWS))
    return made.assign, lambda: made.nbytes


def _dict() -> tuple[Callable[[npt.NDArray[np.int32]], Any], Callable[[], int]]:
    known: dict[int, int] = {}
    before = peak_bytes()

    def assign(batch: npt.NDArray[np.int32]) -> list[int]:
        found = []
        for one in batch.tolist():
            bucket = known.get(one)
            if bucket is None:
                bucket = known[one] = len(known) // TARGET_ROWS
            found.append(bucket)
        return found

    return assign, lambda: peak_bytes() - before


# ---------------------------------------------------------------------------------------------------------- tables


def rows(ids: npt.NDArray[np.int64]) -> pa.Table:
    return pa.table({"id": ids, "v": ids})


class Lakebed:
    """Each call opens the table anew and forgets what it has read, as another process would."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse

    def _table(self) -> Any:
        import lakebed
        from lakebed.metadata.hash_indexes import HASH_CACHE

        HASH_CACHE.clear()
        return lakebed.connect(self._warehouse).table("db.t")

    def create(self) -> None:
        import lakebed

        lake = lakebed.connect(self._warehouse)
        lake.create_database("db")
        lake.create_table("db.t", "id BIGINT, v BIGINT", primary_key=["id"], options={"bucket": "-1"})

    def write(self, data: pa.Table) -> None:
        self._table().write(data)

    def look_up(self, key: int) -> int:
        return len(self._table().scan(where=f"id = {key}").to_arrow())

    def look_up_without(self, key: int) -> int:
        with mock.patch("lakebed.operations.read.places_of", return_value=None):
            return self.look_up(key)


class Pypaimon:
    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse

    def _catalog(self) -> Any:
        from pypaimon import CatalogFactory

        return CatalogFactory.create({"warehouse": self._warehouse})

    def create(self) -> None:
        from pypaimon import Schema

        catalog = self._catalog()
        catalog.create_database("db", True)
        columns = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.int64())])
        schema = Schema.from_pyarrow_schema(columns, primary_keys=["id"], options={"bucket": "-1"})
        catalog.create_table("db.t", schema, False)

    def write(self, data: pa.Table) -> None:
        builder = self._catalog().get_table("db.t").new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        columns = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.int64())])
        write.write_arrow(pa.Table.from_arrays(data.columns, schema=columns))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def look_up(self, key: int) -> int:
        builder = self._catalog().get_table("db.t").new_read_builder()
        builder = builder.with_filter(builder.new_predicate_builder().equal("id", key))
        return len(builder.new_read().to_arrow(builder.new_scan().plan().splits()))


def table(system: str, keys: int) -> dict[str, Any]:
    """Seconds of what is done to a table, and the memory of its first load."""
    with tempfile.TemporaryDirectory(prefix="dynamic-") as folder:
        target: Any = {"lakebed": Lakebed, "pypaimon": Pypaimon}[system](folder)
        target.create()
        target.look_up(0)
        found: dict[str, Any] = {"keys": keys, **_first_load(target, keys)}
        half = np.random.default_rng(5).integers(0, keys, FEW // 2)
        found["upsert of 10,000"] = timed(lambda: target.write(rows(np.append(half, np.arange(keys, keys + FEW // 2)))))
        found["one new key"] = timed(lambda: target.write(rows(np.array([keys + FEW]))))
        for name, call in (("lookup", "look_up"), ("lookup without index", "look_up_without")):
            if hasattr(target, call):
                found[name] = _median([partial(getattr(target, call), key) for key in half[:LOOKUPS].tolist()])
    return found


def _first_load(target: Any, keys: int) -> dict[str, Any]:
    everything = rows(np.random.default_rng(3).permutation(keys))
    before = peak_bytes()
    return {"first load": timed(lambda: target.write(everything)), "peak_bytes": peak_bytes() - before}


def _median(runs: list[Callable[[], Any]]) -> dict[str, float]:
    every = [timed(run) for run in runs]
    return {name: statistics.median(one[name] for one in every) for name in ("cpu", "clock")}


# ------------------------------------------------------------------------------------------------------------ main


def measure(task: str, system: str, keys: int) -> dict[str, Any]:
    """One measurement in a new process, in the interpreter of its system."""
    known = [str(ROOT / path) for path in PYPAIMON if (ROOT / path).exists()]
    if system == "pypaimon" and not known:
        return {}
    python = known[0] if system == "pypaimon" else sys.executable
    command = [python, "-m", "bench.dynamic_buckets", "--task", task, "--systems", system, "--keys", str(keys)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{system}: {task} failed\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def run(keys: int, systems: list[str]) -> dict[str, Any]:
    limits = {"dict": DICT_LIMIT, "pypaimon": PYPAIMON_LIMIT}
    chosen = [system for system in systems if keys <= limits.get(system, keys)]
    found: dict[str, Any] = {"assigner": {}, "table": {}}
    for system in chosen:
        if system != "pypaimon":
            found["assigner"][system] = measure("assigner", system, keys)
        if system != "dict":
            found["table"][system] = measure("table", system, keys)
    return found


def show(keys: int, found: dict[str, Any]) -> None:
    print(f"\n{keys:,} keys")
    for system, one in found["assigner"].items():
        rates = ", ".join(f"{name} {value:,.1f}" for name, value in one["millions_per_second"].items())
        print(f"  assigner {system:10} million hashes a second: {rates}; {one['bytes_per_key']:.1f} bytes a key")
    for system, one in found["table"].items():
        times = ", ".join(
            f"{name} {value['cpu']:,.3f} s ({value['clock']:,.3f})"
            for name, value in one.items()
            if isinstance(value, dict)
        )
        print(f"  table    {system:10} {times}; {one.get('peak_bytes', 0) / 2**20:,.0f} MiB for the first load")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--systems", nargs="+", default=["lakebed", "dict", "pypaimon"])
    parser.add_argument("--task", choices=["assigner", "table"])
    given = parser.parse_args()
    if given.task is not None:
        print(json.dumps({"assigner": assigner, "table": table}[given.task](given.systems[0], given.keys[0])))
        return
    for keys in given.keys:
        found = run(keys, given.systems)
        show(keys, found)
        path = ROOT / "bench/results" / f"dynamic-buckets-{keys}-keys.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
