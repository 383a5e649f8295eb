"""Finds the option of a name: by its own name, an alias, or a family such as ``fields.<column>.stats-mode``.

>>> find("fields.price.stats-mode").name, find("parquet.page.size").name, find("file.compression.per.level.0").name
('fields.<column>.stats-mode', 'parquet.*', 'file.compression.per.level')
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from lakebed.options.definitions import SECTIONS, Kind, Option

OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(
    {option.name: option for section in SECTIONS for option in section.options}
)

_ALIASES: Final = {alias: option for option in OPTIONS.values() for alias in option.aliases}
_MAPS: Final = tuple((f"{option.name}.", option) for option in OPTIONS.values() if option.kind is Kind.MAP)
_PATTERNS: Final = tuple(
    (re.compile(re.sub(r"<\w+>", ".+", re.escape(option.name).replace(r"\<", "<").replace(r"\>", ">"))), option)
    for option in OPTIONS.values()
    if "<" in option.name
)
# Longest prefix first, so that the most specific family is found.
_PREFIXES: Final = tuple(
    sorted(
        ((option.name[:-1], option) for option in OPTIONS.values() if option.name.endswith("*")),
        key=lambda pair: -len(pair[0]),
    )
)


_SIMILAR: Final = 0.82  # one or two wrong letters in a name of usual length
_IN_A_FAMILY: Final = re.compile(r"^(fields\.).+(\.[^.]+)$")


def find(name: str) -> Option | None:
    """Returns the option of this name, or None if no option matches.

    A name matches an option by its own name, by an alias, as an entry of a map, by a pattern or by a prefix, in this
    order.
    """
    exact = OPTIONS.get(name) or _ALIASES.get(name)
    if exact is not None:
        return exact
    for prefix, option in _MAPS:
        if name.startswith(prefix) and len(name) > len(prefix):
            return option
    for pattern, option in _PATTERNS:
        if pattern.fullmatch(name):
            return option
    for prefix, option in _PREFIXES:
        if name.startswith(prefix) and len(name) > len(prefix):
            return option
    return None


def similar_name(name: str) -> str | None:
    """Returns the option that an unknown name is probably a misspelling of, or None if it is a name of its own.

    A family is compared without the part that its users choose.

    >>> similar_name("bukcet"), similar_name("fields.a.stat-mode"), similar_name("team")
    ('bucket', 'fields.<column>.stats-mode', None)
    """
    folded = name.lower().replace("_", "-")
    fields = _IN_A_FAMILY.sub(r"\1<column>\2", folded)
    near = difflib.get_close_matches(folded, known_names(), n=1, cutoff=_SIMILAR)
    return (near or difflib.get_close_matches(fields, known_names(), n=1, cutoff=_SIMILAR) or [None])[0]


def known_names() -> Iterator[str]:
    """Returns all names and aliases, for suggestions in error messages."""
    yield from OPTIONS
    yield from _ALIASES
