"""Routes of the autopilot of a warehouse: its state, its plan, pause and resume."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from lakebed.service.error_answers import documented
from lakebed.service.models.autopilot import Kind, LeftAlone, PilotJob, PilotPlan, PilotState, PlannedPilotJob, State
from lakebed.service.models.autopilot import Switch as SwitchBody
from lakebed.service.models.common import Page
from lakebed.service.numbers.table_contents import Slice
from lakebed.service.routes.actions import check_allowed
from lakebed.service.routes.parameters import API, READ_ERRORS, Cut, ServiceState, WarehouseName
from lakebed.service.state import Service

looking = APIRouter(prefix=API, tags=["autopilot"])
switching = APIRouter(prefix=API, tags=["autopilot"], dependencies=[Depends(check_allowed)])

_PATH = "/warehouses/{warehouse}/autopilot"
_SWITCH_ERRORS = {**READ_ERRORS, **documented(413, 415)}


@looking.get(_PATH, summary="The autopilot of a warehouse", responses=READ_ERRORS)
def pilot_state(
    state: ServiceState,
    warehouse: WarehouseName,
    part: Cut,
    table: Annotated[str | None, Query(max_length=600, description="Only jobs of this table.")] = None,
    kind: Annotated[Kind | None, Query(description="Only jobs of this kind.", examples=["compact"])] = None,
    job_state: Annotated[State | None, Query(alias="state", description="Only jobs in this state.")] = None,
) -> PilotState:
    """Returns who works, and the jobs of all processes, newest first."""
    return _state(state, warehouse, part, {"table": table, "kind": kind, "state": job_state})


def _state(state: Service, warehouse: str, part: Slice, wanted: dict[str, str | None]) -> PilotState:
    found = state.autopilots.of(warehouse).status()
    jobs = [
        PilotJob(**{name: value for name, value in asdict(record).items() if name != "lease"})
        for record in found.records
        if all(value is None or getattr(record, name) == value for name, value in wanted.items())
    ]
    owner = None if found.owner is None else str(found.owner)
    return PilotState(owner=owner, is_paused=found.is_paused, jobs=Page(**part.page(jobs)))


@looking.get(f"{_PATH}/plan", summary="What the autopilot would do now", responses=READ_ERRORS)
def pilot_plan(state: ServiceState, warehouse: WarehouseName) -> PilotPlan:
    """Returns what the tables need now. Looks at every table, so it takes a while in a large warehouse."""
    pilot = state.autopilots.of(warehouse)
    with state.reading():
        plan = pilot.plan()
    return PilotPlan(
        jobs=[PlannedPilotJob(**asdict(job)) for job in plan.jobs],
        left_alone=[LeftAlone(table=table, reason=reason) for table, reason in plan.left_alone],
    )


@switching.post(f"{_PATH}/pause", summary="Pause the autopilot", responses=_SWITCH_ERRORS)
def pause(state: ServiceState, warehouse: WarehouseName, asked: SwitchBody) -> PilotState:  # noqa: ARG001 - must be there
    """Let the autopilot start no new jobs, in whatever process it works."""
    state.autopilots.of(warehouse).pause()
    return _state(state, warehouse, Slice(1, 0), {})


@switching.post(f"{_PATH}/resume", summary="Resume the autopilot", responses=_SWITCH_ERRORS)
def resume(state: ServiceState, warehouse: WarehouseName, asked: SwitchBody) -> PilotState:  # noqa: ARG001 - must be there
    """Let the autopilot start jobs again."""
    state.autopilots.of(warehouse).resume()
    return _state(state, warehouse, Slice(1, 0), {})
