"""Warehouses with names, from the file ``lakebed.toml``.

The first of these files that exists is read: the one that ``LAKEBED_CONFIG`` names, ``lakebed.toml`` in the current
folder, ``lakebed/lakebed.toml`` in the user's configuration folder (``$XDG_CONFIG_HOME``, else ``~/.config``)::

    [warehouses.prod]
    path = "s3://company-lake/warehouse"

    [warehouses.prod.options]
    "s3.region" = "eu-central-1"
    "s3.secret-key" = "${PROD_SECRET_KEY}"

``${NAME}`` is the value of a variable of the environment, so that secrets need not be in the file; ``$${`` is ``${``.
A relative path is relative to the folder of the file. A name is used where a path could be:
``lakebed.connect("prod")``, ``lakebed -w prod``. Only a text without ``/`` can be a name. If there is also a folder of
that name, the text is refused; ``./prod`` means the folder.

A file in the current folder that belongs to another user is refused, because it could send the values of variables to
a server of that user. A file that contains secrets and that other users can read is a warning.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lakebed.errors import NotFoundError, OptionError, unknown_name
from lakebed.options import normalise
from lakebed.options.secrets import is_secret
from lakebed.storage.location import is_remote_path

CONFIG_VARIABLE: Final = "LAKEBED_CONFIG"
CONFIG_NAME: Final = "lakebed.toml"

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_VARIABLE: Final = re.compile(r"\$?\$\{([^}]*)\}")
_KEYS: Final = ("path", "options")


@dataclass(frozen=True, slots=True)
class NamedWarehouse:
    """A warehouse with its options. They may hold secrets and are not shown."""

    path: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def find_warehouse(text: str) -> NamedWarehouse | None:
    """Returns the warehouse of a name; ``None`` if the text is a path.

    Raises:
        OptionError: The file cannot be used, or there is also a folder of that name.
    """
    if NAME.fullmatch(text) is None:
        return None
    file = config_file()
    if file is None or text not in (entries := _entries(file)):
        return None
    if Path(text).is_dir():
        raise OptionError(
            f"{text!r} is a folder here and a warehouse in {file}; write './{text}' for the folder, or rename one of them"
        )
    return _warehouse(file, text, entries[text])


def all_warehouses() -> dict[str, NamedWarehouse]:
    """Returns the warehouses of the file by name; empty if there is no file."""
    file = config_file()
    return {} if file is None else {name: _warehouse(file, name, entry) for name, entry in _entries(file).items()}


def warehouse_names() -> list[str]:
    """Returns the names of the warehouses in the file, for messages; empty if the file cannot be used."""
    try:
        file = config_file()
        return [] if file is None else sorted(_entries(file))
    except (OptionError, NotFoundError):
        return []


def config_file() -> Path | None:
    """Returns the file that is read; ``None`` if there is none."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        file = Path(named).expanduser()
        if not file.is_file():
            raise NotFoundError(f"there is no file {named}, which {CONFIG_VARIABLE} names")
        return file
    here = Path(CONFIG_NAME)
    if here.is_file():
        if here.stat().st_uid not in {os.getuid(), 0}:
            raise OptionError(
                f"{here.absolute()} belongs to another user; if you trust it, name it with {CONFIG_VARIABLE}"
            )
        return here.absolute()
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "lakebed" / CONFIG_NAME
    return home if home.is_file() else None


def _entries(file: Path) -> dict[str, Any]:
    """Returns the tables below ``warehouses``."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{file} is not valid TOML: {error}") from None  # the message has no text of the file
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read {file}: {type(error).__name__}") from None
    for key in content:
        if key != "warehouses":
            raise OptionError(unknown_name("key", key, ["warehouses"], where=str(file)))
    entries = content.get("warehouses", {})
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise OptionError(f'{file}: write a warehouse as a table: [warehouses.name] with path = "..."')
    for name in entries:
        if NAME.fullmatch(name) is None:
            raise OptionError(
                f"{name!r} in {file} is not a valid warehouse name; use up to 64 letters, digits, '_', '-' and '.'"
            )
    return entries


def _warehouse(file: Path, name: str, entry: Mapping[str, Any]) -> NamedWarehouse:
    where = f"[warehouses.{name}] of {file}"
    for key in entry:
        if key not in _KEYS:
            raise OptionError(unknown_name("key", key, _KEYS, where=where))
    path, options = entry.get("path"), entry.get("options", {})
    if not isinstance(path, str) or not path.strip():
        raise OptionError(f'{where} needs a path, such as path = "s3://bucket/warehouse"')
    if not isinstance(options, dict):
        raise OptionError(f"the options in {where} must be a table")
    given = dict(_flat(options))
    _warn_if_open(file, given)
    path = _expanded(path, "path", where)
    if not is_remote_path(path) and not path.startswith("file://"):
        path = str(file.parent / Path(path).expanduser())
    texts = {key: _expanded(value, key, where) if isinstance(value, str) else value for key, value in given.items()}
    return NamedWarehouse(path, normalise(texts))


def _flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Returns options by name. In TOML ``s3.region = "x"`` without quotes is a table ``s3`` with a key ``region``."""
    for key, value in options.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _expanded(text: str, key: str, where: str) -> str:
    def value(found: re.Match[str]) -> str:
        if found[0].startswith("$$"):
            return found[0][1:]
        try:
            return os.environ[found[1]]
        except KeyError:
            raise OptionError(f"{key!r} in {where} refers to the variable {found[1]}, which is not set") from None

    return _VARIABLE.sub(value, text)


def _warn_if_open(file: Path, options: Mapping[str, Any]) -> None:
    """Warns about a file that contains secrets and that others can read."""
    secrets = [
        name for name, value in options.items() if is_secret(name) and isinstance(value, str) and "${" not in value
    ]
    mode = file.stat().st_mode
    if secrets and mode & (stat.S_IRGRP | stat.S_IROTH):
        warnings.warn(
            f"{file} contains secrets ({', '.join(secrets)}), and other users can read it; run: chmod 600 {file}. Or "
            'refer to a variable: "${NAME}"',
            UserWarning,
            stacklevel=4,
        )
