"""Upgraded connections: bytes both ways until each side has finished."""

import contextlib
import random
import select
import ssl
import time

import pytest

import awkward
from http1 import request, response, trusting_context
from router import configuration, wait_until

UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec_WebSocket_Version": "13"}


def upgraded(one, **options):
    client = one.dial(**options)
    client.send(request(target="/chat", **UPGRADE))
    answer = client.read_response()
    assert answer.status == 101
    assert answer.get("Upgrade") == "websocket" and answer.get("Connection").lower() == "upgrade"
    return client


def sent_and_echoed(client, data, seconds=60):
    """Sends and receives at once in one thread: an SSL object must not be used by two."""
    client.socket.setblocking(False)
    deadline, sent = time.monotonic() + seconds, 0
    while len(client.raw) - client.used < len(data):
        assert time.monotonic() < deadline, f"{sent} bytes sent, {len(client.raw) - client.used} came back"
        if sent < len(data):
            with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                sent += client.socket.send(data[sent:sent + 65536])
        try:
            assert client.receive(), "the tunnel ended"
        except (BlockingIOError, ssl.SSLWantReadError):
            select.select([client.socket], [client.socket] if sent < len(data) else [], [], 1)
    return client.take(len(data))


def test_upgrade_reaches_the_backend_and_frames_pass(router, backend):
    service = backend(awkward.upgrading())
    one = router(configuration(service.port))
    with upgraded(one) as client:
        for size in (1, 2, 125, 65536, 3):
            data = random.Random(size).randbytes(size)
            client.send(data)
            assert client.read(size) == data
    seen = service.requests[0]
    assert seen.get("Upgrade") == "websocket" and seen.get("Connection").lower() == "upgrade"
    assert seen.get("Sec-WebSocket-Key") == UPGRADE["Sec_WebSocket_Key"]
    one.logged(status=101, cause="tunnel_closed")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_much_data_both_ways_at_once(router, backend, certificates, tls):
    settings = configuration(backend(awkward.upgrading()).port)
    if tls:
        settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    data = random.Random(1).randbytes(4 << 20)
    with upgraded(router(settings), tls=trusting_context() if tls else None) as client:
        assert sent_and_echoed(client, data) == data


def test_half_close_passes_through_a_tunnel(router, backend):
    with upgraded(router(configuration(backend(awkward.upgrading()).port))) as client:
        client.send(b"last words")
        client.finish_sending()
        assert client.read_to_end() == b"last words"


def test_bytes_behind_the_upgrade_request_are_the_tunnels(router, backend):
    one = router(configuration(backend(awkward.upgrading()).port))
    with one.dial() as client:
        client.send(request(**UPGRADE) + b"eager")
        assert client.read_response().status == 101
        assert client.read(5) == b"eager"


def test_refused_upgrade_is_an_ordinary_answer(router, backend):
    one = router(configuration(backend(awkward.answering(lambda _: response(b"no", "403 Forbidden"))).port))
    with one.dial() as client:
        client.send(request(**UPGRADE))
        assert client.read_response().status == 403
        client.send(request())
        assert client.read_response().status == 403


@pytest.mark.parametrize("asked, switched, status", [("websocket", "other", 502), ("websocket", "h2c", 502), ("chat", "websocket", 502),
                                                     ("websocket", "websocket, other", 502), ("WebSocket", "websocket", 101),
                                                     ("chat/2, other", "Chat/2", 101)])
def test_an_endpoint_switches_to_what_was_asked_for_or_not_at_all(router, backend, asked, switched, status):
    one = router(configuration(backend(awkward.upgrading(switched)).port))
    with one.dial() as client:
        client.send(request(**{**UPGRADE, "Upgrade": asked}))
        assert client.read_response().status == status


def test_reset_of_the_backend_ends_the_tunnel(router, backend):
    one = router(configuration(backend(awkward.upgrading_then_resetting()).port))
    with upgraded(one) as client:
        client.send(b"stop")
        assert client.is_closed()
    wait_until(lambda: one.log(), what="the log line")
    assert one.metric("ebbgate_exchanges") == 0
