"""Tables with dynamic buckets that several implementations write in turn: every key one row, in the bucket of the
index.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.interop.cases import Fields, Rows, comparable, expected, table
from tests.interop.keyed_cases import OP, keyed_table
from tests.interop.keyed_matrix import Actor
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours
from tests.tables.dynamic_tables import buckets_of, check_index

import lakebed
from lakebed.buckets import rebucket
from lakebed.metadata.commit.commit import commit
from lakebed.metadata.hash_indexes import HASH_CACHE

PKV: Fields = [("p", "INT"), ("k", "INT"), ("v", "STRING")]
ROUNDS = 8


def opened(warehouse: Path) -> lakebed.Table:
    found = lakebed.connect(str(warehouse)).table(TABLE)
    assert isinstance(found, lakebed.Table)
    return found


def create(maker: Actor, warehouse: Path, **options: str) -> None:
    given = {"bucket": "-1", "dynamic-bucket.target-row-num": "5", **options}
    maker.create_table(warehouse, TABLE, PKV, ["p"], primary_keys=["p", "k"], options=given)


def check(readers: list[Actor], warehouse: Path, model: dict[tuple[int, int], str], when: str) -> None:
    """All see the same rows, and each key lies in one bucket, which the index names."""
    rows: Rows = [(*key, value) for key, value in model.items()]
    for reader in readers:
        found = comparable(reader.read(warehouse, TABLE), PKV)
        assert found == expected(PKV, rows), f"{reader.name} {when}"
    HASH_CACHE.clear()
    report = opened(warehouse).verify(deep=True)
    assert [str(problem) for problem in report.problems if problem.severity == "error"] == [], when
    buckets_of(opened(warehouse))


def actors(names: str, ours: Ours, java: Oracle | None, pypaimon: Oracle | None) -> list[Actor]:
    known: dict[str, Actor | None] = {"us": ours, "java": java, "pypaimon": pypaimon}
    return [actor for name in names.split() if (actor := known[name]) is not None]


def write_in_turn(sides: list[Actor], readers: list[Actor], warehouse: Path, *, seed: int) -> None:
    dice = random.Random(seed)
    model: dict[tuple[int, int], str] = {}
    places: dict[tuple[int, int], int] = {}
    for number in range(ROUNDS):
        side = sides[number % len(sides)]
        keys = [(dice.randint(0, 1), key) for key in dice.sample(range(60), 14)]
        value = f"{side.name} {number}"
        side.write(warehouse, TABLE, table(PKV, [(*key, value) for key in keys]))
        model |= dict.fromkeys(keys, value)
        check(readers, warehouse, model, f"after round {number} by {side.name}")
        now = buckets_of(opened(warehouse))
        assert all(now[key] == bucket for key, bucket in places.items()), "a key changed its bucket"
        places = now
        check_index(opened(warehouse))
    assert len(set(places.values())) > 2


@pytest.mark.parametrize("order", ["us pypaimon", "pypaimon us"])
def test_in_turn_with_pypaimon(order: str, ours: Ours, pypaimon: Oracle, tmp_path: Path) -> None:
    sides = actors(order, ours, None, pypaimon)
    create(sides[0], tmp_path)
    write_in_turn(sides, [ours, pypaimon], tmp_path, seed=len(order))


@pytest.mark.parametrize("order", ["us java", "java us", "us java pypaimon", "pypaimon us java"])
def test_in_turn_with_java(order: str, ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path) -> None:
    sides = actors(order, ours, java, pypaimon)
    create(sides[0], tmp_path)
    write_in_turn(sides, [ours, java, pypaimon], tmp_path, seed=len(order))


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_deletes_overwrites_and_compactions(vectors: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    sides: list[Actor] = [ours, java]
    create(ours, tmp_path, **{"deletion-vectors.enabled": vectors})
    dice = random.Random(5)
    model: dict[tuple[int, int], str] = {}
    for number in range(12):
        side, other = sides[number % 2], sides[1 - number % 2]
        partition = dice.randint(0, 1)
        keys = [(partition, key) for key in dice.sample(range(30), 9)]
        match number % 4:
            case 0 | 1:
                side.write(tmp_path, TABLE, table(PKV, [(*key, str(number)) for key in keys]))
                model |= dict.fromkeys(keys, str(number))
            case 2:
                gone: Rows = [("-D", *key, None) for key in keys]
                side.write(tmp_path, TABLE, keyed_table(PKV, gone), row_kind=OP)
                model = {key: value for key, value in model.items() if key not in keys}
            case 3:
                replaced = table(PKV, [(*key, str(number)) for key in keys])
                other.write(tmp_path, TABLE, replaced, overwrite={"p": str(partition)})
                model = {key: v for key, v in model.items() if key[0] != partition} | dict.fromkeys(keys, str(number))
        check(sides, tmp_path, model, f"after step {number}")
        if number % 3 == 2:
            other.compact(tmp_path, TABLE, full=number % 2 == 0)
            check(sides, tmp_path, model, f"after compaction {number}")


def test_java_reads_what_a_lost_race_moved(
    ours: Ours, java: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java brings the same new keys while our files are ready: our rows move, and Java sees them."""
    create(ours, tmp_path)
    ours.write(tmp_path, TABLE, table(PKV, [(0, key, "old") for key in range(4)]))

    def late(*args: Any) -> Any:
        java.write(tmp_path, TABLE, table(PKV, [(0, key, "java") for key in range(8, 20)]))
        return commit(*args)

    monkeypatch.setattr(rebucket, "commit", late)
    ours.write(tmp_path, TABLE, table(PKV, [(0, key, "ours") for key in range(4, 12)]))
    model = {(0, key): "old" for key in range(4)} | {(0, key): "ours" for key in range(4, 12)}
    model |= {(0, key): "java" for key in range(12, 20)}
    check([ours, java], tmp_path, model, "after both")
