"""A plain client of the API server: requests, and a watch that lists again when it has to."""

import http.client
import json
import socket
import ssl
import urllib.parse

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json"
ANSWER_SECONDS = 60  # a bound for what hangs; a busy machine answers late
WATCH_SECONDS = 60


class ApiError(Exception):
    def __init__(self, status, body, headers=None):
        super().__init__(f"{status} {body[:500]!r}")
        self.status, self.body, self.headers = status, body, headers or {}


class Connection(http.client.HTTPConnection):
    """TLS over a socket that somebody else dials; the certificate is that of `address`."""

    def __init__(self, address, port, context, dial, timeout):
        super().__init__(address, port, timeout=timeout)
        self._context, self._dial = context, dial

    def connect(self):
        raw = self._dial(self.host, self.port, self.timeout)
        self.sock = self._context.wrap_socket(raw, server_hostname=self.host)


def dial_directly(address, port, timeout):
    return socket.create_connection((address, port), timeout)


class Api:
    def __init__(self, address, port, token, authority, dial=dial_directly):
        self.address, self.port, self.token, self._dial = address, port, token, dial
        self._context = ssl.create_default_context(cadata=authority)

    def connect(self, timeout=ANSWER_SECONDS):
        return Connection(self.address, self.port, self._context, self._dial, timeout)

    def _headers(self, content=JSON):
        return {"Authorization": f"Bearer {self.token}", "Accept": JSON, "Content-Type": content}

    def request(self, method, path, body=None, content=JSON, timeout=ANSWER_SECONDS, **query):
        """The object that the server answers; ApiError for a refusal, OSError or HTTPException where there is no answer."""
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        connection = self.connect(timeout)
        try:
            connection.request(method, target, None if body is None else json.dumps(body), self._headers(content))
            response = connection.getresponse()
            answer = response.read()
            if response.status >= 300:
                raise ApiError(response.status, answer, dict(response.getheaders()))
            return json.loads(answer) if answer[:1] in (b"{", b"[") else answer.decode()
        finally:
            connection.close()

    def get(self, path, **query):
        return self.request("GET", path, **query)

    def events(self, path, version, timeout=WATCH_SECONDS + ANSWER_SECONDS, **query):
        """Of one watch, until the server ends it: the events as they come."""
        query.update(watch=1, resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds=WATCH_SECONDS)
        connection = self.connect(timeout)
        try:
            connection.request("GET", path + "?" + urllib.parse.urlencode(query), headers=self._headers())
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError(response.status, response.read(), dict(response.getheaders()))
            for line in response:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"].get("code", 0), line)
                yield event
        finally:
            connection.close()

    def follow(self, path, **query):
        """Yields ("LIST", objects) and then each event of a watch; raises when it has to be begun anew."""
        listed = self.get(path, **query)
        yield "LIST", listed["items"]
        version = listed["metadata"]["resourceVersion"]
        while True:
            for event in self.events(path, version, **query):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    yield event["type"], event["object"]
