"""Nothing outside of a warehouse can be reached, whatever names, links and manifests say."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.operations.verify.damage import Surgeon
from tests.service.conftest import Serve
from tests.service.running import TABLES, get, refused, sentence

import lakebed
from lakebed.errors import NotFoundError, StorageError
from lakebed.metadata.manifests import SHARED_CACHE
from lakebed.service.confined_storage import ConfinedStorage, Writes

NAMES = [
    "..",
    "../..",
    "..%2f..%2fetc",
    "%2e%2e",
    "%2e%2e%2f%2e%2e",
    "..%5c..",
    "%00",
    "t%00",
    "t%00.txt",
    ".",
    ".hidden",
    "t%2f..%2ft",
    "%2fetc%2fpasswd",
    "t$snapshots",
    "t$branch_..%2f..",
    "t%24files",
    "..;",
    "%c0%ae%c0%ae",
    "%ff",
    "%ed%a0%80",
    "a" * 300,
    "t/../../../secret",
]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A warehouse beside the served one, with something to steal."""
    lake = lakebed.connect(tmp_path / "outside")
    lake.create_database("db")
    lake.create_table("db.secret", "id INT, word STRING").write([{"id": 1, "word": "treasure"}])
    return tmp_path / "outside"


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "wh"
    lake = lakebed.connect(folder)
    lake.create_database("db")
    lake.create_table("db.t", "id INT, word STRING").write([{"id": 1, "word": "plain"}])
    return folder


def raw(client: object, path: str) -> tuple[int, str]:
    """Ask for a path exactly as it is written; clients would tidy it up."""
    place = urlsplit(str(getattr(client, "base_url")))  # noqa: B009 - an httpx.Client
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
    try:
        connection.putrequest("GET", path, skip_accept_encoding=True)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def paths_with(name: str) -> list[str]:
    value = name.replace("/", "%2f")
    return [
        f"{TABLES}/{name}",
        f"{TABLES}/{name}/rows",
        f"/api/v1/warehouses/demo/databases/{name}/tables/t",
        f"/api/v1/warehouses/{name}/databases",
        f"{TABLES}/t?branch={value}",
        f"{TABLES}/t/rows?version={value}",
        f"{TABLES}/t/files?version={value}",
        f"{TABLES}/t/diff?before={value}",
        f"/api/v1/jobs/{name}",
        f"/assets/{name}",
        f"/{name}.js",
        f"/api/v1/../../{name}.json",
    ]


def test_names_that_lead_elsewhere(serve: Serve, inside: Path, outside: Path) -> None:
    client = serve()
    del inside, outside
    for name in NAMES:
        for path in paths_with(name):
            status, text = raw(client, path)
            assert status in {400, 404, 422}, (path, status, text)
            assert "treasure" not in text


def test_links_that_lead_out_are_not_there(serve: Serve, inside: Path, outside: Path) -> None:
    (inside / "db.db" / "linked").symlink_to(outside / "db.db" / "secret")
    (inside / "stolen.db").symlink_to(outside / "db.db")
    client = serve()
    tables = get(client, "/api/v1/warehouses/demo/tables")["items"]
    assert [(one["database"], one["name"]) for one in tables] == [("db", "t")]
    for path in (
        f"{TABLES}/linked",
        f"{TABLES}/linked/rows",
        "/api/v1/warehouses/demo/databases/stolen/tables/secret/rows",
    ):
        refused(client, path, 404)
    (inside / "db.db" / "t" / "branch").mkdir()
    (inside / "db.db" / "t" / "branch" / "branch-b").symlink_to(outside / "db.db" / "secret")
    assert "treasure" not in client.get(f"{TABLES}/t/rows", params={"branch": "b"}).text
    assert client.get(f"{TABLES}/t/rows", params={"branch": "b"}).status_code in {400, 404}


def test_links_that_stay_inside_are_fine(serve: Serve, inside: Path) -> None:
    (inside / "db.db" / "again").symlink_to(inside / "db.db" / "t")
    assert get(serve(), f"{TABLES}/again/rows")["rows"] == [[1, "plain"]]


def test_a_warehouse_may_itself_be_a_link(serve: Serve, inside: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(inside)
    client = serve(warehouses={"demo": str(tmp_path / "link")})
    assert get(client, f"{TABLES}/t/rows")["rows"] == [[1, "plain"]]


def test_a_data_file_that_is_a_link(serve: Serve, inside: Path, outside: Path) -> None:
    (mine,) = (inside / "db.db" / "t").rglob("data-*.parquet")
    (theirs,) = outside.rglob("data-*.parquet")
    mine.unlink()
    mine.symlink_to(theirs)
    client = serve()
    assert "leads out of the warehouse" in refused(client, f"{TABLES}/t/rows", 404)


def test_a_snapshot_file_that_is_a_link(serve: Serve, inside: Path, outside: Path) -> None:
    mine = inside / "db.db" / "t" / "snapshot" / "snapshot-1"
    mine.unlink()
    mine.symlink_to(outside / "db.db" / "secret" / "snapshot" / "snapshot-1")
    response = serve().get(f"{TABLES}/t/rows")
    assert response.status_code in {200, 404}
    assert "treasure" not in response.text


def test_actions_do_not_write_through_links(serve: Serve, inside: Path, outside: Path) -> None:
    (inside / "db.db" / "t" / "tag").symlink_to(outside)
    before = sorted(outside.rglob("*"))
    client = serve(allow_actions=True)
    response = client.post(f"{TABLES}/t/actions/create-tag", json={"name": "x", "dry_run": False})
    job = response.json()
    while job["state"] in {"queued", "running"}:
        job = get(client, f"/api/v1/jobs/{job['id']}")
    assert job["state"] == "failed"
    assert "leads out" in job["error"]
    assert sorted(outside.rglob("*")) == before


@pytest.mark.parametrize("writes", [Writes.NOTHING, Writes.HISTORY_INDEX])
def test_read_only_storage(tmp_path: Path, writes: Writes) -> None:
    (tmp_path / "t" / ".lakebed").mkdir(parents=True)
    path, index = str(tmp_path / "t" / "f"), str(tmp_path / "t" / ".lakebed" / "history-0")
    storage = ConfinedStorage(str(tmp_path), writes)
    calls: list[Callable[[], object]] = [
        lambda: storage.write(path, b""),
        lambda: storage.create_exclusive(path, b""),
        lambda: storage.replace(path, b""),
        lambda: storage.append(path, b""),
        lambda: storage.delete(path),
        lambda: storage.delete_tree(path),
        lambda: storage.delete_empty_folder(path),
        lambda: storage.make_folder(path),
        lambda: storage.rename_folder(path, f"{path}2"),
        lambda: storage.append(f"{index}/../../g", b""),
        lambda: storage.arrow_filesystem().open_output_stream(path),
        lambda: storage.arrow_filesystem().delete_file(path),
        lambda: storage.arrow_filesystem().create_dir(path),
    ]
    for call in calls:
        with pytest.raises(StorageError, match="read-only"):
            call()
    if writes is Writes.NOTHING:
        with pytest.raises(StorageError, match="read-only"):
            storage.append(index, b"x")
    else:
        storage.append(index, b"x")
    ConfinedStorage(str(tmp_path), Writes.EVERYTHING).write(path, b"x")
    assert (tmp_path / "t" / "f").read_bytes() == b"x"


def test_storage_does_not_reach_what_lies_beside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "f").write_bytes(b"secret")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "inner" / "p.parquet")
    storage = ConfinedStorage(str(tmp_path / "in"), Writes.EVERYTHING)
    for path in (str(tmp_path / "inner" / "f"), f"{tmp_path}/in/../inner/f", "/etc/passwd", f"{tmp_path}/in/\0"):
        assert not storage.exists(path)
        assert storage.stamp(path) is None
        assert storage.list(path) == []
        for call in (
            lambda path=path: storage.read(path),
            lambda path=path: storage.read_range(path, 0, 1),
            lambda path=path: storage.size(path),
            lambda path=path: storage.write(path, b""),
            lambda path=path: storage.delete_tree(path),
            lambda path=path: storage.rename_folder(f"{tmp_path}/in/x", path),
        ):
            with pytest.raises(NotFoundError, match="leads out"):
                call()
    with pytest.raises(NotFoundError, match="leads out"):
        pq.read_table(str(tmp_path / "inner" / "p.parquet"), filesystem=storage.arrow_filesystem())


def test_sentences_name_what_was_asked(serve: Serve, inside: Path) -> None:
    del inside
    client = serve()
    assert "'t$snapshots' is not the name of a table" in sentence(client.get(f"{TABLES}/t$snapshots"), 404)


# ------------------------------------------------------------------------------------------ within one warehouse


def finished(client: httpx.Client, action: str, **asked: object) -> Any:
    job = client.post(f"{TABLES}/t/actions/{action}", json={"dry_run": False, **asked}).json()
    while job["state"] in {"queued", "running"}:
        job = get(client, f"/api/v1/jobs/{job['id']}")
    return job


@pytest.fixture
def neighbour(inside: Path) -> Path:
    """The data file of another table of the same warehouse, and two more snapshots of the first table."""
    lake = lakebed.connect(inside)
    lake.create_table("db.other", "id INT, word STRING").write([{"id": 1, "word": "treasure"}])
    table = lake.table("db.t")
    table.delete("id = 1")
    table.write([{"id": 2, "word": "plain"}])
    (path,) = (inside / "db.db" / "other").rglob("data-*.parquet")
    return path


@pytest.mark.parametrize("change", ["file_name", "external_path"])
def test_an_action_stays_in_its_table(serve: Serve, inside: Path, neighbour: Path, change: str) -> None:
    """A manifest that leads to another table: nothing of that table is read or deleted."""
    surgeon = Surgeon(lakebed.connect(inside).table("db.t"))
    bad = str(neighbour) if change == "external_path" else f"../../other/bucket-0/{neighbour.name}"
    for number in (2, 1):
        surgeon.change_entries(number, lambda row: {**row, change: bad})
    SHARED_CACHE.clear()
    client = serve(allow_actions=True)
    job = finished(client, "expire-snapshots", retain_max=1, retain_min=1, older_than="0 s")
    assert job["state"] == "failed"
    assert neighbour.exists()
    surgeon.change_entries(3, lambda row: {**row, change: bad})
    SHARED_CACHE.clear()
    assert "treasure" not in client.get(f"{TABLES}/t/rows").text


def test_a_link_to_another_table(serve: Serve, inside: Path, neighbour: Path) -> None:
    table = lakebed.connect(inside).table("db.t")
    path = Surgeon(table).file_of(3)
    path.unlink()
    path.symlink_to(neighbour)
    client = serve(allow_actions=True)
    assert "leads out of the warehouse or of its table" in refused(client, f"{TABLES}/t/rows", 404)
    finished(client, "expire-snapshots", retain_max=1, retain_min=1, older_than="0 s")
    assert neighbour.exists()
