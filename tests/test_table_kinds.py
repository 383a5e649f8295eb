"""Which rules a branch follows, and that the rules of ordinary tables allow everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.chain.chain_tables import ChainFixture, day

import lakebed
from lakebed import changes
from lakebed.chain.alter import ChainSchemaRules
from lakebed.chain.rules import ChainRules, DataBranchRules, MainRules
from lakebed.errors import OptionError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.branch_roles import ChainBranches
from lakebed.metadata.commit.commit import Commit
from lakebed.table_kinds import alter_rules, new_table_rules, rules_of
from lakebed.table_rules.interface import ChainColumns, TableRules
from lakebed.table_rules.plain import PlainRules
from lakebed.table_rules.write_guard import WriteGuard

ON = {"chain-table.enabled": "true"}
NAMES = {"scan.fallback-snapshot-branch": "snapshot", "scan.fallback-delta-branch": "delta"}


def plain_table(root: Path) -> lakebed.Table:
    lake = lakebed.connect(root)
    lake.create_database("db")
    table = lake.create_table("db.t", "k INT, dt STRING", partition_by=["dt"])
    table.write([{"k": 1, "dt": "20250101"}])
    return table


def rules(table: lakebed.Table) -> TableRules:
    return rules_of(table._store)


def test_the_options_of_main_and_the_branch_decide(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path)
    chain.main.create_branch("dev")
    found = {name: type(rules(chain.main.branch(name))) for name in ("main", "snapshot", "delta", "dev")}
    assert found == {"main": MainRules, "snapshot": DataBranchRules, "delta": DataBranchRules, "dev": ChainRules}


def test_main_decides_even_if_a_branch_lacks_the_options(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path)
    chain.delta.alter(changes.RemoveOption("chain-table.enabled"))
    assert type(rules(chain.delta)) is DataBranchRules


def test_a_chain_table_without_names_of_branches_is_ordinary(tmp_path: Path) -> None:
    table = ChainFixture(tmp_path).lake.table("db.t", options={"scan.fallback-delta-branch": ""})
    assert type(rules(table)) is PlainRules


def test_a_handle_keeps_its_own_options(tmp_path: Path) -> None:
    table = ChainFixture(tmp_path).lake.table("db.t", options={"chain-table.enabled": "false"})
    assert type(rules(table)) is PlainRules


def test_ordinary_tables_allow_everything(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    found, latest = rules(table), table.latest_snapshot()
    assert type(found) is PlainRules
    assert latest is not None
    found.check_has_changes()
    found.check_streamable(table.schema)
    found.check_row_changes()
    found.check_drop(pred.TRUE)
    found.check_analyze()
    found.check_rollback(latest)
    found.check_fast_forward("anything")
    assert found.verify() == []
    assert found.chain_branches() is None
    assert found.chain_columns() is None
    assert found.shown_branches() == ()
    with pytest.raises(UnsupportedError, match=r"db\.t is not a chain table, so it has no \$chain"):
        found.partition_status()


def test_ordinary_tables_read_one_branch(tmp_path: Path) -> None:
    scan = plain_table(tmp_path).scan()
    assert len(scan._parts) == 1
    assert scan.metrics is None
    assert scan.plan().views == ()
    assert scan.explain().startswith("scan of db.t at snapshot 1\n")


def test_a_chain_table_describes_itself(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path)
    chain.full.overwrite(day("20250101", (1, "a")))
    for table in (chain.main, chain.full, chain.delta):
        assert rules(table).chain_branches() == ChainBranches("snapshot", "delta")
        assert rules(table).chain_columns() == ChainColumns((), ("dt",))
        assert [status.kind for status in rules(table).partition_status()] == ["full"]
    assert [store.paths.branch for store in rules(chain.main).shown_branches()] == ["snapshot", "delta"]
    assert rules(chain.delta).shown_branches() == ()


def test_every_branch_of_a_chain_table_is_asked_before_a_fast_forward(tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path)
    chain.main.create_branch("dev")
    for branch in ("main", "delta", "dev"):
        found = rules(chain.main.branch(branch))
        found.check_fast_forward("dev")
        with pytest.raises(OptionError, match=r"branch 'delta' of chain table db\.t cannot become main"):
            found.check_fast_forward("delta")


@pytest.mark.parametrize("fails", [False, True])
def test_a_write_runs_between_begin_and_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool) -> None:
    chain = ChainFixture(tmp_path)
    calls: list[str] = []
    found = rules(chain.delta)

    class Recorder(WriteGuard):
        def begin(self) -> None:
            calls.append("begin")

        def guarded(self, request: Commit) -> Commit:
            calls.append("guarded")
            return request

        def finish(self, made: Snapshot | None) -> None:
            assert made is None
            calls.append("finish")

    monkeypatch.setattr(DataBranchRules, "guard_write", lambda *_, **__: Recorder())

    def run(guarded: Any) -> None:
        guarded(Commit)
        calls.append("run")
        if fails:
            raise OptionError("no")

    if fails:
        with pytest.raises(OptionError):
            found.write(run)
    else:
        found.write(run)
    assert calls == ["begin", "guarded", "run"] + ([] if fails else ["finish"])


def test_new_tables() -> None:
    plain = new_table_rules({"bucket": "2"})
    assert not isinstance(plain, ChainSchemaRules)
    assert plain.options == {"bucket": "2"}
    unnamed = new_table_rules(ON)
    assert isinstance(unnamed, ChainSchemaRules)
    assert unnamed.options == {**ON, **NAMES}
    assert unnamed.makes_branches
    named = new_table_rules({**ON, **NAMES})
    assert isinstance(named, ChainSchemaRules)
    assert named.options == {**ON, **NAMES}
    assert not named.makes_branches


def test_changes_of_a_table(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    added = changes.AddColumn("note", "STRING")
    plain = alter_rules(table._store, [added])
    assert not isinstance(plain, ChainSchemaRules)
    assert plain.changes == (added,)
    with pytest.raises(OptionError, match="has rows, which a chain table keeps in its branches"):
        alter_rules(table._store, [changes.SetOption("chain-table.enabled", "true")])
    chain = alter_rules(table._store, [changes.SetOption("chain-table.enabled", "false")])
    assert isinstance(chain, ChainSchemaRules)
    assert not chain.makes_branches
