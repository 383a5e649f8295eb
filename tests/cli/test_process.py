"""The command as a process: what it imports, its streams, exit codes, terminals and signals."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from lakebed import Lake, Table

SOURCE = Path(__file__).parents[2] / "src"


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    return {**kept, "PYTHONPATH": str(SOURCE), "TERM": "xterm-256color", **more}


def lakebed(*args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lakebed", *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env=env or environment(),
    )


def test_help_waits_for_no_heavy_import() -> None:
    code = (
        "import sys\nfrom lakebed.cli import main\nsys.argv = ['lakebed', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in {'pyarrow', 'pyspark', 'numpy', 'pandas', 'sqlglot', "
        "'datafusion', 'polars', 'fastavro'}), file=sys.stderr)"
    )
    for args in (["--help"], ["verify", "--help"]):
        ran = subprocess.run(
            [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True, env=environment()
        )
        assert ran.stderr == "[]\n", args
        assert ran.stdout


def test_streams_and_exit_codes(lake: Lake, orders: Table) -> None:
    fine = lakebed("rows", "db.orders", "--limit", "1", "--json", "-w", lake.warehouse)
    assert fine.returncode == 0
    assert json.loads(fine.stdout) == [{"id": 1, "v": "v1", "day": "2025-01-01"}]
    assert fine.stderr == "the first 1 row; use --limit for more\n"
    assert "\x1b" not in fine.stdout + fine.stderr
    missing = lakebed("rows", "db.order", "-w", lake.warehouse)
    assert (missing.returncode, missing.stdout) == (4, "")
    assert missing.stderr == "error: unknown table 'order' in database db; did you mean 'orders'?\n"
    assert lakebed("rows", "-w", lake.warehouse).returncode == 2


def test_a_fault_of_ours_shows_a_trace_and_is_not_mistaken_for_an_unsound_table(lake: Lake) -> None:
    code = (
        "import sys, lakebed.cli, lakebed.lake\nsys.argv = ['lakebed', 'databases', '-w', sys.argv[1]]\n"
        "lakebed.lake.Lake.databases = lambda self: 1 / 0\nlakebed.cli.main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, lake.warehouse], capture_output=True, text=True, check=False, env=environment()
    )
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "ZeroDivisionError" in ran.stderr


def test_letters_that_the_output_has_not(lake: Lake) -> None:
    lake.create_table("db.t", "v STRING").write([{"v": "grün"}])
    env = environment(PYTHONIOENCODING="ascii")
    text = lakebed("rows", "db.t", "-w", lake.warehouse, env=env)
    assert (text.returncode, r"gr\xfcn" in text.stdout) == (0, True)
    as_json = lakebed("rows", "db.t", "--json", "-w", lake.warehouse, env=env)
    assert json.loads(as_json.stdout) == [{"v": "grün"}]


def test_a_reader_that_has_seen_enough(lake: Lake) -> None:
    lake.create_table("db.t", "v STRING").write([{"v": "x" * 1000}] * 2000)
    reader, writer = os.pipe()
    running = subprocess.Popen(
        [sys.executable, "-m", "lakebed", "rows", "db.t", "--limit", "0", "-w", lake.warehouse],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    os.close(writer)
    os.read(reader, 10)
    os.close(reader)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, b"")


SLEEPER = """
import sys, time, lakebed.cli, lakebed.lake
sys.argv = ['lakebed', 'databases', '-w', sys.argv[1]]
def slow(self):
    print("running", file=sys.stderr, flush=True)
    time.sleep(60)
lakebed.lake.Lake.databases = slow
lakebed.cli.main()
"""


def test_ctrl_c(lake: Lake) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, lake.warehouse],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert running.stderr is not None
    assert running.stderr.readline() == "running\n"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err


def interrupt(running: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Send a signal until the process ends: one that arrives just before a read begins does not wake the read."""
    while running.poll() is None:
        running.send_signal(how)
        time.sleep(5)


def on_a_terminal(*args: str, env: Mapping[str, str], answer: bytes | signal.Signals = b"") -> tuple[int, str]:
    """Run on a pseudo terminal, answer the question or interrupt it; gives the exit code and all that was shown."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lakebed", *args]
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown, asked = b"", False
    with contextlib.suppress(OSError):  # the other end was closed
        while part := os.read(ours, 4096):
            shown += part
            if b"[y/N]" in shown and not asked:
                asked = True
                if isinstance(answer, bytes):
                    os.write(ours, answer)
                else:
                    threading.Thread(target=interrupt, args=(running, answer), daemon=True).start()
    os.close(ours)
    return running.wait(timeout=60), shown.decode()


@pytest.mark.parametrize(("answer", "code", "left"), [(b"y\n", 0, 1), (signal.SIGINT, 130, 3)])
def test_a_terminal_is_asked(lake: Lake, orders: Table, answer: bytes | signal.Signals, code: int, left: int) -> None:
    args = ("rollback", "db.orders", "--snapshot", "1", "-w", lake.warehouse)
    ended, shown = on_a_terminal(*args, answer=answer, env=environment())
    assert ended == code, shown
    assert "would roll back" in shown
    assert "Roll back? [y/N]" in shown
    assert len(orders.snapshots()) == left


def test_a_terminal_sees_progress(lake: Lake, people: Table) -> None:
    code, shown = on_a_terminal("compact", "db.people", "--full", "-w", lake.warehouse, env=environment())
    assert code == 0, shown
    assert "compacting db.people" in shown
    assert "compacted db.people as snapshot 4" in shown


def test_colour_only_where_it_is_wanted(tmp_path: Path) -> None:
    args = ("tables", "-w", str(tmp_path / "none"))
    colour = re.compile(r"\x1b\[[\d;]*3\d")
    assert colour.search(on_a_terminal(*args, env=environment())[1])
    assert not colour.search(on_a_terminal(*args, env=environment(NO_COLOR="1"))[1])
    assert lakebed(*args).stderr.startswith("error: there is no warehouse")
