"""Every wait has an end; the access log or the metrics say which one it was."""

import contextlib
import socket
import ssl
import time

import pytest

import awkward
import http2
from http1 import Closed, request, response, trusting_context
from raw_tls import RawTls
from router import SANITIZED, configuration, promised, wait_until
from router import backend as backend_of

SHORT = "300ms"
TEN = promised(10)  # defaults that are not much for a busy machine: their tests are `prompt`


@contextlib.contextmanager
def takes_its_time(default=30):
    """Not before its time, and before the default would have ended it."""
    started = time.monotonic()
    yield
    assert 0.25 <= time.monotonic() - started <= 0.9 * default


@pytest.mark.prompt
def test_request_head_that_does_not_arrive_is_408(router, backend):
    one = router(configuration(backend(awkward.named("x")).port, timeouts={"client_head": SHORT}))
    with one.dial() as client, takes_its_time(TEN):
        client.send(b"GET / HTTP/1.1\r\nHos")
        assert client.read_response().status == 408
        assert client.is_closed()
    one.logged(status=408, cause="client_head_timeout")


@pytest.mark.prompt
def test_slow_drip_of_a_head_does_not_extend_its_time(router, backend):
    one = router(configuration(backend(awkward.named("x")).port, timeouts={"client_head": SHORT}))
    with one.dial() as client, takes_its_time(TEN):
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


def ends_as_idle(one, ask):
    """Asks on and on for what the router itself replies to, until it has closed the connection; too rarely for a flood."""
    asked = 0.0

    def over():
        nonlocal asked
        if time.monotonic() > asked + 0.3:
            asked = time.monotonic()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                ask()
        return one.metric("ebbgate_connections_closed_total", side="client", cause="client_idle_timeout") == 1

    wait_until(over, what="the end of an idle connection")


REPLIED_TO = {"ping": http2.frame(6, payload=b"12345678"), "settings": http2.frame(4)}


@pytest.mark.parametrize("frame", REPLIED_TO)
@pytest.mark.parametrize("first", ["nothing", "a request"])
@pytest.mark.parametrize("tls", [False, True])
def test_our_own_acknowledgements_do_not_keep_an_idle_client(router, backend, certificates, frame, first, tls):
    head = "3s" if first == "nothing" else "10s"  # it is that long idle before the first request, too
    settings = configuration(backend(awkward.named("x")).port, timeouts={"client_idle": "1s", "client_head": head})
    if tls:
        settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    with http2.dial(one.port(), tls=tls) as client:
        if first == "a request":
            assert client.get().status == 200
        ends_as_idle(one, lambda: client.send_raw(REPLIED_TO[frame]))


def test_our_own_key_updates_do_not_keep_an_idle_client(router, backend, certificates):
    settings = configuration(backend(awkward.named("x")).port, timeouts={"client_idle": "1s", "client_head": "10s"})
    settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    peer = RawTls(socket.create_connection(("127.0.0.1", one.port())), alpn="http/1.1").shake_hands()
    with contextlib.closing(peer):
        peer.write(request())
        wait_until(lambda: one.log(), what="the answer")
        ends_as_idle(one, lambda: peer.update_key(1))


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
        deaf = awkward.deaf_listener(stack)
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


@pytest.mark.prompt
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_request_on_its_way_to_the_kernel_gives_the_endpoint_no_more_time(router, backend, protocol, method):
    """An answer after one and a half times the limit is too late, whatever of the request left a moment after it was given."""
    limit = 8 if SANITIZED else 2  # to give the time twice was the fault, so that a later answer would show nothing

    def late_h1(_):
        time.sleep(1.5 * limit)
        return response(b"late")

    def late_h2(peer, asked):
        time.sleep(1.5 * limit)
        http2.reply(peer, asked, b"late")

    service = backend(awkward.answering(late_h1) if protocol == "http1" else http2.serving(late_h2))
    one = router(configuration(
        routes=[{"name": "all", "backend": "service", "timeout": f"{limit}s"}],
        backends=[backend_of(service.port, protocol=protocol, retries=0)]))
    with one.dial() as client:
        client.send(request() if method == "GET" else request("POST", body=b"some"))
        assert client.read_response().status == 504
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

    def used():
        """A tunnel that has carried bytes; None if the machine was late with them."""
        client = one.dial()
        client.send(request(Connection="Upgrade", Upgrade="websocket"))
        assert client.read_response().status == 101
        started = time.monotonic()
        with contextlib.suppress(Closed, ConnectionError):
            client.send(b"ping")
            assert client.read(4) == b"ping"
            return client, started
        return client.close()

    client, started = wait_until(used, what="a tunnel")
    with client:
        assert client.is_closed()
    assert 0.25 <= time.monotonic() - started <= 27  # as takes_its_time()
    one.logged(status=101, cause="tunnel_idle_timeout")


@pytest.mark.prompt
def test_tls_handshake_that_does_not_come_is_cut_off(router, backend, certificates):
    settings = configuration(backend(awkward.named("x")).port, timeouts={"tls_handshake": SHORT})
    settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    with takes_its_time(TEN), one.dial() as client:
        assert client.is_closed()
    assert one.metric("ebbgate_connections_closed_total", side="client", cause="client_tls_timeout") == 1
    assert one.get(tls=trusting_context()).status == 200


def test_time_outs_do_not_hit_what_makes_progress(router, backend):
    pieces = [bytes([65 + number]) * 10 for number in range(10)]

    def drip(stream, known):
        known.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        for piece in pieces:
            time.sleep(0.45)
            stream.send(piece)

    less = "4s"  # than all pieces take, and more than a busy machine makes one of them late
    one = router(configuration(backend(drip).port, timeouts={"backend_body": less, "client_write": less, "client_idle": less}))
    assert one.get().body == b"".join(pieces)


def test_late_answer_after_a_time_out_reaches_nobody(router, backend):
    service = backend(awkward.answering_late(response(b"late")))
    one = router(configuration(backends=[backend_of(service.port, retries=0)],
                               routes=[{"name": "first", "path": "/first", "backend": "service", "timeout": SHORT}, {"name": "all", "backend": "service"}]))
    assert one.get("/first").status == 504
    service.wait_for_requests(1)
    service.released.set()
    assert one.get("/second").body == b"late"
    assert [seen.target for seen in service.requests] == ["/first", "/second"] and len(service.streams) == 2
