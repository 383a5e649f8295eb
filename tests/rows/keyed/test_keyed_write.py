"""Files of primary-key tables as they are written: order, one row per key, numbers, kinds, entries, changelogs."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import defaultdict
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.places import stored_path
from tests.rows.keyed.keyed_tables import (
    WRITE_ONLY,
    Row,
    current,
    files_of,
    key_of,
    keyed,
    pairs,
    put,
    stored,
    typed,
    with_paths,
)

import lakebed
from lakebed.errors import DataError
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.statistics.file_stats import decode_stats
from lakebed.metadata.plan.file_scan import ScanMode, ScanRequest, scan
from lakebed.rows import conform

KINDS = ("+I", "-U", "+U", "-D")
QUICK = settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))


def read_back(table: lakebed.Table) -> list[Row]:
    """All rows of all live files: their columns, number and kind."""
    return [row for entry in files_of(table) for row in stored(entry).to_pylist()]


# ------------------------------------------------------------------------------------------- what entries say of files

MOMENT = dt.datetime(2024, 2, 29, 12, 30, 0, 123456)
KEYS: dict[str, list[Any]] = {
    "TINYINT": [-128, -1, 0, 1, 127],
    "INT": [-(2**31), -5, 0, 3, 2**31 - 1],
    "BIGINT": [-(2**63), -1, 0, 7, 2**63 - 1],
    "STRING": ["", "a", "ab", "abcdefghij", "abcdefghik", "é", "\U0001f600", "z"],
    "DECIMAL(10, 2)": [Decimal("-3.25"), Decimal("0.00"), Decimal("12345678.90")],
    "DECIMAL(30, 3)": [Decimal("-1e20"), Decimal("0.001"), Decimal("1e20")],
    "DATE": [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29)],
    "TIMESTAMP(3)": [MOMENT.replace(microsecond=0), MOMENT.replace(year=1960, microsecond=5000)],
    "TIMESTAMP(6)": [MOMENT, MOMENT.replace(year=1960), MOMENT + dt.timedelta(microseconds=1)],
    "TIME(3)": [dt.time(0, 0), dt.time(12, 30, 1, 5000), dt.time(23, 59, 59, 999000)],
    "BOOLEAN": [False, True],
    "VARBINARY(9)": [b"", b"\x00", b"\x7f\xff", b"\x80", b"\xff"],
    "DOUBLE": [-1e300, -1.5, 0.0, 2.0**-1074, 1e300],
}
VALUES = st.none() | st.integers(-9, 9)


@pytest.mark.parametrize("kind", KEYS)
@settings(max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_entries_tell_exactly_what_is_in_the_files(module_lake: lakebed.Lake, kind: str, data: st.DataObject) -> None:
    """Three commits of random rows and kinds, checked against the rows of the files."""
    options = {"bucket": "2", "metadata.stats-mode": "full"}
    table = keyed(
        module_lake, f"p STRING, k {kind}, n INT, v INT", key=["p", "k", "n"], partition_by=["p"], options=options
    )
    row = st.fixed_dictionaries(
        {"p": st.sampled_from("ab"), "k": st.sampled_from(KEYS[kind]), "n": st.integers(0, 1), "v": VALUES}
    )
    incoming: list[tuple[Row, str]] = []
    for _ in range(3):
        rows = data.draw(st.lists(row, min_size=1, max_size=9))
        kinds = [data.draw(st.sampled_from(KINDS)) for _ in rows]
        table.write(typed(table, rows, kinds), row_kind="op")
        incoming += zip(rows, kinds, strict=True)
        check_entries(table)
    check_numbers(table, incoming)


def check_entries(table: lakebed.Table) -> None:
    for entry in files_of(table):
        rows = stored(entry)
        keys = list(zip(rows["_KEY_k"].to_pylist(), rows["_KEY_n"].to_pylist(), strict=True))
        assert keys == sorted(set(keys), key=lambda key: tuple(map(sortable, key)))
        assert [rows["k"].to_pylist(), rows["n"].to_pylist()] == [list(part) for part in zip(*keys, strict=True)]
        assert key_of(table, entry["min_key"]) == keys[0]
        assert key_of(table, entry["max_key"]) == keys[-1]
        assert entry["level"] == 0
        assert entry["row_count"] == len(rows)
        assert entry["delete_row_count"] == sum(value in (1, 3) for value in rows["_VALUE_KIND"].to_pylist())
        numbers = rows["_SEQUENCE_NUMBER"].to_pylist()
        assert (entry["min_sequence_number"], entry["max_sequence_number"]) == (min(numbers), max(numbers))
        assert entry["total_buckets"] == 2
        for side, names in (("key", ("k", "n")), ("value", table.schema.field_names)):
            check_stats(table, entry, side, [rows[name] for name in names], names)


def sortable(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def check_stats(table: lakebed.Table, entry: Row, side: str, columns: list[Any], names: tuple[str, ...]) -> None:
    types = [table.schema.field(name).type for name in names]
    stats = decode_stats(
        pa.array([entry[f"{side}_min"]], pa.binary()),
        pa.array([entry[f"{side}_max"]], pa.binary()),
        pa.array([entry[f"{side}_null_counts"]], pa.list_(pa.int64())),
        types,
    )
    for i, column in enumerate(columns):
        values = [value for value in column.to_pylist() if value is not None]
        assert stats.null_counts[i][0].as_py() == len(column) - len(values)
        assert stats.mins[i][0].as_py() == (min(values, key=sortable) if values else None)
        assert stats.maxs[i][0].as_py() == (max(values, key=sortable) if values else None)


def check_numbers(table: lakebed.Table, incoming: list[tuple[Row, str]]) -> None:
    """Rows of a bucket are numbered as they came, and each file has the last row of every key of its commit."""
    files = files_of(table)
    by_number: dict[tuple[str, int], dict[int, Row]] = defaultdict(dict)
    bucket_of: dict[tuple[Any, ...], int] = {}
    for entry in files:
        for row in stored(entry).to_pylist():
            key = (row["p"], row["k"], row["n"])
            assert bucket_of.setdefault(key, entry["bucket"]) == entry["bucket"]
            by_number[row["p"], entry["bucket"]][row["_SEQUENCE_NUMBER"]] = row
    counters: dict[tuple[str, int], itertools.count[int]] = defaultdict(itertools.count)
    newest: dict[tuple[Any, ...], tuple[int, Row, str]] = {}
    for row, kind in incoming:
        key = (row["p"], row["k"], row["n"])
        place = (row["p"], bucket_of[key])
        number = next(counters[place])
        newest[key] = (number, row, kind)
        written = by_number[place].get(number)
        if written is not None:
            assert ({name: written[name] for name in row}, KINDS[written["_VALUE_KIND"]]) == (row, kind)
    for key, (number, row, kind) in newest.items():
        written = by_number[key[0], bucket_of[key]][number]
        assert ({name: written[name] for name in row}, KINDS[written["_VALUE_KIND"]]) == (row, kind)


def test_nanoseconds_in_keys(lake: lakebed.Lake) -> None:
    table = keyed(lake, "k TIMESTAMP(9), v INT")
    keys = pa.array([10**18 + 1, 10**18, -1], pa.timestamp("ns"))
    table.write(pa.table({"k": keys, "v": pa.array([1, 2, 3], pa.int32())}))
    (entry,) = files_of(table)
    assert stored(entry)["v"].to_pylist() == [3, 2, 1]
    low, high = (key_of(table, entry[name])[0] for name in ("min_key", "max_key"))
    assert (low.value, high.value) == (-1, 10**18 + 1)


# ---------------------------------------------------------------------------------------------- several rows of one key

ENGINES: list[tuple[dict[str, str], list[Row], list[Row]]] = [
    (
        {},
        [{"k": 1, "v": 1, "w": 1}, {"k": 2, "v": 0, "w": 0}, {"k": 1, "v": 2, "w": None}],
        [{"k": 1, "v": 2, "w": None}, {"k": 2, "v": 0, "w": 0}],
    ),
    (
        {"merge-engine": "first-row"},
        [{"k": 1, "v": 1, "w": 1}, {"k": 2, "v": 0, "w": 0}, {"k": 1, "v": 2, "w": None}],
        [{"k": 1, "v": 1, "w": 1}, {"k": 2, "v": 0, "w": 0}],
    ),
    (
        {"merge-engine": "partial-update"},
        [{"k": 1, "v": 1, "w": 1}, {"k": 1, "v": 2, "w": None}, {"k": 1, "v": None, "w": 5}],
        [{"k": 1, "v": 2, "w": 5}],
    ),
    (
        {
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
            "fields.w.aggregate-function": "first_value",
        },
        [{"k": 1, "v": 1, "w": 7}, {"k": 1, "v": 2, "w": None}, {"k": 1, "v": 4, "w": 5}],
        [{"k": 1, "v": 7, "w": 7}],
    ),
    (
        {"sequence.field": "w"},
        [{"k": 1, "v": 1, "w": 3}, {"k": 1, "v": 2, "w": None}, {"k": 1, "v": 3, "w": 3}, {"k": 1, "v": 4, "w": 2}],
        [{"k": 1, "v": 3, "w": 3}],
    ),
    (
        {"sequence.field": "w", "sequence.field.sort-order": "descending"},
        [{"k": 1, "v": 1, "w": 3}, {"k": 1, "v": 2, "w": 2}, {"k": 1, "v": 3, "w": 2}, {"k": 1, "v": 4, "w": 3}],
        [{"k": 1, "v": 3, "w": 2}],
    ),
]


@pytest.mark.parametrize(("options", "rows", "merged"), ENGINES, ids=lambda value: str(value)[:60])
def test_rows_of_one_key_merge_in_their_order(
    lake: lakebed.Lake, options: dict[str, str], rows: list[Row], merged: list[Row]
) -> None:
    table = keyed(lake, "k INT, v INT, w INT", options=options)
    table.write(typed(table, rows))
    (entry,) = files_of(table)
    assert stored(entry).select(["k", "v", "w"]).to_pylist() == merged
    reversed_rows = keyed(lake, "k INT, v INT, w INT", options=options)
    reversed_rows.write(typed(table, rows[::-1]))
    (other,) = files_of(reversed_rows)
    assert stored(other).select(["k", "v", "w"]).to_pylist() != merged, "the order in the batch made no difference"


def test_a_delete_between_two_rows_of_a_key(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    rows: list[Row] = [{"k": k, "v": v} for k, v in ((1, 1), (1, 1), (1, 3), (2, 1), (2, None))]
    table.write(typed(table, rows, ["+I", "-D", "+I", "+I", "-D"]), row_kind="op")
    assert [(row["k"], row["v"], row["_VALUE_KIND"]) for row in read_back(table)] == [(1, 3, 0), (2, None, 3)]
    assert current(table) == {1: 3}


# ----------------------------------------------------------------------------------------------------- sequence numbers


def ranges(table: lakebed.Table) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for entry in files_of(table):
        found[entry["bucket"]].append((entry["min_sequence_number"], entry["max_sequence_number"]))
    return {bucket: sorted(spans) for bucket, spans in found.items()}


def test_numbers_go_on_over_commits(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2, 3: 3})
    put(table, {9: 9})
    table.write(
        typed(table, [*pairs({1: 1}), *pairs({1: 1}), *pairs({1: 1})])
    )  # three rows are three numbers, whatever is left of them
    put(table, {5: 5})
    assert ranges(table) == {0: [(0, 2), (3, 3), (6, 6), (7, 7)]}


def test_numbers_go_on_after_a_compaction_and_an_overwrite(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    put(table, {1: 1, 2: 2})
    put(table, {1: 5})
    table.compact(full=True)
    assert ranges(table) == {0: [(1, 2)]}
    table.overwrite(typed(table, pairs({7: 7})))
    put(table, {8: 8})
    assert ranges(table) == {0: [(3, 3), (4, 4)]}


def test_numbers_are_counted_per_bucket_and_partition(lake: lakebed.Lake) -> None:
    table = keyed(lake, "p STRING, k INT", key=["p", "k"], partition_by=["p"], options={"bucket": "3"})
    for _ in range(2):
        table.write(typed(table, [{"p": part, "k": k} for part in "ab" for k in range(20)]))
    spans: dict[tuple[bytes, int], list[tuple[int, int, int]]] = defaultdict(list)
    for entry in files_of(table):
        spans[entry["partition"], entry["bucket"]].append(
            (entry["min_sequence_number"], entry["max_sequence_number"], entry["row_count"])
        )
    assert len(spans) == 6
    for (first, second), count in ((sorted(found), found[0][2]) for found in spans.values()):
        assert (first, second) == ((0, count - 1, count), (count, 2 * count - 1, count))


def test_numbers_go_on_over_the_portions_of_a_stream(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(lake)
    put(table, {1: 0})
    monkeypatch.setattr(conform, "STREAM_BYTES", 1)
    batches = [typed(table, pairs({1: i, 10 + i: i})).to_batches()[0] for i in range(5)]
    made = table.write(pa.RecordBatchReader.from_batches(table.arrow_schema, batches))
    assert made is not None
    assert made.delta_record_count == 10
    assert ranges(table) == {0: [(0, 0), *((1 + 2 * i, 2 + 2 * i) for i in range(5))]}
    assert current(table) == {1: 4} | {10 + i: i for i in range(5)}
    table.compact(full=True)
    assert current(table) == {1: 4} | {10 + i: i for i in range(5)}


def test_a_stream_that_breaks_leaves_nothing(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = keyed(lake)
    monkeypatch.setattr(conform, "STREAM_BYTES", 1)
    good = typed(table, pairs({1: 1})).to_batches()[0]
    bad = pa.record_batch({"k": pa.array([None], pa.int32()), "v": pa.array([1], pa.int32())})
    stream = pa.RecordBatchReader.from_batches(bad.schema, [good.cast(bad.schema), bad])
    with pytest.raises(DataError, match="'k'"):
        table.write(stream)
    assert table.latest_snapshot() is None
    assert list(stored_path(table.path).rglob("*.parquet")) == []


# ------------------------------------------------------------------------------------------------------------ row kinds


def test_kinds_by_a_column_of_the_data(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    rows = typed(table, pairs({i: i for i in range(8)}), ["+I", "-U", "+U", "-D", "+i", "-u", "+u", "-d"])
    table.write(rows, row_kind="op")
    assert [row["_VALUE_KIND"] for row in read_back(table)] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert current(table) == {0: 0, 2: 2, 4: 4, 6: 6}


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_kinds_as_any_kind_of_text(lake: lakebed.Lake, kind: pa.DataType) -> None:
    table = keyed(lake)
    rows = typed(table, pairs({1: 1, 2: 2}))
    table.write(rows.append_column("op", pa.array(["+I", "-D"]).cast(kind)), row_kind="op")
    assert current(table) == {1: 1}


def test_a_column_of_the_table_may_say_the_kind(lake: lakebed.Lake) -> None:
    table = keyed(lake, "k INT, v INT, op STRING")
    table.write([{"k": 1, "v": 1, "op": "+I"}, {"k": 2, "v": 2, "op": "-D"}], row_kind="op")
    assert table.scan().to_arrow().to_pylist() == [{"k": 1, "v": 1, "op": "+I"}]


def test_kinds_by_rowkind_field(lake: lakebed.Lake) -> None:
    table = keyed(lake, "k INT, v INT, op STRING", options={"rowkind.field": "op"})
    rows = [{"k": i, "v": i, "op": op} for i, op in enumerate(KINDS)]
    table.write(typed(table, rows))
    assert [(row["_VALUE_KIND"], row["op"]) for row in read_back(table)] == list(enumerate(KINDS))
    assert current(table) == {0: 0, 2: 2}


def test_what_the_writer_says_goes_before_rowkind_field(lake: lakebed.Lake) -> None:
    """Deletes of current rows are written with the rows' own +I in that column."""
    table = keyed(lake, "k INT, v INT, op STRING", options={"rowkind.field": "op"})
    table.write(typed(table, [{"k": i, "v": i, "op": "+I"} for i in range(3)]))
    assert table.delete("k = 1") is not None
    assert current(table) == {0: 0, 2: 2}
    row = typed(table, [{"k": 2, "v": 9, "op": "-D"}]).append_column("kind", pa.array(["+U"]))
    table.write(row, row_kind="kind")
    assert current(table) == {0: 0, 2: 9}


def test_ignored_deletes_are_not_written(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"ignore-delete": "true"})
    put(table, {1: 1, 2: 2})
    assert table.write(typed(table, pairs({1: 9}), ["-D"]), row_kind="op") is None
    table.write(typed(table, pairs({1: 9, 2: 5}), ["-U", "+U"]), row_kind="op")
    assert [entry["row_count"] for entry in files_of(table)] == [2, 1]
    assert current(table) == {1: 1, 2: 5}


def test_ignored_updates_before_are_not_written(lake: lakebed.Lake) -> None:
    table = keyed(lake, options={"ignore-update-before": "true"})
    table.write(typed(table, pairs({1: 9, 2: 5, 3: 3}), ["-U", "+U", "-D"]), row_kind="op")
    assert [(row["k"], row["_VALUE_KIND"]) for row in read_back(table)] == [(2, 2), (3, 3)]


# ---------------------------------------------------------------------------------------------------------------- files


def test_columns_and_field_ids_are_those_of_the_format(lake: lakebed.Lake) -> None:
    table = keyed(lake, "v STRING, p INT, b BIGINT, a STRING", key=["p", "b", "a"], partition_by=["p"])
    table.write(typed(table, [{"v": None, "p": 1, "b": 2, "a": "x"}]))
    (entry,) = files_of(table)
    with pq.ParquetFile(entry["path"]) as file:
        schema = file.schema_arrow
        parquet = [file.schema.column(i) for i in range(len(file.schema.names))]
    names = ["_KEY_b", "_KEY_a", "_SEQUENCE_NUMBER", "_VALUE_KIND", "v", "p", "b", "a"]
    assert schema.names == names
    ids = [int(field.metadata[b"PARQUET:field_id"]) for field in schema]
    assert ids == [1073741823 + 2, 1073741823 + 3, 2147483646, 2147483645, 0, 1, 2, 3]
    assert [field.nullable for field in schema] == [False, False, False, False, True, False, False, False]
    physical = [column.physical_type for column in parquet]
    assert physical == ["INT64", "BYTE_ARRAY", "INT64", "INT32", "BYTE_ARRAY", "INT32", "INT64", "BYTE_ARRAY"]
    assert "bitWidth=8, isSigned=true" in str(parquet[3].logical_type)


@pytest.mark.parametrize("size", ["1 b", "2 kb", "10 kb"])
def test_large_writes_roll_into_files_that_do_not_overlap(lake: lakebed.Lake, size: str) -> None:
    table = keyed(lake, "k INT, v STRING", options={"target-file-size": size})
    count = 60 if size == "1 b" else 5000
    rows: list[Row] = [{"k": (i * 7919) % count, "v": f"value {i * 104729 % 99991}"} for i in range(count)]
    table.write(typed(table, rows))
    files = sorted(files_of(table), key=lambda entry: key_of(table, entry["min_key"]))
    assert len(files) > 2
    assert sum(entry["row_count"] for entry in files) == count
    keys = [key for entry in files for key in stored(entry)["_KEY_k"].to_pylist()]
    assert keys == list(range(count))
    for entry in files:
        rows_of_file = stored(entry)
        assert key_of(table, entry["min_key"]) == (rows_of_file["k"][0].as_py(),)
        assert key_of(table, entry["max_key"]) == (rows_of_file["k"][-1].as_py(),)
        numbers = rows_of_file["_SEQUENCE_NUMBER"].to_pylist()
        assert (entry["min_sequence_number"], entry["max_sequence_number"]) == (min(numbers), max(numbers))
    shown = table.scan().to_arrow().sort_by("k").to_pylist()
    assert shown == sorted(rows, key=lambda row: row["k"])


def test_no_rows_make_no_snapshot(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    assert table.write(typed(table, [])) is None
    assert list(stored_path(table.path).rglob("*.parquet")) == []


# ------------------------------------------------------------------------------------------------------------ changelog

CHANGELOG = {"changelog-producer": "input"}


def changelog_of(table: lakebed.Table, snapshot: Snapshot) -> list[Row]:
    request = ScanRequest(snapshot=snapshot, schema=table.schema, mode=ScanMode.CHANGELOG)
    return with_paths(table, scan(table._store, request).entries)


@QUICK
@given(
    commits=st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.sampled_from(KINDS)), min_size=1, max_size=8),
        min_size=1,
        max_size=2,
    )
)
def test_changelogs_hold_every_row_that_came(
    module_lake: lakebed.Lake, commits: list[list[tuple[int, int, str]]]
) -> None:
    table = keyed(module_lake, options={**CHANGELOG, "bucket": "2"})
    for rows in commits:
        kinds = [kind for _, _, kind in rows]
        made = table.write(typed(table, [{"k": k, "v": v} for k, v, _ in rows], kinds), row_kind="op")
        assert made is not None
        files = changelog_of(table, made)
        written = [row for entry in files for row in stored(entry).to_pylist()]
        assert sorted((row["k"], row["v"], KINDS[row["_VALUE_KIND"]]) for row in written) == sorted(rows)
        for entry in files:
            numbers = [(row["k"], row["_SEQUENCE_NUMBER"]) for row in stored(entry).to_pylist()]
            assert numbers == sorted(numbers), "rows of one key are not in the order in which they came"
            assert stored_path(entry["path"]).name.startswith("changelog-")
        assert made.changelog_record_count == len(rows) == sum(entry["row_count"] for entry in files)
        assert all("changelog" not in entry["file_name"] for entry in files_of(table))


def test_changelogs_take_no_part_in_reads(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=CHANGELOG)
    put(table, {1: 1})
    made = put(table, {1: 2, 2: 2})
    assert made.total_record_count == 3
    assert current(table) == {1: 2, 2: 2}
    compacted = table.compact(full=True)
    assert compacted is not None
    assert (compacted.changelog_manifest_list, compacted.changelog_record_count) == (None, None)


def test_deletes_are_in_the_changelog(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=CHANGELOG)
    put(table, {1: 1, 2: 2})
    made = table.delete("v = 2")
    assert made is not None
    ((entry,)) = changelog_of(table, made)
    assert [(row["k"], row["v"], row["_VALUE_KIND"]) for row in stored(entry).to_pylist()] == [(2, 2, 3)]


def test_an_overwrite_has_no_changelog(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=CHANGELOG)
    put(table, {1: 1})
    before = set(stored_path(table.path).rglob("changelog-*"))
    made = table.overwrite(typed(table, pairs({1: 2})))
    assert made is not None
    assert made.commit_kind is CommitKind.OVERWRITE
    assert (made.changelog_manifest_list, made.changelog_record_count) == (None, None)
    assert set(stored_path(table.path).rglob("changelog-*")) == before, "a changelog file that nobody refers to"


def test_without_the_option_there_is_no_changelog(lake: lakebed.Lake) -> None:
    table = keyed(lake, options=WRITE_ONLY)
    made = put(table, {1: 1})
    assert made.changelog_manifest_list is None
    assert list(stored_path(table.path).rglob("changelog-*")) == []
