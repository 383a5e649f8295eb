"""The tests keep their own order: shared fixtures stand in one place, and helpers do not live in test modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MODULES = {path.relative_to(TESTS).as_posix(): ast.parse(path.read_text()) for path in sorted(TESTS.rglob("*.py"))}
LAKES = {
    "conftest.py": {"lake", "module_lake"},
    "sql/conftest.py": {"lake"},  # attached to a Spark session
    "storage_servers/test_sql_s3.py": {"lake"},  # on a storage server, and attached to a Spark session
}


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def fixtures(tree: ast.Module) -> set[str]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {one.name for one in functions if any("fixture" in ast.unparse(mark) for mark in one.decorator_list)}


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_imported_from_a_test_module(module: str) -> None:
    for name in imported(MODULES[module]):
        parts = name.split(".")
        is_test = parts[0] == "tests" and any(part.startswith("test_") for part in parts[:-1])
        assert not is_test, f"{module} imports {name}: move it to a helper module"


def test_lakes_are_made_by_the_shared_fixtures() -> None:
    found = {module: {name for name in fixtures(tree) if name.endswith("lake")} for module, tree in MODULES.items()}
    assert {module: names for module, names in found.items() if names} == LAKES
