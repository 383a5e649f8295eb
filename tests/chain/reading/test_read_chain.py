"""Reads of a chain table's main branch, in process: one case per rule."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.chain.chain_tables import ChainFixture, day, deletes, sorted_rows

from lakebed import changes
from lakebed.chain.layout import ChainTable
from lakebed.chain.reading.branch_versions import latest_versions
from lakebed.chain.reading.chain_reader import ChainReader
from lakebed.errors import DataError, NotFoundError, SchemaError, UnsupportedError
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.snapshots import Snapshots
from lakebed.metadata.store import TableStore
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.table_rules.read_metrics import ReadMetrics


@pytest.fixture
def chain(tmp_path: Path) -> ChainFixture:
    return ChainFixture(tmp_path)


def pairs(chain: ChainFixture, where: str | None = None) -> list[tuple[Any, ...]]:
    return chain.rows(where, ["k", "v", "dt"])


def filled(chain: ChainFixture) -> ChainFixture:
    """A full day, changes of the two days after it, a gap, and changes again."""
    chain.full.overwrite(day("20250101", (1, "a"), (2, "b"), (3, "c")))
    chain.delta.write(day("20250102", (2, "B"), (4, "d")))
    chain.delta.write(deletes("20250103", [1]), row_kind="op")
    chain.delta.write(day("20250105", (5, "e")))
    return chain


# ----------------------------------------------------------------------------------------------- what a day shows


def test_each_day_shows_its_full_view(chain: ChainFixture) -> None:
    filled(chain)
    first = [(1, "a"), (2, "b"), (3, "c")]
    second = [(1, "a"), (2, "B"), (3, "c"), (4, "d")]
    third = [(2, "B"), (3, "c"), (4, "d")]
    fifth = [*third, (5, "e")]
    for asked, rows in (("20250101", first), ("20250102", second), ("20250103", third), ("20250105", fifth)):
        assert pairs(chain, f"dt = '{asked}'") == [(*row, asked) for row in rows]
    assert len(pairs(chain)) == 3 + 4 + 3 + 4
    assert len(pairs(chain, "dt >= '20250102' AND dt < '20250105'")) == 4 + 3


def test_a_day_without_changes_is_carried_if_it_is_named(chain: ChainFixture) -> None:
    filled(chain)
    assert pairs(chain, "dt = '20250104'") == [(2, "B", "20250104"), (3, "c", "20250104"), (4, "d", "20250104")]
    assert len(pairs(chain, "dt IN ('20250104', '20250109')")) == 3 + 4
    assert pairs(chain, "dt = '20250104' OR dt = '20250109' AND k = 5") == [
        (2, "B", "20250104"),
        (3, "c", "20250104"),
        (4, "d", "20250104"),
        (5, "e", "20250109"),
    ]
    assert pairs(chain, "dt >= '20250104' AND dt < '20250105'") == []  # a range lists what there is
    assert pairs(chain, "dt = '20241231'") == []  # nothing was there yet


def test_strict_gaps_show_nothing(tmp_path: Path) -> None:
    chain = filled(ChainFixture(tmp_path, options={"chain-table.gap-read": "strict"}))
    assert pairs(chain, "dt = '20250104'") == []
    assert len(pairs(chain, "dt = '20250105'")) == 4


def test_a_full_partition_hides_changes_of_its_day_and_starts_a_new_chain(chain: ChainFixture) -> None:
    filled(chain)
    chain.full.overwrite(day("20250103", (9, "new")))
    assert pairs(chain, "dt = '20250103'") == [(9, "new", "20250103")]
    assert pairs(chain, "dt = '20250105'") == [(5, "e", "20250105"), (9, "new", "20250105")]


def test_main_comes_first_and_is_no_anchor(chain: ChainFixture) -> None:
    filled(chain)
    chain.main.write(day("20250102", (7, "main")))
    assert pairs(chain, "dt = '20250102'") == [(7, "main", "20250102")]
    assert pairs(chain, "dt = '20250102' AND k = 1") == []
    assert len(pairs(chain, "dt = '20250103'")) == 3


def test_without_an_anchor_all_changes_up_to_the_day_count(chain: ChainFixture) -> None:
    chain.delta.write(day("20250101", (1, "a")))
    chain.delta.write(day("20250103", (2, "b")))
    chain.full.overwrite(day("20250109", (9, "late")))
    assert pairs(chain, "dt = '20250103'") == [(1, "a", "20250103"), (2, "b", "20250103")]
    assert pairs(chain, "dt = '20250102'") == [(1, "a", "20250102")]


def test_an_empty_chain_table_has_no_rows(chain: ChainFixture) -> None:
    assert pairs(chain) == []
    assert chain.main.scan().count() == 0
    assert pairs(chain, "dt = '20250101'") == []


# ------------------------------------------------------------------------------------------------------- conditions


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("dt = '20250102' AND k = 2", [(2, "B", "20250102")]),
        ("dt = '20250102' AND v = 'b'", []),  # an old version must not come up
        ("dt = '20250102' AND v = 'B'", [(2, "B", "20250102")]),
        ("dt = '20250102' AND k > 2", [(3, "c", "20250102"), (4, "d", "20250102")]),
        ("dt = '20250103' AND k = 1", []),
        ("k = 1", [(1, "a", "20250101"), (1, "a", "20250102")]),
        ("dt = '20250101' AND k = 1 OR dt = '20250102' AND k = 4", [(1, "a", "20250101"), (4, "d", "20250102")]),
        ("dt = '20250102' AND (k = 3 OR dt = '20250101')", [(3, "c", "20250102")]),
        ("concat(dt, v) = '20250105B'", [(2, "B", "20250105")]),
    ],
)
def test_conditions_are_about_the_row_that_comes_out(
    chain: ChainFixture, where: str, expected: list[tuple[Any, ...]]
) -> None:
    filled(chain)
    assert pairs(chain, where) == expected
    assert chain.main.scan(where=where).count() == len(expected)


def test_columns_come_as_asked(chain: ChainFixture) -> None:
    filled(chain)
    assert chain.rows("dt = '20250105'", ["dt"]) == [("20250105",)] * 4
    assert chain.rows("dt = '20250105' AND k = 5", ["dt", "v", "k"]) == [("20250105", "e", 5)]
    scan = chain.main.scan(["v"], "dt = '20250105'")
    assert scan.to_arrow().schema == scan.schema
    assert sum(len(batch) for batch in chain.main.scan().to_batches()) == 14


def test_counts_and_bounds(chain: ChainFixture) -> None:
    filled(chain)
    assert chain.main.scan().count() == 14
    assert chain.main.scan(where="dt = '20250105'").min_max("k") == (2, 5)
    assert chain.main.scan(where="dt = '20250105'").min_max("dt") == ("20250105", "20250105")
    assert chain.main.scan(where="dt = '20250105' AND v > 'b'").count() == 3


# ------------------------------------------------------------------------------------------------- order of versions


def test_the_place_in_the_chain_comes_before_sequence_numbers(chain: ChainFixture) -> None:
    for n in range(5):  # numbers of this bucket go up while those of the deltas start at 0
        chain.full.write(day("20250101", (1, f"full {n}")))
    chain.delta.write(day("20250103", (1, "third")))
    chain.delta.write(day("20250102", (1, "second")))
    chain.delta.write(day("20250102", (1, "second again")))
    assert pairs(chain, "dt = '20250102'") == [(1, "second again", "20250102")]
    assert pairs(chain, "dt = '20250103'") == [(1, "third", "20250103")]


def test_the_sequence_field_comes_before_the_place_in_the_chain(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path, options={"sequence.field": "s"})
    chain.full.overwrite(day("20250101", (1, "full", 5), (2, "full", 5), (3, "full", 5)))
    chain.delta.write(day("20250102", (1, "older", 4), (2, "equal", 5), (3, "newer", 6)))
    chain.delta.write(day("20250103", (3, "equal", 6)))
    assert [row[:2] for row in pairs(chain, "dt = '20250102'")] == [(1, "full"), (2, "equal"), (3, "newer")]
    assert [row[:2] for row in pairs(chain, "dt = '20250103'")] == [(1, "full"), (2, "equal"), (3, "equal")]


def test_an_update_with_a_higher_sequence_outlives_a_later_delete(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path, options={"sequence.field": "s"})
    chain.delta.write(day("20250101", (1, "kept", 4), (5, "gone", 1)))
    chain.delta.write(deletes("20250102", [1, 5], s=3), row_kind="op")
    assert pairs(chain, "dt = '20250102'") == [(1, "kept", "20250102")]
    assert len(pairs(chain, "dt = '20250101'")) == 2


def test_a_key_that_was_deleted_may_come_again(chain: ChainFixture) -> None:
    chain.full.overwrite(day("20250101", (1, "a")))
    chain.delta.write(deletes("20250102", [1]), row_kind="op")
    chain.delta.write(day("20250103", (1, "again")))
    chain.delta.write([{**row, "op": "-U"} for row in day("20250104", (1, "again"))], row_kind="op")
    assert [pairs(chain, f"dt = '2025010{n}'") for n in (2, 3, 4)] == [[], [(1, "again", "20250103")], []]


def test_partial_updates_fill_what_later_days_leave_out(tmp_path: Path) -> None:
    options = {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}
    chain = ChainFixture(tmp_path, "k INT, a STRING, b STRING, dt STRING", options=options)
    chain.full.overwrite(
        [{"k": 1, "a": "x", "b": None, "dt": "20250101"}, {"k": 2, "a": "y", "b": "y", "dt": "20250101"}]
    )
    chain.delta.write([{"k": 1, "a": None, "b": "B", "dt": "20250102"}])
    chain.delta.write([{"k": 2, "a": None, "b": None, "dt": "20250103", "op": "-D"}], row_kind="op")
    chain.delta.write([{"k": 2, "a": "new", "b": None, "dt": "20250104"}])
    assert chain.rows("dt = '20250102'") == [(1, "x", "B", "20250102"), (2, "y", "y", "20250102")]
    assert chain.rows("dt = '20250103'") == [(1, "x", "B", "20250103")]
    assert chain.rows("dt = '20250104'", ["k", "a"]) == [(1, "x"), (2, "new")]
    assert chain.rows("dt = '20250104'", ["b"]) == [("B",), (None,)]


def test_rows_that_vectors_mark_in_deltas_delete_their_keys(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path, options={"deletion-vectors.enabled": "true", "bucket": "1", "sequence.field": "s"})
    chain.full.write(day("20250101", (1, "a", 1), (2, "b", 1), (4, "x", 1)))
    chain.full.write(day("20250101", (4, "anchor", 2)))  # marks the older row of key 4
    chain.delta.write(day("20250102", (1, "A", 2), (3, "c", 2), (2, "B", 2)))
    chain.delta.write(deletes("20250102", [1], s=3), row_kind="op")
    chain.delta.compact(full=True)
    assert pairs(chain, "dt = '20250102'") == [(2, "B", "20250102"), (3, "c", "20250102"), (4, "anchor", "20250102")]
    assert pairs(chain, "dt = '20250101'") == [(1, "a", "20250101"), (2, "b", "20250101"), (4, "anchor", "20250101")]


@dataclass(frozen=True, slots=True)
class FirstRowOf(DeletedRows):
    """Marks the first row of every file of one partition."""

    partition: bytes = b""

    def positions(self, store: TableStore, partition: bytes, file_name: str) -> Any:  # noqa: ARG002 - as in the base
        return np.array([0]) if partition == self.partition else None


def test_a_mark_may_be_the_only_trace_of_a_delete(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path, options={"bucket": "1"})
    chain.full.overwrite(day("20250101", (1, "a"), (2, "b"), (4, "d")))
    chain.delta.write(day("20250102", (2, "B"), (3, "c")))
    part = chain.main.scan(["k"], "dt = '20250102'")._parts[-1]
    entries = part.result.entries
    anchor, changed = entries["partition"].to_pylist()
    for marked, expected in ((changed, [1, 3, 4]), (anchor, [2, 3, 4])):
        rows = replace(part.reader, deleted=FirstRowOf(partition=marked)).read(entries)
        assert sorted(rows["k"].to_pylist()) == expected


def test_a_late_row_loses_with_and_without_vectors(tmp_path: Path) -> None:
    for number, vectors in enumerate(("true", "false")):
        options = {"deletion-vectors.enabled": vectors, "sequence.field": "s"}
        chain = ChainFixture(tmp_path / str(number), options=options)
        chain.delta.write(day("20250102", (4, "five", 5), (2, "six", 6)))
        chain.delta.write(day("20250102", (4, "two", 2)))
        expected = [(2, "six", "20250102"), (4, "five", "20250102")]
        assert pairs(chain, "dt = '20250102'") == expected
        assert sorted_rows(chain.delta.scan(["k", "v", "dt"])) == expected


# ---------------------------------------------------------------------------------------------------- kinds of chains


def grouped(root: Path) -> ChainFixture:
    return ChainFixture(
        root,
        "k INT, v STRING, region STRING, dt STRING",
        partition_by=("region", "dt"),
        options={"chain-table.chain-partition-keys": "dt"},
    )


def put(region: str, when: str, *rows: tuple[int, str]) -> list[dict[str, Any]]:
    return [{"k": k, "v": v, "region": region, "dt": when} for k, v in rows]


def test_each_region_is_a_chain_of_its_own(tmp_path: Path) -> None:
    chain = grouped(tmp_path)
    chain.full.overwrite(put("eu", "20250101", (1, "eu")))
    chain.full.overwrite(put("us", "20250103", (1, "us")))
    chain.delta.write(put("eu", "20250104", (2, "eu")))
    chain.delta.write(put("us", "20250102", (7, "us")))
    assert chain.rows("region = 'eu' AND dt = '20250104'", ["k", "v"]) == [(1, "eu"), (2, "eu")]
    assert chain.rows("region = 'us' AND dt = '20250102'", ["k"]) == [(7,)]
    # by time alone: every region that had something by then
    assert chain.rows("dt = '20250102'", ["region", "k", "dt"]) == [("eu", 1, "20250102"), ("us", 7, "20250102")]
    assert chain.rows("dt = '20250105'", ["region", "k"]) == [("eu", 1), ("eu", 2), ("us", 1)]
    assert chain.rows("dt = '20250101'", ["region"]) == [("eu",)]
    assert chain.rows("dt = '20250105' AND region <> 'eu'", ["region"]) == [("us",)]
    assert chain.rows("dt = '20250105' AND region = 'asia'") == []


def hourly(root: Path) -> ChainFixture:
    options = {
        "partition.timestamp-pattern": "$dt $hour:00:00",
        "partition.timestamp-formatter": "yyyyMMdd HH:mm:ss",
    }
    return ChainFixture(root, "k INT, v STRING, dt STRING, hour INT", partition_by=("dt", "hour"), options=options)


def at(when: str, hour: int, *rows: tuple[int, str]) -> list[dict[str, Any]]:
    return [{"k": k, "v": v, "dt": when, "hour": hour} for k, v in rows]


def test_two_chain_columns_and_numbers_that_are_not_texts(tmp_path: Path) -> None:
    chain = hourly(tmp_path)
    chain.full.overwrite(at("20250101", 9, (1, "nine")))
    chain.delta.write(at("20250101", 10, (2, "ten")))
    chain.delta.write(at("20250102", 2, (1, "next day")))
    chain.delta.write(at("20250101", 23, (3, "late")))
    assert chain.rows("dt = '20250101' AND hour = 10", ["k", "v"]) == [(1, "nine"), (2, "ten")]
    assert chain.rows("dt = '20250102' AND hour = 2", ["k", "v"]) == [(1, "next day"), (2, "ten"), (3, "late")]
    assert chain.rows("dt = '20250102' AND hour IN (0, 1)", ["k", "hour"]) == [
        *((k, 0) for k in (1,)),
        *((1, 1),),
        *((2, 0), (2, 1), (3, 0), (3, 1)),
    ]
    assert chain.rows("dt = '20250103'") == []  # the hour is not named
    assert len(chain.rows("dt = '20250101'", ["k"])) == 1 + 2 + 3


def test_changes_off_the_grid_count(chain: ChainFixture) -> None:
    options = {"partition.timestamp-pattern": "$dt", "partition.timestamp-formatter": "yyyyMMddHHmm"}
    chain.main.alter(*(changes.SetOption(key, value) for key, value in options.items()))
    chain.full.overwrite(day("202501010000", (1, "a")))
    chain.delta.write(day("202501010017", (2, "off the hour")))
    chain.delta.write(day("202501010100", (3, "on the hour")))
    assert [row[0] for row in pairs(chain, "dt = '202501010100'")] == [1, 2, 3]


def test_dates_are_times_too(tmp_path: Path) -> None:
    options = {"partition.timestamp-formatter": "yyyy-MM-dd"}
    chain = ChainFixture(tmp_path, "k INT, v STRING, dt DATE", options=options)
    chain.full.overwrite([{"k": 1, "v": "a", "dt": dt.date(2024, 2, 28)}])
    chain.delta.write([{"k": 2, "v": "b", "dt": dt.date(2024, 3, 1)}])
    assert chain.rows("dt = DATE '2024-02-29'") == [(1, "a", dt.date(2024, 2, 29))]
    assert [row[0] for row in chain.rows("dt = DATE '2024-03-02'")] == [1, 2]


def test_large_chains_are_merged_in_pieces(chain: ChainFixture) -> None:
    chain.full.overwrite(day("20250101", *((k, "full") for k in range(500))))
    chain.delta.write(day("20250102", *((k, "second") for k in range(0, 600, 7))))
    chain.delta.write(deletes("20250103", range(0, 500, 50)), row_kind="op")
    scan = chain.main.scan(where="dt = '20250103'")
    entries, reader = scan._parts[-1].result.entries, scan._parts[-1].reader
    assert isinstance(reader, ChainReader)
    small = replace(reader, budget=entries["file_size"][0].as_py() // 3, metrics=ReadMetrics())
    assert sorted(map(repr, small.read(entries).to_pylist())) == sorted(map(repr, scan.to_arrow().to_pylist()))
    assert small.metrics.merges > 2 * 2  # two buckets, and several pieces of each
    assert small.metrics.bytes_read == scan.plan().byte_count


# ------------------------------------------------------------------------------------------------------------- schemas


def test_branches_number_their_schemas_and_columns_on_their_own(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path)
    chain.full.overwrite(day("20250101", (1, "a")))
    chain.delta.write(day("20250102", (2, "b")))
    alter_each(chain, "snapshot", ["x INT", "y STRING"])
    alter_each(chain, "main", ["x INT", "y STRING"])
    # The same columns, added the other way round: their ids are changed over.
    alter_each(chain, "delta", ["z INT", "y STRING", "x INT"])
    alter_by_hand(chain, "delta", changes.DropColumn("z"))
    alter_by_hand(chain, "delta", changes.UpdateColumnPosition("x", changes.After("dt")))
    chain.full.write([{**day("20250101", (3, "c"))[0], "x": 30, "y": "full"}])
    chain.delta.write([{**day("20250103", (4, "d"))[0], "x": 40, "y": "delta"}])
    assert chain.delta.schema.id != chain.full.schema.id
    assert chain.rows("dt = '20250103'", ["k", "v", "x", "y"]) == [
        (1, "a", None, None),
        (2, "b", None, None),
        (3, "c", 30, "full"),
        (4, "d", 40, "delta"),
    ]
    assert chain.rows("dt = '20250103' AND x = 40", ["k"]) == [(4,)]


def alter_each(chain: ChainFixture, branch: str, columns: list[str]) -> None:
    for column in columns:
        name, kind = column.split()
        alter_by_hand(chain, branch, changes.AddColumn(name, kind))


def alter_by_hand(chain: ChainFixture, branch: str, change: Any) -> None:
    """Alter one branch alone, as other engines do."""
    from lakebed.format.schema.evolution import apply_changes

    store = chain.main._store.on_branch(branch)
    store.schemas.change(lambda now: apply_changes(now, [_typed(change)], time_millis=0, has_snapshots=True))


def _typed(change: Any) -> Any:
    from dataclasses import replace

    from lakebed.format.types.data_types import parse_type

    return replace(change, type=parse_type(change.type)) if isinstance(change, changes.AddColumn) else change


def test_a_branch_that_drifted_is_refused(chain: ChainFixture) -> None:
    filled(chain)
    alter_by_hand(chain, "delta", changes.DropColumn("v"))
    with pytest.raises(
        SchemaError, match=r"branch 'delta' of chain table db.t has drifted from main: it has no column 'v'"
    ):
        chain.rows()
    alter_each(chain, "delta", ["v INT"])
    with pytest.raises(SchemaError, match="its column 'v' is INT, in main it is STRING"):
        chain.rows()


# ---------------------------------------------------------------------------------------------------------- bad input


def test_a_partition_that_is_no_time_is_named(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path)
    chain.delta.write(day("20250101", (1, "a")))
    alter_by_hand(chain, "delta", changes.SetOption("chain-table.enabled", "false"))  # somebody writes without a check
    alter_by_hand(chain, "main", changes.SetOption("chain-table.enabled", "false"))
    chain.delta.write(day("yesterday", (1, "a")))
    alter_by_hand(chain, "main", changes.SetOption("chain-table.enabled", "true"))
    with pytest.raises(DataError, match=r"branch 'delta' of chain table db.t: partition .*yesterday.* yyyyMMdd"):
        chain.rows("dt = '20250101'")


def test_a_named_day_that_is_no_time_is_refused(chain: ChainFixture) -> None:
    filled(chain)
    with pytest.raises(DataError, match=r"2025-01-04.*yyyyMMdd"):
        chain.rows("dt = '2025-01-04'")
    with pytest.raises(DataError, match="20250228"):
        chain.rows("dt = '20250231'")


def test_a_missing_branch_is_named(chain: ChainFixture) -> None:
    chain.main.drop_branch("delta", force=True)
    with pytest.raises(NotFoundError, match=r"no branch 'delta'.*CALL sys.create_branch\('db.t', 'delta'\)"):
        chain.rows()


def test_buckets_must_agree(chain: ChainFixture) -> None:
    chain.full.overwrite(day("20250101", (1, "a")))
    alter_by_hand(chain, "delta", changes.SetOption("bucket", "3"))
    chain.delta.write(day("20250102", (2, "b")))
    with pytest.raises(UnsupportedError, match="inconsistent bucket num"):
        chain.rows("dt = '20250102'")
    assert len(chain.rows("dt = '20250101'")) == 1


def test_changes_of_main_are_refused(chain: ChainFixture) -> None:
    filled(chain)
    with pytest.raises(UnsupportedError, match=r"Read db.t\$branch_delta instead"):
        chain.main.scan(since=0)
    assert chain.delta.scan(since=0).count() == 4 - 1


# -------------------------------------------------------------------------------------------------------- time travel


def test_a_timestamp_goes_for_all_branches(chain: ChainFixture) -> None:
    full = chain.full.overwrite(day("20250101", (1, "a")))
    assert full is not None
    second = chain.delta.write(day("20250102", (2, "b")))
    chain.delta.write(day("20250102", (3, "c")))
    chain.full.overwrite(day("20250102", (9, "full")))
    assert second is not None
    at_second = chain.main.scan(["k"], "dt = '20250102'", timestamp=second.time_millis)
    assert sorted_rows(at_second) in ([(1,), (2,)], [(1,), (2,), (3,)])  # commits may share a millisecond
    assert sorted_rows(chain.main.scan(["k"], "dt = '20250102'")) == [(9,)]
    with pytest.raises(NotFoundError, match="no snapshot in any branch"):
        chain.main.scan(timestamp=full.time_millis - 1)


def test_both_branches_are_read_at_one_instant(chain: ChainFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(chain)
    found = ChainTable.of(chain.main._store)
    assert found is not None
    asked: list[str] = []
    read = Snapshots.latest

    def latest(self: Snapshots) -> Snapshot | None:
        branch = self._paths.branch
        asked.append(branch)
        result = read(self)
        if len(asked) == 1:  # somebody overwrites changes, and empties the full partition, between the two looks
            chain.delta.overwrite(day("20250102", (8, "new")))
            del asked[1:]
        return result

    monkeypatch.setattr(Snapshots, "latest", latest)
    moment = latest_versions(found)
    monkeypatch.undo()
    assert asked == ["delta", "snapshot", "delta", "snapshot", "delta"]
    assert moment == latest_versions(found)


def test_a_version_is_one_of_main(chain: ChainFixture) -> None:
    chain.full.overwrite(day("20250101", (1, "a")))
    with pytest.raises(
        NotFoundError,
        match="is a chain table, and each of its branches numbers its own snapshots: read it by timestamp=",
    ):
        chain.main.scan(version=1)
    made = chain.main.write(day("20250105", (5, "main")))
    assert made is not None
    chain.main.create_tag("v1")
    chain.delta.write(day("20250102", (2, "b")))
    assert chain.main.scan(version=made.id).count() >= 2
    assert chain.main.scan(tag="v1").count() == chain.main.scan(timestamp=made.time_millis).count()


# --------------------------------------------------------------------------------------------------- plan and metrics


def test_the_plan_tells_how_each_day_is_read(chain: ChainFixture) -> None:
    filled(chain)
    chain.main.write(day("20250110", (1, "main")))
    plan = chain.main.scan(where="dt >= '20250101'").plan()
    shown = [(view.partition, view.kind, view.anchor, view.depth) for view in plan.views]
    assert shown == [
        ("dt=20250110", "main", None, 0),
        ("dt=20250101", "full", None, 0),
        ("dt=20250102", "chain", "dt=20250101", 1),
        ("dt=20250103", "chain", "dt=20250101", 2),
        ("dt=20250105", "chain", "dt=20250101", 3),
    ]
    deepest = plan.views[-1]
    anchor, changed = plan.views[1], chain.delta.scan().plan()
    assert deepest.bytes == anchor.bytes + changed.byte_count
    assert deepest.rows_to_merge == 3 + changed.record_count
    assert deepest.bytes_saved == changed.byte_count
    text = chain.main.scan(where="dt = '20250104'").explain()
    assert "dt=20250104: carried, anchor dt=20250101, depth 2" in text


def test_only_files_that_are_needed_are_planned(chain: ChainFixture) -> None:
    filled(chain)
    everything = chain.main.scan(where="dt = '20250105'").plan()
    one = chain.main.scan(where="dt = '20250105' AND k = 5").plan()
    assert 0 < one.file_count < everything.file_count
    assert chain.main.scan(where="dt = '20250102'").plan().file_count < everything.file_count


def test_a_scan_tells_what_it_cost(chain: ChainFixture) -> None:
    filled(chain)
    scan = chain.main.scan(where="dt = '20250105'")
    scan.to_arrow()
    assert scan.metrics is not None
    assert scan.metrics.rows == 4
    assert scan.metrics.bytes_read == scan.plan().byte_count
    assert scan.metrics.read_seconds >= scan.metrics.merge_seconds > 0
    assert "4 rows" in str(scan.metrics)
    assert chain.delta.scan().metrics is None


# -------------------------------------------------------------------------------------------------------- system tables


def test_the_chain_table_tells_of_every_partition(chain: ChainFixture) -> None:
    filled(chain)
    chain.full.overwrite(day("20250105", (1, "a")))
    chain.main.write(day("20250110", (1, "main")))
    found = chain.lake.system_table("db.t$chain").scan().to_arrow()
    assert found.select(["partition", "group", "kind", "anchor", "depth", "stale"]).to_pylist() == [
        {"partition": f"dt={asked}", "group": None, "kind": kind, "anchor": anchor, "depth": depth, "stale": False}
        for asked, kind, anchor, depth in (
            ("20250110", "main", None, 0),
            ("20250101", "full", None, 0),
            ("20250102", "delta", "dt=20250101", 1),
            ("20250103", "delta", "dt=20250101", 2),
            ("20250105", "full+delta", None, 0),
        )
    ]
    by_day = dict(zip(found["partition"].to_pylist(), found["bytes"].to_pylist(), strict=True))
    for asked in ("20250101", "20250103"):
        assert by_day[f"dt={asked}"] == chain.main.scan(where=f"dt = '{asked}'").plan().byte_count
    only = chain.lake.system_table("db.t$chain").scan(["depth", "bytes_saved"], "kind = 'delta'").to_arrow()
    assert only["depth"].to_pylist() == [1, 2]
    own = [chain.delta.scan(where=f"dt = '2025010{n}'").plan().byte_count for n in (2, 3)]
    assert only["bytes_saved"].to_pylist() == [by_day["dt=20250101"] - size for size in own]


def test_rows_of_main_cannot_be_changed(chain: ChainFixture) -> None:
    filled(chain)
    with pytest.raises(UnsupportedError, match=r"write changes and deletes of rows to db\.t\$branch_delta"):
        chain.main.delete("k = 1")
    with pytest.raises(UnsupportedError, match="statistics of main would leave out"):
        chain.main.analyze()
    chain.delta.delete("k = 2 AND dt = '20250102'")
    assert pairs(chain, "dt = '20250102'") == [(1, "a", "20250102"), (3, "c", "20250102"), (4, "d", "20250102")]


def test_a_stale_partition_is_put_together_and_told_of(chain: ChainFixture) -> None:
    filled(chain)
    chain.main.compact_chain(partition={"dt": "20250103"})
    assert chain.main.scan(where="dt = '20250103'").plan().views[0].kind == "full"
    chain.delta.overwrite(day("20250102", (2, "again")))
    expected = [(2, "again", "20250103"), (3, "c", "20250103")]
    assert pairs(chain, "dt = '20250103'") == expected
    assert [row[:2] for row in pairs(chain, "dt = '20250105'")] == [(2, "again"), (3, "c"), (5, "e")]
    assert "depth 2" in (text := chain.main.scan(where="dt = '20250103'").explain())
    assert "full partition is stale" in text
    found = chain.lake.system_table("db.t$chain").scan(["kind", "anchor", "depth"], "stale").to_arrow().to_pylist()
    assert found == [{"kind": "full+delta", "anchor": "dt=20250101", "depth": 2}]


def test_groups_are_told(tmp_path: Path) -> None:
    chain = grouped(tmp_path)
    chain.full.overwrite(put("eu", "20250101", (1, "eu")))
    assert chain.lake.system_table("db.t$chain").scan(["group", "kind"]).to_arrow().to_pylist() == [
        {"group": "region=eu", "kind": "full"}
    ]


def test_only_a_chain_table_has_a_chain(chain: ChainFixture) -> None:
    chain.lake.create_table("db.plain", "k INT")
    with pytest.raises(UnsupportedError, match=r"db\.plain is not a chain table"):
        chain.lake.system_table("db.plain$chain").scan().to_arrow()


def test_partitions_are_those_of_all_branches(chain: ChainFixture) -> None:
    filled(chain)
    chain.full.overwrite(day("20250105", (1, "a"), (2, "b")))
    chain.main.write(day("20250110", (1, "main")))
    found = chain.lake.system_table("db.t$partitions").scan(["partition", "record_count"]).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("dt=20250101", 3),
        ("dt=20250102", 2),
        ("dt=20250103", 1),
        ("dt=20250105", 2),
        ("dt=20250110", 1),
    ]
    assert len(chain.lake.system_table("db.t$branch_delta$partitions").scan().to_arrow()) == 3
