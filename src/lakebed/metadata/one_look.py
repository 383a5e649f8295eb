"""An operation looks up the latest schema and snapshot of a branch once, however many of its parts ask for them.

On an object store every lookup is a round trip. Inside of :func:`one_look` the first answer is kept until the block
ends, so all parts of an operation see the same schema. Checks that must notice what other processes did meanwhile ask
the storage again (:meth:`lakebed.metadata.store.TableStore.fresh_schema`, :meth:`Snapshots.latest`): a commit does so
for each of its attempts.

What follows a commit may also need answers. It registers its questions before (:func:`ask_beside_commit`), and the
commit asks them together with its own last requests.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, TypeVar

from lakebed.errors import LakebedError

_T = TypeVar("_T")


class Look:
    """The answers that one operation got so far, by what was asked, and when it got them."""

    def __init__(self) -> None:
        self.found: dict[Hashable, Any] = {}
        self.times: dict[Hashable, float] = {}
        self.beside_commit: dict[Hashable, Callable[[], object]] = {}

    def note(self, what: Hashable, answer: object) -> None:
        self.found[what] = answer
        self.times[what] = time.monotonic()


_look: Final[ContextVar[Look | None]] = ContextVar("lakebed_look", default=None)


@contextlib.contextmanager
def one_look(again: Look | None = None) -> Iterator[Look]:
    """Keeps answers until the block ends; a block inside of another one shares its answers.

    Also a decorator: ``@one_look()``.

    Args:
        again: The answers of an earlier block, which are used again: a scan is planned with what it was made with.
    """
    outer = _look.get()
    if again is None and outer is not None:
        yield outer
        return
    look = again or Look()
    token = _look.set(look)
    try:
        yield look
    finally:
        _look.reset(token)


def looked_up(what: Hashable, find: Callable[[], _T]) -> _T:
    """Returns the answer that this operation got before, else asks ``find``; errors are not kept."""
    look = _look.get()
    if look is None:
        return find()
    if what not in look.found:
        look.note(what, find())
    answer: _T = look.found[what]
    return answer


def ask_beside_commit(what: Hashable, find: Callable[[], object]) -> None:
    """Registers a question of what follows the commit of this operation, which then calls :func:`looked_up`."""
    look = _look.get()
    if look is not None:
        look.beside_commit[what] = find


def questions_beside_commit() -> list[Callable[[], None]]:
    """Returns the registered questions, each as a call that keeps its answer and never raises."""
    look = _look.get()
    if look is None:
        return []

    def ask(what: Hashable) -> None:
        find = look.beside_commit.pop(what)
        with contextlib.suppress(LakebedError):
            look.note(what, find())

    return [partial(ask, what) for what in look.beside_commit]


def note_answer(what: Hashable, answer: object) -> None:
    """Records a newer answer for the rest of the operation."""
    look = _look.get()
    if look is not None:
        look.note(what, answer)


def is_recent(what: Hashable, seconds: float) -> bool:
    """Returns whether this operation got an answer less than some seconds ago."""
    look = _look.get()
    return look is not None and what in look.found and time.monotonic() - look.times[what] < seconds


def forget_answer(what: Hashable) -> None:
    """Drops an answer that is out of date, because this operation changed the table."""
    look = _look.get()
    if look is not None:
        look.found.pop(what, None)
