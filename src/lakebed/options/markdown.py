"""Generate ``docs/options.md`` from the table of options: ``python -m lakebed.options > docs/options.md``."""

from __future__ import annotations

from typing import Final

from lakebed.options.definitions import SECTIONS, Option, Section

_INTRODUCTION: Final = """\
# Table options

This page is generated: `python -m lakebed.options > docs/options.md`.

Options are strings that a table carries in its schema. Lakebed knows the options of Apache Paimon and of its Flink and
Spark connectors, and does one of three things with each:

- **honoured**: Lakebed acts on it.
- **kept**: it tunes another engine, or a part of Lakebed that is still to come. It is stored and left alone.
- **refused**: it would change what the data means or where it is, and Lakebed does not support that. Its default (or
  leaving it out) is fine; anything else is refused when a table is created, altered or opened. Where the text says
  *read only*, such a table of somebody else can be read but not written.

A name that is not on this page is refused in our own CREATE and ALTER, and reported on a table that somebody else made.

Values: sizes are `128 mb`, `8mb` or plain bytes (`b`, `kb`, `mb`, `gb`, `tb`, in steps of 1024); durations are `1 h`,
`10 ms` or plain milliseconds (`d`, `h`, `min`, `s`, `ms`, `µs`, `ns`); lists are split at commas and not trimmed; maps are
`0:lz4,1:zstd`, or one option per key (`file.compression.per.level.0`). In a name, `<column>` stands for a column's name
and `*` for any rest. *Fixed* options cannot change once the table has data; those *fixed at creation* never change.
"""


def to_markdown() -> str:
    """The page ``docs/options.md``."""
    return "\n".join([_INTRODUCTION, *(_section_markdown(section) for section in SECTIONS)])


def _section_markdown(section: Section) -> str:
    head = [f"## {section.title}", "", "| option | type | default | meaning | Lakebed |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(_row_markdown(option) for option in section.options), ""])


def _row_markdown(option: Option) -> str:
    name = f"`{option.name}`" + "".join(f"<br>also `{alias}`" for alias in option.aliases)
    kind = ", ".join(f"`{value}`" for value in option.values) or option.kind.value
    default = f"`{option.default}`" if option.default else option.unset
    return f"| {name} | {kind} | {default} | {option.meaning} | {_support_markdown(option)} |"


def _support_markdown(option: Option) -> str:
    words = [option.support.value]
    if option.accepted:
        words.append(f"only {', '.join(f'`{value}`' for value in option.accepted)}")
    if option.refused:
        words.append(f"not {', '.join(f'`{value}`' for value in option.refused)}")
    if option.readable:
        words.append("else *read only*" if option.accepted or option.refused else "*read only*")
    if option.immutable or option.create_only:
        words.append("*fixed*" if option.immutable else "*fixed at creation*")
    return ", ".join(words) + (f": {option.why}" if option.why else "")
