"""Converts errors of HDFS to errors of Lakebed: what failed, where, and what to do.

The client raises ``FileNotFoundError``, ``FileExistsError`` and ``OSError`` with the text of a Java exception and its
stack trace, or ``RuntimeError`` with the name of the exception. Only the first line of such a text is shown.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from lakebed.errors import NotFoundError, StorageError

_ANSWER: Final = re.compile(r'^RPCError\("(?:\w+[.$])*(\w+)", "(.*?)(?:\\n|"\)$|$)')
_DENIED: Final = "permission denied; check the folder's owner and mode, and HADOOP_USER_NAME or the Kerberos ticket"
_HINTS: Final = {
    "AccessControlException": _DENIED,
    "AuthorizationException": _DENIED,
    "DSQuotaExceededException": "the space quota is used up; free some space and try again",
    "NSQuotaExceededException": "the quota of files is used up; delete some files and try again",
    "ParentNotDirectoryException": "Not a directory",
    "PathIsNotEmptyDirectoryException": "the folder is not empty",
    "SafeModeException": "the name node is in safe mode and accepts no changes; try again later",
    "StandbyException": "the name node is on standby; use the name of the name service, and set HADOOP_CONF_DIR",
}
NOT_A_FILE: Final = "Path is not a file"


@contextlib.contextmanager
def explained_hdfs(action: str, path: str) -> Iterator[None]:
    """Converts errors of the client, with the path and what to do."""
    try:
        yield
    except FileNotFoundError as error:
        if NOT_A_FILE in str(error):
            raise StorageError(f"cannot {action} {path}: Is a directory") from error
        raise NotFoundError(f"cannot {action} {path}: there is no such file") from None
    except FileExistsError as error:
        reason = "Is a directory" if "as a directory" in str(error) else "File exists"
        raise StorageError(f"cannot {action} {path}: {reason}") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise _converted(action, path, error) from error


def answer_name(error: BaseException | None) -> str | None:
    """Returns the name of the Java exception with which the name node answered; ``None`` if it did not answer.

    >>> answer_name(RuntimeError('RPCError("org.apache.hadoop.fs.InvalidPathException", "Invalid path name")'))
    'InvalidPathException'
    """
    found = _ANSWER.match(str(error))
    return None if found is None else found[1]


def _converted(action: str, path: str, error: Exception) -> StorageError:
    name = answer_name(error)
    if name is None and isinstance(error, OSError):
        reason = f"{_first_line(error)}; check that the name node and the data nodes run and that the URL is right"
    elif name in _HINTS:
        reason = _HINTS[name]
    else:
        reason = _first_line(error)
    converted = StorageError(f"cannot {action} {path}: {reason}")
    converted.may_have_happened = name is None
    return converted


def _first_line(error: Exception) -> str:
    found = _ANSWER.match(str(error))
    return f"{found[2]} ({found[1]})" if found is not None else str(error).split("\n", 1)[0][:500]
