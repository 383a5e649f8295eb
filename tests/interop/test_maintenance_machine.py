"""At the end of every random history of branches, tags and upkeep, Java Paimon and pypaimon read what the model says:
the latest rows of every branch, every snapshot and every tag of main.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.interop.oracle import Oracle
from tests.state_machines.maintenance_machine import KeyedMaintenance, Maintenance, VectorMaintenance
from tests.state_machines.maintenance_model import Version


def read_by(machine: type[Maintenance], readers: list[Oracle]) -> type[Maintenance]:
    """The same machine, whose last step is to let others read all of the table."""

    class ReadByOthers(machine):  # type: ignore[misc, valid-type]
        def teardown(self) -> None:
            for name, branch in self.branches.items():
                table = "db.t" if name == "main" else f"db.t$branch_{name}"
                for number, version in branch.snapshots.items():
                    self.compare(table, {"scan.snapshot-id": str(number)}, version)
                # Java finds tags of main only, even those that it made on a branch itself.
                for tag, (_, version) in branch.tags.items() if name == "main" else ():
                    self.compare(table, {"scan.tag-name": tag}, version)
                if branch.snapshots:
                    self.compare(table, {}, Version(branch.rows, 0, branch.schema, ""))
            super().teardown()

        def compare(self, table: str, options: dict[str, str], version: Version) -> None:
            for reader in readers:
                found = reader.read(Path(self.folder), table, options=options).to_pylist()
                assert sorted(map(repr, found)) == version.as_read(), (reader.name, table, options)

    return ReadByOthers


@pytest.mark.parametrize("machine", [Maintenance, KeyedMaintenance, VectorMaintenance])
def test_others_read_the_model(machine: Any, java: Oracle, pypaimon: Oracle) -> None:
    run_state_machine_as_test(
        read_by(machine, [java, pypaimon]),
        settings=settings(
            max_examples=4, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
