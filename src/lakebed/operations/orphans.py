"""Remove orphan files: files in the folders of a table that nothing refers to.

They are left behind by writers, expiries and rollbacks that crashed. On object stores, uploads that a killed writer
left unfinished are among them. What it promises:

* It considers only files that Paimon's writers or Lakebed create, recognised by folder and name. It never touches other
  files. Sidecar files below ``.lakebed`` are not orphans.
* It deletes a file only if no snapshot, tag or long-lived changelog of any branch refers to its name, and if the file
  is older than ``older_than`` (default: one day), because a commit in progress has files that nothing refers to yet.
  The age is measured with the clock of the storage, which also sets the times of files. Less than one hour needs
  ``force``. A commit that loses files anyway fails (:mod:`lakebed.metadata.commit.own_files`).
* It lists the files before it reads the references, so it sees the references of a commit in between. If a reference
  cannot be read, or a branch lost snapshots (``metadata/references/lost_snapshots``), it deletes nothing and raises.
* It does not follow symbolic links: a linked folder inside of the table is skipped, because it may be another table's.
* It lists each folder once, several in parallel, and compares files as columns of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import OptionError
from lakebed.format.time_text import now_millis as local_millis
from lakebed.format.time_text import parse_time
from lakebed.metadata.references.deletable import linked_folder
from lakebed.metadata.references.holders import all_holders, branch_stores, needed
from lakebed.metadata.references.lost_snapshots import check_complete
from lakebed.metadata.references.removal import UNFINISHED_BRANCH, UNFINISHED_UPLOAD, DoomedFile, Removal, delete_files
from lakebed.metadata.retry_while_expiring import retry_while_expiring
from lakebed.metadata.storage_clock import storage_millis
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.storage import FileInfo, run_together

_DAY_MILLIS: Final = 86_400_000
_SAFE_MILLIS: Final = 3_600_000
_ROUNDING_MILLIS: Final = 1000
"""Storages round the times of files."""
_THREADS: Final = 8

_TEMPORARY: Final = re.compile(r"\.(?:.+\.)?[0-9a-f-]{36}(?:\.tmp)?|\..+\.tmp")
_MANIFEST_FOLDER: Final = (
    ("manifest list", re.compile(r"manifest-list-.+")),
    ("index manifest", re.compile(r"index-manifest-.+")),
    ("manifest", re.compile(r"manifest-.+")),
)
_DRAFT: Final = re.compile(r"\.branch-.+\.[0-9a-f-]{36}\.tmp")
_BUCKET: Final = re.compile(r"bucket-(?:\d+|postpone)")


@dataclass(frozen=True, slots=True)
class _Folder:
    """One folder to list, with patterns that give the kind of a file; the first match counts."""

    path: str
    patterns: Sequence[tuple[str, re.Pattern[str]]]


def remove_orphan_files(
    store: TableStore,
    *,
    older_than: object = None,
    dry_run: bool = True,
    force: bool = False,
    now_millis: int | None = None,
) -> Removal:
    """Delete files of the whole table, all branches included, that nothing refers to; by default only list them.

    ``older_than`` is a time (datetime, ISO text, epoch milliseconds) or a duration ago such as ``1 d``. ``force``
    deletes files that are younger than one hour. ``now_millis`` is the time of the storage; a dry run may not write,
    so its default is the clock of this host.
    """
    for name, value in (("dry_run", dry_run), ("force", force)):
        if not isinstance(value, bool):
            raise OptionError(f"{name} must be true or false, not {value!r}")
    if older_than is not None:
        parse_time(older_than, "older_than")  # raises before anything is written
    if now_millis is None:
        now_millis = local_millis() if dry_run else storage_millis(store)
    cutoff = _cutoff(older_than, now_millis, force=force or dry_run)
    files, names = _listed(store, cutoff)
    orphans = [*_unreferenced(store, files, names), *_unfinished_uploads(store, cutoff)]
    if not dry_run:
        delete_files(store, orphans)
    return Removal(tuple(orphans), dry_run)


def _cutoff(older_than: object, now: int, *, force: bool) -> int:
    """Returns the time before which files are deleted."""
    if older_than is None:
        return now - _DAY_MILLIS
    cutoff = parse_time(older_than, "older_than", now=now)
    if cutoff > now - _SAFE_MILLIS + _ROUNDING_MILLIS and not force:
        raise OptionError(
            f"older_than is {older_than!r}, which includes files that are younger than one hour: they may belong to a "
            "commit that is still running, which would fail. Nothing was deleted; use '1 h' or more, or pass force=True "
            "(--force on the command line) if nobody writes to the table"
        )
    return cutoff


def _unreferenced(store: TableStore, files: list[DoomedFile], names: list[str]) -> list[DoomedFile]:
    if not files:
        return []
    listed = pa.array(names, pa.string())
    check_complete(store)
    found = retry_while_expiring(lambda: needed(store, all_holders(store)))
    used = pa.concat_arrays([found.data, pa.array(sorted(found.metadata), pa.string())])
    mask = pc.invert(pc.is_in(listed, value_set=used)).to_pylist()
    return [file for file, orphan in zip(files, mask, strict=True) if orphan]


def _unfinished_uploads(store: TableStore, cutoff: int) -> list[DoomedFile]:
    """Returns the uploads that writers began before a time and did not finish; a store lists them apart from files."""
    return [
        DoomedFile(upload.path, -1, UNFINISHED_UPLOAD, upload)
        for upload in store.storage.unfinished_uploads(store.paths.root)
        if upload.began_millis < cutoff
    ]


# ------------------------------------------------------------------------------------------------------ listing


def _listed(store: TableStore, cutoff: int) -> tuple[list[DoomedFile], list[str]]:
    """Returns the files of known kinds that are older than a time, and their names."""
    folders = [*_own_folders(store), *_bucket_folders(store)]
    listings = run_together([partial(store.storage.list, folder.path, hidden=True) for folder in folders], _THREADS)
    files: list[DoomedFile] = []
    names: list[str] = []
    for folder, infos in zip(folders, listings, strict=True):
        for info in infos:
            kind = None if info.is_dir or info.modified_millis >= cutoff else _kind(info, folder.patterns)
            if kind is not None:
                files.append(DoomedFile(f"{folder.path}/{info.name}", info.size, kind))
                names.append(info.name)
    for info in store.storage.list(store.paths.branches, hidden=True):
        if info.is_dir and not info.is_link and info.modified_millis < cutoff and _DRAFT.fullmatch(info.name):
            files.append(DoomedFile(f"{store.paths.branches}/{info.name}", info.size, UNFINISHED_BRANCH))
            names.append(info.name)
    return files, names


def _kind(info: FileInfo, patterns: Iterable[tuple[str, re.Pattern[str]]]) -> str | None:
    if info.name.startswith("."):
        return "temporary" if _TEMPORARY.fullmatch(info.name) else None
    return next((kind for kind, pattern in patterns if pattern.fullmatch(info.name)), None)


def _own_folders(store: TableStore) -> list[_Folder]:
    """Returns the folders with metadata.

    Snapshots, tags and changelogs are never orphans; temporary files beside them are.
    """
    paths = store.paths
    shared = [
        _Folder(paths.manifests, _MANIFEST_FOLDER),
        _Folder(paths.indexes, (("index", re.compile(r"index-.+|.+\.index")),)),
        # Versions of Paimon after 2.0 write sketches beside statistics, and only the statistics refer to them.
        _Folder(paths.statistics, (("statistics", re.compile(r"stats?-(?!sidecar-).+")),)),
    ]
    for branch in branch_stores(store):
        own = branch.paths
        shared += [_Folder(path, ()) for path in (own.snapshots, own.tags, own.changelogs, own.schemas, own.consumers)]
    known: dict[str, bool] = {}
    return [folder for folder in shared if linked_folder(store.storage, paths.root, folder.path, known) is None]


def _bucket_folders(store: TableStore) -> list[_Folder]:
    """Returns the folders of buckets: one level of ``key=value`` for each partition column, then ``bucket-n``."""
    schema = store.schema()
    options = TableOptions(schema.options)
    data_root = store.paths.data_root(options.data_file_directory)
    level = [] if linked_folder(store.storage, store.paths.root, data_root) else [data_root]
    for _ in schema.partition_keys:
        level = _below(store, level, re.compile(r"[^.=][^=]*=.*"))
    data = re.escape(options.data_file_prefix)
    changelog = re.escape(options.changelog_file_prefix)
    # Names start with a prefix of the table, or with a default one if they were written before an ALTER.
    patterns = (
        ("changelog", re.compile(rf"(?:{changelog}|changelog-).+")),
        ("data", re.compile(rf"(?:{data}|data-).+")),
    )
    return [_Folder(path, patterns) for path in _below(store, level, _BUCKET)]


def _below(store: TableStore, folders: list[str], name: re.Pattern[str]) -> list[str]:
    listings = run_together([partial(store.storage.list, folder) for folder in folders], _THREADS)
    return [
        f"{folder}/{info.name}"
        for folder, infos in zip(folders, listings, strict=True)
        for info in infos
        if info.is_dir and not info.is_link and name.fullmatch(info.name)
    ]
