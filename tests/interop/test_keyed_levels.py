"""Universal compaction here and in Java: what is picked of the same sorted runs, and the levels after equal writes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.interop.cases import Fields, table
from tests.interop.keyed_history import History
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours

from lakebed.metadata.plan.levels import CompactionOptions, LevelFile, pick_universal

Runs = list[list[int]]
KV: Fields = [("k", "INT"), ("v", "STRING")]


def random_runs(rng: random.Random, num_levels: int) -> Runs:
    """Sorted runs (level, bytes) of one bucket, newest first; sizes near each other, so that ratios decide."""
    scale = rng.choice([10, 1000, 100_000])
    level0 = [[0, rng.randint(scale, scale * 2)] for _ in range(rng.randint(0, 9))]
    levels = sorted(rng.sample(range(1, num_levels), rng.randint(0, num_levels - 1)))
    return level0 + [[level, rng.randint(scale // 2, scale * rng.choice([1, 3, 10, 50]))] for level in levels]


def picked(runs: Runs, options: CompactionOptions) -> list[int] | None:
    """What we pick: output level and number of runs, each of them one file."""
    count = len(runs)
    files = [
        LevelFile(i, level, 0, 0, size, count - i, count - i, has_deletes=False) for i, (level, size) in enumerate(runs)
    ]
    unit = pick_universal(files, options)
    return None if unit is None else [unit.output_level, len(unit.files)]


@pytest.mark.parametrize(("trigger", "amplification", "ratio"), [(5, 200, 1), (3, 200, 1), (2, 50, 20), (5, 10_000, 0)])
def test_same_pick(trigger: int, amplification: int, ratio: int, java: Oracle) -> None:
    rng = random.Random(trigger)
    options = CompactionOptions(trigger, trigger + 1, amplification, ratio)
    buckets = [random_runs(rng, options.num_levels) for _ in range(400)]
    answers = java.call("pick_universal", buckets=buckets, trigger=trigger, amplification=amplification, ratio=ratio)
    differing = [
        (runs, ours, its) for runs, its in zip(buckets, answers, strict=True) if (ours := picked(runs, options)) != its
    ]
    assert differing[:5] == []
    assert sum(answer is not None for answer in answers) > 100, "the cases must be ones in which something is picked"


def levels(warehouse: Path) -> list[tuple[int, int]]:
    """Level and rows of every live file of the newest snapshot, as the manifests tell."""
    history = History(warehouse)
    live: dict[str, tuple[int, int]] = {}
    for snapshot in history.snapshots:
        for entry in sorted(history.entries(snapshot["deltaManifestList"]), key=lambda e: -int(e["_KIND"])):
            if entry["_KIND"]:
                live.pop(entry["file"])
            else:
                live[entry["file"]] = (entry["_LEVEL"], entry["_ROW_COUNT"])
    return sorted(live.values())


def random_values(rng: random.Random, keys: range) -> list[tuple[Any, ...]]:
    """Rows that no codec makes smaller, so that the sizes of files follow from their number of rows in any writer."""
    return [(key, rng.randbytes(100).hex()) for key in keys]


HISTORIES: dict[str, tuple[dict[str, str], list[range]]] = {
    "new keys": ({}, [range(i * 300, i * 300 + 300) for i in range(12)]),
    "the same keys": ({}, [range(300)] * 12),
    "a large file and small ones": ({}, [range(3000), *(range(i * 500, i * 500 + 100) for i in range(11))]),
    "smaller and smaller": ({}, [range(2000 >> i) for i in range(8)]),
    "low trigger": ({"num-sorted-run.compaction-trigger": "2"}, [range(i * 200, i * 200 + 300) for i in range(8)]),
    "deletion vectors": (
        {"deletion-vectors.enabled": "true"},
        [range(1000), *(range(i, i + 50) for i in range(0, 700, 100))],
    ),
    "first-row": ({"merge-engine": "first-row"}, [range(1000), *(range(i, i + 50) for i in range(800, 1200, 50))]),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_same_levels(name: str, java: Oracle, tmp_path: Path) -> None:
    options, writes = HISTORIES[name]
    found: dict[str, list[list[tuple[int, int]]]] = {}
    for side in (Ours(), java):
        rng = random.Random(name)
        folder = tmp_path / side.name
        side.create_table(folder, TABLE, KV, primary_keys=["k"], options={"bucket": "1", **options})
        steps = found[side.name] = []
        for keys in writes:
            side.write(folder, TABLE, table(KV, random_values(rng, keys)))
            steps.append(levels(folder))
    assert found["lakebed"] == found["java"]
