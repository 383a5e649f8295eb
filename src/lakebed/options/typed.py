"""Typed attributes for options: one line per option in :class:`~lakebed.options.TableOptions`.

A :class:`Typed` attribute reads and parses one option of an instance. On the class it is the attribute itself, so
that ``TableOptions.bucket.name`` is the option's name. The functions :func:`required`, :func:`optional`,
:func:`listed` and :func:`names` create attributes. Each checks at import that the option exists and that its default
has the declared type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar, overload

from lakebed.errors import OptionError
from lakebed.options.definitions import Kind, Option
from lakebed.options.lookup import OPTIONS
from lakebed.options.parsing import Value, default_value, parse_option

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class HasOptions(Protocol):
    """Stored options, and how an option's name is spelled in them."""

    @property
    def raw(self) -> Mapping[str, str]:
        """The options as a schema stores them."""

    def spelled(self, option: Option) -> tuple[str, ...]:
        """Returns the names under which an option may be stored; the first one found counts."""


class Typed(Generic[T_co]):
    """A class attribute that returns the parsed value of one option of an instance."""

    def __init__(self, name: str, convert: Callable[[Value | None], T_co]) -> None:
        self.option = OPTIONS[name]
        self._convert = convert

    @property
    def name(self) -> str:
        """The option's name in the table of options."""
        return self.option.name

    @overload
    def __get__(self, instance: None, owner: type) -> Typed[T_co]: ...

    @overload
    def __get__(self, instance: HasOptions, owner: type) -> T_co: ...

    def __get__(self, instance: HasOptions | None, owner: type) -> Typed[T_co] | T_co:
        return self if instance is None else self.read(instance)

    def read(self, options: HasOptions) -> T_co:
        """Returns the parsed value of this option."""
        return self._convert(read_option(options, self.option))


def required(name: str, kind: type[T]) -> Typed[T]:
    """Returns an attribute for an option with a default; its value is always set."""

    def convert(value: Value | None) -> T:
        if not isinstance(value, kind):
            raise OptionError(f"option {name!r} is not set; set it to a {kind.__name__}")
        return value

    convert(default_value(OPTIONS[name]))
    return Typed(name, convert)


def optional(name: str, kind: type[T]) -> Typed[T | None]:
    """Returns an attribute that is None where the option is not set."""
    if OPTIONS[name].default is not None:
        raise OptionError(f"option {name!r} has a default; use required()")

    def convert(value: Value | None) -> T | None:
        if value is not None and not isinstance(value, kind):
            raise OptionError(f"option {name!r} is {value!r}, not a {kind.__name__}")
        return value

    return Typed(name, convert)


def listed(name: str) -> Typed[tuple[str, ...]]:
    """Returns an attribute for a list, split at commas and not trimmed; empty where the option is not set."""
    return Typed(name, lambda value: value if isinstance(value, tuple) else ())


def names(name: str) -> Typed[tuple[str, ...]]:
    """Returns an attribute for a list like :func:`listed`, without the spaces around each name."""
    return Typed(name, lambda value: tuple(part.strip() for part in value) if isinstance(value, tuple) else ())


def read_option(options: HasOptions, option: Option) -> Value | None:
    """Returns the value of one option: as stored, else its default, else None."""
    raw = options.raw
    if option.kind is Kind.MAP:
        return _read_map(raw, option)
    for spelling in options.spelled(option):
        if spelling in raw:
            return parse_option(option, spelling, raw[spelling])
    return default_value(option)


def _read_map(raw: Mapping[str, str], option: Option) -> dict[str, str]:
    """Returns a map option, which may be stored as one value or as one option per key."""
    entries: dict[str, str] = {}
    for name, text in raw.items():
        if name == option.name or name.startswith(f"{option.name}."):
            value = parse_option(option, name, text)
            entries.update(value if isinstance(value, dict) else {})
    return entries
