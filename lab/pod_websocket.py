"""A pod's end of a WebSocket (RFC 6455): echoes text, answers Ping and Close."""

import base64
import hashlib
import re

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def frame(kind, payload, mask=b""):
    """One final frame; clients must mask. Long payloads are not needed here."""
    assert len(payload) < 126
    head = bytes([0x80 | kind, len(payload) | (0x80 if mask else 0)])
    return head + mask + (bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload)) if mask else payload)


def split(buffer):
    """(kind, payload, rest) of the first frame, or None while it is incomplete."""
    if len(buffer) < 2:
        return None
    masked, size = buffer[1] & 0x80, buffer[1] & 0x7F
    begin = 6 if masked else 2
    if len(buffer) < begin + size:
        return None
    payload = buffer[begin:begin + size]
    if masked:
        payload = bytes(byte ^ buffer[2 + index % 4] for index, byte in enumerate(payload))
    return buffer[0] & 0x0F, payload, buffer[begin + size:]


def accept_key(key):
    return base64.b64encode(hashlib.sha1(key + MAGIC).digest()).decode()


class WebSocket:
    def __init__(self, transport, head, name):
        self.transport = transport
        self.buffer = b""
        key = re.search(rb"\r\nsec-websocket-key: *(\S+)", head, re.IGNORECASE)
        transport.write(f"HTTP/1.1 101 Switching Protocols\r\nX-Pod: {name}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        f"Sec-WebSocket-Accept: {accept_key(key[1])}\r\n\r\n".encode())

    def received(self, data):
        self.buffer += data
        while parts := split(self.buffer):
            kind, payload, self.buffer = parts
            if kind == CLOSE:
                self.transport.write(frame(CLOSE, payload))
                return self.transport.close()
            self.transport.write(frame(PONG if kind == PING else kind, payload))

    def drain(self):
        """Applications keep tunnels open for their clients until the grace is over."""

    def lost(self):
        """There is nothing to return."""
