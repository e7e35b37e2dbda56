#!/usr/bin/python3
"""Requests drains and times their receipts: receipts.py COUNT ENDPOINT

Each drain is requested while a request is in flight to the only endpoint. Prints a JSON list: seconds from the last byte of the response
at the client to the receipt; negative if the receipt came first. Runs beside the router."""

import http.client
import json
import select
import sys
import time

from ports import ADMIN, WEB

PATIENCE_SECONDS = 10


def ask(connection, method, path, body=None):
    connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {answer.status} {text.decode(errors='replace').strip()}")
    return json.loads(text) if text else {}


def time_one(web, admin, watcher, endpoint):
    web.request("GET", "/get?ms=40")
    time.sleep(0.01)
    drain = ask(admin, "POST", "/api/v1/drains", {"endpoint": endpoint})["id"]
    watcher.request("GET", f"/api/v1/drains/{drain}?wait={PATIENCE_SECONDS}s")
    seen = {}
    while len(seen) < 2:
        waiting = [one for one in (web, watcher) if one not in seen]
        ready = select.select([one.sock for one in waiting], [], [], PATIENCE_SECONDS)[0]
        now = time.monotonic()
        seen.update((one, now) for one in waiting if one.sock in ready)
        if not ready:
            raise SystemExit("neither response nor receipt came")
    answer, receipt = web.getresponse(), watcher.getresponse()
    answer.read()
    report = json.loads(receipt.read())
    if answer.status != 200 or report["state"] != "drained":
        raise SystemExit(f"status {answer.status}, drain {report}")
    ask(admin, "DELETE", f"/api/v1/drains/{drain}")
    return seen[watcher] - seen[web]


def main():
    count, endpoint = int(sys.argv[1]), sys.argv[2]
    web, admin, watcher = (http.client.HTTPConnection("127.0.0.1", port, timeout=20) for port in (WEB, ADMIN, ADMIN))
    for connection in (web, admin, watcher):
        connection.connect()
    print(json.dumps([time_one(web, admin, watcher, endpoint) for _ in range(count)]))


if __name__ == "__main__":
    main()
