"""``sql`` without Spark: names of columns, the prompt, and what is said where Spark is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.runner import Lakebed

import lakebed.spark.session
from lakebed import Lake, Table
from lakebed.cli.commands import sql as module
from lakebed.cli.commands.sql import history_path, prompt, unique_names
from lakebed.errors import LakebedError


def test_names_are_unique_whatever_their_case() -> None:
    assert unique_names(["a", "a_2", "A", "b"]) == ["a", "a_2", "A_3", "b"]
    assert unique_names([]) == []


# -------------------------------------------------------------------------------------------------------- the prompt


class Desk:
    """Somebody who types, and a runner that writes down what it is asked to run."""

    def __init__(self, *typed: str | type[BaseException], results: bool = True) -> None:
        self.typed, self.results = list(typed), results
        self.asked: list[str] = []
        self.ran: list[str] = []
        self.remembered: list[str] = []

    def ask(self, text: str) -> str:
        self.asked.append(text)
        given = self.typed.pop(0) if self.typed else EOFError
        if isinstance(given, str):
            return given
        raise given

    def run(self, statement: str) -> bool:
        self.ran.append(statement)
        if "bad" in statement:
            raise LakebedError("that is\nbad")
        if "long" in statement:
            raise KeyboardInterrupt
        return self.results

    def sit(self) -> Desk:
        prompt(self, self.ask, self.remembered.append)  # type: ignore[arg-type]
        return self


def test_statements_go_over_lines() -> None:
    desk = Desk("SELECT 1", "  + 1;", "", "SELECT 'a", "b'; SELECT 3; SELECT", "4;").sit()
    assert desk.ran == ["SELECT 1\n  + 1", "SELECT 'a\nb'", "SELECT 3", "SELECT\n4"]
    assert [text.strip() for text in desk.asked] == ["lakebed>", "->", "lakebed>", "lakebed>", "->", "->", "lakebed>"]
    assert desk.remembered == ["SELECT 1\n  + 1;", "SELECT 'a\nb'; SELECT 3; SELECT", "SELECT\n4;"]


def test_comments_are_no_statements() -> None:
    desk = Desk("-- hello;", "/* a;", "b; */", "SELECT 1; -- done").sit()
    assert desk.ran == ["SELECT 1"]


def test_errors_are_told_and_the_prompt_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk("bad; SELECT 1;", "SELECT 2;", results=False).sit()
    assert desk.ran == ["bad", "SELECT 2"]
    shown = capsys.readouterr()
    assert "error: that is bad\n" in shown.err
    assert "ok\n" in shown.out


def test_ctrl_c_gives_up_what_is_typed_or_run(capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk("SELECT 1", KeyboardInterrupt, "SELECT 2;", "long; SELECT 3;", "SELECT 4;").sit()
    assert desk.ran == ["SELECT 2", "long", "SELECT 4"]
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["exit", "QUIT;", "\\q", EOFError])
def test_ways_out(word: str | type[BaseException]) -> None:
    desk = Desk(word, "SELECT 1;").sit()
    assert desk.ran == []
    assert len(desk.typed) == 1
    assert Desk("SELECT", "exit;").sit().ran == ["SELECT\nexit"]


def test_history_is_kept_between_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEBED_HISTORY", str(tmp_path / "deep" / "history"))
    for text in ("SELECT 1 -- one\n  + 1; SELECT 2;", "SELECT 3;"):
        with module._history() as remember:
            remember(text)
    assert (tmp_path / "deep" / "history").read_text().splitlines()[-2:] == ["SELECT 1     + 1; SELECT 2;", "SELECT 3;"]


def test_where_history_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKEBED_HISTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert history_path() == Path("/state/lakebed/sql_history")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert history_path() == Path.home() / ".local/state/lakebed/sql_history"


# ------------------------------------------------------------------------------------------------------ without Spark


def test_without_pyspark_it_is_one_sentence(cli: Lakebed, orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    needed = "error: this needs Spark, which is not installed: pip install 'lakebed[spark]'"
    assert cli.fails(3, "sql", "SELECT 1") == needed


def test_without_java_it_is_one_sentence(cli: Lakebed, orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java(*_args: object) -> None:
        raise LakebedError("Spark needs Java 17 or newer, and there is none on the PATH")

    monkeypatch.setattr(lakebed.spark.session, "get_session", no_java)
    assert cli.fails(3, "sql", "SELECT 1").startswith("error: Spark needs Java 17")


def test_a_lake_without_pyspark_says_so_before_it_imports_anything(orders: Table, lake: Lake) -> None:
    program = (
        "import sys; sys.modules['pyspark'] = sys.modules['py4j'] = None\n"
        "import lakebed\n"
        "lake = lakebed.connect(sys.argv[1])\n"
        "for run in (lambda: lake.sql('SELECT 1'), lake.attach):\n"
        "    try:\n"
        "        run()\n"
        "    except lakebed.LakebedError as error:\n"
        "        print(error)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    ran = subprocess.run(
        [sys.executable, "-c", program, lake.warehouse], capture_output=True, text=True, env=env, check=True, timeout=60
    )
    assert ran.stdout.count("pip install 'lakebed[spark]'") == 2
