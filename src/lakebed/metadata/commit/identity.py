"""Who commits: the user and the identifier of a commit, by which a repeated commit is recognised."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from lakebed.errors import OptionError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import BATCH_IDENTIFIER
from lakebed.options import TableOptions


@dataclass(frozen=True, slots=True)
class Identity:
    """The user and the identifier of a commit; a commit with the same pair is made only once."""

    user: str
    identifier: int = BATCH_IDENTIFIER

    @staticmethod
    def of(schema: TableSchema, user: str | None = None, identifier: int | None = None) -> Identity:
        """Returns what the caller gave, or a new user with the prefix that the table's options set."""
        if (user is None) != (identifier is None):
            raise OptionError("give commit_user and commit_identifier together, or neither")
        if user is not None and identifier is not None:
            return Identity(user, identifier)
        prefix = TableOptions(schema.options).commit_user_prefix
        return Identity(f"{prefix}_{uuid.uuid4()}" if prefix else str(uuid.uuid4()))
