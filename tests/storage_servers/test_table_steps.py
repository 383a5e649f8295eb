"""Tables and branches are created, renamed and dropped on a store without rename, and die at each of their steps.

No table ever shows rows that it must not show, a repeated call finishes what an earlier one left, and a new table of
the same name is empty.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from tests.metadata.crashes import READS
from tests.metadata.stores import Accompanied, Failing, Interrupted, Logged
from tests.servers.minio import MinIO

from lakebed import AlreadyExistsError, CommitOutcomeUnknownError, Lake, LakebedError, NotFoundError
from lakebed.storage import Storage
from lakebed.storage.open import open_storage

EVERYTHING = os.environ.get("LAKEBED_FAULTS") == "all"
ROWS = [1, 2, 3]


@dataclass(frozen=True)
class Operation:
    """``shown``: what may be there at any time: rows by table and branch. ``final``: what is there in the end."""

    run: Callable[[Lake], Any]
    shown: dict[str, list[int]]
    final: dict[str, list[int]]


WHOLE = {"t": ROWS, "t/dev": [1, 2, 3, 9]}
AS_U = {"u": ROWS, "u/dev": [1, 2, 3, 9]}
OPERATIONS: dict[str, Operation] = {
    "drop a table": Operation(lambda lake: lake.drop_table("db.t"), WHOLE, {}),
    "drop a database": Operation(lambda lake: lake.drop_database("db", cascade=True), WHOLE, {}),
    "rename a table": Operation(lambda lake: lake.rename_table("db.t", "db.u"), {**WHOLE, **AS_U}, AS_U),
    "create a table": Operation(
        lambda lake: lake.create_table("db.u", "id INT"), {**WHOLE, "u": []}, {**WHOLE, "u": []}
    ),
    "create a branch": Operation(
        lambda lake: lake.table("db.t").create_branch("new", snapshot=1),
        {**WHOLE, "t/new": [1, 2]},
        {**WHOLE, "t/new": [1, 2]},
    ),
    "rename a branch": Operation(
        lambda lake: lake.table("db.t").rename_branch("dev", "new"),
        {**WHOLE, "t/new": [1, 2, 3, 9]},
        {"t": ROWS, "t/new": [1, 2, 3, 9]},
    ),
    "drop a branch": Operation(lambda lake: lake.table("db.t").drop_branch("dev"), WHOLE, {"t": ROWS}),
}


@pytest.fixture
def storage(minio: MinIO) -> Storage:
    bucket = minio.create_bucket(f"steps-{uuid.uuid4()}")
    made = open_storage(bucket, minio.options)
    prepare(Lake(f"{bucket}/start", made, {}))
    return made


def prepare(lake: Lake) -> None:
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}, {"id": 2}])
    table.write([{"id": 3}])
    table.create_branch("dev", snapshot=2).write([{"id": 9}])


def copy(storage: Storage, name: str) -> str:
    """The same warehouse again, under another name."""
    start = storage._root + "/start"  # type: ignore[attr-defined]
    target = f"{storage._root}/{name}"  # type: ignore[attr-defined]
    for path, _ in list(storage.list_tree(start)):
        storage.copy(path, target + path.removeprefix(start))
    return target


def state(lake: Lake) -> dict[str, list[int]]:
    """The rows of every table and branch."""
    found = {}
    for name in lake.tables("db") if "db" in lake.databases() else []:
        table = lake.table(f"db.{name}")
        for branch in ("main", *table.branches()):
            rows = sorted(table.branch(branch).scan().to_arrow()["id"].to_pylist())
            found[name if branch == "main" else f"{name}/{branch}"] = rows
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_death_at_every_step(storage: Storage, name: str) -> None:
    operation = OPERATIONS[name]
    log = Logged(storage)
    whole = copy(storage, "whole")
    operation.run(Lake(whole, log, {}))
    calls = [call for call, _ in log.log]
    assert state(Lake(whole, storage, {})) == operation.final
    for at, after in deaths(calls):
        warehouse = copy(storage, f"{at}-{after}")
        dying = Failing(at, after=after, forever=True, inner=storage)
        with contextlib.suppress(LakebedError):
            operation.run(Lake(warehouse, dying, {}))
        assert dying.failed, f"it does not get to step {at}"
        where = f"{name} died {'after' if after else 'before'} step {at} ({calls[at - 1]})"
        lake = Lake(warehouse, storage, {})
        check_shown(state(lake), operation, where)
        if state(lake) != operation.final or not name.startswith("create"):
            repeat(lake, operation)
        assert state(lake) == operation.final, where
        check_new_tables_are_empty(lake, where)


def deaths(calls: list[str]) -> list[tuple[int, bool]]:
    """Before and after each step that changes something; of equal steps in a row, only at the first and the last.

    The end of a step is the beginning of the next one, but for the caller: a client that died, or lost an answer.
    """
    changes = [(at, call) for at, call in enumerate(calls, 1) if call not in READS | {"list_tree"}]
    found: list[tuple[int, bool]] = []
    for number, (at, call) in enumerate(changes):
        is_inside = [one for _, one in changes[max(number - 1, 0) : number + 2]] == [call] * 3
        if EVERYTHING or not is_inside:
            found += [(at, False), (at, True)]
    assert len(found) >= 2
    return found


def repeat(lake: Lake, operation: Operation) -> None:
    """Calls it again; a branch whose creation died while it was taken back has to be dropped before."""
    with contextlib.suppress(NotFoundError, AlreadyExistsError):
        operation.run(lake)
    if state(lake) != operation.final:
        lake.table("db.t").drop_branch("new")
        operation.run(lake)


def check_shown(found: dict[str, list[int]], operation: Operation, where: str) -> None:
    for table, rows in found.items():
        assert table in operation.shown, f"{where}: {table} is there"
        assert rows == operation.shown[table], f"{where}: {table} shows {rows}"
    assert not ({"t", "u"} <= found.keys() and found.get("u") == ROWS), f"{where}: the table is there twice"


def check_new_tables_are_empty(lake: Lake, where: str) -> None:
    lake.create_database("db", ignore_if_exists=True)
    for name in ("t", "u"):
        if name not in lake.tables("db"):
            made = lake.create_table(f"db.{name}", "id INT")
            assert (made.latest_snapshot(), made.branches()) == (None, []), where
            made.write([{"id": 7}])
            assert state(lake)[name] == [7], where


def test_a_new_table_after_an_interrupted_rename(storage: Storage) -> None:
    """The rename is not repeated: the table is dropped, a new one is created, and that one is renamed.

    The rows of one table never mix with those of the other, and neither is lost.
    """
    log = Logged(storage)
    rename(Lake(copy(storage, "whole"), log, {}))
    outcomes = set()
    for at, after in deaths([call for call, _ in log.log]):
        warehouse = copy(storage, f"new-{at}-{after}")
        with contextlib.suppress(LakebedError):
            rename(Lake(warehouse, Failing(at, after=after, forever=True, inner=storage), {}))
        lake = Lake(warehouse, storage, {})
        dropped = is_done(partial(lake.drop_table, "db.t"))
        created = is_done(partial(create_with_a_row, lake))
        is_done(partial(rename, lake))
        found, where = state(lake), f"died {'after' if after else 'before'} step {at}"
        old, new = {"u": ROWS, "u/dev": [1, 2, 3, 9]}, {"t": [7]} if "u/dev" in found else {"u": [7]}
        is_old = "u/dev" in found
        assert is_old or dropped, f"{where}: the table is lost"
        assert found == {**(old if is_old else {}), **(new if created else {})}, where
        outcomes.add((dropped, created, is_old))
        check_new_tables_are_empty(lake, where)
    assert {(True, True, False), (False, False, True), (False, True, True)} <= outcomes, outcomes


def is_done(call: Callable[[], Any]) -> bool:
    try:
        call()
    except (AlreadyExistsError, NotFoundError):
        return False
    return True


def drop(lake: Lake) -> None:
    lake.drop_table("db.t")


def rename(lake: Lake) -> None:
    lake.rename_table("db.t", "db.u")


def rename_to_another(lake: Lake) -> None:
    lake.rename_table("db.t", "db.v")


@pytest.mark.parametrize("other", [drop, rename_to_another, rename])
def test_another_call_runs_at_each_step_of_a_rename(storage: Storage, other: Callable[[Lake], None]) -> None:
    """Never both succeed. If neither does, the table is whole, and the rename can be repeated."""
    log = Logged(storage)
    rename(Lake(copy(storage, "whole"), log, {}))
    steps = [at for at, (call, _) in enumerate(log.log, 1) if call not in READS | {"list_tree", "copy"}]
    outcomes = set()
    for step in steps:
        warehouse = copy(storage, f"beside-{step}")
        lake = Lake(warehouse, storage, {})
        others: list[bool] = []

        def at_step(call: int, step: int = step, lake: Lake = lake, others: list[bool] = others) -> None:
            if call == step:
                others.append(is_done(partial(other, lake)))

        is_renamed = is_done(partial(rename, Lake(warehouse, Accompanied(at_step, inner=storage), {})))
        where = f"{other.__name__} at step {step} ({log.log[step - 1][0]}): {others}, renamed: {is_renamed}"
        (is_other,) = others
        assert not (is_renamed and is_other) or other is rename, where
        as_v = {"v": ROWS, "v/dev": [1, 2, 3, 9]}
        expected = {} if other is drop else AS_U if other is rename else as_v
        assert state(lake) == (expected if is_other else AS_U if is_renamed else WHOLE), where
        if not is_renamed and not is_other:
            rename(lake)
            assert state(lake) == AS_U, where
        check_new_tables_are_empty(lake, where)
        outcomes.add((is_other, is_renamed))
    assert True in {is_other for is_other, _ in outcomes}, outcomes
    assert other is rename or (False, True) in outcomes, outcomes


# ------------------------------------------------------------------------------------- races with a commit


def drop_and_create(lake: Lake) -> None:
    lake.drop_table("db.t")
    lake.create_table("db.t", "id INT", comment="another one")


def create_with_a_row(lake: Lake) -> None:
    lake.create_table("db.t", "id INT").write([{"id": 7}])


@pytest.mark.parametrize("other", [drop, drop_and_create, rename])
def test_a_commit_that_a_drop_or_rename_overtakes(storage: Storage, other: Callable[[Lake], None]) -> None:
    """At each of the commit's own calls somebody else drops or renames the table: the row is there, or it is raised."""
    log = Logged(storage)
    Lake(copy(storage, "whole"), log, {}).table("db.t").write([{"id": 4}])
    changes = [(call, name) for call, name in log.log if call in {"create_exclusive", "replace", "write"}]
    assert [call for call, _ in changes].count("create_exclusive") == 1
    for number, (call, _) in enumerate(changes):
        warehouse = copy(storage, f"race-{number}")
        lake = Lake(warehouse, storage, {})
        skip = [one for one, _ in changes[:number]].count(call)
        hooks: list[Callable[[], Any]] = [*([object] * skip), partial(other, lake)]
        table = Lake(warehouse, Interrupted(*hooks, before=call, inner=storage), {}).table("db.t")
        try:
            table.write([{"id": 4}])
            is_made, is_unknown = True, False
        except CommitOutcomeUnknownError:
            is_made, is_unknown = False, True
        except LakebedError:
            is_made, is_unknown = False, False
        found = state(lake)
        if other is drop:
            assert found == {}
        elif other is drop_and_create:
            assert found == {"t": []}
            assert lake.table("db.t").snapshots() == []
        else:
            assert "t" not in found
            assert found["u"] in ([ROWS] if not is_made and not is_unknown else [[*ROWS, 4], *([ROWS] * is_unknown)])
            assert {problem.severity for problem in lake.table("db.u").verify().problems} <= {"info", "warning"}


def test_a_late_commit_is_withdrawn(storage: Storage) -> None:
    """The put of the snapshot itself arrives after the table was dropped and created again."""

    class Late(Interrupted):
        def create_exclusive(self, path: str, data: bytes, still: Any = None, *, sync: Any = None) -> bool:
            if "/snapshot/" not in path:
                return storage.create_exclusive(path, data, still, sync=sync)

            def overtaken() -> bool:
                fine = still is None or still()
                drop_and_create(lake)
                return bool(fine)

            return storage.create_exclusive(path, data, overtaken, sync=sync)

    warehouse = copy(storage, "late")
    lake = Lake(warehouse, storage, {})
    with pytest.raises(NotFoundError, match="dropped"):
        Lake(warehouse, Late(inner=storage), {}).table("db.t").write([{"id": 4}])
    assert state(lake) == {"t": []}
    assert lake.table("db.t").snapshots() == []


def test_of_a_create_and_a_rename_to_the_same_name_one_wins(storage: Storage) -> None:
    for number, (before, ending) in enumerate([("create_exclusive", "moving"), ("copy", ""), ("delete_many", "")]):
        warehouse = copy(storage, f"name-{number}")
        lake = Lake(warehouse, storage, {})
        outcome: list[str] = []

        def create(lake: Lake = lake, outcome: list[str] = outcome) -> None:
            try:
                lake.create_table("db.u", "other STRING")
            except AlreadyExistsError:
                outcome.append("refused")
            else:
                outcome.append("created")

        racing = Lake(warehouse, Interrupted(create, before=before, ending=ending, inner=storage), {})
        try:
            racing.rename_table("db.t", "db.u")
            renamed = True
        except AlreadyExistsError:
            renamed = False
        assert outcome == (["refused"] if renamed else ["created"]), before
        found = lake.table("db.u")
        assert list(found.schema.field_names) == (["id"] if renamed else ["other"])
        assert found.scan().to_arrow().num_rows == (3 if renamed else 0)
