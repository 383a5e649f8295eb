"""Errors as responses: the status of each error, and one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from lakebed.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitOutcomeUnknownError,
    CorruptError,
    LakebedError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from lakebed.service.models.common import Failure

WORDS: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many_requests",
    500: "failed",
    503: "unavailable",
    504: "timeout",
}

_STATUSES: Final[tuple[tuple[type[LakebedError], int], ...]] = (
    (NotFoundError, 404),
    (AlreadyExistsError, 409),
    (CommitConflictError, 409),
    (UnsupportedError, 422),
    (CommitOutcomeUnknownError, 503),
    (CorruptError, 503),
    (StorageError, 503),
)


class RefusedError(Exception):
    """A request that is refused with the given status."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


def answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Returns an error response."""
    word = WORDS.get(status, "bad_request" if status < 500 else "failed")
    text = " ".join(message.split()).encode("utf-8", errors="backslashreplace").decode()
    return JSONResponse({"error": word, "message": text}, status, dict(headers or {}))


def status_of(error: LakebedError) -> int:
    """Returns the status of a Lakebed error; 400 for invalid requests."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Returns the part of the OpenAPI document that lists the errors of a route."""
    return {status: {"model": Failure, "description": WORDS[status].replace("_", " ")} for status in statuses}


def add_handlers(app: FastAPI) -> None:
    """Install the error handlers in an application."""

    @app.exception_handler(LakebedError)
    async def lakebed_error(_: Request, error: LakebedError) -> JSONResponse:
        return answer(status_of(error), str(error))

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> JSONResponse:
        return answer(error.status, error.message, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return answer(422, "; ".join(_sentence(one) for one in error.errors()[:5]))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        messages = {
            404: f"there is nothing at {request.url.path}",
            405: f"{request.method} is not possible at {request.url.path}",
        }
        return answer(error.status_code, messages.get(error.status_code, str(error.detail)), error.headers)


def _sentence(problem: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in problem.get("loc", ()))
    return f"{place}: {problem.get('msg', 'is not valid')}"
