"""Checks every request before it is processed: host name, token, origin and size.

* ``Host`` must be one of the allowed names. This refuses pages of other sites whose name resolves to this machine (DNS
  rebinding).
* If the service has a token, requests must send it as ``Authorization: Bearer``. Exceptions are the page itself, what
  the page needs before it can ask for the token, and ``/healthz``. The token is compared in constant time.
* A request that may change something must be JSON, which a form of another site cannot send, must come from the same
  origin, and must not be large.

* The body must arrive in time, and a client must not send too many requests, where the settings limit them.

Every response gets security headers against framing, content sniffing, caching and foreign scripts.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import math
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from starlette.datastructures import Headers, MutableHeaders

from lakebed.service.error_answers import RefusedError, answer
from lakebed.service.rates import Rates
from lakebed.service.settings import Settings

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

OPENAPI_PATH: Final = "/api/v1/openapi.json"
OPEN_PATHS: Final = frozenset({"/api/v1/service", "/healthz"})
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src "
    "'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_BRACKETED: Final = re.compile(r"\[([0-9a-f:.]+)\](?::\d+)?")
_LOG: Final = logging.getLogger("lakebed.service")


class Guard:
    """Wraps an application and refuses requests that fail a check."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in settings.allowed_hosts)
        self._token = None if settings.token is None else _digest(settings.token.encode())
        self._body_bytes = settings.limits.body_bytes
        self._body_seconds = settings.limits.body_seconds
        rate = settings.limits.requests_per_second
        self._rates = None if rate is None else Rates(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            receive = await self._checked(scope, receive)
            await self._app(scope, receive, send_guarded)
        except RefusedError as refused:
            response = answer(refused.status, refused.message, refused.headers)
            await response(scope, receive, send_guarded)
        except Exception:  # clients never get a traceback
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            if started:
                raise
            response = answer(500, "the service failed; see its log")
            await response(scope, receive, send_guarded)

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        headers = Headers(scope=scope)
        self._check_host(headers)
        self._check_rate(scope, headers)
        if self._needs_token(scope["path"]):
            self._check_token(headers)
        if scope["method"] in _SAFE_METHODS:
            return receive
        _check_origin(headers)
        return await self._small_body(headers, receive)

    def _check_host(self, headers: Headers) -> None:
        host = _host_name(headers.get("host", ""))
        if self._hosts and host not in self._hosts:
            raise RefusedError(403, "this host name is not allowed; start lakebed serve with --allow-host")

    def _check_rate(self, scope: Scope, headers: Headers) -> None:
        if self._rates is None or scope["path"] == "/healthz":
            return
        client = (scope.get("client") or ("",))[0]
        wait = self._rates.wait((client, _digest(headers.get("authorization", "").encode("latin-1", errors="replace"))))
        if wait:
            message = "this client sends too many requests; try again soon"
            raise RefusedError(429, message, {"Retry-After": str(math.ceil(wait))})

    def _needs_token(self, path: str) -> bool:
        return self._token is not None and path not in OPEN_PATHS and path.startswith(("/api/", "/metrics"))

    def _check_token(self, headers: Headers) -> None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(_digest(given.strip().encode("latin-1", errors="replace")), self._token or b"")
        if scheme.lower() != "bearer" or not right:
            what = "the token is wrong" if given else "this service needs a token, as Authorization: Bearer <token>"
            raise RefusedError(401, what, {"WWW-Authenticate": "Bearer"})

    async def _small_body(self, headers: Headers, receive: Receive) -> Receive:
        """Read the body, which is small, and pass it on."""
        length = headers.get("content-length", "0")
        body = b""
        more = True
        while more and len(body) <= self._body_bytes and int(length if length.isdigit() else 0) <= self._body_bytes:
            message = await self._in_time(receive)
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if more or len(body) > self._body_bytes:
            raise RefusedError(413, f"the body is too large; at most {self._body_bytes:,} bytes are allowed")
        handed = False

        async def again() -> Message:
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {"type": "http.request", "body": body, "more_body": False}

        return again

    async def _in_time(self, receive: Receive) -> Message:
        try:
            return await asyncio.wait_for(receive(), self._body_seconds)
        except TimeoutError:
            raise RefusedError(408, "the body of the request did not arrive in time", {"Connection": "close"}) from None


def _check_origin(headers: Headers) -> None:
    """Refuse requests from pages of other sites; browsers always send the origin of such a request."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, "send JSON, with Content-Type: application/json")
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and origin.lower() not in {f"{scheme}://{host.lower()}" for scheme in ("http", "https")}:
        raise RefusedError(403, "requests from pages of other sites are refused")
    if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        raise RefusedError(403, "requests from pages of other sites are refused")


def _host_name(header: str) -> str:
    """Returns the name in a ``Host`` header, without the port.

    >>> _host_name("localhost:8451"), _host_name("[::1]:8451"), _host_name("EXAMPLE.org")
    ('localhost', '::1', 'example.org')
    """
    text = header.strip().lower()
    bracketed = _BRACKETED.fullmatch(text)
    if bracketed is not None:
        return bracketed[1]
    name, colon, port = text.partition(":")
    return name if not colon or port.isdigit() else text


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
