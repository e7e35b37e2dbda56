"""Connections that wait for a request have a budget: the one that has waited longest goes first."""

import contextlib

import pytest

import awkward
from http1 import request
from router import configuration, wait_until


def used(one, stack):
    client = stack.enter_context(one.dial())
    client.send(request())
    assert client.read_response().status == 200
    return client


@pytest.mark.parametrize("where", ["client", "listener", "all"])
def test_the_one_that_waited_longest_is_closed_for_the_newest(router, backend, where):
    settings = configuration(backend(awkward.named("x")).port)
    if where == "listener":
        settings["listeners"][0]["idle_connections"] = 3
    else:
        settings["limits"] = {"idle_per_client" if where == "client" else "idle_connections": 3}
    one = router(settings)
    with contextlib.ExitStack() as stack:
        clients = [used(one, stack) for _ in range(3)]
        clients[0].send(request())  # used again: now the second has waited longest
        assert clients[0].read_response().status == 200
        clients.append(used(one, stack))
        assert clients[1].is_closed()
        for client in (clients[0], clients[2], clients[3]):
            client.send(request())
            assert client.read_response().status == 200
    assert one.metric("ebbgate_connections_closed_total", side="client", cause="client_idle_budget") == 1


def test_prober_that_never_closes_is_held_to_its_share(router, backend):
    one = router(configuration(backend(awkward.named("x")).port, limits={"idle_per_client": 20}))
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            used(one, stack)
        wait_until(lambda: one.metric("ebbgate_connections", side="client", state="idle") <= 20, what="the share")


def test_answers_say_why_where_that_is_wanted(router):
    one = router(configuration(cause_header=True, routes=[{"name": "other", "host": "other.example", "backend": "service"}]))
    assert one.get().get("Ebbgate-Cause") == "route_not_found"


def test_answers_do_not_say_why_where_nobody_asked_for_it(router):
    assert router(configuration(routes=[])).get().get("Ebbgate-Cause") is None
