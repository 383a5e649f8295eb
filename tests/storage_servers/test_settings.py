"""Settings and credentials on MinIO: environment, profiles, temporary keys, anonymous; and errors that come quickly."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.minio import ACCESS_KEY, REGION, SECRET_KEY, MinIO
from tests.servers.server import free_port
from tests.servers.signed import make_public, temporary_keys

import lakebed
from lakebed import OptionError, StorageError


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "LAKEBED_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def bucket(minio: MinIO) -> str:
    return minio.create_bucket(f"b-{uuid.uuid4().hex[:12]}")


def use(path: str, options: dict[str, str] | None = None) -> None:
    """Creates a table, writes and reads it."""
    lake = lakebed.connect(path, options=options)
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    assert lakebed.connect(path, options=options).table("db.t").scan().to_arrow().to_pylist() == [{"id": 1}]


def test_options(minio: MinIO, bucket: str) -> None:
    use(f"{bucket}/plain", minio.options)
    hadoop = {
        "fs.s3a.endpoint": f"127.0.0.1:{minio.port}",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.access.key": ACCESS_KEY,
        "fs.s3a.secret.key": SECRET_KEY,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.maximum": "100",
    }
    use(bucket.replace("s3://", "s3a://") + "/hadoop", hadoop)
    pypaimon = {"fs.s3.endpoint": minio.url, "fs.s3.accessKeyId": ACCESS_KEY, "fs.s3.accessKeySecret": SECRET_KEY}
    use(f"{bucket}/pypaimon", pypaimon)
    oss = {
        "fs.oss.endpoint": minio.url,
        "fs.oss.accessKeyId": ACCESS_KEY,
        "fs.oss.accessKeySecret": SECRET_KEY,
        "fs.oss.path.style.access": "true",
        "fs.oss.region": REGION,
    }
    use(bucket.replace("s3://", "oss://") + "/oss", oss)


def test_the_environment(minio: MinIO, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    use(f"{bucket}/env")


def test_a_profile(minio: MinIO, bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        f"[lake]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
        "[default]\naws_access_key_id = wrong\naws_secret_access_key = wrong-wrong\n"
    )
    (tmp_path / "config").write_text(f"[profile lake]\nregion = {REGION}\nendpoint_url = {minio.url}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    use(f"{bucket}/option", {"s3.profile": "lake"})
    monkeypatch.setenv("AWS_PROFILE", "lake")
    use(f"{bucket}/variable")


def test_temporary_keys(minio: MinIO, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key, secret, token = temporary_keys(minio)
    place = {"s3.endpoint": minio.url, "s3.region": REGION}
    use(f"{bucket}/option", {**place, "s3.access-key": key, "s3.secret-key": secret, "s3.session-token": token})
    with pytest.raises(StorageError, match=r"credentials are missing or wrong|session token"):
        use(f"{bucket}/none", {**place, "s3.access-key": key, "s3.secret-key": secret})
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    use(f"{bucket}/variable", place)
    use(f"{bucket}/both", minio.options)  # the token of the environment does not belong to these keys


def test_anonymous(minio: MinIO, bucket: str) -> None:
    use(f"{bucket}/wh", minio.options)
    place = {"s3.endpoint": minio.url, "s3.anonymous": "true"}
    with pytest.raises(StorageError, match="access denied"):
        lakebed.connect(f"{bucket}/wh", options=place).databases()
    make_public(minio, bucket.removeprefix("s3://"))
    lake = lakebed.connect(f"{bucket}/wh", options=place)
    assert lake.table("db.t").count() == 1
    with pytest.raises(StorageError, match="access denied"):
        lake.table("db.t").write([{"id": 2}])


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server whose queue of connections is full: a connection is never opened."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        for one in waiting:
            one.close()


CASES = {
    "wrong secret": ({"s3.secret-key": "wrong-wrong"}, "the credentials are missing or wrong"),
    "wrong key": ({"s3.access-key": "nobody"}, "the credentials are missing or wrong"),
    "wrong token": ({"s3.session-token": "eyJhbGci"}, "the session token is wrong or has expired"),
    "wrong region": ({"s3.region": "eu-west-9"}, "the region is wrong; set 's3.region' to 'us-east-1'"),
    "nobody listens": ({"s3.endpoint": "http://127.0.0.1:{free}"}, "nothing listens at 127.0.0.1:{free}; check"),
    "no such host": ({"s3.endpoint": "http://no-such.invalid"}, "the host name no-such.invalid is not known"),
    "not tls": ({"s3.endpoint": "https://127.0.0.1:{port}"}, "does not use TLS; write http:// in the endpoint"),
    "behind a firewall": ({"s3.endpoint": "{silent}", "storage.connect-timeout": "1 s"}, "did not answer within 1 s"),
}


@pytest.mark.parametrize("case", CASES)
def test_errors_say_what_to_do_and_come_quickly(minio: MinIO, bucket: str, silent: str, case: str) -> None:
    options, message = CASES[case]
    known = {"free": free_port(), "port": minio.port, "silent": silent}
    given = {name: value.format(**known) for name, value in options.items()}
    started = time.monotonic()
    with pytest.raises(StorageError) as caught:
        lakebed.connect(f"{bucket}/wh", options={**minio.options, **given}).databases()
    assert time.monotonic() - started < 20  # most take milliseconds; refused connections are tried for some seconds
    text = str(caught.value)
    assert message.format(**known) in text
    assert "\n" not in text
    assert len(text) < 300
    assert SECRET_KEY not in text


def test_a_missing_bucket(minio: MinIO) -> None:
    lake = lakebed.connect("s3://no-such-bucket/wh", options=minio.options)
    for call in (lake.databases, lambda: lake.create_database("db"), lambda: lake.table("db.t")):
        with pytest.raises(StorageError, match="the bucket does not exist; create it first"):
            call()


def test_an_expired_token(minio: MinIO, bucket: str) -> None:
    key, secret, token = temporary_keys(minio)
    given = {**minio.options, "s3.access-key": key, "s3.secret-key": secret, "s3.session-token": token[:-2]}
    with pytest.raises(StorageError, match="the session token is wrong or has expired"):
        lakebed.connect(f"{bucket}/wh", options=given).databases()


def test_a_misspelt_option_is_found_before_a_request(minio: MinIO, bucket: str) -> None:
    with pytest.raises(OptionError, match=r"did you mean 's3.region'\?"):
        lakebed.connect(bucket, options={**minio.options, "s3.regoin": "x"})
