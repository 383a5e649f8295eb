"""A power cut at every moment of an operation: nothing that was acknowledged is lost, and no wrong row appears.

With ``commit.durable`` every outcome is a table that can be read, as before the operation or as after it; once the
operation has returned, as after it. Without it a commit may be torn, and ``repair`` brings back the state before it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.effort import STRIDE
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.power_cut import Disk, leave, outcomes, recorded, replayed
from tests.faults.state import State, check_between, rows_of, state_of
from tests.lakes import open_lake

from lakebed import Lake, LakebedError, connect

QUICK = {
    "append",
    "upsert and compact",
    "overwrite partitions",
    "roll back",
    "expire snapshots",
    "create a tag",
    "alter",
}
SEEDS = 8 if os.environ.get("LAKEBED_FAULTS") == "all" else 3 if STRIDE == 1 else 2
TORN = {
    "append",
    "upsert",
    "upsert and compact",
    "upsert into dynamic buckets",
    "overwrite a partition",
    "delete",
    "compact",
    "analyze",
}
"""Commits that are tried without durability."""
UNTRIED = {"repair", "remove orphans"}
"""They only touch what nothing refers to."""


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in names]
    )


@pytest.fixture(scope="module")
def start_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Operation], Path]:
    """The warehouse that an operation starts from, made once."""
    made: dict[Any, Path] = {}

    def start(operation: Operation) -> Path:
        if operation.prepare not in made:
            made[operation.prepare] = tmp_path_factory.mktemp("start") / "w"
            operation.prepare(open_lake(made[operation.prepare]))
        return made[operation.prepare]

    return start


class Cut:
    """An operation that was recorded, and what a power cut may leave of it."""

    def __init__(self, name: str, start: Path, folder: Path, *, durable: bool) -> None:
        self.operation = OPERATIONS[name]
        self.start, self.durable = start, durable
        self.root, self.folder = folder / "w", folder / "left"
        shutil.copytree(start, self.root)
        self.before = state_of(self.opened(start))
        lake = self.opened(self.root)
        table = lake.table("db.t")
        with recorded() as self.events:
            self.operation.run(lake, table)
        self.after = state_of(self.opened(self.root))

    def opened(self, folder: Path) -> Lake:
        return connect(folder, options={"commit.durable": self.durable})

    def states(self) -> Iterator[tuple[bool, str, Lake]]:
        """Every outcome once: whether the operation had returned, what led to it, and the warehouse."""
        seen = set()
        for number, (event, disk) in enumerate(replayed(self.root, self.start, self.events), 1):
            is_over = number == len(self.events)
            if number % STRIDE and not is_over and event[0] not in {"link", "rename"}:
                continue
            for what, files in self._left(disk):
                digest = hashlib.sha256(repr((is_over, sorted(files.items()))).encode()).digest()
                if digest not in seen:
                    seen.add(digest)
                    left = self.folder / str(len(seen))  # caches remember paths, so each has its own
                    leave(files, left)
                    yield (
                        is_over,
                        f"after {event[0]} {Path(event[1]).name} ({number}): {what}",
                        self.opened(left),
                    )
                    shutil.rmtree(left)

    @staticmethod
    def _left(disk: Disk) -> Iterator[tuple[str, dict[str, bytes]]]:
        return ((outcome.name, disk.left(outcome)) for outcome in outcomes(SEEDS))


def told(error: BaseException, what: str) -> BaseException:
    error.add_note(what)
    return error


@pytest.mark.scales
@each(name for name in OPERATIONS if name not in UNTRIED)
def test_what_was_acknowledged_survives(name: str, start_of: Callable[[Operation], Path], tmp_path: Path) -> None:
    cut = Cut(name, start_of(OPERATIONS[name]), tmp_path, durable=True)
    count = 0
    for is_over, what, lake in cut.states():
        count += 1
        try:
            found = state_of(lake)
            if is_over:
                assert found == cut.after, "it was acknowledged, but is not there"
            else:
                check_between(found, cut.before, cut.after)
        except Exception as error:
            raise told(error, what) from None
    assert count


@pytest.mark.scales
@each(sorted(TORN))
def test_a_torn_commit_is_repaired(name: str, start_of: Callable[[Operation], Path], tmp_path: Path) -> None:
    cut = Cut(name, start_of(OPERATIONS[name]), tmp_path, durable=False)
    torn = 0
    for _, what, lake in cut.states():
        try:
            torn += not is_readable(lake)
            table = lake.table("db.t")
            plan = table.repair(dry_run=True)
            done = table.repair()
            assert (done.target, done.snapshots) == (plan.target, plan.snapshots)
            check_latest(state_of(lake), cut)
            assert not table.repair(dry_run=True).is_needed
            assert not [one for one in table.verify().problems if one.severity == "error"]
        except Exception as error:
            raise told(error, what) from None
    assert torn


def is_readable(lake: Lake) -> bool:
    try:
        rows_of(lake.table("db.t"))
    except LakebedError:
        return False
    return True


def check_latest(found: State, cut: Cut) -> None:
    """The current rows are those before the operation or after one of its commits; older snapshots are as they were."""
    assert found.latest["t/main"] in {cut.before.latest["t/main"], *cut.after.history("t/main")}
    for piece, rows in cut.before.pieces.items():
        assert found.pieces[piece] == rows
