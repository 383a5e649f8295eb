"""The report of verify: problems, how much was checked, and the steps of a repair.

A problem has a severity (``error``: rows are lost, unreadable or wrong; ``warning``: nothing is lost, but something
should be done; ``info``: nothing needs to be done), a short code that does not change between versions, and a text that
says what, where and what to do. One cause is one problem, however many snapshots or files it affects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from lakebed.format.human_text import count_text, size_text
from lakebed.format.printed import Printed

Severity: TypeAlias = Literal["error", "warning", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")

_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        severity: ``error``, ``warning`` or ``info``.
        code: A short code that does not change between versions.
        what: What is wrong.
        where: Which snapshots or files it concerns.
        advice: What to do.
    """

    severity: Severity
    code: str
    what: str
    where: str
    advice: str

    def __str__(self) -> str:
        return f"{self.severity.upper():<8}{self.code}\n  what   {self.what}\n  where  {self.where}\n  do     {self.advice}"


@dataclass(frozen=True, slots=True)
class Repair:
    """One step of a repair.

    Attributes:
        what: Why it is needed.
        path: The file that it changes.
        action: ``write`` or ``delete``.
        content: The bytes to write.
        size: The size of the file.
        done: Whether the step was carried out.
    """

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
    """How much verify checked. ``data_files``, ``bytes`` and ``rows`` count every file of all snapshots once."""

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
            (self.snapshots, "snapshot", None),
            (self.tags, "tag", None),
            (self.manifests, "manifest", None),
            (self.data_files, "data file", None),
            (self.rows, "row", None),
        )
        return ", ".join([*(count_text(*count) for count in counts), size_text(self.bytes)])


@dataclass(frozen=True, slots=True, repr=False)
class Report(Printed):
    """The outcome of verify.

    Attributes:
        table: The name of the table.
        problems: What is wrong, errors first.
        looked_at: How much was checked.
        deep: Whether rows were read as well.
        repairs: What a repair would do, or did.
        notes: What was not checked, and why.

    Example:
        >>> report = Report("db.t", (), LookedAt(branches=1, snapshots=2, data_files=1, bytes=2048, rows=9))
        >>> report.ok
        True
        >>> print(report)
        db.t: sound, no problems
        checked the structure of 1 branch, 2 snapshots, 0 tags, 0 manifests, 1 data file, 9 rows, 2.0 KiB
    """

    table: str
    problems: tuple[Problem, ...]
    looked_at: LookedAt
    deep: bool = False
    repairs: tuple[Repair, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings and notices do not change that."""
        return not self.errors

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that lose or damage rows."""
        return self.of("error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that lose nothing but need attention."""
        return self.of("warning")

    def of(self, severity: Severity) -> tuple[Problem, ...]:
        """Returns the problems of one severity."""
        return tuple(problem for problem in self.problems if problem.severity == severity)

    def with_problems(self, more: Iterable[Problem]) -> Report:
        """Returns the same report with more problems, the worst first."""
        found = sorted((*self.problems, *more), key=lambda problem: SEVERITIES.index(problem.severity))
        return replace(self, problems=tuple(found))

    def __str__(self) -> str:
        depth = "structure and rows" if self.deep else "structure"
        lines = [f"{self.table}: {self.verdict}", f"checked the {depth} of {self.looked_at}"]
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
        found = [count_text(counts[kind], words[kind]) for kind in SEVERITIES if counts[kind]]
        return f"{'sound' if self.ok else 'DAMAGED'}, {', '.join(found) or 'no problems'}"


@dataclass(slots=True)
class Findings:
    """Collects problems and the steps that would repair them.

    ``blind`` are reasons why some references are unknown; then no file may count as an orphan.
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
        """Returns the problems, the worst first, else in the order in which they were found."""
        return tuple(sorted(self.problems, key=lambda problem: SEVERITIES.index(problem.severity)))


def some(names: Iterable[object]) -> str:
    """Returns a few of many names.

    >>> some(["a", "b"]), some("abcdef")
    ('a, b', 'a, b, c and 3 more')
    """
    listed = [str(name) for name in names]
    shown = ", ".join(listed[:_EXAMPLES])
    return shown if len(listed) <= _EXAMPLES else f"{shown} and {len(listed) - _EXAMPLES} more"


def span(labels: Sequence[str]) -> str:
    """Returns which snapshots something concerns, as one phrase.

    >>> span(["snapshot 3"]), span(["snapshot 3", "snapshot 4", "tag v1"])
    ('snapshot 3', 'snapshot 3 to tag v1 (3)')
    """
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]} ({len(labels)})"
