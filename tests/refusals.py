"""Checks that a call fails with the right error and changes nothing on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import (
    LakebedError,
)


def fingerprint(folder: str | Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too, and its content."""
    root = Path(folder)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def refused(folder: str | Path, act: Callable[[], Any], error: type[LakebedError], *words: str) -> None:
    """The act fails with exactly this error and these words, and changes no file below the folder."""
    before = fingerprint(folder)
    with pytest.raises(LakebedError) as caught:
        act()
    assert type(caught.value) is error, caught.value
    for word in words:
        assert word in str(caught.value)
    assert fingerprint(folder) == before
