"""What verify found: problems, what was looked at, and what a repair would do or did.

A problem has a severity (``error``: rows are lost, unreadable or wrong; ``warning``: nothing is lost, but something should
be done; ``info``: nothing needs to be done), a short code that does not change between versions, and a text that says
what, where and what to do. One cause is one problem, however many snapshots or files it touches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")

_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    severity: Severity
    code: str
    what: str
    where: str
    advice: str

    def __str__(self) -> str:
        return f"{self.severity.upper():<8}{self.code}\n  what   {self.what}\n  where  {self.where}\n  do     {self.advice}"


@dataclass(frozen=True, slots=True)
class Repair:
    """One step of a repair: ``action`` is ``write`` or ``delete``, ``what`` says why; ``done`` once it was carried out."""

    what: str
    path: str
    action: Literal["write", "delete"]
    content: bytes | None = None
    size: int = 0
    done: bool = False

    def __str__(self) -> str:
        return f"{'done' if self.done else 'plan'}  {self.action} {self.path}: {self.what}"


@dataclass(frozen=True, slots=True)
class LookedAt:
    """How much was looked at; ``data_files``, ``bytes`` and ``rows`` are of all snapshots, each file once."""

    branches: int = 0
    snapshots: int = 0
    tags: int = 0
    manifests: int = 0
    data_files: int = 0
    bytes: int = 0
    rows: int = 0

    def __str__(self) -> str:
        counts = (
            (self.branches, "branch", "branches"),
            (self.snapshots, "snapshot", "snapshots"),
            (self.tags, "tag", "tags"),
            (self.manifests, "manifest", "manifests"),
            (self.data_files, "data file", "data files"),
        )
        parts = [f"{count:,} {one if count == 1 else many}" for count, one, many in counts]
        return ", ".join([*parts, f"{self.rows:,} rows", f"{self.bytes:,} bytes"])


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of verify. ``ok`` is true where there is no error; warnings and infos do not change that."""

    table: str
    problems: tuple[Problem, ...]
    looked_at: LookedAt
    deep: bool = False
    repairs: tuple[Repair, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> tuple[Problem, ...]:
        return self.of("error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return self.of("warning")

    def of(self, severity: Severity) -> tuple[Problem, ...]:
        """The problems of one severity."""
        return tuple(problem for problem in self.problems if problem.severity == severity)

    def with_problems(self, more: Iterable[Problem]) -> Report:
        """The same report with what somebody else found, the worst first."""
        found = sorted((*self.problems, *more), key=lambda problem: SEVERITIES.index(problem.severity))
        return replace(self, problems=tuple(found))

    def __str__(self) -> str:
        depth = "structure and rows" if self.deep else "structure"
        lines = [f"{self.table}: {self.verdict}", f"looked at the {depth} of {self.looked_at}"]
        lines += [f"note: {note}" for note in self.notes]
        for problem in self.problems:
            lines += ["", str(problem)]
        if self.repairs:
            lines += ["", *map(str, self.repairs)]
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """The outcome in a few words."""
        counts = Counter(problem.severity for problem in self.problems)
        words = {"error": "error", "warning": "warning", "info": "notice"}
        found = [f"{counts[kind]} {words[kind]}{'s' * (counts[kind] > 1)}" for kind in SEVERITIES if counts[kind]]
        return f"{'sound' if self.ok else 'DAMAGED'}, {', '.join(found) or 'no problems'}"


@dataclass(slots=True)
class Findings:
    """Problems as they are found, and what would repair them.

    ``blind`` are reasons why not everything that is referenced is known: then nothing may be called unreferenced.
    """

    problems: list[Problem] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)
    blind: list[str] = field(default_factory=list)

    def error(self, code: str, what: str, where: str, advice: str) -> None:
        self.problems.append(Problem("error", code, what, where, advice))

    def warning(self, code: str, what: str, where: str, advice: str) -> None:
        self.problems.append(Problem("warning", code, what, where, advice))

    def info(self, code: str, what: str, where: str, advice: str) -> None:
        self.problems.append(Problem("info", code, what, where, advice))

    def in_order(self) -> tuple[Problem, ...]:
        """The worst first, else as they were found."""
        return tuple(sorted(self.problems, key=lambda problem: SEVERITIES.index(problem.severity)))


def some(names: Iterable[object]) -> str:
    """A few names of many.

    >>> some(["a", "b"]), some("abcdef")
    ('a, b', 'a, b, c and 3 more')
    """
    listed = [str(name) for name in names]
    shown = ", ".join(listed[:_EXAMPLES])
    return shown if len(listed) <= _EXAMPLES else f"{shown} and {len(listed) - _EXAMPLES} more"


def span(labels: Sequence[str]) -> str:
    """Which of many snapshots something concerns, as one phrase.

    >>> span(["snapshot 3"]), span(["snapshot 3", "snapshot 4", "tag v1"])
    ('snapshot 3', 'snapshot 3 to tag v1 (3)')
    """
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]} ({len(labels)})"
