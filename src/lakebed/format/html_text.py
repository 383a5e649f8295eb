"""How things show in notebooks: text as it is printed, and rows as a table. Everything from outside is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

_LONGEST_CELL: Final = 60


def text_html(text: str) -> str:
    """Returns text of several lines as HTML.

    >>> text_html("a < b")
    '<pre>a &lt; b</pre>'
    """
    return f"<pre>{escape(text)}</pre>"


def table_html(head: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "", more: str = "") -> str:
    """Returns rows as an HTML table; long values are cut.

    >>> table_html(["id"], [[None]], more="... and more")
    '<table><thead><tr><th>id</th></tr></thead><tbody><tr><td>NULL</td></tr></tbody></table>... and more'
    """
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows)
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{top}<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>{escape(more)}"


def _cell(value: object) -> str:
    text = "NULL" if value is None else str(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 3]}..."
