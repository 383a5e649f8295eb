"""``-o NAME=VALUE``: settings of the warehouse, before or after any command that opens one.

The option is added to the commands here, so that each command need not declare it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, Final

import typer

_GIVEN: Final[ContextVar[dict[str, str] | None]] = ContextVar("lakebed_settings", default=None)


def given_settings() -> dict[str, str]:
    """Returns the settings of the command that runs."""
    return dict(_GIVEN.get() or {})


def forget_settings() -> None:
    """Forget the settings of an earlier command of this process."""
    _GIVEN.set(None)


def _remember(texts: list[str] | None) -> list[str] | None:
    for text in texts or ():
        name, mark, value = text.partition("=")
        if not mark or not name.strip():
            raise typer.BadParameter("write NAME=VALUE, such as -o s3.region=eu-west-1")  # the text may hold a secret
        _GIVEN.set({**given_settings(), name.strip(): value})
    return texts


Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="A setting of the warehouse, such as s3.endpoint=URL; may be repeated.",
        callback=_remember,
        show_default=False,
    ),
]


def add_setting_options(app: typer.Typer) -> None:
    """Give ``-o`` to every command that has ``--warehouse``, those of groups too."""
    for command in app.registered_commands:
        if command.callback is not None and "warehouse" in inspect.signature(command.callback).parameters:
            command.callback = _with_settings(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_setting_options(group.typer_instance)


def _with_settings(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, setting: list[str] | None = None, **kwargs: Any) -> Any:
        del setting  # its callback has remembered it
        return function(*args, **kwargs)

    plain = inspect.signature(function, eval_str=True)
    added = inspect.Parameter("setting", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Setting)
    run.__signature__ = plain.replace(parameters=[*plain.parameters.values(), added])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, "setting": Setting}
    return run
