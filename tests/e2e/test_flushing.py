"""A connection that is closed while its client still has to read: the last bytes wait for it, but not at the cost of others."""

import random
import socket

import pytest

from http1 import Stream, request
from router import configuration, wait_until

CLIENTS = 60
BODY = 240_000  # less than what may wait for one client, so that the response is complete for the router


def serve(stream, known):
    """In small chunks: they are not left to the kernel, and hold no more memory than they need."""
    while True:
        known.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"3e8\r\n" + b"p" * 1000 + b"\r\n") * (BODY // 1000) + b"0\r\n\r\n")


def small_window(port):
    """Little of what it does not read fits into the kernel's buffers. Where the sender's kernel remembers other connections to an address
    (`ip tcp_metrics`: reordering) it makes larger ones."""
    client = socket.socket()
    client.bind((f"127.{random.randrange(64, 250)}.{random.randrange(250)}.{random.randrange(1, 250)}", 0))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)  # the sender's kernel sizes its buffer by it
    client.connect(("127.0.0.1", port))
    return Stream(client)


def test_closed_connections_that_still_flush_end_before_open_ones_when_buffers_run_out(router, backend):
    one = router(configuration(backend(serve).port))
    before = one.metric("ebbgate_buffer_bytes")
    neighbour = small_window(one.port())
    neighbour.send(request(target="/neighbour"))
    one.logged(target="/neighbour", status=200)
    flushing = [small_window(one.port()) for _ in range(CLIENTS)]
    closed = lambda: one.metric("ebbgate_connections_closed_total", side="client", cause="close_requested")  # noqa: E731
    flushing[0].send(request(target="/page", Connection="close"))
    wait_until(lambda: closed() == 1, what="the close of the first: their answers come in any order")
    for client in flushing[1:]:
        client.send(request(target="/page", Connection="close"))
    wait_until(lambda: closed() == CLIENTS, what="their close")
    assert one.metric("ebbgate_buffer_bytes") - before > 8 << 20
    one.change(limits={"buffers": "8MiB"})
    wait_until(lambda: one.metric("ebbgate_buffer_bytes") < 7 << 20, what="room")
    assert one.metric("ebbgate_connections_closed_total", cause="buffer_limit") == 0
    assert len(neighbour.read_response().body) == BODY
    with pytest.raises(ConnectionResetError):  # the oldest: no client may take what it has for all
        while flushing[0].receive():
            pass
    for client in flushing:
        client.close()


def test_the_last_bytes_of_a_closed_connection_wait_for_their_reader(router, backend):
    one = router(configuration(backend(serve).port))
    client = small_window(one.port())
    client.send(request(target="/page", Connection="close"))
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="client", cause="close_requested") == 1, what="the close")
    assert len(client.read_response().body) == BODY
    assert not client.receive()
