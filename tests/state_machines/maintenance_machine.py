"""Every operation on branches, tags, snapshots and rows in any order, against a model of plain Python values.

After each step the latest rows of every branch, its snapshots, tags and consumers are what the model says, and every
refusal was one that the model expects. At the end every snapshot and every tag of every branch still reads as it did
when it was made, :meth:`verify` finds nothing wrong, and after orphan removal the files on disk are exactly those that
somebody needs.
"""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.lakes import open_lake
from tests.metadata.needed_files import files_on_disk, needed_files
from tests.state_machines.maintenance_model import Branch, Column, Row, Rows, Schema, Version

import lakebed
from lakebed import changes
from lakebed.errors import AlreadyExistsError, NotFoundError, SchemaError, UnsupportedError

FUTURE = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
PAST = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
PARTITIONS = st.sampled_from(["a", "b", None])
KEYS = st.integers(0, 5)
NAMES = ["x", "y"]
OPTIONS = ("snapshot.num-retained.min", "snapshot.num-retained.max")


class Maintenance(RuleBasedStateMachine):
    """An append table; what the keyed ones do otherwise is in :meth:`after_write` and :meth:`after_delete`."""

    primary_key: ClassVar[list[str]] = []
    options: ClassVar[dict[str, str]] = {}
    partitions: ClassVar[Any] = PARTITIONS
    hides_level_0 = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="lakebed-maintenance-")
        lake = open_lake(self.folder)
        lake.create_table(
            "db.t", "p STRING, k INT, v INT", partition_by=["p"], primary_key=self.primary_key, options=self.options
        )
        self.branches = {"main": Branch({0: Schema((Column(0, "p"), Column(1, "k"), Column(2, "v")))})}
        self.batches: dict[int, tuple[Schema, Rows]] = {}
        self.count = 2
        self.fast_forwarded = False
        self.handles: dict[str, lakebed.Table] = {}

    def teardown(self) -> None:
        try:
            self.check_every_version()
            self.remove_orphans()
            self.check_every_version()
            for name, branch in self.branches.items():
                self.expire_to(name, branch, 1)
            self.check_files()
            self.check_every_version()
            for name, branch in self.branches.items():
                self.on(name).expire_tags(older_than=FUTURE)
                branch.tags.clear()
            self.check_files()
            self.check_every_version()
        finally:
            shutil.rmtree(self.folder)

    # ------------------------------------------------------------------------------------------------------ helpers

    def on(self, branch: str) -> lakebed.Table:
        """A handle that stays open while others change the table."""
        if branch not in self.handles:
            name = "db.t" if branch == "main" else f"db.t$branch_{branch}"
            opened = lakebed.connect(self.folder).table(name)
            assert isinstance(opened, lakebed.Table)
            self.handles[branch] = opened
        return self.handles[branch]

    def some(
        self, data: st.DataObject, fits: Callable[[Branch], object] = lambda _: True
    ) -> tuple[lakebed.Table, Branch]:
        """Any branch, of those that fit if there are any."""
        names = [name for name, branch in self.branches.items() if fits(branch)] or sorted(self.branches)
        name = data.draw(st.sampled_from(names), label="branch")
        return self.on(name), self.branches[name]

    def any_has(self, what: str) -> bool:
        return any(getattr(branch, what) for branch in self.branches.values())

    def next_number(self) -> int:
        self.count += 1
        return self.count

    def draw_rows(self, data: st.DataObject, branch: Branch, partition: Any = None) -> list[dict[str, Any]]:
        rows = []
        for _ in range(data.draw(st.integers(1, 4))):
            values = {column.name: data.draw(st.integers(0, 3)) for column in branch.schema.columns}
            values["k"] = data.draw(KEYS)
            values["p"] = data.draw(self.partitions if partition is None else partition)
            rows.append(values)
        return rows

    def arrow(self, branch: Branch, rows: list[dict[str, Any]]) -> pa.Table:
        kinds = {"p": pa.string()}
        fields = [(column.name, kinds.get(column.name, pa.int32())) for column in branch.schema.columns]
        return pa.Table.from_pylist(rows, schema=pa.schema(fields))

    def numbered(self, branch: Branch, rows: list[dict[str, Any]]) -> Rows:
        return tuple({column.number: row[column.name] for column in branch.schema.columns} for row in rows)

    def after_write(self, old: Rows, new: Rows) -> Rows:
        return old + new

    def follow(self, table: lakebed.Table, branch: Branch, rows: Rows, batch: Rows | None = None) -> None:
        """The model takes up what was just committed: one snapshot, or two if a compaction followed."""
        before = branch.latest
        latest = table.latest_snapshot()
        number = latest.id if latest is not None else 0
        assert before <= number <= before + (2 if self.primary_key else 1)
        added: frozenset[int] = frozenset()
        if batch is not None:
            added = frozenset({self.next_number()})
            self.batches[self.count] = branch.schema, batch
        on_disk = {snapshot.id: snapshot for snapshot in table.snapshots()}
        for made in range(before + 1, number + 1):
            snapshot = on_disk.get(made)
            shown = None
            if self.hides_level_0 and made < number and snapshot is not None:
                shown = sorted(map(repr, table.scan(version=made).to_arrow().to_pylist()))
            kind = "APPEND" if snapshot is None else str(snapshot.commit_kind)
            schema_id = max(branch.schemas)
            branch.snapshots[made] = Version(rows, schema_id, branch.schema, kind, added, shown)

    def tidied(self, branch: Branch, before: int) -> None:
        """What the table's options say about old snapshots happens after each commit of rows."""
        if branch.latest > before:
            kept = branch.schema
            branch.expire(retain_min=kept.retain_min, retain_max=kept.retain_max, everything_is_old=False)

    def commit(
        self, table: lakebed.Table, branch: Branch, run: Callable[[], Any], rows: Rows, batch: Rows | None = None
    ) -> None:
        before = branch.latest
        run()
        if rows != branch.rows or batch is not None:
            assert table.latest_snapshot() is not None
            assert table.latest_snapshot().id > before  # type: ignore[union-attr]
        self.follow(table, branch, rows, batch)
        self.tidied(branch, before)

    def settle(self, table: lakebed.Table, branch: Branch) -> None:
        """Compacts a branch that starts at a snapshot whose newest rows are not visible yet."""
        if branch.snapshots and branch.snapshots[branch.latest].shown is not None:
            self.commit(table, branch, lambda: table.compact(full=True), branch.rows)
            assert branch.snapshots[branch.latest].shown is None

    # ------------------------------------------------------------------------------------------------------- writing

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """Some commits and mostly a branch, so that there is something to keep up."""
        for _ in range(data.draw(st.integers(1, 4))):
            self.write(data)
        for how in data.draw(st.lists(st.sampled_from(["snapshot", "empty"]), max_size=2)):
            self.create_branch(data, NAMES[len(self.branches) - 1], how)
            self.write(data)

    @rule(data=st.data())
    def write_again(self, data: st.DataObject) -> None:
        """What is done most often."""
        self.write(data)

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def write_and_tag(self, data: st.DataObject, name: str) -> None:
        self.write(data)
        self.create_or_replace_tag(data, name, None)

    @rule(data=st.data())
    def write(self, data: st.DataObject) -> None:
        table, branch = self.some(data)
        given = self.draw_rows(data, branch)
        new = self.numbered(branch, given)
        arrow = self.arrow(branch, given)
        self.commit(table, branch, lambda: table.write(arrow), self.after_write(branch.rows, new), new)

    @rule(data=st.data(), whole=st.booleans())
    def overwrite(self, data: st.DataObject, whole: bool) -> None:
        table, branch = self.some(data)
        given = self.draw_rows(data, branch)
        touched = {row["p"] for row in given}
        kept = () if whole else tuple(row for row in branch.rows if row[0] not in touched)
        arrow = self.arrow(branch, given)
        where: dict[str, Any] | None = {} if whole else None
        rows = self.after_write(kept, self.numbered(branch, given))
        self.commit(table, branch, lambda: table.overwrite(arrow, partition=where), rows, ())

    @precondition(lambda self: self.any_has("rows"))
    @rule(data=st.data(), low=st.integers(0, 3), key=KEYS)
    def delete(self, data: st.DataObject, low: int, key: int) -> None:
        table, branch = self.some(data, lambda one: one.rows)
        value = next(column.name for column in branch.schema.columns if column.number == 2)
        kept = tuple(row for row in branch.rows if row[1] > key or row[2] < low)
        self.commit(table, branch, lambda: table.delete(f"k <= {key} AND `{value}` >= {low}"), kept)

    @precondition(lambda self: self.any_has("rows"))
    @rule(data=st.data())
    def drop_partition(self, data: st.DataObject) -> None:
        table, branch = self.some(data, lambda one: one.rows)
        partition = data.draw(self.partitions)
        kept = tuple(row for row in branch.rows if row[0] != partition)
        self.commit(table, branch, lambda: table.drop_partition({"p": partition}), kept)

    @precondition(lambda self: self.any_has("rows"))
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        table, branch = self.some(data, lambda one: one.rows)
        self.commit(table, branch, table.truncate, ())

    @precondition(lambda self: self.any_has("snapshots"))
    @rule(data=st.data(), full=st.booleans())
    def compact(self, data: st.DataObject, full: bool) -> None:
        table, branch = self.some(data, lambda one: one.snapshots)
        self.commit(table, branch, lambda: table.compact(full=full), branch.rows)

    @precondition(lambda self: self.any_has("snapshots"))
    @rule(data=st.data())
    def compact_manifests(self, data: st.DataObject) -> None:
        table, branch = self.some(data, lambda one: one.snapshots)
        table.compact_manifests()
        self.follow(table, branch, branch.rows)

    # ------------------------------------------------------------------------------------------------------ altering

    @rule(data=st.data())
    def add_column(self, data: st.DataObject) -> None:
        table, branch = self.some(data)
        if len(branch.schema.columns) < 5:
            column = Column(self.next_number(), f"c{self.count}")
            table.alter(changes.AddColumn(column.name, "INT"))
            branch.alter(columns=(*branch.schema.columns, column))

    @rule(data=st.data())
    def rename_column(self, data: st.DataObject) -> None:
        table, branch = self.some(data)
        column = data.draw(st.sampled_from([column for column in branch.schema.columns if column.number > 1]))
        renamed = Column(column.number, f"r{self.next_number()}")
        table.alter(changes.RenameColumn(column.name, renamed.name))
        branch.alter(columns=tuple(renamed if one == column else one for one in branch.schema.columns))

    @rule(data=st.data(), most=st.integers(1, 4))
    def keep_few_snapshots(self, data: st.DataObject, most: int) -> None:
        table, branch = self.some(data)
        if branch.schema.retain_max < 10:
            table.alter(
                *map(changes.RemoveOption, OPTIONS), changes.SetOption("tag.num-retained-max", str(self.next_number()))
            )
            kept = {"retain_min": Schema.retain_min, "retain_max": Schema.retain_max}
        else:
            values = ("1", str(most))
            table.alter(
                *(changes.SetOption(name, value) for name, value in zip(OPTIONS, values, strict=True)),
                changes.SetOption("tag.num-retained-max", str(self.next_number())),
            )
            kept = {"retain_min": 1, "retain_max": most}
        branch.alter(**kept, note=self.count)

    # ------------------------------------------------------------------------------------------------------ branches

    @rule(data=st.data(), name=st.sampled_from(NAMES), how=st.sampled_from(["empty", "snapshot", "snapshot", "tag"]))
    def create_branch(self, data: st.DataObject, name: str, how: str) -> None:
        table, branch = self.some(data)
        start: dict[str, Any] = {}
        if how == "snapshot" and branch.snapshots:
            start = {"snapshot": data.draw(st.sampled_from(sorted(branch.snapshots)))}
        elif how == "tag" and branch.tags:
            start = {"tag": data.draw(st.sampled_from(sorted(branch.tags)))}
        if name in self.branches:
            with pytest.raises(AlreadyExistsError):
                table.create_branch(name, **start)
        else:
            table.create_branch(name, **start)
            self.branches[name] = branch.started_at(**start)
            self.settle(self.on(name), self.branches[name])

    @precondition(lambda self: len(self.branches) > 1)
    @rule(data=st.data())
    def rename_branch(self, data: st.DataObject) -> None:
        table, _ = self.some(data)
        old = data.draw(st.sampled_from(sorted(set(self.branches) - {"main"})))
        new = data.draw(st.sampled_from(NAMES))
        if new in self.branches:
            with pytest.raises(AlreadyExistsError):
                table.rename_branch(old, new)
        else:
            table.rename_branch(old, new)
            self.branches[new] = self.branches.pop(old)
            self.handles.pop(old, None)

    @precondition(lambda self: len(self.branches) > 2)
    @rule(data=st.data())
    def drop_branch(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(set(self.branches) - {"main"})))
        self.on("main").drop_branch(name)
        del self.branches[name]
        self.handles.pop(name, None)

    @precondition(lambda self: len(self.branches) > 1)
    @rule(data=st.data())
    def fast_forward(self, data: st.DataObject) -> None:
        source = data.draw(st.sampled_from(sorted(set(self.branches) - {"main"})), label="source")
        target = data.draw(st.sampled_from(sorted(set(self.branches) - {source})), label="target")
        table, branch, other = self.on(target), self.branches[target], self.branches[source]
        if not other.snapshots:
            with pytest.raises(NotFoundError):
                table.fast_forward(source)
        elif not branch.can_fast_forward(other):
            with pytest.raises(UnsupportedError):
                table.fast_forward(source)
        else:
            table.fast_forward(source)
            branch.fast_forward(other)
            self.fast_forwarded = True

    @precondition(lambda self: len(self.branches) > 1 and not self.primary_key)
    @rule(data=st.data())
    def merge_branch(self, data: st.DataObject) -> None:
        target, source = data.draw(st.permutations(sorted(self.branches)))[:2]
        table, branch, other = self.on(target), self.branches[target], self.branches[source]
        if not other.snapshots:
            with pytest.raises(NotFoundError):
                table.merge_branch(source)
            return
        missing = branch.missing(other)
        known = {schema.columns for schema in branch.schemas.values()}
        if missing is None:
            with pytest.raises(UnsupportedError):
                table.merge_branch(source)
        elif any(self.batches[batch][0].columns not in known for batch in missing):
            with pytest.raises(SchemaError):
                table.merge_branch(source)
        else:
            assert (table.merge_branch(source) is not None) == bool(missing)
            rows = branch.rows + tuple(row for batch in missing for row in self.batches[batch][1])
            self.follow(table, branch, rows)
            if missing:
                version = branch.snapshots[branch.latest]
                branch.snapshots[branch.latest] = Version(rows, version.schema_id, version.schema, "APPEND", missing)

    # ---------------------------------------------------------------------------------------------------------- tags

    @precondition(lambda self: self.any_has("snapshots"))
    @rule(data=st.data(), name=st.sampled_from(NAMES), retained=st.sampled_from([None, "1 d"]))
    def create_or_replace_tag(self, data: st.DataObject, name: str, retained: str | None) -> None:
        table, branch = self.some(data, lambda one: one.snapshots)
        held = dict(branch.tags.values())
        number = data.draw(st.sampled_from([None, *sorted(held | branch.snapshots)]))
        make = table.replace_tag if name in branch.tags else table.create_tag
        if number is None and not branch.snapshots:
            with pytest.raises(NotFoundError):
                make(name)
            return
        if name in branch.tags:
            with pytest.raises(AlreadyExistsError):
                table.create_tag(name, snapshot=number)
        make(name, snapshot=number, time_retained=retained)
        number = number or branch.latest
        branch.tags[name] = number, (held | branch.snapshots)[number]

    @precondition(lambda self: self.any_has("tags"))
    @rule(data=st.data())
    def rename_tag(self, data: st.DataObject) -> None:
        table, branch = self.some(data, lambda one: one.tags)
        if branch.tags:
            old, new = data.draw(st.permutations(sorted({*branch.tags, *NAMES})))[:2]
            held = {tag.name: (tag.snapshot, tag.create_time, tag.time_retained) for tag in table.tag_details()}
            # Two tags that say the same are what an interrupted rename leaves, so the second call ends it.
            if old in held and (new not in held or held[new] == held[old]):
                table.rename_tag(old, new)
                branch.tags[new] = branch.tags.pop(old)
            else:
                with pytest.raises((NotFoundError, AlreadyExistsError)):
                    table.rename_tag(old, new)

    @precondition(lambda self: self.any_has("tags"))
    @rule(data=st.data())
    def delete_tag(self, data: st.DataObject) -> None:
        table, branch = self.some(data, lambda one: one.tags)
        if branch.tags:
            name = data.draw(st.sampled_from(sorted(branch.tags)))
            planned = table.drop_tag(name, dry_run=True)
            before = files_on_disk(table._store)
            done = table.drop_tag(name)
            assert set(done.files) == set(planned.files)
            gone = {file.path for file in done.files if file.kind != "tag"}
            assert before - files_on_disk(table._store) == gone
            del branch.tags[name]

    @precondition(lambda self: self.any_has("tags"))
    @rule(data=st.data(), every=st.booleans())
    def expire_tags(self, data: st.DataObject, every: bool) -> None:
        table, branch = self.some(data, lambda one: one.tags)
        gone = sorted(branch.tags) if every else []
        assert table.expire_tags(older_than=FUTURE if every else None) == gone
        branch.tags = {} if every else branch.tags

    # ------------------------------------------------------------------------------------------- rollback and expiry

    @precondition(lambda self: self.any_has("snapshots"))
    @rule(data=st.data(), by_time=st.booleans())
    def roll_back_to_snapshot(self, data: st.DataObject, by_time: bool) -> None:
        table, branch = self.some(data, lambda one: one.snapshots)
        if branch.snapshots:
            number = data.draw(st.sampled_from(sorted(branch.snapshots)))
            if by_time:
                moment = table.snapshot(number).time_millis
                number = max(snapshot.id for snapshot in table.snapshots() if snapshot.time_millis <= moment)
                plan = table.rollback_to(timestamp=moment)
            else:
                plan = table.rollback_to(snapshot=number)
            assert plan.target.id == number
            assert plan.snapshots == tuple(n for n in sorted(branch.snapshots) if n > number)
            branch.roll_back(number, branch.snapshots[number])
            self.settle(table, branch)

    @precondition(lambda self: self.any_has("tags"))
    @rule(data=st.data())
    def roll_back_to_tag(self, data: st.DataObject) -> None:
        table, branch = self.some(data, lambda one: one.tags)
        if branch.tags:
            name = data.draw(st.sampled_from(sorted(branch.tags)))
            table.rollback_to(tag=name)
            branch.roll_back(*branch.tags[name])
            self.settle(table, branch)

    @precondition(lambda self: self.any_has("snapshots"))
    @rule(data=st.data(), least=st.integers(1, 4), more=st.integers(0, 3), old=st.booleans(), limit=st.integers(1, 9))
    def expire_snapshots(self, data: st.DataObject, least: int, more: int, old: bool, limit: int) -> None:
        table, branch = self.some(data, lambda one: one.snapshots)
        asked: dict[str, Any] = {"retain_min": least, "retain_max": least + more, "max_deletes": limit}
        asked["older_than"] = FUTURE if old else PAST
        planned = table.expire_snapshots(**asked, dry_run=True)
        before = files_on_disk(table._store)
        done = table.expire_snapshots(**asked)
        gone = branch.expire(retain_min=least, retain_max=least + more, everything_is_old=old, limit=limit)
        assert done.snapshots == planned.snapshots == tuple(gone)
        assert set(done.removal.files) == set(planned.removal.files)
        removed = {file.path for file in done.removal.files if file.kind != "snapshot"}
        assert before - files_on_disk(table._store) == removed

    def expire_to(self, name: str, branch: Branch, most: int) -> None:
        self.on(name).expire_snapshots(retain_min=most, retain_max=most, older_than=FUTURE)
        branch.expire(retain_min=most, retain_max=most, everything_is_old=True)

    @rule()
    def remove_orphans(self) -> None:
        self.on("main").remove_orphan_files(older_than=FUTURE, dry_run=False, force=True)
        self.check_files()
        self.verify(deep=True, unreferenced=False)

    @rule(deep=st.booleans(), unreferenced=st.just(True))
    def verify(self, deep: bool, unreferenced: bool) -> None:
        report = self.on("main").verify(deep=deep)
        allowed = ["lost-consumer"]
        if unreferenced:
            allowed.append("unreferenced")
        if any(branch.has_holes for branch in self.branches.values()):
            allowed.append("missing-snapshot")
        if self.fast_forwarded:
            allowed.append("broken-chain")
        assert [problem for problem in report.problems if not problem.code.startswith(tuple(allowed))] == [], str(
            report
        )
        assert report.looked_at.branches == len(self.branches)
        assert report.looked_at.snapshots == sum(len(branch.snapshots) for branch in self.branches.values())

    # ----------------------------------------------------------------------------------------------------- consumers

    @precondition(lambda self: self.any_has("snapshots"))
    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def reset_consumer(self, data: st.DataObject, name: str) -> None:
        table, branch = self.some(data, lambda one: one.snapshots)
        number = data.draw(st.sampled_from([None, *sorted(branch.snapshots)]))
        branch.consumers[name] = branch.latest + 1 if number is None else number
        assert table.reset_consumer(name, number) == branch.consumers[name]

    @precondition(lambda self: self.any_has("consumers"))
    @rule(data=st.data())
    def delete_consumer(self, data: st.DataObject) -> None:
        table, branch = self.some(data, lambda one: one.consumers)
        if branch.consumers:
            name = data.draw(st.sampled_from(sorted(branch.consumers)))
            table.drop_consumer(name)
            del branch.consumers[name]

    @rule()
    def open_anew(self) -> None:
        self.handles.clear()

    # ------------------------------------------------------------------------------------------------------ checking

    @invariant()
    def the_table_shows_the_model(self) -> None:
        assert self.on("main").branches() == sorted(set(self.branches) - {"main"})
        for name, branch in self.branches.items():
            table = self.on(name)
            assert [snapshot.id for snapshot in table.snapshots()] == sorted(branch.snapshots), name
            assert {tag: held.id for tag, held in table.tags().items()} == {
                tag: number for tag, (number, _) in branch.tags.items()
            }, name
            assert table.consumers() == branch.consumers, name
            found = table.scan().to_arrow()
            assert found.column_names == [column.name for column in branch.schema.columns], name
            assert sorted(map(repr, found.to_pylist())) == branch.schema.shown(branch.rows), name

    def check_files(self) -> None:
        store = self.on("main")._store
        there, needed = files_on_disk(store), needed_files(store)
        assert sorted(there - needed) == [], "not needed"
        assert sorted(needed - there) == [], "missing"

    def check_every_version(self) -> None:
        for name, branch in self.branches.items():
            table = self.on(name)
            for number, version in branch.snapshots.items():
                found = table.scan(version=number).to_arrow().to_pylist()
                assert sorted(map(repr, found)) == version.as_read(), (name, number)
            for tag, (_, version) in branch.tags.items():
                found = table.scan(tag=tag).to_arrow().to_pylist()
                assert sorted(map(repr, found)) == version.as_read(), (name, tag)


class KeyedMaintenance(Maintenance):
    """Upserts with a changelog; files change their level, and compactions follow writes."""

    primary_key: ClassVar[list[str]] = ["p", "k"]
    options: ClassVar[dict[str, str]] = {
        "bucket": "1",
        "changelog-producer": "input",
        "num-sorted-run.compaction-trigger": "3",
    }
    partitions: ClassVar[Any] = st.sampled_from(["a", "b"])

    def after_write(self, old: Rows, new: Rows) -> Rows:
        rows: dict[Any, Row] = {(row[0], row[1]): row for row in old}
        rows.update({(row[0], row[1]): row for row in new})
        return tuple(rows.values())


class VectorMaintenance(KeyedMaintenance):
    """Deletion vectors: index files that change with every write, and snapshots whose newest rows nobody sees yet."""

    options: ClassVar[dict[str, str]] = {"bucket": "1", "deletion-vectors.enabled": "true"}
    hides_level_0 = True
