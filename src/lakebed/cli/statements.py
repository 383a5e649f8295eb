"""Text with several SQL statements, cut where a ``;`` ends one: not inside of texts, quoted names and comments."""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(
    r"""
    '(?:[^'\\]|\\.)*(?:'|\Z)          # a text
    | "(?:[^"\\]|\\.)*(?:"|\Z)
    | `[^`]*(?:`|\Z)                  # a name
    | --[^\n]*                        # a comment to the end of the line
    | /\*.*?(?:\*/|\Z)                # a comment with two ends
    | ;
    | [^'"`;/-]+ | .                  # anything else
    """,
    re.VERBOSE | re.DOTALL,
)

_STARTS: Final = ("'", '"', "`", "/*")
_CLOSED: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|/\*.*?\*/""", re.DOTALL)


def split_statements(text: str) -> tuple[list[str], str]:
    r"""The statements that are ended by a ``;``, without it, and what is left behind the last one.

    Comments are left out; so are statements that consist of nothing else.

    >>> split_statements("SELECT ';' -- one; two\n; SELECT 2")
    (["SELECT ';'"], 'SELECT 2')
    """
    done: list[str] = []
    held: list[str] = []
    for part in _PARTS.findall(text):
        if part == ";":
            done.append("".join(held).strip())
            held = []
        elif part.startswith(("--", "/*")) and not part.startswith("/*+"):  # a hint is no comment
            held.append(" ")
        else:
            held.append(part)
    return [statement for statement in done if statement], "".join(held).strip()


def is_open(text: str) -> bool:
    """Whether text ends inside of a text, a quoted name or a comment that goes on in the next line.

    >>> is_open("SELECT 'a"), is_open("SELECT 1 /* and"), is_open("SELECT 1")
    (True, True, False)
    """
    parts = _PARTS.findall(text)
    return bool(parts) and parts[-1].startswith(_STARTS) and not _CLOSED.fullmatch(parts[-1])
