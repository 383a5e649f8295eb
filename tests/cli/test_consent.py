"""The rule for what takes something away: every way to say yes, no, and nothing."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import typer
from rich.text import Text

from lakebed.cli.consent import plan_or_act
from lakebed.cli.output import Output


class Act:
    """Something that takes away, and remembers what it was asked."""

    def __init__(self, todo: int = 1) -> None:
        self.calls: list[str] = []
        self.todo = todo

    def __call__(self, dry_run: bool) -> dict[str, Any]:
        self.calls.append("plan" if dry_run else "act")
        return {"todo": self.todo}


def ask(
    monkeypatch: pytest.MonkeyPatch, act: Act, *, terminal: bool, answer: bool | None = None, **how: Any
) -> dict[str, Any]:
    questions: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        assert err
        questions.append(question)
        assert answer is not None, "nobody should have been asked"
        return answer

    monkeypatch.setattr(typer, "confirm", confirm)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    flags = {"yes": False, "dry_run": False, **{name: how[name] for name in ("yes", "dry_run") if name in how}}
    record = plan_or_act(
        Output(as_json=bool(how.get("as_json"))),
        act,
        lambda shown: Text(f"todo {shown['todo']} dry_run {shown['dry_run']}"),
        question="Sure?",
        idle=lambda shown: not shown["todo"],
        **flags,
    )
    assert questions == ([] if answer is None else ["Sure?"])
    return record


@pytest.mark.parametrize("terminal", [True, False])
def test_yes_acts_at_once(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    act = Act()
    assert ask(monkeypatch, act, terminal=terminal, yes=True) == {"dry_run": False, "todo": 1}
    assert act.calls == ["act"]


@pytest.mark.parametrize("how", [{}, {"dry_run": True}, {"as_json": True}])
def test_a_pipe_is_a_dry_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: dict[str, bool]
) -> None:
    act = Act()
    assert ask(monkeypatch, act, terminal=False, **how)["dry_run"] is True
    assert act.calls == ["plan"]
    assert "add --yes" in capsys.readouterr().err


@pytest.mark.parametrize("how", [{"dry_run": True}, {"as_json": True}])
def test_a_terminal_is_not_asked_about_a_dry_run_or_in_json(
    monkeypatch: pytest.MonkeyPatch, how: dict[str, bool]
) -> None:
    act = Act()
    ask(monkeypatch, act, terminal=True, **how)
    assert act.calls == ["plan"]


def test_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    act = Act()
    assert ask(monkeypatch, act, terminal=True, answer=True)["dry_run"] is False
    assert act.calls == ["plan", "act"]
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "todo 1 dry_run True",
        "todo 1 dry_run False",
    ]
    act = Act()
    assert ask(monkeypatch, act, terminal=True, answer=False)["dry_run"] is True
    assert act.calls == ["plan"]
    assert "nothing was changed" in capsys.readouterr().err


def test_nobody_is_asked_about_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    act = Act(todo=0)
    ask(monkeypatch, act, terminal=True)
    ask(monkeypatch, act, terminal=False)
    assert act.calls == ["plan", "plan"]
    assert capsys.readouterr().err == ""


def test_yes_and_dry_run_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    act = Act()
    with pytest.raises(typer.BadParameter, match="exclude"):
        ask(monkeypatch, act, terminal=False, yes=True, dry_run=True)
    assert act.calls == []
