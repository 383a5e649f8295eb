"""Runs commands in this process, as a script would see them: exit code, stdout and stderr apart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from lakebed.cli import app


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code in {0, 1}, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[list[str]]:
        """The words of each line of stdout."""
        return [line.split() for line in self.out.splitlines()]


class Lakebed:
    """The command line on one warehouse."""

    def __init__(self, warehouse: str) -> None:
        self.warehouse = warehouse

    def __call__(self, *args: str, input: str | None = None) -> Ran:  # noqa: A002 - the runner's word
        result = CliRunner().invoke(app, ["-w", self.warehouse, *args], input=input, prog_name="lakebed")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    def json(self, *args: str) -> Any:
        return self(*args, "--json").json

    def fails(self, code: int, *args: str) -> str:
        """What a failing command says on stderr; stdout must stay empty."""
        ran = self(*args)
        assert (ran.code, ran.out) == (code, ""), ran
        return " ".join(ran.err.replace("│", " ").split())
