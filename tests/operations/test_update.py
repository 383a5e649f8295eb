"""Updates in process: some rows get new values in one commit, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lakebed import CommitConflictError, DataError, Lake, NotFoundError, OptionError, Table, UnsupportedError
from lakebed.operations.replace_rows import replace_rows

ONE = pa.scalar(Decimal("1.00"), pa.decimal128(10, 2))
ROWS: list[dict[str, Any]] = [{"id": n, "v": f"v{n}", "d": Decimal(n), "p": "a" if n < 4 else "b"} for n in range(8)]
COLUMNS = "id INT NOT NULL, v STRING, d DECIMAL(10, 2), p STRING"

FORMS: dict[str, dict[str, Any]] = {
    "append": {},
    "partitions": {"partition_by": "p"},
    "buckets": {"options": {"bucket": 2, "bucket-key": "id"}},
    "vectors": {"options": {"deletion-vectors.enabled": True}},
    "keys": {"primary_key": "id", "options": {"bucket": 2}},
    "dynamic buckets": {"primary_key": ["id", "p"], "partition_by": "p"},
    "keys with vectors": {"primary_key": "id", "options": {"bucket": 1, "deletion-vectors.enabled": True}},
    "keys with a changelog": {"primary_key": "id", "options": {"bucket": 1, "changelog-producer": "lookup"}},
}


def rows(made: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = made.to_arrow().sort_by("id").to_pylist()
    return found


@pytest.mark.parametrize("form", FORMS)
def test_matching_rows_change_and_no_others(table: Callable[..., Table], form: str) -> None:
    made = table(COLUMNS, **FORMS[form])
    made.write(ROWS[:3])
    made.write(ROWS[3:])
    before = made.snapshots()[-1].id  # compactions may have made more than the two writes
    done = made.update({"v": "new", "d": pc.field("d") + ONE}, "id >= 2 AND id < 5")
    assert done is not None
    assert (done.id, done.operation) == (before + 1, "UPDATE")
    expected = [row | {"v": "new", "d": row["d"] + 1} if 2 <= row["id"] < 5 else row for row in ROWS]
    assert rows(made) == expected
    assert rows(made.branch("main")) == expected
    assert made.scan(version=before).to_arrow().sort_by("id").to_pylist() == ROWS
    assert made.update({"v": "x"}, [("id", ">", 100)]) is None
    assert made.verify(deep=True).ok
    made.update({"v": None})
    assert {row["v"] for row in rows(made)} == {None}
    assert made.count() == 8


def test_files_without_matching_rows_stay(table: Callable[..., Table]) -> None:
    made = table(COLUMNS)
    made.write(ROWS[:3])
    made.write([ROWS[3], ROWS[7]])
    kept = set(made.scan().plan().files["file_path"].to_pylist())
    made.update({"v": "x"}, "id = 1")
    assert len(kept & set(made.scan().plan().files["file_path"].to_pylist())) == 1
    assert made.update({"v": "x"}, "id = 5") is None  # within the bounds of a file, but not in it


def test_rows_move_to_other_partitions(table: Callable[..., Table]) -> None:
    made = table(COLUMNS, partition_by="p")
    made.write(ROWS)
    made.update({"p": "c"}, "id IN (1, 5)")
    assert sorted(made.scan(["id"], where="p = 'c'").to_arrow()["id"].to_pylist()) == [1, 5]
    assert made.count() == 8


def test_values_follow_the_types(table: Callable[..., Table]) -> None:
    made = table("id INT, d DECIMAL(10, 2), day DATE, m MAP<STRING, INT>")
    made.write([{"id": 1}])
    made.update({"d": "1.5", "day": "2025-01-31", "m": {"a": 1}, "id": pc.field("id") + 1})
    assert made.to_arrow().to_pylist() == [
        {"id": 2, "d": Decimal("1.50"), "day": pa.scalar(20119, pa.date32()).as_py(), "m": [("a", 1)]}
    ]


def test_expressions_see_the_old_values(table: Callable[..., Table]) -> None:
    made = table("a INT, b INT")
    made.write([{"a": 1, "b": 2}])
    made.update({"a": pc.field("b"), "b": pc.field("a")})
    assert made.to_arrow().to_pylist() == [{"a": 2, "b": 1}]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({}, OptionError, "an update needs new values"),
        ({"nope": 1}, NotFoundError, "unknown column 'nope'"),
        ({"d": "abc"}, DataError, "'abc' (str) does not fit column 'd'"),
        ({"id": None}, DataError, "column 'id' of table db.t0 is NOT NULL"),
        ({"d": pc.field("v")}, DataError, "the new value of column 'd' of table db.t0 is DECIMAL(10, 2), but the data"),
        ({"v": pc.field("nope")}, DataError, "the new value of column 'v' of table db.t0 cannot be computed"),
    ],
)
def test_what_is_refused(table: Callable[..., Table], values: Any, error: type[Exception], message: str) -> None:
    made = table(COLUMNS)
    made.write(ROWS)
    with pytest.raises(error) as caught:
        made.update(values, "id = 1")
    assert message in str(caught.value)
    assert rows(made) == ROWS
    assert made.remove_orphan_files(older_than="0 s", dry_run=True).count == 0


def test_tables_whose_rows_cannot_be_updated(table: Callable[..., Table]) -> None:
    keyed = table(COLUMNS, primary_key="id", options={"bucket": 1})
    with pytest.raises(UnsupportedError, match="'id' is part of the primary key, which an update cannot change"):
        keyed.update({"id": 5})
    assert keyed.update({"v": "x"}) is None
    summing = table(COLUMNS, primary_key="id", options={"bucket": 1, "merge-engine": "aggregation"})
    with pytest.raises(UnsupportedError, match="'merge-engine' = aggregation would merge them"):
        summing.update({"v": "x"})
    partial = table(COLUMNS, primary_key="id", options={"bucket": 1, "merge-engine": "partial-update"})
    partial.write(ROWS)
    partial.update({"v": "x"}, "id = 1")
    assert rows(partial)[1]["v"] == "x"
    with pytest.raises(
        UnsupportedError, match="the update sets 'v' to NULL, which 'merge-engine' = partial-update ignores"
    ):
        partial.update({"v": None}, "id = 1")


def test_a_chain_table_is_updated_in_its_branches_only(lake: Lake) -> None:
    options = {"chain-table.enabled": True, "bucket": 1, "partition.timestamp-pattern": "$dt",
               "partition.timestamp-formatter": "yyyyMMdd", "merge-engine": "deduplicate"}  # fmt: skip
    chain = lake.create_table(
        "db.chain", "id INT, v STRING, dt STRING", primary_key=["id", "dt"], partition_by="dt", options=options
    )
    with pytest.raises(UnsupportedError, match="main only shows what its branches hold"):
        chain.update({"v": "x"})


def test_a_file_that_is_gone_makes_it_fail(table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    made = table(COLUMNS)
    made.write(ROWS)

    def late(*args: Any, **more: Any) -> Any:
        made.delete("id = 7")
        return replace_rows(*args, **more)

    monkeypatch.setattr("lakebed.operations.update.replace_rows", late)
    with pytest.raises(CommitConflictError):
        made.update({"v": "x"}, "id = 1")
    assert rows(made) == ROWS[:7]
    assert made.remove_orphan_files(older_than="0 s", dry_run=True).count == 0
