"""Files of a failed write are deleted, unless its snapshot may exist."""

from __future__ import annotations

import pytest

from lakebed.errors import CommitConflictError, CommitOutcomeUnknownError
from lakebed.metadata.commit.abort import abort_unless_committed


@pytest.mark.parametrize("error", [CommitConflictError("lost"), OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_deletes_the_files_in_the_order_given(error: BaseException) -> None:
    done: list[str] = []
    with (
        pytest.raises(type(error)) as raised,
        abort_unless_committed(lambda: done.append("data"), lambda: done.append("index")),
    ):
        raise error
    assert raised.value is error
    assert done == ["data", "index"]


def test_nothing_is_deleted_if_the_snapshot_may_exist() -> None:
    done: list[str] = []
    with pytest.raises(CommitOutcomeUnknownError), abort_unless_committed(lambda: done.append("data")):
        raise CommitOutcomeUnknownError("timed out")
    assert done == []


def test_nothing_is_deleted_after_success() -> None:
    done: list[str] = []
    with abort_unless_committed(lambda: done.append("data")):
        pass
    assert done == []
