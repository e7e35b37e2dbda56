"""Just enough HTTP/1 for tests to stand on either side of the router: reads messages from a socket, hides nothing."""

import ctypes
import dataclasses
import select
import socket
import ssl
import struct

SO_ATTACH_FILTER = 26
SO_DETACH_FILTER = 27
# Longer than a busy machine is late, and none of the router's own time-outs (10, 30, 60 s): who gave up is never a coincidence.
PATIENCE = 45


class Closed(Exception):
    """The peer ended the connection where more was expected; `rest` is what had come until then."""

    def __init__(self, rest):
        super().__init__(f"closed after {rest!r}")
        self.rest = rest


@dataclasses.dataclass
class Message:
    start: str
    fields: list  # (name, value) as received
    head: bytes
    body: bytes = b""

    @property
    def status(self):
        return int(self.start.split()[1])

    @property
    def method(self):
        return self.start.split()[0]

    @property
    def target(self):
        return self.start.split()[1]

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name, default=None):
        return next(iter(self.all(name)), default)


class Stream:
    """A socket with a buffer in front of it and a record of every byte that came."""

    def __init__(self, connection, timeout=PATIENCE):
        self.socket = connection
        self.socket.settimeout(timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.raw = bytearray()
        self.used = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """More bytes into the buffer; False at the end of the stream."""
        data = self.socket.recv(65536)
        self.raw += data
        return bool(data)

    def is_readable(self):
        """Whether something waits in the kernel, be it the end."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def take(self, size):
        data = bytes(self.raw[self.used:self.used + size])
        self.used += len(data)
        return data

    def read(self, size):
        while len(self.raw) - self.used < size:
            if not self.receive():
                raise Closed(self.take(size))
        return self.take(size)

    def read_until(self, mark):
        while (found := self.raw.find(mark, self.used)) < 0:
            if not self.receive():
                raise Closed(self.take(len(self.raw)))
        return self.take(found + len(mark) - self.used)

    def read_to_end(self):
        while self.receive():
            pass
        return self.take(len(self.raw))

    def read_head(self):
        head = self.read_until(b"\r\n\r\n")
        lines = head[:-4].decode("latin-1").split("\r\n")
        return Message(lines[0], [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]], head)

    def read_chunked(self):
        pieces = []
        while size := int(self.read_until(b"\r\n").split(b";")[0], 16):
            pieces.append(self.read(size))
            self.read(2)
        while self.read_until(b"\r\n") != b"\r\n":  # trailers
            pass
        return b"".join(pieces)

    def read_request(self):
        message = self.read_head()
        if message.get("Transfer-Encoding"):
            message.body = self.read_chunked()
        else:
            message.body = self.read(int(message.get("Content-Length", "0")))
        return message

    def read_response(self, method="GET"):
        """The final response; interim ones are passed over."""
        message = self.read_head()
        while 100 <= message.status < 200 and message.status != 101:
            message = self.read_head()
        if method == "HEAD" or message.status in (101, 204, 304):
            return message
        if message.get("Transfer-Encoding"):
            message.body = self.read_chunked()
        elif message.get("Content-Length") is not None:
            message.body = self.read(int(message.get("Content-Length")))
        else:
            message.body = self.read_to_end()
        return message

    def is_closed(self, timeout=PATIENCE):
        """Whether the peer ends the connection within the time without sending anything more."""
        self.socket.settimeout(timeout)
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def finish_sending(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()


def swallow_packets(connection, beginning=None):
    """From now on what arrives for the socket is lost: neither read nor acknowledged, as if its host had died. Of a
    listening one: connection attempts get no answer. With `beginning`, of four bytes: only segments whose data begins so,
    also on connections that a listening one accepts from now on."""
    returns, nothing, all_of_it = 0x06, 0, 0xffffffff
    program = [(returns, 0, 0, nothing)]
    if beginning is not None:
        program = [
            (0x30, 0, 0, 12), (0x54, 0, 0, 0xf0), (0x74, 0, 0, 2), (0x07, 0, 0, 0),  # X: where the data begins
            (0x80, 0, 0, 0), (0x1c, 0, 0, 0), (0x35, 0, 2, 4),  # four bytes of it, or let it pass
            (0x40, 0, 0, 0), (0x15, 1, 0, int.from_bytes(beginning, "big")),
            (returns, 0, 0, all_of_it), (returns, 0, 0, nothing)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in program))
    connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(code)))


def let_packets_pass(connection):
    connection.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def dial(port, tls=None, name="localhost", timeout=PATIENCE, session=None):
    """To the router: plain, or with the given ssl.SSLContext."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    if tls is not None:
        # Strict: an end of the stream without close_notify is an error here, not an end.
        connection = tls.wrap_socket(connection, server_hostname=name, session=session, suppress_ragged_eofs=False)
    return Stream(connection, timeout)


def trusting_context(**versions):
    """Our certificates are self-signed: what is tested is which one is shown, not who signed it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for attribute, version in versions.items():
        setattr(context, attribute, version)
    return context


def request(method="GET", target="/", host="localhost", body=b"", **fields):
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def response(body=b"", status="200 OK", **fields):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
