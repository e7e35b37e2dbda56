"""Peers that mean harm (hostile.py) against both reactors. The router may refuse, close and time out; it may not end, lose count,
or stop to serve others. What they send without chance is in test_hostile_clients.py, test_hostile_endpoints.py and
test_hostile_admin.py.

`make hostile` is a long run against sanitizers' binaries, with a seed of its own that a failure tells; EBB_HOSTILE_SEED=... repeats
its scripts.
"""

import contextlib
import os
import random

import pytest

import awkward
import hostile
from http1 import trusting_context
from router import PORTS, configuration, endpoint, wait_until
from test_tls_modes import over_tls

SECONDS = float(os.environ.get("EBB_HOSTILE_SECONDS", 4))
SEED = os.environ.get("EBB_HOSTILE_SEED") or (str(random.randrange(1 << 32)) if "EBB_HOSTILE_SECONDS" in os.environ else "1")
CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"


@pytest.fixture
def pair(certificates):
    return certificates("localhost", "ecdsa", "localhost")


def site(backend, pair):
    """Each kind of endpoint, hostile, with a good one beside it where exchanges may move on."""
    listeners = [{"name": "web", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "http", "http2": True},
                 {"name": "secure", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "https", "certificates": [pair]}]
    good = backend(over_tls(awkward.named("good"), pair, alpn=["http/1.1"]))
    backends, routes = [], []
    for speaks in ("http1", "h2", "auto", "plain", "h2c"):
        tls = speaks not in ("plain", "h2c")
        bad = backend(hostile.endpoint(SEED, pair if tls else None, speaks))
        endpoints = [endpoint(bad.port, "bad")] + ([endpoint(good.port, "good")] if speaks in ("http1", "auto") else [])
        checks = {"health": {"http": "/", "every": "500ms", "timeout": "400ms"}} if speaks in ("h2", "plain") else {}
        backends.append({"name": speaks, "endpoints": endpoints, "protocol": "http1" if speaks == "plain" else speaks, "balance": "round_robin",
                         **({"tls": {"verify": False}} if tls else {}), **checks})
        routes.append({"name": speaks, "path": f"/{speaks}", "backend": speaks, "timeout": "1s", **({"tls": "reencrypt"} if tls else {})})
    backends += [{"name": "cut", "endpoints": [endpoint(backend(awkward.closing_after(CUT)).port)]},
                 {"name": "service", "endpoints": [endpoint(backend(awkward.named("good")).port)]}]
    routes += [{"name": "cut", "path": "/cut", "backend": "cut"}, {"name": "all", "backend": "service"}]
    return configuration(listeners=listeners, routes=routes, backends=backends, workers=2)


def test_peers_that_mean_harm(router, backend, pair):
    one = router(site(backend, pair))
    ports = {False: one.port(), True: one.port("secure")}
    count = hostile.clients(f"{SEED}", ports, SECONDS)
    told = f"seed {SEED}, after {count} connections: {one.error_text()[-2000:]}"
    assert one.process.poll() is None, told
    assert count > 10, told
    assert one.get().body == b"good", told
    assert one.get(listener="secure", tls=trusting_context()).body == b"good", told
    with contextlib.suppress(AssertionError):
        wait_until(lambda: one.metric("ebbgate_connections", side="client") == 0)
    assert one.metric("ebbgate_connections", side="client") == 0, told
    assert one.metric("ebbgate_missing_transitions_total") == 0 and one.metric("ebbgate_lost_handles_total") == 0, told
