"""SQL files with expected results: how they are read and checked.

A file holds statements that end with ``;`` at the end of a line, run in order in a database of their own. After a
statement:

* ``--> a | b`` is a row of its result (in any order, unless the statement says ORDER BY), ``--> nothing`` an empty
  result;
* ``--! text`` means that the statement fails with a message that holds this text;
* ``--@ 4.2 why`` means that it is for Spark 4.2 and later, and left out before: only where Spark itself cannot do it
  there.

A first line ``-- kinds: append, keyed`` runs the file once for each kind of table; ``$PROPERTIES`` is then the clause
that makes a table with a column ``id`` one of that kind, ``$PROPERTIES[p]`` the one for a table partitioned by ``p``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "cases"
_PROPERTIES = re.compile(r"\$PROPERTIES(?:\[([^]]*)\])?")
KINDS = {
    "append": "",
    "bucketed": "TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'id')",
    "keyed": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')",
    "dynamic": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '-1', 'dynamic-bucket.target-row-num' = '2')",
    "vectors": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'deletion-vectors.enabled' = 'true')",
    "aggregation": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'aggregation')",
    "first": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'first-row')",
    "partial": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'partial-update', "
    "'partial-update.remove-record-on-delete' = 'true')",
}


@dataclass
class Step:
    """One statement and what is expected of it; rows ``None``: whatever."""

    text: str
    line: int
    rows: list[str] | None = None
    error: str | None = None
    since: tuple[int, ...] = ()


@dataclass
class Case:
    """A file for one kind of table."""

    name: str
    steps: list[Step] = field(default_factory=list)


def read_cases() -> Iterator[Case]:
    for path in sorted(HERE.glob("*.sql")):
        text = path.read_text()
        header = re.match(r"-- kinds: (.+)\n", text)
        if header is None:
            yield Case(path.stem, read_steps(text))
            continue
        for kind in header[1].split(","):
            yield Case(f"{path.stem}-{kind.strip()}", read_steps(_PROPERTIES.sub(partial(_clause, kind.strip()), text)))


def _clause(kind: str, found: re.Match[str]) -> str:
    """The clause for a kind; partition columns are part of a primary key."""
    key = "id" if found[1] is None else f"id,{found[1]}"
    return KINDS[kind].replace("'primary-key' = 'id'", f"'primary-key' = '{key}'")


def read_steps(text: str) -> list[Step]:
    steps: list[Step] = []
    held: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("-->"):
            steps[-1].rows = steps[-1].rows or []
            if line != "--> nothing":
                steps[-1].rows.append(line.removeprefix("-->").strip())
        elif line.startswith("--@"):
            steps[-1].since = version_numbers(line.split()[1])
        elif line.startswith("--!"):
            steps[-1].error = line.removeprefix("--!").strip()
        elif line.strip() and not line.startswith("--"):
            held.append(line)
            if line.rstrip().endswith(";"):
                steps.append(Step("\n".join(held).rstrip().removesuffix(";"), number))
                held = []
    assert not held, f"a statement without end: {held}"
    return steps


def run_case(case: Case, run: Any, version: str) -> None:
    """Run every step that is for this version of Spark with a function that gives a DataFrame."""
    for step in case.steps:
        if version_numbers(version) < step.since:
            continue
        place = f"{case.name}, line {step.line}: {step.text}"
        if step.error is not None:
            message = failure(run, step.text)
            assert message is not None, f"did not fail: {place}"
            assert step.error in message, f"{place}\n{message}"
            assert "py4j" not in message.lower(), f"{place}\n{message}"
            assert "Traceback" not in message, f"{place}\n{message}"
            continue
        try:
            found = [" | ".join(show(value) for value in row).strip() for row in run(step.text).collect()]
        except Exception as error:
            raise AssertionError(f"failed: {place}\n{error}") from error
        if step.rows is not None:
            expected = step.rows
            if "ORDER BY" not in step.text.upper():
                found, expected = sorted(found), sorted(expected)
            assert found == expected, f"{place}\nfound {found}\nexpected {expected}"


def version_numbers(text: str) -> tuple[int, ...]:
    """The first two numbers of a version; written anew here, as the oracles have no Lakebed."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def failure(run: Any, text: str) -> str | None:
    try:
        run(text).collect()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def show(value: Any) -> str:
    """A value as the files write it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{show(key)}: {show(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(show(item) for item in value) + "]"
    return str(value).replace("\n", "\\n")
