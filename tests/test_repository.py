"""Pages and configuration of the repository agree with its files: paths, links and make targets exist, prose fits."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "lakebed"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / ".github").rglob("*.md"))]
LONGEST_LINE = 120


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


def read_yaml(name: str) -> Any:
    return importlib.import_module("yaml").safe_load((ROOT / name).read_text())


def make_targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def named_paths(text: str) -> list[str]:
    """The texts in backticks that are paths of the repository or of the package: ``src/a.py``, ``rows/where``,
    ``.ci/run``.

    >>> named_paths("`src/lakebed/lake.py`, `rows/where`, `a/b`, `t.write()`, `CHANGELOG.md` and `.ci/run`")
    ['src/lakebed/lake.py', 'rows/where', 'CHANGELOG.md', '.ci/run']
    """
    heads = {path.name for folder in (ROOT, PACKAGE) for path in folder.iterdir()}
    found = re.findall(r"`([\w./-]+)`", text)
    return [name for name in found if name.partition("/")[0] in heads and ("/" in name or (ROOT / name).is_file())]


def exists(name: str) -> bool:
    return any((folder / form).exists() for folder in (ROOT, PACKAGE) for form in (name, f"{name}.py"))


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_named_path_exists(page: Path) -> None:
    assert [name for name in named_paths(page.read_text()) if not exists(name)] == []


@pytest.mark.parametrize("name", ["docs/design.md", "CONTRIBUTING.md"])
def test_every_named_module_exists(name: str) -> None:
    """Also those that stand alone, such as ``picks.py``."""
    modules = {path.name for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]}
    named = re.findall(r"`(?:[\w./-]+/)?(\w+\.py)`", (ROOT / name).read_text())
    assert named
    assert set(named) - modules == set()


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_prose_fits_the_line_length(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if len(line) > LONGEST_LINE and not line.startswith("|")] == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_to_pages(page: Path) -> None:
    for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{relative(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_named_make_targets_exist(page: Path) -> None:
    assert set(re.findall(r"(?:`|^)make ([\w-]+)", page.read_text(), flags=re.MULTILINE)) <= make_targets()


def test_the_workflow_runs_what_ci_runs() -> None:
    workflow = read_yaml(".github/workflows/ci.yml")
    (job,) = workflow["jobs"].values()
    targets = job["strategy"]["matrix"]["target"]
    assert set(targets) <= make_targets()
    (checks,) = re.findall(r"^CHECKS := (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert targets == checks.split()
    assert re.findall(r"^make (\w+)", (ROOT / ".ci" / "run").read_text(), flags=re.MULTILINE) == ["check"]


def test_hooks_are_those_of_make_lint() -> None:
    (repository,) = read_yaml(".pre-commit-config.yaml")["repos"]
    tools = [re.findall(r"-m (ruff check|ruff format|mypy)", hook["entry"]) for hook in repository["hooks"]]
    assert tools == [["ruff check"], ["ruff format"], ["mypy"]]


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name
)
def test_issue_forms_are_complete(form: Path) -> None:
    fields = read_yaml(relative(form))
    if form.name == "config.yml":
        assert fields == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= set(fields)
    for part in fields["body"]:
        assert part["type"] in {"markdown", "textarea", "input"}
        assert {"value" if part["type"] == "markdown" else "label"} <= set(part["attributes"])


def test_the_changelog_has_a_part_for_the_version() -> None:
    from lakebed.version import VERSION

    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert "Unreleased" in headings or VERSION in headings
