"""Settings of storages without a server: what reaches the client library, and what is refused."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakebed import OptionError, StorageError, connect
from lakebed.catalogs.warehouse_options import check_warehouse_options
from lakebed.options.secrets import is_secret
from lakebed.storage import open_bucket as module
from lakebed.storage.location import parse_location
from lakebed.storage.open_bucket import is_provider_itself, open_bucket
from lakebed.storage.option_definitions import AZURE, COMMON, GCS, IGNORED, OSS, S3
from lakebed.storage.storage_options import ObjectSettings, hadoop_settings, object_settings, storage_option

Opened = Callable[..., dict[str, Any]]
KEYS = {"s3.access-key": "AK", "s3.secret-key": "SK"}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in list(os.environ):
        if name.startswith(("AWS_", "OSS_", "ALIBABA_", "GOOGLE_", "AZURE_", "MSI_", "IDENTITY_", "LAKEBED_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Opens a bucket with a client that only remembers what it was given; keys are under ``keys``."""
    seen: dict[str, Any] = {}

    def client(bucket: str, **given: Any) -> None:
        provider = given.pop("credential_provider", None)
        seen.clear()
        seen.update(given, bucket=bucket)
        if provider is not None:
            seen["keys"] = provider()

    for name in ("S3Store", "GCSStore", "AzureStore"):
        monkeypatch.setattr(module, name, client)
    monkeypatch.setattr(module, "_check_answers", lambda *_: None)

    def run(path: str, **options: str) -> dict[str, Any]:
        given = options.pop("options", {}) | options  # type: ignore[operator]
        location = parse_location(path)
        open_bucket(location, object_settings(given, location))
        return dict(seen)

    return run


def keys(found: dict[str, Any]) -> tuple[str, str, str | None]:
    return found["keys"]["access_key_id"], found["keys"]["secret_access_key"], found["keys"]["token"]


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("s3.access-key", "s3.access-key"),
        ("s3.access.key", "s3.access-key"),
        ("s3a.access-key", "s3.access-key"),
        ("fs.s3a.access.key", "s3.access-key"),
        ("fs.s3.accessKeyId", "s3.access-key"),
        ("s3.access-key-id", "s3.access-key"),
        ("fs.s3a.secret.key", "s3.secret-key"),
        ("s3.secret-access-key", "s3.secret-key"),
        ("fs.s3.accessKeySecret", "s3.secret-key"),
        ("fs.s3a.session.token", "s3.session-token"),
        ("fs.s3.securityToken", "s3.session-token"),
        ("fs.s3a.endpoint", "s3.endpoint"),
        ("fs.s3.endpoint", "s3.endpoint"),
        ("fs.s3a.endpoint.region", "s3.region"),
        ("fs.s3.region", "s3.region"),
        ("s3.path-style-access", "s3.path.style.access"),
        ("fs.s3a.path.style.access", "s3.path.style.access"),
        ("fs.s3a.connection.ssl.enabled", "s3.connection.ssl.enabled"),
        ("fs.s3a.server-side-encryption-algorithm", "s3.sse"),
        ("fs.oss.accesskeyid", "fs.oss.accessKeyId"),
        ("fs.azure.account.key.acme.blob.core.windows.net", "fs.azure.account.key"),
        ("fs.azure.sas.fixed.token.acme.dfs.core.windows.net", "fs.azure.sas.token"),
        ("fs.azure.account.oauth2.client.secret.acme.dfs.core.windows.net", "fs.azure.account.oauth2.client.secret"),
        ("google.cloud.auth.service.account.json.keyfile", "fs.gs.auth.service.account.json.keyfile"),
        ("bucket", None),
        ("s3.acess-key", None),
    ],
)
def test_spellings(given: str, name: str | None) -> None:
    assert storage_option(given) == name


def test_every_name_means_itself_and_no_name_means_two() -> None:
    options = [*COMMON, *S3, *OSS, *GCS, *AZURE]
    names = [name for option in options for name in (option.name, *option.spellings)]
    assert len(names) == len(set(names))
    assert not set(names) & set(IGNORED)
    for option in options:
        for name in (option.name, *option.spellings):
            assert storage_option(name) == option.name


def test_secrets_are_known() -> None:
    secrets = {option.name for option in (*COMMON, *S3, *OSS, *GCS, *AZURE) if option.is_secret}
    assert secrets == {
        "s3.access-key",
        "s3.secret-key",
        "s3.session-token",
        "s3.web-identity-token-file",
        "fs.oss.accessKeyId",
        "fs.oss.accessKeySecret",
        "fs.oss.securityToken",
        "fs.gs.auth.service.account.json",
        "fs.azure.account.key",
        "fs.azure.sas.token",
        "fs.azure.account.oauth2.client.secret",
    }
    assert is_secret("fs.azure.account.key.acme.dfs.core.windows.net")


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (
            "s3://b/w",
            {"s3.acess-key": "x"},
            "unknown option of a warehouse 's3.acess-key'; did you mean 's3.access-key'?",
        ),
        ("s3://b/w", {"fs.s3a.acces.key": "x"}, "did you mean 'fs.s3a.access.key'?"),
        ("gs://b/w", {"fs.gs.annonymous": "true"}, "did you mean 'fs.gs.anonymous'?"),
        ("s3://b/w", {"bucket": "2"}, "'bucket' is an option of tables"),
        ("s3://b/w", {"fs.azure.account.key": "x"}, "a setting of Azure, but the warehouse s3://b/w is on S3"),
        ("gs://b/w", KEYS, "a setting of S3, but the warehouse gs://b/w is on Google Cloud Storage"),
        ("wh", KEYS, "a setting of S3, but the warehouse .*wh is on the local disk"),
        ("s3://b/w", {"fs.oss.endpoint": "x.aliyuncs.com"}, "is for oss:// paths"),
        ("s3://b/w", {"s3.access-key": "x"}, "option 's3.access-key' needs 's3.secret-key' as well"),
        ("s3://b/w", {"fs.s3a.secret.key": "x"}, "option 'fs.s3a.secret.key' needs 's3.access-key' as well"),
        ("s3://b/w", {"s3.session-token": "x"}, "needs 's3.access-key' as well"),
        ("s3://b/w", {"s3.role-arn": "x"}, "needs 's3.web-identity-token-file'"),
        ("s3://b/w", {"s3.region": " "}, "option 's3.region' is empty"),
        ("s3://b/w", {"s3.anonymous": "maybe"}, "must be true or false, not 'maybe'"),
        ("s3://b/w", {"s3.path.style.access": "1"}, "must be true or false"),
        ("s3://b/w", {"storage.request-timeout": "soon"}, "must be a duration such as 10 s"),
        ("s3://b/w", {"storage.request-timeout": "0 s"}, "must be more than zero"),
        ("s3://b/w", {"storage.max-retries": "-1"}, "must be a whole number"),
        ("s3://b/w", {"file.cache.directory-size": "big"}, "must be"),
        ("s3://b/w", {"s3.endpoint": "not a url"}, "option 's3.endpoint' must be a URL"),
        ("s3://b/w", {"s3.endpoint": "ftp://host"}, "option 's3.endpoint' must be a URL"),
        ("s3://b/w", {"s3.endpoint": "http://u:p@host"}, "without user"),
        ("s3://b/w", {**KEYS, "fs.s3a.secret.key": "other"}, "'s3.secret-key' and 'fs.s3a.secret.key' mean the same"),
        ("s3://b/w", {**KEYS, "s3.session-token": "a\nb"}, "cannot be printed"),
        ("gs://b/w", {"fs.gs.auth.service.account.json": "{hunter2"}, "must be JSON, the content of a key file"),
        ("s3://b/w", {"table-default.s3.secret-key": "x"}, "belongs to the warehouse"),
        ("s3://key:hunter2@bucket/w", {}, "Credentials are options, never a part of the path"),
        ("s3://my bucket/w", {}, "is not the name of a bucket"),
        ("", {}, "the path of a warehouse is empty"),
        ("  ", {}, "the path of a warehouse is empty"),
        ("file://", {}, "the path of a warehouse is empty"),
    ],
)
def test_refusals(
    path: str, options: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        OptionError, match=message if "\\" in message or ".*" in message else re.escape(message)
    ) as caught:
        connect(path, options=options)
    assert "hunter2" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir("/")
    assert connect("~/x").warehouse == str(tmp_path / "x")
    assert connect(Path("~/y")).warehouse == str(tmp_path / "y")


def test_a_value_of_another_type_is_not_shown() -> None:
    with pytest.raises(OptionError, match=r"option 's3.secret-key' is \*\*\* of type bytes"):
        connect("s3://b/w", options={"s3.access-key": "x", "s3.secret-key": b"hunter2"})


def test_settings_of_other_engines_have_no_effect(opened: Opened) -> None:
    more = {"fs.s3a.connection.maximum": "1000", "s3.signer-type": "x", "fs.s3a.aws.credentials.provider": "x"}
    check_warehouse_options(more, "s3")
    assert opened("s3://b/w", options={**KEYS, **more}) == opened("s3://b/w", options=KEYS)
    with pytest.raises(OptionError, match="a setting of Azure"):
        opened("s3://b/w", options={"fs.azure.account.auth.type": "OAuth"})


# --------------------------------------------------------------------------------------------------- what arrives: S3


def test_s3(opened: Opened) -> None:
    found = opened(
        "s3://b/w",
        options={
            **KEYS,
            "s3.session-token": "T",
            "s3.endpoint": "http://localhost:9000/",
            "s3.region": "eu-west-1",
            "s3.sse": "SSE-KMS",
            "s3.sse-kms-key-id": "K",
            "s3.requester-pays": "true",
            "storage.request-timeout": "7 s",
            "storage.connect-timeout": "2 s",
            "storage.max-retries": "3",
            "storage.retry-deadline": "9 s",
        },
    )
    assert keys(found) == ("AK", "SK", "T")
    client, retries = found["client_options"], found["retry_config"]
    assert (client["timeout"].seconds, client["connect_timeout"].seconds, client["allow_http"]) == (7, 2, True)
    assert (retries["max_retries"], retries["retry_timeout"].seconds) == (3, 9)
    rest = {name: value for name, value in found.items() if name not in {"keys", "client_options", "retry_config"}}
    assert rest == {
        "bucket": "b",
        "endpoint": "http://localhost:9000",
        "virtual_hosted_style_request": False,
        "region": "eu-west-1",
        "server_side_encryption": "aws:kms",
        "sse_kms_key_id": "K",
        "request_payer": True,
    }


@pytest.mark.parametrize(
    ("path", "options", "endpoint", "in_host", "region"),
    [
        ("s3://b/w", {"s3.endpoint": "host:9000"}, "https://host:9000", False, None),
        ("s3://b/w", {"s3.endpoint": "host", "s3.connection.ssl.enabled": "false"}, "http://host", False, None),
        ("s3://b/w", {"s3.endpoint": "https://h", "s3.path.style.access": "false"}, "https://b.h", True, None),
        (
            "s3://b/w",
            {"s3.endpoint": "https://1a.r2.cloudflarestorage.com"},
            "https://1a.r2.cloudflarestorage.com",
            False,
            "auto",
        ),
        (
            "s3://b/w",
            {"s3.endpoint": "oss-cn-beijing.aliyuncs.com"},
            "https://b.oss-cn-beijing.aliyuncs.com",
            True,
            "cn-beijing",
        ),
        (
            "s3://b/w",
            {"s3.endpoint": "https://b.oss-cn-beijing.aliyuncs.com"},
            "https://b.oss-cn-beijing.aliyuncs.com",
            True,
            "cn-beijing",
        ),
        (
            "s3://b/w",
            {"s3.endpoint": "cos.ap-beijing.myqcloud.com"},
            "https://b.cos.ap-beijing.myqcloud.com",
            True,
            None,
        ),
        ("s3://b/w", {"s3.endpoint": "https://h", "s3.region": "r"}, "https://h", False, "r"),
        ("s3://b/w", {"s3.region": "eu-west-1"}, None, None, "eu-west-1"),
        ("oss://b/w", {"s3.endpoint": "http://localhost:1"}, "http://localhost:1", False, None),
    ],
)
def test_endpoints(
    opened: Opened, path: str, options: dict[str, str], endpoint: str | None, in_host: bool | None, region: str | None
) -> None:
    found = opened(path, options={**KEYS, **options})
    got = found.get("endpoint"), found.get("virtual_hosted_style_request"), found.get("region")
    assert got == (endpoint, in_host, region)
    location = parse_location(path)
    assert is_provider_itself(location, object_settings({**KEYS, **options}, location)) == (endpoint is None)


def test_oss(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"fs.oss.endpoint": "oss-cn-hangzhou.aliyuncs.com"}
    keys_given = {"fs.oss.accessKeyId": "AK", "fs.oss.accessKeySecret": "SK", "fs.oss.securityToken": "T"}
    found = opened("oss://lake/w", options={**given, **keys_given})
    assert keys(found) == ("AK", "SK", "T")
    assert found["endpoint"] == "https://lake.oss-cn-hangzhou.aliyuncs.com"
    assert (found["virtual_hosted_style_request"], found["region"]) == (True, "cn-hangzhou")
    with pytest.raises(OptionError, match=r"needs the option 'fs.oss.endpoint'"):
        opened("oss://lake/w", options=keys_given)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-amazon")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-amazon")
    with pytest.raises(OptionError, match=r"no credentials for oss://lake/w"):
        opened("oss://lake/w", options=given)
    monkeypatch.setenv("OSS_ACCESS_KEY_ID", "A2")
    monkeypatch.setenv("OSS_ACCESS_KEY_SECRET", "S2")
    assert keys(opened("oss://lake/w", options=given)) == ("A2", "S2", None)
    path_style = {**given, **keys_given, "fs.oss.path.style.access": "true"}
    assert opened("oss://lake/w", options=path_style)["endpoint"] == "https://oss-cn-hangzhou.aliyuncs.com"


def test_a_bucket_is_never_a_part_of_an_address(opened: Opened) -> None:
    with pytest.raises(OptionError, match="cannot be a part of an IP address"):
        opened("s3://b/w", options={**KEYS, "s3.endpoint": "http://127.0.0.1:9000", "s3.path.style.access": "false"})


def test_anonymous(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "check_machine_role", lambda *_: pytest.fail("no role is needed"))
    assert opened("s3://b/w", options={"s3.anonymous": "true"})["skip_signature"] is True
    assert opened("gs://b/w", options={"fs.gs.anonymous": "true"})["skip_signature"] is True
    found = opened("az://c/w", options={"fs.azure.anonymous": "true", "fs.azure.account.name": "a"})
    assert found["skip_signature"] is True


# ------------------------------------------------------------------------------------------- what arrives: the others


def test_gcs(opened: Opened) -> None:
    found = opened("gs://b/w", options={"fs.gs.auth.service.account.json.keyfile": "/k.json"})
    assert (found["bucket"], found["service_account"]) == ("b", "/k.json")
    found = opened(
        "gs://b/w",
        options={
            "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            "fs.gs.auth.service.account.json": '{\n"type": "service_account"}',
            "fs.gs.storage.root.url": "http://localhost:4443",
        },
    )
    assert json.loads(found["service_account_key"]) == {"type": "service_account"}
    assert (found["base_url"], found["client_options"]["allow_http"]) == ("http://localhost:4443", True)


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        (
            "abfss://c@acme.dfs.core.windows.net/w",
            {"fs.azure.account.key.acme.dfs.core.windows.net": "K"},
            {"account_name": "acme", "account_key": "K"},
        ),
        (
            "az://c/w",
            {"fs.azure.account.key.acme.blob.core.windows.net": "K"},
            {"account_name": "acme", "account_key": "K"},
        ),
        (
            "az://c/w",
            {"fs.azure.account.name": "acme", "fs.azure.sas.token": "sig=1"},
            {"account_name": "acme", "sas_key": "sig=1"},
        ),
        (
            "abfss://c@acme.dfs.core.windows.net/w",
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth2.client.id": "I",
                "fs.azure.account.oauth2.client.secret": "S",
                "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
            },
            {"account_name": "acme", "client_id": "I", "client_secret": "S", "tenant_id": "tenant"},
        ),
        (
            "az://c/w",
            {"fs.azure.account.name": "a", "fs.azure.use-cli": "true"},
            {"account_name": "a", "use_azure_cli": True},
        ),
    ],
)
def test_azure(opened: Opened, path: str, options: dict[str, str], expected: dict[str, Any]) -> None:
    found = opened(path, options=options)
    assert found["bucket"] == "c"
    assert {
        name: value for name, value in found.items() if name not in {"bucket", "client_options", "retry_config"}
    } == expected


def test_azure_accounts_must_agree(opened: Opened) -> None:
    with pytest.raises(OptionError, match=r"for the storage account 'other', but the path .* is in 'acme'"):
        opened(
            "abfss://c@acme.dfs.core.windows.net/w", options={"fs.azure.account.key.other.dfs.core.windows.net": "K"}
        )
    with pytest.raises(OptionError, match="has no storage account"):
        opened("az://c/w", options={"fs.azure.account.key": "K"})


def test_hdfs() -> None:
    location = parse_location("hdfs://name:8020/w")
    given = {"dfs.replication": "2", "hadoop.dfs.blocksize": "1", "hadoop.security.authentication": "simple"}
    check_warehouse_options(given, "hdfs")
    assert hadoop_settings({**given, "commit.durable": "true"}, location) == {
        "dfs.replication": "2",
        "dfs.blocksize": "1",
        "hadoop.security.authentication": "simple",
    }
    with pytest.raises(OptionError, match="a setting of S3, but the warehouse hdfs://name:8020/w is on HDFS"):
        hadoop_settings(KEYS, location)
    with pytest.raises(OptionError, match="a setting of HDFS, but the warehouse s3://b/w is on S3"):
        object_settings(given, parse_location("s3://b/w"))


# ------------------------------------------------------------------------------------------------ environment, profiles


def write_profiles(folder: Path) -> None:
    (folder / ".aws").mkdir(exist_ok=True)
    (folder / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = DA\naws_secret_access_key = DS\n"
        "[work]\naws_access_key_id = WA\naws_secret_access_key = WS\naws_session_token = WT\n"
    )
    (folder / ".aws" / "config").write_text(
        "[default]\nregion = eu-north-1\n[profile work]\nregion = eu-south-1\nendpoint_url = http://work:1\n"
        "[profile sso]\nsso_start_url = https://x\nregion = eu-west-3\n"
        "[profile tool]\ncredential_process = cat " + str(folder / "keys.json") + "\n"
    )


def test_profiles(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_profiles(tmp_path)
    found = opened("s3://b/w")
    assert (keys(found), found["region"]) == (("DA", "DS", None), "eu-north-1")
    monkeypatch.setenv("AWS_PROFILE", "work")
    found = opened("s3://b/w")
    assert (keys(found), found["region"], found["endpoint"]) == (("WA", "WS", "WT"), "eu-south-1", "http://work:1")
    location = parse_location("s3://b/w")
    assert not is_provider_itself(location, object_settings({}, location))
    monkeypatch.setenv("AWS_REGION", "af-south-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://env")
    found = opened("s3://b/w")
    assert (found["region"], found["endpoint"]) == ("af-south-1", "https://env")
    assert opened("s3://b/w", options={"s3.region": "r"})["region"] == "r"


def test_options_come_before_variables_and_those_before_profiles(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_profiles(tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "EA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "ES")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "ET")
    assert "keys" not in opened("s3://b/w")  # the client library reads the variables
    assert keys(opened("s3://b/w", options=KEYS)) == ("AK", "SK", None)  # without the token of other keys
    assert keys(opened("s3://b/w", options={"s3.profile": "work"})) == ("WA", "WS", "WT")
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert "keys" not in opened("s3://b/w")


def test_files_named_by_variables(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c").write_text("[p]\naws_access_key_id=A\naws_secret_access_key=S%(x)s\n")
    (tmp_path / "d").write_text("[profile p]\nregion=r\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "c"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "d"))
    found = opened("s3://b/w", options={"s3.profile": "p"})
    assert (keys(found), found["region"]) == (("A", "S%(x)s", None), "r")
    with pytest.raises(OptionError, match=r"unknown AWS profile 'q'.*; known: p"):
        opened("s3://b/w", options={"s3.profile": "q"})
    (tmp_path / "c").write_text("hunter2")
    with pytest.raises(OptionError, match="is not a file of profiles") as caught:
        opened("s3://b/w", options={"s3.profile": "p"})
    assert "hunter2" not in str(caught.value)


def test_a_credential_process(opened: Opened, tmp_path: Path) -> None:
    write_profiles(tmp_path)
    (tmp_path / "keys.json").write_text(
        json.dumps(
            {"AccessKeyId": "PA", "SecretAccessKey": "PS", "SessionToken": "PT", "Expiration": "2030-01-01T00:00:00Z"}
        )
    )
    found = opened("s3://b/w", options={"s3.profile": "tool"})
    assert keys(found) == ("PA", "PS", "PT")
    assert found["keys"]["expires_at"].year == 2030
    (tmp_path / "keys.json").write_text("hunter2")
    with pytest.raises(StorageError, match="did not return keys"):
        opened("s3://b/w", options={"s3.profile": "tool"})


def test_a_profile_that_needs_more(opened: Opened, tmp_path: Path) -> None:
    write_profiles(tmp_path)
    with pytest.raises(OptionError, match="pip install boto3"):
        opened("s3://b/w", options={"s3.profile": "sso"})


def test_no_credentials(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("lakebed.storage.aws_credentials.socket.create_connection", nobody)
    with pytest.raises(OptionError, match=r"no credentials for s3://b/w: give the options 's3.access-key'"):
        opened("s3://b/w")
    with pytest.raises(OptionError, match=r"no credentials for gs://b/w: give the option 'fs.gs.auth"):
        opened("gs://b/w")
    with pytest.raises(OptionError, match=r"no credentials for az://c/w: give the option 'fs.azure.account.key'"):
        opened("az://c/w", options={"fs.azure.account.name": "a"})
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/key.json")
    monkeypatch.setenv("AZURE_CLIENT_ID", "x")
    opened("s3://b/w")
    opened("gs://b/w")
    opened("az://c/w", options={"fs.azure.account.name": "a"})


def test_settings_do_not_show_themselves() -> None:
    location = parse_location("s3://b/w")
    settings = object_settings({"s3.access-key": "hunter1", "s3.secret-key": "hunter2", "s3.region": "r"}, location)
    copied = pickle.loads(pickle.dumps(settings))
    assert (copied, hash(copied)) == (settings, hash(settings))
    for one in (settings, copied):
        assert repr(one) == "ObjectSettings(s3.access-key, s3.region, s3.secret-key)"
        assert "hunter" not in f"{one} {one!r} {one.values!r} {one.config('s3')!r}"
    assert isinstance(copied, ObjectSettings)
    assert copied.config("s3")["secret_access_key"] == "hunter2"
