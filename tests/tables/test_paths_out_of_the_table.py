"""Metadata and links that lead out of a table: no operation reads or deletes files of another table."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.lakes import reopened, with_external_root
from tests.operations.verify.damage import Row, Surgeon, with_vectors
from tests.places import stored_path

from lakebed import Lake, Table
from lakebed.errors import CorruptError, LakebedError
from lakebed.metadata.branches import create_branch

Damage = Callable[[Surgeon, Path], str]
Operation = Callable[[Table], object]


@pytest.fixture(scope="module")
def template(module_lake: Lake) -> Path:
    """A warehouse with a table and another one, the victim; tests copy it.

    Snapshot 1 of the table adds two files, snapshot 2 deletes one of them, snapshots 3 and 4 add one each.
    """
    other = module_lake.create_table("db.victim", "id BIGINT, v STRING, p STRING", options={"write-only": "true"})
    other.write([{"id": 666, "v": "secret", "p": "a"}])
    table = module_lake.create_table(
        "db.t", "id BIGINT, v STRING, p STRING", partition_by=["p"], options={"write-only": "true"}
    )
    table.write([{"id": 1, "v": "a", "p": "a"}, {"id": 2, "v": "b", "p": "b"}])
    table.delete("p = 'a'")
    table.write([{"id": 3, "v": "c", "p": "c"}])
    table.write([{"id": 4, "v": "c", "p": "c"}])
    return stored_path(module_lake.warehouse)


@pytest.fixture
def made(template: Path, lake: Lake) -> Table:
    shutil.copytree(template, lake.warehouse, dirs_exist_ok=True)
    return lake.table("db.t")


@pytest.fixture
def victim(made: Table) -> Path:
    """The data file of the other table."""
    (path,) = stored_path(made.path, "..", "victim").resolve().rglob("data-*.parquet")
    return path


@contextlib.contextmanager
def unharmed(victim: Path) -> Iterator[None]:
    """Nothing of the other table changes in the block."""
    folder = victim.parent.parent
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    yield
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


# ------------------------------------------------------------------------------------------------ damaged metadata


def _entries(surgeon: Surgeon, changes: Callable[[Row], Row]) -> str:
    """Change the ADD and the DELETE entry of the file that expires, and the entries of a live one."""
    names = [surgeon.manifest_of(number).name for number in (1, 2, 3)]
    gone = surgeon.entries(2)[0]["file_name"]
    for number in (2, 1, 3):
        surgeon.change_entries(number, partial(_changed, changes, gone=None if number == 3 else gone))
    return "|".join(names)


def _changed(changes: Callable[[Row], Row], row: Row, *, gone: str | None) -> Row:
    return {**row, **changes(row)} if gone in {None, row["file_name"]} else row


def _out(victim: Path) -> str:
    return f"../../../{victim.parent.parent.name}/bucket-0/{victim.name}"


def _file_name(surgeon: Surgeon, victim: Path) -> str:
    return _entries(surgeon, lambda _: {"file_name": _out(victim)})


def _extra_file(surgeon: Surgeon, victim: Path) -> str:
    return _entries(surgeon, lambda _: {"extra_files": [_out(victim)]})


def _external_path(surgeon: Surgeon, victim: Path) -> str:
    _entries(surgeon, lambda _: {"external_path": str(victim)})
    return "data-file.external-paths"


def _external_uri(surgeon: Surgeon, victim: Path) -> str:
    _entries(surgeon, lambda _: {"external_path": f"file://{victim}"})
    return "data-file.external-paths"


def _manifest_name(surgeon: Surgeon, victim: Path) -> str:
    name = next((victim.parent.parent / "manifest").glob("manifest-*-0")).name
    bad = f"../../{victim.parent.parent.name}/manifest/{name}"
    surgeon.change_metas(lambda meta: replace(meta, file_name=bad))
    return "manifest-list-"


def _manifest_extra(surgeon: Surgeon, victim: Path) -> str:
    bad = f"../../{victim.parent.parent.name}/bucket-0/{victim.name}"
    surgeon.change_metas(lambda meta: replace(meta, extra_files=(bad,)))
    return "manifest-list-"


def _named(key: str) -> Damage:
    def damage(surgeon: Surgeon, victim: Path) -> str:
        bad = f"../../{victim.parent.parent.name}/bucket-0/{victim.name}"
        for number in (1, 2, 3, 4):
            surgeon.change_snapshot(number, **{key: bad})
        return "snapshot/snapshot-"

    return damage


NAMED = ("baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest", "statistics")
DAMAGES: dict[str, Damage] = {
    "file name": _file_name,
    "extra file": _extra_file,
    "external path": _external_path,
    "external URI": _external_uri,
    "manifest name": _manifest_name,
    "extra file of a manifest": _manifest_extra,
    **{key: _named(key) for key in NAMED},
}
OPERATIONS: dict[str, Operation] = {
    "read": lambda t: t.scan().to_arrow(),
    "expire": lambda t: t.expire_snapshots(retain_max=1, retain_min=1, older_than="0 s"),
    "truncate": lambda t: t.truncate(),
    "drop partition": lambda t: t.drop_partition({"p": "c"}),
    "compact": lambda t: t.compact(full=True),
    "delete": lambda t: t.delete("id = 3"),
    "remove orphans": lambda t: t.remove_orphan_files(older_than="0 s", dry_run=False, force=True),
    "roll back": lambda t: t.rollback_to(snapshot=2),
}
BY_NAME_ONLY = {"remove orphans", "roll back", "truncate", "drop partition", "delete"}
"""These do not build paths of data files (the delete drops a whole file), so an external path does not matter to them.
"""


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_names(made: Table, victim: Path, damage: str, operation: str) -> None:
    where = DAMAGES[damage](Surgeon(made), victim)
    table = reopened(made)
    ids_only = operation == "roll back" and damage not in NAMED
    is_accepted = (damage.startswith("external") and operation in BY_NAME_ONLY) or ids_only
    expected = contextlib.nullcontext() if is_accepted else pytest.raises(CorruptError, match=where)
    with unharmed(victim):
        with expected:
            OPERATIONS[operation](table)
        # What a later clean-up does with the result.
        with contextlib.suppress(LakebedError):
            table.expire_snapshots(retain_max=1, retain_min=1, older_than="0 s")
        with contextlib.suppress(LakebedError):
            table.remove_orphan_files(older_than="0 s", dry_run=False, force=True)


@pytest.mark.parametrize("damage", DAMAGES)
def test_verify_reports_them(made: Table, victim: Path, damage: str) -> None:
    DAMAGES[damage](Surgeon(made), victim)
    table = reopened(made)
    with unharmed(victim):
        report = table.verify(deep=True, repair=True, dry_run=False)
    text = " ".join(f"{problem.what} {problem.where}" for problem in report.problems)
    assert "refers to a file named" in text or "data-file.external-paths" in text
    assert str(victim.name) in text or "manifest-" in text


def test_index_files(lake: Lake, victim: Path) -> None:
    table = with_vectors(lake)
    table.write([{"id": 8, "v": "x"}])
    surgeon = Surgeon(table)
    for changes in ({"file_name": f"../../victim/bucket-0/{victim.name}"}, {"external_path": str(victim)}):
        for number in range(1, surgeon.latest() + 1):
            if "indexManifest" in surgeon.snapshot(number):
                with contextlib.suppress(CorruptError):  # a manifest that was changed already
                    surgeon.change_index(partial(replace, **changes), number)
        opened = reopened(table)
        with unharmed(victim):
            with pytest.raises(CorruptError, match=victim.name):
                opened.scan().to_arrow()
            with pytest.raises(CorruptError, match=victim.name):
                opened.expire_snapshots(retain_max=1, retain_min=1, older_than="0 s")
            assert [problem for problem in opened.verify(deep=True).problems if victim.name in str(problem)]


# ------------------------------------------------------------------------------------------------- external paths


def moved_out(made: Table, folder: Path) -> Table:
    """The table with all its data files in another folder, which it declares."""
    folder.mkdir()
    surgeon = Surgeon(made)
    for path in surgeon.data_files():
        shutil.move(path, folder / path.name)

    def outside(row: Row) -> Row:
        return {**row, "external_path": f"file://{folder}/{row['file_name']}"}

    for number in (1, 2, 3, 4):
        surgeon.change_entries(number, outside)
    return with_external_root(made, folder)


def test_a_declared_root_is_used(made: Table, tmp_path: Path) -> None:
    """Files below it are read, verified and deleted, as those of the table."""
    folder = tmp_path / "far"
    table = moved_out(made, folder)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 4]
    assert table.verify().ok
    assert len(list(folder.iterdir())) == 4
    table.expire_snapshots(retain_max=1, retain_min=1, older_than="0 s")
    assert len(list(folder.iterdir())) == 3
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 4]


@pytest.mark.parametrize("path", ["far/../victim", "far2/x", "far", "../far/x"])
def test_a_path_beside_a_declared_root_is_refused(made: Table, tmp_path: Path, path: str) -> None:
    table = moved_out(made, tmp_path / "far")
    Surgeon(made).change_entries(3, lambda row: {**row, "external_path": f"{tmp_path}/{path}"})
    opened = reopened(table)
    with pytest.raises(CorruptError, match=r"file data-.* has the external path .*'data-file.external-paths'"):
        opened.scan().to_arrow()


# ---------------------------------------------------------------------------------------------------------- links


def replace_by_link(folder: Path, target: Path) -> None:
    if folder.exists():
        shutil.copytree(folder, target, dirs_exist_ok=True)
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(target, target_is_directory=True)


def old(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (1, 1))


def test_orphan_removal_does_not_follow_links(made: Table, victim: Path) -> None:
    """A linked bucket, partition, branch or metadata folder is skipped; the rest is cleaned."""
    root, other = stored_path(made.path), victim.parent.parent
    (root / "p=b" / "bucket-9").symlink_to(other / "bucket-0")
    (root / "p=z").symlink_to(other)
    (root / "statistics").symlink_to(other / "bucket-0")
    (root / "branch").mkdir()
    (other / "b" / "snapshot").mkdir(parents=True)
    (root / "branch" / "branch-x").symlink_to(other / "b")
    (root / "branch" / ".branch-y.0f2f7c0e-1111-4222-8333-444455556666.tmp").symlink_to(other)
    for folder in (other, other / "b"):
        (folder / "snapshot" / ".snapshot-9.0f2f7c0e-1111-4222-8333-444455556666.tmp").write_text("in progress")
    own = root / "p=b" / "bucket-0" / "data-0f2f7c0e-1111-4222-8333-444455556666-0.parquet"
    own.write_text("an orphan")
    old(root)
    old(other)
    with unharmed(victim):
        removed = reopened(made).remove_orphan_files(dry_run=False)
    assert [file.path for file in removed.files] == [str(own)]


@pytest.mark.parametrize("folder", ["p=a/bucket-0", "p=a", "manifest", "snapshot"])
def test_expiry_does_not_follow_links(made: Table, tmp_path: Path, folder: str) -> None:
    """Reads follow a link to a folder, clean-up refuses before it deletes anything."""
    target = tmp_path / "target"
    replace_by_link(stored_path(made.path, folder), target)
    table = reopened(made)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 4]
    before = sorted(target.rglob("*"))
    with pytest.raises(CorruptError, match=r"is a symbolic link.*does not follow links"):
        table.expire_snapshots(retain_max=1, retain_min=1, older_than="0 s")
    assert sorted(target.rglob("*")) == before
    assert [snapshot.id for snapshot in table.snapshots()] == [1, 2, 3, 4]
    assert sorted(table.scan(version=1).to_arrow()["id"].to_pylist()) == [1, 2]


def test_tags_and_rollback_do_not_follow_links(made: Table, tmp_path: Path) -> None:
    made.create_tag("x", snapshot=1)
    replace_by_link(stored_path(made.path, "tag"), tmp_path / "target")
    table = reopened(made)
    for call in (lambda: table.drop_tag("x"), lambda: table.rollback_to(snapshot=1)):
        with pytest.raises(CorruptError, match="is a symbolic link"):
            call()
    assert sorted(path.name for path in (tmp_path / "target").iterdir()) == ["tag-x"]


def test_a_branch_that_is_a_link(made: Table, victim: Path) -> None:
    create_branch(made._store, "b")
    folder = stored_path(made.path, "branch", "branch-b")
    shutil.rmtree(folder)
    folder.symlink_to(victim.parent.parent)
    table = reopened(made)
    with unharmed(victim), contextlib.suppress(LakebedError):
        table.drop_branch("b")


def test_verify_does_not_walk_in_circles(made: Table) -> None:
    stored_path(made.path, "p=b", "bucket-0", "up").symlink_to(made.path)
    assert reopened(made).verify().ok


@pytest.mark.parametrize("which", ["warehouse", "database", "table"])
def test_links_above_the_table_are_fine(made: Table, tmp_path: Path, which: str) -> None:
    table_folder = stored_path(made.path)
    folder = {"warehouse": table_folder.parent.parent, "database": table_folder.parent, "table": table_folder}[which]
    real = tmp_path / "real"
    shutil.move(folder, real)
    folder.symlink_to(real, target_is_directory=True)
    table = reopened(made)
    table.write([{"id": 5, "v": "d", "p": "d"}])
    assert table.verify().ok
    orphan = stored_path(table.path, "p=b", "bucket-0", "data-0f2f7c0e-1111-4222-8333-444455556666-0.parquet")
    orphan.write_text("x")
    assert table.remove_orphan_files(older_than="0 s", dry_run=False, force=True).count == 1
    assert table.expire_snapshots(retain_max=1, retain_min=1, older_than="0 s").removal.by_kind()["data"][0] == 1
    table.create_tag("x")
    table.drop_tag("x")
    table.compact(full=True)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 4, 5]
