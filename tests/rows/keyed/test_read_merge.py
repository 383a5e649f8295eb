"""The merge for readers gives the rows of the ordinary merge, and merges only what meets newer rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakebed
from lakebed.rows.keyed import read_merge
from lakebed.rows.keyed.keyed_merge import Merger, Source
from lakebed.rows.keyed.read_merge import lowest_run, meets


def source(level: int, rows: int, *sequences: int) -> Source:
    first, last = sequences or ((0, 9) if level else (10, 19))
    return Source(f"/{level}/{rows}", 0, b"", "f", 1, rows, first, last, has_deletes=False, level=level)


def test_the_lowest_run_has_many_more_rows_than_the_rest() -> None:
    large, top, small = source(5, 60), source(5, 50), source(0, 40)
    assert lowest_run([large, top, small]) == [large, top]
    assert lowest_run([top, small]) == []  # not worth it
    assert lowest_run([source(0, 100), small]) == []  # files of level 0 may meet each other
    assert lowest_run([large, top]) == []  # nothing is newer
    assert lowest_run([small, large]) == []  # the others must come after it
    assert lowest_run([large, source(0, 1, 9, 12)]) == []  # and be newer: this one began before the compaction


def column(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values[:2], kind), pa.array(values[2:], kind)])


KINDS = [
    (pa.int32(), [1, 3, 5, 7]),
    (pa.string(), ["a", "b", "c", "d"]),
    (pa.float64(), [-0.0, 0.0, 1.0, float("nan")]),
]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=str)
def test_keys_meet_those_that_are_equal(kind: pa.DataType, values: list[Any]) -> None:
    keys = column(values, kind)
    others = column([values[3], values[1], values[1]], kind)
    assert meets([keys], [others]).tolist() == [False, True, False, True]
    assert not meets([keys], [pa.chunked_array([], kind)]).any()
    assert len(meets([pa.chunked_array([], kind)], [others])) == 0


@given(st.lists(st.integers(-50, 50)), st.lists(st.integers(-50, 50)))
def test_numbers_are_found_in_any_order(keys: list[int], others: list[int]) -> None:
    found = meets([pa.chunked_array([keys], pa.int64())], [pa.chunked_array([others], pa.int64())])
    assert found.tolist() == [key in others for key in keys]


def test_of_several_columns_no_key_is_missed() -> None:
    keys = [column([1, 1, 2, 2], pa.int32()), column(["a", "b", "a", "b"], pa.string())]
    others = [column([1, 3], pa.int32()), column(["a", "a"], pa.string())]
    assert meets(keys, others).tolist() == [True, False, False, False]


ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "s"},
    "descending": {"sequence.field": "s", "sequence.field.sort-order": "descending"},
    "partial": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "sum": {"merge-engine": "aggregation", "fields.s.aggregate-function": "sum"},
    "vectors": {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"},
}


@pytest.mark.parametrize("options", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("key", ["a INT", "a STRING", "a INT, b STRING"])
def test_rows_are_those_of_the_ordinary_merge(
    lake: lakebed.Lake, options: dict[str, str], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [part.split()[0] for part in key.split(", ")]
    table = lake.create_table(
        "db.t", f"{key}, s INT, v STRING", primary_key=names, options={"bucket": "1", "write-only": "true", **options}
    )

    def rows(numbers: Any, s: int, v: str | None, **more: Any) -> list[dict[str, Any]]:
        return [
            {"a": f"k{n:04d}" if "a STRING" in key else int(n), "b": f"{n % 3}", "s": s, "v": v, **more}
            if len(names) > 1
            else {"a": f"k{n:04d}" if "a STRING" in key else int(n), "s": s, "v": v, **more}
            for n in numbers
        ]

    random = np.random.default_rng(7)
    table.write(rows(range(2000), 5, "base"))
    lake.table("db.t", options={"write-only": "false"}).compact(full=True)
    table.write(rows(random.choice(2100, 40, replace=False), 6, None))
    table.write(rows(random.choice(2100, 40, replace=False), 4, "late"))
    if "aggregation" not in options.values():
        table.write(rows(random.choice(2000, 20, replace=False), 7, "gone", op="-D"), row_kind="op")

    calls = []
    plain = Merger._merge_heads

    def counted(self: Merger, heads: Any, *more: Any) -> Any:
        calls.append(sum(len(head.table) for head in heads))
        return plain(self, heads, *more)

    monkeypatch.setattr(Merger, "_merge_heads", counted)
    for columns, where in ((None, None), (["v"], None), (None, "s = 5"), (None, "a IS NOT NULL AND v = 'late'")):
        found = table.scan(columns, where).to_arrow()
        assert calls.pop() < 400  # of more than 2000
        with monkeypatch.context() as patch:
            patch.setattr(read_merge, "lowest_run", lambda _: [])
            expected = table.scan(columns, where).to_arrow()
            assert calls.pop() >= 2000
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
        assert len(found) > 0
