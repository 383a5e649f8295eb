"""Converts errors of object stores to errors of Lakebed: what failed, where, and what to do.

Answers of object stores can contain access keys and signed texts, so only the status, the code and the message of an
answer are shown.
"""

from __future__ import annotations

import contextlib
import html
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
_HOST: Final = re.compile(r"https?://([^/\s?]+)")
_EXPECTED_REGION: Final = re.compile(r"expecting (?:'|&#39;|&apos;)([\w-]+)|<Region>([\w-]+)</Region>")
_DENIED: Final = "access denied; check the keys and the permissions on the bucket"
_KEYS: Final = "the credentials are missing or wrong; check the keys, the region and the clock of this machine"
_TOKEN: Final = "the session token is wrong or has expired; get new temporary keys"  # noqa: S105 - a message
_SLOW: Final = "the store throttles requests and did not stop before the deadline; try again later"
_NO_BUCKET: Final = "the bucket does not exist; create it first, or correct its name"
_NO_CONTAINER: Final = "the container does not exist; create it first, or correct its name"
_HINTS: Final = {
    "NoSuchBucket": _NO_BUCKET,
    "InvalidBucketName": "the name of the bucket is not valid; correct it",
    "ContainerNotFound": _NO_CONTAINER,
    "AccessDenied": _DENIED,
    "AllAccessDisabled": _DENIED,
    "InvalidAccessKeyId": _KEYS,
    "SignatureDoesNotMatch": _KEYS,
    "AuthenticationFailed": _KEYS,
    "ExpiredToken": _TOKEN,
    "InvalidToken": _TOKEN,
    "InvalidTokenId": _TOKEN,
    "TokenRefreshRequired": _TOKEN,
    "RequestTimeTooSkewed": "the clock of this machine is wrong; correct it",
    "SlowDown": _SLOW,
    "SlowDownRead": _SLOW,
    "SlowDownWrite": _SLOW,
    "ServerBusy": _SLOW,
}
_BY_STATUS: Final = {
    301: "the bucket is in another region; set 's3.region'",
    401: _KEYS,
    403: _DENIED,
    429: _SLOW,
    503: "the store is overloaded or throttles requests, and did not stop before the deadline; try again later",
}
_CUT_OFF: Final = ("kind: Interrupted", "kind: Body", "kind: Decode", "IncompleteMessage")
_NETWORK: Final = (
    ("dns error", "the host name {host} is not known; check the endpoint, the region and the network"),
    ("ConnectionRefused", "nothing listens at {host}; check the endpoint, and whether the server runs"),
    ("CertificateRequired", "{host} asks for a client certificate, which Lakebed does not send"),
    (
        "invalid peer certificate",
        "the TLS certificate of {host} is not trusted; check the endpoint and the certificate",
    ),
    (
        "certificate verify failed",
        "the TLS certificate of {host} is not trusted; check the endpoint and the certificate",
    ),
    ("InvalidContentType", "{host} does not use TLS; write http:// in the endpoint"),
    ("wrong version number", "{host} does not use TLS; write http:// in the endpoint"),
    ("packet length too long", "{host} does not use TLS; write http:// in the endpoint"),
    ("record overflow", "{host} does not use TLS; write http:// in the endpoint"),
    ("NetworkUnreachable", "{host} cannot be reached from this machine; check the endpoint and the network"),
    ("HostUnreachable", "{host} cannot be reached from this machine; check the endpoint and the network"),
    ("kind: Connect", "no connection to {host}; check the endpoint and the network"),
    ("tcp connect error", "{host} does not answer; check the endpoint, the network and the firewall"),
    ("TimedOut", "{host} did not answer in time; try again, or raise 'storage.request-timeout'"),
)


@contextlib.contextmanager
def explained_remote(action: str, path: str) -> Iterator[None]:
    """Converts errors of an object store, with the path and what to do."""
    try:
        yield
    except FileNotFoundError as error:
        if _code(error) in {"NoSuchBucket", "ContainerNotFound"}:
            raise StorageError(f"cannot {action} {path}: {_HINTS[_code(error) or '']}") from without_secrets(error)
        raise NotFoundError(f"cannot {action} {path}: there is no such file") from None
    except (exceptions.BaseError, OSError, ValueError) as error:
        raise _converted(action, path, error) from without_secrets(error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the client library is written in Rust, which has no exceptions
            raise
        raise StorageError(f"cannot {action} {path}: the client library failed: {shown(error)}") from None


class CutOffError(StorageError):
    """The connection ended within an answer. The client library does not repeat all of these requests."""


def _converted(action: str, path: str, error: Exception) -> StorageError:
    status = _status(error)
    is_cut_off = status is None and any(sign in str(error) for sign in _CUT_OFF)
    converted = (CutOffError if is_cut_off else StorageError)(f"cannot {action} {path}: {_reason(error)}")
    converted.may_have_happened = isinstance(error, exceptions.GenericError) and (status is None or status >= 500)
    return converted


def _reason(error: Exception) -> str:
    code, status = _code(error), _status(error)
    if code in {"AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"}:
        return _wrong_region(error)
    if isinstance(error, exceptions.PermissionDeniedError):
        return _HINTS.get(code or "", _DENIED)
    if isinstance(error, exceptions.UnauthenticatedError):
        return _HINTS.get(code or "", _KEYS)
    if isinstance(error, exceptions.AlreadyExistsError):
        return "File exists"
    if code in _HINTS:
        return _HINTS[code]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    message = _MESSAGE.search(str(error))
    if message is not None:
        return f"{html.unescape(message[1])} ({code}, {status})"
    if status is not None and code is None and status < 500:
        return f"the server at {_host(error)} answered {status}, not as this storage does; check the endpoint"
    return _network_reason(error) or shown(error)


def _wrong_region(error: Exception) -> str:
    expected = _EXPECTED_REGION.search(str(error))
    if expected is None:
        return "the bucket is in another region; set 's3.region'"
    return f"the region is wrong; set 's3.region' to {expected[1] or expected[2]!r}"


def _network_reason(error: Exception) -> str | None:
    """Returns why there was no answer, for errors of the network."""
    text = str(error)
    if _status(error) is not None:
        return None
    reason = next((reason for sign, reason in _NETWORK if sign in text), None)
    return None if reason is None else reason.format(host=_host(error))


def _host(error: Exception) -> str:
    found = _HOST.search(str(error))
    return found[1] if found else "the store"


def without_secrets(error: Exception) -> Exception:
    """Returns an error of the client library with the same type, whose text has nothing that looks like a secret.

    A traceback prints it. Its text can have a URL with a signature.
    """
    try:
        return type(error)(_SECRET.sub(r"\1***", str(error)))
    except TypeError:  # an error with another signature
        return StorageError(shown(error))


def shown(error: BaseException) -> str:
    """Returns the first line of an error without anything that looks like a secret."""
    first = str(error).split("\n", 1)[0]
    return _SECRET.sub(r"\1***", first)[:500]


def is_conflict(error: BaseException | None) -> bool:
    """Returns whether the store could not decide, because another put of the same name was on its way (409)."""
    return error is not None and _status(error) == 409


def is_busy(error: BaseException | None) -> bool:
    """Returns whether the store answered that it cannot do a request now, and may do it later."""
    status = None if error is None else _status(error)
    return status == 429 or (status is not None and status >= 500 and status != 501)


def is_refused_condition(error: BaseException | None) -> bool:
    """Returns whether the store does not know conditional puts."""
    return error is not None and (_status(error) == 501 or _code(error) in {"NotImplemented", "UnsupportedHeader"})


def _status(error: BaseException) -> int | None:
    found = _STATUS.search(str(error))
    return None if found is None else int(next(group for group in found.groups() if group))


def _code(error: BaseException) -> str | None:
    found = _CODE.search(str(error))
    return None if found is None else found[1]
