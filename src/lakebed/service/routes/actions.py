"""Routes that start actions as jobs, and that list, show and cancel jobs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from lakebed.errors import OptionError
from lakebed.service import actions
from lakebed.service.error_answers import RefusedError, documented
from lakebed.service.jobs import Outcome, Report, Task
from lakebed.service.models import jobs as models
from lakebed.service.models.common import Page
from lakebed.service.models.jobs import ActionName, Job, JobState
from lakebed.service.routes.parameters import (
    API,
    READ_ERRORS,
    TABLE_PATH,
    Cut,
    Opened,
    ServiceState,
)
from lakebed.service.state import Service, service_of
from lakebed.service.warehouses import OpenTable

A = TypeVar("A", bound=models.Action)
Route = TypeVar("Route", bound=Callable[..., Any])

ERRORS = {**READ_ERRORS, **documented(409, 413, 415)}


async def check_allowed(request: Request) -> None:
    """Refuse actions unless the service allows them."""
    if not service_of(request).settings.allow_actions:
        raise RefusedError(403, "this service is read-only; start it with --allow-actions to change tables")


acting = APIRouter(prefix=API, tags=["actions"], dependencies=[Depends(check_allowed)])
looking = APIRouter(prefix=API, tags=["jobs"])


def _start(
    state: Service,
    opened: OpenTable,
    response: Response,
    name: ActionName,
    run: Callable[[OpenTable, A, Report], Outcome],
    asked: A,
    *,
    can_stop: bool = False,
) -> Job:
    task = Task(
        action=name,
        warehouse=opened.warehouse.name,
        database=opened.database,
        table=opened.name,
        branch=opened.table.branch_name,
        dry_run=asked.dry_run,
        arguments=asked.model_dump(mode="json", exclude={"dry_run"}),
        work=partial(run, opened, asked),
        can_stop=can_stop and not asked.dry_run,
    )
    job = state.jobs.start(task)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return job


def _action(name: ActionName, summary: str, *, deprecated: bool = False) -> Callable[[Route], Route]:
    path = f"{TABLE_PATH}/actions/{name}"
    return acting.post(path, summary=summary, status_code=202, responses=ERRORS, deprecated=deprecated)


@_action("compact", "Merge data files")
def compact(state: ServiceState, opened: Opened, asked: models.Compact, response: Response) -> Job:
    """Merge files where there are too many, or all that can be merged. Rows do not change."""
    return _start(state, opened, response, "compact", actions.compact, asked, can_stop=True)


@_action("compact-manifests", "Merge manifests")
def compact_manifests(state: ServiceState, opened: Opened, asked: models.CompactManifests, response: Response) -> Job:
    """Rewrite the manifests without entries of deleted files."""
    return _start(state, opened, response, "compact-manifests", actions.compact_manifests, asked)


@_action("compact-chain", "Build full partitions of a chain table")
def compact_chain(state: ServiceState, opened: Opened, asked: models.CompactChain, response: Response) -> Job:
    """Write the merged rows of days as full partitions, so that reads merge less. Rows and changes stay."""
    if asked.partition is None and asked.where is None and not asked.limits:
        raise OptionError("give at least one of partition, where, depth, bytes and age")
    return _start(state, opened, response, "compact-chain", actions.compact_chain, asked, can_stop=True)


@_action("expire-changes", "Drop old changes of a chain table")
def expire_changes(state: ServiceState, opened: Opened, asked: models.ExpireChanges, response: Response) -> Job:
    """Drop the changes of old days that full partitions hold. Changes that later days are merged from stay."""
    return _start(state, opened, response, "expire-changes", actions.expire_changes, asked)


@_action("expire-snapshots", "Delete old snapshots")
def expire_snapshots(state: ServiceState, opened: Opened, asked: models.ExpireSnapshots, response: Response) -> Job:
    """Delete old snapshots and the files that only they need. Tags, branches and consumers keep theirs."""
    return _start(state, opened, response, "expire-snapshots", actions.expire_snapshots, asked)


@_action("create-tag", "Create a tag")
def create_tag(state: ServiceState, opened: Opened, asked: models.CreateTag, response: Response) -> Job:
    """Create a tag of a snapshot; the tagged state stays readable when the snapshot expires."""
    return _start(state, opened, response, "create-tag", actions.create_tag, asked)


@_action("drop-tag", "Delete a tag")
def drop_tag(state: ServiceState, opened: Opened, asked: models.DropTag, response: Response) -> Job:
    """Delete a tag and the files that only it needs."""
    return _start(state, opened, response, "drop-tag", actions.drop_tag, asked)


@_action("delete-tag", "Delete a tag", deprecated=True)
def delete_tag(state: ServiceState, opened: Opened, asked: models.DropTag, response: Response) -> Job:
    """The old name of drop-tag."""
    return _start(state, opened, response, "delete-tag", actions.drop_tag, asked)


@_action("create-branch", "Create a branch")
def create_branch(state: ServiceState, opened: Opened, asked: models.CreateBranch, response: Response) -> Job:
    """Create a branch: empty, or with the rows of a snapshot or a tag."""
    return _start(state, opened, response, "create-branch", actions.create_branch, asked)


@_action("drop-branch", "Delete a branch")
def drop_branch(state: ServiceState, opened: Opened, asked: models.DropBranch, response: Response) -> Job:
    """Delete a branch; its files stay until orphan files are removed."""
    return _start(state, opened, response, "drop-branch", actions.drop_branch, asked)


@_action("delete-branch", "Delete a branch", deprecated=True)
def delete_branch(state: ServiceState, opened: Opened, asked: models.DropBranch, response: Response) -> Job:
    """The old name of drop-branch."""
    return _start(state, opened, response, "delete-branch", actions.drop_branch, asked)


@_action("rollback", "Roll back to an earlier snapshot")
def rollback(state: ServiceState, opened: Opened, asked: models.Rollback, response: Response) -> Job:
    """Make an earlier snapshot the latest. Deletes later snapshots and their tags."""
    if (asked.snapshot is None) == (asked.tag is None):
        raise OptionError("give exactly one of snapshot and tag")
    return _start(state, opened, response, "rollback", actions.rollback, asked)


# ---------------------------------------------------------------------------------------------------------------- jobs


JobId = Annotated[str, Path(min_length=1, max_length=64, description="The id of a job.", examples=["6b3f0c1e9a7d4c52"])]


@looking.get("/jobs", summary="Jobs", responses=documented(400, 401, 403, 422))
def jobs(
    state: ServiceState,
    part: Cut,
    warehouse: Annotated[str | None, Query(max_length=64, description="Only on this warehouse.")] = None,
    database: Annotated[str | None, Query(max_length=255, description="Only in this database.")] = None,
    table: Annotated[str | None, Query(max_length=255, description="Only on this table.")] = None,
    action: Annotated[ActionName | None, Query(description="Only of this action.", examples=["compact"])] = None,
    job_state: Annotated[JobState | None, Query(alias="state", description="Only in this state.")] = None,
) -> Page[Job]:
    """Returns jobs, newest first. Jobs that ended are kept until enough newer ones have ended."""
    wanted = {"warehouse": warehouse, "database": database, "table": table, "action": action, "state": job_state}
    found = state.jobs.list(
        lambda job: all(value is None or getattr(job, name) == value for name, value in wanted.items())
    )
    return Page(**part.page(found))


@looking.get("/jobs/{job_id}", summary="A job", responses=documented(400, 401, 403, 404, 422))
def job(state: ServiceState, job_id: JobId) -> Job:
    """Returns the state of a job, with its progress or its result."""
    return state.jobs.get(job_id)


@acting.post(
    "/jobs/{job_id}/cancel", summary="Cancel a job", responses=documented(400, 401, 403, 404, 409, 413, 415, 422)
)
def cancel(state: ServiceState, job_id: JobId, asked: models.Cancel) -> Job:  # noqa: ARG001 - the body only has to be there
    """Cancel a job that is queued or reports progress; files that it wrote are deleted. Other jobs run to their end."""
    return state.jobs.cancel(job_id)
