"""The page about the words of other implementations names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_named_file_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / "concepts.md").read_text()))
    assert len(named) > 30
    assert sorted(name for name in named if not (ROOT / "src" / "lakebed" / name).exists()) == []


def test_the_words_that_readers_look_for_are_there() -> None:
    page = (ROOT / "docs" / "concepts.md").read_text()
    for word in (
        "SnapshotManager",
        "ManifestsReader",
        "HashBucketAssigner",
        "DynamicBucketIndexMaintainer",
        "ChainFileStoreTable",
        "optimizing process",
        "lastSnapshotId",
        "ScanMode",
        "BucketMode",
    ):
        assert word in page
