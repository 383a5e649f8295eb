"""The benchmark of history: what the documentation shows is what pages open, and a small run measures something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.history import SHAPES, build, opened, timed

from lakebed.metadata.history.history_index import forget_indexes
from lakebed.metadata.history.pages import find_page

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_the_documentation_shows_what_pages_open(tmp_path: Path) -> None:
    assert opened(tmp_path) in (ROOT / "docs" / "history.md").read_text()


def test_a_small_run(tmp_path: Path) -> None:
    table = timed(tmp_path, 1300, 2)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert [line[:2] for line in lines] == [
        [what, page] for what in ("all snapshots", "compactions") for page in ("first page", "page 10", "last page")
    ]
    assert all(re.fullmatch(r"\d+(\.\d)?", cell) for line in lines for cell in line[2:])


def test_the_shapes_have_as_many_compactions_as_they_say(tmp_path: Path) -> None:
    for shape, is_compaction in SHAPES.items():
        forget_indexes()
        store = build(tmp_path / shape, 1000, is_compaction, noted=True)
        page = find_page(store, kind="COMPACT")
        assert (page.total, str(page.source)) == (200, "index")
