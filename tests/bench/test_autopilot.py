"""The benchmark of the autopilot: a small run measures everything and draws it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from bench.autopilot import main
from bench.curves import draw


def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "curves.svg"
    assert main(["--minutes", "0.05", "--tables", "7", "--sample", "1", "--plot", str(picture)]) == 0
    told = capsys.readouterr().out
    assert "with the autopilot: lost nothing, unsound tables none" in told
    assert picture.read_text().count("<path") > 20


def test_a_picture_is_xml_with_a_line_for_each_run_and_value() -> None:
    curve = [{"minutes": 0.0, "files": 1.0, "a <b>": 0.0}, {"minutes": 1.5, "files": 1200.0, "a <b>": 0.0}]
    root = ET.fromstring(draw({"one": curve, "two & more": curve}, along="minutes"))
    lines = [one for one in root.iter("{http://www.w3.org/2000/svg}path") if one.get("fill") == "none"]
    assert len(lines) == 4
    assert "2,000" in [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
