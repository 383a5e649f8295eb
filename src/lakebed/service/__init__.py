"""The management service: a REST interface over warehouses, and the dashboard that uses it.

``create_app(Settings(...))`` returns an ASGI application; ``lakebed serve`` runs it. What it promises:

* It is read-only. The only file that it writes is the history index of a table, and with ``read_only`` not even that.
  Actions that change tables need ``allow_actions``; each runs as a job, and is a dry run unless the request says
  otherwise.
* It opens nothing outside of the warehouses, whatever names, links or manifests say
  (:mod:`lakebed.service.confined_storage`).
* It checks host, token and origin before it processes a request (:mod:`lakebed.service.guard`).
* Pages, previews and request bodies are limited. A response is JSON; an error has a status and one sentence, never a
  traceback.
* Work on tables runs on threads, never on the event loop.

``routes`` are the addresses, ``models`` the types of requests and responses, ``numbers`` computes what they return,
``web`` is the dashboard.

Needs the extra ``service``: ``pip install 'lakebed[service]'``.
"""

from lakebed.optional import check_installed

try:
    from lakebed.service.app import create_app
    from lakebed.service.settings import Limits, Settings
except ImportError:
    check_installed("lakebed.service", "fastapi", "prometheus_client")
    raise

__all__ = ["Limits", "Settings", "create_app"]
