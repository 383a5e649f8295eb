"""The names of the package: all there, and imported only when they are asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import lakebed


def test_every_public_name_is_there() -> None:
    for name in lakebed.__all__:
        assert getattr(lakebed, name) is not None
    assert set(lakebed.__all__) <= set(dir(lakebed))
    assert lakebed.connect is importlib.import_module("lakebed.lake").connect
    assert lakebed.changes is importlib.import_module("lakebed.changes")


def test_late_names_are_public_and_the_others_come_at_once() -> None:
    assert set(lakebed._HOMES) <= set(lakebed.__all__)
    code = "import lakebed, sys; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'lakebed' has no attribute 'conect'"):
        lakebed.conect  # type: ignore[attr-defined] # noqa: B018
