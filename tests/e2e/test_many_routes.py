"""A hundred thousand routes: how long they take to load, what they take to hold, and that each is found."""

import json
import pathlib
import re
import time

import pytest

import awkward
from http1 import request
from router import HELD, SANITIZED, configuration, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(SANITIZED, reason="sanitizers change time and memory")]

ROUTES = 100_000
LOAD_SECONDS_MAX = 2
EXTRA_MIB_MAX = 200


def many(count):
    return [{"name": f"r{number}", "host": f"h{number % 1000}.test", "path": f"/service/{number}", "backend": "service"} for number in range(count)]


def in_lines(settings):
    """As people write it: a line for each route."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in settings.items() if key != "routes"]
    return "\n".join([*lines, "routes:", *(f"  - {json.dumps(route)}" for route in settings["routes"]), ""])


def peak_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE).group(1)) / 1024


@pytest.mark.prompt
@pytest.mark.parametrize("write", [in_lines, json.dumps], ids=["lines", "json"])
def test_hundred_thousand_routes_load_quickly_and_are_small(router, backend, write):
    service = backend(awkward.named("found"))
    one = router(configuration(service.port, routes=many(1)))
    before = one.rss_kib() / 1024
    generation = one.metric("ebbgate_config_generation")
    text = write({**one.settings, "routes": many(ROUTES)})
    one.write_text(text)
    written = time.monotonic()
    wait_until(lambda: one.metric("ebbgate_config_generation") > generation, 60, "the new generation")
    load_seconds = time.monotonic() - written
    extra_mib = peak_mib(one.process) - before
    print(f"\n{ROUTES} routes: loaded in {load_seconds:.2f} s, {extra_mib:.0f} MiB more at the peak, "
          f"{one.rss_kib() / 1024 - before:.0f} MiB after it")
    with one.dial() as client:
        for number in (0, 1, 999, 50_000, ROUTES - 1):
            client.send(request(target=f"/service/{number}/x", host=f"h{number % 1000}.test"))
            assert client.read_response().body == b"found"
            one.logged(route=f"r{number}")
        client.send(request(target="/service/7", host="h8.test"))
        assert client.read_response().status == 404
    assert load_seconds < LOAD_SECONDS_MAX or not HELD
    assert extra_mib < EXTRA_MIB_MAX
