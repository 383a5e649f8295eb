"""The examples in the documentation run, and the paths and commands it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.doc_examples import ROOT, blocks, run_console

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ON_SPARK = {"spark.md", "sql.md", "streaming.md"}
"""Pages whose examples need a Spark session: tests/spark and tests/sql run them."""
ON_SERVERS = {"storage.md"}
"""Pages whose examples need a storage server: tests/storage_servers runs them."""


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page) and page.name not in ON_SPARK | ON_SERVERS],
    ids=lambda page: page.name,
)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("LAKEBED_WAREHOUSE", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    names: dict[str, object] = {}
    for language, block in blocks(page):
        if language == "python":
            exec(compile(block, str(page), "exec"), names)
        else:
            run_console(block)


def test_the_blocks_of_the_readme_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        names: dict[str, object] = {}
        for language, block in blocks(ROOT / "README.md"):
            if language == "python":
                exec(compile(block, "README.md", "exec"), names)


def test_readme_says_what_the_error_says(tmp_path: Path) -> None:
    import lakebed

    lake = lakebed.connect(tmp_path)
    lake.create_database("shop")
    with pytest.raises(lakebed.OptionError) as caught:
        lake.create_table("shop.t", "id INT", options={"bukcet": "4"})
    assert f"lakebed.errors.OptionError: {caught.value}" in (ROOT / "README.md").read_text()


def test_the_python_page_says_what_the_error_says(tmp_path: Path) -> None:
    import lakebed

    lake = lakebed.connect(tmp_path)
    lake.create_database("shop")
    orders = lake.create_table("shop.orders", "id BIGINT NOT NULL, day DATE")
    with pytest.raises(lakebed.DataError) as caught:
        orders.write([{"id": 6, "day": "2025-02-01"}, {"id": "seven", "day": "2025-02-01"}])
    assert f"lakebed.errors.DataError: {caught.value}\n" in (ROOT / "docs" / "python.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    for name in re.findall(r"`((?:docs|tests|examples|bench)/[\w./-]+)`", page.read_text()):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for name in re.findall(r"(?:`|^)make (\w+)", page.read_text(), flags=re.MULTILINE):
        assert name in targets, f"{page.name} names make {name}"


def test_the_exit_codes_are_those_of_the_command_line() -> None:
    from lakebed.cli.open_warehouse import EXIT_CODES

    rows = re.findall(r"^\| (\d+) \| (.*) \|$", (ROOT / "docs" / "cli.md").read_text(), flags=re.MULTILINE)
    assert rows == [(str(int(code)), meaning) for code, meaning in EXIT_CODES.items()]
