"""Bodies in motion: back-pressure, aborts, half-closes, answers that come early."""

import hashlib
import random
import socket
import threading
import time

import pytest

import awkward
from http1 import Closed, request, response, trusting_context
from router import SANITIZED, configuration, wait_until

MEBIBYTE = 1 << 20


def random_bytes(size, seed=7):
    return random.Random(seed).randbytes(size)


def sends_in_pieces(data):
    """The router must not care where the pieces end."""
    chance = random.Random(3)

    def serve(stream, backend):
        while True:
            backend.requests.append(stream.read_request())
            stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            at = 0
            while at < len(data):
                piece = data[at:at + chance.choice((1, 17, 1000, 16384, 70000, 300000))]
                stream.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                at += len(piece)
            stream.send(b"0\r\n\r\n")

    return serve


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_large_bodies_arrive_unchanged_both_ways(router, backend, certificates, tls):
    data = random_bytes(8 * MEBIBYTE)
    service = backend(awkward.echoing())
    settings = configuration(service.port)
    if tls:
        settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    with one.dial(tls=trusting_context() if tls else None, timeout=60) as client:
        for _ in range(2):
            client.send(request("PUT", body=data))
            assert hashlib.sha256(client.read_response().body).digest() == hashlib.sha256(data).digest()


def test_chunked_response_in_pieces_of_all_sizes_arrives_unchanged(router, backend):
    data = random_bytes(4 * MEBIBYTE)
    one = router(configuration(backend(sends_in_pieces(data)).port))
    with one.dial(timeout=60) as client:
        for _ in range(2):
            client.send(request())
            assert client.read_response().body == data


def test_slow_reader_stops_the_backend_and_not_the_worker(router, backend):
    progress = [0]
    endless, quick = backend(awkward.endless(progress)), backend(awkward.named("quick"))
    one = router(configuration(
        routes=[{"path": "/endless", "backend": "endless"}, {"backend": "quick"}],
        backends=[{"name": name, "endpoints": [{"name": name, "address": f"127.0.0.1:{port}"}]}
                  for name, port in (("endless", endless.port), ("quick", quick.port))]))
    one.get("/")
    memory = one.rss_kib()
    with one.dial() as client:
        client.send(request(target="/endless"))
        client.read(65536)

        def stands_still():
            before = progress[0]
            time.sleep(0.3)
            return progress[0] == before

        wait_until(stands_still, what="back-pressure")
        assert progress[0] < 64 * MEBIBYTE, "more went out than sockets and the router's bounded buffers can hold"
        assert one.rss_kib() - memory < (65536 if SANITIZED else 8192)
        for _ in range(20):
            assert one.get("/").body == b"quick"
        before = progress[0]
        for _ in range(200):
            client.read(MEBIBYTE // 4)  # reading on sets the backend going again
            del client.raw[:]
            client.used = 0
        wait_until(lambda: progress[0] > before, what="the backend going on")
        endless.released.set()


def test_slow_backend_stops_the_client_and_not_the_worker(router, backend):
    def serve(stream, known):
        known.requests.append(stream.read_head())
        known.released.wait(60)

    service = backend(serve)
    one = router(configuration(service.port))
    memory, sent = one.rss_kib(), 0
    with one.dial(timeout=1) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1099511627776\r\n\r\n")
        with pytest.raises(TimeoutError):
            while sent < 256 * MEBIBYTE:
                sent += client.socket.send(bytes(65536))
        assert one.rss_kib() - memory < (65536 if SANITIZED else 8192)


@pytest.mark.parametrize("leave", ["close", "reset"])
def test_client_that_leaves_mid_response_frees_the_backend(router, backend, leave):
    progress = [0]
    service = backend(awkward.endless(progress))
    one = router(configuration(service.port))
    client = one.dial()
    client.send(request())
    client.read(100000)
    getattr(client, leave)()
    assert one.logged(status=200)["cause"] in ("client_aborted", "client_reset")
    wait_until(lambda: not any(thread.is_alive() for thread in service.threads[1:]), what="the end of the backend's connection")


def test_client_that_leaves_before_the_answer_frees_the_backend(router, backend):
    service = backend(awkward.stalling_after(b""))
    one = router(configuration(service.port))
    client = one.dial()
    client.send(request())
    service.wait_for_requests(1)
    client.reset()
    assert one.logged(status=0)["cause"] in ("client_aborted", "client_reset")
    assert service.streams[0].is_closed()


def test_client_that_leaves_mid_upload_leaves_no_complete_request_behind(router, backend):
    service = backend(awkward.echoing())
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        wait_until(lambda: service.streams and b"half" in service.received[0], what="the first piece")
    assert one.logged(status=0)["cause"] in ("client_aborted", "client_reset", "client_closed")
    wait_until(lambda: not service.threads[1].is_alive(), what="the end of the backend's connection")
    assert not service.requests and not service.received[0].endswith(b"0\r\n\r\n")


def test_client_that_has_finished_sending_still_gets_its_answer(router, backend):
    service = backend(awkward.answering_late(response(b"worth waiting for")))
    settings = configuration(service.port)
    settings["listeners"][0]["half_close"] = True
    one = router(settings)
    with one.dial() as client:
        client.send(request())
        client.finish_sending()
        service.wait_for_requests(1)
        threading.Timer(0.2, service.released.set).start()
        assert client.read_response().body == b"worth waiting for"
        assert client.is_closed()


def test_early_answer_reaches_a_client_that_is_still_sending(router, backend):
    def serve(stream, known):
        known.requests.append(stream.read_head())
        stream.send(response(b"too much", "413 Content Too Large", Connection="close"))
        stream.finish_sending()
        known.released.wait(60)

    service = backend(serve)
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n" + bytes(1000))
        answer = client.read_response()
        assert (answer.status, answer.body) == (413, b"too much")
        service.released.set()
        with pytest.raises((Closed, ConnectionError)):  # the rest of the body cannot be a request: the connection ends
            for _ in range(1000):
                client.send(bytes(65536))
            client.read(1)


def test_expectation_is_passed_on_and_the_go_ahead_comes_back(router, backend):
    def serve(stream, known):
        head = stream.read_head()
        assert head.get("Expect") == "100-continue"
        stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = stream.read(int(head.get("Content-Length")))
        known.requests.append(head)
        stream.send(response(body))

    one = router(configuration(backend(serve).port))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert client.read_head().status == 100
        client.send(b"sent")
        assert client.read_response().body == b"sent"


def test_expectation_refused_by_the_backend_needs_no_body(router, backend):
    def serve(stream, known):
        known.requests.append(stream.read_head())
        stream.send(response(b"no", "403 Forbidden"))
        known.released.wait(60)

    service = backend(serve)
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert client.read_response().status == 403


def test_body_above_the_limit_is_413(router, backend):
    service = backend(awkward.echoing())
    one = router(configuration(service.port, limits={"body_bytes": 1000}))
    with one.dial() as client:
        client.send(request("POST", body=bytes(1000)))
        assert client.read_response().status == 200
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n")
        assert client.read_response().status == 413
    one.logged(status=413, cause="client_body_too_large")
    assert len(service.requests) == 1


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("body, status", [(b"8000\r\n" + bytes(0x8000) + b"\r\n", 413), (b"no chunk\r\n" + bytes(0x8000), 400)],
                         ids=["too long", "broken"])
def test_an_upload_that_is_refused_midway_ends_without_a_reset(router, backend, certificates, body, status, secure):
    """A reset would destroy the answer before a client that writes first has read it. So all that it sends is taken."""
    def serve(stream, known):
        known.requests.append(stream.read_until(b"first"))
        stream.read_to_end()

    service = backend(serve)
    settings = configuration(service.port, limits={"body_bytes": 1000})
    if secure:
        settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    with one.dial(tls=trusting_context() if secure else None) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        service.wait_for_requests(1)  # what follows is read by itself
        client.send(body + bytes(MEBIBYTE))
        wait_until(lambda: one.metric("ebbgate_connections", side="client") == 0, what="the end of the connection")
        assert client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0  # a reset behind the FIN: EPIPE
        assert client.read_response().status == status
        assert client.read_to_end() == b""


def test_connections_above_the_limit_are_turned_away(router, backend):
    one = router(configuration(backend(awkward.named("x")).port, limits={"connections": 4}))
    held = [one.dial() for _ in range(4)]
    for client in held:
        client.send(request())
        assert client.read_response().status == 200
    with pytest.raises((Closed, ConnectionResetError)):  # without words: they would cost what there is too little of
        with one.dial() as surplus:
            surplus.send(request())
            surplus.read_response()
    assert one.metric("ebbgate_connections_closed_total", side="client", cause="connection_limit") == 1
    for client in held:
        client.send(request())
        assert client.read_response().status == 200
        client.close()
    wait_until(lambda: one.get().status == 200, what="room again")
