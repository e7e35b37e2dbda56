"""1,000 streams that nobody reads, each with 100 MiB behind it: the router holds little, and others are served."""

import os
import selectors
import struct
import subprocess

import hpack
import pytest

import http2
from http2 import frame
from router import PORTS, backend as backend_of, configuration, wait_until

CONNECTIONS, STREAMS = 10, 100
SIZE = 100 << 20
GROWTH_KIB_MAX = 64 << 10
WINDOW = 65535  # of each stream, never opened further

pytestmark = pytest.mark.slow


class Reader:
    """Takes what the windows of its streams allow, and counts it; the connection's window is open."""

    def __init__(self, port, tls):
        self.socket = http2.connect(port, tls=tls)
        self.data = bytearray()
        self.taken = {}
        self.encoder = hpack.Encoder()
        open_connection = frame(http2.WINDOW_UPDATE, payload=struct.pack(">I", 2**31 - 1 - WINDOW))
        self.socket.sendall(http2.PREFACE + http2.settings_frame() + open_connection)

    def ask(self, stream, target):
        block = self.encoder.encode(http2.pseudo_fields(target=target))
        self.taken[stream] = 0
        self.socket.sendall(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream, block))

    def take(self):
        data = self.socket.recv(1 << 20)
        assert data, "the router ended the connection"
        self.data += data
        at = 0
        while at + 9 <= len(self.data) and at + 9 + (size := int.from_bytes(self.data[at:at + 3], "big")) <= len(self.data):
            kind, stream = self.data[at + 3], int.from_bytes(self.data[at + 5:at + 9], "big")
            assert kind not in (http2.RST_STREAM, http2.GOAWAY), (kind, bytes(self.data[at:at + 30]))
            if kind == http2.DATA:
                self.taken[stream] += size
            at += 9 + size
        del self.data[:at]

    def stalled(self):
        return all(taken == WINDOW for taken in self.taken.values())


def read_until(readers, condition, seconds=60):
    with selectors.DefaultSelector() as selector:
        for reader in readers:
            selector.register(reader.socket, selectors.EVENT_READ, reader)
        while not condition():
            ready = selector.select(seconds)
            assert ready, f"nothing came for {seconds} s: {[sorted(set(reader.taken.values())) for reader in readers]}"
            for key, _ in ready:
                key.data.take()


def sparse(path):
    with open(path, "wb") as file:
        os.truncate(file.fileno(), SIZE)


@pytest.mark.parametrize("tls", [False, True], ids=["h2c", "tls"])
@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_memory_is_bounded_and_others_flow(router, nginx, nghttpd, certificates, protocol, tls):
    server = nginx if protocol == "http1" else nghttpd
    sparse(server.files / "huge")
    settings = configuration(backends=[backend_of(server.port, protocol=protocol)], timeouts={"client_write": "10m"})  # no time-out ends what waits
    settings["listeners"].append({"name": "plain", "bind": f"127.0.0.1:{PORTS.take()}"})
    if tls:
        settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    memory = one.rss_kib()
    readers = [Reader(one.port(), tls) for _ in range(CONNECTIONS)]
    for reader in readers:
        for index in range(STREAMS):
            reader.ask(2 * index + 1, "/huge")
    read_until(readers, lambda: all(reader.stalled() for reader in readers))
    # Another connection, and another stream of each of these.
    done = subprocess.run(["h2load", "-n", "2000", "-c", "2", "-m", "10", f"http://localhost:{one.port('plain')}/small"], capture_output=True, text=True,
                          timeout=60)
    assert "2000 succeeded, 0 failed, 0 errored, 0 timeout" in done.stdout, done.stdout
    for reader in readers:
        reader.ask(2 * STREAMS + 1, "/small")
        read_until([reader], lambda: reader.taken[2 * STREAMS + 1] == 128)
    growth = one.rss_kib() - memory
    print(f"{CONNECTIONS * STREAMS} stalled streams: {growth} KiB more, buffers {one.metric('ebbgate_buffer_bytes') / 1024:.0f} KiB")
    assert one.metric("ebbgate_exchanges") == CONNECTIONS * STREAMS
    assert growth < GROWTH_KIB_MAX
    for reader in readers:
        reader.socket.close()
    wait_until(lambda: one.metric("ebbgate_exchanges") == 0)
