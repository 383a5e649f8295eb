"""The examples of ``docs/spark.md`` run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.test_docs import ROOT, blocks


def test_examples_run(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "spark.md"
    names: dict[str, object] = {}
    for _, block in blocks(page):
        exec(compile(block, str(page), "exec"), names)
    assert names["spark"] is spark
