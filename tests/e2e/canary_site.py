"""A router whose canary walks routes of every kind to one `ebbgate canary serve`, and what it says of them."""

import json

from router import PORTS, wait_until

HOSTS = {"plain": "canary.test", "edge": "canary.test", "reencrypt": "re.canary.test", "passthrough": "raw.canary.test"}
PROTOCOLS = ("http1_fresh", "http1_reused", "h2", "websocket")


def settings(healthcheck, listeners=("web", "secure"), **canary):
    """Routes of every kind to one server, which answers with TLS and without."""
    endpoints = [{"name": "one", "address": f"127.0.0.1:{healthcheck.ports[0]}"}]
    every = {
        "web": {"name": "web", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "http"},
        "secure": {"name": "secure", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "https", "certificates": [healthcheck.pair]},
    }
    return {
        "listeners": [every[name] for name in listeners],
        "routes": [
            {"name": "walked", "host": HOSTS["edge"], "backend": "canary"},
            {"name": "reencrypted", "host": HOSTS["reencrypt"], "backend": "canary-tls", "tls": "reencrypt"},
            {"name": "raw", "host": HOSTS["passthrough"], "backend": "canary-raw", "tls": "passthrough"},
            {"name": "other", "host": "other.test", "backend": "other"},
        ],
        "backends": [
            {"name": "canary", "endpoints": endpoints},
            {"name": "canary-tls", "endpoints": endpoints, "tls": {"ca": healthcheck.pair["cert"], "name": HOSTS["edge"]}},
            {"name": "canary-raw", "endpoints": endpoints},
            {"name": "other", "endpoints": endpoints},
        ],
        "canary": {"backends": ["canary", "canary-tls", "canary-raw"], "ports": healthcheck.ports, "ca": healthcheck.pair["cert"],
                   "every": "1s", "budget": "1s", **canary},
        "audit": {"every": "1s"},
    }


def canary(router):
    return json.loads(router.ask_admin("/api/v1/canary").body)


def legs(router):
    return {leg["name"]: leg for leg in canary(router)["legs"]}


def statuses(router):
    return {name: leg["condition"]["status"] for name, leg in legs(router).items()}


def failures(router):
    """{leg: name of its fault} of those that fail."""
    return {name: leg["cause"]["fault"] for name, leg in legs(router).items() if leg["condition"]["status"] == "False"}


def wait_until_all_succeed(router, seconds=60):
    try:
        wait_until(lambda: set(statuses(router).values()) == {"True"}, seconds, "that all legs succeed")
    except AssertionError:
        raise AssertionError({name: leg["errors"] for name, leg in legs(router).items() if leg["condition"]["status"] != "True"}) from None


def generation(router):
    return json.loads(router.ask_admin("/api/v1/config").body)["generation"]
