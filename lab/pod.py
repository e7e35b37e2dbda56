#!/usr/bin/python3
"""A pod: a small HTTP server with the behaviour of real applications, and with faults on command.

    pod.py NAME ADDRESS PORT JOURNAL [--grace SECONDS] [--idle MILLISECONDS] [--cold SECONDS] [--serial 1]

SIGTERM: stops accepting, closes idle connections, finishes running requests, ends when all are done or the grace is over. Standard input
takes one word per line: the fault to show.

The journal has a line for each request that was read completely: "ran ID" of a POST, "got ID" of another method; and "slow ID" if the
pod itself makes that request wait for a second or more. "swallowed ID" names a request that lay unread in the socket of a connection
when it was closed: a dying process took it and did not answer."""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import socket
import struct
import sys
import urllib.parse

from pod_websocket import WebSocket

FAULTS = ("none", "hang", "gray", "reset")
CHUNK = bytes(range(256)) * 256  # 64 KiB
SLOW_SECONDS = 1.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Pod:
    def __init__(self, options):
        self.name, self.grace, self.idle_seconds = options.name, options.grace, options.idle / 1000
        self.journal = os.open(options.journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.fault = "none"
        self.draining = False
        self.connections = set()
        self.server = None
        self.cold_seconds, self.warm_at = options.cold, None
        self.turn = asyncio.Lock() if options.serial else contextlib.nullcontext()

    def note(self, what, identity):
        os.write(self.journal, f"{what} {identity}\n".encode())

    def until_warm(self):
        """Seconds. The first request starts the work that a new process does before it can answer."""
        now = asyncio.get_running_loop().time()
        self.warm_at = self.warm_at or now + self.cold_seconds
        return self.warm_at - now

    def suffers(self, path):
        return self.fault == "hang" or (self.fault == "gray" and path != "/healthz")

    def fall_ill(self, fault):
        self.fault = fault
        for connection in list(self.connections) if fault == "reset" else ():
            connection.reset()

    def drain(self):
        self.draining = True
        self.server.close()
        for connection in list(self.connections):
            connection.drain()
        asyncio.get_running_loop().call_later(self.grace, os._exit, 1)
        self.end_if_done()

    def forget(self, connection):
        self.connections.discard(connection)
        self.end_if_done()

    def end_if_done(self):
        if self.draining and not self.connections:
            asyncio.get_running_loop().call_soon(os._exit, 0)


class Connection(asyncio.Protocol):
    """idle -> busy (from the first byte of a request to the last of its response) -> idle, or upgraded permanently."""

    def __init__(self, pod):
        self.pod = pod
        self.buffer = b""
        self.busy = False
        self.upgraded = None
        self.idle_timer = None
        self.work = None
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport):
        self.transport = transport
        if self.pod.fault == "reset":
            return self.reset()
        self.pod.connections.add(self)
        self.rest()

    def connection_lost(self, error):
        if error is None and not self.upgraded:
            self.name_the_swallowed()
        if self.idle_timer:
            self.idle_timer.cancel()
        if self.work:
            self.work.cancel()
        if self.upgraded:
            self.upgraded.lost()
        self.writable.set()
        self.pod.forget(self)

    def pause_writing(self):
        self.writable.clear()

    def resume_writing(self):
        self.writable.set()

    def data_received(self, data):
        if self.upgraded:
            return self.upgraded.received(data)
        if self.idle_timer:
            self.idle_timer.cancel()
        self.buffer += data
        if not self.busy and PREFACE.startswith(self.buffer[:len(PREFACE)]):
            if len(self.buffer) >= len(PREFACE):
                self.become_http2()
            return None
        return self.advance()

    def become_http2(self):
        from pod_http2 import Http2  # most pods never need it, and it loads slowly
        self.upgraded = Http2(self.pod, self.transport)
        self.upgraded.received(self.buffer)

    def advance(self):
        """Begins the next request if it is complete."""
        if self.busy and self.work:
            return
        self.busy = True
        head, mark, rest = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            self.busy = bool(self.buffer)
            return
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        size = int(length[1]) if length else 0
        if len(rest) < size:
            return
        self.buffer = rest[size:]
        method, target, _ = head.split(b"\r\n")[0].decode("latin-1").split(" ")
        url = urllib.parse.urlsplit(target)
        asked = dict(urllib.parse.parse_qsl(url.query))
        if self.pod.fault == "reset":
            return self.reset()
        if "id" in asked or method == "POST":
            self.pod.note("ran" if method == "POST" else "got", asked.get("id", "none"))
        self.work = asyncio.ensure_future(self.serve(url.path, asked, head, rest[:size]))

    async def serve(self, path, asked, head, body):
        await self.while_healthy(path)
        if path == "/ws":
            self.upgraded = WebSocket(self.transport, head, self.pod.name)
            if self.buffer:
                self.upgraded.received(self.buffer)
            return
        if path == "/pieces":
            await self.pieces(int(asked["count"]))
        elif path == "/quiet":
            await self.quiet(int(asked["count"]), int(asked["ms"]) / 1000)
        elif path == "/download":
            await self.download(int(asked["bytes"]))
        else:
            async with self.pod.turn:
                await self.think(path, asked)
                self.head(f"Content-Length: {len(body or CHUNK[:200])}", body or CHUNK[:200])
        self.done()

    async def think(self, path, asked):
        wait = max(int(asked.get("ms", "0")) / 1000, self.pod.until_warm())
        if wait >= SLOW_SECONDS and "id" in asked:
            self.pod.note("slow", asked["id"])
        if wait > 0:
            await asyncio.sleep(wait)
            await self.while_healthy(path)

    async def while_healthy(self, path):
        if self.pod.suffers(path):
            await asyncio.Event().wait()  # for ever; the end of the connection ends it

    def head(self, framing, body=b""):
        close = "Connection: close\r\n" if self.pod.draining else ""
        self.transport.write(f"HTTP/1.1 200 OK\r\nX-Pod: {self.pod.name}\r\n{close}{framing}\r\n\r\n".encode() + body)

    async def pieces(self, count):
        """A chunk every 100 ms; 0 is without end."""
        self.head("Transfer-Encoding: chunked")
        sent = 0
        while sent < count or not count:
            self.transport.write(b"8\r\n" + f"{sent:07d}\n".encode() + b"\r\n")
            sent += 1
            await asyncio.sleep(0.1)
            await self.while_healthy("/pieces")
        self.transport.write(b"0\r\n\r\n")

    async def quiet(self, count, pause):
        """A few chunks in half a second, then a pause; this many times."""
        self.head("Transfer-Encoding: chunked")
        for _ in range(count):
            for _ in range(5):
                self.transport.write(b"8\r\nmessage\n\r\n")
                await asyncio.sleep(0.1)
                await self.while_healthy("/quiet")
            await asyncio.sleep(pause)
            await self.while_healthy("/quiet")
        self.transport.write(b"0\r\n\r\n")

    async def download(self, size):
        self.head(f"Content-Length: {size}")
        while size > 0:
            self.transport.write(CHUNK[:size])
            size -= len(CHUNK)
            await self.writable.wait()

    def done(self):
        self.busy, self.work = False, None
        if self.pod.draining:
            self.transport.close()
        elif self.buffer:
            self.advance()
        else:
            self.rest()

    def rest(self):
        if self.pod.idle_seconds:
            self.idle_timer = asyncio.get_running_loop().call_later(self.pod.idle_seconds, self.close_idle)

    def drain(self):
        if self.upgraded:
            self.upgraded.drain()
        elif not self.busy:
            self.close_idle()

    def close_idle(self):
        if not (self.busy or self.upgraded):
            self.transport.close()

    def name_the_swallowed(self):
        """Requests that the kernel has received and the pod will never read; the socket is closed right after this."""
        with socket.socket(fileno=os.dup(self.transport.get_extra_info("socket").fileno())) as same, contextlib.suppress(OSError):
            if found := re.search(rb"[?&]id=([\w-]+)", same.recv(4096, socket.MSG_PEEK | socket.MSG_DONTWAIT)):
                self.pod.note("swallowed", found[1].decode())

    def reset(self):
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


def obey(pod):
    line = sys.stdin.readline().strip()
    if line in FAULTS:
        pod.fall_ill(line)
    elif not line:
        asyncio.get_running_loop().remove_reader(sys.stdin)


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("journal")
    parser.add_argument("--grace", type=float, default=12)
    parser.add_argument("--idle", type=int, default=0, help="milliseconds until an idle connection is closed; 0 is never")
    parser.add_argument("--cold", type=float, default=0, help="seconds, from its first request, until it answers any")
    parser.add_argument("--serial", type=int, default=0, help="1: handles one request at a time; streams and tunnels run beside it")
    options = parser.parse_args()
    pod, loop = Pod(options), asyncio.get_running_loop()
    pod.server = await loop.create_server(lambda: Connection(pod), options.address, options.port, backlog=1024)
    loop.add_signal_handler(signal.SIGTERM, pod.drain)
    loop.add_reader(sys.stdin, obey, pod)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
