"""The settings of object stores: the options of a warehouse that say where its storage is and who may use it.

``option_definitions`` lists them. What is not given comes from the environment and from the machine, as in the tools of
the providers: ``AWS_*`` variables and profiles (:mod:`lakebed.storage.aws_credentials`), roles of the machine or the
container, ``GOOGLE_APPLICATION_CREDENTIALS``, ``AZURE_STORAGE_*``, managed identities.

Settings hold secrets. They are not shown: ``repr`` has only the names.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from lakebed.errors import OptionError
from lakebed.options import parse_duration, parse_size
from lakebed.options.secrets import SecretText
from lakebed.storage.file_cache import FILE_CACHE_BYTES, FileCache
from lakebed.storage.location import Location, Service
from lakebed.storage.option_definitions import (
    AZURE,
    CACHE_FOLDER,
    CACHE_SIZE,
    CLIENT_ENDPOINT,
    COMMON,
    CONNECT_TIMEOUT,
    DEADLINE,
    GCS,
    HADOOP_PREFIXES,
    IGNORED,
    OSS,
    PER_ACCOUNT,
    RETRIES,
    S3,
    SINGLE_WRITER,
    TIMEOUT,
    Form,
    StorageOption,
)

_BY_SERVICE: Final[dict[str, tuple[StorageOption, ...]]] = {"s3": (*S3, *OSS), "gcs": GCS, "azure": AZURE}
_TITLES: Final = {
    "s3": "S3",
    "gcs": "Google Cloud Storage",
    "azure": "Azure",
    "hdfs": "HDFS",
    "local": "the local disk",
}
OPTIONS: Final = {each.name: each for each in (*COMMON, *S3, *OSS, *GCS, *AZURE)}
_SPELLINGS: Final = {
    **{spelling: each.name for each in OPTIONS.values() for spelling in each.spellings},
    **{each.name.lower(): each.name for each in OSS},  # as in Paimon
}
_IN_LOWER_CASE: Final = {
    **{spelling.lower(): name for spelling, name in _SPELLINGS.items()},
    **{name.lower(): name for name in (*OPTIONS, *IGNORED)},
}
_PAIRS: Final = (
    ("s3.access-key", "s3.secret-key"),
    ("fs.oss.accessKeyId", "fs.oss.accessKeySecret"),
    ("s3.role-arn", "s3.web-identity-token-file"),
)
_NEEDS: Final = (
    ("s3.session-token", "s3.access-key"),
    ("fs.oss.securityToken", "fs.oss.accessKeyId"),
    ("s3.sse-kms-key-id", "s3.sse"),
)

_FIRST_CONTACT: Final = "10"
"""How often the first request is retried: for a few seconds."""
_UNTIL_THE_DEADLINE: Final = "1000000"


def storage_option(name: str) -> str | None:
    """Returns the name of the storage setting that a text means, in any case; ``None`` if it means none.

    >>> storage_option("fs.s3a.access.key"), storage_option("fs.azure.account.key.acme.dfs.core.windows.net")
    ('s3.access-key', 'fs.azure.account.key')
    """
    plain = name.lower()  # Spark hands over the names of options in lower case
    if plain in _IN_LOWER_CASE:
        return _IN_LOWER_CASE[plain]
    for option in PER_ACCOUNT:
        if plain.startswith(f"{option}."):
            return _SPELLINGS.get(option, option)
    return name if name.startswith(HADOOP_PREFIXES) and not name.endswith(".") else None


def known_options(service: Service) -> Iterator[str]:
    """Returns the names of the settings of a service, for suggestions; other spellings last."""
    found = (*_BY_SERVICE.get(service, ()), *COMMON)
    yield from (each.name for each in found)
    yield from (spelling for each in found for spelling in each.spellings)


def service_of(name: str) -> str | None:
    """Returns the service that a setting belongs to, ``None`` for settings of all services.

    >>> service_of("s3.endpoint"), service_of("fs.azure.account.key"), service_of("storage.max-retries")
    ('s3', 'azure', None)
    """
    if name in IGNORED:
        return IGNORED[name]
    if name.startswith(HADOOP_PREFIXES):
        return "hdfs"
    return next((service for service, found in _BY_SERVICE.items() if OPTIONS[name] in found), None)


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
    def connect_seconds(self) -> float:
        return _seconds(CONNECT_TIMEOUT, self.values.get(CONNECT_TIMEOUT, "5 s"))

    @property
    def file_cache(self) -> FileCache | None:
        """The cache of data files on the local disk, if there is one."""
        folder = self.values.get(CACHE_FOLDER)
        if not folder:
            return None
        return FileCache(folder, _bytes(CACHE_SIZE, self.values.get(CACHE_SIZE, str(FILE_CACHE_BYTES))))

    def flag(self, name: str) -> bool | None:
        """Returns a setting that is true or false; ``None`` if it is not given."""
        return None if name not in self.values else parse_flag(name, self.values[name])

    def config(self, service: Service) -> dict[str, Any]:
        """Returns the settings of a service under the names of the client library, with their types."""
        found: dict[str, Any] = {}
        for option in _BY_SERVICE[service]:
            if option.key is not None and option.name in self.values:
                text = self.values[option.name]
                found[option.key] = parse_flag(option.name, text) if option.form is Form.FLAG else text
        return found

    def retries(self, *, has_answered: bool = False) -> Any:
        """Returns how failing requests are retried, as the client library takes it.

        Args:
            has_answered: The store has answered this process before, so its address is right: it is worth waiting for.
        """
        default = _UNTIL_THE_DEADLINE if has_answered else _FIRST_CONTACT
        return {
            "max_retries": _count(RETRIES, self.values.get(RETRIES, default)),
            "retry_timeout": dt.timedelta(seconds=self.deadline_seconds),
            "backoff": {"init_backoff": dt.timedelta(seconds=0.1), "max_backoff": dt.timedelta(seconds=5), "base": 2},
        }


def object_settings(options: Mapping[str, str], location: Location) -> ObjectSettings:
    """Returns the settings in the options of a warehouse, under their own names.

    Raises:
        OptionError: An option belongs to another service, or a value cannot be used.
    """
    values: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for given, value in options.items():
        name = storage_option(given)
        if name is None:
            continue
        _check_service(given, name, location)
        if name in IGNORED:
            continue
        text = value.strip()
        _check_value(given, OPTIONS[name], text)
        if values.get(name, text) != text:
            raise OptionError(f"options {spelled[name]!r} and {given!r} mean the same, with two values; give one")
        values[name], spelled[name] = (SecretText(text) if OPTIONS[name].is_secret else text), given
        account = _account_in(given)
        if account is not None:
            values.setdefault("fs.azure.account.name", account)
    _check_together(values, spelled)
    return ObjectSettings(values)


def check_no_object_settings(options: Mapping[str, str], location: Location) -> None:
    """Raises for settings of object stores on a storage that is none, such as the local disk."""
    for given, value in options.items():
        name = storage_option(given)
        if name is not None:
            _check_service(given, name, location)
            if name in OPTIONS:
                _check_value(given, OPTIONS[name], value.strip())


def hadoop_settings(options: Mapping[str, str], location: Location) -> dict[str, str]:
    """Returns the settings of the Hadoop client for a warehouse on HDFS.

    As in Paimon, ``hadoop.`` before the name of a setting is removed.

    Raises:
        OptionError: An option belongs to another storage, or a value cannot be used.
    """
    check_no_object_settings(options, location)
    found: dict[str, str] = {}
    for given, value in options.items():
        if given.startswith(HADOOP_PREFIXES):
            if not value.strip():
                raise OptionError(f"option {given!r} is empty; give a value, or leave it out")
            rest = given.removeprefix("hadoop.")
            found[rest if rest.startswith(("dfs.", "fs.", "hadoop.")) else given] = value
    return found


def _check_service(given: str, name: str, location: Location) -> None:
    service = service_of(name)
    other = None if service in {None, location.service} else service
    if name.startswith("fs.oss.") and location.service == "s3" and location.scheme != "oss":
        raise OptionError(
            f"option {given!r} is for oss:// paths, but the warehouse is {location}; use the s3.* options"
        )
    if other is not None:
        raise OptionError(
            f"option {given!r} is a setting of {_TITLES[other]}, but the warehouse {location} is on "
            f"{_TITLES[location.service]}"
        )


def _check_value(given: str, option: StorageOption, text: str) -> None:
    if not text:
        raise OptionError(f"option {given!r} is empty; give a value, or leave it out")
    match option.form:
        case Form.FLAG:
            parse_flag(given, text)
        case Form.TIME:
            _seconds(given, text)
        case Form.COUNT:
            _count(given, text)
        case Form.SIZE:
            _bytes(given, text)
        case Form.URL:
            check_url(given, text)
        case Form.JSON:
            _check_json(given, text)
        case _:
            if not text.isprintable():
                raise OptionError(f"option {given!r} has a character that cannot be printed, such as a line break")


def _check_json(given: str, text: str) -> None:
    try:
        is_good = isinstance(json.loads(text), dict)
    except ValueError:  # its message may show the text
        is_good = False
    if not is_good:
        raise OptionError(f"option {given!r} must be JSON, the content of a key file")


def _check_together(values: Mapping[str, str], spelled: Mapping[str, str]) -> None:
    for one, two in _PAIRS:
        if (one in values) != (two in values):
            here, missing = (one, two) if one in values else (two, one)
            raise OptionError(f"option {spelled[here]!r} needs {missing!r} as well")
    for one, two in _NEEDS:
        if one in values and two not in values:
            raise OptionError(f"option {spelled[one]!r} needs {two!r} as well")


def _account_in(given: str) -> str | None:
    """Returns the account in the name of a setting of Azure.

    >>> _account_in("fs.azure.account.key.acme.dfs.core.windows.net")
    'acme'
    """
    for option in PER_ACCOUNT:
        if given.startswith(f"{option}."):
            return given.removeprefix(f"{option}.").partition(".")[0]
    return None


def tenant_of(settings: ObjectSettings) -> str | None:
    """Returns the tenant in the address from which Hadoop requests tokens.

    >>> address = "https://login.microsoftonline.com/contoso/oauth2/token"
    >>> tenant_of(ObjectSettings({"fs.azure.account.oauth2.client.endpoint": address}))
    'contoso'
    """
    address = settings.values.get(CLIENT_ENDPOINT)
    return None if address is None else urlsplit(address).path.strip("/").partition("/")[0]


def check_url(name: str, text: str) -> None:
    """Raises if a text is neither a URL nor a host name. The client library would abort on some of them."""
    whole = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(whole)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or any(letter in text for letter in " \t\n\\<>\"'{}|^`@?#") or not text.isascii():
        raise OptionError(
            f"option {name!r} must be a URL such as https://host:port, or a host name, without user, query and spaces"
        )


def parse_flag(name: str, text: str) -> bool:
    """Returns the value of an option that is true or false."""
    if text.lower() not in {"true", "false"}:
        raise OptionError(f"option {name!r} must be true or false, not {text!r}")
    return text.lower() == "true"


def _seconds(name: str, text: str) -> float:
    try:
        found = float(parse_duration(text))
    except ValueError as error:
        raise OptionError(f"option {name!r} must be {error}") from None
    if found <= 0:
        raise OptionError(f"option {name!r} must be more than zero, not {text!r}")
    return found


def _bytes(name: str, text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise OptionError(f"option {name!r} must be {error}") from None


def _count(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise OptionError(f"option {name!r} must be a whole number, not {text!r}")
    return int(text)
