"""When a request is sent again, and when it must not be (RFC 9110 section 9.2.2)."""

import threading

import pytest

import awkward
from http1 import request, response
from router import backend as backend_of
from router import PORTS, configuration


def dies_on_second(end):
    """The first connection answers once and then breaks on its second request; later ones are healthy."""
    return awkward.scripted(awkward.once_then(response(b"first"), end), awkward.named("fresh"))


@pytest.mark.parametrize("end", [awkward.closing_after(b""), awkward.resetting_after(b"")], ids=["fin", "rst"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_idempotent_request_on_a_stale_connection_is_sent_again(router, backend, end, method):
    service = backend(dies_on_second(end))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(request())
        assert client.read_response().body == b"first"
        client.send(request(method))
        assert client.read_response(method).status == 200
    assert [seen.method for seen in service.requests] == ["GET", method, method]
    assert one.logged(method=method, tries=2)["cause"] == "completed"


@pytest.mark.parametrize("end", [awkward.closing_after(b""), awkward.resetting_after(b"")], ids=["fin", "rst"])
def test_post_that_the_backend_may_have_acted_on_is_not_sent_again(router, backend, end):
    service = backend(dies_on_second(end))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(request())
        assert client.read_response().body == b"first"
        client.send(request("POST", body=b"once only"))
        assert client.read_response().status == 502
    assert [seen.method for seen in service.requests] == ["GET", "POST"]
    assert one.logged(method="POST", status=502)["cause"] in ("backend_closed", "backend_reset")


def test_post_does_not_meet_a_connection_that_the_backend_closed_while_idle(router, backend):
    closed = threading.Event()  # on loopback the FIN is at the router's socket when shutdown(2) returns

    def close(stream, _):
        stream.finish_sending()
        closed.set()
        stream.read_to_end()

    service = backend(awkward.scripted(awkward.once_then(response(b"first"), close), awkward.named("fresh")))
    one = router(configuration(service.port))
    assert one.get().body == b"first"
    assert closed.wait(5)
    with one.dial() as client:
        client.send(request("POST", body=b"once only"))
        assert client.read_response().body == b"fresh"


def test_any_request_moves_on_from_an_endpoint_that_refuses_the_connection(router, backend):
    service = backend(awkward.named("alive"))
    one = router(configuration(backends=[backend_of(PORTS.take(), service.port, balance="round_robin")]))
    for _ in range(6):
        with one.dial() as client:
            client.send(request("POST", body=b"never sent before"))
            assert client.read_response().body == b"alive"
    assert len(service.requests) == 6


def test_nothing_is_sent_again_once_the_response_began(router, backend):
    service = backend(awkward.closing_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun"))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(request())
        client.read_head()
        client.read_to_end()
    assert len(service.requests) == 1


def test_retries_are_bounded(router, backend):
    services = [backend(awkward.closing_after(b"")) for _ in range(6)]
    one = router(configuration(backends=[backend_of(*(service.port for service in services), retries=2)]))
    assert one.get().status == 502
    assert sum(len(service.requests) for service in services) == 3


def test_zero_retries_means_one_try(router, backend):
    services = [backend(awkward.closing_after(b"")) for _ in range(3)]
    one = router(configuration(backends=[backend_of(*(service.port for service in services), retries=0)]))
    assert one.get().status == 502
    assert sum(len(service.requests) for service in services) == 1
