"""Statistics modes: which statistics of a column a data file's manifest entry keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

StatsKind: TypeAlias = Literal["none", "counts", "full", "truncate"]

# Ten digits or more are no length of a string that anything could hold.
STATS_MODE: Final = r"(?i:(?P<kind>none|counts|full)|(?P<truncate>truncate)\((?P<length>[1-9][0-9]{0,8})\))"
STATS_FORM: Final = "none, counts, full or truncate(<length>)"


@dataclass(frozen=True, slots=True)
class StatsMode:
    """What is kept of a column's statistics; ``length`` only for ``truncate``."""

    kind: StatsKind
    length: int = 0

    @classmethod
    def parse(cls, text: str) -> StatsMode:
        """Returns the mode that an option spells; raises ``ValueError`` with the allowed forms.

        >>> StatsMode.parse("truncate(16)"), StatsMode.parse("FULL")
        (StatsMode(kind='truncate', length=16), StatsMode(kind='full', length=0))
        """
        match = re.fullmatch(STATS_MODE, text)
        if match is None:
            raise ValueError(STATS_FORM)
        kind = (match["kind"] or match["truncate"]).lower()
        return cls(cast("StatsKind", kind), int(match["length"] or 0))
