"""Pages of history: which rows, how many in all, and what they cost."""

from __future__ import annotations

import datetime as dt
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.entries import adds
from tests.metadata.long_histories import (
    SHAPES,
    A,
    C,
    ReadOnly,
    Refusing,
    at_the_old_end,
    commit_snapshot,
    snapshot,
    spread,
    with_storage,
    write_history,
)
from tests.metadata.stores import Logged, commit_files, new_store, open_store
from tests.places import IS_LOCAL, copy_tree, delete_tree, stored_path

from lakebed.errors import CommitOutcomeUnknownError, OptionError
from lakebed.format.snapshot import CommitKind, Snapshot, snapshot_to_json
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.history import history_index, wanted
from lakebed.metadata.history import pages as history
from lakebed.metadata.history.history_index import BLOCK, forget_indexes
from lakebed.metadata.history.pages import HistoryPage, Source
from lakebed.metadata.store import TableStore
from lakebed.operations.expire.expire_snapshots import expire_snapshots
from lakebed.operations.orphans import remove_orphan_files
from lakebed.operations.rollback import rollback_to
from lakebed.operations.verify.verify import verify

COUNT, COMPACTIONS, LIMIT = 1000, 200, 10


@pytest.fixture(autouse=True)
def new_process() -> None:
    forget_indexes()


def ids(page: HistoryPage) -> list[int]:
    return [one.id for one in page]


def find_page(store: TableStore, **asked: Any) -> HistoryPage:
    return history.find_page(store, **{"limit": LIMIT, **asked})


def compactions(store: TableStore, **asked: Any) -> HistoryPage:
    return find_page(store, kind="COMPACT", **asked)


def pages(store: TableStore, **asked: Any) -> Iterator[HistoryPage]:
    cursor = None
    while True:
        page = find_page(store, cursor=cursor, **asked)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return


# --------------------------------------------------------------------------------------- pages of a long history


@pytest.fixture(scope="module", params=SHAPES)
def long(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Snapshot]]:
    """A table that others wrote: a thousand snapshots, two hundred compactions."""
    root = tmp_path_factory.mktemp("long") / "t"
    _, made = write_history(root, SHAPES[request.param](COUNT, COMPACTIONS))
    assert sum(one.commit_kind is C for one in made) == COMPACTIONS
    return root, made


def places(total: int) -> list[int]:
    """Where pages 1, 2, 10 and the last begin."""
    return sorted({page * LIMIT for page in (0, 1, 9, (total - 1) // LIMIT) if page * LIMIT < total})


@pytest.mark.parametrize("kind", [None, "COMPACT"])
@pytest.mark.local_disk
def test_pages_by_offset_and_by_cursor_are_the_same(
    long: tuple[Path, list[Snapshot]], kind: str | None, tmp_path: Path
) -> None:
    root, made = long
    store = open_store(copy_tree(root, tmp_path / "t"))
    model = [one for one in reversed(made) if kind in {None, one.commit_kind}]
    by_cursor = list(pages(store, kind=kind))
    assert [one for page in by_cursor for one in page] == model
    totals = [page.total for page in by_cursor]
    unknown = totals.count(None)
    assert totals == [None] * unknown + [len(model)] * (len(model) // LIMIT - unknown)
    assert unknown <= (COUNT - 1) // history.ADDED_BY_A_PAGE
    for place in places(len(model)):
        page = find_page(store, kind=kind, offset=place)
        assert list(page) == model[place : place + LIMIT]
        assert page.next_cursor == by_cursor[place // LIMIT].next_cursor
        assert page.total == len(model)
    beyond = find_page(store, kind=kind, offset=len(model))
    assert (len(beyond), beyond.total, beyond.next_cursor) == (0, len(model), None)


@pytest.mark.local_disk
def test_what_a_page_opens(long: tuple[Path, list[Snapshot]], tmp_path: Path) -> None:
    """Whatever the page: those it shows and one more, once the index is there; without a filter just those it shows."""
    root, _ = long
    copy = copy_tree(root, tmp_path / "t")

    def opened(**asked: Any) -> tuple[int, Source]:
        log = Logged()
        page = find_page(open_store(copy, log), **asked)
        assert page.scanned == len(log.names("read", "snapshot-")), "it does not say what it opened"
        return page.scanned, page.source

    for place in places(COUNT):
        assert opened(offset=place) == (LIMIT, Source.LISTING)
    cold: list[int] = []
    while (found := opened(kind="COMPACT"))[1] is Source.SCAN:
        cold.append(found[0])
        forget_indexes()
    assert cold[0] >= history.ADDED_BY_A_PAGE
    assert all(one <= history.ADDED_BY_A_PAGE + LIMIT + 1 for one in cold[1:]), "the page is full already"
    assert COUNT <= sum(cold) <= COUNT + len(cold) * (LIMIT + 2), "each snapshot is opened once to add it"
    for _ in range(2):
        forget_indexes()  # a process that finds the index on disk
        for place in places(COMPACTIONS):
            count, source = opened(kind="COMPACT", offset=place)
            assert source == Source.INDEX
            assert count <= LIMIT + 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.local_disk
def test_without_an_index_windows_grow_until_the_page_is_full(shape: str, tmp_path: Path) -> None:
    plain, made = write_history(tmp_path / "t", SHAPES[shape](COUNT, COMPACTIONS))
    model = [one for one in reversed(made) if one.commit_kind is C]
    store = with_storage(plain, log := ReadOnly())
    found: list[Snapshot] = []
    for page in pages(store, kind="COMPACT"):
        needed = COUNT - (page.snapshots[-1].id if page.snapshots else 0)
        assert page.scanned <= max(64, 3 * needed), "windows may overshoot twofold"
        found += page
    assert found == model
    assert page.total == COMPACTIONS, "all were seen at last"
    assert len(log.names("read", "snapshot-")) <= COUNT + 3 * len(model) // LIMIT + len(model)
    assert not stored_path(plain.paths.history_index).exists()
    forget_indexes()
    first = compactions(store)
    if shape == "spread evenly":
        assert (first.total, first.source, first.scanned <= 256) == (None, Source.SCAN, True)
    forget_indexes()
    for place in places(COMPACTIONS):
        assert list(compactions(store, offset=place)) == model[place : place + LIMIT]
    assert find_page(store).total == COUNT, "without a filter it is known all the same"


def test_without_an_index_a_cursor_begins_where_it_points_to(tmp_path: Path) -> None:
    plain, _ = write_history(tmp_path / "t", spread(COUNT, COMPACTIONS))
    store = with_storage(plain, ReadOnly())
    cursor = compactions(store, offset=100).next_cursor
    forget_indexes()
    page = compactions(store, cursor=cursor)
    assert ids(page) == list(range(450, 400, -5))
    assert page.scanned <= 256
    assert page.total is None


def test_an_old_index_that_cannot_be_extended(tmp_path: Path) -> None:
    """What it knows lies below what it lacks, and does not fill the page."""
    plain, _ = write_history(tmp_path / "t", [C] * 50, noted=True)
    for number in range(51, 351):
        commit_snapshot(plain, C if number % 100 == 0 else A, noted=False)
    store = with_storage(plain, ReadOnly())
    page = compactions(store, limit=2)
    assert (ids(page), page.total, page.source) == ([300, 200], None, Source.SCAN)
    assert page.scanned <= 1 + 32 + 64 + 128
    page = compactions(store, limit=9, cursor=page.next_cursor)
    assert ids(page) == [100, *range(50, 42, -1)]


@pytest.mark.local_disk
def test_a_long_history_is_not_listed(tmp_path: Path) -> None:
    store, made = write_history(tmp_path / "t", spread(10_000, 200), noted=True)
    log = Logged()
    logged = with_storage(store, log)
    page = compactions(logged)
    assert list(page) == [one for one in reversed(made) if one.commit_kind is C][:LIMIT]
    assert (page.total, page.scanned, page.source) == (200, LIMIT, Source.INDEX)
    assert "snapshot" not in log.names("list")
    assert len(log.names("read", "history-")) == 10

    log.log.clear()
    assert compactions(logged, offset=50).scanned == LIMIT + 1
    assert log.names("read", "history-") == [], "what did not change is not read again"
    commit_snapshot(store, C)
    log.log.clear()
    assert ids(compactions(logged))[0] == 10_001
    assert log.names("read", "history-") == ["history-9"]
    assert "snapshot" not in log.names("list")


# ------------------------------------------------------------------------------------------------------- filters


def test_filters(tmp_path: Path) -> None:
    store, made = write_history(tmp_path / "t", spread(60, 20))
    newest = made[::-1]
    assert list(find_page(store, user="user 1", limit=99)) == [s for s in newest if s.commit_user == "user 1"]
    assert ids(find_page(store, from_time=58_000, limit=99)) == [60, 59, 58]
    assert ids(find_page(store, to_time=2_000, limit=99)) == [2, 1]
    moment = dt.datetime.fromtimestamp(30, dt.UTC)
    assert ids(find_page(store, kind=C, user="user 0", from_time=moment, to_time=39_000, limit=9)) == [39, 36, 33, 30]
    assert ids(find_page(store, kind="analyze")) == []
    assert find_page(store, from_time="1 d").total == 0, "times of long ago"
    assert find_page(store, user="user 1", limit=5).total == 20


def test_times_may_step_back(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    for time in (5, 1, 9, 3):
        commit_snapshot(store, time_millis=time)
    assert ids(find_page(store, from_time=3, to_time=5)) == [4, 1]


def test_odd_users_and_numbers(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    users = ["", "a\tb\n", "%41", "A", "é\u2028", '"quoted"', "null"]
    for user in users:
        commit_snapshot(store, commit_user=user, commit_identifier=2**70, total_record_count=-(2**80))
    for number, user in enumerate(users, 1):
        assert ids(find_page(store, user=user)) == [number]
        assert find_page(store, user=user).snapshots[0].commit_identifier == 2**70
    forget_indexes()
    page = find_page(store, user="A")
    assert (ids(page), page.source) == ([4], Source.INDEX)


@pytest.mark.local_disk
def test_an_empty_table(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    for kind in (None, "COMPACT"):
        page = find_page(store, kind=kind)
        assert (page.snapshots, page.next_cursor, page.total, page.scanned) == ((), None, 0, 0)
    assert not stored_path(store.paths.history_index).exists()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"kind": "COMPAKT"}, "did you mean 'COMPACT'"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": True}, "limit is True"),
        ({"limit": 2**80}, "limit is"),
        ({"offset": -1}, "offset is -1"),
        ({"cursor": ""}, "is not a cursor"),
        ({"cursor": "12-"}, "is not a cursor"),
        ({"cursor": "../../x"}, "is not a cursor"),
        ({"cursor": -12}, "is not a cursor"),
        ({"cursor": True}, "is not a cursor"),
        ({"from_snapshot": -1}, "from_snapshot is -1"),
        ({"to_snapshot": "1"}, "to_snapshot is '1'"),
        ({"cursor": "3-00000000"}, "other filters"),
        ({"cursor": "3-00000000", "offset": 3}, "give either a cursor or an offset, not both"),
        ({"user": 3}, "user must be"),
        ({"from_time": "yesterday"}, "from_time is"),
    ],
)
def test_bad_questions(tmp_path: Path, asked: dict[str, Any], why: str) -> None:
    store, _ = write_history(tmp_path / "t", [A, A])
    with pytest.raises(OptionError, match=why):
        find_page(store, **asked)


def test_the_id_of_a_snapshot_is_a_cursor(tmp_path: Path) -> None:
    store, _ = write_history(tmp_path / "t", spread(60, 20))
    assert ids(find_page(store, cursor=58, limit=3)) == [57, 56, 55]
    assert ids(compactions(store, cursor="51", limit=3)) == [48, 45, 42]
    assert ids(compactions(store, cursor=51, limit=3)) == [48, 45, 42]
    assert ids(find_page(store, cursor=1)) == []


def test_ranges_of_ids(tmp_path: Path) -> None:
    proof = 0 if IS_LOCAL else 1  # the first of the newest snapshots, which have no lines
    store, _ = write_history(tmp_path / "t", spread(1000, 200))
    page = find_page(store, from_snapshot=500, to_snapshot=503)
    assert (ids(page), page.total, page.scanned, page.next_cursor) == ([503, 502, 501, 500], 4, 4, None)
    page = compactions(store, from_snapshot=480, to_snapshot=500, limit=3)
    assert (ids(page), page.total) == ([500, 495, 490], 5)
    assert page.scanned == 21 + proof, "nothing else is read"
    assert ids(compactions(store, from_snapshot=480, to_snapshot=500, cursor=page.next_cursor)) == [485, 480]
    with pytest.raises(OptionError, match="other filters"):
        compactions(store, from_snapshot=481, to_snapshot=500, cursor=page.next_cursor)
    page = compactions(store, from_snapshot=480, to_snapshot=500, limit=3, user="user 1")
    assert ids(page) == [one for one in (500, 495, 490, 485, 480) if one % 3 == 1]
    assert page.scanned <= len(page) + 1 + proof, "the lines are there now"
    assert find_page(store, from_snapshot=1001).total == 0
    assert find_page(store, from_snapshot=7, to_snapshot=3).total == 0


def test_what_others_wrote_is_added_page_by_page(tmp_path: Path) -> None:
    """A first page is bounded, however long the history of another engine is; a few pages complete the index.

    Where files cannot grow, each page opens the snapshots after the last complete block again.
    """
    again, needed = (0, 4) if IS_LOCAL else (BLOCK, 5)
    store, made = write_history(tmp_path / "t", spread(1000, 200))
    model = [one.id for one in made[::-1] if one.commit_kind is C]
    seen = []
    for _ in range(needed + 1):
        forget_indexes()
        page = compactions(store, limit=3, offset=2)
        assert ids(page) == model[2:5]
        seen.append((page.scanned <= history.ADDED_BY_A_PAGE + 4, page.total, page.source))
    complete = [(True, 200, Source.SCAN), (True, 200, Source.INDEX)]
    assert seen == [(True, None, Source.SCAN)] * (needed - 1) + complete
    assert page.scanned <= 4 + again


@pytest.mark.parametrize("can_write", [True, False])
@pytest.mark.local_disk
def test_a_filter_that_matches_little_does_not_open_every_snapshot(tmp_path: Path, *, can_write: bool) -> None:
    """A page ends where it has opened enough, with fewer rows and a cursor. Following it shows everything once."""
    plain, made = write_history(tmp_path / "t", at_the_old_end(4000, 1200))
    store = with_storage(plain, log := Logged() if can_write else ReadOnly())
    found: list[Snapshot] = []
    seen: list[tuple[int, int]] = []
    for page in pages(store, kind="COMPACT", user="user 1"):
        assert page.scanned == len(log.names("read", "snapshot-")), "it does not say what it opened"
        log.log.clear()
        found += page
        seen.append((page.scanned, len(page)))
        if can_write:
            forget_indexes()
    assert found == [one for one in made[::-1] if one.commit_kind is C and one.commit_user == "user 1"]
    assert all(scanned <= wanted.READ_BY_A_PAGE + LIMIT + 2 for scanned, _ in seen)
    assert [shown for _, shown in seen[:2]] == [0, 0]
    assert all(shown == LIMIT for _, shown in seen[3:-1])
    assert sum(scanned for scanned, _ in seen) <= 4000 + len(seen) * (LIMIT + 3) + len(found)
    assert page.total == (len(found) if can_write else None)
    forget_indexes()
    assert find_page(plain, kind="COMPACT", offset=1190).total == 1200, "rows before an offset are counted"


@pytest.mark.local_disk
def test_the_first_page_shows_more_each_time(tmp_path: Path) -> None:
    store, made = write_history(tmp_path / "t", at_the_old_end(2500, 20))
    shown = []
    while (page := compactions(store)).source is Source.SCAN:
        forget_indexes()
        shown.append((ids(page), page.total, page.next_cursor is None))
    assert shown[:2] == [([], None, False)] * 2
    assert ids(page) == [one.id for one in made[19:9:-1]]
    assert page.total == 20


@pytest.mark.local_disk
def test_a_page_does_not_skip_what_the_index_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends above the first snapshot that it did not open, although lines of older ones match."""
    monkeypatch.setattr(wanted, "READ_BY_A_PAGE", 40)
    plain, _ = write_history(tmp_path / "t", [C] * 50, noted=True)
    for number in range(51, 201):
        commit_snapshot(plain, C if number in {100, 190} else A, noted=False)
    store = with_storage(plain, ReadOnly())
    assert [ids(page) for page in pages(store, kind="COMPACT", limit=3)][:5] == [
        [190],
        [],
        [100],
        [50, 49, 48],
        [47, 46, 45],
    ]
    assert ids(compactions(store, limit=3, offset=1)) == [100, 50, 49]
    assert len(compactions(store, limit=52)) == 52, "as many as it has rows"


@pytest.mark.local_disk
def test_pages_of_a_user_open_what_they_show(tmp_path: Path) -> None:
    store, made = write_history(tmp_path / "t", [A] * 300, noted=True)
    model = [one for one in made[::-1] if one.commit_user == "user 1"]
    page = find_page(store, user="user 1")
    assert (list(page), page.total, page.source) == (model[:LIMIT], len(model), Source.INDEX)
    assert page.scanned <= LIMIT + 1
    forget_indexes()
    page = find_page(store, user="nobody")
    assert (list(page), page.total) == ([], 0)
    assert page.scanned <= 1


def test_pages_behind_a_cursor_add_what_is_before_it_too(tmp_path: Path) -> None:
    store, _ = write_history(tmp_path / "t", spread(100, 20), noted=True)
    for number in range(1, 7):
        commit_snapshot(store, C if number % 2 else A, noted=False)
    page = compactions(store, cursor=50, limit=2)
    assert (ids(page), page.total, page.source) == ([45, 40], 23, Source.SCAN)
    assert compactions(store, limit=1).source is Source.INDEX


def test_a_cursor_belongs_to_its_filters(tmp_path: Path) -> None:
    store, _ = write_history(tmp_path / "t", spread(60, 20))
    cursor = compactions(store, limit=3).next_cursor
    assert ids(compactions(store, limit=2, cursor=cursor)) == [51, 48]
    with pytest.raises(OptionError, match="other filters"):
        find_page(store, cursor=cursor)


# ------------------------------------------------------------------------------------------- while others are busy


def test_a_cursor_survives_commits_and_expiry(tmp_path: Path) -> None:
    store, made = write_history(tmp_path / "t", spread(300, 100))
    seen: list[int] = []
    for number, page in enumerate(pages(store, kind="COMPACT", limit=10)):
        seen += ids(page)
        for _ in range(4):
            commit_snapshot(store, C, noted=number % 2 == 0)
        for gone in range(1 + number * 15, 16 + number * 15):
            stored_path(store.paths.snapshot(gone)).unlink()
    model = [one.id for one in reversed(made) if one.commit_kind is C]
    assert seen == model[: len(seen)]
    assert set(model) - set(seen) <= set(range(1, 15 * 8)), "only what expired is missing"


@pytest.mark.local_disk
def test_snapshots_that_go_while_a_page_is_made(tmp_path: Path) -> None:
    """Those that were chosen for the page expire right before they are opened."""
    store, made = write_history(tmp_path / "t", spread(60, 20), noted=True)

    class Late(Logged):
        def call(self, name: str, path: str, run: Any) -> Any:
            if name == "read" and path.endswith("/snapshot-6"):
                for number in range(1, 10):
                    stored_path(store.paths.snapshot(number)).unlink(missing_ok=True)
            return super().call(name, path, run)

    late = with_storage(store, Late())
    page = compactions(late, limit=18, offset=2)
    assert list(page) == [one for one in made[::-1] if one.commit_kind is C and one.id > 9][2:]
    assert (page.total, page.next_cursor) == (17, None)


def test_expiry_without_end_still_gives_a_page(tmp_path: Path) -> None:
    store, _ = write_history(tmp_path / "t", spread(60, 20), noted=True)

    class Going(Logged):
        def call(self, name: str, path: str, run: Any) -> Any:
            if name == "read" and "/snapshot-" in path:
                gone = min(int(one.name[9:]) for one in stored_path(store.paths.snapshots).glob("snapshot-*"))
                if path.endswith(f"/snapshot-{gone}"):
                    stored_path(path).unlink()
            return super().call(name, path, run)

    page = compactions(with_storage(store, Going()), limit=30)
    left = sorted((int(one.name[9:]) for one in stored_path(store.paths.snapshots).glob("snapshot-*")), reverse=True)
    assert ids(page) == [number for number in left if number % 3 == 0]
    assert page.total == len(page)


def test_pages_while_commits_and_expiry_go_on(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    for number in range(40):
        commit_files(store, adds(f"data-{number}"))
    stop = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            number = 1000
            while not stop.is_set():
                commit_files(store, adds(f"data-{number}"))
                number += 1
                expire_snapshots(store, retain_max=30, retain_min=1)
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(6):
            latest = store.snapshots.latest_id()
            assert latest is not None
            seen = [one for page in pages(store, kind="APPEND", limit=7) for one in ids(page)]
            assert seen == sorted(set(seen), reverse=True)
            assert seen == list(range(seen[0], seen[-1] - 1, -1)), "some were left out"
            assert seen[0] >= latest
    finally:
        stop.set()
        worker.join()
    assert failures == []


# ------------------------------------------------------------------------------------------------- rolling back


def check_history(store: TableStore) -> None:
    """Every filter gives what the files say, in this process and in a new one."""
    truth = store.snapshots.read_many(store.snapshots.ids())[::-1]
    for _ in range(2):
        for kind in CommitKind:
            wanted = [one for one in truth if one.commit_kind is kind]
            page = find_page(store, kind=kind, limit=max(1, len(truth)))
            assert list(page) == wanted
            assert page.total == len(wanted)
            assert find_page(store, kind=kind, limit=1).total == len(wanted)
        forget_indexes()


@pytest.mark.parametrize("ours_again", [True, False])
@pytest.mark.parametrize("on_top", [True, False])
@pytest.mark.local_disk
def test_ids_that_are_used_again(tmp_path: Path, *, ours_again: bool, on_top: bool) -> None:
    store, _ = write_history(tmp_path / "t", [A] * 50, noted=True)
    assert find_page(store, kind="APPEND", limit=1).total == 50
    rollback_to(store, snapshot=30)
    for _ in range(15):
        commit_snapshot(store, C, noted=ours_again)
    if on_top:  # its line is right, those below are about other snapshots
        commit_snapshot(store, A, noted=True)
    page = compactions(store, limit=3)
    assert (ids(page), page.total) == ([45, 44, 43], 15)
    if not ours_again:
        assert page.scanned <= 15 + 6 + 4, "the index before the rollback is used"
    check_history(store)
    assert compactions(store, limit=1).source == Source.INDEX


def test_a_rollback_where_nothing_can_be_written(tmp_path: Path) -> None:
    plain, _ = write_history(tmp_path / "t", [A] * 100)
    store = with_storage(plain, ReadOnly())
    assert find_page(store, kind="APPEND", limit=100).total == 100
    rollback_to(plain, snapshot=50)
    for _ in range(10):
        commit_snapshot(plain, C, noted=False)
    assert compactions(store).total == 10
    assert find_page(store, kind="APPEND", limit=1).total == 50


def test_a_table_that_was_made_anew_in_its_place(tmp_path: Path) -> None:
    store, _ = write_history(tmp_path / "t", [A] * 30)
    assert find_page(store, kind="APPEND").total == 30
    delete_tree(tmp_path / "t")
    store, _ = write_history(tmp_path / "t", [C] * 5)
    assert compactions(store).total == 5
    check_history(store)


# ------------------------------------------------------------------------------------------------- the index itself


def segment(store: TableStore, number: int = 0) -> Path:
    return stored_path(store.paths.history_segment(number))


@pytest.mark.local_disk
def test_commits_keep_the_index(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    made = [commit_files(store, adds(f"data-{number}", file_size=7)) for number in range(5)]
    log = Logged()
    page = find_page(with_storage(store, log), kind="APPEND", limit=2)
    assert (list(page), page.total, page.source) == (made[:-3:-1], 5, Source.INDEX)
    assert sorted(log.names("read", "snapshot-")) == ["snapshot-4", "snapshot-5"]
    rows = history_index.index_of(store).rows(store, history_index.index_of(store).existing(store))
    assert rows.select(["id", "delta_record_count", "files_added", "bytes_added"]).to_pylist() == [
        {"id": number, "delta_record_count": 10, "files_added": 1, "bytes_added": 7} for number in range(1, 6)
    ]


@pytest.mark.parametrize("part", [0, 0.01, 0.4, 0.97, 0.99, 1])
def test_a_commit_does_not_mind_what_becomes_of_its_line(tmp_path: Path, part: float) -> None:
    """As if the process had died between the snapshot and the end of its line."""
    store = new_store(tmp_path / "t")
    commit_files(store, adds("data-1"))
    commit_files(with_storage(store, Refusing(part)), adds("data-2"))
    commit_files(store, adds("data-3"))
    check_history(store)
    assert find_page(store, kind="APPEND").source == Source.INDEX


@pytest.mark.local_disk
def test_an_interrupt_at_the_line_does_not_undo_the_commit(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    interrupted = with_storage(store, Refusing(0, error=KeyboardInterrupt))
    with pytest.raises(CommitOutcomeUnknownError, match="was committed"):
        commit(interrupted, append(Change(entries=adds("data-1"))))
    assert store.snapshots.latest_id() == 1
    assert {one.code for one in verify(store).problems} == {"missing-data-file"}, "this table has no data files at all"
    check_history(store)


def test_a_commit_makes_no_folders_of_a_table_that_was_dropped(tmp_path: Path) -> None:
    store = open_store(tmp_path / "gone")
    history_index.note(store, snapshot(1), None)
    assert not (tmp_path / "gone").exists()


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(os.urandom(500)),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-60]),
    "halved": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "no numbers": lambda path: path.write_bytes(path.read_bytes().replace(b"9", b"x")),
    "twice": lambda path: path.write_bytes(path.read_bytes() * 4),
    "other kinds": lambda path: path.write_bytes(path.read_bytes().replace(b"APPEND", b"APPEMD")),
    "of another table": lambda path: path.write_bytes(path.read_bytes().replace(b"\t1", b"\t2")),
    "a folder": lambda path: path.rename(path.with_name("other")).parent.joinpath(path.name).mkdir(),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.local_disk
def test_a_damaged_index_is_made_anew(tmp_path: Path, damage: str) -> None:
    store, _ = write_history(tmp_path / "t", spread(90, 30), noted=True)
    assert compactions(store).total == 30
    DAMAGES[damage](segment(store))
    found = list(pages(store, kind="APPEND"))
    assert [one.id for page in found for one in page] == [number for number in range(90, 0, -1) if number % 3]
    if damage != "a folder":
        check_history(store)
        assert compactions(store).source == Source.INDEX
    if damage == "twice":
        assert len(segment(store).read_bytes().split(b"\n\n")) == 90, "old lines were not cleaned up"


@pytest.mark.local_disk
def test_lines_that_claim_to_match_are_not_believed(tmp_path: Path) -> None:
    """Kinds that the index has wrong, with checks that are right: a page shows none of them, and begins anew."""
    store, _ = write_history(tmp_path / "t", spread(90, 30), noted=True)
    segment(store).write_bytes(segment(store).read_bytes().replace(b"APPEND", b"COMPACT"))
    page = compactions(store)
    assert ids(page) == list(range(90, 60, -3))
    assert page.total == 30
    check_history(store)


@pytest.mark.local_disk
def test_old_segments_go(tmp_path: Path) -> None:
    store, _ = write_history(tmp_path / "t", [A] * 1100, noted=True)
    assert {one.name for one in stored_path(store.paths.history_index).iterdir()} == {"history-0", "history-1"}
    for number in range(1, 1050):
        stored_path(store.paths.snapshot(number)).unlink()
    assert find_page(store, kind="APPEND").total == 51
    assert {one.name for one in stored_path(store.paths.history_index).iterdir()} == {"history-1"}


@pytest.mark.local_disk
def test_the_index_is_left_in_peace(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    commit_files(store, adds("data-1"))
    before = segment(store).read_bytes()
    os.utime(segment(store), (0, 0))
    assert not [one for one in remove_orphan_files(store, older_than="2999-01-01").files if ".lakebed" in one.path]
    assert not [one for one in verify(store).problems if "sidecar" in one.code]
    assert segment(store).read_bytes() == before


@pytest.mark.parametrize("listed", [0, 2000])
def test_holes(tmp_path: Path, listed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that somebody took away by hand, from between the others."""
    monkeypatch.setattr(history_index, "LISTED", listed)
    store, _ = write_history(tmp_path / "t", spread(90, 30), noted=True)
    assert compactions(store, limit=1).total == 30
    for number in (90, 60, 59, 30, 1):
        stored_path(store.paths.snapshot(number)).unlink()
    page = compactions(store, limit=12)
    assert ids(page) == [87, 84, 81, 78, 75, 72, 69, 66, 63, 57, 54, 51]
    assert page.total == 27
    check_history(store)
    everything = [one for page in pages(store, limit=7) for one in ids(page)]
    assert everything == [number for number in range(89, 1, -1) if number not in {60, 59, 30}]
    restored = snapshot(60, C)
    stored_path(store.paths.snapshot(60)).write_text(snapshot_to_json(restored))
    assert 60 in ids(compactions(store, limit=99))


@pytest.mark.parametrize("hint", ["5", "x", "70", "400", None])
def test_long_histories_find_their_first_snapshot(
    tmp_path: Path, hint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_index, "LISTED", 0)
    store, _ = write_history(tmp_path / "t", [A] * 100, first=50, noted=True)
    if hint is not None:
        stored_path(store.paths.earliest_hint).write_text(hint)
    page = find_page(store, kind="APPEND", offset=95)
    assert (ids(page), page.total) == ([54, 53, 52, 51, 50], 100)


def test_a_folder_that_changes_within_one_tick_is_listed_again(tmp_path: Path) -> None:
    """Two looks at the same stamp, right after each other, do not count on it."""

    class Coarse(Logged):
        def call(self, name: str, path: str, run: Any) -> Any:
            return "always the same" if name == "stamp" else super().call(name, path, run)

    plain, _ = write_history(tmp_path / "t", [A] * 5)
    store = with_storage(plain, Coarse())
    assert find_page(store).total == 5
    commit_snapshot(plain)
    assert find_page(store).total == 6


def test_branches_have_an_index_each(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    for number in range(3):
        commit_files(store, adds(f"data-{number}"))
    from lakebed.metadata.branches import create_branch, drop_branch, rename_branch

    branch = create_branch(store, "b", snapshot=2)
    for number in range(10, 14):
        commit_files(branch, adds(f"data-{number}"))
    page = find_page(branch, kind="APPEND", limit=2)
    assert (ids(page), page.total) == ([6, 5], 5)
    assert find_page(store, kind="APPEND").total == 3
    with pytest.raises(OptionError, match="another branch"):
        find_page(store, kind="APPEND", cursor=page.next_cursor)
    rename_branch(store, "b", "c")
    page = find_page(store.on_branch("c"), kind="APPEND")
    assert (page.total, page.source) == (5, Source.INDEX)
    drop_branch(store, "c")
    again = create_branch(store, "c", snapshot=1)
    assert ids(find_page(again, kind="APPEND")) == [1]


def test_a_fast_forward(tmp_path: Path) -> None:
    from lakebed.metadata.branches import create_branch
    from lakebed.operations.fast_forward import fast_forward

    store = new_store(tmp_path / "t")
    for number in range(6):
        commit_files(store, adds(f"data-{number}"))
    branch = create_branch(store, "b", snapshot=2)
    for number in range(10, 17):
        commit_files(branch, adds(f"data-{number}"), operation="WRITE")
    assert find_page(store, kind="APPEND").total == 6
    fast_forward(store, "b")
    page = find_page(store, kind="APPEND")
    assert (page.total, [one.operation for one in page][:7]) == (9, ["WRITE"] * 7)
    check_history(store)


def test_the_check_tells_any_two_snapshots_apart() -> None:
    from lakebed.format.history_sidecar import check_of

    one = snapshot(1)
    others = [
        replace(one, **change)
        for change in (
            {"id": 2},
            {"uuid": "u"},
            {"base_manifest_list": "x"},
            {"commit_kind": C},
            {"time_millis": 1},
            {"commit_user": "x"},
            {"commit_identifier": 1},
        )
    ]
    assert len({check_of(one), *map(check_of, others)}) == 8


@pytest.mark.local_disk
def test_all_at_the_old_end_costs_the_same(tmp_path: Path) -> None:
    store, _ = write_history(tmp_path / "t", at_the_old_end(400, 80), noted=True)
    page = compactions(store)
    assert (ids(page)[0], page.scanned, page.source) == (80, LIMIT + 1, Source.INDEX)
