# SPDX-License-Identifier: BSD-3-Clause
"""The small web server of `waitio stage watch`: a page, and what it asks for again and again.

It listens on this machine's loopback device only, and answers only who knows the key in the
address: others on the machine do not.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable
from urllib.parse import parse_qs, urlsplit

from waitio.errors import WaitioError

# The page takes nothing from anywhere else.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline';"
    " connect-src 'self'; img-src data:"
)


class Server:
    """Serves `page` at its address, and the answers of `state` below it."""

    def __init__(
        self, port: int, page: str, state: Callable[[dict[str, str]], dict[str, Any]]
    ) -> None:
        """Listen; port 0 is a free one."""
        self.key = secrets.token_urlsafe(12)
        handler = type("Handler", (_Handler,), {"key": self.key, "page": page, "state": [state]})
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError as error:
            raise WaitioError(
                f"--port {port}: {error.strerror}: name another, or none for a free one"
            ) from None
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), daemon=True, name="watch"
        )

    @property
    def address(self) -> str:
        """What a browser is to open."""
        return f"http://127.0.0.1:{self.port}/{self.key}/"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    key = ""
    page = ""
    state: list[Callable[[dict[str, str]], dict[str, Any]]] = []
    timeout = 10  # seconds for a request to come

    def do_GET(self) -> None:
        """Answer."""
        parts = urlsplit(self.path)
        key, _, what = parts.path.lstrip("/").partition("/")
        if not hmac.compare_digest(key.encode(), self.key.encode()):
            self._send(404, "text/plain", "the address is wrong: use the one that was printed\n")
        elif what == "":
            self._send(200, "text/html", self.page)
        elif what == "state":
            asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            self._send(200, "application/json", json.dumps(self.state[0](asked)))
        else:
            self._send(404, "text/plain", "there is no such page\n")

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no line for each request."""
