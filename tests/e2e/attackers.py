"""Clients that try to make the router hold memory, and the endpoint that they ask. Four kinds, each with many connections:

frames      HTTP/2 requests whose bodies come a byte at a time, to an endpoint that does not answer
readers     HTTP/2 streams of endless responses that nobody reads
tunnels     bytes one at a time into tunnels whose endpoint does not read
compressed  HTTP/2 streams of endless responses to be compressed, that nobody reads
"""

import asyncio
import contextlib
import selectors
import socket
import time

import hpack

import http2
from http2 import frame
from loop_server import LoopServer

CONNECTIONS = 100
FRAMES = 6000     # of a byte, per connection
READERS = 6       # streams per connection
ENCODERS = 6      # the same, compressed
CRUMBS = 400      # single bytes, per tunnel
HANDSHAKES = 16   # streams per connection
KINDS = ("frames", "readers", "tunnels", "compressed")


class Endpoint(LoopServer):
    """/endless: text without end; any other: takes the request and never answers. `deaf_port`: a listener of bytes
    that reads nothing and has room for little."""

    @contextlib.asynccontextmanager
    async def serving(self):
        self.deaf = []
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 << 10)  # a thousand of them hold little
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(4096)
        self.deaf_listener = socket.socket()
        self.deaf_listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.deaf_listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)  # the sender's kernel sizes its buffer by it
        self.deaf_listener.bind(("127.0.0.1", 0))
        self.deaf_listener.listen(4096)
        self.deaf_listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.deaf_port = self.deaf_listener.getsockname()[1]
        server = await asyncio.start_server(self.serve, sock=self.listener, backlog=4096)
        accepting = asyncio.create_task(self.accept_deaf())
        try:
            yield
        finally:
            accepting.cancel()
            server.close()
            for one in [*self.deaf, self.deaf_listener]:
                one.close()

    async def accept_deaf(self):
        while True:
            self.deaf.append((await asyncio.get_running_loop().sock_accept(self.deaf_listener))[0])

    async def serve(self, reader, writer):
        text = b"2000\r\n" + (b"<p>all work and no play makes a dull response</p>\n" * 164)[:8192] + b"\r\n"
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            if b" /endless " in head:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
                while True:
                    writer.write(text)
                    await writer.drain()
            while await reader.read(65536):
                pass
        writer.close()


def settings_for(port, deaf_port, neighbour_port, ports):
    """A plain listener, and one for tunnels. What a neighbour asks for, /small, is another endpoint's."""
    compression = {"types": ["text/html"], "codings": ["zstd", "brotli", "gzip"]}
    return {
        "listeners": [{"name": "web", "bind": f"127.0.0.1:{ports.take()}", "protocol": "http"},
                      {"name": "bytes", "bind": f"127.0.0.1:{ports.take()}", "protocol": "tcp", "backend": "deaf"}],
        "routes": [{"name": "attacked", "backend": "service", "compression": compression},
                   {"name": "neighbour", "path": "/small", "backend": "neighbour"}],
        "backends": [{"name": name, "timeouts": {"connect": "30s"}, "endpoints": [{"name": "one", "address": f"127.0.0.1:{number}"}]}
                     for name, number in (("service", port), ("deaf", deaf_port), ("neighbour", neighbour_port))],
    }


class Sender:
    """Sends what it has as the router takes it, and reads nothing."""

    def __init__(self, port, pieces):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.pieces = list(pieces)[::-1]

    def step(self):
        """Sends one piece, or a part of it. False: there is nothing more to send."""
        try:
            piece = self.pieces.pop()
            sent = self.socket.send(piece)
            if sent < len(piece):
                self.pieces.append(piece[sent:])
        except BlockingIOError:
            self.pieces.append(piece)
        except OSError:
            self.pieces = []
        return bool(self.pieces)

    def has_ended(self):
        """The router has reset it."""
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) != b"\x01"  # TCP_ESTABLISHED


class Asker:
    """An HTTP/2 client with an upload that never ends. It asks for short answers, does not read them, and resets their streams."""

    def __init__(self, port):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 500)  # the router's kernel sizes its buffer by it
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.encoder = hpack.Encoder()
        self.waits = opening(65535) + ask(self.encoder, 1, "POST", "/upload", False)
        self.next, self.asked = 3, []

    def round(self, count):
        for stream in self.asked:
            self.waits += frame(http2.RST_STREAM, 0, stream, (8).to_bytes(4, "big"))
        self.asked = [self.next + 2 * i for i in range(count)]
        self.next += 2 * count
        self.waits += b"".join(ask(self.encoder, stream, "GET", "/", True) for stream in self.asked)
        self.go_on()

    def go_on(self):
        """With the upload, if the router takes anything."""
        self.waits = self.waits or frame(http2.DATA, 0, 1, b"x")
        with contextlib.suppress(OSError):
            self.waits = self.waits[self.socket.send(self.waits):]


def opening(stream_window):
    return http2.PREFACE + http2.settings_frame(INITIAL_WINDOW_SIZE=stream_window)


def ask(encoder, stream, method, target, end, **fields):
    block = encoder.encode([*http2.pseudo_fields(method, target), *fields.items()])
    return frame(http2.HEADERS, http2.END_HEADERS | (http2.END_STREAM if end else 0), stream, block)


def frames():
    """In pieces, since what comes before there is a connection to the endpoint is one."""
    crumbs = frame(http2.DATA, 0, 1, b"x") * 200
    return [opening(65535) + ask(hpack.Encoder(), 1, "POST", "/silent", False), *[crumbs] * (FRAMES // 200)]


def readers():
    encoder = hpack.Encoder()
    return [opening(0) + b"".join(ask(encoder, 1 + 2 * i, "GET", "/endless", True) for i in range(READERS))]


def compressed():
    encoder = hpack.Encoder()
    asked = (ask(encoder, 1 + 2 * i, "GET", "/endless", True, **{"accept-encoding": "zstd"}) for i in range(ENCODERS))
    return [opening(0) + b"".join(asked)]


def handshakes():
    """For tunnels that are never granted, bytes one at a time."""
    encoder = hpack.Encoder()
    fields = [(":method", "CONNECT"), (":protocol", "websocket"), *http2.pseudo_fields(target="/silent")[1:], ("sec-websocket-version", "13")]
    streams = [1 + 2 * i for i in range(HANDSHAKES)]
    asked = b"".join(frame(http2.HEADERS, http2.END_HEADERS, stream, encoder.encode(fields)) for stream in streams)
    return [opening(65535) + asked, *[b"".join(frame(http2.DATA, 0, stream, b"x") for stream in streams) * 64] * 100]


def heads(streams=128):
    """Requests of nearly 16 KiB, each a few bytes of references to the first."""
    encoder = hpack.Encoder()
    fields = [*http2.pseudo_fields("GET", "/silent"), *[("x-long", "v" * 3800)] * 4]
    asked = (frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1 + 2 * i, encoder.encode(fields)) for i in range(streams))
    return [opening(65535) + b"".join(asked)]


def tunnels():
    """First what the kernel takes, so that the rest waits in the router."""
    return [b"x" * (192 << 10), *[b"y"] * CRUMBS]


PIECES = {"frames": frames, "readers": readers, "tunnels": tunnels, "compressed": compressed}


def attack(port, bytes_port, kinds=KINDS, connections=CONNECTIONS):
    """Opens all connections, a few of each kind in turn."""
    return [Sender(bytes_port if kind == "tunnels" else port, PIECES[kind]()) for _ in range(connections) for kind in kinds]


def press_on(senders, seconds, until=lambda: False):
    """Sends a piece of each in turn until all is sent, or nothing moves for the time."""
    with selectors.DefaultSelector() as selector:
        for sender in senders:
            selector.register(sender.socket, selectors.EVENT_WRITE, sender)
        moved = time.monotonic()
        while selector.get_map() and time.monotonic() - moved < seconds and not until():
            for key, _ in selector.select(0.2):
                moved = time.monotonic()
                if not key.data.step():
                    selector.unregister(key.fileobj)
