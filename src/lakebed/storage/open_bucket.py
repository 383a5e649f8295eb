"""Opens the client of a bucket or container with the settings of its storage.

The client library reads the variables of the environment that the provider's own tools read. What the settings say
comes first.
"""

from __future__ import annotations

import datetime as dt
import os
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from obstore.store import AzureStore, GCSStore, S3Store

from lakebed.errors import LakebedError, OptionError, StorageError
from lakebed.storage.aws_credentials import S3Access, check_machine_role, s3_access
from lakebed.storage.location import Location
from lakebed.storage.object_errors import shown
from lakebed.storage.option_definitions import RETRIES
from lakebed.storage.storage_options import ObjectSettings, tenant_of

_S3_ROLES: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",
    "AWS_SKIP_SIGNATURE",
)
_GCS_KEYS: Final = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_BEARER_TOKEN",
    "GOOGLE_SKIP_SIGNATURE",
)
_AZURE_KEYS: Final = ("account_key", "sas_key", "client_secret", "use_azure_cli", "skip_signature")
_AZURE_ENDPOINTS: Final = ("AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT")
_MISSING: Final = {
    "s3": "give the options 's3.access-key' and 's3.secret-key', set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
    "choose a profile with AWS_PROFILE. For a public bucket set the option 's3.anonymous' = 'true'",
    "gcs": "give the option 'fs.gs.auth.service.account.json.keyfile', set GOOGLE_APPLICATION_CREDENTIALS, or run "
    "'gcloud auth application-default login'. For a public bucket set the option 'fs.gs.anonymous' = 'true'",
    "azure": "give the option 'fs.azure.account.key' or 'fs.azure.sas.token', set AZURE_STORAGE_ACCOUNT_KEY, or set the "
    "option 'fs.azure.use-cli' = 'true' to use the login of the command az",
}


def open_bucket(location: Location, settings: ObjectSettings) -> Any:
    """Returns the client of a bucket or container.

    Raises:
        OptionError: The settings cannot be used, or there are no credentials.
    """
    try:
        match location.service:
            case "s3":
                return _open_s3(location, settings)
            case "gcs":
                return _open_gcs(location, settings)
            case _:
                return _open_azure(location, settings)
    except LakebedError:
        raise
    except Exception as error:  # noqa: BLE001 - the client raises what Rust raised
        raise OptionError(f"cannot open {location}: {shown(error)}") from None


def waiting_for(bucket: Any, settings: ObjectSettings) -> Any:
    """Returns a client of the same bucket that waits for its store, which has answered, until the deadline.

    It is the same client if the settings say how often requests are retried.
    """
    if RETRIES in settings.values:
        return bucket
    return type(bucket)(
        config=bucket.config,
        client_options=bucket.client_options,
        retry_config=settings.retries(has_answered=True),
        credential_provider=bucket.credential_provider,
    )


def open_address(location: Location, settings: ObjectSettings, query: Mapping[str, str]) -> S3Store:
    """Returns a client that signs the URL of one name in an S3 bucket, or of the bucket, as that of an empty name.

    The library adds a slash to its address. It ends the name, as that of a folder marker does, or the value of the
    parameter ``x-id`` after a query, which stores ignore.
    """
    access = s3_access(location, settings)
    config = dict(access.config)
    address = config.get("endpoint") or _amazon(access)
    if "endpoint" not in config or not config.get("virtual_hosted_style_request"):  # else it already has the bucket
        address = f"{address.rstrip('/')}/{location.host}"
    if location.key:
        address = f"{address.rstrip('/')}/{quote(location.key, safe='/~')}"
    if query:
        address = f"{address}?{urlencode({**query, 'x-id': ''})}"
    config |= {"endpoint": address, "virtual_hosted_style_request": True}
    return _s3_store(location.host, location, settings, replace(access, config=config))


def is_provider_itself(location: Location, settings: ObjectSettings) -> bool:
    """Returns whether a store is Amazon S3, Google Cloud Storage or Azure, which are known to have conditional puts."""
    match location.service:
        case "s3":
            return s3_access(location, settings).endpoint is None
        case "gcs":
            return "fs.gs.storage.root.url" not in settings.values and not os.environ.get("GOOGLE_BASE_URL")
        case _:
            return "fs.azure.endpoint" not in settings.values and not any(map(os.environ.get, _AZURE_ENDPOINTS))


def _client(location: Location, settings: ObjectSettings, endpoint: str) -> Any:
    """Returns the options of the connection to an endpoint, after a look whether there is one."""
    _check_answers(location, settings, endpoint)
    found: dict[str, Any] = {
        "timeout": dt.timedelta(seconds=settings.timeout_seconds),
        "connect_timeout": dt.timedelta(seconds=settings.connect_seconds),
    }
    if endpoint.startswith("http://"):
        found["allow_http"] = True
    return found


def _check_answers(location: Location, settings: ObjectSettings, endpoint: str) -> None:
    """Raises if no connection to an endpoint is opened in time, as behind a firewall.

    The client library would try again until the deadline. It may do that for other failures, which pass.
    """
    if any(name.lower().endswith("_proxy") and name.lower() != "no_proxy" for name in os.environ):
        return
    parts = urlsplit(endpoint)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=settings.connect_seconds).close()
    except TimeoutError:
        raise StorageError(
            f"cannot open {location}: {parts.netloc} did not answer within {settings.connect_seconds:g} s; check the "
            "endpoint, the network and the firewall"
        ) from None
    except OSError:
        return


def _open_s3(location: Location, settings: ObjectSettings) -> S3Store:
    access = s3_access(location, settings)
    is_signed = not access.config.get("skip_signature")
    if is_signed and access.provider is None and "role_arn" not in access.config and not _any_set(_S3_ROLES):
        check_machine_role(location, _MISSING["s3"])
    return _s3_store(location.host, location, settings, access)


def _s3_store(host: str, location: Location, settings: ObjectSettings, access: S3Access) -> S3Store:
    endpoint = access.endpoint or _amazon(access)
    provider: Any = {} if access.provider is None else {"credential_provider": access.provider}
    return S3Store(
        host,
        client_options=_client(location, settings, endpoint),
        retry_config=settings.retries(),
        **access.config,
        **provider,
    )


def _amazon(access: S3Access) -> str:
    return f"https://s3.{access.config.get('region', 'us-east-1')}.amazonaws.com"


def _open_gcs(location: Location, settings: ObjectSettings) -> GCSStore:
    config = settings.config("gcs")
    base = config.get("base_url")
    if base is not None and "://" not in base:
        base = config["base_url"] = f"https://{base}"
    login = Path.home() / ".config" / "gcloud" / "application_default_credentials.json"
    has_key = "service_account" in config or "service_account_key" in config or config.get("skip_signature")
    if not has_key and not _any_set(_GCS_KEYS) and not login.exists():
        check_machine_role(location, _MISSING["gcs"])
    client = _client(location, settings, base or os.environ.get("GOOGLE_BASE_URL") or "https://storage.googleapis.com")
    return GCSStore(location.host, client_options=client, retry_config=settings.retries(), **config)


def _open_azure(location: Location, settings: ObjectSettings) -> AzureStore:
    config = settings.config("azure")
    container, _, host = location.host.partition("@")
    account = host.partition(".")[0]
    if account and config.setdefault("account_name", account) != account:
        raise OptionError(
            f"the options are for the storage account {config['account_name']!r}, but the path {location} is in "
            f"{account!r}"
        )
    if "account_name" not in config and not _any_set(("AZURE_STORAGE_ACCOUNT_NAME",)):
        raise OptionError(
            f"{location} has no storage account; write abfss://container@account.dfs.core.windows.net/folder, or give "
            "the option 'fs.azure.account.name'"
        )
    endpoint = config.get("endpoint") or next(filter(None, map(os.environ.get, _AZURE_ENDPOINTS)), None)
    if endpoint is not None and "://" not in endpoint:
        endpoint = config["endpoint"] = f"https://{endpoint}"
    if (tenant := tenant_of(settings)) is not None:
        config.setdefault("tenant_id", tenant)
    has_key = any(config.get(name) for name in _AZURE_KEYS)
    if not has_key and not any(name.startswith(("AZURE_", "IDENTITY_", "MSI_")) for name in os.environ):
        check_machine_role(location, _MISSING["azure"])
    name = config.get("account_name") or os.environ["AZURE_STORAGE_ACCOUNT_NAME"]
    client = _client(location, settings, endpoint or f"https://{name}.blob.core.windows.net")
    return AzureStore(container, client_options=client, retry_config=settings.retries(), **config)


def _any_set(names: tuple[str, ...]) -> bool:
    return any(os.environ.get(name) for name in names)
