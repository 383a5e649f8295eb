"""The settings of object stores: the options of a warehouse that say where its storage is and who may use it.

The names are those of Paimon and Hadoop. What is not given comes from the environment and from the machine, as in the
tools of the providers: ``AWS_*`` variables, ``AWS_PROFILE`` with ``~/.aws``, roles of the machine or the container,
``GOOGLE_APPLICATION_CREDENTIALS``, ``AZURE_STORAGE_*``, managed identities.

Settings hold secrets. They are not shown: ``repr`` has only the names.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lakebed.errors import OptionError, unknown_name
from lakebed.options import parse_duration, parse_size
from lakebed.storage.file_cache import FILE_CACHE_BYTES, FileCache
from lakebed.storage.location import Service

SINGLE_WRITER: Final = "commit.single-writer"
TIMEOUT: Final = "storage.request-timeout"
DEADLINE: Final = "storage.retry-deadline"
RETRIES: Final = "storage.max-retries"
CACHE_FOLDER: Final = "file.cache.directory"
CACHE_SIZE: Final = "file.cache.directory-size"

COMMON: Final = {
    SINGLE_WRITER: "true: never more than one process writes; allows stores without conditional put (default false)",
    TIMEOUT: "the longest time of one request (default 30 s)",
    DEADLINE: "how long a failing request is retried before it is an error (default 60 s)",
    RETRIES: "how often a failing request is retried (default 10)",
    CACHE_FOLDER: "a folder on the local disk that keeps copies of data files (default none)",
    CACHE_SIZE: "the most bytes in that folder; the files used last are kept (default 16 gb)",
}

S3: Final = {
    "s3.endpoint": "endpoint",
    "s3.access-key": "access_key_id",
    "s3.secret-key": "secret_access_key",
    "s3.session-token": "session_token",
    "s3.region": "region",
    "s3.path.style.access": "path_style",
    "s3.profile": "profile",
    "s3.role-arn": "role_arn",
    "s3.anonymous": "skip_signature",
    "s3.sse": "server_side_encryption",
    "s3.sse-kms-key-id": "sse_kms_key_id",
}
OSS: Final = {
    "fs.oss.endpoint": "endpoint",
    "fs.oss.accessKeyId": "access_key_id",
    "fs.oss.accessKeySecret": "secret_access_key",
    "fs.oss.securityToken": "session_token",
    "fs.oss.region": "region",
}
GCS: Final = {
    "fs.gs.auth.service.account.json.keyfile": "service_account",
    "fs.gs.auth.service.account.json": "service_account_key",
    "fs.gs.storage.root.url": "base_url",
    "fs.gs.anonymous": "skip_signature",
}
AZURE: Final = {
    "fs.azure.account.name": "account_name",
    "fs.azure.account.key": "account_key",
    "fs.azure.sas.token": "sas_key",
    "fs.azure.endpoint": "endpoint",
    "fs.azure.account.oauth2.client.id": "client_id",
    "fs.azure.account.oauth2.client.secret": "client_secret",
    "fs.azure.account.oauth2.client.tenant": "tenant_id",
    "fs.azure.use-cli": "use_azure_cli",
    "fs.azure.anonymous": "skip_signature",
}
_SPELLINGS: Final = {
    **{f"{prefix}{name.removeprefix('s3.')}": name for name in S3 for prefix in ("s3a.", "fs.s3a.", "s3://")},
    "s3.access.key": "s3.access-key",
    "s3.secret.key": "s3.secret-key",
    "s3.path-style-access": "s3.path.style.access",
    "s3.endpoint.region": "s3.region",
    "fs.s3a.access.key": "s3.access-key",
    "fs.s3a.secret.key": "s3.secret-key",
    "fs.s3a.session.token": "s3.session-token",
    "fs.s3a.endpoint": "s3.endpoint",
    "fs.s3a.endpoint.region": "s3.region",
    "fs.s3a.path.style.access": "s3.path.style.access",
}
_NAMES: Final[dict[Service, Mapping[str, str]]] = {"s3": {**S3, **OSS}, "gcs": GCS, "azure": AZURE}
_SECRETS: Final = ("secret", "key", "token", "json", "password")
STORAGE_OPTIONS: Final = frozenset({*COMMON, *S3, *OSS, *GCS, *AZURE})
"""Every option of a warehouse that is a setting of its storage."""
_IN_LOWER_CASE: Final = {
    **{name.lower(): option for name, option in _SPELLINGS.items()},
    **{name.lower(): name for name in STORAGE_OPTIONS},
}


def storage_option(name: str) -> str | None:
    """Returns the name of the storage option that a text means, in any case; ``None`` if it means none.

    >>> storage_option("fs.s3a.access.key"), storage_option("fs.azure.account.key.acme.dfs.core.windows.net")
    ('s3.access-key', 'fs.azure.account.key')
    """
    plain = name.lower()
    if plain in _IN_LOWER_CASE:
        return _IN_LOWER_CASE[plain]
    for option in ("fs.azure.account.key", "fs.azure.sas.token"):
        if plain.startswith(f"{option}."):
            return option
    return None


def is_secret(name: str) -> bool:
    """Returns whether the value of a storage option must not be shown.

    >>> is_secret("s3.secret-key"), is_secret("s3.region")
    (True, False)
    """
    last = name.rpartition(".")[2] if storage_option(name) is None else (storage_option(name) or "")
    return any(word in last.lower() for word in _SECRETS) and not last.endswith("-id")


@dataclass(frozen=True)
class ObjectSettings:
    """Endpoint, credentials and limits of an object store. ``values`` are options by name."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"ObjectSettings({', '.join(sorted(self.values))})"

    def __reduce__(self) -> tuple[object, ...]:
        return ObjectSettings, (dict(self.values),)

    def __hash__(self) -> int:
        return hash(frozenset(self.values.items()))

    @property
    def single_writer(self) -> bool:
        return parse_flag(SINGLE_WRITER, self.values.get(SINGLE_WRITER, "false"))

    @property
    def deadline_seconds(self) -> float:
        return _seconds(DEADLINE, self.values.get(DEADLINE, "60 s"))

    @property
    def timeout_seconds(self) -> float:
        return _seconds(TIMEOUT, self.values.get(TIMEOUT, "30 s"))

    @property
    def file_cache(self) -> FileCache | None:
        """The cache of data files on the local disk, if there is one."""
        folder = self.values.get(CACHE_FOLDER)
        if not folder:
            return None
        try:
            return FileCache(folder, parse_size(self.values.get(CACHE_SIZE, str(FILE_CACHE_BYTES))))
        except ValueError as error:
            raise OptionError(f"option {CACHE_SIZE!r} must be {error}") from None

    @property
    def is_known_service(self) -> bool:
        """Whether the store is a provider's own one, which is known to have conditional puts."""
        endpoints = ("s3.endpoint", "fs.oss.endpoint", "fs.gs.storage.root.url", "fs.azure.endpoint")
        variables = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "GOOGLE_BASE_URL")
        return not any(name in self.values for name in endpoints) and not any(map(os.environ.get, variables))

    def config(self, service: Service) -> dict[str, Any]:
        """Returns the settings of a service under the names of the client library."""
        names = _NAMES[service]
        return {names[name]: value for name, value in self.values.items() if name in names}

    def retries(self) -> Any:
        """Returns how failing requests are retried, as the client library takes it."""
        text = self.values.get(RETRIES, "10")
        if not text.isdigit():
            raise OptionError(f"option {RETRIES!r} must be a whole number, not {text!r}")
        return {
            "max_retries": int(text),
            "retry_timeout": dt.timedelta(seconds=self.deadline_seconds),
            "backoff": {"init_backoff": dt.timedelta(seconds=0.1), "max_backoff": dt.timedelta(seconds=5), "base": 2},
        }


def object_settings(options: Mapping[str, str], service: Service) -> ObjectSettings:
    """Returns the settings in the options of a warehouse, under their own names.

    Raises:
        OptionError: An option belongs to another service, or a value cannot be used.
    """
    values: dict[str, str] = {}
    for given, value in options.items():
        name = storage_option(given)
        if name is None:
            continue
        if name not in COMMON and name not in _NAMES[service]:
            known = sorted(_NAMES[service])
            raise OptionError(unknown_name(f"option of the {service} storage", given, known))
        values[name] = value
    settings = ObjectSettings(values)
    _ = settings.single_writer, settings.timeout_seconds, settings.retries(), settings.file_cache
    return settings


def parse_flag(name: str, text: str) -> bool:
    """Returns the value of an option that is true or false."""
    if text.lower() not in {"true", "false"}:
        raise OptionError(f"option {name!r} must be true or false, not {text!r}")
    return text.lower() == "true"


def _seconds(name: str, text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError as error:
        raise OptionError(f"option {name!r} must be {error}") from None
