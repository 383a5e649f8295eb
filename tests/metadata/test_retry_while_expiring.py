"""A read is repeated while snapshots expire, and gives up after a few attempts."""

from __future__ import annotations

import pytest

from lakebed.errors import CorruptError, NotFoundError
from lakebed.metadata.retry_while_expiring import retry_while_expiring


class _Failing:
    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return "rows"


def test_a_read_is_repeated_until_it_finds_its_files() -> None:
    read = _Failing(NotFoundError("1"), NotFoundError("2"))
    assert retry_while_expiring(read) == "rows"
    assert read.calls == 3


def test_the_last_attempt_raises() -> None:
    read = _Failing(*(NotFoundError(str(number)) for number in range(1, 10)))
    with pytest.raises(NotFoundError, match=r"^3$"):
        retry_while_expiring(read, attempts=3)
    assert read.calls == 3


def test_other_errors_are_not_repeated() -> None:
    read = _Failing(CorruptError("broken"))
    with pytest.raises(CorruptError):
        retry_while_expiring(read)
    assert read.calls == 1
