"""The settings of a service: warehouses, token, allowed hosts, allowed actions, and limits of responses."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lakebed.autopilot import Budget
from lakebed.catalogs.named_warehouses import NamedWarehouse
from lakebed.errors import NotFoundError, OptionError
from lakebed.storage import is_remote_path

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORT: Final = 8451
LEAST_TOKEN: Final = 16

_WAREHOUSE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request.

    ``read_bytes`` and ``diff_bytes`` limit the size of data files that a preview and a comparison of rows may open,
    ``decoded_bytes`` and ``read_seconds`` what it may decode and how long it may take. Rows take memory, so at most
    ``readers`` requests read them at once; others wait ``reader_wait`` seconds and are then refused. Headers and body
    of a request have to arrive within ``header_seconds`` and ``body_seconds``, and each client may send
    ``requests_per_second``, for some seconds more.
    """

    page: int = 1000
    preview_rows: int = 1000
    preview_bytes: int = 4 * 1024**2
    read_bytes: int = 512 * 1024**2
    diff_bytes: int = 64 * 1024**2
    decoded_bytes: int = 1024**3
    read_seconds: float = 30
    readers: int = 4
    reader_wait: float = 10
    body_bytes: int = 64 * 1024
    body_seconds: float = 10
    header_seconds: float = 10
    connections: int = 1000
    requests_per_second: float | None = None
    jobs: int = 200
    workers: int = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a service.

    ``warehouses`` are folders, URLs or :class:`~lakebed.catalogs.named_warehouses.NamedWarehouse` with their options,
    by name. With ``autopilot`` the service looks after their tables, within ``budget``. Requests must use one of
    ``allowed_hosts`` in their ``Host`` header; if empty, any name is allowed.
    """

    warehouses: Mapping[str, str | NamedWarehouse]
    allow_actions: bool = False
    read_only: bool = False
    autopilot: bool = False
    budget: Budget = field(default_factory=Budget)
    token: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = LOOPBACK_HOSTS
    web: Path = Path(__file__).parent / "web"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not self.warehouses:
            raise OptionError("a service needs at least one warehouse")
        for name, warehouse in self.warehouses.items():
            if _WAREHOUSE_NAME.fullmatch(name) is None:
                raise OptionError(
                    f"{name!r} is not a valid warehouse name; use up to 64 letters, digits, '_', '-' and '.'"
                )
            folder = warehouse if isinstance(warehouse, str) else warehouse.path
            if not is_remote_path(folder) and not Path(folder).is_dir():
                raise NotFoundError(
                    f"there is no warehouse at {folder}; give the folder that contains <database>.db folders"
                )
        if self.token is not None and (len(self.token) < LEAST_TOKEN or _TOKEN.fullmatch(self.token) is None):
            raise OptionError(f"a token needs at least {LEAST_TOKEN} characters, without spaces, from '!' to '~'")
        if self.allow_actions and self.read_only:
            raise OptionError("allow_actions and read_only exclude each other; set only one of them")
        if self.autopilot and self.read_only:
            raise OptionError("autopilot and read_only exclude each other; set only one of them")


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.9", "::1", "0.0.0.0", "db1")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
