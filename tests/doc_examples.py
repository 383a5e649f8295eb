"""Finds and runs the examples of the documentation."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parent.parent


def blocks(page: Path) -> list[tuple[str, str]]:
    """The examples of a page that run, in order: language and text."""
    return re.findall(r"^```(python|console)\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def run_console(block: str) -> None:
    """Run each ``$ lakebed`` line and compare with what is shown below it; ``...`` stands for anything, alone for any
    lines.
    """
    from typer.testing import CliRunner

    from lakebed.cli import app

    for command, shown in re.findall(r"^\$ lakebed (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
        result = CliRunner().invoke(app, shlex.split(command))
        assert (result.exit_code == 0) != shown.startswith("error:"), f"{command}\n{result.output}"
        found = "".join(f"{line.rstrip()}\n" for line in result.output.splitlines())
        lines = (".*".join(map(re.escape, line.split("..."))) for line in shown.splitlines())
        pattern = "".join("(?:.*\n)*" if line == ".*" else f"{line}\n" for line in lines)
        assert re.fullmatch(pattern, found), f"$ lakebed {command}\n{found}"
