"""One of the snapshots becomes the earliest."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.metadata.histories import add, history, live
from tests.metadata.stores import files_below
from tests.places import stored_path

from lakebed.errors import CorruptError, NotFoundError
from lakebed.metadata.tags import create_tag
from lakebed.operations.repair.repair_earliest import repair_earliest_snapshot


def test_what_is_before_goes(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c", "d", "e")
    create_tag(store, "kept", snapshot=1)
    for number in (2, 3):
        stored_path(store.paths.snapshot(number)).unlink()
    assert repair_earliest_snapshot(store, 4) == 1
    assert store.snapshots.ids() == [4, 5]
    assert store.snapshots.earliest_id() == 4
    assert stored_path(store.paths.earliest_hint).read_text() == "4"
    assert live(store) == ["a", "b", "c", "d", "e"]
    assert files_below(tmp_path / "tag") == {"tag-kept"}
    assert add(store, "f").id == 6


def test_a_whole_history_stays(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    assert repair_earliest_snapshot(store, 1) == 1
    assert store.snapshots.ids() == [1, 2]


def test_holes_after_it_are_refused(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c", "d", "e")
    stored_path(store.paths.snapshot(3)).unlink()
    with pytest.raises(CorruptError, match=r"snapshot 3 is missing.*choose 4 or a later one as the earliest"):
        repair_earliest_snapshot(store, 2)
    with pytest.raises(NotFoundError, match="snapshot 3"):
        repair_earliest_snapshot(store, 3)
    assert store.snapshots.ids() == [1, 2, 4, 5]


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no snapshots"):
        repair_earliest_snapshot(history(tmp_path), 1)
