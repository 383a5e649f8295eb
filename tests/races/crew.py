"""Real processes that start together: races between writers, as they happen on one machine.

Processes are forked from a server that has imported lakebed and done nothing yet, so starting one costs milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Barrier
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
# "lakebed" alone imports next to nothing; Arrow imports pandas when it meets the first list.
_CONTEXT.set_forkserver_preload(["lakebed.lake", "pandas"])

Task = tuple[Callable[..., Any], tuple[Any, ...]]


def start(function: Callable[..., Any], arguments: tuple[Any, ...]) -> ForkServerProcess:
    """Start a process that does something; it is its owner's to end."""
    os.environ.setdefault("PYTHONPATH", os.pathsep.join(sys.path))  # for the server; it ignores our sys.path
    process = _CONTEXT.Process(target=function, args=arguments)
    process.start()
    return process


def together(tasks: Sequence[Task], *, timeout: float = 120) -> list[Any]:
    """Run each task in a process of its own, all starting at the same moment; gives their results."""
    barrier = _CONTEXT.Barrier(len(tasks))
    running = []
    for function, arguments in tasks:
        ours, theirs = _CONTEXT.Pipe(duplex=False)
        process = start(_run, (function, arguments, barrier, theirs))
        theirs.close()
        running.append((process, ours))
    try:
        return [_result(ours, timeout) for _, ours in running]
    finally:
        for process, ours in running:
            process.join(1)
            if process.is_alive():
                process.kill()
                process.join()
            ours.close()


def _result(connection: Connection, timeout: float) -> Any:
    if not connection.poll(timeout):
        raise TimeoutError(f"a process gave no result within {timeout} s")
    good, value = connection.recv()
    if not good:
        raise AssertionError(f"a process failed:\n{value}")
    return value


def _run(function: Callable[..., Any], arguments: tuple[Any, ...], barrier: Barrier, connection: Connection) -> None:
    try:
        barrier.wait(60)
        connection.send((True, function(*arguments)))
    except BaseException:
        connection.send((False, traceback.format_exc()))
