#!/usr/bin/python3
"""A demo service: service.py NAME PORT. Answers with its name and the request; slow, streaming and upgraded on request."""

import base64
import hashlib
import http.server
import struct
import sys
import time
import urllib.parse

WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    name = "demo"

    def do_GET(self):
        target = urllib.parse.urlsplit(self.path)
        page = target.path.rstrip("/").rsplit("/", 1)[-1]
        if page == "slow":
            time.sleep(min(float(urllib.parse.parse_qs(target.query).get("seconds", ["2"])[0]), 25))
        if page == "events":
            self.stream_events()
        elif page == "socket" and self.headers.get("Upgrade", "").lower() == "websocket":
            self.echo_frames()
        else:
            self.answer(self.description().encode())

    def do_POST(self):
        self.answer(self.body(), self.headers.get("Content-Type", "application/octet-stream"))

    def description(self):
        return f"service {self.name}\n{self.command} {self.path}\n\n" + "".join(f"{key}: {value}\n" for key, value in self.headers.items())

    def answer(self, body, content_type="text/plain; charset=utf-8"):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Service", self.name)
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    def stream_events(self):
        """Server-sent events, one per second, until the client leaves."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(1, 3601):
            event = f"data: {self.name} tick {number}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            time.sleep(1)
        self.wfile.write(b"0\r\n\r\n")

    def echo_frames(self):
        """A WebSocket that echoes everything (RFC 6455, unfragmented frames)."""
        accept = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + WEBSOCKET_GUID).digest())
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept.decode())
        self.end_headers()
        self.close_connection = True
        while len(head := self.rfile.read(2)) == 2:
            size = head[1] & 0x7F
            if size >= 126:
                size = struct.unpack(">H" if size == 126 else ">Q", self.rfile.read(2 if size == 126 else 8))[0]
            mask = self.rfile.read(4)
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(size)))
            length = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 65536 else b"\x7f" + struct.pack(">Q", size)
            self.wfile.write(head[:1] + length + payload)
            if head[0] & 0x0F == 8:  # close: echoed, then done
                return

    def log_message(self, *_):
        pass


def main():
    Service.name = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Service)
    server.daemon_threads = True
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
