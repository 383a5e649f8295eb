"""The options of a warehouse.

These are defaults for new tables (``table-default.*``), for what the autopilot does (``autopilot.*``), whether commits
survive a power cut, the cache of decoded manifests, and the settings of the storage
(:mod:`lakebed.storage.option_definitions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakebed.errors import OptionError, unknown_name
from lakebed.metadata.manifest_cache import CACHE_BYTES, DISK_BYTES, DiskCache, ManifestCache
from lakebed.metadata.manifests import SHARED_CACHE
from lakebed.options import OPTIONS as TABLE_OPTIONS
from lakebed.options import TableOptions, check_new, check_table_default, find, parse_duration, parse_size
from lakebed.storage.location import Service
from lakebed.storage.storage_options import OPTIONS, known_options, storage_option

_TABLE_DEFAULT: Final = "table-default."
_AUTOPILOT: Final = "autopilot."
_CACHE_SIZE: Final = "manifest.cache.max-size"
_CACHE_OPTIONS: Final = (
    _CACHE_SIZE,
    "manifest.cache.expire-after",
    "manifest.cache.directory",
    "manifest.cache.directory-size",
)
_EXPIRE_MILLIS: Final = "manifest.cache.expire-ms"
_PREFIX: Final = "paimon."
_AUTOPILOT_OPTIONS: Final = tuple(name for name in TABLE_OPTIONS if name.startswith(_AUTOPILOT))
_OPTIONS: Final = (TableOptions.commit_durable.name, *_CACHE_OPTIONS)


def check_warehouse_options(options: Mapping[str, str], service: Service = "local") -> None:
    """Raises for an option that a warehouse does not have; ``service`` is the storage of the warehouse."""
    for option, text in options.items():
        if option.startswith(_TABLE_DEFAULT):
            check_table_default(option.removeprefix(_TABLE_DEFAULT))
        elif option.startswith(_AUTOPILOT) and find(option) is not None:
            check_new({option: text}, where="the warehouse")
        elif option not in _OPTIONS and _cache_option(option) is None and storage_option(option) is None:
            if find(option) is not None and not option.startswith("fs."):
                raise OptionError(
                    f"{option!r} is an option of tables, not of a warehouse; give it to create_table, or for all new "
                    f"tables as {_TABLE_DEFAULT + option!r}"
                )
            names = (*known_options(service), *_OPTIONS, *_AUTOPILOT_OPTIONS)
            raise OptionError(unknown_name("option of a warehouse", option, [*names, *OPTIONS]))


def table_defaults(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the options that every new table gets.

    >>> table_defaults({"table-default.bucket": "2", "manifest.cache.max-size": "1 gb"})
    {'bucket': '2'}
    """
    return {key.removeprefix(_TABLE_DEFAULT): value for key, value in options.items() if key.startswith(_TABLE_DEFAULT)}


def is_durable(options: Mapping[str, str]) -> bool:
    """Returns whether commits to tables that do not say it themselves survive a power cut.

    >>> is_durable({}), is_durable({"commit.durable": "false"})
    (True, False)
    """
    return TableOptions(options).is_durable(otherwise=True)


def _cache_option(option: str) -> str | None:
    """Returns the name of an option of the cache of manifests, which has other names too; ``None`` for other options.

    >>> _cache_option("paimon.manifest.cache.max-size"), _cache_option("manifest.cache.expire-ms"), _cache_option("x")
    ('manifest.cache.max-size', 'manifest.cache.expire-after', None)
    """
    name = option.removeprefix(_PREFIX)
    return "manifest.cache.expire-after" if name == _EXPIRE_MILLIS else name if name in _CACHE_OPTIONS else None


def manifest_cache(options: Mapping[str, str]) -> ManifestCache:
    """Returns the cache that the options describe; without options the one that the whole process shares."""
    given: dict[str, str] = {}
    for option, text in options.items():
        name = _cache_option(option)
        if name is None:
            continue
        if name in given:
            raise OptionError(f"option {name!r} of a warehouse is given twice, also as {option!r}; give it once")
        given[name] = f"{text} ms" if option.endswith(_EXPIRE_MILLIS) else text
    if not given:
        return SHARED_CACHE
    try:
        disk_size = parse_size(given.get("manifest.cache.directory-size", str(DISK_BYTES)))
        length = given.get("manifest.cache.expire-after")
        return ManifestCache(
            parse_size(given.get(_CACHE_SIZE, str(CACHE_BYTES))),
            expire_after=None if length is None else parse_duration(length),
            disk=DiskCache(folder, disk_size) if (folder := given.get("manifest.cache.directory")) else None,
        )
    except ValueError as error:
        raise OptionError(f"options {', '.join(given)} of a warehouse: a value must be {error}") from None
