"""Endpoints that leave, drain or go while they have work: new work goes elsewhere, old work ends by itself or by the deadline."""

import threading

import pytest

import awkward
from http1 import PATIENCE, request, response
from router import configuration, endpoint, wait_until
from test_tunnels import upgraded

LEAVING = ["leaving", "drain", "maint", "gone"]


def change(one, backends):
    generation = one.metric("ebbgate_config_generation")
    one.change(backends=backends)
    wait_until(lambda: one.metric("ebbgate_config_generation") > generation, what="the change")


def pair(old, new, state, **more):
    endpoints = [endpoint(new.port, "new")]
    if state != "gone":
        endpoints.insert(0, endpoint(old.port, "old", state=state))
    return [{"name": "service", "endpoints": endpoints, **more}]


def holding(name):
    """Answers when it is let: the exchange is in flight until then."""

    def serve(stream, known):
        while True:
            known.requests.append(stream.read_request())
            assert known.released.wait(60)
            stream.send(response(name.encode()))

    return serve


@pytest.mark.parametrize("state", LEAVING)
def test_request_in_flight_is_answered_and_the_next_goes_elsewhere(router, backend, state):
    old, new = backend(holding("old")), backend(awkward.named("new"))
    one = router(configuration(backends=[{"name": "service", "endpoints": [endpoint(old.port, "old")]}]))
    answers = []
    with one.dial() as client:
        client.send(request())
        old.wait_for_requests(1)
        change(one, pair(old, new, state))
        assert one.get().body == b"new"
        old.released.set()
        answers.append(client.read_response().body)
        client.send(request())
        answers.append(client.read_response().body)
    assert answers == [b"old", b"new"]
    assert len(old.requests) == 1


@pytest.mark.parametrize("state", LEAVING)
def test_idle_connection_is_closed_at_once(router, backend, state):
    old, new = backend(awkward.named("old")), backend(awkward.named("new"))
    one = router(configuration(backends=[{"name": "service", "endpoints": [endpoint(old.port, "old")]}]))
    assert one.get().body == b"old"
    one.change(backends=pair(old, new, state))
    cause = "endpoint_gone" if state == "gone" else "endpoint_draining"
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="backend", cause=cause) == 1, what="the close of the idle connection")
    assert one.get().body == b"new"


@pytest.mark.parametrize("state", LEAVING)
def test_what_is_left_at_the_deadline_is_cut(router, backend, state):
    old, new = backend(awkward.upgrading()), backend(awkward.named("new"))
    one = router(configuration(backends=[{"name": "service", "endpoints": [endpoint(old.port, "old")]}]))
    with upgraded(one) as tunnel:
        one.change(backends=pair(old, new, state, drain={"deadline": "300ms"}))
        assert tunnel.read_to_end() is not None
    one.logged(status=101, cause="drain_deadline")


def test_tunnel_lives_on_when_its_endpoint_comes_back(router, backend):
    old, new = backend(awkward.upgrading()), backend(awkward.named("new"))
    one = router(configuration(backends=[{"name": "service", "endpoints": [endpoint(old.port, "old")]}]))
    with upgraded(one) as tunnel:
        for _ in range(3):
            change(one, pair(old, new, "drain", drain={"deadline": "60s"}))
            assert one.get().body == b"new"
            change(one, [{"name": "service", "endpoints": [endpoint(old.port, "old")]}])
        tunnel.send(b"still here")
        assert tunnel.read(10) == b"still here"


def test_leaving_endpoint_serves_when_nothing_else_does(router, backend):
    old = backend(awkward.named("old"))
    one = router(configuration(backends=[{"name": "service", "endpoints": [endpoint(old.port, "old", state="leaving")]}]))
    assert [one.get().body for _ in range(3)] == [b"old"] * 3


def test_flapping_under_load_loses_nothing(router, backend):
    one_end, other = backend(awkward.named("a")), backend(awkward.named("b"))
    one = router(configuration(one_end.port, other.port))
    stop, statuses = threading.Event(), []

    def load():
        with one.dial() as client:
            while not stop.is_set():
                client.send(request())
                statuses.append(client.read_response().status)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(40):
        states = ["drain", "ready", "leaving", "maint"]
        change(one, [{"name": "service", "endpoints": [
            endpoint(one_end.port, "a", state=states[turn % 4]), endpoint(other.port, "b", state=states[(turn + 2) % 4])]}])
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert set(statuses) == {200}


def test_websocket_is_told_that_its_endpoint_goes_away(router, backend):
    old, new = backend(awkward.upgrading()), backend(awkward.named("new"))
    one = router(configuration(backends=[{"name": "service", "endpoints": [endpoint(old.port, "old")]}]))
    with upgraded(one) as tunnel:
        tunnel.send(b"\x82\x02hi")
        assert tunnel.read(4) == b"\x82\x02hi"
        change(one, pair(old, new, "drain", drain={"deadline": "200ms"}))
        assert tunnel.read_to_end() == b"\x88\x02\x03\xe9"  # Close, 1001
    wait_until(lambda: old.received[0].endswith(b"\x88\x82\0\0\0\0\x03\xe9"), what="the Close that the endpoint gets")
