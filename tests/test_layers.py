"""Imports go one way: a module may import its own layer and lower ones, and no modules import each other in a circle.

Imports inside of functions and under TYPE_CHECKING count like any other, so neither can hide a cycle.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "lakebed"

# The parts of the package, lowest first; "" is lakebed/__init__.py.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "version", "deprecation", "optional", "options"),
    ("format",),
    ("storage",),
    ("metadata",),
    ("catalogs",),
    ("rows", "buckets"),
    ("engine",),
    ("operations",),
    ("streams",),
    ("table_rules",),
    ("chain",),
    ("table_kinds",),
    ("spark",),
    ("table_checks", "outputs", "scan", "system_tables", "lake", "lake_internals", "table", "changes"),
    ("datasource",),
    ("sql",),
    ("autopilot",),
    ("",),
    ("service", "cli", "__main__"),
)
# ``Lake.sql()`` and ``Lake.attach()`` hand a lake to the SQL catalog, which is typed on it. Nothing else reaches up.
REACHES_UP = {("lakebed.lake", "lakebed.sql.attach"), ("lakebed.lake", "lakebed.sql.statements")}
# ``table_kinds`` returns the rules of a table, which all others ask. ``table.chain_methods`` holds the methods that
# only chain tables have, and the package itself exports their results. No other module outside of ``chain`` imports
# from it.
KNOWS_CHAINS = {"lakebed", "lakebed.table_kinds", "lakebed.table.chain_methods"}
LAYER_OF = {part: number for number, parts in enumerate(LAYERS) for part in parts}


def read_package() -> dict[str, str]:
    """The source text of every module, by its dotted name."""
    modules = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ["lakebed", *path.relative_to(SOURCE).with_suffix("").parts]
        modules[".".join(parts).removesuffix(".__init__")] = path.read_text()
    return modules


def imports(module: str, text: str, modules: Mapping[str, str]) -> Iterator[str]:
    """The modules of the package that a module imports, anywhere in its text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "lakebed":
                    yield alias.name
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".") if module in packages(modules) else module.split(".")[:-1]
            above = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base.partition(".")[0] != "lakebed":
                continue
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in modules else base


def packages(modules: Mapping[str, str]) -> set[str]:
    return {name.rpartition(".")[0] for name in modules} | {"lakebed"}


def part_of(module: str) -> str:
    return [*module.split("."), ""][1]


def problems(modules: Mapping[str, str]) -> list[str]:
    """What is wrong with the imports of a package, as sentences."""
    found = []
    graph: dict[str, set[str]] = {}
    for module, text in modules.items():
        if part_of(module) not in LAYER_OF:
            found.append(f"{module} belongs to no layer")
            continue
        reaches_up = {target for source, target in REACHES_UP if source == module}
        graph[module] = set(imports(module, text, modules)) - {module} - reaches_up
        for target in sorted(graph[module]):
            if target not in modules:
                found.append(f"{module} imports {target}, which is not there")
            elif LAYER_OF.get(part_of(target), -1) > LAYER_OF[part_of(module)]:
                found.append(f"{module} imports {target}, which is above it")
            elif part_of(target) == "chain" != part_of(module) and module not in KNOWS_CHAINS:
                found.append(f"{module} imports {target}; ask lakebed.table_kinds.rules_of for the rules instead")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append("a circle of imports: " + " -> ".join(error.args[1]))
    return found


def test_the_package_keeps_its_layers() -> None:
    modules = read_package()
    assert len(modules) > 30
    assert problems(modules) == []


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {path.stem if path.suffix else path.name for path in SOURCE.iterdir() if path.name != "py.typed"}
    parts -= {"__init__", "__main__", "__pycache__"}
    assert parts <= set(LAYER_OF)


GOOD = {
    "lakebed": "from lakebed.table import Table",
    "lakebed.errors": "",
    "lakebed.format": "",
    "lakebed.format.a": "import json\nfrom lakebed.errors import X",
    "lakebed.format.b": "from lakebed.format import a",
    "lakebed.metadata": "",
    "lakebed.metadata.commit": "from lakebed.format.b import x\nfrom . import scan",
    "lakebed.metadata.scan": "from ..format import b",
    "lakebed.rows": "",
    "lakebed.rows.write": "from lakebed.buckets.choose_fixed import x",
    "lakebed.buckets": "",
    "lakebed.buckets.choose_fixed": "from lakebed.metadata import scan",
    "lakebed.chain": "",
    "lakebed.chain.layout": "from lakebed.metadata import scan",
    "lakebed.chain.rules": "from lakebed.chain.layout import x",
    "lakebed.table_kinds": "from lakebed.chain.rules import x",
    "lakebed.table": "from lakebed.rows.write import x\nfrom lakebed.table_kinds import rules_of",
}


def test_a_good_package_has_no_problems() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("module", "text", "problem"),
    [
        (
            "lakebed.format.a",
            "from lakebed.metadata.commit import commit",
            "lakebed.format.a imports lakebed.metadata.commit, which is above it",
        ),
        (
            "lakebed.metadata.scan",
            "import lakebed.rows.write",
            "lakebed.metadata.scan imports lakebed.rows.write, which is above it",
        ),
        (
            "lakebed.format.a",
            "from ..metadata import scan",
            "lakebed.format.a imports lakebed.metadata.scan, which is above it",
        ),
        (
            "lakebed.metadata.scan",
            "def hidden():\n    from lakebed.table import Table",
            "lakebed.metadata.scan imports lakebed.table, which is above it",
        ),
        ("lakebed.rows.write", "import lakebed", "lakebed.rows.write imports lakebed, which is above it"),
        (
            "lakebed.errors",
            "from lakebed.options import x",
            "lakebed.errors imports lakebed.options, which is not there",
        ),
        ("lakebed.utils", "", "lakebed.utils belongs to no layer"),
        (
            "lakebed.table",
            "from lakebed.chain import layout",
            "lakebed.table imports lakebed.chain.layout; ask lakebed.table_kinds.rules_of for the rules instead",
        ),
    ],
)
def test_a_violation_is_found(module: str, text: str, problem: str) -> None:
    assert problem in problems({**GOOD, module: text})


@pytest.mark.parametrize(
    "text",
    [
        "from lakebed.metadata import commit",
        "from lakebed.metadata.commit import commit",
        "def late():\n    from lakebed.metadata.commit import commit",
        "if TYPE_CHECKING:\n    from .commit import commit",
    ],
)
def test_a_circle_within_a_layer_is_found(text: str) -> None:
    (problem,) = problems({**GOOD, "lakebed.metadata.scan": text})
    assert problem.startswith("a circle of imports: lakebed.metadata.")


def test_rows_and_buckets_are_one_layer_without_circles() -> None:
    (problem,) = problems({**GOOD, "lakebed.buckets.choose_fixed": "from lakebed.rows import write"})
    assert "a circle of imports" in problem
