"""The command line and the service on warehouses of an S3 store."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.servers.minio import MinIO
from tests.service.running import TABLES, act, get, refused, running
from typer.testing import CliRunner

import lakebed
from lakebed.catalogs.named_warehouses import NamedWarehouse
from lakebed.cli import app
from lakebed.errors import NotFoundError, StorageError
from lakebed.service import Settings
from lakebed.service.confined_storage import ConfinedStorage, Writes
from lakebed.storage import Storage, open_storage

SECRET = "hunter2-of-somebody"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "LAKEBED_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def bucket(minio: MinIO) -> str:
    return minio.create_bucket(f"b-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def warehouse(minio: MinIO, bucket: str) -> str:
    """A warehouse with a table ``db.t`` of three snapshots, and another warehouse beside it."""
    for name, word in (("wh", "plain"), ("wh2", "treasure")):
        lake = lakebed.connect(f"{bucket}/{name}", options=minio.options)
        lake.create_database("db")
        table = lake.create_table("db.t", "id INT, word STRING")
        for number in range(3):
            table.write([{"id": number, "word": word}])
    return f"{bucket}/wh"


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(args))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, " ".join(result.stderr.replace("│", " ").split())


def settings(minio: MinIO) -> list[str]:
    return [part for name, value in minio.options.items() for part in ("-o", f"{name}={value}")]


def test_commands(minio: MinIO, warehouse: str) -> None:
    given = ["-w", warehouse, *settings(minio)]
    assert "db" in run(*given, "databases")[1]
    for command in (
        ["tables", "--long"],
        ["show", "db.t"],
        ["snapshots", "db.t"],
        ["history", "db.t"],
        ["files", "db.t"],
        ["rows", "db.t"],
        ["diff", "db.t", "1", "2"],
        ["tags", "create", "db.t", "v1"],
        ["branches", "create", "db.t", "dev", "--tag", "v1"],
        ["branches", "db.t"],
        ["compact", "db.t"],
        ["expire", "db.t", "--retain-max", "1", "--retain-min", "1", "--yes"],
        ["orphans", "db.t"],
        ["verify", "--all", "--deep"],
        ["repair", "db.t"],
    ):
        code, _, err = run(*given, *command)
        assert code == 0, (command, err)
    code, out, _ = run("rows", "db.t", "-w", warehouse, *settings(minio), "--where", "id = 2")
    assert (code, "plain" in out) == (0, True)


def test_a_warehouse_is_never_made(minio: MinIO, bucket: str) -> None:
    code, out, err = run("-w", f"{bucket}/typo", *settings(minio), "tables")
    assert (code, out) == (4, "")
    assert f"there is no warehouse at {bucket}/typo" in err
    storage = open_storage(bucket, minio.options)
    assert list(storage.list_tree(bucket)) == []
    code, _, err = run("-w", "s3://no-such-bucket/x", *settings(minio), "tables")
    assert (code, "the bucket does not exist" in err) == (3, True)


def test_a_name_of_the_file(minio: MinIO, warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = "\n".join(f'"{name}" = "{value}"' for name, value in minio.options.items() if name != "s3.secret-key")
    text = (
        f'[warehouses.prod]\npath = "{warehouse}"\n[warehouses.prod.options]\n{options}\n"s3.secret-key" = "${{KEY}}"\n'
    )
    (tmp_path / "lakebed.toml").write_text(text)
    monkeypatch.setenv("KEY", minio.options["s3.secret-key"])
    (tmp_path / "lakebed.toml").chmod(0o600)
    assert "plain" in run("-w", "prod", "rows", "db.t")[1]
    monkeypatch.setenv("LAKEBED_WAREHOUSE", "prod")
    assert "plain" in run("rows", "db.t")[1]
    assert lakebed.connect("prod").table("db.t").count() == 3


# ------------------------------------------------------------------------------------------------------------ service


def test_the_service(minio: MinIO, warehouse: str, tmp_path: Path) -> None:
    local = lakebed.connect(tmp_path / "local")
    local.create_database("db")
    named = NamedWarehouse(warehouse, minio.options)
    with running(Settings({"demo": named, "here": str(tmp_path / "local")}, allow_actions=True)) as client:
        found = get(client, "/api/v1/warehouses")["items"]
        assert [(one["name"], one["path"], one["databases"], one["problem"]) for one in found] == [
            ("demo", warehouse, 1, None),
            ("here", str(tmp_path / "local"), 1, None),
        ]
        for path in (
            "",
            "/rows",
            "/snapshots",
            "/files",
            "/health",
            "/options",
            "/schemas",
            "/buckets",
        ):
            get(client, f"{TABLES}/t{path}")
        assert len(get(client, f"{TABLES}/t/rows")["rows"]) == 3
        get(client, f"{TABLES}/t/diff", before="1")
        assert act(client, "t", "compact", dry_run=False, full=True)["state"] == "succeeded"
        assert act(client, "t", "create-tag", dry_run=False, name="v1")["state"] == "succeeded"
        assert act(client, "t", "expire-snapshots", dry_run=False, retain_max=1, retain_min=1)["state"] == "succeeded"
        refused(client, f"{TABLES}/none", 404)


def test_a_storage_that_does_not_answer_is_the_problem_of_one_warehouse(minio: MinIO, warehouse: str) -> None:
    wrong = NamedWarehouse(warehouse, {**minio.options, "s3.secret-key": SECRET})
    with running(Settings({"demo": NamedWarehouse(warehouse, minio.options), "bad": wrong})) as client:
        good, bad = get(client, "/api/v1/warehouses")["items"]
        assert (good["databases"], good["problem"], bad["databases"]) == (1, None, None)
        assert "the credentials are missing or wrong" in bad["problem"]
        message = refused(client, "/api/v1/warehouses/bad/databases", 503)
        assert "the credentials are missing or wrong" in message
        assert SECRET not in message + bad["problem"]


def test_serve_checks_the_storage_first(minio: MinIO, warehouse: str) -> None:
    given = {**minio.options, "s3.secret-key": SECRET}
    code, _, err = run("serve", warehouse, *(part for item in given.items() for part in ("-o", "=".join(item))))
    assert (code, "the credentials are missing or wrong" in err, SECRET in err) == (3, True, False)


# -------------------------------------------------------------------------------------------------------- confinement


def test_nothing_beside_the_warehouse_is_reached(minio: MinIO, warehouse: str) -> None:
    inner = open_storage(warehouse, minio.options)
    storage = ConfinedStorage(warehouse, Writes.EVERYTHING, inner)
    other = warehouse.replace("/wh", "/wh2")
    hidden = next(path for path, _ in inner.list_tree(other) if path.endswith(".parquet"))
    inside = hidden.replace("/wh2/", "/wh/../wh2/")
    files = storage.arrow_filesystem()
    for path in (hidden, inside, f"{warehouse}/./x", f"{warehouse}//x", f"{warehouse}/a\\b", "/etc/passwd", "gs://b/x"):
        assert not storage.is_inside(path)
        assert not storage.exists(path)
        assert storage.stamp(path) is None
        assert storage.list(path) == []
        assert list(storage.list_tree(path)) == []
        calls: list[Any] = [
            lambda path=path: storage.read(path),
            lambda path=path: storage.read_stamped(path),
            lambda path=path: storage.read_range(path, 0, 1),
            lambda path=path: storage.size(path),
            lambda path=path: storage.open_ranges(path),
            lambda path=path: storage.write(path, b""),
            lambda path=path: storage.delete(path),
            lambda path=path: storage.delete_many([path]),
            lambda path=path: storage.delete_tree(path),
            lambda path=path: storage.copy(path, f"{warehouse}/x"),
            lambda path=path: storage.copy(f"{warehouse}/x", path),
            lambda path=path: files.open_input_file(path),
            lambda path=path: files.open_output_stream(path),
        ]
        for call in calls:
            with pytest.raises(NotFoundError, match="leads out"):
                call()
    table = storage.below(f"{warehouse}/db.db/t")
    assert not table.is_inside(f"{warehouse}/db.db/t2/x")
    assert table.is_inside(f"{warehouse}/db.db/t/schema/schema-0")
    assert inner.exists(hidden)


def test_a_read_only_service_writes_nothing(minio: MinIO, warehouse: str) -> None:
    storage = ConfinedStorage(warehouse, Writes.NOTHING, open_storage(warehouse, minio.options))
    with pytest.raises(StorageError, match="read-only"):
        storage.write(f"{warehouse}/x", b"")
    with pytest.raises(StorageError, match="read-only"):
        storage.delete_many([f"{warehouse}/x"])
    inner = open_storage(warehouse, minio.options)
    before = sorted(path for path, _ in inner.list_tree(warehouse))
    with running(Settings({"demo": NamedWarehouse(warehouse, minio.options)}, read_only=True)) as client:
        get(client, f"{TABLES}/t/snapshots")
        get(client, f"{TABLES}/t/health?orphans=true")
    assert sorted(path for path, _ in inner.list_tree(warehouse)) == before


def test_every_operation_of_a_storage_is_confined() -> None:
    operations = {name for name, value in vars(Storage).items() if callable(value) and not name.startswith("_")}
    assert operations <= set(vars(ConfinedStorage))
