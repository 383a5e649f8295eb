from __future__ import annotations

import pytest

from lakebed.format.paths import TablePaths, id_of
from lakebed.format.types.data_types import Atomic

STRING = Atomic("STRING")
ESCAPED = "\"#%'*/:=?\\{}[]^" + "\x7f" + "".join(map(chr, range(32)))


def test_the_layout_of_a_table() -> None:
    paths = TablePaths("/w/db.db/t")
    assert paths.schema(0) == "/w/db.db/t/schema/schema-0"
    assert paths.snapshot(7) == "/w/db.db/t/snapshot/snapshot-7"
    assert paths.latest_hint == "/w/db.db/t/snapshot/LATEST"
    assert paths.earliest_hint == "/w/db.db/t/snapshot/EARLIEST"
    assert paths.tag("v1") == "/w/db.db/t/tag/tag-v1"
    assert paths.changelog(3) == "/w/db.db/t/changelog/changelog-3"
    assert paths.manifest("manifest-x-0") == "/w/db.db/t/manifest/manifest-x-0"
    assert paths.index("index-x-0") == "/w/db.db/t/index/index-x-0"
    assert paths.sidecars == "/w/db.db/t/.lakebed"


def test_a_branch_has_its_own_snapshots_and_the_table_s_files() -> None:
    main, branch = TablePaths("/t"), TablePaths("/t").on_branch("b1")
    assert branch.schema(0) == "/t/branch/branch-b1/schema/schema-0"
    assert branch.snapshot(2) == "/t/branch/branch-b1/snapshot/snapshot-2"
    assert branch.latest_hint == "/t/branch/branch-b1/snapshot/LATEST"
    assert branch.tag("x") == "/t/branch/branch-b1/tag/tag-x"
    assert branch.changelog(1) == "/t/branch/branch-b1/changelog/changelog-1"
    for same in ("manifests", "indexes", "sidecars", "branches"):
        assert getattr(branch, same) == getattr(main, same)
    assert branch.bucket("dt=1", 0) == main.bucket("dt=1", 0)
    assert branch.on_branch("main") == main


@pytest.mark.parametrize(
    ("partition", "bucket", "directory", "folder"),
    [
        ("", 0, "", "/t/bucket-0"),
        ("dt=1/h=2", 3, "", "/t/dt=1/h=2/bucket-3"),
        ("dt=1", -2, "", "/t/dt=1/bucket-postpone"),
        ("dt=1", 0, "data", "/t/data/dt=1/bucket-0"),
        ("", 0, "/data/", "/t/data/bucket-0"),
    ],
)
def test_the_folder_of_a_bucket(partition: str, bucket: int, directory: str, folder: str) -> None:
    assert TablePaths("/t").bucket(partition, bucket, directory=directory) == folder


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("snapshot-1", 1),
        ("snapshot-0", 0),
        ("snapshot-9223372036854775807", 2**63 - 1),
        ("snapshot-", None),
        ("snapshot-01", None),
        ("snapshot--1", None),
        ("snapshot-1.tmp", None),
        ("snapshot-²", None),
        ("snapshot-٣", None),
        ("LATEST", None),
        ("tag-1", None),
        ("1", None),
    ],
)
def test_ids_in_names(name: str, number: int | None) -> None:
    assert id_of(name, "snapshot-") == number
