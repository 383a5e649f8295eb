"""Splits a text with several SQL statements at each ``;`` outside of strings, quoted names and comments."""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(
    r"""
    '(?:[^'\\]|\\.)*(?:'|\Z)          # a string
    | "(?:[^"\\]|\\.)*(?:"|\Z)
    | `[^`]*(?:`|\Z)                  # a quoted name
    | --[^\n]*                        # a comment to the end of the line
    | /\*.*?(?:\*/|\Z)                # a comment over several lines
    | ;
    | [^'"`;/-]+ | .                  # anything else
    """,
    re.VERBOSE | re.DOTALL,
)

_STARTS: Final = ("'", '"', "`", "/*")
_CLOSED: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|/\*.*?\*/""", re.DOTALL)


def split_statements(text: str) -> tuple[list[str], str]:
    r"""Returns the statements that end with ``;``, without it, and the rest after the last one.

    Comments are removed, and so are statements that consist only of comments.

    >>> split_statements("SELECT ';' -- one; two\n; SELECT 2")
    (["SELECT ';'"], 'SELECT 2')
    """
    done: list[str] = []
    held: list[str] = []
    for part in _PARTS.findall(text):
        if part == ";":
            done.append("".join(held).strip())
            held = []
        elif part.startswith(("--", "/*")) and not part.startswith("/*+"):  # a hint is not a comment
            held.append(" ")
        else:
            held.append(part)
    return [statement for statement in done if statement], "".join(held).strip()


def is_open(text: str) -> bool:
    """Whether a text ends inside of a string, a quoted name or a comment that continues on the next line.

    >>> is_open("SELECT 'a"), is_open("SELECT 1 /* and"), is_open("SELECT 1")
    (True, True, False)
    """
    parts = _PARTS.findall(text)
    return bool(parts) and parts[-1].startswith(_STARTS) and not _CLOSED.fullmatch(parts[-1])
