"""Backends that lie, break off or vanish: the client gets a true answer or a broken connection, never a false success."""

import pytest

import awkward
from http1 import Closed, request, response
from router import backend as backend_of
from router import PORTS, configuration

LIES = {
    "not http": b"220 mail.example.com ESMTP\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "both lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nlies\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nlies!",
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nlies",
    "huge length": b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551617\r\n\r\nlies",
    "space before colon": b"HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\nlies",
    "folded field": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 4\r\n\r\nlies",
    "nul in value": b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 4\r\n\r\nlies",
    "unasked upgrade": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: lies\r\n\r\nlies",
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", LIES)
def test_malformed_response_becomes_502(router, backend, name):
    one = router(configuration(backend(awkward.closing_after(LIES[name])).port))
    answer = one.get()
    assert answer.status == 502 and b"backend_bad_response" in answer.body and b"lies" not in answer.body
    one.logged(status=502, cause="backend_bad_response")


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"], ids=["nothing", "status", "head"])
def test_connection_closed_before_the_response_began_is_502(router, backend, sent):
    one = router(configuration(backends=[backend_of(backend(awkward.closing_after(sent)).port, retries=0)]))
    answer = one.get()
    assert answer.status == 502
    assert one.logged(status=502)["cause"] in ("backend_closed", "backend_truncated")


def test_reset_before_the_response_is_502(router, backend):
    one = router(configuration(backends=[backend_of(backend(awkward.resetting_after(b"")).port, retries=0)]))
    assert one.get().status == 502
    one.logged(status=502, cause="backend_reset")


TRUNCATED = {"length": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
             "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n",
             "mid chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nonly this"}


@pytest.mark.parametrize("end", [awkward.closing_after, awkward.resetting_after], ids=["fin", "rst"])
@pytest.mark.parametrize("name", TRUNCATED)
def test_truncated_response_is_never_ended_cleanly(router, backend, name, end):
    one = router(configuration(backend(end(TRUNCATED[name])).port))
    with one.dial() as client:
        client.send(request())
        with pytest.raises((Closed, ConnectionResetError)):
            client.read_response()
        assert not client.raw.endswith(b"\r\n0\r\n\r\n")
    assert one.logged(status=200)["cause"] in ("backend_truncated", "backend_reset")


def test_bytes_beyond_the_announced_length_do_not_reach_anybody(router, backend):
    service = backend(awkward.answering(lambda _: response(b"four") + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nlies!!"))
    one = router(configuration(service.port))
    for _ in range(5):
        assert one.get().body == b"four"
    assert len(service.streams) == 5, "a connection with surplus bytes must not be used again"


def test_refused_connection_is_502_where_nothing_waits(router):
    one = router(configuration(backends=[backend_of(PORTS.take(), queue={"limit": 0})]))
    answer = one.get()
    assert answer.status == 502 and b"backend_refused" in answer.body
    one.logged(status=502, cause="backend_refused")


def test_response_that_ends_with_the_connection_is_delivered_and_framed(router, backend):
    one = router(configuration(backend(awkward.closing_after(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")).port))
    with one.dial() as client:
        for _ in range(2):  # the client's connection outlives the backend's
            client.send(request())
            assert client.read_response().body == b"until the end"
