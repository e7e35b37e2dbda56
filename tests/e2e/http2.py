"""HTTP/2 for tests to stand on either side of the router: the h2 library for what is well-formed, frames by hand for
what is not. One thread per connection; nothing is sent behind the caller's back except acknowledgements.
"""

import collections
import contextlib
import dataclasses
import socket
import ssl
import struct

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from http1 import PATIENCE, Closed, trusting_context

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS = 4
ENHANCE_YOUR_CALM = int(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def settings_frame(**values):
    codes = h2.settings.SettingCodes
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", int(codes[name]), value) for name, value in values.items()))


def pseudo_fields(method="GET", target="/", authority="localhost", scheme="http"):
    return [(":method", method), (":scheme", scheme), (":authority", authority), (":path", target)]


@dataclasses.dataclass
class Half:
    """What one side sent on a stream: a request or a response."""

    fields: list = dataclasses.field(default_factory=list)
    interim: list = dataclasses.field(default_factory=list)  # heads of 1xx
    body: bytearray = dataclasses.field(default_factory=bytearray)
    trailers: list = dataclasses.field(default_factory=list)
    whole: bool = False
    reset: object = None  # the error code of RST_STREAM
    stream: int = 0

    def get(self, name, default=None):
        return next((value for key, value in self.fields if key == name), default)

    def all(self, name):
        return [value for key, value in self.fields if key == name]

    @property
    def status(self):
        return int(self.get(":status", "0"))

    @property
    def method(self):
        return self.get(":method")

    @property
    def target(self):
        return self.get(":path")

    @property
    def ended(self):
        return self.whole or self.reset is not None


class Connection(h2.connection.H2Connection):
    """The library takes every GOAWAY for the end; a graceful one lets streams run on (RFC 9113 6.8)."""

    def _receive_goaway_frame(self, received):
        event = h2.events.ConnectionTerminated()
        event.error_code, event.last_stream_id = received.error_code, received.last_stream_id
        return [], [event]


class Peer:
    """One end of a connection. `halves` is what the other side sent, by stream."""

    def __init__(self, connection, client, greet=True, reads_on=True, **settings):
        self.socket = connection
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reads_on = reads_on  # windows are opened as payload arrives
        self.halves = collections.defaultdict(Half)
        self.outgoing = collections.OrderedDict()  # stream -> [bytes that wait, whether the end follows]
        self.goaway, self.last_served = None, None
        self.pings_answered = 0
        self.settings_acknowledged = False
        self.closed = False
        # What a test sends wrong on purpose must not be stopped by our own library.
        self.h2 = Connection(h2.config.H2Configuration(
            client_side=client, header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False))
        values = {h2.settings.SettingCodes[name]: value for name, value in settings.items()}
        self.h2.local_settings = h2.settings.Settings(client=client, initial_values={**dict(self.h2.local_settings), **values})
        if greet:
            self.h2.initiate_connection()
            self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def flush(self):
        if data := self.h2.data_to_send():
            self.socket.sendall(data)

    def send_raw(self, data):
        self.socket.sendall(data)

    def send_head(self, stream, fields, end=False):
        self.h2.send_headers(stream, [(name, str(value)) for name, value in fields], end_stream=end)
        self.flush()

    def send_body(self, stream, data, end=False):
        """As far as windows allow now; the rest follows while receive() runs."""
        waiting = self.outgoing.setdefault(stream, [memoryview(b""), False])
        waiting[0] = memoryview(bytes(waiting[0]) + bytes(data)) if waiting[0] else memoryview(data)
        waiting[1] = end
        self.pump()

    def reset(self, stream, code=h2.errors.ErrorCodes.CANCEL):
        self.outgoing.pop(stream, None)
        self.h2.reset_stream(stream, code)
        self.flush()

    def pump(self):
        for stream, (data, end) in list(self.outgoing.items()):
            try:
                while data and (room := min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size, len(data))) > 0:
                    self.h2.send_data(stream, bytes(data[:room]))
                    data = data[room:]
                if not data:
                    if end:
                        self.h2.end_stream(stream)
                    del self.outgoing[stream]
                else:
                    self.outgoing[stream][0] = data
            except (h2.exceptions.StreamClosedError, h2.exceptions.ProtocolError):
                self.outgoing.pop(stream, None)
            self.flush()

    def receive(self):
        """One read; the events that it brought. Raises Closed at the end of the connection."""
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, ssl.SSLEOFError):
            data = b""
        if not data:
            self.closed = True
            raise Closed(b"")
        events = self.h2.receive_data(data)
        for event in events:
            self.note(event)
        self.pump()
        self.flush()
        return events

    def note(self, event):
        stream = getattr(event, "stream_id", None)
        if isinstance(event, (h2.events.RequestReceived, h2.events.ResponseReceived)):
            self.halves[stream].stream = stream
            self.halves[stream].fields = list(event.headers)
        elif isinstance(event, h2.events.InformationalResponseReceived):
            self.halves[stream].interim.append(list(event.headers))
        elif isinstance(event, h2.events.TrailersReceived):
            self.halves[stream].trailers = list(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            self.halves[stream].body += event.data
            if self.reads_on and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, stream)
        elif isinstance(event, h2.events.StreamEnded):
            self.halves[stream].whole = True
        elif isinstance(event, h2.events.StreamReset):
            self.halves[stream].reset = int(event.error_code)
            self.outgoing.pop(stream, None)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway, self.last_served = int(event.error_code), event.last_stream_id
        elif isinstance(event, h2.events.PingAckReceived):
            self.pings_answered += 1
        elif isinstance(event, h2.events.SettingsAcknowledged):
            self.settings_acknowledged = True

    def wait_for(self, condition):
        """Reads until the condition holds; the socket's time-out bounds it."""
        while not condition():
            self.receive()

    def read_to_end(self):
        """Until the connection ends, whatever comes."""
        try:
            while True:
                self.receive()
        except (Closed, ConnectionError, h2.exceptions.ProtocolError):
            self.closed = True


class Client(Peer):
    def __init__(self, connection, **options):
        super().__init__(connection, client=True, **options)
        self.scheme = "https" if isinstance(connection, ssl.SSLSocket) else "http"

    def ask(self, method="GET", target="/", authority="localhost", fields=(), body=None, end=None):
        """Opens a stream; a body of None is none at all."""
        stream = self.h2.get_next_available_stream_id()
        head = pseudo_fields(method, target, authority, self.scheme) + list(fields)
        self.send_head(stream, head, end=body is None if end is None else end)
        if body is not None:
            self.send_body(stream, body, end=True)
        return stream

    def answer(self, stream):
        self.wait_for(lambda: self.halves[stream].ended)
        return self.halves[stream]

    def get(self, *arguments, **options):
        return self.answer(self.ask(*arguments, **options))


def connect(port, tls=False, name="localhost", timeout=PATIENCE):
    """A socket; over TLS, with h2 agreed on."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    if not tls:
        return connection
    context = trusting_context()
    context.set_alpn_protocols(["h2"])
    connection = context.wrap_socket(connection, server_hostname=name)
    assert connection.selected_alpn_protocol() == "h2"
    return connection


def dial(port, tls=False, name="localhost", timeout=PATIENCE, **options):
    return Client(connect(port, tls, name, timeout), **options)


# Backends, for awkward.Backend


def serving(answer, **settings):
    """Calls answer(peer, request) for each whole request, in order of their ends; `backend.requests` are Halves."""

    def serve(stream, backend):
        peer = Peer(stream.socket, client=False, **settings)
        while True:
            for event in peer.receive():
                if isinstance(event, h2.events.StreamEnded):
                    request = peer.halves[event.stream_id]
                    backend.requests.append(request)
                    answer(peer, request)

    return serve


def noting(peers, after=lambda peer: None):
    """Notes each connection, as a Peer, and reads what comes on it; `after` may answer to each piece."""
    def serve(stream, _):
        peer = Peer(stream.socket, client=False)
        peers.append(peer)
        with contextlib.suppress(Closed, OSError):
            while True:
                peer.receive()
                after(peer)

    return serve


def reply(peer, request, body=b"", status=200, fields=(), trailers=()):
    peer.send_head(request.stream, [(":status", status), *fields], end=not body and not trailers)
    if body:
        peer.send_body(request.stream, body, end=not trailers)
    if trailers:
        peer.h2.send_headers(request.stream, list(trailers), end_stream=True)
        peer.flush()


def naming(name, **settings):
    return serving(lambda peer, request: reply(peer, request, name.encode()), **settings)


def echoing():
    return serving(lambda peer, request: reply(peer, request, bytes(request.body)))
