"""The examples of docs/sql.md run, one after the other, and its table of procedures is that of the code.

The page writes ``py`` and ``sh`` where other pages write ``python`` and ``console``: its examples share a Spark
session, in which the name ``lakebed`` is still free.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.doc_examples import run_console
from tests.sql.cases import Case, read_steps, run_case

import lakebed.spark.session
from lakebed import Lake
from lakebed.sql import attach
from lakebed.sql.procedures.all_procedures import PROCEDURES
from lakebed.system_tables import SYSTEM_TABLES

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
TEXT = PAGE.read_text()


def test_examples_run(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = spark.newSession()
    monkeypatch.setattr(lakebed.spark.session, "get_session", lambda *_args, **_more: session)
    for heirs in attach._heirs.values():  # new sessions of this process have the lake of other tests with that name
        monkeypatch.delitem(heirs.lakes, "lakebed", raising=False)
    monkeypatch.chdir(tmp_path)
    for name in ("LAKEBED_WAREHOUSE", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```(py|sql|sh)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert {language for language, _ in blocks} == {"py", "sql", "sh"}
    for number, (language, block) in enumerate(blocks):
        if language == "py":
            exec(compile(block, str(PAGE), "exec"), names)
        elif language == "sh":
            run_console(block)
        else:
            run_case(Case(f"block {number}", read_steps(block)), names["lake"].sql, names["lake"].spark.version)
    assert isinstance(names["lake"], Lake)


def test_no_example_is_left_out() -> None:
    assert set(re.findall(r"^```(\w+)$", TEXT, flags=re.MULTILINE)) == {"py", "sql", "sh"}


def row_of(name: str) -> str:
    """The row of a procedure but for what it does."""
    procedure = PROCEDURES[name]
    arguments = [
        f"[`{argument.rstrip('?')}` {kind}]" if argument.endswith("?") else f"`{argument}` {kind}"
        for argument, kind in procedure.parameters.items()
    ]
    results = [f"`{column}` {kind}" for column, kind in procedure.results.items()]
    return f"| `{name}` | {', '.join(arguments)} | {', '.join(results)} |"


def test_the_table_of_procedures_is_that_of_the_code() -> None:
    section = TEXT.partition("\n## Procedures\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    for row, name in zip(rows, sorted(PROCEDURES), strict=False):
        assert row.startswith(row_of(name)), f"the row of {name} in docs/sql.md must start with\n{row_of(name)}"
        assert len(row.removeprefix(row_of(name)).strip("| ")) > 10, f"{name}: say what it does"
    assert len(rows) == len(PROCEDURES)


def test_every_system_table_is_named() -> None:
    section = TEXT.partition("\n## Versions\n")[2].partition("\n## ")[0]
    for name in SYSTEM_TABLES:
        assert f"`{name}`" in section or f"t${name}`" in section, name
