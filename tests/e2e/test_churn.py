"""1,000 configuration changes in a minute under load: listeners, certificates, routes and endpoints come and go; no
request fails, and the memory afterwards is what it was before."""

import contextlib
import random
import re
import subprocess
import time

import pytest

import awkward
from http1 import dial, request, trusting_context
from router import PORTS, configuration, endpoint, wait_until

CHANGES = 1000
SECONDS = 60
GROWTH_KIB_MAX = 8 << 10

pytestmark = pytest.mark.slow


class Churn:
    """Settings that differ in something every time; two listeners always stay, for the load."""

    def __init__(self, settings, services, pairs):
        self.settings, self.services, self.pairs = settings, services, pairs
        self.chance = random.Random(11)
        self.extra_ports = [PORTS.take() for _ in range(4)]

    def next(self, number):
        chosen = self.chance.sample(self.services, self.chance.randint(1, len(self.services)))
        backends = [{"name": "service", "endpoints": [endpoint(port, f"e{port}", weight=self.chance.randint(1, 3)) for port in chosen]}]
        routes = [{"name": f"extra-{index}", "host": f"h{number + index}.test", "backend": "service"} for index in range(self.chance.randint(0, 20))]
        listeners = [dict(one) for one in self.settings["listeners"]]
        listeners[1]["certificates"] = [self.pairs[number % 2]]
        for port in self.chance.sample(self.extra_ports, self.chance.randint(0, 3)):
            listeners.append({"name": f"extra-{port}", "bind": f"127.0.0.1:{port}", "protocol": "http"})
        return {"listeners": listeners, "routes": routes + self.settings["routes"], "backends": backends}


@contextlib.contextmanager
def wrk(url):
    # A busy machine makes answers late; only one that never comes is a failure. Nor does the load make it busy for others.
    command = ["nice", "-n", "15", "wrk", "-t1", "-c8", "--timeout", "20s", f"-d{SECONDS + 5}s", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    result = {}
    try:
        yield result
        result["output"] = process.communicate(timeout=60)[0]
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_a_thousand_changes_in_a_minute_lose_no_request(router, nginx, backend, certificates):
    services = [nginx.port] + [backend(awkward.named("awkward")).port for _ in range(2)]
    pairs = [certificates(stem, "ecdsa", "localhost") for stem in ("churn-one", "churn-two")]
    settings = configuration(*services, workers=2)
    settings["listeners"].append({"name": "secure", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "https", "certificates": pairs[:1]})
    one = router(settings)
    churn = Churn(settings, services, pairs)
    for number in range(50):  # what is allocated once is allocated now
        one.change(**churn.next(number))
        one.get("/small")
        time.sleep(0.05)
    before, generation = one.rss_kib(), one.metric("ebbgate_config_generation")
    loads = [f"http://127.0.0.1:{one.port()}/small", f"https://127.0.0.1:{one.port('secure')}/small"]
    with wrk(loads[0]) as plain, wrk(loads[1]) as tls, one.dial() as kept, one.dial("secure", tls=trusting_context()) as kept_tls:
        started = time.monotonic()
        for number in range(CHANGES):
            one.change(**churn.next(number))
            # Changes closer together than the watch's quiet time count as one.
            wait_until(lambda: one.metric("ebbgate_config_generation") > generation + number, what="the change")
            time.sleep(max(0, started + (number + 1) * SECONDS / CHANGES - time.monotonic()))
            if number % 10 == 0:
                for client in (kept, kept_tls):  # connections that are as old as the load
                    client.send(request(target="/small"))
                    assert client.read_response().status == 200
                with dial(one.port("secure"), tls=trusting_context()) as fresh:
                    fresh.send(request(target="/small"))
                    assert fresh.read_response().status == 200
    for result in (plain, tls):
        assert "Socket errors" not in result["output"] and "Non-2xx" not in result["output"], result["output"]
        assert int(re.search(r"(\d+) requests in", result["output"]).group(1)) > 1000
    wait_until(lambda: one.metric("ebbgate_config_snapshots_alive") <= 2, what="the end of the old configurations")
    assert one.rss_kib() - before < GROWTH_KIB_MAX
    # wrk stops by the clock, in the middle of its last requests; what it got wrong before is in its output.
    failed = {name: value for name, value in one.metrics().items() if name.startswith("ebbgate_requests_total")
              and 'code="200"' not in name and 'cause="client_aborted"' not in name}
    assert not failed
