"""Upserts into a primary-key table, and the merged read: ``python -m bench.upserts`` (after ``bench/setup.sh``).

Ten commits of 1M random keys out of 5M, then a read of the current rows, in process. Nothing is compacted in between,
except by deltalake, whose merge rewrites files. ``raw`` is the lower limit: pyarrow reads the files of Lakebed's table
without merging. Each system runs in its own process. Reads are compared with ``raw``, upserts with Lakebed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from bench.__main__ import python_of
from bench.measure import _prepare, _timed
from bench.report import markdown

ROOT = Path(__file__).parent.parent
BUCKETS: Final = 4
SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("customer", pa.string()),
        ("category", pa.string()),
        ("price", pa.float64()),
        ("score", pa.float64()),
    ]
)


def changes(commit: int, rows: int, keys: int) -> pa.Table:
    """The rows of one commit: random keys, the same for every system."""
    rng = np.random.default_rng(commit)
    numbers = pa.array(rng.integers(0, 10**12, rows)).cast(pa.string())
    categories = pa.array([f"category {i}" for i in range(50)]).take(pa.array(rng.integers(0, 50, rows)))
    ids = pa.array(rng.choice(keys, rows, replace=False))
    return pa.table([ids, numbers, categories, rng.random(rows).round(2), rng.random(rows)], schema=SCHEMA)


class System(ABC):
    """One primary-key table in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def create(self) -> None:
        """Make an empty table."""

    @abstractmethod
    def upsert(self, rows: pa.Table) -> None:
        """One commit."""

    @abstractmethod
    def read(self) -> pa.Table:
        """The current rows."""


class Lakebed(System):
    def create(self) -> None:
        import lakebed

        lake = lakebed.connect(str(self.folder))
        lake.create_database("bench")
        options = {"bucket": BUCKETS, "write-only": True}
        lake.create_table("bench.t", SCHEMA, primary_key=["id"], options=options)

    def _table(self) -> Any:
        import lakebed

        return lakebed.connect(str(self.folder)).table("bench.t")

    def upsert(self, rows: pa.Table) -> None:
        self._table().write(rows)

    def read(self) -> pa.Table:
        found: pa.Table = self._table().scan().to_arrow()
        return found


class Raw(Lakebed):
    """Lakebed's files, read by pyarrow without a merge."""

    def read(self) -> pa.Table:
        files = sorted(str(path) for path in self.folder.rglob("*.parquet"))
        return ds.dataset(files).to_table(columns=SCHEMA.names)


class DeltaLake(System):
    def create(self) -> None:
        from deltalake import DeltaTable

        DeltaTable.create(str(self.folder), schema=SCHEMA)

    def upsert(self, rows: pa.Table) -> None:
        from deltalake import DeltaTable, WriterProperties

        merge = DeltaTable(str(self.folder)).merge(
            rows,
            "target.id = source.id",
            source_alias="source",
            target_alias="target",
            writer_properties=WriterProperties(compression="ZSTD", compression_level=1),
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def read(self) -> pa.Table:
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder)).to_pyarrow_table()


class PyPaimon(System):
    def _table(self) -> Any:
        from pypaimon import CatalogFactory

        return CatalogFactory.create({"warehouse": str(self.folder)}).get_table("bench.t")

    def create(self) -> None:
        from pypaimon import CatalogFactory, Schema

        catalog = CatalogFactory.create({"warehouse": str(self.folder)})
        catalog.create_database("bench", False)
        options = {"bucket": str(BUCKETS)}
        catalog.create_table("bench.t", Schema.from_pyarrow_schema(SCHEMA, primary_keys=["id"], options=options), False)

    def upsert(self, rows: pa.Table) -> None:
        builder = self._table().new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def read(self) -> pa.Table:
        builder = self._table().new_read_builder()
        found: pa.Table = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        return found


class PaimonRust(Lakebed):
    """Apache Paimon's Rust library; it makes no tables, so Lakebed makes one for it."""

    def _table(self) -> Any:
        from pypaimon_rust.datafusion import PaimonCatalog

        return PaimonCatalog({"warehouse": str(self.folder)}).get_table("bench.t")

    def upsert(self, rows: pa.Table) -> None:
        builder = self._table().new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        for batch in rows.to_batches():
            write.write_arrow(batch)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def read(self) -> pa.Table:
        builder = self._table().new_read_builder()
        splits = builder.new_scan().plan().splits()
        return pa.Table.from_batches(builder.new_read().read(splits))


SYSTEMS: Final[dict[str, tuple[str, type[System]]]] = {
    "lakebed": ("lakebed", Lakebed),
    "raw": ("lakebed", Raw),
    "paimon-rust": ("pypaimon_rust", PaimonRust),
    "deltalake": ("deltalake", DeltaLake),
    "pypaimon": ("pypaimon", PyPaimon),
}


def run(request: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own: all commits of a system, or reads of what is there."""
    module, kind = SYSTEMS[request["system"]]
    importlib.import_module(module)
    system = kind(Path(request["folder"]))
    if request["task"] == "upsert":
        system.create()
        results = []
        for commit in range(request["commits"]):
            rows = changes(commit, request["rows"], request["keys"])
            _prepare(Path(__file__), request["wait"])
            results.append(_timed(partial(system.upsert, rows))[0])
        return {"commits": results}
    results = []
    for _ in range(request["repeats"]):
        _prepare(Path(__file__), request["wait"])
        result, found = _timed(system.read)
        results.append({**result, "rows": len(found)})
        del found
    return {"reads": results}


def measure(system: str, **request: Any) -> dict[str, Any]:
    text = json.dumps({"system": system, **request})
    interpreter = python_of(SYSTEMS[system][0])
    done = subprocess.run(
        [interpreter, "-m", "bench.upserts", "--measure", text], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{system}: {request['task']} failed\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def best(results: list[dict[str, Any]]) -> dict[str, Any]:
    return min(results, key=lambda one: float(one["seconds"]))


def report(found: dict[str, dict[str, Any]]) -> str:
    lines = []
    limit = best(found["raw"]["reads"])["seconds"] if "raw" in found else None
    own = sum(one["seconds"] for one in found["lakebed"]["commits"])
    for system, results in found.items():
        commits, read = results.get("commits"), best(results["reads"])
        total = sum(one["seconds"] for one in commits) if commits else None
        peak = max((one["peak_bytes"] - one["base_bytes"] for one in commits or ()), default=0)
        lines.append(
            [
                system,
                "" if total is None else f"{total / len(commits or ()):.2f}",
                "" if total is None else f"{total / own:.1f}",
                "" if total is None else f"{peak / 1e6:.0f} MB",
                f"{read['seconds']:.2f}",
                "" if limit is None else f"{read['seconds'] / limit:.1f}",
                f"{max(one['peak_bytes'] - one['base_bytes'] for one in results['reads']) / 1e6:.0f} MB",
                f"{read['rows']:,}",
            ]
        )
    head = ["system", "s a commit", "of lakebed's", "extra memory", "read s", "of raw", "extra memory", "rows read"]
    return markdown(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.upserts", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--commits", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--wait", type=float, default=10)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(run(json.loads(asked.measure))))
        return
    found: dict[str, dict[str, Any]] = {}
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "build") as work:
        for system in asked.systems.split(","):
            folder = Path(work) / ("lakebed" if system == "raw" else system)
            more = {"folder": str(folder), "wait": asked.wait}
            results: dict[str, Any] = {}
            if system != "raw":
                sizes = {"rows": asked.rows, "keys": asked.keys, "commits": asked.commits}
                results |= measure(system, task="upsert", **sizes, **more)
            repeats = 1 if system == "pypaimon" else asked.repeats
            results |= measure(system, task="read", repeats=repeats, **more)
            found[system] = results
            print(f"  {system} done", file=sys.stderr, flush=True)
        shutil.rmtree(work, ignore_errors=True)
        Path(work).mkdir()
    asked.results.mkdir(parents=True, exist_ok=True)
    path = asked.results / f"upserts-{asked.commits}x{asked.rows}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(report(found))
    print(f"\n{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


if __name__ == "__main__":
    main()
