"""Old names work and warn; calls whose default is about to change do what they did, and ask for an explicit word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed.errors import OptionError


def written(lake: lakebed.Lake) -> lakebed.Table:
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    table.write([{"id": 2}])
    return table


def files_of(table: lakebed.Table) -> set[Path]:
    return {path for path in Path(table.path).rglob("*") if path.is_file()}


def test_deleting_is_called_dropping(lake: lakebed.Lake) -> None:
    table = written(lake)
    table.create_tag("a")
    table.create_tag("b")
    table.reset_consumer("reader", 1)
    with pytest.warns(
        DeprecationWarning, match=r"delete_tag\(\) is deprecated since 0.1; use drop_tag\(\) instead"
    ) as told:
        removal = table.delete_tag("a", dry_run=True)
    assert told[0].filename == __file__
    assert [file.kind for file in removal.files] == ["tag"]
    assert list(table.tags()) == ["a", "b"]
    assert removal.files == table.drop_tag("a").files
    assert list(table.tags()) == ["b"]
    with pytest.warns(DeprecationWarning, match=r"use drop_consumer\(\) instead") as told:
        table.delete_consumer("reader")
    assert told[0].filename == __file__
    assert table.consumers() == {}


@pytest.mark.parametrize("name", ["history", "compactions"])
def test_times_of_a_history_have_names_of_their_own(lake: lakebed.Lake, name: str) -> None:
    table = written(lake)
    table.compact(full=True)
    page: Callable[..., Any] = getattr(table, name)
    whole = list(page())
    assert whole
    for old, new, none in (("since", "from_time", "2999-01-01"), ("until", "to_time", "2001-01-01")):
        with pytest.warns(
            DeprecationWarning, match=rf"{old}= of {name}\(\) is deprecated .* use {new}= instead"
        ) as told:
            assert list(page(**{old: none})) == []
        assert told[0].filename == __file__
        assert list(page(**{new: none})) == []
        with pytest.raises(OptionError, match=rf"takes {new}= or its old name {old}=, not both"):
            page(**{old: none, new: none})
    assert list(page(from_time="1 d", to_time="0 s")) == whole


@pytest.mark.parametrize(
    ("name", "given", "empty"),
    [
        ("remove_orphan_files", {"older_than": "2999-01-01", "force": True}, lambda found: not found.files),
        ("remove_missing_files", {}, lambda found: found == []),
        ("verify", {"repair": True}, lambda found: not found.repairs),
    ],
)
def test_what_showed_by_default_shows_and_warns(
    lake: lakebed.Lake, name: str, given: dict[str, Any], empty: Callable[[Any], bool]
) -> None:
    table = written(lake)
    (data,) = list(Path(table.path).rglob("data-*"))[:1]
    if name == "remove_missing_files":
        data.unlink()
    else:
        (data.parent / f"data-{'0' * 36}-0.parquet").write_bytes(b"orphan")
        (Path(table.path) / "snapshot/LATEST").write_text("1")
    before = files_of(table)
    call = getattr(table, name)
    with pytest.warns(FutureWarning, match=rf"{name}\(\) only shows .* pass dry_run=True or dry_run=False") as told:
        shown = call(**given)
    assert told[0].filename == __file__
    assert not empty(shown)
    assert files_of(table) == before
    assert str(call(**given, dry_run=True)) == str(shown)
    call(**given, dry_run=False)
    assert empty(call(**given, dry_run=True))


def test_rebuilding_an_index_shows_by_default_and_warns(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.d", "id INT", primary_key=["id"], options={"bucket": -1})
    table.write([{"id": 1}])
    with pytest.warns(FutureWarning, match=r"rebuild_index\(\) only shows") as told:
        assert table.rebuild_index().dry_run
    assert told[0].filename == __file__


def test_verifying_without_repair_needs_no_word_about_it(lake: lakebed.Lake) -> None:
    assert written(lake).verify().ok


def test_what_was_dropped_is_a_list(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.p", "id INT, day STRING", partition_by=["day"])
    table.write([{"id": 1, "day": "20200101"}, {"id": 2, "day": "20200102"}])
    asked: Any = {"expiration_time": "1 d", "timestamp_formatter": "yyyyMMdd"}
    planned = table.expire_partitions(**asked, dry_run=True)
    assert planned == [{"day": "20200101"}, {"day": "20200102"}]
    assert str(planned) == "would drop 2 partitions:\n  day=20200101\n  day=20200102"
    done = table.expire_partitions(**asked)
    assert (done, str(done).splitlines()[0]) == (planned, "dropped 2 partitions:")
    assert str(table.expire_partitions(**asked)) == "dropped no partitions"
    table.create_tag("a")
    assert str(table.expire_tags(older_than="2999-01-01", dry_run=True)) == "would drop 1 tag:\n  a"
    assert table.expire_tags(older_than="2999-01-01") == ["a"]
