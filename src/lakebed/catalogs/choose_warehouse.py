"""Which folder ``connect`` opens, and which folders it refuses.

The folder of a table or of a database is refused, because it would look like an empty warehouse. On object stores that
costs requests only where the path has the form of such a folder.
"""

from __future__ import annotations

import difflib
import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lakebed.catalogs.named_warehouses import NAME, find_warehouse, warehouse_names
from lakebed.errors import LakebedError, NotFoundError, OptionError
from lakebed.options.environment import WAREHOUSE_VARIABLE
from lakebed.storage import LocalStorage, Storage, plain_path

_DATABASE_SUFFIX: Final = ".db"


def chosen_warehouse(given: str | os.PathLike[str] | None, options: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Returns the path of a warehouse and its options.

    Args:
        given: A path, a URL or a name in ``lakebed.toml``; ``None`` for that of ``LAKEBED_WAREHOUSE``.
        options: The options of the call; they come before those of the file.

    Raises:
        OptionError: There is no warehouse to open, the path is empty, or the text could be two warehouses.
    """
    if given is None:
        given = os.environ.get(WAREHOUSE_VARIABLE)
        if not given:
            raise OptionError(f"no warehouse given: write connect('folder'), or set {WAREHOUSE_VARIABLE}")
    text = os.fspath(given)
    named = find_warehouse(text) if isinstance(given, str) else None
    if named is not None:
        return plain_path(named.path), {**named.options, **options}
    if isinstance(given, str):
        _check_is_no_misspelt_name(text)
    return plain_path(text), options


def _check_is_no_misspelt_name(text: str) -> None:
    if NAME.fullmatch(text) is None or Path(text).exists():
        return
    near = difflib.get_close_matches(text, warehouse_names(), n=1, cutoff=0.75)
    if near:
        raise OptionError(
            f"there is no folder and no warehouse {text!r}; did you mean {near[0]!r} of lakebed.toml? For a new folder "
            f"write './{text}'"
        )


def check_is_warehouse(path: str, storage: Storage, *, create: bool) -> None:
    """Raises if a folder cannot be a warehouse, or if there is none and ``create`` is false.

    Raises:
        LakebedError: The path is a file.
        NotFoundError: There is no such folder.
        OptionError: The folder is that of a table or of a database.
    """
    is_local = isinstance(storage, LocalStorage)
    if is_local and Path(path).exists() and not Path(path).is_dir():
        raise LakebedError(f"cannot open {path}: it is a file, not a folder")
    if not create and not (Path(path).is_dir() if is_local else storage.list(path, hidden=True)):
        raise NotFoundError(f"there is no warehouse at {path}; check the path, or leave create=False out to create one")
    if is_local and not Path(path).is_dir():
        return
    above, name = posixpath.split(path)
    if (is_local or above.endswith(_DATABASE_SUFFIX)) and _has_schemas(path, storage):
        raise OptionError(f"{path} is the folder of a table, not a warehouse; {_how_to_open(above, name)}")
    if name.endswith(_DATABASE_SUFFIX):
        table = _some_table(path, storage)
        if table is not None:
            raise OptionError(f"{path} is the folder of a database, not a warehouse; {_how_to_open(path, table)}")


def _has_schemas(path: str, storage: Storage) -> bool:
    return any(info.name.startswith("schema-") for info in storage.list(posixpath.join(path, "schema")))


def _some_table(path: str, storage: Storage) -> str | None:
    """Returns the name of a table in a folder that may be a database; ``None`` if it is a warehouse or empty."""
    folders = [info.name for info in storage.list(path) if info.is_dir]
    if any(name.endswith(_DATABASE_SUFFIX) for name in folders):
        return None
    return next((name for name in folders if _has_schemas(posixpath.join(path, name), storage)), None)


def _how_to_open(database: str, table: str) -> str:
    warehouse, name = posixpath.split(database)
    if not name.endswith(_DATABASE_SUFFIX):
        return "open the folder that contains the <database>.db folders"
    return f"write connect({warehouse!r}).table('{name.removesuffix(_DATABASE_SUFFIX)}.{table}')"
