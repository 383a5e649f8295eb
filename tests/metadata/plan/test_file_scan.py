from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.entries import adds, entry, names_of
from tests.metadata.stores import commit_files, new_store

from lakebed.errors import CorruptError
from lakebed.format import predicate as pred
from lakebed.format.binary_row import encode_row
from lakebed.format.manifest.manifest import ManifestMeta, as_deletes, entries_from_rows
from lakebed.format.schema.evolution import AddColumn, RenameColumn, UpdateColumnType, apply_changes
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.statistics.file_stats import build_value_stats, collect_from_arrow
from lakebed.format.types.data_types import parse_type
from lakebed.metadata.commit.commit import Change, Commit, append, commit
from lakebed.metadata.plan.file_scan import (
    PruneStep,
    ScanMode,
    ScanRequest,
    keeps_order,
    live_entries,
    partition_part,
    scan,
)
from lakebed.metadata.store import TableStore
from lakebed.options import StatsMode
from lakebed.rows.where import parse_where

COLUMNS = "p STRING, q INT, id BIGINT, v STRING, f DOUBLE"


@dataclass(frozen=True)
class File:
    """A data file that exists only in memory: its entry and its rows."""

    entry: dict[str, Any]
    rows: pa.Table


def file_of(schema: TableSchema, name: str, rows: list[dict[str, Any]], mode: str = "truncate(2)", **more: Any) -> File:
    """A file with these rows, all of one partition, and the statistics that a writer would give it."""
    table = pa.Table.from_pylist(rows, schema=schema.arrow_schema)
    modes = [StatsMode.parse(mode)] * len(schema.fields)
    stats, cols = build_value_stats(collect_from_arrow(table), schema.fields, modes, dense=True)
    partition = encode_row(
        [rows[0][column.name] for column in schema.partition_fields],
        [column.type for column in schema.partition_fields],
    )
    made = entry(
        name,
        partition=partition,
        row_count=len(rows),
        value_min=stats.min_values,
        value_max=stats.max_values,
        value_null_counts=list(stats.null_counts),
        value_stats_cols=None if cols is None else list(cols),
        schema_id=schema.id,
        **more,
    )
    return File(made, table)


def latest(store: TableStore) -> Snapshot:
    found = store.snapshots.latest()
    assert found is not None
    return found


def request(store: TableStore, where: str | None = None, **more: Any) -> ScanRequest:
    schema = store.schema()
    node = None if where is None else parse_where(where, schema.fields)
    return ScanRequest(snapshot=latest(store), schema=schema, predicate=node, **more)


def scanned(store: TableStore, where: str | None = None, **more: Any) -> list[str]:
    return sorted(names_of(scan(store, request(store, where, **more)).entries))


# ------------------------------------------------------------------------------------- pruning against brute force

ps, qs = st.sampled_from([None, "", "a", "ab", "b", "zz"]), st.sampled_from([None, -1, 0, 1, 2])
values = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(0, 9),
        "v": st.sampled_from([None, "", "a", "ab", "abc", "abd", "b", "\U0010ffff" * 3]),
        "f": st.sampled_from([None, 0.0, -0.0, 1.5, -2.0, float("nan"), float("inf")]),
    }
)
files = st.fixed_dictionaries({"p": ps, "q": qs, "rows": st.lists(values, min_size=1, max_size=3)})
histories = st.lists(st.lists(files, min_size=1, max_size=3), min_size=1, max_size=4)
partition_conditions = st.one_of(
    st.sampled_from(["p", "q"]).flatmap(lambda name: st.sampled_from([f"{name} IS NULL", f"{name} IS NOT NULL"])),
    st.tuples(
        st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "<=>"]), st.sampled_from(["''", "'a'", "'aa'", "'b'"])
    ).map(lambda pair: f"p {pair[0]} {pair[1]}"),
    st.tuples(st.sampled_from(["=", "!=", "<", ">="]), st.integers(-2, 3)).map(lambda pair: f"q {pair[0]} {pair[1]}"),
    st.sampled_from(
        ["p IN ('a', 'zz')", "p NOT IN ('a', 'b')", "q IN (0, 5)", "p LIKE 'a%'", "q + 1 = 2", "q BETWEEN 0 AND 1"]
    ),
)
value_conditions = st.one_of(
    st.tuples(st.sampled_from(["=", "!=", "<", ">", "<=>"]), st.integers(-1, 10)).map(
        lambda pair: f"id {pair[0]} {pair[1]}"
    ),
    st.tuples(st.sampled_from(["=", "<", ">", "<=", ">="]), st.sampled_from(["'ab'", "'abc'", "'z'"])).map(
        lambda pair: f"v {pair[0]} {pair[1]}"
    ),
    st.tuples(st.sampled_from(["=", "<", ">", ">="]), st.sampled_from(["0.0D", "1.5D", "CAST('NaN' AS DOUBLE)"])).map(
        lambda pair: f"f {pair[0]} {pair[1]}"
    ),
    st.sampled_from(["id IS NULL", "v IS NOT NULL", "v LIKE 'ab%'", "id IN (3, 7)", "id % 2 = 0", "id = q"]),
)


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        parts,
        lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR", "AND NOT"]), inner).map(
            lambda three: f"({three[0]}) {three[1]} ({three[2]})"
        ),
        max_leaves=3,
    )


def build(root: str, history: list[list[dict[str, Any]]], mode: str) -> tuple[TableStore, dict[str, File]]:
    """One commit for each list of files; every third file is deleted again by a later commit."""
    store = new_store(root, COLUMNS, partition_by=["p", "q"])
    schema = store.schema()
    live: dict[str, File] = {}
    for number, batch in enumerate(history):
        made = [
            file_of(schema, f"f{number}-{i}", [{"p": f["p"], "q": f["q"], **row} for row in f["rows"]], mode)
            for i, f in enumerate(batch)
        ]
        commit_files(store, entries_from_rows([file.entry for file in made]))
        live.update({file.entry["file_name"]: file for file in made})
    for name in sorted(live)[2::3]:
        gone = Change(entries=as_deletes(entries_from_rows([live.pop(name).entry])))
        assert commit(store, Commit(kind=CommitKind.APPEND, plan=lambda _, change=gone: change)) is not None  # type: ignore[misc]
    return store, live


@settings(max_examples=examples(25), deadline=None)
@given(histories, st.lists(combined(partition_conditions | value_conditions), min_size=1, max_size=6))
def test_every_file_with_a_match_is_kept(history: list[list[dict[str, Any]]], conditions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root:
        store, live = build(root, history, "truncate(2)")
        assert scanned(store) == sorted(live)
        for where in conditions:
            node = parse_where(where, store.schema().fields)
            needed = {name for name, file in live.items() if pred.matches_rows(node, file.rows).any()}
            assert needed <= set(scanned(store, where)), where


@settings(max_examples=examples(25), deadline=None)
@given(histories, st.lists(combined(partition_conditions), min_size=1, max_size=6))
def test_a_partition_condition_keeps_exactly_its_partitions(
    history: list[list[dict[str, Any]]], conditions: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        store, live = build(root, history, "none")
        for where in conditions:
            node = parse_where(where, store.schema().fields)
            needed = [name for name, file in live.items() if pred.matches_rows(node, file.rows).all()]
            assert scanned(store, where) == sorted(needed), where


@settings(max_examples=examples(30), deadline=None)
@given(histories, st.lists(st.tuples(ps, qs), min_size=1, max_size=3))
def test_live_entries_of_some_partitions(
    history: list[list[dict[str, Any]]], wanted: list[tuple[str | None, int | None]]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        store, live = build(root, history, "none")
        types = [column.type for column in store.schema().partition_fields]
        encoded = [encode_row(list(values), types) for values in wanted]
        found = live_entries(store, latest(store), pa.array(encoded, pa.binary()))
        assert sorted(names_of(found)) == sorted(
            name for name, file in live.items() if file.entry["partition"] in encoded
        )
        assert sorted(names_of(live_entries(store, latest(store)))) == sorted(live)
        assert len(live_entries(store, None)) == 0


# ------------------------------------------------------------------------------------------------------- explaining


@pytest.fixture
def daily(tmp_path: Path) -> TableStore:
    """Three days, one commit and two files each; ids 0-9 and 10-19 of the day."""
    store = new_store(tmp_path / "t", "p STRING, id BIGINT", partition_by=["p"])
    for day in ("d1", "d2", "d3"):
        halves = [
            file_of(store.schema(), f"{day}-{i}", [{"p": day, "id": 10 * i}, {"p": day, "id": 10 * i + 9}])
            for i in (0, 1)
        ]
        commit_files(store, entries_from_rows([file.entry for file in halves]))
    return store


def steps(store: TableStore, where: str | None, **more: Any) -> list[str]:
    return [str(step) for step in scan(store, request(store, where, **more)).steps]


def test_each_step_says_what_it_kept(daily: TableStore) -> None:
    assert steps(daily, None) == ["manifests by partition, bucket and level: 3 of 3 kept"]
    assert steps(daily, "p = 'd2'") == [
        "manifests by partition, bucket and level: 1 of 3 kept",
        "files by partition: 2 of 2 kept",
        "files by column statistics: 2 of 2 kept",
    ]
    assert steps(daily, "p >= 'd2' AND id = 12") == [
        "manifests by partition, bucket and level: 2 of 3 kept",
        "files by partition: 4 of 4 kept",
        "files by column statistics: 2 of 4 kept",
    ]
    assert steps(daily, "id = 12") == [
        "manifests by partition, bucket and level: 3 of 3 kept",
        "files by column statistics: 3 of 6 kept",
    ]


def test_what_is_left_is_counted(daily: TableStore) -> None:
    result = scan(daily, request(daily, "p = 'd1' AND id > 15"))
    assert (result.file_count, result.byte_count) == (1, 1000)
    nothing = scan(daily, request(daily, "p = 'd9'"))
    assert (nothing.file_count, nothing.byte_count) == (0, 0)
    assert nothing.steps[0] == PruneStep("manifests by partition, bucket and level", 3, 0)


def test_the_partition_part_of_a_condition(daily: TableStore) -> None:
    schema = daily.schema()

    def part(where: str) -> str | None:
        node = partition_part(parse_where(where, schema.fields), schema)
        return None if node is None else pred.to_text(node)

    assert part("p = 'a' AND id = 1") == "p = 'a'"
    assert part("id = 1") is None
    assert part("p = 'a' OR id = 1") is None
    assert partition_part(None, schema) is None


# ---------------------------------------------------------------------------------------------------------- modes


def test_delta_and_changelog(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    commit_files(store, adds("a", "b"))
    change = Change(
        entries=pa.concat_tables([as_deletes(adds("a")), adds("c")]), changelog=adds("log-1", "log-2", row_count=3)
    )
    made = commit(store, append(change))
    assert made is not None
    assert (made.changelog_record_count, made.delta_record_count, made.total_record_count) == (6, 0, 20)
    assert scanned(store) == ["b", "c"]
    assert scanned(store, mode=ScanMode.DELTA) == ["a", "c"]
    assert scanned(store, mode=ScanMode.CHANGELOG) == ["log-1", "log-2"]
    kinds = scan(store, request(store, mode=ScanMode.DELTA)).entries["kind"].to_pylist()
    assert kinds == [1, 0]
    commit_files(store, adds("d"))
    assert scanned(store, mode=ScanMode.CHANGELOG) == []
    assert scanned(store, mode=ScanMode.DELTA) == ["d"]
    first = replace(request(store, mode=ScanMode.DELTA), snapshot=store.snapshots.get(1))
    assert names_of(scan(store, first).entries) == ["a", "b"]


# ------------------------------------------------------------------------------------------------ buckets and levels


@pytest.fixture
def bucketed(tmp_path: Path) -> TableStore:
    """A commit per bucket 0 to 3, with a file on level 0 and one on level 5."""
    store = new_store(tmp_path / "t", primary_key=["id"], options={"bucket": "4"})
    for bucket in range(4):
        rows = [entry(f"b{bucket}-l{level}", bucket=bucket, level=level, total_buckets=4) for level in (0, 5)]
        commit_files(store, entries_from_rows(rows))
    return store


def test_buckets(bucketed: TableStore) -> None:
    def wanted(total: int) -> list[int] | None:
        return {4: [1, 3]}.get(total)

    assert scanned(bucketed, buckets_of=wanted) == ["b1-l0", "b1-l5", "b3-l0", "b3-l5"]
    assert steps(bucketed, None, buckets_of=wanted) == [
        "manifests by partition, bucket and level: 2 of 4 kept",
        "files by bucket: 4 of 4 kept",
    ]
    assert len(scanned(bucketed, buckets_of=lambda _: None)) == 8
    assert scanned(bucketed, buckets_of=lambda _: []) == []


def test_files_of_another_number_of_buckets_are_judged_by_it(tmp_path: Path) -> None:
    store = new_store(
        tmp_path / "t", "p INT, id BIGINT", partition_by=["p"], options={"bucket": "4", "bucket-key": "id"}
    )
    types = [store.schema().field("p").type]
    rows = [
        entry(f"p{p}-b{bucket}", partition=encode_row([p], types), bucket=bucket, total_buckets=total)
        for p, total in ((1, 2), (2, 4))
        for bucket in range(total)
    ]
    commit_files(store, entries_from_rows(rows))
    assert scanned(store, buckets_of={2: [0], 4: [2]}.get) == ["p1-b0", "p2-b2"]


def test_levels(bucketed: TableStore) -> None:
    assert scanned(bucketed, levels=(1, 5)) == [f"b{bucket}-l5" for bucket in range(4)]
    assert scanned(bucketed, levels=(0, 0)) == [f"b{bucket}-l0" for bucket in range(4)]
    assert steps(bucketed, None, levels=(6, 9))[0] == "manifests by partition, bucket and level: 0 of 4 kept"


def test_manifests_that_do_not_tell_are_opened(bucketed: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older writers leave out bucket and level ranges."""
    read = type(bucketed.manifests).read_list

    def without(self: Any, name: str) -> list[ManifestMeta]:
        unknown: dict[str, Any] = {
            "min_bucket": None,
            "max_bucket": None,
            "min_level": None,
            "max_level": None,
            "total_buckets": None,
        }
        return [replace(meta, **unknown) for meta in read(self, name)]

    monkeypatch.setattr(type(bucketed.manifests), "read_list", without)
    assert scanned(bucketed, levels=(5, 5), buckets_of=lambda _: [2]) == ["b2-l5"]
    assert steps(bucketed, None, levels=(5, 5))[0] == "manifests by partition, bucket and level: 4 of 4 kept"


# -------------------------------------------------------------------------------------------------- evolved schemas


def evolve(store: TableStore, *changes: Any) -> None:
    store.schemas.change(lambda schema: apply_changes(schema, changes, time_millis=0, has_snapshots=True))


def test_statistics_follow_a_column_through_its_changes(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", "id INT, v STRING")
    old = [file_of(store.schema(), f"old{i}", [{"id": i, "v": "x"}]) for i in (1, 5)]
    commit_files(store, entries_from_rows([file.entry for file in old]))
    evolve(
        store,
        RenameColumn("id", "key"),
        UpdateColumnType("key", parse_type("BIGINT")),
        AddColumn("id", parse_type("INT")),
    )
    new = file_of(store.schema(), "new", [{"key": 7, "v": "y", "id": 1}])
    commit_files(store, entries_from_rows([new.entry]))
    assert scanned(store, "key = 5") == ["old5"]
    assert scanned(store, "key > 4") == ["new", "old5"]
    assert scanned(store, "id = 1") == ["new"]
    assert scanned(store, "id IS NULL") == ["old1", "old5"]
    assert scanned(store, "key < 3000000000") == ["new", "old1", "old5"]


def test_statistics_of_a_type_that_sorts_otherwise_are_not_used(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", "id INT")
    commit_files(store, entries_from_rows([file_of(store.schema(), "f", [{"id": 9}, {"id": 10}]).entry]))
    evolve(store, UpdateColumnType("id", parse_type("STRING")))
    for text in ("9", "10", "95"):
        assert scanned(store, f"id = '{text}'") == ["f"]


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("INT", "INT", True),
        ("INT", "BIGINT", True),
        ("TINYINT", "DECIMAL(10, 2)", True),
        ("FLOAT", "DOUBLE", True),
        ("VARCHAR(3)", "STRING", True),
        ("BINARY(3)", "BYTES", True),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", True),
        ("INT", "STRING", False),
        ("INT", "DOUBLE", False),
        ("DATE", "TIMESTAMP(3)", False),
        ("TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", False),
        ("BOOLEAN", "INT", False),
    ],
)
def test_which_changes_keep_the_order(old: str, new: str, kept: bool) -> None:
    assert keeps_order(parse_type(old), parse_type(new)) == kept


# ---------------------------------------------------------------------------------------------------------- damage


def test_a_snapshot_whose_entries_do_not_fold_is_named(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    commit_files(store, adds("a"))
    first = latest(store)
    size = first.delta_manifest_list_size
    twice = replace(first, id=2, base_manifest_list=first.delta_manifest_list, base_manifest_list_size=size)
    assert store.snapshots.create(twice)
    with pytest.raises(CorruptError, match=r"snapshot 2 of db\.t: file a is added twice"):
        scan(store, request(store))
