"""The autopilot looks after the tables of a warehouse: it finds what they need, and does it beside their writers.

``policy`` says for which tables it works and on what, ``needs`` finds what a table needs and what that costs, ``lease``
lets one autopilot work at a time, ``journal`` records every job, ``budget`` limits what it does, and ``pilot`` runs the
jobs. Everything that it does is a method of a table that a user could call.
"""

from __future__ import annotations

from lakebed.autopilot.budget import Budget
from lakebed.autopilot.journal import JobRecord, JobState
from lakebed.autopilot.needs import JobKind
from lakebed.autopilot.pilot import Autopilot, Plan, PlannedJob, Status

__all__ = ["Autopilot", "Budget", "JobKind", "JobRecord", "JobState", "Plan", "PlannedJob", "Status"]
