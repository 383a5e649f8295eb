"""The ASGI application: combines routes, guard, metrics and dashboard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import APIRouter, Depends, FastAPI, Response
from starlette.concurrency import run_in_threadpool

from lakebed.service.error_answers import add_handlers, documented
from lakebed.service.guard import OPENAPI_PATH, Guard
from lakebed.service.metrics import Measured
from lakebed.service.models.tables import Alive
from lakebed.service.routes import actions, autopilot, contents, history, rows, tables
from lakebed.service.routes.parameters import ServiceState, check_names
from lakebed.service.settings import Settings
from lakebed.service.state import Service
from lakebed.service.web import web_router
from lakebed.version import VERSION

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ABOUT: Final = (
    "Inspect Apache Paimon tables: their contents, history and health. Where actions are allowed, maintain them. "
    "Times are epoch "
    "milliseconds, sizes are bytes."
)

_signs = APIRouter(tags=["service"])


@_signs.get("/healthz", summary="Whether the service runs", responses=documented(403))
def alive() -> Alive:
    """Returns ok while the service runs; opens no table."""
    return Alive(status="ok")


@_signs.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **documented(401, 403)},
)
def metrics(state: ServiceState) -> Response:
    """Requests, pages, snapshots read, caches, timings, jobs."""
    return Response(state.metrics.text(), media_type=_METRICS_TYPE)


def create_app(settings: Settings) -> FastAPI:
    """Returns an application; it observes the library from its start on, and waits for jobs when it stops."""
    state = Service.of(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        stop_watching = state.metrics.watch()
        state.autopilots.start()
        try:
            yield
        finally:
            stop_watching()
            await run_in_threadpool(state.autopilots.close)
            await run_in_threadpool(state.jobs.close)

    app = FastAPI(
        title="Lakebed",
        version=VERSION,
        description=_ABOUT,
        openapi_url=OPENAPI_PATH,
        docs_url=None,  # they load scripts from other sites
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.service = state
    add_handlers(app)
    routers = (tables.router, history.router, contents.router, rows.router, actions.acting, actions.looking)
    for router in (*routers, autopilot.looking, autopilot.switching):
        app.include_router(router, dependencies=[Depends(check_names)])
    app.include_router(_signs)
    app.include_router(web_router(settings.web))
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Measured, metrics=state.metrics)
    if settings.token is not None:
        _document_token(app)
    return app


def _document_token(app: FastAPI) -> None:
    """Declare in the OpenAPI document that requests need a token."""
    plain = app.openapi

    def with_token() -> dict[str, Any]:
        document = plain()
        document.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        return document

    app.openapi = with_token  # type: ignore[method-assign]
