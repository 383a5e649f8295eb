"""Sorted runs on disk, and writers that use them: the same rows whatever the budget."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.stores import new_store

from lakebed.format.manifest.manifest import NO_ENTRIES
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows import spill
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.keyed.keyed_write import KeyedWriter
from lakebed.table import Table

QUICK = settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
KEY = st.tuples(st.integers(0, 3), st.sampled_from(["", "a", "b", "ba", "c"]))
RUN = st.lists(KEY, min_size=1, max_size=30)


def table(keys: list[tuple[int, str]], run: int) -> pa.Table:
    ordered = sorted(keys)
    return pa.table(
        {
            "a": pa.array([a for a, _ in ordered], pa.int32()),
            "b": pa.array([b for _, b in ordered]),
            "n": pa.array([run * 1000 + i for i in range(len(ordered))], pa.int64()),
        }
    )


@QUICK
@given(st.lists(RUN, min_size=1, max_size=5), st.integers(1, 2000), st.integers(1, 5))
def test_pieces_hold_all_rows_once_and_keys_ascend(runs: list[Any], piece: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill, "BLOCK_ROWS", block)
        spilled: spill.Spill[str] = spill.Spill(["a", "b"])
        tables = [table(keys, number) for number, keys in enumerate(runs)]
        for one in tables:
            spilled.add([("other", tables[0]), ("mine", one)])
        pieces = [part for part in spilled.pieces("mine", piece) if len(part)]
        spilled.close()
    found = [list(zip(*(part[name].to_pylist() for name in "ab"), strict=True)) for part in pieces]
    assert all(max(a) < min(b) for a, b in itertools.pairwise(found))
    assert sorted(n for part in pieces for n in part["n"].to_pylist()) == sorted(
        n for one in tables for n in one["n"].to_pylist()
    )
    assert spilled.rows("mine") == sum(map(len, tables))


def test_pieces_are_no_larger_than_asked_for(tmp_path: Path) -> None:
    spilled: spill.Spill[int] = spill.Spill(["k"], str(tmp_path))
    for run in range(4):
        keys = np.arange(100_000, dtype=np.int64) * 4 + run
        spilled.add([(0, pa.table({"k": keys, "v": keys}))])
    sizes = [len(piece) for piece in spilled.pieces(0, 16 * 100_000)]
    assert sum(sizes) == 400_000
    assert max(sizes) <= 100_000 + 4 * spill.BLOCK_ROWS
    assert len(sizes) <= 6
    assert list(tmp_path.iterdir()) != []
    spilled.close()
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------------------------------------------- the writer

ROW = st.tuples(st.sampled_from("pq"), st.integers(0, 5), st.integers(0, 9))


def written(store: TableStore, rows: list[tuple[Any, ...]], order: list[int], budget: int) -> tuple[Any, ...]:
    """The table and its changelog after rows came in another order than their own, a few at a time."""
    schema = store.schema()
    writer = KeyedWriter(
        FileLayout(store, schema, TableOptions(schema.options)), lambda _: {}, changelog=True, budget=budget
    )
    batches = [
        pa.record_batch(
            {
                "p": pa.array([rows[i][0]]),
                "k": pa.array([rows[i][1]], pa.int32()),
                "v": pa.array([str(rows[i][2])]),
                "at": pa.array([i * 10], pa.int64()),
            }
        )
        for i in order
    ]
    writer.write(pa.RecordBatchReader.from_batches(batches[0].schema, batches), order="at")
    files = writer.finish()
    assert commit(store, append(Change(entries=files.data, changelog=files.changelog))) is not None
    spans = files.data.sort_by([("partition", "ascending"), ("bucket", "ascending")])
    columns = ["partition", "bucket", "row_count", "min_sequence_number", "max_sequence_number"]
    return sorted(map(str, Table(store).scan().to_arrow().to_pylist())), spans.select(columns).to_pylist()


@settings(QUICK, max_examples=examples(15))
@given(st.lists(ROW, min_size=1, max_size=30), st.randoms(use_true_random=False), st.sampled_from(["listagg", "plain"]))
def test_rows_in_any_order_and_any_budget_give_the_same_table(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], shuffle: Any, engine: str
) -> None:
    options = {"bucket": "2"}
    if engine == "listagg":
        options |= {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}
    found = []
    for budget in (1, 300, 10**9):
        order = list(range(len(rows)))
        shuffle.shuffle(order)
        store = new_store(
            tmp_path_factory.mktemp("t"),
            "p STRING, k INT, v STRING",
            primary_key=["p", "k"],
            partition_by=["p"],
            options=options,
        )
        found.append(written(store, rows, order, budget))
    assert found[0] == found[1] == found[2]
    newest: dict[tuple[str, int], str] = {}
    for p, k, v in rows:
        newest[p, k] = f"{newest[p, k]},{v}" if engine == "listagg" and (p, k) in newest else str(v)
    assert found[0][0] == sorted(str({"p": p, "k": k, "v": v}) for (p, k), v in newest.items())


def test_what_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", "k INT", primary_key=["k"], options={"bucket": "1"})
    schema = store.schema()
    spills = tmp_path / "spills"
    spills.mkdir()
    layout = FileLayout(store, schema, TableOptions(schema.options))
    writer = KeyedWriter(layout, lambda _: {}, budget=1, spill_folder=str(spills))
    batches = [pa.record_batch({"k": pa.array([k], pa.int32())}) for k in (3, 1, 2)]
    writer.write(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert list(spills.iterdir()) != []
    writer.abort()
    assert list(spills.iterdir()) == []
    empty = KeyedWriter(layout, lambda _: {}, budget=1).finish()
    assert empty.data == NO_ENTRIES
