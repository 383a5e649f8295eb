"""Converts errors of object stores to errors of Lakebed: what failed, where, and what to do.

Answers of object stores can contain access keys and signed texts, so only the status, the code and the message of an
answer are shown.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from obstore import exceptions

from lakebed.errors import NotFoundError, StorageError

_STATUS: Final = re.compile(r"status code: (\d{3})|response status (\d{3})|\((\d{3}) [A-Z]")
_CODE: Final = re.compile(r"<Code>([^<]{1,100})</Code>")
_MESSAGE: Final = re.compile(r"<Message>([^<]{1,300})</Message>")
_SECRET: Final = re.compile(
    r"(?i)((?:access.?key|secret|signature|token|credential|password|sig|account.?key)[\w.-]*[\"']?\s*[=:>]\s*[\"']?)"
    r"[^\s\"'<>&,;)]+"
)
_DENIED: Final = "access denied; check the keys and the permissions on the bucket"
_KEYS: Final = "the credentials are missing, wrong or expired; check the keys, the region and the clock of this machine"
_HINTS: Final = {
    "NoSuchBucket": "the bucket does not exist; create it first, or correct its name",
    "ContainerNotFound": "the container does not exist; create it first, or correct its name",
    "AccessDenied": _DENIED,
    "InvalidAccessKeyId": _KEYS,
    "SignatureDoesNotMatch": _KEYS,
    "ExpiredToken": _KEYS,
    "RequestTimeTooSkewed": "the clock of this machine is wrong; correct it",
    "SlowDown": "the store throttles requests and did not stop before the deadline; try again later",
    "SlowDownRead": "the store throttles requests and did not stop before the deadline; try again later",
    "SlowDownWrite": "the store throttles requests and did not stop before the deadline; try again later",
}
_BY_STATUS: Final = {
    301: "the bucket is in another region; set 's3.region'",
    401: _KEYS,
    403: _DENIED,
    429: "the store throttles requests and did not stop before the deadline; try again later",
    503: "the store is overloaded or throttles requests, and did not stop before the deadline; try again later",
}


@contextlib.contextmanager
def explained_remote(action: str, path: str) -> Iterator[None]:
    """Converts errors of an object store, with the path and what to do."""
    try:
        yield
    except FileNotFoundError as error:
        if _code(error) in {"NoSuchBucket", "ContainerNotFound"}:
            raise StorageError(f"cannot {action} {path}: {_HINTS['NoSuchBucket']}") from error
        raise NotFoundError(f"cannot {action} {path}: there is no such file") from None
    except (exceptions.BaseError, OSError, ValueError) as error:
        raise _converted(action, path, error) from error


def _converted(action: str, path: str, error: Exception) -> StorageError:
    converted = StorageError(f"cannot {action} {path}: {_reason(error)}")
    status = _status(error)
    converted.may_have_happened = isinstance(error, exceptions.GenericError) and (status is None or status >= 500)
    return converted


def _reason(error: Exception) -> str:
    code, status = _code(error), _status(error)
    if isinstance(error, exceptions.PermissionDeniedError):
        return _HINTS.get(code or "", _DENIED)
    if isinstance(error, exceptions.UnauthenticatedError):
        return _KEYS
    if isinstance(error, exceptions.AlreadyExistsError):
        return "File exists"
    if code in _HINTS:
        return _HINTS[code]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    message = _MESSAGE.search(str(error))
    if message is not None:
        return f"{message[1]} ({code}, {status})"
    return shown(error)


def shown(error: BaseException) -> str:
    """Returns the first line of an error without anything that looks like a secret."""
    first = str(error).split("\n", 1)[0]
    return _SECRET.sub(r"\1***", first)[:500]


def is_conflict(error: BaseException | None) -> bool:
    """Returns whether the store could not decide, because another put of the same name was on its way (409)."""
    return error is not None and _status(error) == 409


def is_refused_condition(error: BaseException | None) -> bool:
    """Returns whether the store does not know conditional puts."""
    return error is not None and (_status(error) == 501 or _code(error) in {"NotImplemented", "UnsupportedHeader"})


def _status(error: BaseException) -> int | None:
    found = _STATUS.search(str(error))
    return None if found is None else int(next(group for group in found.groups() if group))


def _code(error: BaseException) -> str | None:
    found = _CODE.search(str(error))
    return None if found is None else found[1]
