"""A known secret goes in, and is then looked for everywhere: it must appear nowhere."""

from __future__ import annotations

import json
import logging
import os
import traceback
import uuid
from pathlib import Path
from types import TracebackType

import pytest
from tests.servers.minio import ACCESS_KEY, SECRET_KEY, MinIO
from tests.service.running import TABLES, running
from typer.testing import CliRunner

import lakebed
from lakebed import LakebedError, OptionError, changes
from lakebed.catalogs.named_warehouses import NamedWarehouse
from lakebed.cli import app
from lakebed.metadata.store import TableStore
from lakebed.service import Settings, create_app
from lakebed.storage import open_storage

PARAMETERS = {
    "warehouse": "demo",
    "database": "db",
    "table": "t",
    "snapshot": "1",
    "snapshot_id": "1",
    "job": "x",
    "job_id": "x",
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "LAKEBED_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def warehouse(minio: MinIO) -> str:
    path = f"{minio.create_bucket(f'b-{uuid.uuid4().hex[:12]}')}/wh"
    lake = lakebed.connect(path, options=minio.options)
    lake.create_database("db")
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    return path


def is_clean(text: str) -> bool:
    return SECRET_KEY not in text and "hunter2" not in text


def locals_of(trace: TracebackType | None) -> str:
    """What a tool that prints local variables shows of the frames of Lakebed."""
    shown = []
    while trace is not None:
        if "/lakebed/" in trace.tb_frame.f_code.co_filename:
            shown += [repr(value) for value in trace.tb_frame.f_locals.values()]
        trace = trace.tb_next
    return " ".join(shown)


def test_objects(minio: MinIO, warehouse: str) -> None:
    lake = lakebed.connect(warehouse, options=minio.options)
    table = lake.table("db.t")
    storage = open_storage(warehouse, minio.options)
    scan = table.scan()
    things: list[object] = [
        lake,
        vars(lake),
        table,
        scan,
        scan.explain(),
        table.options,
        table.schema,
        storage,
        vars(storage),
    ]
    things += [
        table.history(),
        lake.system_table("db.t$options").scan().to_arrow().to_pylist(),
        table.verify(deep=True),
    ]
    things += [value for value in vars(table).values() if isinstance(value, TableStore)]
    for thing in things:
        assert is_clean(f"{thing!r} {thing}"), type(thing)


def test_files(minio: MinIO, warehouse: str) -> None:
    storage = open_storage(warehouse, minio.options)
    paths = [path for path, _ in storage.list_tree(warehouse)]
    assert paths
    for path in paths:
        content = storage.read(path)
        assert SECRET_KEY.encode() not in content
        assert ACCESS_KEY.encode() + b'"' not in content


@pytest.mark.parametrize(
    "more",
    [
        {"s3.secret-key": "hunter2-hunter2"},
        {"s3.session-token": "hunter2"},
        {"s3.region": "wrong-1"},
        {"s3.endpoint": "http://127.0.0.1:1", "storage.max-retries": "0"},
        {"s3.endpoint": "nonsense nonsense"},
        {"s3.sse": "nonsense"},
        {"s3.bucket": "x"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_errors_and_their_tracebacks(
    minio: MinIO, warehouse: str, more: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    given = {**minio.options, **more}
    try:
        lakebed.connect(warehouse, options=given).table("db.t").write([{"id": 2}])
    except LakebedError as error:
        caught = error
    assert is_clean(str(caught))
    assert is_clean("".join(traceback.format_exception(caught)))
    assert is_clean(locals_of(caught.__traceback__))
    cause = caught.__cause__
    while cause is not None:
        assert is_clean(str(cause))
        cause = cause.__cause__
    assert is_clean(caplog.text)


def test_tables_refuse_settings_of_the_storage(minio: MinIO, warehouse: str) -> None:
    lake = lakebed.connect(warehouse, options=minio.options)
    for name in (
        "s3.secret-key",
        "fs.s3a.secret.key",
        "s3.secretkey",
        "fs.azure.account.key.a",
        "fs.oss.endpoint",
        "my-password",
    ):
        for call in (
            lambda name=name: lake.create_table("db.u", "id INT", options={name: "hunter2"}),
            lambda name=name: lake.table("db.t").alter(changes.SetOption(name, "hunter2")),
            lambda name=name: lake.table("db.t", options={name: "hunter2"}),
        ):
            with pytest.raises(OptionError, match="a setting of the storage, which belongs to the warehouse") as caught:
                call()
            assert is_clean(str(caught.value))
    assert lake.tables("db") == ["t"]


def test_answers_of_the_service(minio: MinIO, warehouse: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings = Settings(
        {
            "demo": NamedWarehouse(warehouse, minio.options),
            "bad": NamedWarehouse(warehouse, {**minio.options, "s3.secret-key": "hunter2-hunter2"}),
        }
    )
    assert is_clean(repr(settings))
    document = create_app(settings).openapi()
    assert is_clean(str(document))
    with running(settings) as client:
        paths = [path.format(**PARAMETERS, action="x") for path, found in document["paths"].items() if "get" in found]
        assert len(paths) > 15
        paths += [path.replace("/demo/", "/bad/") for path in paths]
        for path in [*paths, "/", "/metrics", "/healthz", "/api/v1/openapi.json", f"{TABLES}/t/rows?where=nonsense(("]:
            response = client.get(path)
            assert is_clean(response.text + str(response.headers)), path
    assert is_clean(caplog.text)


def test_a_secret_that_another_engine_stored_in_a_table(tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    schema = tmp_path / "wh" / "db.db" / "t" / "schema" / "schema-0"
    content = json.loads(schema.read_text())
    content["options"] |= {"fs.s3a.secret.key": "hunter2", "note": "shown"}
    schema.write_text(json.dumps(content))
    with running(Settings({"demo": str(tmp_path / "wh")})) as client:
        for path in ("/options", "/schemas", "", "/health"):
            assert is_clean(client.get(f"{TABLES}/t{path}").text), path
        assert "shown" in client.get(f"{TABLES}/t/options").text
    result = CliRunner().invoke(app, ["-w", str(tmp_path / "wh"), "show", "db.t"])
    assert is_clean(result.output)
    assert "shown" in result.output


def test_the_command_line(minio: MinIO, warehouse: str) -> None:
    given = [
        part
        for item in {**minio.options, "s3.secret-key": "hunter2-hunter2"}.items()
        for part in ("-o", "=".join(item))
    ]
    for command in (
        ["tables"],
        ["rows", "db.t"],
        ["tables", "-o", "s3.sekret-key=hunter2"],
        ["tables", "-o", "hunter2"],
    ):
        result = CliRunner().invoke(app, ["-w", warehouse, *given, *command])
        assert result.exit_code in {2, 3}
        assert is_clean(result.output + result.stderr)
