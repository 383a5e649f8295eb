"""Errors of tasks reach the driver as the class and the message that they had."""

from __future__ import annotations

import os
import traceback

import pytest

from lakebed.errors import CorruptError, LakebedError, NotFoundError
from lakebed.spark.worker_errors import error_record, known_error, plain_errors, recorded_error, recorded_errors

MESSAGE = 'data file "ä.parquet" is gone;\nread {"a": 1} \\ instead'


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker ends after it has set the variable; this process does not."""
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")


def text_of_worker(error: BaseException) -> str:
    """What Spark's worker sends: the trace, or the exception alone."""
    hidden = os.environ["SPARK_HIDE_TRACEBACK"] == "1"
    return "".join(traceback.format_exception_only(error) if hidden else traceback.format_exception(error))


def test_class_and_message_survive_the_text_of_spark() -> None:
    with pytest.raises(NotFoundError) as raised, recorded_errors():
        raise NotFoundError(MESSAGE)
    text = text_of_worker(raised.value)
    assert "Traceback" not in text
    decoded = recorded_error(
        RuntimeError(f"Job aborted: Lost task 0.3:\n{text}\n\tat org.apache.spark... SQLSTATE: 38000")
    )
    assert type(decoded) is NotFoundError
    assert str(decoded) == MESSAGE


def test_errors_for_users_have_no_record() -> None:
    with pytest.raises(CorruptError) as raised, plain_errors():
        raise CorruptError(MESSAGE)
    text = text_of_worker(raised.value)
    assert text == f"lakebed.errors.CorruptError: {MESSAGE}\n"
    assert recorded_error(RuntimeError(text)) is None


def test_errors_of_others_keep_their_trace() -> None:
    with pytest.raises(ValueError, match="no") as raised, recorded_errors():
        raise ValueError("no")
    assert "Traceback" in text_of_worker(raised.value)
    assert recorded_error(raised.value) is None


def test_a_truncated_record_is_none() -> None:
    assert recorded_error(RuntimeError(error_record(NotFoundError(MESSAGE))[:-5])) is None


def test_an_unknown_class_is_a_plain_error() -> None:
    assert type(known_error("NewError", "x")) is LakebedError
    assert type(known_error("os", "x")) is LakebedError
