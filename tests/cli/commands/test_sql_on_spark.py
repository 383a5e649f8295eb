"""``sql`` on Spark: statements as an argument, from a pipe and at the prompt on a terminal; rows and errors."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from tests.cli.runner import Lakebed
from tests.spark.conftest import spark

import lakebed.spark.session
from lakebed import Lake, Table

__all__ = ["spark"]  # the same session as in tests/spark: one process has one JVM

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


# --------------------------------------------------------------------------------------------------------- statements


@pytest.fixture
def sql(spark: Any, cli: Lakebed, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command, in a session of its own: in the shared one another warehouse may be called lakebed."""
    session = spark.newSession()
    monkeypatch.setattr(lakebed.spark.session, "get_session", lambda *_args, **_more: session)
    return lambda *args, **more: cli("sql", *args, **more)


def test_rows_for_people_and_for_scripts(sql: Callable[..., Any], orders: Table) -> None:
    ran = sql("SELECT id, v FROM db.orders WHERE id > 1 ORDER BY id;")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines == [["id", "v"], ["─" * 7], ["2", "v2"], ["3", "v3"]]
    assert sql("SELECT id, v FROM db.orders WHERE id = 3", "--json").json == [{"id": 3, "v": "v3"}]
    assert sql("SELECT 1 WHERE false").out == "no rows\n"


def test_several_statements_run_in_order(sql: Callable[..., Any], lake: Lake) -> None:
    text = "USE db; CREATE TABLE t (id INT, n STRING); INSERT INTO t VALUES (1, NULL), (2, 'x;y');"
    assert sql(text).out == ""
    assert lake.table("db.t").scan().count() == 2
    ran = sql("SELECT count(*) AS c FROM db.t; SELECT n FROM db.t ORDER BY id")
    assert [line.strip() for line in ran.out.splitlines()] == ["c", "─", "2", "", "n", "────", "null", "x;y"]
    several = sql("USE db; CREATE TABLE IF NOT EXISTS t (id INT); SELECT 1 AS a", "--json")
    assert several.json == [[], [], [{"a": 1}]]


def test_statements_from_a_pipe(sql: Callable[..., Any], orders: Table) -> None:
    ran = sql(input="SELECT count(*) AS c\nFROM db.orders; -- that is all\n")
    assert ran.lines[2] == ["3"]
    assert sql("--json", input="SELECT 1 AS a").json == [{"a": 1}]
    assert "no statement to run" in sql(input="-- nothing\n").err


def test_values_without_a_form_of_their_own_are_said_by_spark(sql: Callable[..., Any]) -> None:
    text = (
        "SELECT INTERVAL '1' DAY AS i, parse_json('{\"a\": 1}') AS v, NULL AS n, 1 AS a, 2 AS A, "
        "timestamp'2024-01-01 00:00:00Z' AS t, map('k', 1.5) AS m, X'01ff' AS b"
    )
    assert sql(text, "--json").json == [
        {
            "i": "INTERVAL '1' DAY",
            "v": '{"a":1}',
            "n": None,
            "a": 1,
            "A_2": 2,
            "t": "2024-01-01 00:00:00.000000Z",
            "m": [{"key": "k", "value": "1.5"}],
            "b": "01ff",
        }
    ]


def test_a_limit_says_that_there_is_more(sql: Callable[..., Any]) -> None:
    ran = sql("SELECT * FROM range(150)", "--json")
    assert len(ran.json) == 100
    assert "the first 100 rows; use --limit for more" in ran.err
    for limit, count in (("0", 150), ("150", 150), ("2", 2)):
        ran = sql("SELECT * FROM range(150)", "--json", "--limit", limit)
        assert len(ran.json) == count
        assert ("use --limit for more" in ran.err) == (count < 150)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("SELEC 1", 3, "error: [PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'."),
        ("SELECT * FROM db.nope", 4, "error: [TABLE_OR_VIEW_NOT_FOUND] The table or view `db`.`nope` cannot be found."),
        ("SELECT nope FROM db.orders", 4, "error: [UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        ("CALL sys.compac('db.orders')", 4, "error: unknown procedure 'compac' in sys; did you mean 'compact'?"),
        ("SELECT raise_error('oh no')", 3, "error: [USER_RAISED_EXCEPTION] oh no"),
        ("ALTER TABLE db.orders SET TBLPROPERTIES ('bukcet' = '1')", 3, "error: unknown option 'bukcet'"),
    ],
)
def test_errors_are_one_line(sql: Callable[..., Any], orders: Table, text: str, code: int, message: str) -> None:
    ran = sql(text)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(message)
    assert len(ran.err.splitlines()) == 1
    assert "SQLSTATE" not in ran.err


def test_the_first_error_ends_a_script(sql: Callable[..., Any], lake: Lake) -> None:
    ran = sql("CREATE TABLE db.a (id INT); SELEC; CREATE TABLE db.b (id INT)")
    assert ran.code == 3
    assert lake.tables("db") == ["a"]


class Terminal:
    """A process on a terminal."""

    def __init__(self, *command: str, env: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        # The process is the terminal's own, so that Ctrl-C reaches it.
        own = (
            "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", own, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=env,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def until(self, text: str) -> str:
        """Wait until something is shown; gives what was shown up to then, and forgets it."""
        end = time.monotonic() + 300  # Spark starts slowly on a busy machine
        while text not in self.shown:
            assert time.monotonic() < end, f"{text!r} did not come: {self.shown!r}"
            if select.select([self._ours], [], [], 1)[0]:
                try:
                    self.shown += os.read(self._ours, 4096).decode(errors="replace")
                except OSError:  # the process has closed the terminal
                    code = self._process.wait(timeout=60)
                    pytest.fail(f"the process ended with {code} before {text!r} came: {self.shown!r}")
        seen, _, self.shown = self.shown.partition(text)
        return seen

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        return self._process.wait(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._ours)


def test_a_prompt_on_a_terminal(lake: Lake, orders: Table, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src"), "TERM": "xterm"}
    env |= {"LAKEBED_HISTORY": str(tmp_path / "history"), "LAKEBED_DRIVER_MEMORY": "1g", "NO_COLOR": "1"}
    with Terminal(sys.executable, "-m", "lakebed", "-w", lake.warehouse, "sql", env=env) as screen:
        use_prompt(screen)
    assert lake.tables("db") == ["made", "orders"]
    assert "SELECT count(*) AS c FROM db.orders;" in (tmp_path / "history").read_text()


def use_prompt(screen: Terminal) -> None:
    screen.until("lakebed> ")
    screen.type("SELECT count(*) AS c\n")
    screen.until("-> ")
    screen.type("FROM db.orders;\n")
    assert "3" in screen.until("lakebed> ").split()
    screen.type("SELEC;\n")
    assert "error: [PARSE_SYNTAX_ERROR]" in screen.until("lakebed> ")
    screen.type("SELECT 'half\n")
    screen.until("-> ")
    time.sleep(1)  # Python sees a Ctrl-C between showing the prompt and reading only with the next key
    screen.type("\x03")
    screen.until("lakebed> ")
    screen.type("SELECT count(*) FROM range(1000000000000) WHERE id % 7 = rand();\n")
    time.sleep(2)
    screen.type("\x03")
    assert "interrupted" in screen.until("lakebed> ")
    screen.type("CREATE TABLE db.made (id INT);\n")
    assert "ok" in screen.until("lakebed> ")
    screen.type("\x04")
    assert screen.end() == 0
