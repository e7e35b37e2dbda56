"""Time that a route gives to a request, to one try, to a pause and to a tunnel; and time that a caller of gRPC gives."""

import contextlib
import socket
import time

import pytest

import awkward
import http2
from curl import ask
from http1 import Closed, request, response
from router import PORTS, configuration, wait_until
from router import backend as backend_of

SHORT = "300ms"
IN_TIME = (0.25, 27.0)  # not before its time, and before any default: a response has 30 s


@pytest.fixture(params=["1.1", "2"])
def version(request):
    return request.param


@contextlib.contextmanager
def takes_its_time():
    started = time.monotonic()
    yield
    assert IN_TIME[0] <= time.monotonic() - started <= IN_TIME[1]


@contextlib.contextmanager
def dialled(port, count):
    """Connections that nobody accepts: they fill the listener's queue."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(("127.0.0.1", port))
        yield


def timed(*ports, balance="round_robin", **route):
    return configuration(routes=[{"backend": "service", **route}], backends=[backend_of(*ports, balance=balance)])


def test_whole_request_has_a_deadline(router, backend, version):
    one = router(timed(backend(awkward.stalling_after(b"")).port, timeouts={"request": SHORT}))
    with takes_its_time():
        assert ask(one.port(), "/", version).status == 504
    assert one.logged(status=504)["cause"] == "request_timeout"


def test_deadline_holds_while_connecting(router):
    """A listener whose queue is full does not answer the connection attempt."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, dialled(full.getsockname()[1], 4):
        settings = timed(full.getsockname()[1], timeouts={"request": SHORT})
        settings["backends"][0]["timeouts"] = {"connect": "1m"}
        one = router(settings)
        with takes_its_time():
            assert one.get().status == 504
        assert one.logged(status=504)["cause"] == "request_timeout"


def test_deadline_cuts_a_response_that_never_ends(router, backend):
    def drip(stream, behind):
        behind.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not behind.released.wait(0.02):
            stream.send(b"x")

    one = router(timed(backend(drip).port, timeouts={"request": SHORT}))
    with one.dial() as client, takes_its_time():
        client.send(request())
        with pytest.raises((Closed, ConnectionResetError)):
            client.read_response()
    one.logged(status=200, cause="request_timeout")


def test_try_that_takes_too_long_is_repeated_elsewhere(router, backend, version):
    hung, well = backend(awkward.stalling_after(b"")), backend(awkward.named("well"))
    one = router(timed(hung.port, well.port, timeouts={"try": "2s", "request": "25s"}))  # in which the one that is well answers, on a busy machine too
    assert [ask(one.port(), "/", version).body for _ in range(4)] == [b"well"] * 4
    retries = one.metric("ebbgate_retries_total", cause="try_timeout")
    assert retries > 0
    wait_until(lambda: len(hung.requests) == retries, what="as many requests at the one that hangs")


def test_try_of_a_post_is_not_repeated(router, backend, version):
    hung = backend(awkward.stalling_after(b""))
    one = router(timed(hung.port, backend(awkward.stalling_after(b"")).port, timeouts={"try": SHORT}))
    with takes_its_time():
        assert ask(one.port(), "/", version, body=b"x").status == 504
    assert one.logged(status=504)["cause"] == "try_timeout"


def test_request_that_waits_for_an_endpoint_is_in_no_try(router):
    """The try before found nobody; its limit ended with it, and what remains is the time in the queue."""
    settings = timed(PORTS.take(), timeouts={"try": "2s"})
    settings["backends"][0]["queue"] = {"timeout": "6s"}
    one = router(settings)
    assert one.get().status == 502
    assert one.logged(status=502)["cause"] == "backend_refused"


def test_route_says_how_often_a_request_is_repeated(router):
    ports = [PORTS.take() for _ in range(3)]
    one = router(timed(*ports, retries=0))
    assert one.get().status == 502
    assert one.logged(status=502)["tries"] == 1


def test_pause_in_a_body_has_the_routes_limit(router, backend):
    service = backend(awkward.stalling_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
    one = router(timed(service.port, timeouts={"idle": SHORT}))
    with one.dial() as client, takes_its_time():
        client.send(request())
        with pytest.raises((Closed, ConnectionResetError)):
            client.read_response()
    one.logged(status=200, cause="backend_body_timeout")
    with one.dial() as client, takes_its_time():
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
        assert client.read_response().status == 408
    one.logged(status=408, cause="client_body_timeout")


@pytest.mark.parametrize("limit, cause", [("tunnel_idle", "tunnel_idle_timeout"), ("tunnel_age", "tunnel_max_age")])
def test_tunnel_has_limits_of_its_own(router, backend, limit, cause):
    """The time of the request is over when the tunnel begins."""
    one = router(timed(backend(awkward.upgrading()).port, timeouts={limit: "6s", "request": "4s", "try": "4s"}))
    with one.dial() as client:
        started = time.monotonic()
        client.send(request(Connection="Upgrade", Upgrade="websocket"))
        assert client.read_response().status == 101
        with contextlib.suppress(Closed, ConnectionError):
            while limit == "tunnel_age":
                client.send(b"ping")
                client.read(4)
                time.sleep(0.05)
        assert limit == "tunnel_age" or client.is_closed()
        assert 5.5 < time.monotonic() - started < IN_TIME[1]
    one.logged(status=101, cause=cause)


CALL = {"Content_Type": "application/grpc", "TE": "trailers", "body": b"\0\0\0\0\0"}


def test_callers_deadline_is_answered_with_its_status(router, backend, version):
    one = router(configuration(backend(awkward.stalling_after(b"")).port))
    with takes_its_time():
        answer = ask(one.port(), "/x.Y/Z", version, grpc_timeout="300m", **CALL)
    assert (answer.status, answer.get("grpc-status"), answer.body) == (200, "4", b"")
    assert one.logged(target="/x.Y/Z")["cause"] == "request_timeout"


def test_callers_deadline_ends_a_stream_with_trailers(router, backend):
    begun = b"HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\0\0\0\0\0\r\n"
    one = router(configuration(backend(awkward.stalling_after(begun)).port))
    with takes_its_time():
        answer = ask(one.port(), "/x.Y/Z", "2", grpc_timeout="300m", **CALL)
    assert answer.status == 200 and b"grpc-status: 4\r\n" in answer.body
    one.logged(status=200, cause="request_timeout")


def call(one, version, timeout):
    """A call that is answered before its body is looked at. Not by curl over HTTP/2: version 7.88 misses the end of a 200 that
    comes before it has sent the body, and waits for its own time-out."""
    if version == "1.1":
        return ask(one.port(), "/x.Y/Z", version, grpc_timeout=timeout, **CALL)
    with http2.dial(one.port()) as client:
        return client.get("POST", "/x.Y/Z", fields=call_fields(timeout), body=CALL["body"])


def call_fields(timeout):
    return [("content-type", "application/grpc"), ("te", "trailers"), ("grpc-timeout", timeout)]


def test_deadline_that_has_passed_already_is_answered_at_once(router, backend, version):
    one = router(configuration(backend(awkward.stalling_after(b"")).port))
    assert call(one, version, "0n").get("grpc-status") == "4"


def test_malformed_deadline_is_refused(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port))
    assert call(one, version, "1 second").get("grpc-status") == "13"
    assert ask(one.port(), "/plain", version, grpc_timeout="1 second").status == 200
    assert len(service.requests) == 1


@pytest.mark.parametrize("timeout, status", [("0n", "4"), ("1 second", "13")])
def test_call_that_is_answered_before_its_body_has_come_may_end(router, backend, timeout, status):
    one = router(configuration(backend(awkward.named("x")).port))
    with http2.dial(one.port()) as client:
        early = client.ask("POST", "/x.Y/Z", fields=call_fields(timeout), end=False)
        answer = client.answer(early)
        assert (answer.status, answer.get("grpc-status"), answer.whole) == (200, status, True)
        client.send_body(early, CALL["body"], end=True)
        assert client.get().status == 200
        assert answer.reset is None


def test_answer_in_time_is_untouched(router, backend, version):
    service = backend(awkward.answering(lambda _: response(b"fine")))
    one = router(timed(service.port, timeouts={"request": "5s", "try": "5s", "idle": "5s"}))
    for _ in range(3):
        assert ask(one.port(), "/", version, grpc_timeout="5S").body == b"fine"
