"""Random histories of a table with tags and branches, cleaned up in between: what stays, reads as before.

A snapshot is known by its delta list, so its rows are the same on whatever branch it turns up. At the end of a history
everything that nobody needs is gone, and nothing else.
"""

from __future__ import annotations

import shutil
import tempfile
from typing import ClassVar

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from tests.effort import examples
from tests.lakes import open_lake
from tests.metadata.needed_files import branches, files_on_disk, needed_files

import lakebed
from lakebed.errors import LakebedError
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.branches import create_branch, drop_branch
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag, drop_tag
from lakebed.operations.compact.compact_manifests import compact_manifests
from lakebed.operations.expire.expire_snapshots import expire_snapshots
from lakebed.operations.fast_forward import fast_forward
from lakebed.operations.orphans import remove_orphan_files
from lakebed.operations.rollback import rollback_to
from lakebed.scan import Scan
from lakebed.table_kinds import rules_of
from lakebed.table_rules.planned_read import ReadVersion

FUTURE = 2**50
PARTITIONS = st.sampled_from(["a", "b"])
NAMES = ["x", "y"]


def rows_of(store: TableStore, snapshot: Snapshot) -> list[str]:
    version = ReadVersion(snapshot, store.schema())
    return sorted(map(repr, Scan(rules_of(store), version, columns=None, where=None).to_arrow().to_pylist()))


class Histories(RuleBasedStateMachine):
    """An append table; what is rewritten and dropped comes from deletes and overwrites."""

    primary_key: ClassVar[list[str]] = []
    options: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="lakebed-histories-")
        lake = open_lake(self.folder)
        self.table = lake.create_table(
            "db.t",
            "p STRING, k INT, v INT",
            partition_by=["p"],
            primary_key=self.primary_key,
            options={"snapshot.num-retained.min": "1", "write-only": "true", **self.options},
        )
        self.store = self.table._store
        self.rows: dict[str, list[str]] = {}
        self.count = 0

    def teardown(self) -> None:
        try:
            remove_orphan_files(self.store, older_than=FUTURE, dry_run=False, force=True)
            self.check()
            assert files_on_disk(self.store) == needed_files(self.store)
            for branch in branches(self.store):
                self.expire(branch, 1)
            # Nothing but dropped branches, rollbacks and the like leaves orphans, so expiry alone left none behind.
            assert files_on_disk(self.store) == needed_files(self.store)
        finally:
            shutil.rmtree(self.folder)

    def check(self) -> None:
        for branch in branches(self.store):
            found = [branch.snapshots.get(number) for number in branch.snapshots.ids()]
            for snapshot in [*found, *branch.snapshots.tags().values()]:
                assert rows_of(branch, snapshot) == self.rows[snapshot.delta_manifest_list]

    def note(self) -> None:
        for branch in branches(self.store):
            for number in branch.snapshots.ids():
                snapshot = branch.snapshots.get(number)
                if snapshot.delta_manifest_list not in self.rows:
                    self.rows[snapshot.delta_manifest_list] = rows_of(branch, snapshot)

    def expire(self, store: TableStore, keep: int) -> None:
        planned = expire_snapshots(store, retain_max=keep, retain_min=keep, older_than=FUTURE, dry_run=True)
        before = files_on_disk(store)
        done = expire_snapshots(store, retain_max=keep, retain_min=keep, older_than=FUTURE)
        assert done.removal.files == planned.removal.files
        assert done.snapshots == planned.snapshots
        gone = {file.path for file in done.removal.files if file.kind != "snapshot"}
        assert before - files_on_disk(store) == gone
        self.check()

    def on(self, branch: str) -> lakebed.Table:
        return self.table.branch(branch) if branch in self.store.branch_names() else self.table

    # ------------------------------------------------------------------------------------------------------- rules

    @rule(branch=st.sampled_from(NAMES), partition=PARTITIONS, keys=st.lists(st.integers(0, 5), min_size=1, max_size=4))
    def write(self, branch: str, partition: str, keys: list[int]) -> None:
        self.count += 1
        self.on(branch).write(self.data(partition, keys))
        self.note()

    @rule(partition=PARTITIONS, keys=st.lists(st.integers(0, 5), min_size=1, max_size=3))
    def overwrite(self, partition: str, keys: list[int]) -> None:
        self.count += 1
        self.table.overwrite(self.data(partition, keys))
        self.note()

    @rule(branch=st.sampled_from(NAMES), key=st.integers(0, 5))
    def delete(self, branch: str, key: int) -> None:
        self.on(branch).delete(f"k = {key}")
        self.note()

    @rule(branch=st.sampled_from(NAMES))
    def compact(self, branch: str) -> None:
        self.on(branch).compact(full=True)
        self.note()

    @rule(branch=st.sampled_from(NAMES))
    def merge_manifests(self, branch: str) -> None:
        compact_manifests(self.on(branch)._store)
        self.note()

    @rule(branch=st.sampled_from(NAMES), name=st.sampled_from(NAMES), data=st.data())
    def tag(self, branch: str, name: str, data: st.DataObject) -> None:
        store = self.on(branch)._store
        ids = store.snapshots.ids()
        if ids and name not in store.snapshots.tags():
            create_tag(store, name, snapshot=data.draw(st.sampled_from(ids)))

    @rule(branch=st.sampled_from(NAMES), name=st.sampled_from(NAMES))
    def untag(self, branch: str, name: str) -> None:
        store = self.on(branch)._store
        if name in store.snapshots.tags():
            planned = drop_tag(store, name, dry_run=True)
            assert drop_tag(store, name).files == planned.files
            self.check()

    @rule(name=st.sampled_from(NAMES), data=st.data())
    def branch(self, name: str, data: st.DataObject) -> None:
        ids, tags = self.store.snapshots.ids(), sorted(self.store.snapshots.tags())
        if name in self.store.branch_names():
            return
        start = data.draw(st.sampled_from([None, *ids, *tags]))
        if isinstance(start, str):
            create_branch(self.store, name, tag=start)
        else:
            create_branch(self.store, name, snapshot=start)
        self.note()

    @rule(name=st.sampled_from(NAMES), forward=st.booleans())
    def end_branch(self, name: str, forward: bool) -> None:
        if name not in self.store.branch_names():
            return
        if forward:
            try:
                fast_forward(self.store, name)
            except LakebedError:  # not every branch can be
                return
        else:
            drop_branch(self.store, name)
        self.check()

    @precondition(lambda self: self.store.snapshots.latest_id() is not None)
    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        rollback_to(self.store, snapshot=data.draw(st.sampled_from(self.store.snapshots.ids())))
        self.check()

    @rule(branch=st.sampled_from(NAMES), keep=st.integers(1, 4))
    def expire_some(self, branch: str, keep: int) -> None:
        self.expire(self.on(branch)._store, keep)

    @rule(branch=st.sampled_from(NAMES))
    def clean(self, branch: str) -> None:
        store = self.on(branch)._store
        planned = remove_orphan_files(store, older_than=FUTURE)
        assert remove_orphan_files(store, older_than=FUTURE, dry_run=False, force=True).files == planned.files
        assert files_on_disk(store) == needed_files(store)

    def data(self, partition: str, keys: list[int]) -> pa.Table:
        columns = {"k": pa.array(keys, pa.int32()), "v": pa.array([self.count] * len(keys), pa.int32())}
        return pa.table({"p": [partition] * len(keys), **columns})


class KeyedHistories(Histories):
    """Levels: compaction lifts files without rewriting them. And a changelog."""

    primary_key: ClassVar[list[str]] = ["p", "k"]
    options: ClassVar[dict[str, str]] = {"bucket": "1", "changelog-producer": "input"}


class VectorHistories(Histories):
    """Index files, which change with every write."""

    primary_key: ClassVar[list[str]] = ["p", "k"]
    options: ClassVar[dict[str, str]] = {"bucket": "1", "deletion-vectors.enabled": "true", "write-only": "false"}


@pytest.mark.scales
@pytest.mark.parametrize("machine", [Histories, KeyedHistories, VectorHistories])
def test_what_stays_reads_as_before_and_what_is_not_needed_goes(machine: type[Histories]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(12), stateful_step_count=18, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
