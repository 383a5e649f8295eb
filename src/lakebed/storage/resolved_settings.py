"""The settings of a storage with what the environment of this process adds, for other processes.

A storage that is pickled carries resolved settings, so a Spark task opens the same storage as the driver although the
environment of its machine is another one. Copied are keys, tokens, endpoints and regions from ``AWS_*`` variables and
AWS profiles (:mod:`lakebed.storage.aws_credentials`), the key file of a service account of Google, and ``AZURE_*``
variables. Credentials that belong to a machine are not copied: the roles of instances, containers and pods, managed
identities, and the logins of ``gcloud`` and ``az``. They are short-lived, so each machine gets its own.

Credentials are never mixed: if an option names some, those of the environment are ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lakebed.errors import OptionError
from lakebed.options.secrets import SecretText, is_secret
from lakebed.storage.aws_credentials import copied_settings
from lakebed.storage.location import Location
from lakebed.storage.storage_options import ObjectSettings

Variables = Mapping[str, Sequence[str]]

_CREDENTIALS: Final[dict[str, Variables]] = {
    "gcs": {
        "fs.gs.auth.service.account.json": ("GOOGLE_SERVICE_ACCOUNT_KEY",),
        "fs.gs.auth.service.account.json.keyfile": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"),
        "fs.gs.anonymous": ("GOOGLE_SKIP_SIGNATURE",),
    },
    "azure": {
        "fs.azure.account.key": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY"),
        "fs.azure.sas.token": ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"),
        "fs.azure.account.oauth2.client.id": ("AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID"),
        "fs.azure.account.oauth2.client.secret": ("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET"),
        "fs.azure.account.oauth2.client.tenant": ("AZURE_STORAGE_TENANT_ID", "AZURE_TENANT_ID"),
        "fs.azure.anonymous": ("AZURE_SKIP_SIGNATURE",),
    },
}
_CREDENTIAL_OPTIONS: Final = frozenset(
    {*(name for names in _CREDENTIALS.values() for name in names), "fs.azure.use-cli"}
)
_PLACES: Final[dict[str, Variables]] = {
    "gcs": {"fs.gs.storage.root.url": ("GOOGLE_BASE_URL",)},
    "azure": {
        "fs.azure.account.name": ("AZURE_STORAGE_ACCOUNT_NAME",),
        "fs.azure.endpoint": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
    },
}
_KEYFILE: Final = "fs.gs.auth.service.account.json.keyfile"
_KEY: Final = "fs.gs.auth.service.account.json"


def resolved(settings: ObjectSettings, location: Location) -> ObjectSettings:
    """Returns settings to which nothing has to be added on another machine, but for the roles of that machine.

    Raises:
        OptionError: A profile or a key file does not exist or cannot be used.
    """
    if location.service == "s3":
        return ObjectSettings(copied_settings(location, settings))
    if location.service not in _PLACES:
        return settings
    values = {**_found(_PLACES[location.service]), **settings.values}
    if not _CREDENTIAL_OPTIONS & settings.values.keys():
        values |= _found(_CREDENTIALS[location.service])
    return ObjectSettings(_with_key_of_file(values) if location.service == "gcs" else values)


def _found(variables: Variables) -> dict[str, str]:
    found: dict[str, str] = {}
    for option, names in variables.items():
        value = next((os.environ[name] for name in names if os.environ.get(name)), None)
        if value is not None:
            text = _as_flag(value) if option.endswith(".anonymous") else value
            found[option] = SecretText(text) if is_secret(option) else text
    return found


def _as_flag(text: str) -> str:
    return "true" if text.lower() in {"1", "true", "t", "yes", "y", "on"} else "false"


# ------------------------------------------------------------------------------------------------ key files of Google


def _with_key_of_file(values: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings with the content of the key file of a service account in place of its path."""
    plain = {name: value for name, value in values.items() if name != _KEYFILE}
    if _KEY in plain or plain.get("fs.gs.anonymous") == "true":
        return plain
    path = values.get(_KEYFILE)
    if path is not None:
        return {**plain, _KEY: _read_key(path)}
    path = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    if not path:
        return plain
    text = _read_key(path)
    return {**plain, _KEY: text} if _is_service_account(text) else plain  # the login of a user stays where it is


def _read_key(path: str) -> str:
    try:
        return SecretText(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise OptionError(f"cannot read the key file of a service account, {path}: {reason}") from None


def _is_service_account(text: str) -> bool:
    try:
        return bool(json.loads(text).get("type") == "service_account")
    except (ValueError, AttributeError):
        return False
