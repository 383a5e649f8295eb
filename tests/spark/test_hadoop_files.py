"""How Spark's own readers would open files on S3."""

from __future__ import annotations

from lakebed.spark.read.hadoop_files import HadoopFiles, s3a_files
from lakebed.storage.location import parse_location
from lakebed.storage.storage_options import ObjectSettings, object_settings

KEYS = {"s3.access-key": "me", "s3.secret-key": "s3cr3t", "s3.endpoint": "http://127.0.0.1:9"}


def settings(**more: str) -> ObjectSettings:
    return object_settings({**KEYS, **more}, parse_location("s3://bucket"))


def test_settings_of_a_bucket_are_options_of_the_read() -> None:
    files = s3a_files(settings(), "bucket")
    assert files is not None
    assert dict(files.options) == {
        "fs.s3a.bucket.bucket.access.key": "me",
        "fs.s3a.bucket.bucket.secret.key": "s3cr3t",
        "fs.s3a.bucket.bucket.endpoint": "http://127.0.0.1:9",
        "fs.s3a.bucket.bucket.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        f"fs.{files.scheme}.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    }
    assert "s3cr3t" not in repr(files)


def test_other_credentials_have_another_scheme() -> None:
    one, same, other = (s3a_files(settings(**{"s3.secret-key": key}), "bucket") for key in ("a", "a", "b"))
    assert one is not None
    assert same is not None
    assert other is not None
    assert one.scheme == same.scheme != other.scheme
    assert one.uri("s3://bucket/a") == f"{one.scheme}://bucket/a"


def test_what_hadoop_does_not_have_is_read_by_lakebed() -> None:
    role = {"s3.role-arn": "arn:aws:iam::1:role/x", "s3.web-identity-token-file": "/run/token"}
    assert s3a_files(settings(**role), "bucket") is None


def test_without_settings_the_session_decides() -> None:
    assert s3a_files(ObjectSettings({}), "bucket") == HadoopFiles("s3a")
