"""Histories in which we and Java Paimon write in turn and compact manifests in turn, with few manifests to a merge:
everyone reads the same rows in every sampled snapshot, however its manifests were merged, and by whom.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.interop.cases import ID_V_DT, Rows, comparable, expected, table
from tests.interop.keepers import JavaKeeper, Keeper, OurKeeper
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours

import lakebed

KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {}),
    "keyed": (["dt", "id"], {"bucket": "1", "num-sorted-run.compaction-trigger": "4"}),
}
OFTEN = {"manifest.merge-min-count": "3", "manifest.target-file-size": "64 kb"}
STEPS = 24
Side = Ours | Oracle


class History:
    """A table that two sides write to, and what each of its snapshots has to show."""

    def __init__(self, warehouse: Path, kind: str, sides: list[Side], seed: int) -> None:
        self.warehouse, self.sides = warehouse, sides
        self.keys, options = KINDS[kind]
        self.random = random.Random(seed)
        self.rows: Rows = []
        self.model: dict[int, Rows] = {}
        sides[0].create_table(warehouse, TABLE, ID_V_DT, ["dt"], primary_keys=self.keys, options={**OFTEN, **options})

    @property
    def table(self) -> lakebed.Table:
        return OurKeeper(self.warehouse).table

    def note(self) -> None:
        """All snapshots since the last note show the rows of now: a step is one commit that changes rows, at most."""
        for snapshot in self.table.snapshots():
            self.model.setdefault(snapshot.id, list(self.rows))

    def step(self, number: int) -> None:
        side = self.sides[number % 2]
        new: Rows = [
            (self.random.randrange(8), f"{number}-{i}", self.random.choice("xyz"))
            for i in range(self.random.randint(1, 3))
        ]
        new = list({(row[0], row[2]): row for row in new}.values()) if self.keys else new
        match self.random.choice(["write", "write", "write", "overwrite", "delete", "compact"]):
            case "write":
                side.write(self.warehouse, TABLE, table(ID_V_DT, new))
                taken = {(row[0], row[2]) for row in new}
                self.rows = [row for row in self.rows if not self.keys or (row[0], row[2]) not in taken] + new
            case "overwrite":
                new = [(row[0], row[1], "y") for row in new][:1]
                side.write(self.warehouse, TABLE, table(ID_V_DT, new), overwrite={"dt": "y"})
                self.rows = [row for row in self.rows if row[2] != "y"] + new
            case "delete":
                Ours().delete(self.warehouse, TABLE, "id < 2")
                self.rows = [row for row in self.rows if row[0] >= 2]
            case "compact":
                Ours().compact(self.warehouse, TABLE, full=True)
        self.note()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maker", ["ours", "java"])
def test_everyone_reads_every_snapshot_whoever_compacted_its_manifests(
    maker: str, kind: str, ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path
) -> None:
    told = History(tmp_path, kind, [ours, java] if maker == "ours" else [java, ours], seed=len(maker + kind))
    keepers: list[Keeper] = [JavaKeeper(java, tmp_path), OurKeeper(tmp_path)]
    compacted: list[bool] = []
    for number in range(STEPS):
        told.step(number)
        if number % 6 == 5:
            before = told.table.latest_snapshot()
            keepers[len(compacted) % 2].compact_manifests()
            told.note()
            compacted.append(told.table.latest_snapshot() != before)
    assert all(compacted), "a compaction of manifests found nothing to do"
    sample = sorted({*list(told.model)[::5], *list(told.model)[-3:]})
    for snapshot_id in sample:
        rows = expected(ID_V_DT, told.model[snapshot_id])
        for reader in (ours, java, pypaimon):
            found = reader.read(tmp_path, TABLE, options={"scan.snapshot-id": str(snapshot_id)})
            assert comparable(found, ID_V_DT) == rows, (reader.name, snapshot_id)
    wrong = [one for one in told.table.verify(deep=True).problems if not one.code.startswith("unreferenced")]
    assert wrong == []
