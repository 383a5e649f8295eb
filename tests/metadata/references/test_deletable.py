from __future__ import annotations

from pathlib import Path

import pytest
from tests.metadata.stores import new_store
from tests.places import stored_path

from lakebed.errors import CorruptError
from lakebed.metadata.references.deletable import check_deletable, check_own_folders, linked_folder
from lakebed.metadata.references.removal import DoomedFile, delete_files


def test_paths_that_are_not_deleted(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    root = store.paths.root
    check_deletable(store, [f"{root}/bucket-0/data-1", f"{root}/manifest/m", f"{root}/a/b/c/d"])
    for path in (
        f"{root}2/bucket-0/data-1",
        f"{tmp_path}/u/bucket-0/data-1",
        f"{root}/../u/data-1",
        f"{root}/bucket-0/../../u/data-1",
        f"{root}/bucket-0/..",
        f"{root}/bucket-0/",
        f"{root}/a\x00b",
        "data-1",
        "/data-1",
        root,
    ):
        with pytest.raises(CorruptError, match="deleted"):
            check_deletable(store, [f"{root}/bucket-0/data-1", path])


def test_nothing_is_deleted_if_one_path_leads_out(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    own, other = tmp_path / "t" / "manifest" / "m", tmp_path / "u" / "m"
    for path in (own, other):
        path.parent.mkdir(parents=True)
        path.touch()
    files = [DoomedFile(str(path), 0, "manifest") for path in (own, other)]
    with pytest.raises(CorruptError, match="outside of the table"):
        delete_files(store, files)
    assert own.exists()
    assert other.exists()
    delete_files(store, files[:1])
    assert not own.exists()


def test_links(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    root = stored_path(store.paths.root)
    (tmp_path / "u").mkdir()
    (root / "p=1").symlink_to(tmp_path / "u")
    assert linked_folder(store.storage, str(root), f"{root}/p=1/bucket-0") == f"{root}/p=1"
    assert linked_folder(store.storage, str(root), f"{root}/p=2/bucket-0") is None
    with pytest.raises(CorruptError, match=r"p=1 is a symbolic link"):
        check_deletable(store, [f"{root}/p=1/bucket-0/data-1"])
    check_own_folders(store)
    (root / "tag").symlink_to(tmp_path / "u")
    with pytest.raises(CorruptError, match=r"tag is a symbolic link"):
        check_own_folders(store)


def test_a_declared_root(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={"data-file.external-paths": f"s3://b/x,{tmp_path}/far/"})
    check_deletable(store, [f"{tmp_path}/far/bucket-0/data-1", f"{tmp_path}/far/x", "s3://b/x/data-1"])
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "bucket-9").symlink_to(tmp_path)
    for path in ("far2/x", "far/../x", "far/bucket-9/x"):
        with pytest.raises(CorruptError):
            check_deletable(store, [f"{tmp_path}/{path}"])
