"""Copies of requests to other backends. Whatever becomes of a copy, the request itself must not feel it."""

import socket
import time

import pytest

import awkward
import http2
from curl import ask
from http1 import request, response
from router import PORTS, configuration, wait_until
from router import backend as backend_of


@pytest.fixture(params=["1.1", "2"])
def version(request):
    return request.param


def mirrored(service, *shadows, route=None, **options):
    """Each shadow is a port; all get copies."""
    names = [f"shadow{index}" for index in range(len(shadows))]
    return configuration(routes=[{"backend": "service", "mirrors": [{"backend": name, **options} for name in names], **(route or {})}],
                         backends=[backend_of(service.port), *(backend_of(port, name=name) for name, port in zip(names, shadows))])


def copies(one, outcome):
    return one.metric("ebbgate_mirrors_total", outcome=outcome)


def test_each_mirror_gets_head_and_body(router, backend, version):
    service, first, second = backend(awkward.echoing()), backend(awkward.named("a")), backend(awkward.named("b"))
    one = router(mirrored(service, first.port, second.port, route={"request_headers": {"set": {"X-Env": "live"}}}))
    body = b"payload" * 1000
    assert ask(one.port(), "/a?b=c", version, body=body, host="shop.test").body == body
    for shadow in (first, second):
        shadow.wait_for_requests(1)
        seen = shadow.requests[0]
        assert (seen.method, seen.target, seen.get("Host"), seen.get("X-Env"), seen.body) == ("POST", "/a?b=c", "shop.test", "live", body)
    wait_until(lambda: copies(one, "answered") == 2)
    assert one.metric("ebbgate_requests_total") == 1
    wait_until(lambda: one.log(), what="the log")
    assert len(one.log()) == 1


def test_chunked_request_is_copied_whole(router, backend):
    service, shadow = backend(awkward.echoing()), backend(awkward.named("a"))
    one = router(mirrored(service, shadow.port))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        wait_until(lambda: b"first" in b"".join(service.received))
        assert not shadow.streams
        client.send(b"6\r\nsecond\r\n0\r\n\r\n")
        assert client.read_response().body == b"firstsecond"
    shadow.wait_for_requests(1)
    assert shadow.requests[0].body == b"firstsecond"


@pytest.mark.parametrize("behaviour", [awkward.stalling_after(b""), awkward.resetting_after(b""), awkward.closing_after(b"HTTP/1.1 200 OK\r\n"),
                                       awkward.answering(lambda _: b"nonsense\r\n\r\n"), None],
                         ids=["hangs", "resets", "dies", "lies", "refuses"])
def test_mirror_that_fails_disturbs_nobody(router, backend, behaviour, version):
    service = backend(awkward.named("fine"))
    port = backend(behaviour).port if behaviour else PORTS.take()
    one = router(mirrored(service, port, route={"timeout": "10s"}))  # which the service itself has, too
    started = time.monotonic()
    for _ in range(5):
        assert ask(one.port(), "/", version).body == b"fine"
    assert time.monotonic() - started < 5 * 10  # nobody has waited for a copy
    wait_until(lambda: copies(one, "failed") == 5)
    assert one.metric("ebbgate_requests_total", cause="completed") == 5
    assert one.metric("ebbgate_retries_total") == 0


def test_endless_answer_of_a_mirror_is_cut_off(router, backend):
    progress = [0]
    service, shadow = backend(awkward.named("fine")), backend(awkward.endless(progress))
    one = router(mirrored(service, shadow.port, route={"timeout": "3s"}))
    assert one.get().body == b"fine"
    wait_until(lambda: copies(one, "failed") == 1)


def test_large_bodies_are_not_copied(router, backend):
    service, shadow = backend(awkward.echoing()), backend(awkward.named("a"))
    one = router(mirrored(service, shadow.port))
    large = b"x" * (65536 + 1)
    assert ask(one.port(), "/", body=large).body == large
    assert ask(one.port(), "/", body=large, Transfer_Encoding="chunked").body == large
    assert ask(one.port(), "/", body=large[:-1]).body == large[:-1]
    shadow.wait_for_requests(1)
    assert copies(one, "left_out") == 2
    assert shadow.requests[0].body == large[:-1]


def test_upgrade_is_not_copied(router, backend):
    service, shadow = backend(awkward.upgrading()), backend(awkward.named("a"))
    one = router(mirrored(service, shadow.port))
    with one.dial() as client:
        client.send(request(Connection="Upgrade", Upgrade="websocket"))
        assert client.read_response().status == 101
        client.send(b"ping")
        assert client.read(4) == b"ping"
    assert not shadow.requests


def test_percentage_is_kept(router, backend):
    service, shadow = backend(awkward.named("fine")), backend(awkward.named("a"))
    one = router(mirrored(service, shadow.port, percent=50))
    with one.dial() as client:
        for _ in range(40):
            client.send(request() * 10)
            assert all(client.read_response().status == 200 for _ in range(10))
    # Six standard deviations of 400 draws.
    wait_until(lambda: 140 <= copies(one, "answered") + copies(one, "left_out") <= 260)


def test_copies_that_hang_do_not_pile_up(router, backend):
    service, shadow = backend(awkward.named("fine")), backend(awkward.stalling_after(b""))
    one = router(mirrored(service, shadow.port))
    with one.dial() as client:
        for _ in range(30):
            client.send(request() * 10)
            assert all(client.read_response().status == 200 for _ in range(10))
    assert copies(one, "left_out") == 300 - 256
    assert one.metric("ebbgate_exchanges") == 256


def test_client_that_leaves_before_its_request_is_whole_leaves_no_copy(router, backend):
    service, shadow = backend(awkward.echoing()), backend(awkward.named("a"))
    one = router(mirrored(service, shadow.port))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
    one.logged(cause="client_aborted")
    assert not shadow.requests
    assert one.get().status == 200
    shadow.wait_for_requests(1)


@pytest.mark.parametrize("mirrors", [1, 2])
def test_copy_may_find_the_connection_of_its_request_closed(router, backend, mirrors):
    """The copy goes to the backend that serves the request. When it is begun, the endpoint has closed the connection that both would
    share, and the request itself ends by that."""
    served = []
    service = backend(http2.noting(served))
    one = router(configuration(routes=[{"backend": "service", "mirrors": [{"backend": "service"}] * mirrors}],
                               backends=[backend_of(service.port, protocol="h2c")]))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
        wait_until(lambda: served and any(half.body for half in served[0].halves.values()))
        with one.stopped():  # so that the rest of the body is read before the end of the connection
            client.send(b"world")
            served[0].socket.shutdown(socket.SHUT_WR)
        assert client.read_response().status == 502
    wait_until(lambda: copies(one, "failed") + copies(one, "left_out") + one.metric("ebbgate_exchanges") == mirrors)
    assert one.metric("ebbgate_missing_transitions_total") == one.metric("ebbgate_lost_handles_total") == 0


def test_mirrors_of_a_response_that_came_early_do_not_break_it(router, backend):
    """The backend answers before it has read the body; the copy is sent once the request is whole, or never."""

    def early(stream, behind):
        behind.requests.append(stream.read_head())
        stream.send(response(b"early"))
        stream.read_to_end()

    service, shadow = backend(early), backend(awkward.named("a"))
    one = router(mirrored(service, shadow.port))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n")
        assert client.read_response().body == b"early"
    assert one.metric("ebbgate_missing_transitions_total") == 0
