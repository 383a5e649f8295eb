"""Opens the client of a bucket or container with the settings of its storage."""

from __future__ import annotations

import datetime as dt
import urllib.parse
from dataclasses import replace
from typing import Any

from obstore.store import AzureStore, GCSStore, S3Store

from lakebed.errors import OptionError
from lakebed.storage.location import Location
from lakebed.storage.object_errors import shown
from lakebed.storage.resolved_settings import resolved
from lakebed.storage.storage_options import ObjectSettings, parse_flag


def open_bucket(location: Location, settings: ObjectSettings) -> Any:
    """Returns the client of a bucket or container."""
    settings = resolved(settings, location.service)
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
    settings = resolved(settings, "s3")
    config = settings.config("s3")
    client: Any = {"timeout": dt.timedelta(seconds=settings.timeout_seconds)}
    if config.get("session_token") == "":  # a signed URL must not have an empty token, nor one of the environment
        del config["session_token"]
        keys = {name: config.pop(name) for name in ("access_key_id", "secret_access_key")}
        config["credential_provider"] = lambda: {**keys, "expires_at": None}
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
    if endpoint is not None and endpoint.startswith("http://"):
        client["allow_http"] = True
    path_style = config.pop("path_style", None)
    if path_style is not None:
        config["virtual_hosted_style_request"] = not parse_flag("s3.path.style.access", path_style)
    if "skip_signature" in config:
        config["skip_signature"] = parse_flag("s3.anonymous", config["skip_signature"])
    return S3Store(location.host, client_options=client, retry_config=settings.retries(), **config)


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
