"""Where the warehouse comes from, and how commands end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.runner import Lakebed
from typer.testing import CliRunner

from lakebed import Lake, LakebedError, Table
from lakebed.cli import app
from lakebed.cli.arguments import moment
from lakebed.cli.open_warehouse import EXIT_CODES, ExitCode


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(args))
    return result.exit_code, result.stdout, " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("place", ["before", "after", "environment", "folder"])
def test_where_the_warehouse_comes_from(
    cli: Lakebed, orders: Table, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ["-w", cli.warehouse] if place == "before" else []
    after = ["--warehouse", cli.warehouse] if place == "after" else []
    if place == "environment":
        monkeypatch.setenv("LAKEBED_WAREHOUSE", cli.warehouse)
    monkeypatch.chdir(cli.warehouse if place == "folder" else tmp_path)
    code, out, err = run(*before, "tables", *after)
    assert code == 0, err
    assert "orders" in out


def test_the_nearest_word_wins(cli: Lakebed, orders: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEBED_WAREHOUSE", str(tmp_path / "no-such"))
    assert run("-w", cli.warehouse, "tables")[0] == 0
    assert run("-w", str(tmp_path / "none"), "tables", "-w", cli.warehouse)[0] == 0
    assert run("tables")[0] == ExitCode.NOT_FOUND


def test_no_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKEBED_WAREHOUSE", raising=False)
    monkeypatch.chdir(tmp_path)
    code, out, err = run("tables")
    assert (code, out) == (ExitCode.USAGE, "")
    assert "--warehouse PATH" in err
    assert "LAKEBED_WAREHOUSE" in err


def test_a_warehouse_is_never_made(tmp_path: Path) -> None:
    code, out, err = run("tables", "-w", str(tmp_path / "typo"))
    assert (code, out) == (ExitCode.NOT_FOUND, "")
    assert "there is no warehouse at" in err
    assert not (tmp_path / "typo").exists()


def test_a_database_or_a_file_is_no_warehouse(cli: Lakebed, tmp_path: Path) -> None:
    code, _, err = run("tables", "-w", f"{cli.warehouse}/db.db")
    assert code == ExitCode.NOT_FOUND
    assert "give the folder above it" in err
    (tmp_path / "file").write_text("")
    assert run("tables", "-w", str(tmp_path / "file"))[0] == ExitCode.FAILED
    code, _, err = run("tables", "-w", "ftp://host/warehouse")
    assert code == ExitCode.FAILED
    assert "does not know the scheme ftp://" in err


def test_an_empty_folder_given_by_name_is_a_warehouse(tmp_path: Path) -> None:
    assert run("databases", "-w", str(tmp_path)) == (0, "no databases\n", "")


def test_json_may_stand_before_the_command(cli: Lakebed, orders: Table) -> None:
    assert cli("--json", "databases").json == cli.json("databases")


def test_usage_errors(cli: Lakebed, orders: Table) -> None:
    assert "Did you mean 'snapshots'" in cli.fails(2, "snapshot", "db.orders")
    assert "No such option" in cli.fails(2, "rows", "db.orders", "--limt", "3")
    assert "--limit" in cli.fails(2, "rows", "db.orders", "--limt", "3")
    assert "Missing argument" in cli.fails(2, "rows")
    assert "--limit" in cli.fails(2, "snapshots", "db.orders", "--limit", "not-a-number")
    assert "Did you mean 'create'" in cli.fails(2, "branches", "crate", "db.orders", "b")
    assert "--all" in cli.fails(2, "verify")
    assert "--repair" in cli.fails(2, "verify", "db.orders", "--yes")
    assert "exactly one of --snapshot, --tag and --timestamp" in cli.fails(2, "rollback", "db.orders")
    assert "exactly one of" in cli.fails(2, "rollback", "db.orders", "--snapshot", "1", "--tag", "t")
    assert "exclude each other" in cli.fails(2, "orphans", "db.orders", "--yes", "--dry-run")


@pytest.mark.parametrize("group", ["branches", "tags", "consumers"])
def test_groups_list_in_their_plain_form(cli: Lakebed, orders: Table, group: str) -> None:
    for plain in ([group, "db.orders"], [group, "--json", "db.orders"], [group, "list", "db.orders"]):
        assert cli(*plain, "--json").json == cli.json(group, "list", "db.orders")
    assert "List" in cli(group, "--help").out
    assert cli.fails(4, group, "db.order").endswith("did you mean 'orders'?")


def test_an_error_is_one_line(cli: Lakebed, orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Lake) -> list[str]:
        raise LakebedError("first line\nsecond line")

    monkeypatch.setattr(Lake, "databases", fail)
    ran = cli("databases", "--json")
    assert (ran.code, ran.out, ran.err) == (ExitCode.FAILED, "", "error: first line second line\n")


def test_help_tells_the_exit_codes_and_the_rule(cli: Lakebed) -> None:
    text = " ".join(cli("--help").out.split())
    for code, meaning in EXIT_CODES.items():
        assert f"{code:d} {meaning}" in text
    assert {code.value for code in EXIT_CODES} == {0, 1, 2, 3, 4, 130}
    assert "--yes" in text
    for command in (
        ["rollback"],
        ["expire"],
        ["expire-partitions"],
        ["orphans"],
        ["verify"],
        ["branches", "drop"],
        ["branches", "fast-forward"],
        ["tags", "drop"],
        ["tags", "replace"],
        ["tags", "expire"],
        ["consumers", "drop"],
    ):
        shown = " ".join(cli(*command, "--help").out.split())
        assert "Shows the plan first. --yes carries it out. Without --yes it asks" in shown, command
        assert "--dry-run" in shown


def test_version(cli: Lakebed) -> None:
    from lakebed import __version__

    assert cli("--version").out == f"lakebed {__version__}\n"


@pytest.mark.parametrize("text", ["yesterday", "3 parsecs", "-1", "", "99999-01-01"])
def test_what_is_not_a_time(text: str) -> None:
    with pytest.raises(Exception, match="is not a time"):
        moment(text)
