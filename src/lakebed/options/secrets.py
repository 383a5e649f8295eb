"""Which options hold secrets, and how their values stay out of messages.

A value of such an option is a :class:`SecretText`: a string whose ``repr`` is ``'***'``. So it does not appear when a
dictionary of options, a dataclass or the local variables of a traceback are printed. Table options never hold secrets:
a table stores its options in files that every reader of the table can open.
"""

from __future__ import annotations

import re
from typing import Final

from lakebed.options.lookup import find

HIDDEN: Final = "***"
STORAGE_PREFIXES: Final = (
    "s3.",
    "s3a.",
    "fs.",
    "storage.",
    "hadoop.",
    "security.kerberos.",
    "file.cache.",
    "google.cloud.",
)
"""How the names of storage settings start, those of other engines included."""

_SECRET: Final = re.compile(
    r"secret|passw|token|credential|(?:access|account|api|private|customer|encryption)[._-]?key|(?:^|[._-])sas(?:[._-]|$)"
    r"|service\.account\.json$",
    re.IGNORECASE,
)


class SecretText(str):
    """A string that does not show itself: its ``repr`` is ``'***'``.

    >>> {"s3.secret-key": SecretText("hunter2")}
    {'s3.secret-key': '***'}
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"'{HIDDEN}'"


def is_secret(name: str) -> bool:
    """Returns whether the value of an option with this name must not be shown.

    >>> [is_secret(name) for name in ("s3.secret-key", "fs.oss.accessKeySecret", "fs.azure.sas.token")]
    [True, True, True]
    >>> [is_secret(name) for name in ("s3.region", "bucket-key", "fs.gs.auth.service.account.json.keyfile")]
    [False, False, False]
    """
    return _SECRET.search(name) is not None


def hidden(name: str, value: str) -> str:
    """Returns the value of an option as it may be shown.

    >>> hidden("s3.secret-key", "hunter2"), hidden("s3.region", "eu-west-1")
    ('***', 'eu-west-1')
    """
    return HIDDEN if is_secret(name) else value


def shown_value(name: str, value: str) -> str:
    """Returns the value of an option of a table as it may be shown. Another engine may have stored a secret there.

    >>> shown_value("fs.s3a.secret.key", "hunter2"), shown_value("bucket-key", "id")
    ('***', 'id')
    """
    return value if find(name) is not None else hidden(name, value)


def is_storage_setting(name: str) -> bool:
    """Returns whether an option belongs to the storage of a warehouse, and so never to a table.

    >>> is_storage_setting("s3.secret-key"), is_storage_setting("fs.azure.account.key"), is_storage_setting("bucket")
    (True, True, False)
    """
    return name.startswith(STORAGE_PREFIXES) or name == "commit.single-writer"
