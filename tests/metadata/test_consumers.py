"""Consumers: notes that are read whoever wrote them, and never passed over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.metadata.crashes import at_every_step
from tests.metadata.histories import check_readable, history
from tests.metadata.stores import files_below
from tests.places import stored_path

from lakebed.errors import CorruptError, NotFoundError, OptionError
from lakebed.metadata.branches import create_branch
from lakebed.metadata.consumers import (
    drop_consumer,
    expire_consumers,
    find_consumer,
    list_consumers,
    reset_consumer,
    smallest_next_snapshot,
)
from lakebed.metadata.store import TableStore


def test_a_note_as_java_writes_it(tmp_path: Path) -> None:
    store = history(tmp_path)
    assert reset_consumer(store, "me", 5) == 5
    # The bytes of Paimon 2.0 (Java).
    assert (tmp_path / "consumer/consumer-me").read_bytes() == b'{\n  "nextSnapshot" : 5\n}'
    assert find_consumer(store, "me") == 5


def test_a_note_as_pypaimon_writes_it(tmp_path: Path) -> None:
    store = history(tmp_path)
    (tmp_path / "consumer").mkdir()
    (tmp_path / "consumer/consumer-me").write_text('{"nextSnapshot": 7}')
    assert list_consumers(store) == {"me": 7}


def test_reset_makes_or_sets(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    assert reset_consumer(store, "x") == 3  # what is committed from now on
    reset_consumer(store, "x", 2)
    reset_consumer(store, "a b", 9)
    assert list_consumers(store) == {"a b": 9, "x": 2}
    assert smallest_next_snapshot(store) == 2
    drop_consumer(store, "x")
    assert smallest_next_snapshot(store) == 9
    drop_consumer(store, "a b")
    assert smallest_next_snapshot(store) is None
    assert reset_consumer(history(tmp_path / "empty"), "x") == 1


def test_consumers_belong_to_a_branch(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    branch = create_branch(store, "b", snapshot=1)
    reset_consumer(branch, "me", 4)
    assert (tmp_path / "branch/branch-b/consumer/consumer-me").exists()
    assert list_consumers(store) == {}
    assert list_consumers(branch) == {"me": 4}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"nextSnapshot": "5"}', '{"nextSnapshot": null}', '{"nextSnapshot": true}']
)
def test_a_damaged_note_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    store = history(tmp_path)
    reset_consumer(store, "good", 3)
    (tmp_path / "consumer/consumer-bad").write_text(text)
    for look in (smallest_next_snapshot, list_consumers, lambda s: find_consumer(s, "bad")):
        with pytest.raises(CorruptError, match="consumer/consumer-bad"):
            look(store)
    drop_consumer(store, "bad")
    assert smallest_next_snapshot(store) == 3


@pytest.mark.parametrize("bad", ["", "a/b", ".x", "a\0"])
def test_bad_names(tmp_path: Path, bad: str) -> None:
    store = history(tmp_path)
    with pytest.raises(OptionError, match="cannot be the name of a consumer"):
        reset_consumer(store, bad, 1)
    with pytest.raises(OptionError):
        find_consumer(store, bad)


@pytest.mark.parametrize("bad", [0, -1, True, "1", 1.0])
def test_bad_snapshots(tmp_path: Path, bad: int) -> None:
    with pytest.raises(OptionError, match="cannot read snapshot"):
        reset_consumer(history(tmp_path), "x", bad)


def test_unknown_consumers(tmp_path: Path) -> None:
    store = history(tmp_path)
    assert find_consumer(store, "me") is None
    with pytest.raises(NotFoundError, match=r"unknown consumer 'me' in table db.t"):
        drop_consumer(store, "me")
    reset_consumer(store, "x", 1)
    with pytest.raises(NotFoundError):
        drop_consumer(store, "../consumer/consumer-x")


def test_consumers_that_note_nothing_for_long_go(tmp_path: Path) -> None:
    store = history(tmp_path, options={"consumer.expiration-time": "1 h"})
    now = 10_000_000_000
    for name, age in (("old", 3_600_001), ("young", 3_600_000)):
        reset_consumer(store, name, 1)
        os.utime(tmp_path / f"consumer/consumer-{name}", ((now - age) / 1000,) * 2)
    assert expire_consumers(store, now_millis=now, dry_run=True) == ["old"]
    assert sorted(list_consumers(store)) == ["old", "young"]
    assert expire_consumers(store, now_millis=now) == ["old"]
    assert sorted(list_consumers(store)) == ["young"]


def test_without_the_option_no_consumer_goes(tmp_path: Path) -> None:
    store = history(tmp_path)
    reset_consumer(store, "x", 1)
    assert expire_consumers(store, now_millis=2**60) == []


@pytest.mark.scales
def test_a_failure_at_every_step(tmp_path: Path) -> None:
    reset_consumer(history(tmp_path / "t", "a", "b"), "me", 1)

    def between(store: TableStore) -> None:
        check_readable(store)
        assert find_consumer(store, "me") in {1, 2}

    def after(store: TableStore) -> None:
        assert find_consumer(store, "me") == 2
        assert files_below(stored_path(store.paths.root, "consumer")) == {"consumer-me"}

    tried = at_every_step(tmp_path / "t", lambda s: reset_consumer(s, "me", 2), between=between, after=after)
    assert tried == 6
