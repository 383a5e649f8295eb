from __future__ import annotations

from pathlib import Path

import pytest

from lakebed.metadata.numbered_files import numbered_files
from lakebed.storage import LocalStorage


class OnlyPrefixes(LocalStorage):
    can_rename = False


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for name in ("snapshot-10", "snapshot-9", "snapshot-011", "snapshot-", "LATEST", "snapshot-12.tmp"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "snapshot-11").mkdir()
    return str(tmp_path)


def test_files_are_found_by_number(folder: str) -> None:
    assert [*numbered_files(LocalStorage(), folder, "snapshot-")] == [9, 10, 11]
    assert numbered_files(LocalStorage(), f"{folder}/none", "snapshot-") == {}


def test_a_prefix_of_names_is_not_a_file(folder: str) -> None:
    """MinIO lists an object that arrives as a folder, for a moment."""
    found = numbered_files(OnlyPrefixes(), folder, "snapshot-")
    assert [(number, info.name) for number, info in found.items()] == [(9, "snapshot-9"), (10, "snapshot-10")]
