"""Splits a text with several SQL statements at each ``;``.

A semicolon inside of a string, a quoted name, a comment or a script (BEGIN ... END) does not end a statement.
"""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(
    r"""
    (?<!\w)[rR](?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z))  # a raw string
    | '(?:[^'\\]|\\.)*(?:'|\Z)        # a string
    | "(?:[^"\\]|\\.)*(?:"|\Z)
    | `[^`]*(?:`|\Z)                  # a quoted name
    | --[^\n]*                        # a comment to the end of the line
    | /\*.*?(?:\*/|\Z)                # a comment over several lines
    | ;
    | (?:(?!(?<!\w)[rR]['"])[^'"`;/-])+ | .  # anything else
    """,
    re.VERBOSE | re.DOTALL,
)

_STARTS: Final = ("'", '"', "`", "/*")
_CLOSED: Final = re.compile(
    r"""[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|/\*.*?\*/""", re.DOTALL
)
_SCRIPT: Final = re.compile(r"(?:\w+\s*:\s*)?BEGIN\b", re.IGNORECASE)
_OPENS: Final = re.compile(r"\b(?:BEGIN|CASE)\b", re.IGNORECASE)
# END IF, END LOOP ... close what _OPENS does not count.
_CLOSES: Final = re.compile(r"\bEND\b(?!\s+(?:IF|WHILE|LOOP|REPEAT|FOR)\b)", re.IGNORECASE)
_END_CASE: Final = re.compile(r"\bEND\s+CASE\b", re.IGNORECASE)


def split_statements(text: str) -> tuple[list[str], str]:
    r"""Returns the statements that end with ``;``, without it, and the rest after the last one.

    Comments are removed, and so are statements that consist only of comments. A script ``BEGIN ... END`` is one
    statement.

    >>> split_statements("SELECT ';' -- one; two\n; SELECT 2")
    (["SELECT ';'"], 'SELECT 2')
    >>> split_statements("BEGIN SELECT 1; SELECT 2; END; SELECT 3")
    (['BEGIN SELECT 1; SELECT 2; END'], 'SELECT 3')
    """
    done: list[str] = []
    held: list[str] = []
    begins, depth = True, 0  # before the first word of a statement; how many BEGIN and CASE of a script are open
    for part in _PARTS.findall(text):
        if part == ";" and depth == 0:
            done.append("".join(held).strip())
            held, begins = [], True
        elif part.startswith(("--", "/*")) and not part.startswith("/*+"):  # a hint is not a comment
            held.append(" ")
        else:
            if depth > 0 or (begins and _SCRIPT.match(part.lstrip())):
                depth += len(_OPENS.findall(part)) - len(_END_CASE.findall(part)) - len(_CLOSES.findall(part))
            begins = begins and not part.strip()
            held.append(part)
    return [statement for statement in done if statement], "".join(held).strip()


def is_open(text: str) -> bool:
    """Whether a text ends inside of a string, a quoted name or a comment that continues on the next line.

    >>> is_open("SELECT 'a"), is_open("SELECT 1 /* and"), is_open("SELECT 1")
    (True, True, False)
    """
    parts = _PARTS.findall(text)
    return bool(parts) and parts[-1].lstrip("rR").startswith(_STARTS) and not _CLOSED.fullmatch(parts[-1])
