"""Table options: every option once, with its type, default, meaning and checks.

``definitions`` is the table of options. ``lookup`` finds the option of a name, ``parsing`` parses values, ``checks``
refuses what is wrong, ``table_options`` gives typed access, ``markdown`` generates ``docs/options.md``.
"""

from lakebed.options.checks import (
    check_existing,
    check_new,
    check_overlay_names,
    check_table_default,
    normalise,
)
from lakebed.options.definitions import Kind, Option, Support
from lakebed.options.lookup import OPTIONS, find
from lakebed.options.markdown import to_markdown
from lakebed.options.parsing import (
    Value,
    parse_bool,
    parse_duration,
    parse_float,
    parse_int,
    parse_list,
    parse_map,
    parse_size,
)
from lakebed.options.stats_mode import StatsMode
from lakebed.options.table_options import ColumnOptions, TableOptions
from lakebed.options.typed import Typed

__all__ = [
    "OPTIONS",
    "ColumnOptions",
    "Kind",
    "Option",
    "StatsMode",
    "Support",
    "TableOptions",
    "Typed",
    "Value",
    "check_existing",
    "check_new",
    "check_overlay_names",
    "check_table_default",
    "find",
    "normalise",
    "parse_bool",
    "parse_duration",
    "parse_float",
    "parse_int",
    "parse_list",
    "parse_map",
    "parse_size",
    "to_markdown",
]
