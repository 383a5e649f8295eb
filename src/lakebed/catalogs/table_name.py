"""The name of a table in its parts: ``db.t``, ``db.t$branch_b1``, ``db.t$snapshots``, ``db.t$branch_b1$snapshots``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lakebed.errors import NotFoundError, OptionError
from lakebed.format.paths import MAIN_BRANCH

_BRANCH_MARK: Final = "branch_"


@dataclass(frozen=True, slots=True)
class TableName:
    """A database and a table, and what is asked for of the table.

    Attributes:
        database: The database.
        table: The table.
        branch: The branch.
        system: The system table, such as ``snapshots``; ``None`` for the table itself.
    """

    database: str
    table: str
    branch: str = MAIN_BRANCH
    system: str | None = None

    @staticmethod
    def parse(text: str) -> TableName:
        """Splits a name into its parts.

        Raises:
            NotFoundError: The text is not the name of a table.

        Example:
            >>> TableName.parse("db.t$branch_b$snapshots")
            TableName(database='db', table='t', branch='b', system='snapshots')
        """
        database, dot, rest = text.partition(".")
        table, *marks = rest.split("$")
        check_plain(database, "database", text)
        check_plain(table, "table", text)
        if not dot:
            raise NotFoundError(f"{text!r} is not a table name; write it as database.table")
        branch = MAIN_BRANCH
        if marks and marks[0].startswith(_BRANCH_MARK):
            branch = marks.pop(0).removeprefix(_BRANCH_MARK)
            check_plain(branch, "branch", text)
        if len(marks) > 1 or (marks and not marks[0]):
            raise NotFoundError(
                f"{text!r} is not a table name; after the table come $branch_<name> and $<system table>"
            )
        return TableName(database, table, branch, marks[0] if marks else None)

    @staticmethod
    def parse_plain(text: str, *, to: str) -> TableName:
        """Splits the name of a table as a whole, for a call that creates, drops or renames it.

        Args:
            text: The name.
            to: What the call does, for the error.

        Raises:
            OptionError: The name has a branch or a system table.

        Example:
            >>> TableName.parse_plain("db.t", to="drop").table
            't'
        """
        parsed = TableName.parse(text)
        if "$" in text:
            raise OptionError(f"{text!r}: give the plain name of the table to {to}, without a $")
        return parsed

    def one_branch(self, option: str) -> str:
        """Returns the branch that the name or the option ``branch`` asks for.

        Raises:
            OptionError: The two ask for different branches.
        """
        if self.branch == MAIN_BRANCH:
            return option
        if option not in {MAIN_BRANCH, self.branch}:
            raise OptionError(f"table {self}: its name asks for branch {self.branch!r}, option 'branch' for {option!r}")
        return self.branch

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


def check_plain(name: str, what: str, text: str) -> None:
    """Raises for a name that cannot be a folder of the warehouse: empty, hidden, or with a path in it."""
    hidden = not name.strip() or name.startswith(".")
    if hidden or any(mark in name for mark in "/\\\0") or name != name.encode(errors="replace").decode():
        raise NotFoundError(f"{name!r} is not a {what} name (in {text!r}); write tables as database.table")
