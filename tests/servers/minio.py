"""MinIO: a server of the S3 protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.servers.installed import installed
from tests.servers.server import HOST, Server, http_status

ACCESS_KEY = "lakebed"
SECRET_KEY = "lakebed-secret"
REGION = "us-east-1"


class MinIO(Server):
    """S3 on loopback; buckets are ``s3://<name>``."""

    @property
    def options(self) -> dict[str, str]:
        return {
            "s3.endpoint": self.url,
            "s3.access-key": ACCESS_KEY,
            "s3.secret-key": SECRET_KEY,
            "s3.path.style.access": "true",
            "s3.region": REGION,
        }

    def create_bucket(self, name: str) -> str:
        (self.folder / "data" / name).mkdir(parents=True)  # MinIO takes a folder of its data as a bucket
        return f"s3://{name}"

    def unfinished_uploads(self) -> int:
        """How many parts of uploads the server keeps that were neither completed nor aborted."""
        return sum(
            path.name != "xl.meta" for path in self.folder.glob("data/.minio.sys/multipart/**/*") if path.is_file()
        )

    def command(self) -> Sequence[str]:
        program = installed("minio") / "minio"
        return [str(program), "server", "--quiet", "--address", f"{HOST}:{self.port}", str(self.folder / "data")]

    def environment(self) -> Mapping[str, str]:
        return {
            "MINIO_ROOT_USER": ACCESS_KEY,
            "MINIO_ROOT_PASSWORD": SECRET_KEY,
            "MINIO_REGION": REGION,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",
            "MINIO_SCANNER_SPEED": "slowest",
        }

    def answers(self) -> bool:
        # It says that it is ready before it answers requests, which are refused with 503 until then.
        return http_status(self.port, "/minio/health/ready") == 200 and http_status(self.port, "/") == 403
