"""Folders for the warehouses of tests: on the local disk, or on the storage server that ``LAKEBED_TEST_STORAGE`` names.

``make storage`` runs suites of tables with ``LAKEBED_TEST_STORAGE=s3``: the fixture ``tmp_path`` is then a
:class:`RemotePath` in a bucket of MinIO, and so is everything that is made of it. A test that looks at files or damages
them does it through :func:`stored_path`, so that it is the same test on every storage. A test that needs more of the
local disk than that has the marker ``local_disk`` and does not run there.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lakebed.storage import Storage
from lakebed.storage.open import open_storage

STORAGE = os.environ.get("LAKEBED_TEST_STORAGE", "local")
"""Where warehouses of tests are: ``local`` or ``s3``."""
IS_LOCAL = STORAGE == "local"


def stored_path(path: object, *names: str) -> Path:
    """A file or folder of a table, to look at it or to change it: a ``Path``, or a :class:`RemotePath` in its place."""
    text = "/".join([str(path), *names])
    return cast("Path", RemotePath(text)) if "://" in text else Path(text)


def copy_file(source: object, target: object) -> None:
    """Copies a file."""
    stored_path(target).write_bytes(stored_path(source).read_bytes())


def copy_tree(source: object, target: object) -> Path:
    """Copies a folder with its files; gives the copy. The target may exist."""
    if isinstance(stored_path(source), Path):
        return Path(shutil.copytree(str(source), str(target), dirs_exist_ok=True))
    for path, _ in list(storage().list_tree(str(source))):
        storage().copy(path, str(target) + path.removeprefix(str(source)))
    return stored_path(target)


def delete_tree(folder: object) -> None:
    """Deletes a folder with its files."""
    if isinstance(stored_path(folder), Path):
        shutil.rmtree(str(folder), ignore_errors=True)
    else:
        storage().delete_tree(str(folder))


class RemotePath:
    """The part of ``pathlib.Path`` that tests use, for files on a storage server."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __str__(self) -> str:
        return self._path

    __fspath__ = __str__

    def __repr__(self) -> str:
        return f"RemotePath({self._path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and other._path == self._path

    def __hash__(self) -> int:
        return hash(self._path)

    def __lt__(self, other: RemotePath) -> bool:
        return self._path < other._path

    def __truediv__(self, name: object) -> RemotePath:
        return RemotePath(f"{self._path}/{name}")

    def joinpath(self, *names: str) -> RemotePath:
        return RemotePath("/".join([self._path, *names]))

    def with_name(self, name: str) -> RemotePath:
        return self.parent / name

    def relative_to(self, folder: object) -> PurePosixPath:
        return PurePosixPath(self._path.removeprefix(f"{folder}/"))

    @property
    def name(self) -> str:
        return self._path.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> RemotePath:
        return RemotePath(self._path.rpartition("/")[0])

    @property
    def parents(self) -> list[RemotePath]:
        folder, found = self.parent, []
        while str(folder).count("/") > 2:
            found.append(folder)
            folder = folder.parent
        return found

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self._path.split("/"))

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    # ------------------------------------------------------------------------------------------------- reading

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        return storage().exists(self._path)

    def is_dir(self) -> bool:
        return next(iter(storage().list_tree(self._path)), None) is not None

    def read_bytes(self) -> bytes:
        return storage().read(self._path)

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def stat(self) -> Any:
        (found,) = [info for info in storage().list(str(self.parent), hidden=True) if info.name == self.name]
        return SimpleNamespace(st_size=found.size, st_mtime=found.modified_millis / 1000)

    def iterdir(self) -> Iterator[RemotePath]:
        for info in storage().list(self._path, hidden=True):
            yield self / info.name

    def rglob(self, pattern: str) -> Iterator[RemotePath]:
        """Files below the folder; unlike those of the local disk, folders are not among them."""
        for path, info in storage().list_tree(self._path):
            if fnmatch.fnmatchcase(info.name, pattern):
                yield RemotePath(path)

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        found = [self]
        for part in pattern.split("/"):
            found = [inner for folder in found for inner in folder.iterdir() if fnmatch.fnmatchcase(inner.name, part)]
        yield from found

    # ------------------------------------------------------------------------------------------------- writing

    def write_bytes(self, data: bytes) -> None:
        storage().replace(self._path, data)

    def write_text(self, text: str) -> None:
        self.write_bytes(text.encode())

    def touch(self) -> None:
        self.write_bytes(b"")

    def mkdir(self, **_: object) -> None:
        """Does nothing: a folder exists as long as files are in it."""

    def unlink(self, *, missing_ok: bool = False) -> None:
        if not missing_ok and not self.is_file():
            raise FileNotFoundError(self._path)
        storage().delete(self._path)

    def rename(self, target: RemotePath) -> None:
        target.write_bytes(self.read_bytes())
        self.unlink()


# --------------------------------------------------------------------------------------------------- the server


def new_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder of its own: on the local disk, or on the storage server, which starts with the first one."""
    if IS_LOCAL:
        return factory.mktemp("folder")
    return stored_path(_bucket(factory.getbasetemp()), str(uuid.uuid4()))


@cache
def storage() -> Storage:
    """The storage of all such folders."""
    return open_storage("s3://tests", {})


@cache
def _bucket(folder: Path) -> str:
    """Starts MinIO for this process and gives the URL of a bucket.

    Its address and its keys are in the environment, as they are on a machine in a cloud, so that ``connect`` needs no
    options, also in other processes.
    """
    from tests.servers import minio

    server = minio.MinIO(folder / "minio")
    server.start()
    os.environ |= {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": minio.ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": minio.SECRET_KEY,
        "AWS_REGION": minio.REGION,
    }
    return server.create_bucket("tests")
