"""10 GiB each way through the router, whose memory must not notice."""

import os
import socket

import pytest

from http1 import response
from router import configuration

GIBIBYTE = 1 << 30
TOTAL = 10 * GIBIBYTE
GROWTH_KIB_MAX = 32 << 10

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    """64 MiB in the page cache: sendfile() moves it without a copy, so that the test is not the bottleneck."""
    path = tmp_path_factory.mktemp("large") / "block"
    path.write_bytes(bytes(64 << 20))
    with open(path, "rb") as file:
        yield file.fileno()


def send_much(connection, block, total):
    connection.settimeout(None)
    size = os.fstat(block).st_size
    sent = 0
    while sent < total:
        at = sent % size
        sent += os.sendfile(connection.fileno(), block, at, min(size - at, total - sent))


def discard(connection, total):
    """MSG_TRUNC on a TCP socket drops the bytes inside the kernel (tcp(7))."""
    connection.settimeout(60)
    trash = bytearray(1 << 20)
    taken = 0
    while taken < total:
        got = connection.recv_into(trash, min(len(trash), total - taken), socket.MSG_TRUNC)
        assert got > 0, f"ended after {taken} bytes"
        taken += got


def read_head_only(stream):
    """The head, and how much of the body came with it."""
    head = stream.read_head()
    return head, len(stream.raw) - stream.used


def test_download(router, backend, block):
    def serve(stream, known):
        known.requests.append(stream.read_request())
        stream.send(f"HTTP/1.1 200 OK\r\nContent-Length: {TOTAL}\r\n\r\n".encode())
        send_much(stream.socket, block, TOTAL)

    one = router(configuration(backend(serve).port))
    memory = one.rss_kib()
    with one.dial() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        head, already = read_head_only(client)
        assert head.get("Content-Length") == str(TOTAL)
        discard(client.socket, TOTAL - already)
    assert one.rss_kib() - memory < GROWTH_KIB_MAX
    assert one.logged(status=200, cause="completed")["bytes_sent"] == TOTAL


def test_upload(router, backend, block):
    def serve(stream, known):
        head, already = read_head_only(stream)
        discard(stream.socket, int(head.get("Content-Length")) - already)
        known.requests.append(head)
        stream.send(response(b"all of it"))

    one = router(configuration(backend(serve).port))
    memory = one.rss_kib()
    with one.dial(timeout=60) as client:
        client.send(f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {TOTAL}\r\n\r\n".encode())
        send_much(client.socket, block, TOTAL)
        client.socket.settimeout(60)
        assert client.read_response().body == b"all of it"
    assert one.rss_kib() - memory < GROWTH_KIB_MAX
    assert one.logged(status=200, cause="completed")["bytes_received"] == TOTAL
