"""The definition of a procedure of ``CALL sys.<procedure>(...)``, and the parsing of its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakebed.errors import OptionError, UnsupportedError
from lakebed.format.partition_names import parse_partition_spec
from lakebed.format.types.data_types import quoted_name
from lakebed.table import Table

Rows = Iterable[Sequence[Any]]
Given = Mapping[str, Any]
"""The arguments by name, without those that were not given."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the arguments, and a function that opens a table by name, with options."""

    given: Given
    open: Callable[[str, Mapping[str, str]], Table]
    databases: Callable[[], Mapping[str, Sequence[str]]]

    def table(self, options: Mapping[str, str] | None = None) -> Table:
        """Opens the table that the argument ``table`` names."""
        return self.open(self.given["table"], options or {})

    def options(self) -> dict[str, str]:
        """Returns the argument ``options``: ``key=value,key=value``."""
        return pairs(self.given.get("options", ""), "options")

    def some(self, **names: str) -> dict[str, Any]:
        """Returns the given arguments under the names of the Python API."""
        return {ours: self.given[theirs] for ours, theirs in names.items() if theirs in self.given}

    def refuse(self, *names: str) -> None:
        """Raises UnsupportedError if one of these arguments is given."""
        for name in names:
            if name in self.given:
                raise UnsupportedError(f"argument {name} is not supported by Lakebed; leave it out")


@dataclass(frozen=True, slots=True)
class Details:
    """A result with other columns than the procedure has otherwise."""

    columns: Mapping[str, str]
    rows: Rows


@dataclass(frozen=True, slots=True)
class Procedure:
    """Parameters (optional ones end with ``?``), result columns, and the function to run."""

    parameters: Mapping[str, str]
    results: Mapping[str, str]
    run: Callable[[Call], Rows | Details]


def pairs(text: str, what: str) -> dict[str, str]:
    """Returns ``a=1,b=2`` as a dict."""
    split = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(equals for _, equals, _ in split):
        raise OptionError(f"argument {what} must be like key=value,key=value, not {text!r}")
    return {name.strip(): value.strip() for name, _, value in split}


def _condition(text: str) -> str:
    """Returns ``dt=1,hh=2;dt=3`` as a SQL condition.

    >>> _condition("dt=2024,hh=1;dt=2025")
    "(dt = '2024' AND hh = '1') OR (dt = '2025')"
    """
    conditions = []
    for spec in partitions(text):
        parts = [f"{quoted_name(name)} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in spec.items()]
        conditions.append(f"({' AND '.join(parts)})")
    return " OR ".join(conditions)


def partitions(text: str) -> list[dict[str, str]]:
    """Returns ``dt=1,hh=2;dt=3`` as partitions; values may be in quotes."""
    parts = [parse_partition_spec(part, "argument partitions") for part in text.split(";") if part.strip()]
    specs = [{name: _unquoted(value) for name, value in spec.items()} for spec in parts]
    if not specs:
        raise OptionError("argument partitions names no partition; write it like dt=2024-01-01,hh=1;dt=2024-01-02,hh=2")
    return specs


def _unquoted(value: str) -> str:
    """Returns a value without the quotes around it.

    >>> _unquoted('"p1"'), _unquoted("'p1'"), _unquoted("p1'")
    ('p1', 'p1', "p1'")
    """
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def where(call: Call) -> str | None:
    """Returns the partitions of the arguments ``partitions`` or ``where`` as a SQL condition."""
    if "partitions" in call.given and "where" in call.given:
        raise OptionError("give either partitions or where, not both")
    if "partitions" in call.given:
        return _condition(call.given["partitions"])
    given: str | None = call.given.get("where")
    return given


def matches(pattern: str, name: str) -> bool:
    """Whether a regular expression matches the whole name."""
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error as error:
        raise OptionError(f"{pattern!r} is not a regular expression: {error}") from None
