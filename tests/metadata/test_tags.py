"""Tags: names, sources, races with those who take snapshots away, and what goes with them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.metadata.crashes import at_every_step
from tests.metadata.histories import add, check_readable, files_of, history, live, swap
from tests.metadata.stores import Failing, Interrupted, files_below, open_store
from tests.places import stored_path

from lakebed.errors import AlreadyExistsError, CorruptError, LakebedError, NotFoundError, OptionError
from lakebed.format.snapshot import snapshot_to_json
from lakebed.metadata.branches import create_branch
from lakebed.metadata.manifests import SHARED_CACHE
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import (
    Tag,
    create_tag,
    create_tag_since,
    drop_tag,
    expire_tags,
    find_tag,
    get_tag,
    list_tags,
    rename_tag,
    replace_tag,
)
from lakebed.operations.after_commit import after_commit

NOW = dt.datetime(2026, 5, 6, 7, 8, 9)
DAY = dt.timedelta(days=1)


def names(store: TableStore) -> list[str]:
    return [tag.name for tag in list_tags(store)]


def expire(store: TableStore, *ids: int) -> None:
    for number in ids:
        store.storage.delete(store.paths.snapshot(number))


# ------------------------------------------------------------------------------------------------------ making


def test_a_tag_names_the_latest_snapshot_or_any_other(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c")
    assert create_tag(store, "latest").snapshot.id == 3
    made = create_tag(store, "first", snapshot=1)
    assert made == Tag("first", store.snapshots.get(1)) == get_tag(store, "first") == find_tag(store, "first")
    assert names(store) == ["first", "latest"]
    assert store.snapshots.tags()["first"].id == 1


def test_the_file_of_a_tag_with_retention(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    create_tag(store, "t", time_retained="36 h", now=NOW)
    text = (tmp_path / "tag/tag-t").read_text()
    assert text.endswith('"tagCreateTime" : [ 2026, 5, 6, 7, 8, 9 ],\n  "tagTimeRetained" : 129600.000000000\n}')
    assert text.startswith('{\n  "version" : 3,\n  "uuid" : ')
    tag = get_tag(store, "t")
    assert (tag.create_time, tag.time_retained) == (NOW, dt.timedelta(hours=36))


def test_now_with_a_zone_is_written_as_local_time(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    moment = dt.datetime(2026, 5, 6, 7, 8, tzinfo=dt.timezone(dt.timedelta(hours=5)))
    made = create_tag(store, "t", time_retained=DAY, now=moment)
    assert made.create_time == moment.astimezone().replace(tzinfo=None)


def test_a_tag_made_now_has_the_local_time(tmp_path: Path) -> None:
    before = dt.datetime.now()
    made = create_tag(history(tmp_path, "a"), "t", time_retained=DAY).create_time
    assert made is not None
    assert before <= made <= dt.datetime.now()


def test_the_default_retention_counts_for_new_tags_only(tmp_path: Path) -> None:
    store = history(tmp_path, "a", options={"tag.default-time-retained": "3 h"})
    assert create_tag(store, "t").time_retained == dt.timedelta(hours=3)
    assert create_tag(store, "u", time_retained="1 d").time_retained == DAY
    assert replace_tag(store, "u").time_retained is None  # as Java does
    assert get_tag(store, "u").create_time is None


@pytest.mark.parametrize("bad", ["", "soon", "1 fortnight", "0 s", "-1 d", dt.timedelta(0), -DAY, 5, "9" * 18 + " d"])
def test_bad_retentions(tmp_path: Path, bad: str) -> None:
    store = history(tmp_path, "a")
    with pytest.raises(OptionError, match="time_retained is"):
        create_tag(store, "t", time_retained=bad)
    assert names(store) == []


@pytest.mark.parametrize("bad", ["", " ", "a/b", "..", ".x", "a\\b", "a\0b", "a\nb", "\ud800", None, 5])
def test_bad_names(tmp_path: Path, bad: str) -> None:
    store = history(tmp_path, "a")
    create_tag(store, "good")
    for call in (lambda: create_tag(store, bad), lambda: rename_tag(store, "good", bad)):
        with pytest.raises(OptionError, match="cannot be the name of a tag"):
            call()
    assert names(store) == ["good"]


@pytest.mark.parametrize("good", ["1", "a b", "tag=1", "x%", "main", "größe", "v1.0", "a,b"])
def test_good_names(tmp_path: Path, good: str) -> None:
    store = history(tmp_path, "a")
    create_tag(store, good)
    assert names(store) == [good]
    assert (tmp_path / "tag" / f"tag-{good}").exists()


def test_names_of_others_can_be_deleted_and_renamed(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    create_tag(store, "x")
    for odd in (".x", "a\\b"):
        (tmp_path / "tag" / f"tag-{odd}").write_bytes((tmp_path / "tag/tag-x").read_bytes())
    rename_tag(store, ".x", "y")
    drop_tag(store, "a\\b")
    assert names(store) == ["x", "y"]
    for outside in ("../snapshot/snapshot-1", "x/../x"):
        with pytest.raises(NotFoundError):
            drop_tag(store, outside)
        with pytest.raises(NotFoundError):
            get_tag(store, outside)


def test_an_existing_tag_stays_as_it_is(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    first = create_tag(store, "t", snapshot=1)
    with pytest.raises(AlreadyExistsError, match=r"tag 't' of table db.t already exists on snapshot 1"):
        create_tag(store, "t")
    assert create_tag(store, "t", ignore_if_exists=True) == first
    assert get_tag(store, "t") == first


def test_of_two_who_create_a_tag_one_wins(tmp_path: Path) -> None:
    history(tmp_path, "a", "b")

    def other() -> None:
        create_tag(open_store(tmp_path), "t", snapshot=1)

    store = open_store(tmp_path, Interrupted(other, ending="tag-t"))
    with pytest.raises(AlreadyExistsError):
        create_tag(store, "t")
    assert get_tag(store, "t").snapshot.id == 1


def test_snapshots_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no snapshot to tag"):
        create_tag(history(tmp_path / "empty"), "t")
    store = history(tmp_path / "t", "a")
    with pytest.raises(NotFoundError, match=r"snapshot 99 .* does not exist; snapshots 1 to 1 exist"):
        create_tag(store, "t", snapshot=99)
    with pytest.raises(OptionError):
        create_tag(store, "t", snapshot="1")  # type: ignore[arg-type]
    assert names(store) == []


def test_a_snapshot_that_only_a_tag_holds_can_be_tagged_again(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    first = create_tag(store, "t", snapshot=1)
    expire(store, 1)
    assert create_tag(store, "u", snapshot=1).snapshot == first.snapshot
    replace_tag(store, "t")
    assert create_tag(store, "w", snapshot=1).snapshot == first.snapshot


@pytest.mark.parametrize("held_by_tag", [False, True])
def test_a_tag_is_taken_back_if_its_snapshot_went_meanwhile(tmp_path: Path, held_by_tag: bool) -> None:
    plain = history(tmp_path, "a", "b")
    holder = plain.paths.snapshot(1)
    if held_by_tag:
        create_tag(plain, "old", snapshot=1)
        expire(plain, 1)
        holder = plain.paths.tag("old")
    going = Interrupted(lambda: stored_path(holder).unlink(), ending="tag-t")
    with pytest.raises(NotFoundError, match=r"snapshot 1 of table db.t expired while tag 't' was written"):
        create_tag(open_store(tmp_path, going), "t", snapshot=1)
    assert names(plain) == []


def test_a_replaced_tag_gets_its_content_back_if_the_snapshot_went_meanwhile(tmp_path: Path) -> None:
    plain = history(tmp_path, "a", "b", "c")
    before = create_tag(plain, "t", snapshot=2, time_retained=DAY)
    going = Interrupted(lambda: expire(plain, 1), before="replace", ending="tag-t")
    with pytest.raises(NotFoundError):
        replace_tag(open_store(tmp_path, going), "t", snapshot=1)
    assert get_tag(plain, "t") == before


# ------------------------------------------------------------------------------------------------- changing


def test_replace(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    create_tag(store, "t", snapshot=1, time_retained=DAY)
    assert replace_tag(store, "t") == Tag("t", store.snapshots.get(2)) == get_tag(store, "t")
    assert replace_tag(store, "t", snapshot=1, time_retained="2 h", now=NOW).create_time == NOW
    with pytest.raises(NotFoundError, match="unknown tag 'nope'"):
        replace_tag(store, "nope")


def test_a_damaged_tag_can_be_replaced_and_deleted(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    for change in (lambda: replace_tag(store, "t"), lambda: drop_tag(store, "t")):
        (tmp_path / "tag").mkdir(exist_ok=True)
        (tmp_path / "tag/tag-t").write_text("{")
        with pytest.raises(CorruptError, match="tag-t is not valid JSON"):
            get_tag(store, "t")
        change()
    assert names(store) == []


def test_rename_keeps_every_byte(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    create_tag(store, "old")
    text = (tmp_path / "tag/tag-old").read_text().replace("{", '{\n  "unknown" : 1,', 1)
    (tmp_path / "tag/tag-old").write_text(text)
    rename_tag(store, "old", "new")
    assert names(store) == ["new"]
    assert (tmp_path / "tag/tag-new").read_text() == text


def test_rename_over_another_tag_or_of_none(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    create_tag(store, "t", snapshot=1)
    create_tag(store, "u", snapshot=2)
    with pytest.raises(AlreadyExistsError):
        rename_tag(store, "t", "u")
    with pytest.raises(NotFoundError):
        rename_tag(store, "nope", "v")
    with pytest.raises(OptionError, match="itself"):
        rename_tag(store, "t", "t")
    assert names(store) == ["t", "u"]


def test_rename_of_a_tag_that_is_deleted_meanwhile(tmp_path: Path) -> None:
    plain = history(tmp_path, "a")
    create_tag(plain, "old")
    going = Interrupted(lambda: drop_tag(plain, "old"), ending="tag-new")
    with pytest.raises(NotFoundError):
        rename_tag(open_store(tmp_path, going), "old", "new")
    assert names(plain) == []


# ---------------------------------------------------------------------------------------------- taking away


def test_what_only_the_tag_needed_goes_with_it(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    create_tag(store, "t")
    swap(store, "a", "c")
    expire(store, 1, 2)
    before = files_below(tmp_path)
    plan = drop_tag(store, "t", dry_run=True)
    assert files_below(tmp_path) == before
    removal = drop_tag(store, "t")
    gone = before - files_below(tmp_path)
    assert {str(stored_path(file.path).relative_to(tmp_path)) for file in removal.files} == gone
    assert [file.path for file in plan.files] == [file.path for file in removal.files]
    assert (plan.dry_run, removal.dry_run) == (True, False)
    assert "bucket-0/a" in gone
    assert "tag/tag-t" in gone
    assert not gone & {"bucket-0/b", "bucket-0/c"}
    assert live(store) == ["b", "c"]
    check_readable(store)


@pytest.mark.parametrize("keeper", ["snapshot", "tag", "branch"])
def test_what_somebody_else_needs_stays(tmp_path: Path, keeper: str) -> None:
    store = history(tmp_path, "a", "b")
    tagged = create_tag(store, "t").snapshot
    if keeper == "tag":
        create_tag(store, "u", snapshot=2)
    if keeper == "branch":
        create_branch(store, "x", snapshot=2)
    swap(store, "a", "c")
    expire(store, 1) if keeper == "snapshot" else expire(store, 1, 2)
    removal = drop_tag(store, "t")
    assert [file.kind for file in removal.files] == ["tag"]
    assert files_of(store, tagged) == ["a", "b"]
    check_readable(store)


def test_a_tag_made_while_another_goes_keeps_the_files(tmp_path: Path) -> None:
    plain = history(tmp_path, "a", "b")
    create_tag(plain, "t")
    swap(plain, "a", "c")
    expire(plain, 1, 2)
    racing = Interrupted(lambda: create_tag(plain, "u", snapshot=2), before="delete", ending="tag-t")
    drop_tag(open_store(tmp_path, racing), "t")
    assert files_of(plain, get_tag(plain, "u").snapshot) == ["a", "b"]


def test_a_tag_whose_files_are_lost_can_be_deleted(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    tag = create_tag(store, "t", snapshot=1)
    expire(store, 1)
    store.storage.delete(store.paths.manifest(tag.snapshot.delta_manifest_list))
    SHARED_CACHE.clear()
    assert [file.kind for file in drop_tag(store, "t").files] == ["tag"]
    assert live(store) == ["a", "b"]


def test_deleting_a_tag_that_is_not_there(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    with pytest.raises(NotFoundError, match=r"unknown tag 't' in table db.t"):
        drop_tag(store, "t")
    assert drop_tag(store, "t", ignore_if_missing=True).files == ()


def test_tags_expire_when_their_time_is_up(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    create_tag(store, "plain", snapshot=1)
    create_tag(store, "day", snapshot=1, time_retained=DAY, now=NOW)
    create_tag(store, "week", time_retained="7 d", now=NOW)
    assert expire_tags(store, now=NOW + DAY) == []  # a moment later, not yet
    assert expire_tags(store, now=NOW + 2 * DAY, dry_run=True) == ["day"]
    assert names(store) == ["day", "plain", "week"]
    assert expire_tags(store, now=NOW + 2 * DAY) == ["day"]
    assert expire_tags(store, now=NOW + 3000 * DAY) == ["week"]
    assert names(store) == ["plain"]


def test_expiry_by_age(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    create_tag(store, "plain")
    create_tag(store, "long", time_retained="9999 d", now=NOW)
    written = dt.datetime.fromtimestamp((tmp_path / "tag/tag-plain").stat().st_mtime)
    assert expire_tags(store, older_than=NOW, now=NOW) == []
    assert expire_tags(store, older_than=NOW + DAY, now=NOW + DAY) == ["long"]
    assert expire_tags(store, older_than=written - DAY, now=written) == []
    assert expire_tags(store, older_than="2 d", now=written + DAY) == []
    assert expire_tags(store, older_than="1 d", now=written + 2 * DAY) == ["plain"]
    with pytest.raises(OptionError, match="older_than"):
        expire_tags(store, older_than="whenever")


@pytest.mark.parametrize("enabled", [True, False])
def test_expiry_after_commits_can_be_switched_off(tmp_path: Path, enabled: bool) -> None:
    store = history(tmp_path, "a", options={"tag.time-expire-enabled": str(enabled).lower()})
    create_tag(store, "t", time_retained=DAY, now=NOW - 2 * DAY)
    after_commit(store)
    assert names(store) == ([] if enabled else ["t"])
    assert expire_tags(store, now=NOW) == ([] if enabled else ["t"])


def test_expired_tags_take_their_files(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    create_tag(store, "t", time_retained=DAY, now=NOW)
    create_tag(store, "u", snapshot=1, time_retained=DAY, now=NOW)
    swap(store, "a", "c")
    expire(store, 1, 2)
    assert expire_tags(store, now=NOW + 2 * DAY) == ["t", "u"]
    assert files_below(tmp_path / "bucket-0") == {"b", "c"}
    check_readable(store)


# ------------------------------------------------------------------------------------------------------ failures


def _replace(store: TableStore) -> object:
    return replace_tag(store, "t", snapshot=2)


def _rename(store: TableStore) -> None:
    if "t" in names(store):
        rename_tag(store, "t", "new")


def _delete(store: TableStore) -> object:
    return drop_tag(store, "t", ignore_if_missing=True)


CHANGES: dict[str, tuple[Callable[[TableStore], object], list[set[str]], set[str]]] = {
    "create": (lambda s: create_tag(s, "new", ignore_if_exists=True), [{"t"}, {"t", "new"}], {"t", "new"}),
    "replace": (_replace, [{"t"}], {"t"}),
    "rename": (_rename, [{"t"}, {"t", "new"}, {"new"}], {"new"}),
    "delete": (_delete, [{"t"}, set()], set()),
}


@pytest.mark.scales
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_failure_at_every_step(tmp_path: Path, change: str) -> None:
    act, allowed, final = CHANGES[change]
    store = history(tmp_path / "t", "a", "b")
    create_tag(store, "t", snapshot=1)
    swap(store, "a", "c")
    expire(store, 1)

    def between(store: TableStore) -> None:
        check_readable(store)
        assert set(names(store)) in allowed

    def after(store: TableStore) -> None:
        check_readable(store)
        assert set(names(store)) == final

    assert at_every_step(tmp_path / "t", act, between=between, after=after) >= 7


def test_a_lost_answer_is_no_failure(tmp_path: Path) -> None:
    """Only the create of the tag file itself: the tag is there, so the call succeeds."""
    history(tmp_path, "a")
    steps = 0
    for step in range(1, 40):
        storage = Failing(step, after=True)
        with_fault = open_store(tmp_path, storage)
        try:
            create_tag(with_fault, f"t{step}")
        except LakebedError:
            assert storage.failed != ["create_exclusive"]
        steps += storage.failed == ["create_exclusive"]
    assert steps == 1


def test_tags_of_a_branch_are_its_own(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    branch = create_branch(store, "x", snapshot=1)
    add(branch, "b")
    create_tag(branch, "t")
    assert names(store) == []
    assert (tmp_path / "branch/branch-x/tag/tag-t").exists()
    assert files_of(branch, get_tag(branch, "t").snapshot) == ["a", "b"]


def test_the_first_snapshot_of_a_moment(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c")
    for number, millis in ((1, 1000), (2, 3000), (3, 2000)):
        snapshot = replace(store.snapshots.get(number), time_millis=millis)
        stored_path(store.paths.snapshot(number)).write_text(snapshot_to_json(snapshot))
    assert create_tag_since(store, "one", 0).snapshot.id == 1
    assert create_tag_since(store, "two", 1001, time_retained="1 d").snapshot.id == 2
    with pytest.raises(NotFoundError, match="at or after 3001"):
        create_tag_since(store, "three", 3001)
    assert [tag.name for tag in list_tags(store)] == ["one", "two"]
