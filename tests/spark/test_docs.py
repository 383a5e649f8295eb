"""The examples of the pages about Spark run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.doc_examples import ROOT, blocks


@pytest.mark.parametrize("name", ["spark.md", "streaming.md"])
def test_examples_run(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / name
    names: dict[str, object] = {}
    for _, block in blocks(page):
        # Spark's own process has another current folder than this one has here.
        there = block.replace('"checkpoints/', f'"{tmp_path}/checkpoints/')
        exec(compile(there, str(page), "exec"), names)
    assert names["spark"] is spark
