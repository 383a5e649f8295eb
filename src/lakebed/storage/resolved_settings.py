"""The settings of a storage with what the environment of this process adds. Only this module reads the environment.

A storage that is pickled carries resolved settings, so a Spark task opens the same storage as the driver although the
environment of its machine is another one. Copied are keys, tokens, endpoints and regions from ``AWS_*`` variables and
AWS profiles, the key file of a service account of Google, and ``AZURE_*`` variables. Credentials that belong to a
machine are not copied: the roles of instances, containers and pods, managed identities, and the logins of ``gcloud``
and ``az``. They are short-lived, so each machine gets its own.

Credentials are never mixed: if an option names some, those of the environment are ignored.
"""

from __future__ import annotations

import configparser
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lakebed.errors import OptionError
from lakebed.storage.location import Service
from lakebed.storage.storage_options import ObjectSettings

Variables = Mapping[str, Sequence[str]]

_CREDENTIALS: Final[dict[Service, Variables]] = {
    "s3": {
        "s3.access-key": ("AWS_ACCESS_KEY_ID",),
        "s3.secret-key": ("AWS_SECRET_ACCESS_KEY",),
        "s3.session-token": ("AWS_SESSION_TOKEN", "AWS_TOKEN"),
        "s3.anonymous": ("AWS_SKIP_SIGNATURE",),
    },
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
    {
        *(name for names in _CREDENTIALS.values() for name in names),
        *("s3.profile", "fs.oss.accessKeyId", "fs.oss.accessKeySecret", "fs.oss.securityToken", "fs.azure.use-cli"),
    }
)
_PLACES: Final[dict[Service, Variables]] = {
    "s3": {
        "s3.endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        "s3.region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
        "s3.sse": ("AWS_SERVER_SIDE_ENCRYPTION",),
        "s3.sse-kms-key-id": ("AWS_SSE_KMS_KEY_ID",),
    },
    "gcs": {"fs.gs.storage.root.url": ("GOOGLE_BASE_URL",)},
    "azure": {
        "fs.azure.account.name": ("AZURE_STORAGE_ACCOUNT_NAME",),
        "fs.azure.endpoint": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
    },
}
_OSS: Final = {"s3.endpoint": "fs.oss.endpoint", "s3.region": "fs.oss.region"}
_KEYFILE: Final = "fs.gs.auth.service.account.json.keyfile"
_KEY: Final = "fs.gs.auth.service.account.json"


def resolved(settings: ObjectSettings, service: Service) -> ObjectSettings:
    """Returns settings to which nothing has to be added on another machine, but for the roles of that machine.

    Raises:
        OptionError: A profile or a key file does not exist or cannot be used.

    Example:
        >>> resolved(ObjectSettings({"s3.access-key": "a", "s3.secret-key": "b"}), "s3").values["s3.session-token"]
        ''
    """
    if service not in _PLACES:
        return settings
    values = {**_places(settings.values, service), **settings.values}
    if not _CREDENTIAL_OPTIONS & settings.values.keys():
        values |= _found(_CREDENTIALS[service])
    if service == "s3":
        values = _with_profile(values)
        if "s3.access-key" in values:  # else the client would add the token of another machine
            values.setdefault("s3.session-token", "")
    if service == "gcs":
        values = _with_key_of_file(values)
    return ObjectSettings(values)


def _places(given: Mapping[str, str], service: Service) -> dict[str, str]:
    """Returns where the environment says that a storage is, unless an option says it."""
    return {name: value for name, value in _found(_PLACES[service]).items() if _OSS.get(name) not in given}


def _found(variables: Variables) -> dict[str, str]:
    found: dict[str, str] = {}
    for option, names in variables.items():
        value = next((os.environ[name] for name in names if os.environ.get(name)), None)
        if value is not None:
            found[option] = _as_flag(value) if option.endswith(".anonymous") else value
    return found


def _as_flag(text: str) -> str:
    return "true" if text.lower() in {"1", "true", "t", "yes", "y", "on"} else "false"


# ----------------------------------------------------------------------------------------------------- AWS profiles


def _with_profile(values: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings with the keys of a profile in place of its name; keys that are given win over a profile."""
    plain = {name: value for name, value in values.items() if name != "s3.profile"}
    profile = values.get("s3.profile") or os.environ.get("AWS_PROFILE")
    if not profile or {"s3.access-key", "fs.oss.accessKeyId"} & plain.keys() or plain.get("s3.anonymous") == "true":
        return plain
    return {**profile_settings(profile), **plain}


def profile_settings(profile: str) -> dict[str, str]:
    """Returns the keys and the region of a profile in ``~/.aws/credentials`` and ``~/.aws/config``.

    Raises:
        OptionError: There is no such profile, or it needs more than keys.
    """
    home = Path.home() / ".aws"
    section = profile if profile == "default" else f"profile {profile}"
    files = (
        (os.environ.get("AWS_SHARED_CREDENTIALS_FILE", str(home / "credentials")), profile),
        (os.environ.get("AWS_CONFIG_FILE", str(home / "config")), section),
    )
    found: dict[str, str] = {}
    for path, part in files:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(path)
        if parser.has_section(part):
            found |= dict(parser[part])
    names = {
        "aws_access_key_id": "s3.access-key",
        "aws_secret_access_key": "s3.secret-key",
        "aws_session_token": "s3.session-token",
        "region": "s3.region",
        "endpoint_url": "s3.endpoint",
    }
    settings = {names[name]: value for name, value in found.items() if name in names}
    if "s3.access-key" not in settings:
        raise OptionError(
            f"the AWS profile {profile!r} has no keys in {files[0][0]}; for profiles with single sign-on or roles, "
            'export the credentials to the environment first: eval "$(aws configure export-credentials --format env)"'
        )
    return settings


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
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise OptionError(f"cannot read the key file of a service account, {path}: {reason}") from None


def _is_service_account(text: str) -> bool:
    try:
        return bool(json.loads(text).get("type") == "service_account")
    except (ValueError, AttributeError):
        return False
