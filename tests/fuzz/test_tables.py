"""Tables with one damaged file: every operation answers or refuses in plain words, soon, and touches nothing else."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.effort import FULL
from tests.fuzz import sample
from tests.fuzz.limits import limit_memory
from tests.fuzz.mutations import mutated
from tests.races.crew import together

import lakebed
from lakebed.errors import LakebedError
from lakebed.metadata.history.history_index import forget_indexes
from lakebed.metadata.manifests import SHARED_CACHE

TRIES = int(os.environ.get("LAKEBED_FUZZ", "600" if FULL else "80")) // 40
SLOWEST = 20.0

OPERATIONS: dict[str, Callable[[lakebed.Lake, str], Any]] = {
    "read": lambda lake, name: lake.table(name).scan().to_arrow(),
    "look up": lambda lake, name: lake.table(name).scan(where="id = 3").to_arrow(),
    "read the first version": lambda lake, name: lake.table(name).scan(version=1).to_arrow(),
    "history": lambda lake, name: list(lake.table(name).history(kind="APPEND")),
    "snapshots": lambda lake, name: lake.table(name).snapshots(),
    "tags": lambda lake, name: lake.table(name).tag_details(),
    "$files": lambda lake, name: lake.system_table(f"{name}$files").scan().to_arrow(),
    "$statistics": lambda lake, name: lake.system_table(f"{name}$statistics").scan().to_arrow(),
    "consumers": lambda lake, name: lake.table(name).consumers(),
    "verify": lambda lake, name: lake.table(name).verify(deep=True),
    "orphans": lambda lake, name: lake.table(name).remove_orphan_files(older_than="2999-01-01", dry_run=True),
    "write": lambda lake, name: lake.table(name).write(row_of(lake.table(name))),
    "compact": lambda lake, name: lake.table(name).compact(full=True),
    "expire": lambda lake, name: lake.table(name).expire_snapshots(retain_max=1, retain_min=1),
    "clean up": lambda lake, name: lake.table(name).remove_orphan_files(
        older_than="2999-01-01", dry_run=False, force=True
    ),
}


def row_of(table: lakebed.Table) -> list[dict[str, Any]]:
    return [{"id": 7, "v": "x", **({"day": "0"} if table.schema.partition_keys else {})}]


@pytest.mark.scales
@pytest.mark.parametrize("kind", sample.KINDS)
def test_a_damaged_file_is_told_of_and_nothing_else_is_touched(kind: str, warehouse: Path, tmp_path: Path) -> None:
    (wrong,) = together([(use_damaged, (kind, str(warehouse), str(tmp_path), TRIES))], timeout=1200)
    assert wrong == []


def use_damaged(kind: str, warehouse: str, folder: str, tries: int) -> list[str]:
    """Use tables of which one file is damaged, in a process with little memory; gives what went wrong."""
    limit_memory()
    wrong: list[str] = []
    for seed in range(tries):
        dice = random.Random(seed)
        world = Path(folder, str(seed))
        copy = Path(shutil.copytree(warehouse, world / "w"))
        outside = world / "outside"
        outside.write_text("not ours")
        victim = dice.choice(sample.files_of(copy, kind))
        victim.write_bytes(mutated(victim.read_bytes(), dice))
        name = "db." + victim.relative_to(copy).parts[1]
        others = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file() and name[3:] not in path.parts}
        for what, run in OPERATIONS.items():
            wrong += [f"{seed}, {what} with {victim.name}: {why}" for why in attempt(run, copy, name)]
        if (
            outside.read_text() != "not ours"
            or {path: path.read_bytes() for path in others if path.is_file()} != others
        ):
            wrong.append(f"{seed}: a file of another table was touched")
        shutil.rmtree(world)
    return wrong[:20]


def attempt(run: Callable[[lakebed.Lake, str], Any], warehouse: Path, name: str) -> list[str]:
    """Do something as a new process would; gives what is wrong with how it ended."""
    SHARED_CACHE.clear()
    forget_indexes()
    began = time.monotonic()
    try:
        run(lakebed.connect(warehouse, options={"commit.durable": False}), name)
    except LakebedError:
        pass
    except BaseException as error:
        return [f"{type(error).__name__}: {error}"]
    took = time.monotonic() - began
    return [f"took {took:.1f} s"] if took > SLOWEST else []
