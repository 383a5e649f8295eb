"""How results print: ``print(result)`` and notebooks show a short text for people, ``repr(result)`` its first line.

A result class derives from :class:`Printed`, defines ``__str__``, and is a dataclass with ``repr=False``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from lakebed.format.html_text import text_html
from lakebed.format.human_text import count_text, list_lines, table_lines

Item = TypeVar("Item")


class Printed:
    """A result whose ``repr`` is its class and the first line of its text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {str(self).partition(chr(10))[0].removesuffix(':')}>"

    def _repr_html_(self) -> str:
        """Returns the whole text, for notebooks."""
        return text_html(str(self))


def page_text(one: str, head: list[str], rows: list[list[str]], *, total: int | None, has_more: bool) -> str:
    """Returns a page as a small table; numbers are in the columns ``id`` and ``rows``."""
    if not rows:
        return f"no {one}s among those read; more with cursor=page.next_cursor" if has_more else f"no {one}s"
    of_all = "" if total is None or total == len(rows) else f" of {total:,}"
    right = [column for column, title in enumerate(head) if title in {"id", "rows"}]
    lines = [f"{count_text(len(rows), one)}{of_all}, newest first:"]
    lines += [f"  {line}" for line in table_lines([head, *rows], right=right)]
    return "\n".join([*lines, "  ... more with cursor=page.next_cursor"] if has_more else lines)


class Dropped(list[Item]):
    """A list of what a call dropped, or would drop in a dry run. It is a plain list that also prints well.

    Args:
        items: What was dropped.
        one: The noun for one item, such as ``tag``.
        dry_run: Whether nothing was dropped yet.
        show: Returns the text of an item.

    Example:
        >>> print(Dropped(["v1", "v2"], one="tag", dry_run=True))
        would drop 2 tags:
          v1
          v2
        >>> Dropped(["v1"], one="tag", dry_run=False) == ["v1"]
        True
    """

    def __init__(
        self, items: Iterable[Item], *, one: str, dry_run: bool, show: Callable[[Item], str] | None = None
    ) -> None:
        super().__init__(items)
        self.dry_run = dry_run
        self._one = one
        self._show = show

    def _repr_html_(self) -> str:
        """Returns the whole text, for notebooks."""
        return text_html(str(self))

    def __str__(self) -> str:
        did = "would drop" if self.dry_run else "dropped"
        if not self:
            return f"{did} no {self._one}s"
        texts = [str(item) if self._show is None else self._show(item) for item in self]
        return "\n".join([f"{did} {count_text(len(self), self._one)}:", *list_lines(texts, self._one, most=10)])


class ByName(dict[str, Item]):
    """Results by their names. It is a plain dictionary that also prints well.

    Args:
        items: The results.
        one: The noun for one of them, such as ``tag``.

    Example:
        >>> print(ByName({"v1": "snapshot 1", "v10": "snapshot 9"}, one="tag"))
        2 tags:
          v1   snapshot 1
          v10  snapshot 9
        >>> ByName({"v1": 1}, one="tag") == {"v1": 1}
        True
    """

    def __init__(self, items: Mapping[str, Item], *, one: str) -> None:
        super().__init__(items)
        self._one = one

    def __str__(self) -> str:
        if not self:
            return f"no {self._one}s"
        lines = table_lines([[name, str(item)] for name, item in self.items()])
        return "\n".join([f"{count_text(len(self), self._one)}:", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        """Returns the whole text, for notebooks."""
        return text_html(str(self))
