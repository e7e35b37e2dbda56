"""The admin API as a client sees it."""

import http.client
import json
import socket
import time

from http1 import PATIENCE


class Api:
    def __init__(self, port, token=None):
        self.port, self.token = port, token

    def call(self, method, target, body=None, timeout=70, **headers):
        """(status, parsed body, headers)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            if self.token:
                headers["Authorization"] = f"Bearer {self.token}"
            connection.request(method, target, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            parsed = json.loads(text) if answer.headers.get("Content-Type") == "application/json" else text
            return answer.status, parsed, answer.headers
        finally:
            connection.close()

    def get(self, target, **options):
        status, body, _ = self.call("GET", target, **options)
        assert status == 200, (status, body)
        return body

    def endpoint(self, name, backend="service"):
        return self.get(f"/api/v1/backends/{backend}/endpoints/{name}")

    def drain(self, endpoint, **more):
        status, body, _ = self.call("POST", "/api/v1/drains", {"endpoint": endpoint, **more})
        assert status == 201, (status, body)
        return body["id"]

    def drain_state(self, identity, wait="0s"):
        return self.get(f"/api/v1/drains/{identity}?wait={wait}")


def runtime(path, line, timeout=PATIENCE):
    """One line to a runtime socket, as socat does it; all that comes until the end."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout)
        connection.connect(str(path))
        connection.sendall(line.encode() + b"\n")
        reply = b""
        while piece := connection.recv(65536):
            reply += piece
        return reply.decode()


def timed(action):
    started = time.monotonic()
    value = action()
    return value, time.monotonic() - started
