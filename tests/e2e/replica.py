"""Another replica of the router, as a canary sees it: the same listeners at another loopback address, each passed on to the
router itself, but for the legs that are to be faulty."""

import contextlib
import re
import socket
import struct
import threading

from http1 import let_packets_pass, swallow_packets


def protocol_of(head):
    """Which leg of a plain door asks, by the first bytes; None: more are needed."""
    if head.startswith(b"PRI "):
        return "h2"
    if b"\r\n\r\n" not in head:
        return None
    lower = head.lower()
    if b"\r\nupgrade: websocket" in lower:
        return "websocket"
    return "http1_fresh" if b"\r\nconnection: close" in lower else "http1_reused"


# What a door does instead of passing on: fault(connection, dial_router)


def reset(connection, _):
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def answer(text, then_wait=False):
    def fault(connection, _):
        connection.recv(65536)
        connection.sendall(text)
        if not then_wait:
            connection.shutdown(socket.SHUT_WR)
        silent(connection, _)  # a close with unread bytes would be a reset

    return fault


def silent(connection, _):
    while connection.recv(65536):
        pass


def changing(field, value):
    """The router's answer, in which a field says something else."""
    pattern = re.compile(rb"(?im)^(" + field.encode() + rb"): .*?\r$")

    def fault(connection, dial_router):
        with dial_router() as router:
            router.sendall(connection.recv(65536))
            text = b""
            while not text.endswith(b"Healthcheck requested\n") and (more := router.recv(65536)):
                text += more
            connection.sendall(pattern.sub(rb"\1: " + value.encode() + b"\r", text))
            connection.shutdown(socket.SHUT_WR)
            silent(connection, dial_router)

    return fault


class Door:
    """One listener. `faults` is {key: fault}; `key_of(first bytes)` tells whose connection it is, None: not yet known."""

    def __init__(self, host, port, key_of, router="127.0.0.1"):
        self.port, self.router, self.key_of, self.faults = port, router, key_of, {}
        self.listener = socket.create_server((host, port), backlog=256)
        self.open, self.threads, self.lock, self.ended = set(), [], threading.Lock(), False

    def __enter__(self):
        self.start(self.accept)
        return self

    def __exit__(self, *_):
        with self.lock:
            self.ended = True
            for one in (self.listener, *self.open):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(60)

    def lose(self, beginning):
        """From now on requests that begin so do not arrive; None: all do."""
        if beginning is None:
            let_packets_pass(self.listener)
        else:
            swallow_packets(self.listener, beginning)
        self.break_down({})

    def break_down(self, faults):
        """From now on; what is open is cut, as a reused connection would else go on unharmed."""
        with self.lock:
            self.faults = faults
            for one in self.open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def start(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        with self.lock:
            self.threads = [one for one in self.threads if one.is_alive()]
            thread.start()
            self.threads.append(thread)

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            connection.settimeout(60)
            self.start(self.serve, connection)

    @contextlib.contextmanager
    def held(self, connection):
        with self.lock:
            if self.ended:
                connection.close()
                raise OSError("the door is shut")
            self.open.add(connection)
        try:
            yield connection
        finally:
            with self.lock:
                self.open.discard(connection)
            connection.close()

    def dial(self):
        connection = socket.create_connection((self.router, self.port), timeout=30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def serve(self, accepted):
        with contextlib.suppress(OSError), self.held(accepted) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            key = None
            while key is None:
                head = connection.recv(65536, socket.MSG_PEEK)
                if not head:
                    return
                key = self.key_of(head)
            if fault := self.faults.get(key):
                return fault(connection, self.dial)
            with self.held(self.dial()) as router:
                self.start(self.carry, router, connection)
                self.carry(connection, router)

    def carry(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
