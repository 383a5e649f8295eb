"""The SQL files of ``tests/sql/cases`` through the Spark oracle, and where its answers are others than the files
expect.

A statement that should fail only has to fail; rows are compared as ``tests/sql/cases.py`` does. A difference that
``sql_differences.py`` lists is excused, and what it says is run then, so that the statements after it find what they
expect. ``python -m tests.interop.sql_runner [case ...]``, from the top of the repository, prints an entry to paste for
every difference that is not listed, and names those that are listed and differ no more.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.interop.oracle import Oracle
from tests.interop.sql_differences import DIFFERENCES, EVERY, FAILS, PASSES, ROWS, Difference
from tests.sql.cases import KINDS, Case, Step, read_cases

# What our own session has by default in newer Spark versions; Paimon's procedures and names are the same for all
# catalogs.
CATALOG = "lakebed"
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.adaptive.enabled": "false",  # plans are made once and not compiled: a third of the time of small statements
    "spark.sql.codegen.wholeStage": "false",
}
SHOWN = 70


@dataclass(frozen=True, slots=True)
class Found:
    """A statement whose outcome differs, and what the oracle gave."""

    case: Case
    step: Step
    outcome: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Played:
    """What a case brought up: differences that are not listed, and listed ones that are none."""

    found: list[Found]
    stale: list[Difference]


def flat(text: str) -> str:
    return " ".join(text.split())


def file_of(case: Case) -> str:
    stem, _, kind = case.name.rpartition("-")
    return stem if kind in KINDS else case.name


def concerns(difference: Difference, case: Case) -> bool:
    return difference.file in {case.name, file_of(case)}


def rule_of(step: Step, listed: Iterable[Difference]) -> Difference | None:
    """The entry for all files that a statement falls under; of one that should fail, only that it passes tells
    anything.
    """
    rules = (entry for entry in listed if entry.file == EVERY and (entry.outcome == PASSES) == (step.error is not None))
    return next((entry for entry in rules if re.search(entry.statement, flat(step.text))), None)


def step_of(difference: Difference, case: Case) -> Step | None:
    """The statement that an entry is about; None when the file does not have it (any more)."""
    steps = [step for step in case.steps if flat(step.text).startswith(flat(difference.statement))]
    return steps[difference.nth - 1] if len(steps) >= difference.nth else None


def spelled(text: str, warehouse: Path) -> str:
    """A statement of the files as the oracle has to be told: its name, and no path outside the test's folder."""
    text = re.sub(r"\bUSING lakebed\b", "USING paimon", text)
    return re.sub(r"\bLOCATION '[^']*'", f"LOCATION '{warehouse}/elsewhere'", text)


def play(case: Case, oracle: Oracle, warehouse: Path, listed: Sequence[Difference] = DIFFERENCES) -> Played:
    """Every statement of a case, in a session and a database of its own."""
    database = re.sub(r"\W", "_", case.name)
    oracle.call("open_sql", warehouse=str(warehouse), catalog=CATALOG, settings=SETTINGS)
    excused = {id(step_of(entry, case)): entry for entry in listed if concerns(entry, case)}
    repair(oracle, [f"CREATE DATABASE {database}", f"USE {database}"], "the database of the case")
    played = Played([], [])
    for step in case.steps:
        entry = excused.get(id(step)) or rule_of(step, listed)
        answer = oracle.call("run_sql", text=spelled(step.text, warehouse))
        outcome = outcome_of(step, answer)
        if entry is None or outcome not in {None, entry.outcome}:
            if outcome is not None:
                played.found.append(Found(case, step, outcome, str(answer.get("error", answer.get("rows")))))
        elif outcome is None:
            played.stale.append(entry)
            continue
        if entry is not None:
            clause = KINDS.get(case.name.rpartition("-")[2], "")
            repair(oracle, [text.replace("$PROPERTIES", clause) for text in entry.then], f"{case.name}: {step.text}")
    return played


def repair(oracle: Oracle, statements: Iterable[str], place: str) -> None:
    for text in statements:
        answer = oracle.call("run_sql", text=text)
        assert "error" not in answer, f"{text}, after {place}\n{answer['error']}"


def outcome_of(step: Step, answer: dict[str, object]) -> str | None:
    """How an answer differs from what the file expects; None: it does not."""
    if step.error is not None:
        return None if "error" in answer else PASSES
    if "error" in answer:
        return FAILS
    found, expected = answer["rows"], step.rows
    assert isinstance(found, list)
    if expected is None:
        return None
    same = found == expected if "ORDER BY" in step.text.upper() else sorted(found) == sorted(expected)
    return None if same else ROWS


def entries(found: Sequence[Found], cases: Sequence[Case]) -> list[str]:
    """Differences as entries to paste; one for a file when all of its kinds differ alike."""
    lines: list[str] = []
    seen: dict[tuple[str, int, str], list[Found]] = {}
    for each in found:
        seen.setdefault((file_of(each.case), each.step.line, each.outcome), []).append(each)
    for (file, _, outcome), alike in seen.items():
        kinds = [case.name for case in cases if file_of(case) == file]
        names = [file] if len(alike) == len(kinds) else [each.case.name for each in alike]
        for name, each in zip(names, alike, strict=False):
            start, nth = start_of(each)
            number = f", nth={nth}" if nth > 1 else ""
            lines.append(
                f"    # line {each.step.line}: {each.theirs[:300]!r}; expected {each.step.rows or each.step.error}"
            )
            lines.append(
                f'    Difference("{name}", {json.dumps(start, ensure_ascii=False)}, {outcome.upper()}, "WHY"{number}),'
            )
    return lines


def start_of(found: Found) -> tuple[str, int]:
    """The start of a statement, cut at a word, and the how manieth of its file it is that starts so."""
    text = flat(found.step.text)
    start = text if len(text) <= SHOWN else text[:SHOWN].rpartition(" ")[0]
    alike = [step.line for step in found.case.steps if flat(step.text).startswith(start)]
    return start, alike.index(found.step.line) + 1


def told(played: Played, cases: Sequence[Case]) -> str:
    stale = [f"    no longer differs: {entry.file}, {entry.statement!r}" for entry in dict.fromkeys(played.stale)]
    return "\n".join(entries(played.found, cases) + stale)


def main(names: Sequence[str]) -> None:
    cases = list(read_cases())
    chosen = [case for case in cases if not names or case.name in names or file_of(case) in names]
    every = Played([], [])
    with Oracle("spark") as oracle:
        for case in chosen:
            with tempfile.TemporaryDirectory() as warehouse:
                played = play(case, oracle, Path(warehouse))
            every.found.extend(played.found)
            every.stale.extend(played.stale)
            print(f"{case.name}: {len(case.steps)} statements", file=sys.stderr, flush=True)
    print(told(every, cases))


if __name__ == "__main__":
    main(sys.argv[1:])
