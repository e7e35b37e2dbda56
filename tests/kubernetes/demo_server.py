"""The image rig/server: an HTTP server that says which pod it is, and tells what happens to it.

GET /          the pod's name
GET /healthz   200, or 503 while POST /unhealthy holds; POST /healthy ends that
GET /prestop   for a hook
POST /exit     ends the server
SIGTERM        ends the server; with --stay it goes on serving until POST /exit or SIGKILL
$RECORD names a file that gets a line for each hook and signal.
"""

import http.server
import os
import signal
import sys
import threading

PORT = int(os.environ.get("PORT", "8080"))
healthy = threading.Event()
healthy.set()


def record(line):
    print(line, flush=True)
    if path := os.environ.get("RECORD"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text):
        body = (text + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):  # noqa: N802
        if self.path == "/healthz" and not healthy.is_set():
            self.answer(503, "unhealthy")
            return
        if self.path == "/prestop":
            record("preStop")
        self.answer(200, os.environ.get("HOSTNAME", "server"))

    def do_POST(self):  # noqa: N802
        if self.path == "/unhealthy":
            healthy.clear()
        elif self.path == "/healthy":
            healthy.set()
        self.answer(200, "done")
        if self.path == "/exit":
            os._exit(0)

    def log_message(self, *_):
        pass


def terminate(*_):
    record("SIGTERM")
    if "--stay" not in sys.argv:
        os._exit(0)


def main():
    signal.signal(signal.SIGTERM, terminate)
    server = http.server.ThreadingHTTPServer(("0.0.0.0", PORT), Handler)
    record("started")
    server.serve_forever()


if __name__ == "__main__":
    main()
