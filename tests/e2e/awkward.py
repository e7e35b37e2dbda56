"""Backends that behave as real ones do on a bad day: they split, stall, reset, lie and close.

A Backend runs one `serve(stream, backend)` per connection, in a thread. It keeps every stream, so a test sees each
byte that reached it, and `requests` in order of arrival.
"""

import contextlib
import socket
import threading
import time

from http1 import PATIENCE, Closed, Stream, response


class Backend:
    def __init__(self, serve, listen_backlog=1024, port=0):
        self.serve = serve
        self.streams = []
        self.requests = []
        self.released = threading.Event()  # stalling servers wait for it
        self.listener = socket.create_server(("127.0.0.1", port), backlog=listen_backlog)
        self.port = self.listener.getsockname()[1]
        self.threads = []

    def __enter__(self):
        self._start(self._accept)
        return self

    def __exit__(self, *_):
        self.released.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept(), which close() alone does not
        self.listener.close()
        for stream in self.streams:
            with contextlib.suppress(OSError):
                stream.socket.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a backend's thread did not end"
        for stream in self.streams:
            stream.close()

    @property
    def received(self):
        """All bytes, by connection."""
        return [bytes(stream.raw) for stream in self.streams]

    def wait_for_requests(self, count):
        deadline = time.monotonic() + PATIENCE
        while len(self.requests) < count:
            assert time.monotonic() < deadline, f"{len(self.requests)} of {count} requests arrived"
            time.sleep(0.005)

    def _start(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            stream = Stream(connection, timeout=60)
            self.streams.append(stream)
            self._start(self._serve, stream)

    def _serve(self, stream):
        try:
            self.serve(stream, self)
        except (Closed, OSError):  # the router ended the connection: what a test looks at is in the streams
            pass


def deaf_listener(stack):
    """Its accept queue is full: the kernel drops further SYNs without a word."""
    deaf = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
    for _ in range(4):
        waiting = stack.enter_context(socket.socket())
        waiting.setblocking(False)
        waiting.connect_ex(deaf.getsockname())
    return deaf


def answering(make_response):
    """A well-behaved server: make_response(request) -> bytes, connection kept."""

    def serve(stream, backend):
        while True:
            request = stream.read_request()
            backend.requests.append(request)
            stream.send(make_response(request))

    return serve


def named(name):
    return answering(lambda _: response(name.encode()))


def echoing():
    """Says the body back."""
    return answering(lambda request: response(request.body))


def scripted(*steps):
    """Connection n (from 0) is served by steps[n]; later ones by the last."""

    def serve(stream, backend):
        index = next(number for number, known in enumerate(backend.streams) if known is stream)
        steps[min(index, len(steps) - 1)](stream, backend)

    return serve


def splitting(raw_response):
    """The answer byte by byte, each in a segment of its own (TCP_NODELAY)."""

    def serve(stream, backend):
        while True:
            backend.requests.append(stream.read_request())
            for index in range(len(raw_response)):
                stream.send(raw_response[index:index + 1])

    return serve


def stalling_after(prefix):
    """Sends so much and no more."""

    def serve(stream, backend):
        backend.requests.append(stream.read_request())
        stream.send(prefix)
        backend.released.wait(60)

    return serve


def answering_late(raw_response):
    """Answers when the test releases it."""

    def serve(stream, backend):
        while True:
            backend.requests.append(stream.read_request())
            backend.released.wait(60)
            stream.send(raw_response)

    return serve


def closing_after(prefix):
    """Reads a request, sends so much, closes: truncated, empty, or complete with an unannounced close."""

    def serve(stream, backend):
        backend.requests.append(stream.read_request())
        stream.send(prefix)
        stream.finish_sending()
        stream.read_to_end()

    return serve


def resetting_after(prefix):
    def serve(stream, backend):
        backend.requests.append(stream.read_request())
        stream.send(prefix)
        stream.reset()

    return serve


def once_then(first_response, then):
    """Keeps the connection after one good answer, then behaves as told: a keep-alive connection gone bad."""

    def serve(stream, backend):
        backend.requests.append(stream.read_request())
        stream.send(first_response)
        then(stream, backend)

    return serve


def upgrading_then_resetting():
    """Switches protocols and resets the connection after four bytes."""

    def serve(stream, backend):
        backend.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        stream.read(4)
        stream.reset()

    return serve


def upgrading(protocol="websocket"):
    """Switches protocols and echoes what comes until the end of the stream, which it echoes too."""

    def serve(stream, backend):
        backend.requests.append(stream.read_request())
        stream.send(f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n".encode())
        while True:
            if stream.used == len(stream.raw) and not stream.receive():
                break
            stream.send(stream.take(len(stream.raw)))
        stream.finish_sending()

    return serve


def endless(progress):
    """A response without end, as fast as the router takes it; progress[0] counts the bytes."""

    def serve(stream, backend):
        backend.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n")
        stream.socket.settimeout(None)
        block = bytes(65536)
        while not backend.released.is_set():
            progress[0] += stream.socket.send(block)

    return serve
