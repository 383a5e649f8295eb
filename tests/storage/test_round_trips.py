"""How many requests each operation makes to an object store, and how many of them wait for each other.

The longest chain of dependent requests decides how long an operation takes there. :data:`tests.storage.costs.COSTS` is
the table of all operations: a change that makes one cheaper or dearer has to change it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.metadata.entries import adds
from tests.metadata.stores import open_store
from tests.storage.costs import COSTS, World, rows, with_history, written_and_kept
from tests.storage.remote import Remote, open_remote

from lakebed import Lake, Table, changes
from lakebed.errors import CommitOutcomeUnknownError, LakebedError, NotFoundError, StorageError
from lakebed.format.schema.table_schema import create_schema
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.column_ddl import parse_columns
from lakebed.metadata.commit.commit import Change, Commit, append, commit
from lakebed.metadata.history import history_index
from lakebed.metadata.history.history_index import forget_indexes
from lakebed.metadata.manifests import SHARED_CACHE
from lakebed.metadata.one_look import one_look
from lakebed.metadata.store import TableStore
from lakebed.operations import write as write_operation
from lakebed.storage import run_all, run_both
from lakebed.storage.round_trips import RoundTrips, counting, note_request, run_together


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "warehouse"
    lake = open_remote(folder)
    plain = lake.create_table("db.plain", "id BIGINT, v STRING")
    for number in range(6):
        plain.write(rows(number))
    for name, options in {
        "keyed": {"bucket": 2},
        "vectors": {"bucket": 2, "deletion-vectors.enabled": True},
        "dynamic": {"bucket": -1},
    }.items():
        table = lake.create_table(f"db.{name}", "id BIGINT, v STRING", primary_key=["id"], options=options)
        for _ in range(2):
            table.write(rows())
    return folder


@pytest.fixture
def world(template: Path, tmp_path: Path) -> World:
    copy = shutil.copytree(template, tmp_path / "warehouse")
    return World(copy, open_remote(copy)).restarted()


# ------------------------------------------------------------------------------------------------ every operation


@pytest.mark.parametrize("name", COSTS)
def test_an_operation_costs_what_the_table_says(name: str, world: World) -> None:
    cost = COSTS[name]
    prepared = cost.prepare(world)
    with counting() as trips:
        cost.act(prepared)
    assert (trips.total, trips.longest_chain) == (cost.requests, cost.chain), f"{name}\n{trips}"


def test_the_table_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "storage.md").read_text()
    table = "\n".join(f"| {name} | {cost.requests} | {cost.chain} |" for name, cost in COSTS.items())
    assert f"| operation | requests | longest chain |\n|---|---|---|\n{table}\n\n" in page, table


# -------------------------------------------------------------------------------------------------------- commits


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RoundTrips]]:
    """The requests of each commit of a write, from when its data files are written until it is acknowledged."""
    counted: list[RoundTrips] = []

    def counting_commit(store: TableStore, request: Commit) -> Snapshot | None:
        with counting() as trips:
            made = commit(store, request)
        counted.append(trips)
        return made

    monkeypatch.setattr(write_operation, "commit", counting_commit)
    yield counted
    assert counted


def new_table(world: World) -> Table:
    return world.lake.create_table("db.new", "id BIGINT, v STRING")


def overtaken(world: World) -> Table:
    """A table to which another process commits after it was read."""
    table = world.warm()
    World(world.folder, Lake(str(world.folder), Remote(), {})).table().write(rows())
    SHARED_CACHE.clear()  # what the other process wrote is not in the memory of this one
    return table


def before_a_block_is_complete(world: World) -> Table:
    table = new_table(world)
    for _ in range(history_index.BLOCK - 2):
        table.write(rows(count=1))
    return table


def before_a_merge(world: World) -> Table:
    table = world.lake.create_table("db.merged", "id BIGINT, v STRING", options={"manifest.merge-min-count": 3})
    for _ in range(3):
        table.write(rows())
    return table


@pytest.mark.parametrize(
    ("prepare", "chain"),
    [
        (written_and_kept, 4),
        (World.warm, 4),
        (World.table, 5),
        (new_table, 4),
        (overtaken, 5),
        (before_a_block_is_complete, 4),
        (before_a_merge, 4),
        (lambda world: world.table("keyed"), 4),
    ],
    ids=["written", "read", "opened", "new", "overtaken", "a block of history", "a merge of manifests", "upsert"],
)
def test_a_commit_takes_at_most_five_round_trips(
    prepare: Callable[[World], Table], chain: int, world: World, commits: list[RoundTrips]
) -> None:
    table = prepare(world)
    commits.clear()
    table.write(rows())
    assert commits[0].longest_chain == chain, str(commits[0])


def test_a_commit_that_comes_while_data_files_are_written_is_noticed(world: World) -> None:
    """The write has looked up the latest snapshot before, and builds on it at first."""
    table = world.warm()
    before = len(table.snapshots())

    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows(1000).to_batches()
        World(world.folder, Lake(str(world.folder), Remote(), {})).table().write(rows(2000))

    made = table.write(pa.RecordBatchReader.from_batches(rows().schema, batches()))
    assert made is not None
    assert len(table.snapshots()) == before + 2
    found = table.scan(where="id >= 1000").to_arrow()["id"].to_pylist()
    assert sorted(found) == [*range(1000, 1010), *range(2000, 2010)]
    assert table.verify(deep=True).ok


# -------------------------------------------------------------------------------------------------------- history


def segments(table: Table) -> list[str]:
    return sorted(path.name for path in Path(table.path, ".lakebed").glob("*"))


def test_without_append_the_index_is_written_once_for_a_block(world: World) -> None:
    table = new_table(world)
    for number in range(1, 2 * history_index.BLOCK + 3):
        with counting() as trips:
            table.write(rows(count=1))
        noted = [path for kind, path, _ in trips.requests if kind == "put" and "/.lakebed/" in path]
        assert len(noted) == (number % history_index.BLOCK == history_index.BLOCK - 1), number
    assert segments(table) == ["history-0"]
    page = table.history(kind="APPEND", limit=200)
    assert [one.id for one in page] == list(range(2 * history_index.BLOCK + 2, 0, -1))
    assert str(page.source) == "index"


def test_a_missing_index_is_written_by_the_reader(world: World) -> None:
    table = with_history(world, 70)
    shutil.rmtree(Path(table.path, ".lakebed"))
    for source, requests in (("scan", 90), ("index", 20)):
        forget_indexes()
        with counting() as trips:
            page = table.history(kind="APPEND", limit=3)
        assert ([one.id for one in page], page.total, str(page.source)) == ([70, 69, 68], 70, source)
        assert trips.total <= requests, str(trips)
    assert segments(table) == ["history-0"]


def test_an_index_of_snapshots_that_were_rolled_back(world: World) -> None:
    table = with_history(world, 70)
    table.rollback_to(snapshot=60)
    for number in range(20):
        table.write(rows(count=1)) if number % 2 else table.overwrite(rows(count=1))
    for fresh in (True, False):
        if fresh:
            forget_indexes()
        page = table.history(kind="OVERWRITE", limit=100)
        assert [one.id for one in page] == list(range(79, 60, -2))


# ------------------------------------------------------------------------------------- tables that are dropped


def recreate(store: TableStore) -> None:
    """Drops a table and creates another one in its place, as an object store does it: file by file."""
    shutil.rmtree(store.paths.root)
    made = create_schema(parse_columns("id BIGINT, v STRING"), options={}, time_millis=1)
    assert open_store(store.paths.root).schemas.create(made)


class Dropped(Remote):
    """Drops the table in the moment between the last check of a commit and its snapshot."""

    def __init__(self, drop: Callable[[], object]) -> None:
        self._drop = drop

    def exists(self, path: str) -> bool:
        return "/bucket-" in path or super().exists(path)

    def create_exclusive(self, path: str, data: bytes, still: Any = None, *, sync: Any = None) -> bool:
        def still_and_gone() -> bool:
            good = still is None or still()
            if "/snapshot/" in path:
                self._drop()
            return bool(good)

        return super().create_exclusive(path, data, still_and_gone, sync=sync)


@pytest.mark.parametrize("again", [True, False])
def test_a_commit_does_not_stay_in_another_table(tmp_path: Path, again: bool) -> None:
    schema = create_schema(parse_columns("id BIGINT, v STRING"), options={}, time_millis=0)
    path = tmp_path / "t"
    assert open_store(path).schemas.create(schema)
    store = open_store(path, Dropped(lambda: recreate(store) if again else shutil.rmtree(path)))
    with pytest.raises(NotFoundError, match=r"dropped|does not exist"):
        commit(store, append(Change(entries=adds("a"))))
    assert open_store(path).snapshots.ids() == []
    assert not list(path.glob("snapshot/*"))


def test_a_snapshot_in_another_table_that_cannot_be_deleted_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t"
    schema = create_schema(parse_columns("id BIGINT, v STRING"), options={}, time_millis=0)
    assert open_store(path).schemas.create(schema)

    class Stubborn(Dropped):
        def delete(self, path: str) -> None:
            raise StorageError(f"cannot delete {path}: made to fail")

    store = open_store(path, Stubborn(lambda: recreate(store)))
    with pytest.raises(CommitOutcomeUnknownError, match=r"snapshot-1 is not part of that one .* delete it"):
        commit(store, append(Change(entries=adds("a"))))


def test_a_commit_stands_if_the_table_cannot_be_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert open_store(path).schemas.create(
        create_schema(parse_columns("id BIGINT, v STRING"), options={}, time_millis=0)
    )

    class Blind(Dropped):
        is_made = False

        def read(self, path: str) -> bytes:
            if self.is_made and path.endswith("schema-0"):
                raise LakebedError("cannot read: made to fail")
            return super().read(path)

    storage = Blind(lambda: setattr(storage, "is_made", True))
    made = commit(open_store(path, storage), append(Change(entries=adds("a"))))
    assert made is not None
    assert open_store(path).snapshots.ids() == [1]


# ---------------------------------------------------------------------------------------------- the counting itself


def test_calls_at_the_same_time_count_as_one() -> None:
    with counting() as trips:
        note_request("get", "a")
        run_all(Remote(), [partial(note_request, "head", name) for name in "bcd"])
        run_both(Remote(), partial(note_request, "put", "e"), partial(list, map(partial(note_request, "put"), "fg")))
        note_request("get", "h")
    assert (trips.total, trips.longest_chain) == (8, 5)
    assert dict(trips.by_kind) == {"get": 2, "head": 3, "put": 3}


def test_all_calls_run_before_an_error_is_raised() -> None:
    done = []

    def call(number: int) -> None:
        if number in {2, 3}:
            raise ValueError(f"call {number}")
        done.append(number)

    with pytest.raises(ValueError, match="call 2"):
        run_together([partial(call, number) for number in range(6)])
    assert sorted(done) == [0, 1, 4, 5]


def test_an_operation_looks_up_the_schema_once(world: World) -> None:
    store = world.warm()._store
    others = World(world.folder, Lake(str(world.folder), Remote(), {})).table()  # a storage is that of one process
    with one_look():
        before = store.schema()
        others.alter(changes.AddColumn("w", "STRING"))
        with counting() as trips:
            assert store.schema() is before
        assert trips.total == 0
        assert store.fresh_schema().field_names == ("id", "v", "w") == store.schema().field_names
    others.alter(changes.AddColumn("x", "STRING"))
    assert store.schema().field_names == ("id", "v", "w", "x")
