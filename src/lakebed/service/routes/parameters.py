"""Parameters that many routes share: names in the path, pages, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from fastapi import Depends, Path, Query, Request

from lakebed.errors import OptionError, unknown_name
from lakebed.service.error_answers import documented
from lakebed.service.numbers.table_contents import Slice
from lakebed.service.settings import Limits
from lakebed.service.state import Service, service_of
from lakebed.service.warehouses import OpenTable

DEFAULT_PAGE = 100
DEFAULT_HISTORY_PAGE = 25
_PAGE = Limits().page

API = "/api/v1"
TABLE_PATH = "/warehouses/{warehouse}/databases/{database}/tables/{table}"
READ_ERRORS = documented(400, 401, 403, 404, 422, 503)

WarehouseName = Annotated[str, Path(min_length=1, max_length=64, description="A warehouse.", examples=["demo"])]
DatabaseName = Annotated[str, Path(min_length=1, max_length=255, description="A database.", examples=["shop"])]
TableName = Annotated[str, Path(min_length=1, max_length=255, description="A table.", examples=["orders"])]
BranchName = Annotated[
    str | None, Query(min_length=1, max_length=255, description="A branch. (default: main)", examples=["main"])
]
Limit = Annotated[int, Query(ge=1, le=_PAGE, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, lt=2**31, description="How many to skip.")]
Version = Annotated[
    str | None,
    Query(min_length=1, max_length=255, description="A snapshot or tag. (default: the latest)", examples=["3"]),
]
Search = Annotated[str | None, Query(max_length=255, description="Only names that contain this text, ignoring case.")]
PartitionName = Annotated[
    str | None, Query(max_length=4000, description="Only this partition.", examples=["dt=2025-01-01"])
]


_OTHER_NAMES: Final[Mapping[str, str]] = {
    "lastSnapshot": "lastSnapshotId",
    "last_snapshot_id": "lastSnapshotId",
    "operation": "kind",
    "page": "offset",
    "pageSize": "limit",
    "page_size": "limit",
    "size": "limit",
    "type": "kind",
}
"""What other interfaces call the parameters of this one."""


# These are coroutines: switching to a thread would cost more than the work.


async def check_names(request: Request) -> None:
    """Refuse query parameters that the route does not have: without its filter, an answer would be a wrong one."""
    if not request.query_params:
        return
    route = request.app.openapi()["paths"][request.scope["route"].path][request.method.lower()]
    known = sorted(one["name"] for one in route.get("parameters", ()) if one["in"] == "query")
    for name in request.query_params:
        if name not in known:
            raise OptionError(_unknown_parameter(name, known))


def _unknown_parameter(name: str, known: Sequence[str]) -> str:
    """Returns the message for an unknown query parameter.

    >>> _unknown_parameter("operation", ["kind", "limit"])
    "unknown query parameter 'operation'; did you mean 'kind'? The parameters are: kind, limit"
    """
    other = _OTHER_NAMES.get(name)
    message = unknown_name("query parameter", name, known, similar=other if other in known else None)
    return f"{message} The parameters are: {', '.join(known)}" if message.endswith("?") else message


async def state_of(request: Request) -> Service:
    """Returns the service that handles a request."""
    return service_of(request)


ServiceState = Annotated[Service, Depends(state_of)]


def open_table(
    request: Request, warehouse: WarehouseName, database: DatabaseName, table: TableName, branch: BranchName = None
) -> OpenTable:
    """Open the branch of a table that a request names."""
    return service_of(request).warehouses.open(warehouse, database, table, branch)


async def cut(limit: Limit = DEFAULT_PAGE, offset: Offset = 0) -> Slice:
    """Returns the part of a list that a request asks for."""
    return Slice(limit, offset)


Opened = Annotated[OpenTable, Depends(open_table)]
Cut = Annotated[Slice, Depends(cut)]
