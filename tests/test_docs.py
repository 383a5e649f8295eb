"""The examples in the documentation run, and the paths and commands it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), names)


def test_readme_says_what_the_error_says(tmp_path: Path) -> None:
    import lakebed

    lake = lakebed.connect(tmp_path)
    lake.create_database("shop")
    with pytest.raises(lakebed.OptionError) as caught:
        lake.create_table("shop.t", "id INT", options={"bukcet": "4"})
    assert f"lakebed.errors.OptionError: {caught.value}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    for name in re.findall(r"`((?:docs|tests|examples|bench)/[\w./-]+)`", page.read_text()):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for name in re.findall(r"(?:`|^)make (\w+)", page.read_text(), flags=re.MULTILINE):
        assert name in targets, f"{page.name} names make {name}"
