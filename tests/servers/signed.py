"""Requests to MinIO that Lakebed does not make: temporary keys, and buckets that everybody may read."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import http.client
import json
import re
from typing import Final
from urllib.parse import urlencode

from tests.servers.minio import ACCESS_KEY, REGION, SECRET_KEY, MinIO
from tests.servers.server import HOST

_STS: Final = "sts"


def temporary_keys(server: MinIO, seconds: int = 900) -> tuple[str, str, str]:
    """An access key, a secret key and the session token that belongs to them."""
    body = urlencode({"Action": "AssumeRole", "Version": "2011-06-15", "DurationSeconds": seconds}).encode()
    text = _request(server, "POST", "/", "", body, _STS, "application/x-www-form-urlencoded")
    found = [re.search(f"<{name}>([^<]+)<", text) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")]
    assert all(found), text
    key, secret, token = (each[1] for each in found if each is not None)
    return key, secret, token


def make_public(server: MinIO, bucket: str) -> None:
    """Lets everybody list and read a bucket."""
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": ["*"]},
                "Action": ["s3:ListBucket", "s3:GetObject"],
                "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
            }
        ],
    }
    _request(server, "PUT", f"/{bucket}", "policy=", json.dumps(policy).encode(), "s3", "application/json")


def _request(server: MinIO, method: str, path: str, query: str, body: bytes, service: str, kind: str) -> str:
    """Sends a request with a signature of version 4."""
    now = dt.datetime.now(dt.UTC)
    day, stamp = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {
        "content-type": kind,
        "host": f"{HOST}:{server.port}",
        "x-amz-content-sha256": digest,
        "x-amz-date": stamp,
    }
    names = ";".join(headers)
    asked = "\n".join([method, path, query, *(f"{name}:{value}" for name, value in headers.items()), "", names, digest])
    scope = f"{day}/{REGION}/{service}/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(asked.encode()).hexdigest()])
    key = f"AWS4{SECRET_KEY}".encode()
    for part in (day, REGION, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    connection = http.client.HTTPConnection(HOST, server.port, timeout=20)
    try:
        connection.request(method, f"{path}?{query}" if query else path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        assert response.status < 300, text
        return text
    finally:
        connection.close()
