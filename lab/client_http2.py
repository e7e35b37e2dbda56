"""The client's side of HTTP/2 without TLS: many requests at once on a few connections, and gRPC-like calls."""

import asyncio
import pathlib
import struct
import sys

import h2.config
import h2.events
import h2.exceptions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e"))
from client import Failure  # noqa: E402
from pod_websocket import CLOSE, split  # noqa: E402
from http2 import Connection, Half, pseudo_fields  # noqa: E402

REFUSED_STREAM = 7


class Http2(asyncio.Protocol):
    """One connection; after GOAWAY it takes no new request and lets the others finish (RFC 9113 6.8)."""

    def __init__(self):
        self.h2 = Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.halves, self.changed = {}, {}
        self.going_away, self.lost = False, False

    @classmethod
    async def open(cls, port):
        try:
            return (await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port))[1]
        except OSError:
            raise Failure("refused") from None

    def connection_made(self, transport):
        self.transport = transport
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, _):
        self.lost = True
        for event in self.changed.values():
            event.set()

    def data_received(self, data):
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.transport.abort()
            return
        for event in events:
            self.note(event)
        self.flush()
        if self.going_away and not self.halves:
            self.transport.close()

    def note(self, event):
        if isinstance(event, h2.events.ConnectionTerminated):
            self.going_away = True
        half = self.halves.get(getattr(event, "stream_id", None))
        if half is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            half.fields = list(event.headers)
        elif isinstance(event, h2.events.TrailersReceived):
            half.trailers = list(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            half.body += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            half.whole = True
        elif isinstance(event, h2.events.StreamReset):
            half.reset = int(event.error_code)
        self.changed[event.stream_id].set()

    def flush(self):
        if data := self.h2.data_to_send():
            self.transport.write(data)

    def usable(self):
        return not (self.going_away or self.lost or self.transport.is_closing())

    def begin(self, method, target, fields=(), end=True):
        stream = self.h2.get_next_available_stream_id()
        self.halves[stream], self.changed[stream] = Half(stream=stream), asyncio.Event()
        self.h2.send_headers(stream, [*pseudo_fields(method, target, "lab.example.com"), *fields], end_stream=end)
        self.flush()
        return stream

    def say(self, stream, data, end=False):
        self.h2.send_data(stream, data, end_stream=end)
        self.flush()

    async def until(self, stream, condition):
        """Waits; raises a Failure if the stream ends first."""
        half = self.halves[stream]
        while not condition(half):
            if half.reset is not None:
                raise Failure("refused-stream" if half.reset == REFUSED_STREAM else "reset-stream")
            if half.whole:
                self.judge(half)
                raise Failure("truncated")
            if self.lost:
                raise Failure("truncated" if half.fields else "closed")
            self.changed[stream].clear()
            await self.changed[stream].wait()
        return half

    @staticmethod
    def judge(half):
        if half.status != 200:
            raise Failure(str(half.status), half.get("ebbgate-cause", ""))
        call = dict(half.trailers or half.fields).get("grpc-status", "0")
        if call != "0":
            raise Failure(f"grpc-{call}")
        return half

    def end(self, stream):
        half = self.halves.pop(stream)
        self.changed.pop(stream)
        if not half.ended and not self.lost:
            self.h2.reset_stream(stream, 8)
            self.flush()

    async def get(self, target):
        stream = self.begin("GET", target)
        try:
            return self.judge(await self.until(stream, lambda half: half.whole))
        finally:
            self.end(stream)

    async def chat(self, target, seconds, period, on_open):
        """A bidirectional call with gRPC framing: each message comes back; trailers report success."""
        stream = self.begin("POST", target, [("content-type", "application/grpc"), ("te", "trailers")], end=False)
        try:
            expected = b""
            for number in range(round(seconds / period)):
                message = f"message {number}".encode()
                expected += struct.pack(">BI", 0, len(message)) + message
                self.say(stream, expected[-5 - len(message):])
                half = await self.until(stream, lambda half: len(half.body) >= len(expected))
                on_open(half.get("x-pod", ""))
                await asyncio.sleep(period)
            self.say(stream, b"", end=True)
            half = self.judge(await self.until(stream, lambda half: half.whole))
            if bytes(half.body) != expected:
                raise Failure("mismatch")
        finally:
            self.end(stream)

    async def silent_tunnel(self, target, on_open):
        """A silent WebSocket (RFC 8441), until the other side ends it."""
        stream = self.begin("CONNECT", target, [(":protocol", "websocket"), ("sec-websocket-version", "13")], end=False)
        try:
            half = await self.until(stream, lambda half: half.fields)
            if half.status != 200:
                self.judge(half)
            on_open(half.get("x-pod", ""))
            kind, payload, _ = split((await self.until(stream, lambda half: split(half.body))).body)
            raise Failure("early" if kind == CLOSE else "mismatch", f"Close {int.from_bytes(payload[:2], 'big')}")
        finally:
            self.end(stream)


class Connections:
    """A few connections, used in turn; one that closes is replaced."""

    def __init__(self, port, count):
        self.port, self.slots, self.turn = port, [None] * count, 0

    async def take(self):
        self.turn = (self.turn + 1) % len(self.slots)
        if self.slots[self.turn] is None or not self.slots[self.turn].usable():
            self.slots[self.turn] = await Http2.open(self.port)
        return self.slots[self.turn]
