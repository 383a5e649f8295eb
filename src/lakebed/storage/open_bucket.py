"""Opens the client of a bucket or container with the settings of its storage."""

from __future__ import annotations

import configparser
import datetime as dt
import os
import urllib.parse
from dataclasses import replace
from pathlib import Path
from typing import Any

from obstore.store import AzureStore, GCSStore, S3Store

from lakebed.errors import OptionError
from lakebed.storage.location import Location
from lakebed.storage.object_errors import shown
from lakebed.storage.storage_options import ObjectSettings, parse_flag


def open_bucket(location: Location, settings: ObjectSettings) -> Any:
    """Returns the client of a bucket or container."""
    config = settings.config(location.service)
    client: Any = {"timeout": dt.timedelta(seconds=settings.timeout_seconds)}
    try:
        match location.service:
            case "s3":
                return _open_s3(location, settings, config, client)
            case "gcs":
                if config.get("base_url", "").startswith("http://"):
                    client["allow_http"] = True
                if "skip_signature" in config:
                    config["skip_signature"] = parse_flag("fs.gs.anonymous", config["skip_signature"])
                return GCSStore(location.host, client_options=client, retry_config=settings.retries(), **config)
            case _:
                return _open_azure(location, settings, config, client)
    except OptionError:
        raise
    except Exception as error:  # noqa: BLE001 - the client raises what Rust raised
        raise OptionError(f"cannot open {location}: {shown(error)}") from None


def open_folder(location: Location, settings: ObjectSettings) -> S3Store:
    """Returns a client whose root is a folder of an S3 bucket, with a slash at its end: the name of its marker."""
    config = settings.config("s3")
    client: Any = {"timeout": dt.timedelta(seconds=settings.timeout_seconds)}
    key = urllib.parse.quote(location.key, safe="/~")
    is_virtual = not parse_flag("s3.path.style.access", config.get("path_style", "true"))
    if is_virtual and "endpoint" in config:  # the endpoint already has the bucket
        config["endpoint"] = f"{config['endpoint'].rstrip('/')}/{key}"
        return _open_s3(location, settings, config, client)
    config["path_style"] = "true"
    return _open_s3(replace(location, host=f"{location.host}/{key}"), settings, config, client)


def _open_s3(location: Location, settings: ObjectSettings, config: dict[str, Any], client: Any) -> S3Store:
    endpoint = config.get("endpoint")
    if endpoint is not None and "://" not in endpoint:
        endpoint = config["endpoint"] = f"https://{endpoint}"
    if (endpoint or os.environ.get("AWS_ENDPOINT_URL", "")).startswith("http://"):
        client["allow_http"] = True
    path_style = config.pop("path_style", None)
    if path_style is not None:
        config["virtual_hosted_style_request"] = not parse_flag("s3.path.style.access", path_style)
    if "skip_signature" in config:
        config["skip_signature"] = parse_flag("s3.anonymous", config["skip_signature"])
    profile = config.pop("profile", None) or os.environ.get("AWS_PROFILE")
    if profile and "access_key_id" not in config and "AWS_ACCESS_KEY_ID" not in os.environ:
        config = {**profile_settings(profile), **config}
    return S3Store(location.host, client_options=client, retry_config=settings.retries(), **config)


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
        "aws_access_key_id": "access_key_id",
        "aws_secret_access_key": "secret_access_key",
        "aws_session_token": "session_token",
        "region": "region",
        "endpoint_url": "endpoint",
    }
    settings = {names[name]: value for name, value in found.items() if name in names}
    if "access_key_id" not in settings:
        raise OptionError(
            f"the AWS profile {profile!r} has no keys in {files[0][0]}; for profiles with single sign-on or roles, "
            'export the credentials to the environment first: eval "$(aws configure export-credentials --format env)"'
        )
    return settings


def _open_azure(location: Location, settings: ObjectSettings, config: dict[str, Any], client: Any) -> AzureStore:
    container, _, host = location.host.partition("@")
    if host:
        config.setdefault("account_name", host.partition(".")[0])
    if config.get("endpoint", "").startswith("http://"):
        client["allow_http"] = True
    for name in ("skip_signature", "use_azure_cli"):
        if name in config:
            config[name] = parse_flag(name, config[name])
    return AzureStore(container, client_options=client, retry_config=settings.retries(), **config)
