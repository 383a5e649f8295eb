"""Warnings about public names and defaults that change, see ``docs/versions.md``."""

from __future__ import annotations

import warnings


def warn_renamed(old: str, new: str, *, depth: int = 1) -> None:
    """Warns the caller of a public call that a name of it is an old one.

    Args:
        old: The old name, as the user writes it.
        new: The name to use instead.
        depth: How many calls lie between the public call and this one, both counted once.
    """
    warnings.warn(f"{old} is deprecated since 0.1; use {new} instead", DeprecationWarning, stacklevel=2 + depth)


def stated_dry_run(call: str, dry_run: bool | None) -> bool:
    """Returns whether a call only shows what it would do, and warns if the caller does not say.

    These calls showed by default where all others act by default. Until the default becomes ``False`` everywhere, a
    call that does not say still only shows.

    Args:
        call: The name of the call.
        dry_run: What the caller says; ``None`` if nothing.
    """
    if dry_run is None:
        warnings.warn(
            f"{call}() only shows what it would do. From version 0.2 on it acts unless dry_run=True is given, as all "
            "other calls do; pass dry_run=True or dry_run=False",
            FutureWarning,
            stacklevel=3,
        )
    return dry_run is not False
