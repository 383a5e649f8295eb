"""Writers with the same new keys in a table with dynamic buckets: one row per key, nothing lost, and the index is
right.
"""

from __future__ import annotations

import os

import pytest
from tests.metadata.stores import check_tidy
from tests.places import stored_path
from tests.races import dynamic_workers
from tests.races.crew import together
from tests.races.dynamic_workers import Write
from tests.rows.keyed.keyed_tables import check_sound

from lakebed import Lake, Table
from lakebed.format.snapshot import CommitKind

WRITES = int(os.environ.get("LAKEBED_RACE_WRITES", "4"))
KEYS = list(range(60))
KINDS: dict[str, dict[str, str]] = {
    "plain": {},
    "spread": {"dynamic-bucket.initial-buckets": "3", "changelog-producer": "input"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "large": {"dynamic-bucket.target-row-num": "16", "write-only": "true"},
}


@pytest.fixture
def table(request: pytest.FixtureRequest, lake: Lake) -> Table:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "7", "num-sorted-run.compaction-trigger": "3"}
    chosen = KINDS[getattr(request, "param", "plain")]
    columns = "p INT, k INT, writer INT, n INT"
    return lake.create_table("db.t", columns, partition_by=["p"], primary_key=["p", "k"], options={**options, **chosen})


def warehouse_of(table: Table) -> str:
    return str(stored_path(table.path).parent.parent)


def shown(table: Table) -> dict[int, tuple[int, int]]:
    """The current rows, each key once, and each found by its key alone."""
    table.compact()
    found = {}
    for row in table.scan().to_arrow().to_pylist():
        assert row["k"] not in found, f"key {row['k']} has two rows"
        found[row["k"]] = (row["writer"], row["n"])
    for key, value in list(found.items())[::7]:
        (one,) = table.scan(["writer", "n"], where=f"k = {key}").to_arrow().to_pylist()
        assert (one["writer"], one["n"]) == value
    return found


def check_whole(table: Table) -> None:
    """Indexes and rows fit each other in every snapshot that is left, and no file is left that nobody needs."""
    report = table.verify(deep=True)
    assert [problem for problem in report.problems if problem.code != "overlapping-sequences"] == [], str(report)
    check_sound(table)
    check_tidy(table.path)
    assert table.remove_orphan_files(older_than="2999-01-01", dry_run=True).files == ()


def candidates(key: int, done: list[list[Write]]) -> set[tuple[int, int]]:
    """What may be the last write of a key: none that was visible before another one of it began."""
    writes = [(writer, write) for writer, own in enumerate(done) for write in own if key in write.keys]
    return {
        (writer, write.number) for writer, write in writes if not any(other.began >= write.made for _, other in writes)
    }


@pytest.mark.parametrize(
    ("table", "writers", "full"),
    [
        ("plain", 2, False),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ("plain", 2, True),
                ("spread", 4, False),
                ("vectors", 4, True),
                ("plain", 8, False),
                ("plain", 8, True),
            )
        ),
    ],
    indirect=["table"],
)
def test_the_same_new_keys(table: Table, writers: int, full: bool) -> None:
    if full:
        table.write(dynamic_workers.rows(KEYS[::2], -1, -1))
    tasks = [(dynamic_workers.upsert, (warehouse_of(table), writer, KEYS, WRITES)) for writer in range(writers)]
    done: list[list[Write]] = together(tasks)
    found = shown(table)
    written = {key for own in done for write in own for key in write.keys}
    assert set(found) == written | set(KEYS[::2] if full else ())
    for key in written:
        assert found[key] in candidates(key, done), key
    check_whole(table)
    assert any(write.made > write.began + 1 for own in done for write in own), "the writers did not race"


@pytest.mark.parametrize(
    ("table", "upserters"), [("large", 1), pytest.param("large", 2, marks=pytest.mark.long)], indirect=["table"]
)
def test_overwrites_that_remap_keys(table: Table, upserters: int) -> None:
    """An upsert that lands after an overwrite finds its keys in other buckets, or nowhere; each is there once, and
    newer.
    """
    table.write(dynamic_workers.rows(KEYS, -1, -1))
    writers = [(dynamic_workers.upsert, (warehouse_of(table), writer, KEYS, WRITES)) for writer in range(upserters)]
    replacer = upserters
    done: list[list[Write]] = together(
        [*writers, (dynamic_workers.overwrite, (warehouse_of(table), replacer, KEYS, upserters))]
    )
    found = shown(table)
    last = done[replacer][-1]
    later = {key for own in done[:replacer] for write in own if write.made > last.made for key in write.keys}
    assert set(found) == set(last.keys) | later
    for key, (writer, number) in found.items():
        if key in later:
            write = next(write for write in done[writer] if write.number == number)
            assert writer != replacer, f"key {key} shows the row that an upsert replaced"
            assert write.made > last.made
        else:
            assert (writer, number) == (replacer, last.number)
    check_whole(table)
    kinds = [snapshot.commit_kind for snapshot in table.snapshots()]
    assert kinds.count(CommitKind.OVERWRITE) == len(done[replacer])
