"""A pod's end of HTTP/2 without TLS: echoes every message of a gRPC-like call, and leaves with GOAWAY."""

import asyncio
import pathlib
import struct
import sys

import h2.config
import h2.events
import h2.exceptions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e"))
from http2 import GOAWAY, Connection, frame  # noqa: E402

LAST_POSSIBLE_STREAM = 2**31 - 1


class Http2:
    def __init__(self, pod, transport):
        self.pod, self.transport = pod, transport
        self.h2 = Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.open = set()
        self.finishing = False
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        if data := self.h2.data_to_send():
            self.transport.write(data)

    def received(self, data):
        try:
            for event in self.h2.receive_data(data):
                if not self.pod.suffers("/"):
                    self.answer(event)
        except h2.exceptions.ProtocolError:
            self.transport.abort()
            return
        self.flush()
        self.close_when_done()

    def answer(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.open.add(event.stream_id)
            self.h2.send_headers(event.stream_id, [(":status", "200"), ("content-type", "application/grpc"), ("x-pod", self.pod.name)])
        elif isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if event.data:
                self.h2.send_data(event.stream_id, event.data)
        elif isinstance(event, h2.events.StreamEnded):
            self.h2.send_headers(event.stream_id, [("grpc-status", "0")], end_stream=True)
            self.open.discard(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self.open.discard(event.stream_id)

    def drain(self):
        """Requests in flight at the first GOAWAY are still accepted (RFC 9113 6.8)."""
        self.transport.write(frame(GOAWAY, payload=struct.pack(">II", LAST_POSSIBLE_STREAM, 0)))
        asyncio.get_running_loop().call_later(0.5, self.take_no_more)

    def take_no_more(self):
        self.transport.write(frame(GOAWAY, payload=struct.pack(">II", self.h2.highest_inbound_stream_id, 0)))
        self.finishing = True
        self.close_when_done()

    def close_when_done(self):
        if self.finishing and not self.open:
            self.transport.close()

    def lost(self):
        self.open.clear()
