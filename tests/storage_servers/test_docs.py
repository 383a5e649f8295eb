"""The examples of docs/storage.md and of the README on a bucket; its tables of settings are current."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from tests.doc_examples import ROOT, blocks, run_console
from tests.servers.minio import ACCESS_KEY, REGION, SECRET_KEY, MinIO

import lakebed
from lakebed.catalogs.named_warehouses import all_warehouses
from lakebed.catalogs.warehouse_options import check_warehouse_options
from lakebed.storage.location import parse_location
from lakebed.storage.option_markdown import to_markdown
from lakebed.storage.storage_options import hadoop_settings, object_settings

PAGE = ROOT / "docs" / "storage.md"


@pytest.fixture
def server(minio: MinIO, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MinIO:
    for name in list(os.environ):
        if name.startswith(("AWS_", "LAKEBED_")):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio.url)
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.chdir(tmp_path)
    return minio


def on_server(server: MinIO, text: str, bucket: str) -> str:
    """An example with the address, the keys and the bucket of the test."""
    text = text.replace("my-bucket", bucket).replace("http://localhost:9000", server.url)
    return text.replace("my-access-key", ACCESS_KEY).replace("my-secret-key", SECRET_KEY)


def test_the_examples_of_the_page(server: MinIO) -> None:
    server.create_bucket("of-the-page")
    names: dict[str, object] = {}
    for language, block in blocks(PAGE):
        text = on_server(server, block, "of-the-page")
        if language == "python":
            exec(compile(text, str(PAGE), "exec"), names)
        else:
            run_console(text)


def test_the_example_of_the_readme(server: MinIO) -> None:
    server.create_bucket("of-the-readme")
    (block,) = re.findall(
        r"^```python s3\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL
    )
    names: dict[str, object] = {"lakebed": lakebed}
    exec(compile(on_server(server, block, "of-the-readme"), "README.md", "exec"), names)
    assert lakebed.connect("s3://of-the-readme/warehouse").table("shop.orders").count() == 1


def test_the_named_warehouses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL))
    for name in re.findall(r"\$\{([A-Z_]+)\}", text):
        monkeypatch.setenv(name, "value")
    (tmp_path / "lakebed.toml").write_text(text)
    monkeypatch.setenv("LAKEBED_CONFIG", str(tmp_path / "lakebed.toml"))
    found = all_warehouses()
    assert set(found) == set(tomllib.loads(text)["warehouses"])
    services = set()
    for warehouse in found.values():
        location = parse_location(warehouse.path)
        services.add(location.service)
        check_warehouse_options(warehouse.options, location.service)
        if location.service == "hdfs":
            assert hadoop_settings(warehouse.options, location)
        elif location.service != "local":
            assert object_settings(warehouse.options, location).values
    assert services == {"local", "s3", "gcs", "azure", "hdfs"}


def test_the_refusal_is_what_the_page_shows() -> None:
    with pytest.raises(lakebed.OptionError) as caught:
        lakebed.connect("s3://my-bucket/warehouse", options={"s3.acess-key": "..."})
    assert f"lakebed.errors.OptionError: {caught.value}" in PAGE.read_text()


def test_the_tables_of_settings_are_current() -> None:
    shown = PAGE.read_text().partition("<!-- python -m lakebed.storage -->\n\n")[2].partition("\n<!-- end -->")[0]
    assert shown == to_markdown(), "run: python -m lakebed.storage, and copy its output into docs/storage.md"
