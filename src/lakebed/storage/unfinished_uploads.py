"""Multipart uploads that a process began and neither finished nor aborted, because it was killed.

They are not files: no listing of a folder shows them. But a store charges for their parts. This works for S3 and what
speaks its protocol. Azure deletes such parts after a week by itself. Google Cloud Storage needs a lifecycle rule.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from xml.etree import ElementTree as ET

from lakebed.errors import NotFoundError, StorageError, UnsupportedError
from lakebed.format.time_text import parse_time
from lakebed.storage.base import UnfinishedUpload
from lakebed.storage.location import Location
from lakebed.storage.open_bucket import is_provider_itself
from lakebed.storage.round_trips import note_request
from lakebed.storage.signed_requests import signed_request
from lakebed.storage.storage_options import ObjectSettings

_LOG: Final = logging.getLogger("lakebed")


def list_uploads(folder: Location, settings: ObjectSettings) -> Iterator[UnfinishedUpload]:
    """Yields the unfinished uploads below a folder. Yields none, and logs it, if the store does not list them."""
    if folder.service != "s3":
        return
    prefix = f"{folder.key}/"
    query = {"uploads": ""}
    if is_provider_itself(folder, settings):
        query["prefix"] = prefix  # MinIO takes a prefix as the whole name of an object
    marker: dict[str, str] = {}
    while True:
        note_request("list", f"{folder}/?uploads")
        try:
            page = _parse(signed_request(replace(folder, key=""), settings, "GET", {**query, **marker}), folder)
        except UnsupportedError as error:
            _LOG.info("unfinished uploads below %s are not looked for: %s", folder, error)
            return
        for each in page.iterfind("{*}Upload"):
            key = each.findtext("{*}Key", "")
            if key.startswith(prefix):
                began_millis = parse_time(each.findtext("{*}Initiated", ""), "the time of an upload")
                path = str(replace(folder, key=key))
                yield UnfinishedUpload(path, each.findtext("{*}UploadId", ""), began_millis)
        following = {
            "key-marker": page.findtext("{*}NextKeyMarker", ""),
            "upload-id-marker": page.findtext("{*}NextUploadIdMarker", ""),
        }
        if page.findtext("{*}IsTruncated") != "true" or following == marker:
            return
        marker = following


def abort_upload(location: Location, settings: ObjectSettings, upload_id: str) -> None:
    """Deletes the parts of an upload; does nothing if it was finished or aborted meanwhile."""
    note_request("delete", f"{location}?uploadId")
    try:
        signed_request(location, settings, "DELETE", {"uploadId": upload_id})
    except NotFoundError:
        return
    except UnsupportedError as error:
        raise StorageError(f"cannot abort an upload: {error}") from None


def _parse(answer: bytes, folder: Location) -> ET.Element:
    try:
        return ET.fromstring(answer)  # noqa: S314 - the answer of the store that holds the tables
    except ET.ParseError as error:
        raise StorageError(f"cannot list the unfinished uploads below {folder}: {error}") from None
