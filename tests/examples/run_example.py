"""Runs an example as a user does: as a script in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ON_SPARK = {"spark_batch.py", "streaming.py"}
"""Those that start a Spark session; ``tests/spark`` runs them."""
DEMO = "demo.py"
"""Takes minutes; ``make demo`` runs it."""


def run_example(name: str, folder: Path) -> str:
    """Run an example with ``folder`` as the current and as the temporary folder; return what it printed.

    The example must leave both empty.
    """
    work, temporary = folder / "work", folder / "temporary"
    work.mkdir()
    temporary.mkdir()
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(temporary)}
    ran = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(EXAMPLES / name)],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert list(work.iterdir()) == []
    return ran.stdout
