"""The errors that Lakebed raises: one small tree below :class:`LakebedError`.

Each message says what is wrong, where, and what to do:

>>> from lakebed.errors import OptionError, unknown_name
>>> raise OptionError(unknown_name("option", "bukcet", ["bucket", "bucket-key"]))
Traceback (most recent call last):
...
lakebed.errors.OptionError: unknown option 'bukcet'; did you mean 'bucket'?
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

SHARE_THE_WAREHOUSE: Final = (
    "A warehouse on a local path has to be in a folder that the driver and all executors share; else use an object "
    "store or HDFS"
)
"""What to do about tasks that do not see the files of a table, for messages."""
ROLL_BACK: Final = "restore it, or roll back to the newest whole snapshot with table.repair() or 'lakebed repair'"
"""What to do about a damaged file that a snapshot needs, for messages."""


class LakebedError(Exception):
    """Base class of all errors that Lakebed raises."""


class NotFoundError(LakebedError):
    """A database, table, branch, snapshot, tag, schema or file does not exist."""


class AlreadyExistsError(LakebedError):
    """Something with this name already exists."""


class SchemaError(LakebedError):
    """A schema, a column or a change of a schema is not valid."""


class DataError(LakebedError):
    """Rows do not match the table: missing or extra columns, wrong types, nulls in a NOT NULL column."""


class OptionError(LakebedError):
    """A table option or an argument is unknown, has an invalid value, or requests something unsupported."""


class UnsupportedError(LakebedError):
    """Lakebed does not support a feature of the table, file or statement."""


class ExpressionError(LakebedError):
    """A SQL expression cannot be parsed, or names unknown columns or functions."""


class CorruptError(LakebedError):
    """A file of the table cannot be decoded, is truncated, or contradicts another file; the message names the file."""


class CommitConflictError(LakebedError):
    """Another commit changed the files or the schema that this commit depends on; nothing was committed."""


class CommitOutcomeUnknownError(LakebedError):
    """It is unknown whether the commit succeeded. Its files were not deleted; check the latest snapshots."""


class StorageError(LakebedError):
    """The storage returned an error, such as no permission, no space or a failing disk.

    Attributes:
        may_have_happened: Whether the storage may have done what was asked, because its answer was lost.
    """

    may_have_happened = False


class OutcomeUnknownError(StorageError):
    """It is unknown whether a file was created, because the storage did not answer before the deadline."""

    may_have_happened = True


def unknown_name(what: str, name: str, known: Iterable[str], *, where: str = "", similar: str | None = None) -> str:
    """Returns the message for an unknown name, with the most similar known name or a list of known names.

    ``similar`` is the suggestion, if the caller has found one.

    >>> unknown_name("column", "nmae", ["id", "name"], where="table db.t")
    "unknown column 'nmae' in table db.t; did you mean 'name'?"
    >>> unknown_name("column", "x", ["id", "name"])
    "unknown column 'x'; known: id, name"
    """
    names = list(known)
    place = f" in {where}" if where else ""
    near = difflib.get_close_matches(name, names, n=1) if similar is None else [similar]
    if near:
        return f"unknown {what} {name!r}{place}; did you mean {near[0]!r}?"
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"unknown {what} {name!r}{place}; known: {shown or 'none'}"
