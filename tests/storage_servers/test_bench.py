"""A small run of the storage benchmark against MinIO."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest
from bench.storage import LATENCY, LINES, Run, Sizes, table_of
from tests.servers.minio import MinIO
from tests.servers.proxy import Proxy

ROOT = Path(__file__).parents[2]


def test_a_small_run(minio: MinIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    sizes = Sizes(commits=20, keys=200, rows=1000, repeats=1, big_repeats=1, warm=1)
    with Proxy(minio, LATENCY) as proxy:
        run = Run(proxy, minio.create_bucket(f"bench-{uuid.uuid4().hex[:8]}"), tmp_path, sizes, ["lakebed"])
        run.build()
        found = [*run.small(), *run.big()]
    assert [(one["task"], one["state"]) for one in found] == [
        *(("plan", "cold"), ("plan", "warm"), ("history", "cold"), ("lookup", "cold"), ("lookup", "warm")),
        *(("append", "cold"), ("append", "warm"), ("load", "cold"), ("read", "cold")),
    ]
    for one in found:
        assert one["requests"] >= one["chain"] > 0
        assert one["seconds"] >= LATENCY * one["chain"]
        assert sum(one["by_method"].values()) == one["requests"]
    assert len(table_of(found, sizes).splitlines()) == 2 + len(LINES)
