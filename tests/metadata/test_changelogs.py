"""Changelogs that outlive their snapshots: which are kept, which go, and with which files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metadata.crashes import at_every_step
from tests.metadata.entries import adds
from tests.metadata.needed_files import files_on_disk, needed_files
from tests.metadata.stores import new_store
from tests.operations.expire.small_histories import add, change, names_on_disk
from tests.places import stored_path

from lakebed.format.manifest.manifest import DELETE
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.branches import create_branch
from lakebed.metadata.changelogs import changelog_ids, find_changelog, remove_changelogs
from lakebed.metadata.consumers import reset_consumer
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag, drop_tag
from lakebed.operations.expire.expire_changelogs import ChangelogRetention, first_changelog_kept
from lakebed.operations.expire.expire_snapshots import Expiry, expire_snapshots
from lakebed.operations.fast_forward import fast_forward
from lakebed.operations.orphans import remove_orphan_files
from lakebed.operations.rollback import rollback_to
from lakebed.operations.verify import Problem
from lakebed.operations.verify.verify import verify
from lakebed.options import TableOptions

FUTURE = 2**50
OPTIONS = {
    "bucket": "1",
    "snapshot.num-retained.min": "2",
    "changelog.num-retained.min": "5",
    "write-only": "true",
}


def store_with(tmp_path: Path, **options: str) -> TableStore:
    return new_store(tmp_path / "t", options={**OPTIONS, **options})


def expire(store: TableStore, **more: Any) -> Expiry:
    return expire_snapshots(store, now_millis=FUTURE, **more)


def complaints(store: TableStore) -> list[Problem]:
    """What verify says, but for levels, which tables without keys do not have, and for files that will go later."""
    known = {"wrong-level", "unreferenced-data"}
    return [problem for problem in verify(store).problems if problem.code not in known]


def hint(store: TableStore, name: str) -> str:
    return stored_path(store.paths.changelogs, name).read_text()


def with_changelog(store: TableStore, number: int, kind: CommitKind = CommitKind.APPEND, **more: Any) -> None:
    name = f"changelog-{number}"
    stored_path(store.paths.bucket("", 0)).mkdir(parents=True, exist_ok=True)
    stored_path(store.paths.bucket("", 0), name).write_bytes(b"x" * 1000)
    change(store, kind, adds(f"data-{number}"), changelog=adds(name), **more)


def add_as(store: TableStore, producer: str, number: int) -> None:
    if producer == "input":
        with_changelog(store, number)
    else:
        add(store, f"data-{number}")


# ----------------------------------------------------------------------------------------------------- which ones go


@given(
    st.integers(1, 20),
    st.integers(0, 20),
    st.integers(0, 10),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(1, 10),
    st.one_of(st.none(), st.integers(1, 45)),
    st.lists(st.integers(0, 5), min_size=60, max_size=60),
    st.booleans(),
)
def test_the_rule(
    first: int,
    more: int,
    snapshots: int,
    retain_min: int,
    retain_max: int,
    limit: int,
    next_read: int | None,
    times: list[int],
    keep_last: bool,
) -> None:
    """As the fact sheet has it, one changelog at a time."""
    ids = list(range(first, first + more + 1))
    latest = ids[-1] + snapshots + 1
    wanted = ChangelogRetention(
        retain_min=retain_min, retain_max=retain_max, cutoff_millis=3, max_deletes=limit, keep_last=keep_last
    )
    found = first_changelog_kept(ids, latest, wanted, next_read, lambda number: times[number])
    expected = first
    while (
        expected <= ids[-1] - keep_last
        and expected < latest - retain_min + 1
        and expected < first + limit
        and (next_read is None or expected < next_read)
        and (expected < latest - retain_max + 1 or times[expected] < 3)
    ):
        expected += 1
    assert found == expected


def test_options_fall_back_to_those_of_snapshots() -> None:
    options = TableOptions({"snapshot.num-retained.min": "3", "snapshot.num-retained.max": "9"})
    kept = options.changelog_num_retained_min, options.changelog_num_retained_max, options.changelog_time_retained
    assert kept == (3, 9, 3600)
    assert not options.keeps_changelogs_longer
    for name, value in (("num-retained.min", "11"), ("num-retained.max", "20"), ("time-retained", "2 h")):
        assert TableOptions({"snapshot.num-retained.max": "19", f"changelog.{name}": value}).keeps_changelogs_longer
    assert not TableOptions({"changelog.time-retained": "30 min"}).keeps_changelogs_longer


def test_snapshots_leave_their_changelogs(tmp_path: Path) -> None:
    store = store_with(tmp_path, **{"changelog-producer": "input"})
    for number in range(1, 10):
        with_changelog(store, number)
    texts = {number: stored_path(store.paths.snapshot(number)).read_bytes() for number in range(1, 8)}
    done = expire(store)
    assert done.snapshots == tuple(range(1, 8))
    assert done.changelogs == (1, 2, 3, 4)
    assert store.snapshots.ids() == [8, 9]
    assert changelog_ids(store) == [5, 6, 7]
    assert {n: stored_path(store.paths.changelog(n)).read_bytes() for n in (5, 6, 7)} == {
        n: texts[n] for n in (5, 6, 7)
    }
    assert (hint(store, "EARLIEST"), hint(store, "LATEST")) == ("5", "7")
    assert names_on_disk(store) >= {f"changelog-{n}" for n in range(5, 10)}
    assert not names_on_disk(store) & {f"changelog-{n}" for n in range(1, 5)}
    assert files_on_disk(store) == needed_files(store)
    assert done.removal.by_kind()["changelog"] == (4, 4000)
    assert done.removal.by_kind()["long-lived changelog"][0] == 4
    assert not complaints(store)


def test_without_changelog_files_the_added_files_stay(tmp_path: Path) -> None:
    store = store_with(tmp_path)
    for number in range(1, 4):
        add(store, f"data-{number}")  # 1 to 3
    change(store, CommitKind.COMPACT, adds("data-c", level=5), adds("data-1", "data-2", "data-3"))  # 4
    change(store, CommitKind.COMPACT, adds("data-d", level=4), adds("data-c", level=5))  # 5
    add(store, "data-6")
    expire(store)
    assert store.snapshots.ids() == [5, 6]
    assert changelog_ids(store) == [2, 3, 4]
    # What a compaction wrote is no change: data-c goes at once. data-1 stays until the commit that deleted it is
    # forgotten.
    assert names_on_disk(store) == {"data-1", "data-2", "data-3", "data-d", "data-6"}
    assert not complaints(store)
    for number in range(7, 10):
        add(store, f"data-{number}")
    expire(store)
    assert changelog_ids(store) == [5, 6, 7]
    assert names_on_disk(store) == {"data-d", *(f"data-{n}" for n in range(6, 10))}
    assert files_on_disk(store) == needed_files(store)


def test_the_last_one_stays_while_they_outlive_snapshots(tmp_path: Path) -> None:
    store = store_with(tmp_path, **{"changelog.num-retained.min": "1", "changelog.time-retained": "2 h"})
    for number in range(1, 6):
        add(store, f"data-{number}")
    expire(store)
    assert changelog_ids(store) == [3]
    plain = store.with_options({"changelog.time-retained": "1 h"})
    assert expire(plain).changelogs == (3,)
    assert changelog_ids(store) == []
    assert not stored_path(store.paths.changelogs, "LATEST").exists()
    assert files_on_disk(store) == needed_files(store)


@pytest.mark.parametrize("producer", ["none", "input"])
def test_a_dry_run_tells_and_touches_nothing(producer: str, tmp_path: Path) -> None:
    store = store_with(tmp_path, **{"changelog-producer": producer})
    for number in range(1, 8):
        add_as(store, producer, number)
    expire(store)
    for number in range(8, 11):
        add_as(store, producer, number)
    before = {path: path.read_bytes() for path in stored_path(store.paths.root).rglob("*") if path.is_file()}
    told = expire(store, dry_run=True)
    assert {path: path.read_bytes() for path in stored_path(store.paths.root).rglob("*") if path.is_file()} == before
    assert told.snapshots == (6, 7, 8)
    assert told.changelogs == (3, 4)
    done = expire(store)
    assert {file.path for file in told.removal.files} <= {file.path for file in done.removal.files}
    assert done.changelogs == (3, 4, 5)


def test_consumers_hold_changelogs(tmp_path: Path) -> None:
    store = store_with(tmp_path, **{"consumer.changelog-only": "true"})
    for number in range(1, 10):
        add(store, f"data-{number}")
    reset_consumer(store, "reader", 3)
    expire(store)
    assert store.snapshots.ids() == [8, 9]
    assert changelog_ids(store) == list(range(3, 8))


# ------------------------------------------------------------------------------------------------- any history at all


@pytest.mark.parametrize("producer", ["none", "input"])
@pytest.mark.parametrize("seed", range(4))
def test_any_history(producer: str, seed: int, tmp_path: Path) -> None:
    """What is needed is there, and nothing else, but for files that a commit deleted whose changelog is still there."""
    merging = {"manifest.merge-min-count": "3", "changelog-producer": producer}
    store = store_with(tmp_path, **merging)
    random_ = random.Random(seed)
    live: list[tuple[str, int]] = []
    tags = 0
    for number in range(1, 26):
        match random_.choice(["append"] * 4 + ["compact", "upgrade", "overwrite", "tag", "untag", "expire", "expire"]):
            case "append" if producer == "input":
                with_changelog(store, number)
                live.append((f"data-{number}", 0))
            case "append":
                add(store, f"data-{number}")
                live.append((f"data-{number}", 0))
            case "compact" if live:
                gone = pa.concat_tables([adds(name, level=level) for name, level in live])
                change(store, CommitKind.COMPACT, adds(f"data-{number}", level=5), gone)
                live = [(f"data-{number}", 5)]
            case "upgrade" if live and live[-1][1] == 0:
                name = live.pop()[0]
                change(store, CommitKind.COMPACT, adds(name, level=3), adds(name))
                live.append((name, 3))
            case "overwrite" if live:
                gone = pa.concat_tables([adds(name, level=level) for name, level in live])
                change(store, CommitKind.OVERWRITE, adds(f"data-{number}"), gone)
                live = [(f"data-{number}", 0)]
            case "tag" if store.snapshots.ids():
                tags += 1
                create_tag(store, f"t{tags}", snapshot=random_.choice(store.snapshots.ids()))
            case "untag" if store.snapshots.tags():
                drop_tag(store, next(iter(store.snapshots.tags())))
            case "expire":
                expire(store)
        check(store)
    assert remove_orphan_files(store, older_than=FUTURE, dry_run=False, force=True).files is not None
    check(store)
    assert not complaints(store)


def check(store: TableStore) -> None:
    needed, there = needed_files(store), files_on_disk(store)
    assert needed <= there
    assert {stored_path(path).name for path in there - needed} <= deleted_since(store)
    ids, kept = store.snapshots.ids(), changelog_ids(store)
    assert [*kept, *ids] == list(range(min([*kept, *ids], default=1), (ids or [0])[-1] + 1))


def deleted_since(store: TableStore) -> set[str]:
    """Files that commits deleted whose changelogs have not expired; those kept for a changelog go with these."""
    found: set[str] = set()
    for number in [*changelog_ids(store), *store.snapshots.ids()[:1]]:
        commit = store.snapshots.find(number) or find_changelog(store, number)
        assert commit is not None
        if store.storage.exists(store.paths.manifest(commit.delta_manifest_list)):
            entries = store.manifests.read_entries(store.manifests.read_list(commit.delta_manifest_list))
            found |= set(entries.filter(pc.equal(entries["kind"], DELETE))["file_name"].to_pylist())
    return found


@pytest.mark.scales
@pytest.mark.parametrize("producer", ["none", "input"])
def test_failing_at_every_step(producer: str, tmp_path: Path) -> None:
    """Whenever it dies, every change is still there as a snapshot or a changelog, with its files; the next call goes
    on.
    """
    store = store_with(tmp_path, **{"changelog-producer": producer})
    for number in range(1, 6):
        add_as(store, producer, number)
    expire(store)
    for number in range(6, 8):
        add_as(store, producer, number)
    change(store, CommitKind.COMPACT, adds("data-c", level=5), adds("data-1", "data-2", "data-6"))

    def between(found: TableStore) -> None:
        assert needed_files(found) <= files_on_disk(found)
        assert {*found.snapshots.ids(), *changelog_ids(found)} >= set(range(4, 9))

    def after(found: TableStore) -> None:
        assert changelog_ids(found) == [4, 5, 6]
        assert found.snapshots.ids() == [7, 8]
        assert needed_files(found) <= files_on_disk(found)
        remove_orphan_files(found, older_than=FUTURE, dry_run=False, force=True)
        assert files_on_disk(found) == needed_files(found)

    assert at_every_step(tmp_path / "t", expire, between=between, after=after) > 20


# --------------------------------------------------------------------------------------------------- others know them


def test_orphan_removal_spares_them(tmp_path: Path) -> None:
    for producer in ("none", "input"):
        store = store_with(tmp_path / producer, **{"changelog-producer": producer})
        for number in range(1, 8):
            add_as(store, producer, number)
        change(store, CommitKind.COMPACT, adds("data-c", level=5), adds(*(f"data-{n}" for n in range(1, 8))))
        expire(store)
        before = needed_files(store)
        remove_orphan_files(store, older_than=FUTURE, dry_run=False, force=True)
        assert files_on_disk(store) == before
        assert "data-4" in names_on_disk(store) or producer == "input"


def test_a_rollback_takes_newer_ones_along(tmp_path: Path) -> None:
    store = store_with(tmp_path)
    for number in range(1, 4):
        add(store, f"data-{number}")
    create_tag(store, "t", snapshot=2)
    for number in range(4, 9):
        add(store, f"data-{number}")
    store = store.with_options({"changelog.num-retained.min": "20"})
    expire(store)
    assert changelog_ids(store) == [1, 2, 3, 4, 5, 6]
    assert rollback_to(store, tag="t").changelogs == (3, 4, 5, 6)
    assert changelog_ids(store) == [1, 2]
    assert hint(store, "EARLIEST") == "1"
    assert not stored_path(store.paths.changelogs, "LATEST").exists()


def test_a_fast_forward_takes_those_of_another_past_away(tmp_path: Path) -> None:
    store = store_with(tmp_path)
    for number in range(1, 4):
        add(store, f"data-{number}")
    create_tag(store, "t", snapshot=3)
    create_branch(store, "dev", tag="t")
    commit_on_branch(store.on_branch("dev"))
    for number in range(4, 9):
        add(store, f"data-{number}")
    store = store.with_options({"changelog.num-retained.min": "20"})
    expire(store)
    assert changelog_ids(store) == [1, 2, 3, 4, 5, 6]
    fast_forward(store, "dev")
    assert changelog_ids(store) == [1, 2]
    assert store.snapshots.ids() == [3, 4]


def commit_on_branch(branch: TableStore) -> None:
    add(branch, "data-branch")


def test_removing_all_takes_the_hints_away(tmp_path: Path) -> None:
    store = store_with(tmp_path)
    for number in range(1, 5):
        add(store, f"data-{number}")
    expire(store)
    remove_changelogs(store, changelog_ids(store))
    assert list(stored_path(store.paths.changelogs).iterdir()) == []


def test_verify_misses_their_files(tmp_path: Path) -> None:
    for producer, gone in (("none", "data-4"), ("input", "changelog-4")):
        store = store_with(tmp_path / producer, **{"changelog-producer": producer})
        for number in range(1, 8):
            add_as(store, producer, number)
        change(store, CommitKind.COMPACT, adds("data-c", level=5), adds(*(f"data-{n}" for n in range(1, 8))))
        expire(store)
        assert not complaints(store)
        stored_path(store.paths.bucket("", 0), gone).unlink()
        problems = complaints(store)
        assert any(gone in problem.where or gone in problem.what for problem in problems), problems
