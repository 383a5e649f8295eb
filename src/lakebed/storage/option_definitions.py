"""The settings of storages: every one once, as data that is searched, checked and printed.

Names are those of Apache Paimon, which takes them from Hadoop. ``spellings`` are other names of the same setting: those
of Hadoop, Flink, pypaimon and pyiceberg. ``IGNORED`` are settings of other engines that have no effect here, so that
the options of a Paimon catalog can be used as they are. ``docs/storage.md`` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from lakebed.options.secrets import is_secret


class Form(Enum):
    """The form of a value."""

    TEXT = "string"
    URL = "URL or host"
    FLAG = "boolean"
    TIME = "duration"
    COUNT = "int"
    SIZE = "size"
    JSON = "JSON"


@dataclass(frozen=True, slots=True)
class StorageOption:
    """One setting of a storage.

    Attributes:
        name: Its name.
        meaning: What it does.
        form: The form of its value.
        key: Its name in the client library, if the value goes there as it is.
        default: What applies without it.
        spellings: Other names.
    """

    name: str
    meaning: str
    form: Form = Form.TEXT
    key: str | None = None
    default: str = ""
    spellings: tuple[str, ...] = ()

    @property
    def is_secret(self) -> bool:
        return is_secret(self.name)


SINGLE_WRITER: Final = "commit.single-writer"
TIMEOUT: Final = "storage.request-timeout"
CONNECT_TIMEOUT: Final = "storage.connect-timeout"
DEADLINE: Final = "storage.retry-deadline"
RETRIES: Final = "storage.max-retries"
CACHE_FOLDER: Final = "file.cache.directory"
CACHE_SIZE: Final = "file.cache.directory-size"
PROFILE: Final = "s3.profile"
TLS: Final = "s3.connection.ssl.enabled"
PATH_STYLE: Final = "s3.path.style.access"
OSS_PATH_STYLE: Final = "fs.oss.path.style.access"
CLIENT_ENDPOINT: Final = "fs.azure.account.oauth2.client.endpoint"

COMMON: Final = (
    StorageOption(
        SINGLE_WRITER,
        "`true`: never more than one process writes to the warehouse. Allows stores without conditional put",
        Form.FLAG,
        default="`false`",
    ),
    StorageOption(CONNECT_TIMEOUT, "the longest time to open a connection", Form.TIME, default="`5 s`"),
    StorageOption(TIMEOUT, "the longest time of one request", Form.TIME, default="`30 s`"),
    StorageOption(DEADLINE, "how long a failing request is retried before it is an error", Form.TIME, default="`60 s`"),
    StorageOption(
        RETRIES,
        "how often a failing request is retried",
        Form.COUNT,
        default="no limit; `10` until the store has answered once",
    ),
    StorageOption(CACHE_FOLDER, "a folder on the local disk that keeps copies of data files", default="no cache"),
    StorageOption(
        CACHE_SIZE, "the most bytes in that folder; the files used last are kept", Form.SIZE, default="`16 gb`"
    ),
)


def _s3(
    name: str, meaning: str, *others: str, form: Form = Form.TEXT, key: str | None = None, default: str = ""
) -> StorageOption:
    """Returns a setting of S3. Paimon passes ``s3.``, ``s3a.`` and ``fs.s3a.`` names on to Hadoop."""
    plain = (name.removeprefix("s3."), *(other for other in others if not other.startswith("fs.s3.")))
    spellings = [f"{prefix}{rest}" for rest in plain for prefix in ("s3.", "s3a.", "fs.s3a.")]
    spellings += [other for other in others if other.startswith("fs.s3.")]
    return StorageOption(name, meaning, form, key, default, tuple(each for each in spellings if each != name))


S3: Final = (
    _s3(
        "s3.endpoint",
        "the address of the service, for stores other than Amazon S3",
        "fs.s3.endpoint",
        form=Form.URL,
        key="endpoint",
        default="Amazon S3",
    ),
    _s3(
        "s3.region", "the region of the bucket", "endpoint.region", "fs.s3.region", key="region", default="`us-east-1`"
    ),
    _s3(
        "s3.access-key",
        "the access key",
        "access.key",
        "access-key-id",
        "fs.s3.accessKeyId",
        key="access_key_id",
        default="see Credentials",
    ),
    _s3(
        "s3.secret-key",
        "the secret key",
        "secret.key",
        "secret-access-key",
        "fs.s3.accessKeySecret",
        key="secret_access_key",
    ),
    _s3(
        "s3.session-token",
        "the token of temporary keys",
        "session.token",
        "fs.s3.securityToken",
        key="session_token",
    ),
    _s3(PROFILE, "a profile in `~/.aws`, used before keys in the environment", default="`AWS_PROFILE`, `default`"),
    _s3(
        "s3.role-arn",
        "the role that a web identity assumes; needs `s3.web-identity-token-file`",
        "assumed.role.arn",
        key="role_arn",
    ),
    _s3(
        "s3.web-identity-token-file",
        "a file with the token of a web identity",
        key="web_identity_token_file",
    ),
    _s3("s3.anonymous", "`true`: requests are not signed", form=Form.FLAG, key="skip_signature", default="`false`"),
    _s3(
        PATH_STYLE,
        "`true`: the bucket is in the path of a URL; `false`: in the host name",
        "path-style-access",
        form=Form.FLAG,
        default="`true`; `false` for OSS and COS",
    ),
    _s3(TLS, "`false`: an endpoint without a scheme is `http://`", form=Form.FLAG, default="`true`"),
    _s3(
        "s3.sse",
        "how the store encrypts objects: `AES256`, `aws:kms` or `aws:kms:dsse`",
        "server-side-encryption-algorithm",
        "encryption.algorithm",
        key="server_side_encryption",
        default="as the bucket says",
    ),
    _s3(
        "s3.sse-kms-key-id",
        "the key of `aws:kms`",
        "server-side-encryption.key",
        "encryption.key",
        key="sse_kms_key_id",
    ),
    _s3(
        "s3.requester-pays",
        "`true`: this account pays for requests",
        "requester.pays.enabled",
        form=Form.FLAG,
        key="request_payer",
        default="`false`",
    ),
)
OSS: Final = (
    StorageOption(
        "fs.oss.endpoint", "the address of the region, such as `oss-cn-hangzhou.aliyuncs.com`", Form.URL, "endpoint"
    ),
    StorageOption("fs.oss.region", "the region", key="region", default="from the endpoint"),
    StorageOption("fs.oss.accessKeyId", "the access key", key="access_key_id", default="see Credentials"),
    StorageOption("fs.oss.accessKeySecret", "the secret key", key="secret_access_key"),
    StorageOption("fs.oss.securityToken", "the token of temporary keys", key="session_token"),
    StorageOption(OSS_PATH_STYLE, "as `s3.path.style.access`", Form.FLAG, default="`false`"),
)
GCS: Final = (
    StorageOption(
        "fs.gs.auth.service.account.json.keyfile",
        "a file with the key of a service account",
        key="service_account",
        default="see Credentials",
        spellings=("google.cloud.auth.service.account.json.keyfile",),
    ),
    StorageOption(
        "fs.gs.auth.service.account.json", "the key of a service account itself", Form.JSON, key="service_account_key"
    ),
    StorageOption("fs.gs.storage.root.url", "the address of the service", Form.URL, "base_url", "Google Cloud Storage"),
    StorageOption("fs.gs.anonymous", "`true`: requests are not signed", Form.FLAG, "skip_signature", "`false`"),
)
AZURE: Final = (
    StorageOption(
        "fs.azure.account.name", "the storage account", key="account_name", default="from the path: `container@account`"
    ),
    StorageOption("fs.azure.account.key", "the key of the account", key="account_key", default="see Credentials"),
    StorageOption(
        "fs.azure.sas.token", "a shared access signature", key="sas_key", spellings=("fs.azure.sas.fixed.token",)
    ),
    StorageOption("fs.azure.endpoint", "the address of the service", Form.URL, "endpoint", "Azure Blob Storage"),
    StorageOption("fs.azure.account.oauth2.client.id", "the client id of an application or identity", key="client_id"),
    StorageOption("fs.azure.account.oauth2.client.secret", "the secret of the application", key="client_secret"),
    StorageOption("fs.azure.account.oauth2.client.tenant", "the tenant of the application", key="tenant_id"),
    StorageOption(
        CLIENT_ENDPOINT, "Hadoop's way to name the tenant: `https://login.microsoftonline.com/<tenant>/oauth2/token`"
    ),
    StorageOption(
        "fs.azure.use-cli", "`true`: use the login of the command `az`", Form.FLAG, "use_azure_cli", "`false`"
    ),
    StorageOption("fs.azure.anonymous", "`true`: requests are not signed", Form.FLAG, "skip_signature", "`false`"),
)
PER_ACCOUNT: Final = (
    "fs.azure.account.key",
    "fs.azure.sas.fixed.token",
    "fs.azure.sas.token",
    "fs.azure.account.oauth2.client.id",
    "fs.azure.account.oauth2.client.secret",
    CLIENT_ENDPOINT,
    "fs.azure.account.auth.type",
    "fs.azure.account.oauth.provider.type",
)
"""Settings of Azure whose names may end with an account: ``fs.azure.account.key.acme.dfs.core.windows.net``."""

HADOOP_PREFIXES: Final = ("dfs.", "hadoop.")
"""How the settings of the Hadoop client start, which a warehouse on HDFS takes as they are."""

IGNORED: Final = {
    **{
        f"{prefix}{rest}": "s3"
        for rest in (
            "attempts.maximum",
            "aws.credentials.provider",
            "connection.establish.timeout",
            "connection.maximum",
            "connection.timeout",
            "fast.upload",
            "fast.upload.buffer",
            "impl",
            "multipart.size",
            "signer-type",
            "signing-algorithm",
            "threads.max",
        )
        for prefix in ("s3.", "s3a.", "fs.s3a.")
    },
    **dict.fromkeys(("fs.oss.impl", "fs.oss.sld.enabled", "fs.oss.cname.enabled", "fs.oss.credentials.provider"), "s3"),
    **dict.fromkeys(("fs.gs.auth.type", "fs.gs.impl", "fs.gs.project.id"), "gcs"),
    **dict.fromkeys(("fs.azure.account.auth.type", "fs.azure.account.oauth.provider.type"), "azure"),
}
"""Settings of other engines that are accepted and have no effect, and the service that each belongs to."""

SECTIONS: Final[tuple[tuple[str, str, tuple[StorageOption, ...]], ...]] = (
    ("All object stores", "", COMMON),
    ("S3 (`s3://`, `s3a://`) and stores that speak its protocol", "s3", S3),
    ("Alibaba Cloud OSS (`oss://`)", "s3", OSS),
    ("Google Cloud Storage (`gs://`)", "gcs", GCS),
    ("Azure (`abfss://`, `abfs://`, `wasbs://`, `az://`)", "azure", AZURE),
)
"""The settings as the documentation lists them: title, service, settings."""
