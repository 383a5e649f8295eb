"""Generates the tables of settings in ``docs/storage.md``: ``python -m lakebed.storage``."""

from __future__ import annotations

import textwrap

from lakebed.storage.option_definitions import IGNORED, SECTIONS, StorageOption


def to_markdown() -> str:
    """Returns the tables, one for each kind of storage."""
    parts = [_section(title, options) for title, _, options in SECTIONS]
    ignored = ", ".join(f"`{name}`" for name in sorted(IGNORED) if not name.startswith(("s3.", "s3a.")))
    text = f"Settings of other engines that are accepted and have no effect: {ignored}."
    return "\n".join([*parts, textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False), ""])


def _section(title: str, options: tuple[StorageOption, ...]) -> str:
    head = [f"### {title}", "", "| setting | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *map(_row, options), ""])


def _row(option: StorageOption) -> str:
    others = [name for name in option.spellings if not name.startswith(("s3a.", "fs.s3a."))]
    name = f"`{option.name}`" + ("<br>also " + ", ".join(f"`{each}`" for each in others) if others else "")
    kind = f"{option.form.value}, secret" if option.is_secret else option.form.value
    return f"| {name} | {kind} | {option.default} | {option.meaning} |"
