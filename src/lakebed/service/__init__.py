"""The management service: a REST interface over warehouses, and the dashboard that uses it.

``create_app(Settings(...))`` makes an ASGI application; ``lakebed serve`` runs it. What it promises:

* It reads. The only file that it writes on its own is the history index of a table, and not even that if ``read_only``.
  Actions that change tables exist only with ``allow_actions``; each runs as a job and is a dry run unless it says otherwise.
* Nothing outside of the warehouses is opened, whatever names, links or manifests say (:mod:`lakebed.service.confined_storage`).
* Who may ask is decided before anything else is done (:mod:`lakebed.service.guard`).
* Pages, previews and bodies have limits; an answer is JSON, an error one sentence with a fitting status, never a trace.
* Work on tables happens on threads, never on the event loop.

Needs the extra ``service``: ``pip install 'lakebed[service]'``.
"""

from lakebed.service.app import create_app
from lakebed.service.settings import Limits, Settings

__all__ = ["Limits", "Settings", "create_app"]
