"""The public interface is documented: every class and function says what it does, and every argument what it means."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import lakebed

HELD = (lakebed.Lake, lakebed.Table, lakebed.Scan, lakebed.SystemTable)
FUNCTIONS = (lakebed.connect, lakebed.prepare_workers, lakebed.stream_to)
RESULTS = [
    value
    for name in lakebed.__all__
    if dataclasses.is_dataclass(value := getattr(lakebed, name)) and isinstance(value, type)
]


def methods() -> Iterator[tuple[str, Any]]:
    for held in HELD:
        for name, member in inspect.getmembers(held):
            if not name.startswith("_"):
                yield f"{held.__name__}.{name}", member.fget if isinstance(member, property) else member
    for function in FUNCTIONS:
        yield function.__name__, function


def documented(text: str, section: str) -> set[str]:
    """The names that a section of a Google-style docstring describes."""
    found = re.search(rf"^{section}:\n((?:    .*\n|\n)+)", f"{text}\n", re.MULTILINE)
    return set(re.findall(r"^    (\w+): ", found[1], re.MULTILINE)) if found else set()


@pytest.mark.parametrize(("name", "member"), list(methods()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_argument_is_described(name: str, member: Any) -> None:
    text = inspect.getdoc(member)
    assert text, f"{name} has no docstring"
    assert len(text.splitlines()[0]) <= 110, f"{name}: the first line is a summary"
    if "Deprecated since" in text.splitlines()[0]:
        return
    arguments = [each for each in inspect.signature(member).parameters if each != "self"]
    assert documented(text, "Args") == set(arguments), f"{name}: Args describe {arguments}"


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.__name__)
def test_results_describe_themselves(result: type) -> None:
    text = inspect.getdoc(result) or ""
    assert text.splitlines()[0].endswith("."), text
    fields = {field.name for field in dataclasses.fields(result)}
    described = documented(text, "Attributes")
    assert described <= fields
    if result is not lakebed.Snapshot:  # has the names of all files too, which its docstring sums up
        assert described == fields
