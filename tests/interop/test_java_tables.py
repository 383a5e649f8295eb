"""What goes beyond plain writes, between lakebed and Java: upkeep by Java on our tables, deletion vectors, tags,
branches, time travel, statistics of unusual values, primary keys."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.interop.cases import ID_V, ID_V_DT, Fields, Rows, comparable, expected, table
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle, Where
from tests.interop.ours import Ours

import lakebed

ROOT = "db.db/t"


def both_read(ours: Ours, java: Oracle, warehouse: Path, fields: Fields, rows: Rows, **how: Any) -> None:
    for side in (ours, java):
        found = side.read(warehouse, how.get("table", TABLE), options=how.get("options"))
        assert comparable(found, fields) == expected(fields, rows), side.name


def our_history(ours: Ours, warehouse: Path) -> Rows:
    """A table of ours with several kinds of commits; gives the rows that are left."""
    ours.create_table(warehouse, TABLE, ID_V_DT, ["dt"])
    for i in range(6):
        ours.write(warehouse, TABLE, table(ID_V_DT, [(i, f"v{i}", "xyz"[i % 3]), (100 + i, None, "x")]))
    ours.write(warehouse, TABLE, table(ID_V_DT, [(50, "over", "y")]), overwrite={"dt": "y"})
    ours.delete(warehouse, TABLE, "id = 103")
    ours.truncate(warehouse, TABLE, [{"dt": "z"}])
    left = [(i, f"v{i}", "x") for i in (0, 3)] + [(100 + i, None, "x") for i in (0, 1, 2, 4, 5)]
    return [*left, (50, "over", "y")]


def call(java: Oracle, op: str, warehouse: Path, **args: Any) -> Any:
    return java.call(op, warehouse=str(warehouse), table=args.pop("table", TABLE), **args)


def data_files(warehouse: Path) -> set[str]:
    return {str(path.relative_to(warehouse)) for path in (warehouse / ROOT).glob("**/bucket-*/*")}


def test_java_keeps_up_our_table(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    rows = our_history(ours, tmp_path)
    both_read(ours, java, tmp_path, ID_V_DT, rows)
    call(java, "compact_manifest", tmp_path)
    both_read(ours, java, tmp_path, ID_V_DT, rows)
    latest = lakebed.connect(str(tmp_path)).table(TABLE).latest_snapshot()
    assert latest is not None
    assert latest.commit_kind == "COMPACT"

    assert call(java, "expire_snapshots", tmp_path, retain=1) == latest.id - 1
    assert sorted(p.name for p in (tmp_path / ROOT / "snapshot").glob("snapshot-*")) == [f"snapshot-{latest.id}"]
    both_read(ours, java, tmp_path, ID_V_DT, rows)
    live = {f"{ROOT}/{path}" for path in live_paths(tmp_path)}
    assert data_files(tmp_path) == live, "expiry must remove exactly the files that only old snapshots used"

    (tmp_path / ROOT / "manifest/manifest-orphan-0").write_text("x")
    (tmp_path / ROOT / ".lakebed").mkdir(exist_ok=True)
    (tmp_path / ROOT / ".lakebed/sidecar").write_text("x")
    time.sleep(0.01)
    removed = call(java, "remove_orphan_files", tmp_path, older_than_millis=time.time_ns() // 1_000_000)
    assert removed == ["manifest-orphan-0"], "Java took a file of ours for an orphan"
    assert (tmp_path / ROOT / ".lakebed/sidecar").exists()
    both_read(ours, java, tmp_path, ID_V_DT, rows)

    for side in (ours, java):
        side.write(tmp_path, TABLE, table(ID_V_DT, [(7, side.name, "q")]))
        rows = [*rows, (7, side.name, "q")]
    both_read(ours, java, tmp_path, ID_V_DT, rows)


def live_paths(warehouse: Path) -> list[str]:
    files = lakebed.connect(str(warehouse)).system_table(f"{TABLE}$files").scan().to_arrow()
    root = str(warehouse / ROOT) + "/"
    return [
        str(path).removeprefix("file:").replace("//", "/").removeprefix(root) for path in files["file_path"].to_pylist()
    ]


def test_expiry_by_java_between_our_commits(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    ours.create_table(tmp_path, TABLE, ID_V)
    rows: Rows = []
    for i in range(40):
        ours.write(tmp_path, TABLE, table(ID_V, [(i, f"v{i}")]))
        rows.append((i, f"v{i}"))
        if i % 8 == 7:
            call(java, "expire_snapshots", tmp_path, retain=1)
    both_read(ours, java, tmp_path, ID_V, rows)


def test_every_snapshot_of_ours(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    our_history(ours, tmp_path)
    for snapshot in lakebed.connect(str(tmp_path)).table(TABLE).snapshots():
        options = {"scan.snapshot-id": str(snapshot.id)}
        views = [comparable(side.read(tmp_path, TABLE, options=options), ID_V_DT) for side in (ours, java)]
        assert views[0] == views[1], snapshot.id
        assert len(views[0]) == snapshot.total_record_count


def test_rollback_by_java(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    ours.create_table(tmp_path, TABLE, ID_V)
    for i in range(3):
        ours.write(tmp_path, TABLE, table(ID_V, [(i, "a")]))
    call(java, "rollback", tmp_path, snapshot=1)
    both_read(ours, java, tmp_path, ID_V, [(0, "a")])
    ours.write(tmp_path, TABLE, table(ID_V, [(9, "b")]))
    both_read(ours, java, tmp_path, ID_V, [(0, "a"), (9, "b")])


def file_names(warehouse: Path) -> list[str]:
    """Data files in the order they were written."""
    files = (warehouse / ROOT).glob("**/bucket-*/*.parquet")
    return [path.name for path in sorted(files, key=lambda path: path.stat().st_mtime_ns)]


@pytest.mark.parametrize("bitmap64", ["false", "true"])
def test_deletion_vectors_by_java(bitmap64: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    options = {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": bitmap64}
    java.create_table(tmp_path, TABLE, ID_V_DT, ["dt"], options=options)
    java.write(tmp_path, TABLE, table(ID_V_DT, [(i, f"v{i}", "x") for i in range(10)]))
    java.write(tmp_path, TABLE, table(ID_V_DT, [(i, f"v{i}", "y") for i in range(10, 20)]))
    first, second = file_names(tmp_path)
    call(java, "delete_rows", tmp_path, positions={first: [0, 3]})
    call(java, "delete_rows", tmp_path, positions={first: [4], second: [9]})
    rows: Rows = [(i, f"v{i}", "x" if i < 10 else "y") for i in range(20) if i not in {0, 3, 4, 19}]
    both_read(ours, java, tmp_path, ID_V_DT, rows)

    ours.write(tmp_path, TABLE, table(ID_V_DT, [(30, "w", "x")]))
    both_read(ours, java, tmp_path, ID_V_DT, [*rows, (30, "w", "x")])
    for side in (ours, java):
        found = side.read(tmp_path, TABLE, where=Where([["id", "lessThan", 6]], "id < 6"))["id"].to_pylist()
        assert sorted(found) == [1, 2, 5]

    ours.write(tmp_path, TABLE, table(ID_V_DT, [(40, "o", "x")]), overwrite={"dt": "x"})
    rest: Rows = [(40, "o", "x"), *[row for row in rows if row[2] == "y"]]
    both_read(ours, java, tmp_path, ID_V_DT, rest)
    ours.delete(tmp_path, TABLE, "id = 12")
    both_read(ours, java, tmp_path, ID_V_DT, [row for row in rest if row[0] != 12])
    ours.truncate(tmp_path, TABLE)
    both_read(ours, java, tmp_path, ID_V_DT, [])


def test_tags_and_branches_by_java(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    ours.create_table(tmp_path, TABLE, ID_V)
    ours.write(tmp_path, TABLE, table(ID_V, [(1, "a")]))
    call(java, "create_tag", tmp_path, tag="plain")
    call(java, "create_tag", tmp_path, tag="kept a day", retain_hours=24)
    ours.write(tmp_path, TABLE, table(ID_V, [(2, "b")]))
    for tag in ("plain", "kept a day"):
        both_read(ours, java, tmp_path, ID_V, [(1, "a")], options={"scan.tag-name": tag})
    assert set(lakebed.connect(str(tmp_path)).table(TABLE).tags()) == {"plain", "kept a day"}

    call(java, "expire_snapshots", tmp_path, retain=1)
    both_read(ours, java, tmp_path, ID_V, [(1, "a")], options={"scan.tag-name": "plain"})

    call(java, "create_branch", tmp_path, branch="b1", tag="plain")
    call(java, "create_branch", tmp_path, branch="empty")
    branch = f"{TABLE}$branch_b1"
    both_read(ours, java, tmp_path, ID_V, [(1, "a")], table=branch)
    both_read(ours, java, tmp_path, ID_V, [], table=f"{TABLE}$branch_empty")
    ours.write(tmp_path, branch, table(ID_V, [(3, "ours")]))
    java.write(tmp_path, branch, table(ID_V, [(4, "java")]))
    both_read(ours, java, tmp_path, ID_V, [(1, "a"), (3, "ours"), (4, "java")], table=branch)
    both_read(ours, java, tmp_path, ID_V, [(1, "a"), (2, "b")])
    time.sleep(0.01)
    removed = call(java, "remove_orphan_files", tmp_path, older_than_millis=time.time_ns() // 1_000_000)
    assert removed == []


def test_filters_see_nan_and_zeros(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Java sorts NaN above all numbers and prunes by that; statistics that leave NaN out would lose rows."""
    fields: Fields = [("id", "INT"), ("d", "DOUBLE"), ("f", "FLOAT")]
    nan = float("nan")
    files: list[Rows] = [
        [(1, nan, 1.0), (2, 1.0, nan), (3, -0.0, 0.0)],
        [(4, 0.0, -0.0)],
        [(5, nan, nan)],
        [(6, float("inf"), float("-inf")), (7, None, None)],
    ]
    ours.create_table(tmp_path, TABLE, fields)
    for rows in files:
        ours.write(tmp_path, TABLE, table(fields, rows))
    both_read(ours, java, tmp_path, fields, [row for rows in files for row in rows])
    java_only = Path(tmp_path / "java")
    java.create_table(java_only, TABLE, fields)
    for rows in files:
        java.write(java_only, TABLE, table(fields, rows))
    for column in ("d", "f"):
        for test, value in (
            ("greaterThan", 5.0),
            ("lessThan", 5.0),
            ("equal", 0.0),
            ("greaterOrEqual", 0.0),
            ("isNull",) * 2,
        ):
            terms = [[column, test]] if test == "isNull" else [[column, test, value]]
            where = Where(terms, "")
            found = [sorted(java.read(w, TABLE, where=where)["id"].to_pylist()) for w in (tmp_path, java_only)]
            assert found[0] == found[1], f"{column} {test} {value}: Java finds other rows in our files than in its own"


def test_truncated_statistics_keep_rows(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Strings whose upper bound is hard to raise: surrogates, the last code point, long and exact lengths."""
    values = [
        "a" * 15 + "\ud7ff" * 3,
        "\U0010ffff" * 17,
        "a" * 15 + "\U0010ffff" * 2,
        "\uffff" * 17,
        "😀" * 20,
        "exactly 16 chars",
    ]
    ours.create_table(tmp_path, TABLE, ID_V)
    for i, value in enumerate(values):
        ours.write(tmp_path, TABLE, table(ID_V, [(i, value)]))
    for i, value in enumerate(values):
        for side in (ours, java):
            for test, operator in (("equal", "="), ("greaterOrEqual", ">=")):
                where = Where([["v", test, value]], f"v {operator} '{value}'")
                assert i in side.read(tmp_path, TABLE, where=where)["id"].to_pylist(), (side.name, test, value)


def test_primary_key_tables_are_not_guessed(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Until lakebed merges, it must refuse: the plain rows of a primary key table are not its content."""
    fields: Fields = [("k", "INT NOT NULL"), ("v", "STRING")]
    java.create_table(tmp_path, TABLE, fields, primary_keys=["k"], options={"bucket": "1"})
    for value in ("old", "new"):
        java.write(tmp_path, TABLE, table(fields, [(1, value)]))
    try:
        found = ours.read(tmp_path, TABLE)
    except lakebed.UnsupportedError:
        return
    assert found.to_pylist() == [{"k": 1, "v": "new"}]


def test_both_merge_manifests_in_turn(ours: Ours, java: Oracle, tmp_path: Path) -> None:
    """Thirty-five commits in turn: both sides merge manifests on the way."""
    ours.create_table(tmp_path, TABLE, ID_V_DT, ["dt"], options={"manifest.merge-min-count": "5"})
    rows: Rows = []
    for i in range(35):
        side = ours if i % 2 else java
        batch: Rows = [(i, side.name, "xyz"[i % 3])]
        if i in {12, 23}:
            side.write(tmp_path, TABLE, table(ID_V_DT, batch), overwrite={"dt": batch[0][2]})
            rows = [row for row in rows if row[2] != batch[0][2]]
        else:
            side.write(tmp_path, TABLE, table(ID_V_DT, batch))
        rows += batch
    both_read(ours, java, tmp_path, ID_V_DT, rows)
