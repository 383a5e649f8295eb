"""The changes of a merge: kinds, images, order; and which rows above level 0 count where keys are looked up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.places import stored_path
from tests.rows.keyed.keyed_tables import keyed, put

import lakebed
from lakebed.format.manifest.manifest import SOURCE_APPEND
from lakebed.metadata.plan.file_scan import ScanMode, ScanRequest, scan
from lakebed.rows.keyed.changelog import ChangelogRules, changes
from lakebed.rows.keyed.keyed_merge import Before, Merger, Piece, Touched

LOOKUP = {"changelog-producer": "lookup"}
SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}


def rows(*given: tuple[int, Any, int, int]) -> pa.Table:
    names = ("k", "v", "_SEQUENCE_NUMBER", "_VALUE_KIND")
    types = (pa.int32(), pa.float64(), pa.int64(), pa.int8())
    return pa.table({name: pa.array([row[i] for row in given], types[i]) for i, name in enumerate(names)})


def piece(before: dict[int, tuple[int, Any, int, int]], after: dict[int, tuple[int, Any, int, int]]) -> Piece:
    """Rows by the number of their key; a negative number is a key about which nothing is new."""
    touched = Touched(rows(*before.values()), np.array([*before], np.int64), np.array([*after], np.int64))
    return Piece(rows(*after.values()), {}, touched)


def told(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_kinds_and_images_in_the_order_of_keys() -> None:
    before = {4: (50, 5.0, 1, 0), 0: (10, 1.0, 2, 2), 1: (20, 2.0, 3, 0)}
    after = {3: (40, 4.0, 9, 2), -1: (99, 9.0, 0, 0), 1: (20, 2.5, 8, 2), 0: (10, 1.0, 7, 3), 4: (50, 5.0, 6, 0)}
    assert told(changes(piece(before, after), ChangelogRules("lookup"))) == [
        (10, 1.0, 2, 3),
        (20, 2.0, 3, 1),
        (20, 2.5, 8, 2),
        (40, 4.0, 9, 0),
        (50, 5.0, 1, 1),
        (50, 5.0, 6, 2),
    ]


def test_retractions_before_and_keys_without_a_row_now() -> None:
    before = {0: (10, 1.0, 1, 3), 1: (20, 2.0, 2, 1), 2: (30, 3.0, 3, 0)}
    after = {0: (10, 1.5, 4, 2), 1: (20, 2.0, 5, 3)}
    assert told(changes(piece(before, after), ChangelogRules("lookup"))) == [(10, 1.5, 4, 0), (30, 3.0, 3, 3)]


def test_only_what_differs() -> None:
    nan = float("nan")
    before = {0: (10, nan, 1, 0), 1: (20, None, 2, 0), 2: (30, 3.0, 3, 0)}
    after = {0: (10, nan, 4, 0), 1: (20, None, 5, 0), 2: (30, 3.5, 6, 0)}
    assert len(changes(piece(before, after), ChangelogRules("lookup"))) == 6
    assert [row[0] for row in told(changes(piece(before, after), ChangelogRules("lookup", ("k", "v"))))] == [30, 30]
    assert not len(changes(piece(before, after), ChangelogRules("lookup", ("k",))))


def test_first_found_entriesare_only_ever_inserted() -> None:
    before, after = {0: (10, 1.0, 1, 0)}, {0: (10, 1.0, 1, 0), 1: (20, 2.0, 2, 0)}
    assert told(changes(piece(before, after), ChangelogRules("lookup", only_inserts=True))) == [(20, 2.0, 2, 0)]


def test_nothing_at_all() -> None:
    assert not len(changes(piece({}, {}), ChangelogRules("lookup")))
    assert changes(piece({}, {}), ChangelogRules("lookup")).schema == rows().schema


def test_which_compactions_make_one() -> None:
    assert ChangelogRules("lookup").before(1, 5) == Before(1)
    assert ChangelogRules("full-compaction").before(5, 5) == Before(5)
    assert ChangelogRules("full-compaction").before(4, 5) is None
    assert ChangelogRules("input").before(5, 5) is None
    assert ChangelogRules("none").before(5, 5) is None


# ------------------------------------------------------------------------------------------------------------- files


def changelog_entries(table: lakebed.Table) -> list[dict[str, Any]]:
    store = table._store
    snapshot = store.snapshots.latest()
    assert snapshot is not None
    request = ScanRequest(snapshot=snapshot, schema=store.schema(), mode=ScanMode.CHANGELOG)
    found_entries: list[dict[str, Any]] = scan(store, request).entries.to_pylist()
    return found_entries


@pytest.mark.parametrize("prefix", ["changelog-", "log-"])
def test_the_file_and_its_entry(prefix: str, lake: lakebed.Lake) -> None:
    table = keyed(lake, options={**LOOKUP, "changelog-file.prefix": prefix, "bucket": "2"})
    put(table, {1: 1, 2: 2, 3: 3})
    table.compact()
    put(table, {2: 5})
    table.compact()
    [entry] = changelog_entries(table)
    assert entry["file_name"].startswith(prefix)
    assert (entry["row_count"], entry["delete_row_count"], entry["file_source"]) == (2, 1, SOURCE_APPEND)
    assert entry["total_buckets"] == 2
    [path] = stored_path(table.path).glob(f"bucket-*/{entry['file_name']}")
    assert pq.read_table(path).column_names == ["_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "v"]
    assert [row["_VALUE_KIND"] for row in pq.read_table(path).to_pylist()] == [1, 2]


def test_it_may_be_made_in_pieces(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files larger than the budget are merged by ranges of keys; the changelog is the same, and in order."""
    table = keyed(lake, options=LOOKUP)
    put(table, dict.fromkeys(range(400), 1))
    table.compact(full=True)
    put(table, dict.fromkeys(range(0, 400, 2), 2))
    made = Merger.merge
    monkeypatch.setattr(Merger, "merge", lambda merger, sources, _budget: made(merger, sources, 700))
    table.compact()
    [entry] = changelog_entries(table)
    [path] = stored_path(table.path).glob(f"bucket-*/{entry['file_name']}")
    found = pq.read_table(path)
    assert found["k"].to_pylist() == [key for key in range(0, 400, 2) for _ in "-+"]
    assert found["_VALUE_KIND"].to_pylist() == [1, 2] * 200
