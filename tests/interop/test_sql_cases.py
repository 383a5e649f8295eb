"""The SQL files of ``tests/sql/cases`` give the same rows through Paimon's Spark connector, or it is listed why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.oracle import Oracle
from tests.interop.sql_differences import DIFFERENCES, EVERY, FAILS, PASSES, ROWS, Difference
from tests.interop.sql_runner import concerns, file_of, outcome_of, play, rule_of, step_of, told
from tests.sql.cases import Case, Step, read_cases

CASES = list(read_cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sql_file(case: Case, spark: Oracle, tmp_path: Path) -> None:
    played = play(case, spark, tmp_path)
    alike = [other for other in CASES if file_of(other) == file_of(case)]
    assert not played.found, f"not in sql_differences.py:\n{told(played, alike)}"
    assert not played.stale, f"in sql_differences.py for nothing:\n{told(played, alike)}"


@pytest.mark.parametrize("entry", DIFFERENCES, ids=lambda entry: f"{entry.file}: {entry.statement[:50]} {entry.nth}")
def test_listed_statement_is_there(entry: Difference) -> None:
    """Else an entry would be neither used nor stale."""
    assert entry.reason
    if entry.file == EVERY:
        assert any(rule_of(step, [entry]) for case in CASES for step in case.steps)
        return
    cases = [case for case in CASES if concerns(entry, case)]
    assert cases, f"no SQL file is called {entry.file}"
    for case in cases:
        step = step_of(entry, case)
        assert step is not None, f"{case.name} has no statement that starts so: {entry.statement}"
        assert (step.error is not None) == (entry.outcome == PASSES), f"{case.name}, line {step.line}"


def test_no_statement_is_listed_twice() -> None:
    for case in CASES:
        steps = [step.line for entry in DIFFERENCES if concerns(entry, case) and (step := step_of(entry, case))]
        assert len(steps) == len(set(steps)), case.name


def a_case(*steps: Step) -> Case:
    return Case("made_up", [Step("CREATE TABLE t (id INT)", 1), Step("INSERT INTO t VALUES (2), (1)", 2), *steps])


def test_differences_are_found(spark: Oracle, tmp_path: Path) -> None:
    case = a_case(
        Step("SELECT * FROM t", 3, rows=["1", "2"]),
        Step("SELECT * FROM t ORDER BY id", 4, rows=["2", "1"]),
        Step("SELECT nope FROM t", 5),
        Step("SELECT nope FROM t", 6, error="nope"),
        Step("SELECT 1", 7, error="1"),
    )
    played = play(case, spark, tmp_path, [])
    assert [(found.step.line, found.outcome) for found in played.found] == [(4, ROWS), (5, FAILS), (7, PASSES)]
    pasted = told(played, [case])
    assert 'Difference("made_up", "SELECT * FROM t ORDER BY id", ROWS, "WHY")' in pasted
    assert 'Difference("made_up", "SELECT nope FROM t", FAILS, "WHY")' in pasted


def test_listed_differences_are_excused_once(spark: Oracle, tmp_path: Path) -> None:
    case = a_case(
        Step("SELECT nope FROM t", 3),
        Step("SELECT * FROM t", 4, rows=["1", "2", "3"]),
        Step("SELECT nope FROM t", 5),
        Step("SELECT * FROM t", 6, rows=["1", "2"]),
        Step("SELECT 1 + nope", 7),
        Step("SELECT 2 + nope", 8, error="nope"),
        Step("SELECT 3", 9),
    )
    listed = [
        Difference("made_up", "SELECT nope", FAILS, "there is none", then=("INSERT INTO t VALUES (3)",)),
        Difference("made_up", "SELECT * FROM t", ROWS, "now it has three rows"),
        Difference("made_up", "SELECT nope", ROWS, "another outcome", nth=2),
        Difference(EVERY, r"^SELECT \d", FAILS, "for all files"),
    ]
    played = play(case, spark, tmp_path, listed)
    assert [(found.step.line, found.outcome) for found in played.found] == [(5, FAILS), (6, ROWS)]
    assert played.stale == [listed[1], listed[3]]


def test_a_statement_with_any_result_only_has_to_pass() -> None:
    assert outcome_of(Step("SHOW TABLES", 1), {"rows": ["t"]}) is None
    assert outcome_of(Step("SELECT 1", 1, rows=[]), {"rows": ["1"]}) == ROWS
