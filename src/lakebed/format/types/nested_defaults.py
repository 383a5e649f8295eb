"""Defaults of ARRAY, MAP and ROW columns: ``array(1, 2)``, ``map('a', 1)``, ``struct(1)``, ``named_struct('a', 1)``.

A schema stores the text as the user wrote it, as Paimon does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from lakebed.errors import SchemaError
from lakebed.format.types.data_types import Array, Atomic, DataType, Map, Row
from lakebed.format.types.sql_types import Reader, without_number_suffixes

_CONSTRUCTOR: Final = re.compile(r"\s*(?:array|map|struct|named_struct)\s*\(.*\)\s*", re.IGNORECASE | re.DOTALL)

Leaf = Callable[[str, Atomic], Any]
"""Returns the value of a literal's text in a simple type."""


def is_constructor(text: str) -> bool:
    """Returns whether a default is an expression that makes an array, a map or a struct.

    >>> is_constructor("array(1, 2)"), is_constructor("'array'")
    (True, False)
    """
    return _CONSTRUCTOR.fullmatch(text) is not None


def nested_value(text: str, data_type: DataType, leaf: Leaf) -> Any:
    """Returns the value of such an expression, in Python's types.

    Raises:
        SchemaError: The text is no such expression, or does not fit the type.

    >>> nested_value("array(1, NULL)", Array(Atomic("INT")), lambda text, _: int(text))
    [1, None]
    """
    reader = Reader(without_number_suffixes(text), "the default")
    value = _value(reader, data_type, leaf)
    reader.expect_end()
    return value


def _value(reader: Reader, data_type: DataType, leaf: Leaf) -> Any:
    if reader.is_word("NULL"):
        return reader.literal()
    match data_type:
        case Array(element):
            reader.expect_word("ARRAY")
            return _listed(reader, lambda _: _value(reader, element, leaf))
        case Map(key, value):
            reader.expect_word("MAP")
            flat = _listed(reader, lambda position: _value(reader, value if position % 2 else key, leaf))
            if len(flat) % 2:
                raise SchemaError("map(...) needs a value for each key")
            return list(zip(flat[::2], flat[1::2], strict=True))
        case Row(fields):
            named = reader.accept_word("NAMED_STRUCT")
            if not named:
                reader.expect_word("STRUCT")

            def part(position: int) -> Any:
                if named and position % 2 == 0:
                    return reader.string()
                place = position // 2 if named else position
                if place >= len(fields):
                    raise reader.error(f"the struct has {len(fields)} fields")
                return _value(reader, fields[place].type, leaf)

            parts = _listed(reader, part)
            values = parts[1::2] if named else parts
            if len(values) != len(fields):
                raise SchemaError(f"the struct has {len(fields)} fields, and the default {len(values)} values")
            return dict(zip((field.name for field in fields), values, strict=True))
        case Atomic():
            text = reader.literal()
            return None if text is None else leaf(text, data_type)


def _listed(reader: Reader, part: Callable[[int], Any]) -> list[Any]:
    reader.expect_symbol("(")
    found: list[Any] = []
    while not reader.accept_symbol(")"):
        if found:
            reader.expect_symbol(",")
        found.append(part(len(found)))
    return found
