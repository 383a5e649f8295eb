"""Serves the files of the dashboard: ``index.html`` for the address of every page, and its assets.

The address of an asset contains a digest of all assets, ``/assets/<digest>/app.js``, so browsers may cache it for ever;
a new version has another digest. ``index.html`` names assets as ``"/assets/...``, and the digest is inserted when it is
served. Files are read again when they change on disk. A name is looked up among the existing files, so it cannot lead
to another folder.
"""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from lakebed.service.error_answers import answer

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}
_INDEX: Final = "index.html"
_ASSETS: Final = "assets/"
_REVALIDATED: Final = "no-cache"
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_OURS: Final = ("api", "metrics", "healthz")


@dataclass(frozen=True, slots=True)
class WebFile:
    """A file as it is served."""

    content: bytes
    media_type: str
    etag: str

    @staticmethod
    def of(content: bytes, name: str) -> WebFile:
        return WebFile(content, _TYPES[Path(name).suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


class Web:
    """The files of a folder; none if the folder does not exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._stamp: tuple[tuple[str, int, int], ...] | None = None
        self._files: dict[str, WebFile] = {}
        self._digest = ""

    def find(self, path: str) -> tuple[WebFile, str] | None:
        """Returns the file for an address and its Cache-Control; ``None`` if there is none."""
        with self._lock:
            self._load()
            digest, files = self._digest, self._files
        if path.startswith(f"{_ASSETS}{digest}/"):
            found = files.get(_ASSETS + path.removeprefix(f"{_ASSETS}{digest}/"))
            return None if found is None else (found, _FOR_EVER)
        is_page = "." not in path.rpartition("/")[2] and not path.startswith(_ASSETS)
        found = files.get(_INDEX if is_page else path)
        return None if found is None else (found, _REVALIDATED)

    def _load(self) -> None:
        """Read all files again if one of them changed; there are few."""
        listed = sorted(self._listed())
        stamp = tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in listed)
        if stamp == self._stamp:
            return
        contents = {name: (self._folder / name).read_bytes() for name, _ in listed}
        together = hashlib.sha256()
        for name, content in contents.items():
            together.update(f"{name} {len(content)} ".encode() + content)
        self._digest = together.hexdigest()[:16]
        if _INDEX in contents:
            named = f'"/{_ASSETS}{self._digest}/'.encode()
            contents[_INDEX] = contents[_INDEX].replace(f'"/{_ASSETS}'.encode(), named)
        self._files = {name: WebFile.of(content, name) for name, content in contents.items()}
        self._stamp = stamp

    def _listed(self) -> list[tuple[str, os.stat_result]]:
        found = []
        for folder, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if not name.startswith((".", "_"))]
            for name in names:
                path = Path(folder, name)
                if path.suffix in _TYPES and not name.startswith(".") and not path.is_symlink():
                    found.append((path.relative_to(self._folder).as_posix(), path.stat()))
        return found


def web_router(folder: Path) -> APIRouter:
    """Returns the route for all other addresses: a page, an asset, or not found."""
    web = Web(folder)
    router = APIRouter(include_in_schema=False)

    @router.get("/{path:path}")
    @router.head("/{path:path}")
    def dashboard(request: Request, path: str) -> Response:
        found = None if path.split("/", 1)[0] in _OURS else web.find(path)
        if found is None:
            return _missing(path)
        file, cached = found
        headers = {"ETag": file.etag, "Cache-Control": cached}
        if file.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.media_type, headers=headers)

    return router


def _missing(path: str) -> JSONResponse:
    return answer(404, f"there is nothing at /{path}")
