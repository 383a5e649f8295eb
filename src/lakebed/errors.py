"""Everything Lakebed raises on purpose, as one small tree.

Catch :class:`LakebedError` for all of it. Each message says what was wrong, where, and what to do:

>>> from lakebed.errors import OptionError, unknown_name
>>> raise OptionError(unknown_name("option", "bukcet", ["bucket", "bucket-key"]))
Traceback (most recent call last):
...
lakebed.errors.OptionError: unknown option 'bukcet'; did you mean 'bucket'?
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LakebedError(Exception):
    """Root of all errors that Lakebed raises on purpose."""


class NotFoundError(LakebedError):
    """A database, table, branch, snapshot, tag, schema or file that was asked for is not there."""


class AlreadyExistsError(LakebedError):
    """Something with this name is already there."""


class SchemaError(LakebedError):
    """A schema, a column or a change of schema is not possible as it stands."""


class DataError(LakebedError):
    """Rows that do not fit the table: missing or extra columns, wrong types, nulls where none may be."""


class OptionError(LakebedError):
    """A table option is unknown, has a bad value, or asks for what Lakebed does not support."""


class UnsupportedError(LakebedError):
    """A feature of the table, file or statement that Lakebed does not support; nothing was guessed."""


class ExpressionError(LakebedError):
    """A SQL expression that cannot be parsed, or names unknown columns or functions."""


class CorruptError(LakebedError):
    """A file of the table cannot be decoded, is truncated, or contradicts another; the message names it."""


class CommitConflictError(LakebedError):
    """Another commit changed what this one builds on; nothing was committed."""


class CommitOutcomeUnknownError(LakebedError):
    """The commit may or may not have become visible; nothing was deleted. Look at the latest snapshots."""


class StorageError(LakebedError):
    """The storage refused: no permission, no space, or a failing disk."""


def unknown_name(what: str, name: str, known: Iterable[str], *, where: str = "") -> str:
    """A sentence for a name nobody knows, with the nearest known names.

    >>> unknown_name("column", "nmae", ["id", "name"], where="table db.t")
    "unknown column 'nmae' in table db.t; did you mean 'name'?"
    >>> unknown_name("column", "x", ["id", "name"])
    "unknown column 'x'; known: id, name"
    """
    names = list(known)
    place = f" in {where}" if where else ""
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"unknown {what} {name!r}{place}; did you mean {near[0]!r}?"
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"unknown {what} {name!r}{place}; known: {shown or 'none'}"
