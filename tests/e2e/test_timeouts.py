"""Every wait has an end; the access log or the metrics say which one it was."""

import contextlib
import socket
import time

import pytest

import awkward
from http1 import Closed, request, response, trusting_context
from router import backend as backend_of
from router import configuration, wait_until

SHORT = "300ms"
IN_TIME = (0.25, 9.0)  # not before its time, and before any default


@contextlib.contextmanager
def takes_its_time():
    started = time.monotonic()
    yield
    assert IN_TIME[0] <= time.monotonic() - started <= IN_TIME[1]


def test_request_head_that_does_not_arrive_is_408(router, backend):
    one = router(configuration(backend(awkward.named("x")).port, timeouts={"client_head": SHORT}))
    with one.dial() as client, takes_its_time():
        client.send(b"GET / HTTP/1.1\r\nHos")
        assert client.read_response().status == 408
        assert client.is_closed()
    one.logged(status=408, cause="client_head_timeout")


def test_slow_drip_of_a_head_does_not_extend_its_time(router, backend):
    one = router(configuration(backend(awkward.named("x")).port, timeouts={"client_head": SHORT}))
    with one.dial() as client, takes_its_time():
        with contextlib.suppress(ConnectionError):
            for byte in b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"y" * 100:
                client.send(bytes([byte]))
                time.sleep(0.01)
        with contextlib.suppress(ConnectionError):  # our own late bytes may have drawn a reset
            assert client.read_response().status == 408


def test_idle_client_connection_is_closed_without_a_word(router, backend):
    one = router(configuration(backend(awkward.named("x")).port, timeouts={"client_idle": SHORT}))
    with one.dial() as client, takes_its_time():
        client.send(request())
        client.read_response()
        assert client.is_closed()
    assert one.metric("ebbgate_connections_closed_total", side="client", cause="client_idle_timeout") == 1


def test_request_body_that_stops_is_408(router, backend):
    service = backend(awkward.echoing())
    one = router(configuration(service.port, timeouts={"client_body": SHORT}))
    with one.dial() as client, takes_its_time():
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
        assert client.read_response().status == 408
    one.logged(status=408, cause="client_body_timeout")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_client_that_stops_reading_is_cut_off(router, backend, certificates, tls):
    settings = configuration(backend(awkward.endless([0])).port, timeouts={"client_write": SHORT})
    if tls:
        settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    with one.dial(tls=trusting_context() if tls else None) as client:
        client.send(request())
        client.read_head()
        one.logged(status=200, cause="client_write_timeout")


def test_endpoint_that_does_not_answer_the_connection_attempt_is_504(router):
    with contextlib.ExitStack() as stack:
        # A full accept queue: the kernel drops further SYNs without a word.
        deaf = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        time.sleep(0.05)
        one = router(configuration(backends=[backend_of(deaf.getsockname()[1], timeouts={"connect": SHORT}, retries=0)]))
        with takes_its_time():
            answer = one.get()
        assert answer.status == 504 and b"backend_connect_timeout" in answer.body
        one.logged(status=504, cause="backend_connect_timeout")


def test_response_that_does_not_begin_is_504(router, backend):
    service = backend(awkward.stalling_after(b""))
    one = router(configuration(backends=[backend_of(service.port, timeouts={"response": SHORT}, retries=0)]))
    with takes_its_time():
        answer = one.get()
    assert answer.status == 504 and b"backend_response_timeout" in answer.body
    one.logged(status=504, cause="backend_response_timeout")


def test_route_may_allow_less_time_than_its_backend(router, backend):
    service = backend(awkward.stalling_after(b""))
    one = router(configuration(service.port, routes=[{"name": "hasty", "backend": "service", "timeout": SHORT}]))
    with takes_its_time():
        assert one.get().status == 504
    assert one.logged(status=504)["route"] == "hasty"


def test_response_body_that_stops_breaks_the_connection(router, backend):
    service = backend(awkward.stalling_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
    one = router(configuration(service.port, timeouts={"backend_body": SHORT}))
    with one.dial() as client, takes_its_time():
        client.send(request())
        with pytest.raises((Closed, ConnectionResetError)):
            client.read_response()
    one.logged(status=200, cause="backend_body_timeout")


def test_pooled_connection_is_closed_when_not_needed(router, backend):
    service = backend(awkward.named("x"))
    one = router(configuration(backends=[backend_of(service.port, timeouts={"idle": SHORT})]))
    with takes_its_time():
        one.get()
        wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="backend", cause="backend_idle_timeout") == 1)


def test_idle_tunnel_is_closed(router, backend):
    one = router(configuration(backend(awkward.upgrading()).port, timeouts={"tunnel_idle": SHORT}))
    with one.dial() as client:
        client.send(request(Connection="Upgrade", Upgrade="websocket"))
        assert client.read_response().status == 101
        with takes_its_time():
            client.send(b"ping")
            assert client.read(4) == b"ping"
            assert client.is_closed()
    one.logged(status=101, cause="tunnel_idle_timeout")


def test_tls_handshake_that_does_not_come_is_cut_off(router, backend, certificates):
    settings = configuration(backend(awkward.named("x")).port, timeouts={"tls_handshake": SHORT})
    settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    with takes_its_time(), one.dial() as client:
        assert client.is_closed()
    assert one.metric("ebbgate_connections_closed_total", side="client", cause="client_tls_timeout") == 1
    assert one.get(tls=trusting_context()).status == 200


def test_time_outs_do_not_hit_what_makes_progress(router, backend):
    pieces = [bytes([65 + number]) * 10 for number in range(10)]

    def drip(stream, known):
        known.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        for piece in pieces:
            time.sleep(0.15)
            stream.send(piece)

    less = "1300ms"  # than all pieces take, and more than a busy machine makes one of them late
    one = router(configuration(backend(drip).port, timeouts={"backend_body": less, "client_write": less, "client_idle": less}))
    assert one.get().body == b"".join(pieces)


def test_late_answer_after_a_time_out_reaches_nobody(router, backend):
    service = backend(awkward.answering_late(response(b"late")))
    one = router(configuration(backends=[backend_of(service.port, timeouts={"response": SHORT}, retries=0)]))
    assert one.get("/first").status == 504
    service.released.set()
    assert one.get("/second").body == b"late"
    assert [seen.target for seen in service.requests] == ["/first", "/second"] and len(service.streams) == 2
