"""The table of options and the code agree: the code reads every honoured option and spells no name of its own."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from lakebed.options import OPTIONS, ColumnOptions, Support, TableOptions, Typed, find

SOURCE = Path(__file__).parents[2] / "src"
OWN = SOURCE / "lakebed" / "options"
CLASSES = (TableOptions, ColumnOptions)
ATTRIBUTES = [(name, value) for cls in CLASSES for name, value in vars(cls).items() if isinstance(value, Typed)]

# Names that code outside of lakebed.options writes as text, each with the reason.
WRITTEN_OUT = {
    "avro.schema": "a property of Avro files",
    "clustering.columns": "no code reads it; it names columns",
    "record-level.time-field": "no code reads it; it names columns",
    "file.format": "no code reads it; old schema versions had another default",
    "manifest.cache.max-size": "an option of a warehouse",
    "primary-key": "also a kind of table, an aggregate function and an argument of CREATE TABLE",
}


@cache
def trees(*, own: bool) -> dict[str, ast.Module]:
    """The parsed modules inside, or outside, of ``lakebed.options``."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if path.is_relative_to(OWN) is own]
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def attributes_read(*, own: bool) -> set[str]:
    nodes = (node for tree in trees(own=own).values() for node in ast.walk(tree))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def option_names_in(tree: ast.Module) -> set[str]:
    """The string literals that are names of options; single words such as ``path`` and docstrings are left out."""
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements
    }
    return {text for text in texts if ("." in text or "-" in text) and " " not in text and find(text) is not None}


def test_every_attribute_is_read_outside_of_the_package() -> None:
    public = {name for cls in CLASSES for name in vars(cls) if not name.startswith("_")} - {"raw", "spelled"}
    assert public - attributes_read(own=False) == set()


def test_every_private_attribute_is_read_inside_of_the_package() -> None:
    private = {name for name, _ in ATTRIBUTES if name.startswith("_")}
    assert private - attributes_read(own=True) == set()


def test_every_honoured_option_is_read_and_every_kept_one_is_not() -> None:
    read = {attribute.name for _, attribute in ATTRIBUTES}
    # An option that accepts one value only is honoured by refusing the others.
    honoured = {o.name for o in OPTIONS.values() if o.support is Support.HONOURED and len(o.accepted) != 1}
    kept = {o.name for o in OPTIONS.values() if o.support is Support.KEPT}
    assert honoured - read == set()
    assert read & kept == set()


def test_each_option_has_one_attribute() -> None:
    names = [attribute.name for _, attribute in ATTRIBUTES]
    assert sorted(names) == sorted(set(names))


def test_names_of_options_are_written_in_the_package_only() -> None:
    found = {
        f"{module}: {name}"
        for module, tree in trees(own=False).items()
        for name in option_names_in(tree) - set(WRITTEN_OUT)
    }
    assert found == set(), "use the attribute's name, such as TableOptions.bucket.name"


@pytest.mark.parametrize("call", ["SetOption", "RemoveOption", "find"])
def test_literal_names_in_calls_are_known(call: str) -> None:
    for module, tree in trees(own=False).items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == call and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    assert find(name.value) is not None, f"{module}: {call}({name.value!r})"


def test_a_behaviour_without_the_option_is_described_where_there_is_no_default() -> None:
    for option in OPTIONS.values():
        assert not (option.unset and option.default is not None), option.name
    assert OPTIONS["commit.max-retries"].unset == "no limit"
    assert TableOptions({}).commit_max_retries is None
