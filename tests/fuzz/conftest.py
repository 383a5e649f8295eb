"""The warehouse whose files are damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz import sample


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "w"
    sample.make(folder)
    return folder
