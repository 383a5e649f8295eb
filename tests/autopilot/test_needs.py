"""Each kind of need is found where it exists, is met by its job, and is not found again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pyarrow as pa
import pytest
from tests.operations.verify.damage import Surgeon

import lakebed
from lakebed.autopilot.needs import JobKind, Need, Patient, in_order, needs_of
from lakebed.autopilot.policy import policy_of
from lakebed.changes import SetOption

Look = Callable[..., dict[JobKind, Need]]


@pytest.fixture
def look(lake: lakebed.Lake) -> Look:
    def look(table: lakebed.Table, last: Mapping[JobKind, int] | None = None) -> dict[JobKind, Need]:
        now = time.time_ns() // 1_000_000
        policy = policy_of(lake, lake.table(table.name), {}, tuple(JobKind))
        seen = {JobKind.ORPHANS: now} if last is None else last
        found = needs_of(Patient(table, policy, now, seen))
        assert len({need.kind for need in found}) == len(found)
        return {need.kind: need for need in found}

    return look


def meet(need: Need) -> str:
    return need.run(lambda _done, _of: None)


def test_a_new_table_needs_nothing(lake: lakebed.Lake, look: Look) -> None:
    assert look(lake.create_table("db.t", "id BIGINT")) == {}


def test_small_files_are_merged(lake: lakebed.Lake, look: Look) -> None:
    table = lake.create_table("db.t", "id BIGINT")
    for number in range(12):
        table.write([{"id": number}])
    need = look(table)[JobKind.COMPACT]
    assert need.why.startswith("12 files")
    assert need.gain > 40 * 1024**2
    assert meet(need).startswith("merged")
    assert table.scan().to_arrow().num_rows == 12
    assert look(table) == {}


def test_sorted_runs_are_merged(lake: lakebed.Lake, look: Look) -> None:
    table = lake.create_table("db.t", "id BIGINT, v INT", primary_key=["id"], options={"bucket": 1, "write-only": True})
    for number in range(6):
        table.write([{"id": 1, "v": number}])
    need = look(table)[JobKind.COMPACT]
    assert "due to be merged in 1 bucket" in need.why
    meet(need)
    assert JobKind.COMPACT not in look(table)
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "v": 5}]


def test_marked_rows_are_removed_from_their_files(lake: lakebed.Lake, look: Look) -> None:
    options = {"bucket": 1, "deletion-vectors.enabled": True}
    table = lake.create_table("db.t", "id BIGINT, v INT", primary_key=["id"], options=options)
    table.write(pa.table({"id": range(1000), "v": [0] * 1000}))
    table.compact(full=True)
    table.delete("id < 100")
    assert JobKind.COMPACT not in look(table)
    table.delete("id < 300")
    need = look(table)[JobKind.COMPACT]
    assert need.why == "300 rows of 1,000 in data files are marked as deleted"
    meet(need)
    assert look(table) == {}
    assert table.count() == 700


def test_a_full_compaction_is_due_after_its_interval(lake: lakebed.Lake, look: Look) -> None:
    options = {"bucket": 1, "autopilot.full-compaction.interval": "1 h"}
    table = lake.create_table("db.t", "id BIGINT, v INT", primary_key=["id"], options=options)
    table.write(pa.table({"id": range(1000), "v": [0] * 1000}))
    table.compact(full=True)
    table.write([{"id": 1, "v": 1}])
    now = time.time_ns() // 1_000_000
    never, lately = {JobKind.ORPHANS: now}, {JobKind.ORPHANS: now, JobKind.FULL_COMPACTION: now - 1800_000}
    assert look(table, lately) == {}
    assert [*look(table, {**lately, JobKind.FULL_COMPACTION: now - 7200_000})] == [JobKind.FULL_COMPACTION]
    meet(look(table, never)[JobKind.FULL_COMPACTION])
    assert look(table, never) == {}


def test_many_small_manifests_are_merged(lake: lakebed.Lake, look: Look) -> None:
    options = {"manifest.compaction.mode": "MANUAL", "compaction.min.file-num": 1000}
    table = lake.create_table("db.t", "id BIGINT", options=options)
    for number in range(51):
        table.write([{"id": number}])
    need = look(table)[JobKind.MANIFESTS]
    assert need.why.startswith("51 small manifests")
    meet(need)
    assert JobKind.MANIFESTS not in look(table)


def test_a_bucket_without_index_gets_one(lake: lakebed.Lake, look: Look) -> None:
    table = lake.create_table("db.t", "id BIGINT, v INT", primary_key=["id"])
    table.write([{"id": 1, "v": 1}])
    assert look(table) == {}
    Surgeon(table).change_snapshot(1, indexManifest=None)
    table = lakebed.connect(lake.warehouse).table("db.t")
    need = look(table)[JobKind.INDEX]
    assert need.why.startswith("1 bucket without a hash index")
    meet(need)
    assert look(table) == {}
    table.write([{"id": 1, "v": 2}])
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "v": 2}]


def test_history_expires_where_nobody_writes(lake: lakebed.Lake, look: Look) -> None:
    options = {"write-only": True, "snapshot.num-retained.max": 2, "snapshot.num-retained.min": 1}
    table = lake.create_table("db.t", "id BIGINT", options=options)
    for number in range(4):
        table.write([{"id": number}])
    need = look(table)[JobKind.HISTORY]
    assert need.why == "2 snapshots (1, 2) are past their retention"
    assert "expired 2 snapshots" in meet(need)
    assert look(table) == {}


def test_old_partitions_expire(lake: lakebed.Lake, look: Look) -> None:
    options = {
        "partition.expiration-time": "7 d",
        "partition.timestamp-formatter": "yyyy-MM-dd",
        "partition.expiration-check-interval": "365 d",
    }
    table = lake.create_table("db.t", "id BIGINT, day STRING", partition_by=["day"], options=options)
    table.write([{"id": 1, "day": "2020-01-01"}, {"id": 2, "day": "2999-01-01"}])
    need = look(table)[JobKind.PARTITIONS]
    assert need.why == "partitions past their expiration time: day=2020-01-01"
    meet(need)
    assert look(table) == {}
    assert table.scan(["id"]).to_arrow().to_pylist() == [{"id": 2}]


def test_a_changed_table_is_analyzed_after_its_interval(lake: lakebed.Lake, look: Look) -> None:
    table = lake.create_table("db.t", "id BIGINT", options={"autopilot.statistics.interval": "1 h"})
    table.write([{"id": 1}])
    now = time.time_ns() // 1_000_000
    assert JobKind.STATISTICS not in look(table, {JobKind.STATISTICS: now - 1800_000})
    need = look(table, {JobKind.STATISTICS: now - 7200_000})[JobKind.STATISTICS]
    meet(need)
    assert JobKind.STATISTICS not in look(table, {JobKind.STATISTICS: now + 1})


def test_orphans_are_looked_for_once_a_day(lake: lakebed.Lake, look: Look) -> None:
    table = lake.create_table("db.t", "id BIGINT")
    table.write([{"id": 1}])
    now = time.time_ns() // 1_000_000
    assert JobKind.ORPHANS not in look(table, {JobKind.ORPHANS: now - 23 * 3600_000})
    assert meet(look(table, {})[JobKind.ORPHANS]) == "deleted no files"


def chain_table(lake: lakebed.Lake, **options: object) -> lakebed.Table:
    table = lake.create_table(
        "db.c",
        "id BIGINT, v INT, day STRING",
        primary_key=["day", "id"],
        partition_by=["day"],
        options={
            "bucket": 1,
            "sequence.field": "v",
            "chain-table.enabled": True,
            "partition.timestamp-pattern": "$day",
            "partition.timestamp-formatter": "yyyyMMdd",
            **options,
        },
    )
    table.branch("snapshot").write([{"id": 0, "v": 0, "day": "20250101"}])
    for day in range(2, 9):
        table.branch("delta").write([{"id": day, "v": day, "day": f"202501{day:02}"}])
    return table


def test_a_deep_chain_gets_a_full_partition(lake: lakebed.Lake, look: Look) -> None:
    table = chain_table(lake)
    before = table.scan(where="day = '20250108'").to_arrow().sort_by("id")
    need = look(table)[JobKind.CHAIN]
    assert "day=20250108" in need.why
    assert "built 1 full partition" in meet(need)
    assert JobKind.CHAIN not in look(table)
    assert table.scan(where="day = '20250108'").to_arrow().sort_by("id") == before


def test_a_full_partition_that_is_out_of_date_is_built_again(lake: lakebed.Lake, look: Look) -> None:
    table = chain_table(lake, **{"autopilot.chain.depth": 100})
    table.compact_chain({"day": "20250104"})
    assert JobKind.CHAIN not in look(table)
    table.branch("delta").overwrite([{"id": 3, "v": 30, "day": "20250103"}], partition={"day": "20250103"})
    need = look(table)[JobKind.CHAIN]
    assert "day=20250104" in need.why
    meet(need)
    assert JobKind.CHAIN not in look(table)
    assert {"id": 3, "v": 30} in table.scan(["id", "v"], where="day = '20250104'").to_arrow().to_pylist()


def test_old_changes_expire(lake: lakebed.Lake, look: Look) -> None:
    table = chain_table(lake, **{"autopilot.chain.depth": 100})
    table.compact_chain([{"day": f"2025010{day}"} for day in range(2, 9)])
    assert look(table) == {}
    table.alter(SetOption("chain-table.changes.time-retained", "1 d"), SetOption("write-only", "true"))
    before = table.scan(where="day = '20250108'").to_arrow().sort_by("id")
    need = look(table)[JobKind.CHANGES]
    assert "day=20250102" in need.why
    assert meet(need).startswith("dropped the changes of 7 partitions")
    assert JobKind.CHANGES not in look(table)
    assert table.scan(where="day = '20250108'").to_arrow().sort_by("id") == before


def test_what_gains_most_for_its_cost_comes_first() -> None:
    def need(name: str, cost: int, gain: int) -> Need:
        return Need(JobKind.COMPACT, name, "", cost, gain, lambda _: "")

    needs = [need("free", 0, 0), need("dear", 10**9, 10**8), need("cheap", 10**6, 10**8), need("huge", 10**9, 10**10)]
    assert [one.table for one in in_order(needs)] == ["cheap", "huge", "dear", "free"]


def test_kinds_can_be_skipped(lake: lakebed.Lake, look: Look) -> None:
    table = lake.create_table("db.t", "id BIGINT", options={"autopilot.skip": "orphans, compact"})
    for number in range(12):
        table.write([{"id": number}])
    assert look(table, {}) == {}
    table.alter(SetOption("autopilot.skip", "orphan"))
    with pytest.raises(lakebed.OptionError, match="did you mean 'orphans'"):
        look(table, {})
