"""Each flood that HTTP/2 invites: the offender is cut, a well-behaved client beside it notices nothing."""

import contextlib
import select
import struct
import subprocess

import hpack
import pytest

import awkward
import http2
from http1 import PATIENCE
from http2 import frame
from router import SANITIZED, backend as backend_of, configuration, wait_until

ROUNDS_MAX = 20_000
GROWTH_KIB_MAX = 16 << 10
BLOCK = hpack.Encoder().encode(http2.pseudo_fields(), huffman=False)
HELD = hpack.Encoder().encode(http2.pseudo_fields("POST", "/held"), huffman=False)  # a request that is not answered
NO_WINDOW = http2.settings_frame(INITIAL_WINDOW_SIZE=0)


def literal(name, value, indexed=False):
    """A field that is not in the static table (RFC 7541 6.2.1, 6.2.2); lengths below 127 only, unless indexed."""
    def text(data):
        if len(data) < 127:
            return bytes([len(data)]) + data
        rest, encoded = len(data) - 127, b"\x7f"
        while rest >= 128:
            encoded += bytes([rest % 128 + 128])
            rest //= 128
        return encoded + bytes([rest]) + data

    return (b"\x40" if indexed else b"\x00") + text(name) + text(value)


def opening(number, end=True, block=BLOCK):
    return frame(http2.HEADERS, http2.END_HEADERS | (http2.END_STREAM if end else 0), number, block)


def rapid_reset(index):
    return opening(2 * index + 1) + frame(http2.RST_STREAM, stream=2 * index + 1, payload=struct.pack(">I", 8))


def continuation(index):
    return frame(http2.CONTINUATION if index else http2.HEADERS, stream=1, payload=BLOCK if index == 0 else literal(b"x-%d" % index, b"y" * 100))


def ping(index):
    return frame(http2.PING, payload=struct.pack(">Q", index))


def settings(_):
    return http2.settings_frame(MAX_CONCURRENT_STREAMS=100)


def empty_data(index):
    return frame(http2.DATA, stream=1) if index else opening(1, end=False, block=HELD)


def padded_empty_data(index):
    return frame(http2.DATA, 8, stream=1, payload=b"\x05" + bytes(5)) if index else opening(1, end=False, block=HELD)


def tiny_window_update(index):
    return frame(http2.WINDOW_UPDATE, stream=1, payload=struct.pack(">I", 1)) if index else NO_WINDOW + opening(1)


def priority(index):
    return frame(http2.PRIORITY, stream=2 * index + 1, payload=struct.pack(">IB", 0, 16))


def unknown_frames(_):
    return frame(0xfa, payload=b"?")


def made_to_reset(index):
    """Requests that are malformed, so that the server must reset their streams: rapid reset by another's hand."""
    return opening(2 * index + 1, block=BLOCK + literal(b"Upper-Case", b"x"))


def header_bomb(index):
    """One entry of 3,000 bytes in the dynamic table, then a block of 16,000 references to it: 48 MB from 16 KB."""
    if index == 0:
        return opening(1, block=BLOCK + literal(b"x-bomb", b"b" * 3000, indexed=True))
    return opening(2 * index + 1, block=BLOCK + b"\xbe" * 16000)


FLOODS = [rapid_reset, continuation, ping, settings, empty_data, padded_empty_data, tiny_window_update, priority, unknown_frames, made_to_reset, header_bomb]


def codes_of_goaways(data):
    codes = []
    while len(data) >= 9:
        size, kind = int.from_bytes(data[:3], "big"), data[3]
        if kind == http2.GOAWAY and len(data) >= 17:
            codes.append(int.from_bytes(data[13:17], "big"))
        data = data[9 + size:]
    return codes


def flood(connection, make, reads, rounds=ROUNDS_MAX, waits=True):
    """Sends rounds until the router ends it; (rounds, what it said). A few rounds on a slow machine may be within the budgets: then
    it does not wait for that."""
    said, index = bytearray(), 0
    connection.sendall(http2.PREFACE + http2.settings_frame())
    connection.settimeout(PATIENCE)
    with contextlib.suppress(ConnectionError):
        for index in range(rounds):
            connection.sendall(make(index))
            # Now and then it waits for what the router says: a router that is kept from the processor cannot cut it.
            patience = 0.05 if index % 64 == 63 else 0
            if reads and select.select([connection], [], [], patience)[0]:
                data = connection.recv(65536)
                if not data:
                    return index, bytes(said)
                said += data
    with contextlib.suppress(ConnectionError):
        while waits and (data := connection.recv(65536)):
            said += data
    return index, bytes(said)


@pytest.fixture
def beside(nginx):
    """A well-behaved client during the test: beside(router) starts it, its result is examined at the end."""
    with contextlib.ExitStack() as stack:
        def start(one):
            client = subprocess.Popen(["h2load", "-n", "2000", "-c", "2", "-m", "10", f"http://localhost:{one.port()}/small"], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)

            def examine():
                output = client.communicate(timeout=60)[0]
                assert "2000 succeeded, 0 failed, 0 errored, 0 timeout" in output, output

            stack.callback(examine)

        yield start


@pytest.mark.parametrize("make", FLOODS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("reads", [True, False], ids=["reading", "deaf"])
def test_the_offender_is_cut(router, backend, nginx, beside, make, reads):
    holding = backend(lambda stream, known: stream.read_to_end())
    one = router(configuration(backends=[backend_of(nginx.port), backend_of(holding.port, name="holding")],
                               routes=[{"name": "all", "backend": "service"}, {"name": "held", "path": "/held", "backend": "holding"}]))
    memory = one.rss_kib()
    beside(one)
    with http2.connect(one.port()) as offender:
        rounds, said = flood(offender, make, reads)
    assert rounds < ROUNDS_MAX - 1 or not reads  # what a deaf one sends after the end is thrown away
    # A reset may overtake the GOAWAY on its way to a peer that keeps sending.
    assert set(codes_of_goaways(said)) <= {http2.ENHANCE_YOUR_CALM}
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="client", cause="client_flood") == 1)
    assert SANITIZED or one.rss_kib() - memory < GROWTH_KIB_MAX


def test_the_offender_is_told(router, backend):
    one = router(configuration(backend(awkward.named("x")).port))
    with http2.dial(one.port()) as client:
        client.send_raw(b"".join(ping(index) for index in range(300)))
        client.read_to_end()
        assert client.goaway == http2.ENHANCE_YOUR_CALM


@pytest.mark.slow
def test_floods_over_many_connections_leave_no_memory_behind(router, nginx, beside):
    one = router(configuration(nginx.port))
    beside(one)
    memory = None
    for _ in range(3):
        for make in (rapid_reset, header_bomb, ping, made_to_reset):
            for _ in range(10):
                with http2.connect(one.port()) as offender:
                    flood(offender, make, reads=False, rounds=300, waits=False)
        wait_until(lambda: one.metric("ebbgate_connections", side="client") <= 2, what="the end of the offenders, not of h2load")
        memory = memory or one.rss_kib()
    assert one.rss_kib() - memory < GROWTH_KIB_MAX
