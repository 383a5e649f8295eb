"""Patterns: LIKE with the one escape character that nodes know, and Java's regular expressions translated to RE2."""

from __future__ import annotations

import re
from typing import Final

_LINE_END: Final = r"\n\r\x{85}\x{2028}\x{2029}"
_SAME_ESCAPES: Final = frozenset("dDwWtnrfA") | frozenset(r"\.[]{}()*+-?^$|/")
_QUANTIFIER: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_CLASS: Final = re.compile(r"\[\^?(?:[^\[\]\\&]|&(?!&)|\\.)+\]", re.DOTALL)


def like_pattern(text: str, escape: str) -> tuple[str, str | None] | None:
    r"""A LIKE pattern with ``\`` as its escape, and the one text that it matches if it has no wildcards.

    None if an escape character stands before anything but a wildcard or itself.
    """
    parts = re.findall(rf"{re.escape(escape)}.?|.", text, re.DOTALL)
    if any(part[0] == escape and part[1:] not in {"%", "_", escape} for part in parts):
        return None
    wild = any(part in {"%", "_"} for part in parts)
    plain = "".join(part[-1] for part in parts)
    return "".join(part if part in {"%", "_"} else literal_like(part[-1]) for part in parts), None if wild else plain


def literal_like(text: str) -> str:
    """A text as the LIKE pattern that matches nothing else."""
    return re.sub(r"([%_\\])", r"\\\1", text)


def re2(pattern: str) -> str | None:
    """A Java regular expression as one of RE2's with the same meaning; None where that is not certain."""
    out: list[str] = []
    position = 0
    while position < len(pattern):
        char, following = pattern[position], pattern[position + 1 : position + 2]
        taken = char
        if char == "\\":
            taken = char + following
            if following not in _SAME_ESCAPES and following not in {"s", "z"}:
                return None
            out.append(r"[\t\n\x0B\f\r ]" if following == "s" else taken)
        elif char == "[":
            found = _CLASS.match(pattern, position)
            if found is None or any(escape not in _SAME_ESCAPES for escape in re.findall(r"\\(.)", found[0])):
                return None
            taken = found[0]
            out.append(taken)
        elif char == "(" and following == "?":
            taken = pattern[position : position + 3]
            if taken != "(?:":
                return None
            out.append(taken)
        elif char == "{":
            found = _QUANTIFIER.match(pattern, position)
            if found is None:
                return None
            taken = found[0]
            out.append(taken)
        elif char == "$":
            if following not in {"", ")", "|"}:
                return None
            out.append(rf"(?:\r\n|[{_LINE_END}])?\z")
        else:
            out.append(f"[^{_LINE_END}]" if char == "." else char)
        position += len(taken)
    return "".join(out)
