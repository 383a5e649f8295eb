from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.metadata.stores import Failing, Interrupted, Logged, new_store, open_store
from tests.places import stored_path

from lakebed.errors import CommitConflictError, CorruptError, NotFoundError, StorageError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.store import TableStore


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return new_store(tmp_path / "t")


def next_schema(schema: TableSchema) -> TableSchema:
    return replace(schema, id=schema.id + 1, comment=f"{schema.id + 1}")


def test_there_is_no_table_without_a_schema(tmp_path: Path) -> None:
    store = open_store(tmp_path / "nothing")
    assert store.schemas.ids() == []
    assert store.schemas.latest() is None
    with pytest.raises(NotFoundError, match=r"table db\.t does not exist at .*/nothing"):
        store.schema()
    with pytest.raises(NotFoundError, match=r"there is no table at .*/nothing"):
        store.schemas.change(next_schema)


def test_schemas_are_added_and_found(store: TableStore) -> None:
    assert store.schemas.ids() == [0]
    for _ in range(12):
        store.schemas.change(next_schema)
    assert store.schemas.ids() == list(range(13))
    assert store.schemas.get(9).comment == "9"
    assert store.schema().id == 12


def test_a_schema_is_created_once(store: TableStore) -> None:
    changed = next_schema(store.schema())
    assert store.schemas.create(changed)
    assert not store.schemas.create(replace(changed, comment="other"))
    assert open_store(store.paths.root).schema().comment == "1"


def test_the_latest_follows_what_others_add(store: TableStore) -> None:
    assert store.schema().id == 0
    other = open_store(store.paths.root)
    for _ in range(3):
        other.schemas.change(next_schema)
    assert store.schema().id == 3


def test_a_schema_that_was_read_is_not_read_again(store: TableStore) -> None:
    logged = Logged()
    again = open_store(store.paths.root, logged)
    for _ in range(3):
        again.schemas.get(0)
        again.schema()
    assert logged.names("read_stamped") == ["schema-0"]
    assert logged.names("list") == []


def test_a_lost_race_is_tried_again_on_the_new_schema(store: TableStore) -> None:
    racing = Interrupted(*[lambda: store.schemas.change(next_schema)] * 3)
    changed = open_store(store.paths.root, racing).schemas.change(next_schema)
    assert changed.id == 4
    assert store.schemas.ids() == [0, 1, 2, 3, 4]


def test_a_race_that_never_ends_is_given_up(store: TableStore) -> None:
    racing = Interrupted(*[lambda: store.schemas.change(next_schema)] * 5)
    with pytest.raises(CommitConflictError, match="keeps changing"):
        open_store(store.paths.root, racing).schemas.change(next_schema, attempts=5)
    assert store.schema().id == 5


def test_a_change_that_changes_nothing_adds_nothing(store: TableStore) -> None:
    assert store.schemas.change(lambda schema: schema).id == 0
    assert store.schemas.ids() == [0]


def test_a_missing_schema_is_named(store: TableStore) -> None:
    with pytest.raises(NotFoundError, match=r"schema 7 does not exist \(.*/t/schema/schema-7\)"):
        store.schemas.get(7)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\xfe"])
def test_a_damaged_schema_is_named(store: TableStore, content: bytes) -> None:
    stored_path(store.paths.schema(1)).write_bytes(content)
    with pytest.raises(CorruptError, match="/t/schema/schema-1"):
        open_store(store.paths.root).schema()


def test_other_files_are_not_schemas(store: TableStore) -> None:
    for name in ("schema-1.tmp", "schema-x", "schema-01", ".schema-5.tmp", "readme"):
        stored_path(store.paths.schemas, name).write_text("{}")
    assert open_store(store.paths.root).schema().id == 0


def test_a_lost_acknowledgement_is_found_out(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    storage = Failing(10**9, after=True)
    failing = open_store(tmp_path / "t", storage)
    failing.schema()
    changed = replace(store.schema(), id=1, comment="new")
    storage._fail_at = storage.calls + 1
    assert failing.schemas.create(changed)
    assert storage.failed == ["create_exclusive"]
    assert open_store(tmp_path / "t").schema().comment == "new"
    storage._fail_at = storage.calls + 1
    storage._after = False
    with pytest.raises(StorageError):
        failing.schemas.create(replace(changed, id=2))
