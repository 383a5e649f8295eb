"""Check the options of a table: names, values, and what Lakebed supports.

* :func:`check_new` checks options that a user gives in CREATE and ALTER. It raises :class:`OptionError` for a name that
  looks like a misspelt option, an invalid value and a value that Lakebed does not support. It accepts and keeps options
  of other engines, and properties of the user: any name that is not like an option.
* :func:`check_overlay_names` also refuses properties, in options for one query, where they would have no effect.
* :func:`check_existing` checks the options of a stored table, which another engine may have created. It reports
  misspelt names, raises :class:`UnsupportedError` for an unsupported value, and ignores values that Lakebed never
  reads.
* :func:`normalise` turns Python values into the strings that a schema stores.

Which changes of options an existing table allows is in :mod:`lakebed.format.schema.option_changes`.

>>> check_new({"bukcet": "2"}, where="table db.t")
Traceback (most recent call last):
...
lakebed.errors.OptionError: unknown option 'bukcet' in table db.t; did you mean 'bucket'?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lakebed.errors import OptionError, UnsupportedError, unknown_name
from lakebed.options.definitions import Option, Support
from lakebed.options.lookup import find, known_names, similar_name
from lakebed.options.parsing import Value, default_value, parse_option
from lakebed.options.secrets import SecretText, hidden, is_secret, is_storage_setting


def _refusal(option: Option, name: str, value: Value, text: str, where: str) -> str | None:
    """Returns why Lakebed does not support this value, or None if it does."""
    if option.accepted:
        held: Iterable[Value] = value.values() if isinstance(value, dict) else (value,)
        bad = any(part not in option.accepted for part in held)
    elif option.refused:
        bad = str(value) in option.refused
    elif option.support is not Support.REFUSED:
        bad = False
    elif option.default is None:
        bad = not isinstance(value, str | tuple) or bool(text.strip())
    else:
        bad = value != default_value(option)
    if not bad:
        return None
    place = f" in {where}" if where else ""
    return f"option {name!r}{place} is {text!r}: {option.why}"


def check_new(options: Mapping[str, str], *, where: str) -> None:
    """Checks options that a user gives in CREATE or ALTER; ``where`` names the table in messages.

    >>> check_new({"bucket": "4", "bucket-key": "id", "sink.parallelism": "8", "team": "sales"}, where="table db.t")
    >>> check_new({"manifest.format": "orc"}, where="table db.t")
    Traceback (most recent call last):
    ...
    lakebed.errors.OptionError: option 'manifest.format' in table db.t is 'orc': manifests are Avro files; leave it out
    """
    for name, text in options.items():
        _refuse_cache_setting(name, where)
        option = find(name)
        if option is None:
            _check_property(name, where)
            continue
        refusal = _refusal(option, name, parse_option(option, name, text, where), text, where)
        if refusal is not None:
            raise OptionError(refusal)


def check_overlay_names(options: Mapping[str, str], *, where: str) -> None:
    """Raises for an unknown name among options that are given for one handle or query.

    >>> check_overlay_names({"scan.snapshot": "1"}, where="table db.t")
    Traceback (most recent call last):
    ...
    lakebed.errors.OptionError: unknown option 'scan.snapshot' in table db.t; did you mean 'scan.snapshot-id'?
    """
    for name in options:
        if find(name) is None:
            _refuse_storage_setting(name, where)
            raise OptionError(unknown_name("option", name, known_names(), where=where))


def _check_property(name: str, where: str) -> None:
    """Checks a name that no option has. It is a property of the user, unless it looks like an option."""
    _refuse_storage_setting(name, where)
    similar = similar_name(name)
    if similar is not None:
        raise OptionError(unknown_name("option", name, [similar], where=where, similar=similar))


def check_table_default(name: str) -> None:
    """Checks the name of an option that all new tables of a warehouse get."""
    if find(name) is None:
        _refuse_storage_setting(name, "table-default")


def _refuse_cache_setting(name: str, where: str) -> None:
    """Raises for an option of the cache of manifests, which has no effect on a table."""
    if name.removeprefix("paimon.").startswith("manifest.cache."):
        raise OptionError(
            f"option {name!r} in {where} is an option of the warehouse and would have no effect on a table; give it to "
            "lakebed.connect(..., options=...) or to the warehouse in lakebed.toml"
        )


def _refuse_storage_setting(name: str, where: str) -> None:
    """Raises for a setting of the storage: a table would store it, secrets too, where every reader can see it."""
    if is_storage_setting(name) or is_secret(name):
        raise OptionError(
            f"option {name!r} in {where} is a setting of the storage, which belongs to the warehouse and is never stored "
            "in a table; give it to lakebed.connect(..., options=...) or to the warehouse in lakebed.toml"
        )


def check_existing(options: Mapping[str, str], *, where: str, writing: bool = True) -> list[str]:
    """Checks the options of a stored table and returns warnings.

    With ``writing=False`` an unsupported value that leaves the table readable is a warning, not an error.

    >>> check_existing({"bucket": "1", "bukcet-key": "x", "team": "sales"}, where="table db.t")
    ["unknown option 'bukcet-key' in table db.t; it is kept and has no effect"]
    """
    report: list[str] = []
    for name, text in options.items():
        option = find(name)
        if option is None:
            if similar_name(name) is not None:
                report.append(f"unknown option {name!r} in {where}; it is kept and has no effect")
            continue
        if option.support is Support.KEPT:
            continue
        refusal = _refusal(option, name, parse_option(option, name, text, where), text, where)
        if refusal is None:
            continue
        if writing or not option.readable:
            raise UnsupportedError(refusal)
        report.append(refusal)
    return report


def normalise(options: Mapping[str, object]) -> dict[str, str]:
    """Returns options as a schema stores them: numbers, booleans and lists of strings become strings.

    >>> normalise({"bucket": 2, "deletion-vectors.enabled": True, "bucket-key": ["a", "b"]})
    {'bucket': '2', 'deletion-vectors.enabled': 'true', 'bucket-key': 'a,b'}
    """
    return {name: SecretText(text) if is_secret(name) else text for name, text in _texts(options)}


def _texts(options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in options.items():
        yield name, _as_text(name, value)


def _as_text(name: object, value: object) -> str:
    if not isinstance(name, str):
        raise OptionError(f"the name of an option must be a string, not {name!r}")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ",".join(value)
    raise OptionError(
        f"option {name!r} is {hidden(name, repr(value))} of type {type(value).__name__}; "
        "give a string, number, boolean or list of strings"
    )
