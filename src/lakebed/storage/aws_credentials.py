"""Where the keys, the region and the endpoint of an S3 store come from, in the order of Amazon's own tools.

1. the options ``s3.access-key`` and ``s3.secret-key`` (``fs.oss.*`` for ``oss://``), or ``s3.anonymous``
2. the option ``s3.profile``: a profile in ``~/.aws/credentials`` and ``~/.aws/config``
3. ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY`` and ``AWS_SESSION_TOKEN``
4. a web identity: ``AWS_ROLE_ARN`` and ``AWS_WEB_IDENTITY_TOKEN_FILE``, or the options of that name
5. the profile that ``AWS_PROFILE`` names, else ``default``
6. the role of the container or the machine

Keys come from one place, never from several: a session token in the environment is not used with keys in options. For
``oss://`` only the options and the variables of Alibaba Cloud count.

A profile may hold keys or a ``credential_process``. Profiles with single sign-on or roles need boto3.
"""

from __future__ import annotations

import configparser
import datetime as dt
import ipaddress
import json
import os
import shlex
import socket
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from lakebed.errors import OptionError, StorageError, unknown_name
from lakebed.options.secrets import SecretText, is_secret
from lakebed.storage.location import Location
from lakebed.storage.option_definitions import OSS_PATH_STYLE, PATH_STYLE, PROFILE, TLS
from lakebed.storage.storage_options import ObjectSettings, check_url

_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_S3_OPTIONS: Final = ("s3.endpoint", "s3.region", "s3.access-key", "s3.secret-key", "s3.session-token")
_OSS_OPTIONS: Final = (
    "fs.oss.endpoint",
    "fs.oss.region",
    "fs.oss.accessKeyId",
    "fs.oss.accessKeySecret",
    "fs.oss.securityToken",
)
_OSS_KEYS: Final = (
    ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"),
    ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "ALIBABA_CLOUD_SECURITY_TOKEN"),
)
_BUCKET_IN_HOST: Final = (".aliyuncs.com", ".myqcloud.com")  # these stores refuse a bucket in the path
_OWN_KEYS: Final = ("access_key_id", "secret_access_key", "session_token")
_NEEDS_MORE: Final = ("sso_session", "sso_start_url", "role_arn", "source_profile", "web_identity_token_file")
_METADATA_SERVER: Final = ("169.254.169.254", 80)  # the same on all clouds
_METADATA_SECONDS: Final = 1.0
_NO_METADATA_SERVER: Final = ("AWS_EC2_METADATA_DISABLED", "NO_GCE_CHECK")
_PROCESS_SECONDS: Final = 60

Provider = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class S3Access:
    """How a bucket is reached: settings of the client library, and what returns the keys if it does not itself."""

    config: dict[str, Any] = field(repr=False)
    provider: Provider | None = field(default=None, repr=False)

    @property
    def endpoint(self) -> str | None:
        """The address of the service; ``None`` for Amazon S3."""
        return self.config.get("endpoint")


def s3_access(location: Location, settings: ObjectSettings) -> S3Access:
    """Returns how a bucket is reached.

    Raises:
        OptionError: A profile or a setting cannot be used, or there are no credentials.
    """
    config = settings.config("s3")
    is_oss = location.scheme == "oss"
    profile = {} if is_oss else _profile(settings, config)
    endpoint, region = _place(config, profile, is_oss=is_oss)
    config = {name: value for name, value in config.items() if name not in {"endpoint", "region"}}
    if endpoint is None and is_oss:
        raise OptionError(f"{location} needs the option 'fs.oss.endpoint', such as oss-cn-hangzhou.aliyuncs.com")
    if endpoint is not None:
        config |= _addressed(location, settings, endpoint)
        region = region or _region_of(endpoint)
    if region is not None:
        config["region"] = region
    if "server_side_encryption" in config:
        known = {"SSE-S3": "AES256", "SSE-KMS": "aws:kms"}
        config["server_side_encryption"] = known.get(config["server_side_encryption"], config["server_side_encryption"])
    keys: dict[str, str] = {name: config.pop(name) for name in _OWN_KEYS if name in config}
    if config.get("skip_signature"):
        return S3Access(config)
    if not keys and is_oss:
        keys = _oss_keys(location)
    return S3Access(config, _provider(keys) if keys else _profile_provider(profile))


def copied_settings(location: Location, settings: ObjectSettings) -> dict[str, str]:
    """Returns the settings with keys, region and endpoint that come from the environment or a profile of this machine.

    They are for another process, which has neither. Keys of a role of this machine are not among them.
    """
    config = settings.config("s3")
    is_oss = location.scheme == "oss"
    names = _OSS_OPTIONS if is_oss else _S3_OPTIONS
    endpoint, region = _place(config, {} if is_oss else _profile(settings, config), is_oss=is_oss)
    provider = s3_access(location, settings).provider or _environment_provider()
    keys = {} if provider is None or config.get("skip_signature") else provider()
    found = (endpoint, region, keys.get("access_key_id"), keys.get("secret_access_key"), keys.get("token"))
    copied = {name: str(value) for name, value in zip(names, found, strict=True) if value}
    kept = {name: value for name, value in settings.values.items() if name != PROFILE}
    return {**kept, **{name: SecretText(value) if is_secret(name) else value for name, value in copied.items()}}


def _environment_provider() -> Provider | None:
    keys = {name: os.environ.get(variable, "") for name, variable in zip(_OWN_KEYS, _KEYS, strict=True)}
    if not keys["access_key_id"] or not keys["secret_access_key"]:
        return None
    return _provider({name: value for name, value in keys.items() if value})


def _place(config: Mapping[str, Any], profile: Mapping[str, str], *, is_oss: bool) -> tuple[str | None, str | None]:
    """Returns the endpoint and the region: from options, the environment or the profile."""
    endpoint = config.get("endpoint") or _endpoint(is_oss, profile)
    variables = ("OSS_REGION",) if is_oss else _REGIONS
    return endpoint, config.get("region") or _variable(*variables) or profile.get("region")


def _variable(*names: str) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


# ------------------------------------------------------------------------------------------------------- endpoints


def _endpoint(is_oss: bool, profile: Mapping[str, str]) -> str | None:
    name = "OSS_ENDPOINT" if is_oss else next((name for name in _ENDPOINTS if os.environ.get(name)), "")
    found = os.environ.get(name) or (None if is_oss else profile.get("endpoint_url"))
    if found:
        check_url(name or "endpoint_url", found)
    return found or None


def _addressed(location: Location, settings: ObjectSettings, endpoint: str) -> dict[str, Any]:
    """Returns the endpoint as a URL, with the bucket in its host if the store wants it there."""
    scheme = "http" if settings.flag(TLS) is False else "https"
    parts = urlsplit(endpoint if "://" in endpoint else f"{scheme}://{endpoint}")
    in_path = settings.flag(PATH_STYLE if settings.flag(PATH_STYLE) is not None else OSS_PATH_STYLE)
    if in_path is None:
        in_path = not (parts.hostname or "").endswith(_BUCKET_IN_HOST)
    place = parts.netloc
    if not in_path and _is_address(parts.hostname or ""):
        raise OptionError(f"option {PATH_STYLE!r} must be true for {place}: a bucket cannot be a part of an IP address")
    if not in_path and not place.startswith(f"{location.host}."):
        place = f"{location.host}.{place}"
    url = f"{parts.scheme}://{place}{parts.path}".rstrip("/")
    return {"endpoint": url, "virtual_hosted_style_request": not in_path}


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _region_of(endpoint: str) -> str | None:
    """Returns the region of stores that have it in their address, or that have none.

    >>> _region_of("oss-cn-hangzhou-internal.aliyuncs.com"), _region_of("https://1a2b.r2.cloudflarestorage.com")
    ('cn-hangzhou', 'auto')
    """
    host = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}").hostname or ""
    if host.endswith(".r2.cloudflarestorage.com"):
        return "auto"
    if host.endswith(".aliyuncs.com"):
        label = next((part for part in host.split(".") if part.startswith("oss-")), "")
        return label.removeprefix("oss-").removesuffix("-internal") or None
    return None


# ------------------------------------------------------------------------------------------------------ credentials


def _provider(keys: Mapping[str, str]) -> Provider:
    """Returns what gives keys to the client library, which would otherwise mix them with the environment."""
    token = keys.get("session_token")
    held = {
        "access_key_id": keys["access_key_id"],
        "secret_access_key": SecretText(keys["secret_access_key"]),
        "token": None if token is None else SecretText(token),
        "expires_at": None,
    }
    return lambda: held


def _oss_keys(location: Location) -> dict[str, str]:
    for key, secret, token in _OSS_KEYS:
        if os.environ.get(key) and os.environ.get(secret):
            found = {"access_key_id": os.environ[key], "secret_access_key": SecretText(os.environ[secret])}
            return found | ({"session_token": SecretText(os.environ[token])} if os.environ.get(token) else {})
    raise OptionError(
        f"no credentials for {location}: give the options 'fs.oss.accessKeyId' and 'fs.oss.accessKeySecret', or set "
        "OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET"
    )


def _profile(settings: ObjectSettings, config: Mapping[str, Any]) -> dict[str, str]:
    """Returns the settings of the profile that applies, with its name as ``name``; empty if none does.

    With keys in options, only the region and the endpoint of the profile count.
    """
    chosen = settings.values.get(PROFILE)
    named = chosen or os.environ.get("AWS_PROFILE")
    found = read_profile(
        named or "default", must_exist=chosen is not None or ("access_key_id" not in config and named is not None)
    )
    in_environment = bool(os.environ.get("AWS_ACCESS_KEY_ID") and os.environ.get("AWS_SECRET_ACCESS_KEY"))
    has_identity = "web_identity_token_file" in config or bool(os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"))
    if chosen is None and (in_environment or has_identity):
        found = {name: value for name, value in found.items() if name in {"region", "endpoint_url"}}
    return found


def read_profile(name: str, *, must_exist: bool = True) -> dict[str, str]:
    """Returns the settings of a profile in the files of Amazon's tools; empty if there is none.

    Raises:
        OptionError: There is no such profile, or a file cannot be parsed.
    """
    home = Path.home() / ".aws"
    files = (
        (os.environ.get("AWS_CONFIG_FILE") or str(home / "config"), "profile "),
        (os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or str(home / "credentials"), ""),
    )
    found: dict[str, str] = {}
    known: set[str] = set()
    for path, prefix in files:
        parser = configparser.ConfigParser(interpolation=None, default_section="no section has this name")
        try:
            parser.read(Path(path).expanduser(), encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):
            raise OptionError(f"cannot read {path}: it is not a file of profiles as Amazon's tools write it") from None
        for section in parser.sections():
            known.add(section.removeprefix(prefix))
            if section == f"{prefix}{name}" or (section == name == "default"):
                found |= {
                    key: SecretText(value) if "secret" in key or "token" in key else value
                    for key, value in parser[section].items()
                }
    if must_exist and not found:
        raise OptionError(unknown_name("AWS profile", name, sorted(known), where=f"{files[1][0]} and {files[0][0]}"))
    return {"name": name, **found} if found else {}


def _profile_provider(profile: Mapping[str, str]) -> Provider | None:
    """Returns what gives the keys of a profile; ``None`` if the profile says nothing about keys."""
    if "aws_access_key_id" in profile and "aws_secret_access_key" in profile:
        names = {"access_key_id": "aws_access_key_id", "secret_access_key": "aws_secret_access_key"}
        keys = {ours: profile[theirs] for ours, theirs in names.items()}
        return _provider(
            keys | ({"session_token": profile["aws_session_token"]} if "aws_session_token" in profile else {})
        )
    if "credential_process" in profile:
        return lambda: _run_process(profile["name"], profile["credential_process"])
    if any(name in profile for name in _NEEDS_MORE):
        return _boto3_provider(profile["name"])
    return None


def _run_process(profile: str, command: str) -> Mapping[str, Any]:
    """Returns the keys that the command of a profile prints; the client library asks again before they expire."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own configuration names the command
            shlex.split(command), capture_output=True, check=True, timeout=_PROCESS_SECONDS
        )
        found = json.loads(done.stdout)
        expiry = found.get("Expiration")
        return {
            "access_key_id": found["AccessKeyId"],
            "secret_access_key": SecretText(found["SecretAccessKey"]),
            "token": found.get("SessionToken"),
            "expires_at": None if expiry is None else dt.datetime.fromisoformat(expiry),
        }
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
        raise StorageError(
            f"the credential_process of the AWS profile {profile!r} did not return keys ({type(error).__name__})"
        ) from None


def _boto3_provider(profile: str) -> Provider:
    try:
        from boto3 import Session  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - optional
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415 - needs boto3
    except ImportError:
        raise OptionError(
            f"the AWS profile {profile!r} uses single sign-on or a role, which needs boto3: pip install boto3. Or export "
            f'the keys first: eval "$(aws configure export-credentials --profile {shlex.quote(profile)} --format env)"'
        ) from None
    provider: Provider = Boto3CredentialProvider(Session(profile_name=profile))
    return provider


def check_machine_role(location: Location, missing: str) -> None:
    """Raises if neither settings nor this machine give credentials: the client library would ask in vain for minutes.

    Machines of all clouds have a metadata server at the same address, which returns the keys of their role. The
    variables with which the tools of the providers leave it out are honoured.
    """
    if any(os.environ.get(name, "").lower() in {"true", "1"} for name in _NO_METADATA_SERVER):
        raise OptionError(f"no credentials for {location}: {missing}")
    try:
        socket.create_connection(_METADATA_SERVER, timeout=_METADATA_SECONDS).close()
    except OSError:
        raise OptionError(f"no credentials for {location}: {missing}") from None
