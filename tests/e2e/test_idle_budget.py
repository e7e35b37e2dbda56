"""Idle connections to an endpoint have a budget: it follows what worked at a time, and has a most."""

import contextlib
import threading

import pytest

from http1 import request, response
from router import backend as backend_of
from router import configuration

TOGETHER = 20
ROUNDS = 5


def answering_together(count):
    """Answers when so many requests are there: they cannot but work at a time."""
    barrier = threading.Barrier(count, timeout=30)

    def serve(stream, _):
        while True:
            stream.read_request()
            barrier.wait()
            stream.send(response(b"together"))

    return serve


@pytest.mark.parametrize("keepalive, opened, closed", [
    ({"idle_per_endpoint": 2}, TOGETHER, 0),
    ({"idle_per_endpoint": 2, "idle_per_endpoint_max": 5}, TOGETHER + (ROUNDS - 1) * (TOGETHER - 5), ROUNDS * (TOGETHER - 5)),
    ({"idle_per_endpoint": 0}, ROUNDS * TOGETHER, ROUNDS * TOGETHER),
], ids=["follows", "most", "none"])
def test_budget_follows_what_works_at_a_time(router, backend, keepalive, opened, closed):
    service = backend(answering_together(TOGETHER))
    one = router(configuration(backends=[backend_of(service.port, keepalive=keepalive)]))
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(one.dial()) for _ in range(TOGETHER)]
        for _ in range(ROUNDS):
            for client in clients:
                client.send(request())
            for client in clients:
                assert client.read_response().body == b"together"
    assert one.metric("ebbgate_backend_connections_opened_total") == opened
    assert one.metric("ebbgate_connections_closed_total", side="backend", cause="backend_idle_budget") == closed
