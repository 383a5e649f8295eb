"""Generate ``docs/options.md`` from the table of options: ``python -m lakebed.options > docs/options.md``."""

from __future__ import annotations

from typing import Final

from lakebed.options.definitions import SECTIONS, Option, Section

_INTRODUCTION: Final = """\
# Table options

This page is generated: `python -m lakebed.options > docs/options.md`.

Options are strings that a table stores in its schema. Lakebed knows the options of Apache Paimon and of its Flink and
Spark connectors. The last column says what Lakebed does with each of them:

- **honoured**: Lakebed acts on it.
- **kept**: Lakebed stores it and ignores it. It affects other engines only.
- **refused**: it would change what the data means or where it is stored, and Lakebed does not support that. Its default
  is accepted. Any other value is an error when a table is created, altered or opened. If the text says *read only*, a
  table of another engine with such a value can be read but not written.

Any other name is a property of the user: it is stored and shown, and has no effect. A name that is similar to one on
this page is an error in CREATE and ALTER, with a suggestion. On a table that another engine created it is reported and
ignored.

The default column shows what applies if the option is not set. Sizes are `128 mb`, `8mb` or plain bytes (`b`, `kb`,
`mb`, `gb`, `tb`, in steps of 1024). Durations are `1 h`, `10 ms` or plain milliseconds (`d`, `h`, `min`, `s`, `ms`,
`µs`, `ns`). Lists are split at commas and not trimmed. Maps are `0:lz4,1:zstd`, or one option per key
(`file.compression.per.level.0`). In a name, `<column>` stands for the name of a column and `*` for any rest. *Fixed*
options cannot change once the table has snapshots. Options that are *fixed at creation* can never change.
"""


def to_markdown() -> str:
    """Returns the text of ``docs/options.md``."""
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
