"""One autopilot at a time, whatever processes do and whatever their clocks say."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.autopilot.workers import hold, try_to_take
from tests.races.crew import start, together

from lakebed.autopilot.lease import HeldError, Lease, LostError, holder
from lakebed.storage import open_storage


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "lease")


def test_only_one_holds_it(folder: str) -> None:
    storage = open_storage(folder, {})
    with Lease.take(storage, folder) as lease:
        assert lease.number == 1
        with pytest.raises(HeldError, match=r"another autopilot looks after this warehouse: process \d+ on"):
            Lease.take(storage, folder)
        assert holder(storage, folder) is not None
    assert holder(storage, folder) is None
    with Lease.take(storage, folder) as again:
        assert again.number == 2


def test_of_many_processes_one_takes_it(folder: str) -> None:
    for _ in range(5):
        took = together([(try_to_take, (folder,))] * 4)
        assert sum(took) == 1


def test_a_killed_holder_is_replaced(folder: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    process = start(hold, (folder, 4.0, str(ready)))
    while not ready.exists():
        time.sleep(0.01)
    storage = open_storage(folder, {})
    time.sleep(5)  # longer than the lease, and it is still held: its holder writes signs of life
    with pytest.raises(HeldError):
        Lease.take(storage, folder, seconds=4)
    process.kill()
    process.join()
    end = time.monotonic() + 30
    while True:
        try:
            lease = Lease.take(storage, folder, seconds=4)
            break
        except HeldError:
            assert time.monotonic() < end
            time.sleep(0.1)
    assert lease.number == 2
    lease.release()


def test_a_holder_that_slept_notices_that_it_was_replaced(folder: str) -> None:
    storage = open_storage(folder, {})
    slept = Lease.take(storage, folder, seconds=3600)  # so it gives no sign of life meanwhile
    time.sleep(0.2)
    with Lease.take(storage, folder, seconds=0.1) as second:
        assert second.number == 2
        with pytest.raises(LostError, match="another autopilot took"):
            slept.check()
    with Lease.take(storage, folder), pytest.raises(LostError):
        slept.check()
    slept.release()  # takes nothing from its successors
    assert holder(storage, folder) is None
