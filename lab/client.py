"""The client's side of HTTP/1.1: strict about its input, and exact about failures."""

import asyncio
import base64
import contextlib
import os
import re

from pod_websocket import CLOSE, TEXT, accept_key, frame, split

PIECE = bytes(range(256)) * 256  # what pods send


class Failure(Exception):
    """A request without its answer; `reason` is a word for the table, `note` the router's explanation."""

    def __init__(self, reason, note=""):
        super().__init__(reason)
        self.reason, self.note = reason, note


class Answer:
    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines[1:] if line)]
        self.body = b""

    def get(self, name, default=""):
        return next((value for key, value in self.fields if key == name), default)

    @property
    def pod(self):
        return self.get("x-pod")

    def expect(self, status=200):
        if self.status != status:
            raise Failure(str(self.status), self.get("ebbgate-cause"))


class Http1:
    """One connection, one request at a time."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.used = False

    @classmethod
    async def open(cls, port, source=None):
        try:
            return cls(*await asyncio.open_connection("127.0.0.1", port, local_addr=source and (source, 0)))
        except OSError:
            raise Failure("refused") from None

    def usable(self):
        return not self.reader.at_eof() and self.reader.exception() is None and not self.writer.is_closing()

    def close(self):
        self.writer.close()

    async def send(self, method, target, body=b"", **fields):
        fields.setdefault("Host", "lab.example.com")
        lines = [f"{method} {target} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        try:
            self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            await self.writer.drain()
        except OSError:
            pass  # an answer may still arrive; if not, reading shows the reason

    async def head(self):
        """An empty answer on a reused connection is the client's view of the keep-alive race."""
        try:
            answer = Answer((await self.reader.readuntil(b"\r\n\r\n"))[:-4])
        except (asyncio.IncompleteReadError, OSError) as error:
            if getattr(error, "partial", b""):
                raise Failure("truncated") from None
            raise Failure("ka-race" if self.used else "closed") from None
        self.used = True
        return answer

    async def ask(self, method, target, body=b"", **fields):
        await self.send(method, target, body, **fields)
        answer = await self.head()
        try:
            if answer.get("transfer-encoding"):
                answer.body = b"".join([chunk async for chunk in self.chunks()])
            else:
                answer.body = await self.reader.readexactly(int(answer.get("content-length", "0")))
        except (asyncio.IncompleteReadError, OSError):
            raise Failure("truncated") from None
        if answer.get("connection").lower() == "close":
            self.close()
        answer.expect()
        return answer

    async def chunks(self):
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)

    async def read_slowly(self, size, pace):
        """Reads a download at `pace` bytes a second and compares every byte."""
        left = size
        while left > 0:
            wanted = min(len(PIECE), left)
            if await self.reader.readexactly(wanted) != PIECE[:wanted]:
                raise Failure("mismatch")
            left -= wanted
            await asyncio.sleep(wanted / pace)


class Pool:
    """Idle connections of one class; takes the most recently used first."""

    def __init__(self, port):
        self.port, self.idle = port, []

    async def take(self):
        while self.idle:
            connection = self.idle.pop()
            if connection.usable():
                return connection
            connection.close()
        return await Http1.open(self.port)

    def give_back(self, connection):
        if connection.usable():
            self.idle.append(connection)


async def open_websocket(port, **fields):
    """(connection, pod)"""
    connection = await Http1.open(port)
    try:
        key = base64.b64encode(os.urandom(16))
        await connection.send("GET", "/ws", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13",
                              Sec_WebSocket_Key=key.decode(), **fields)
        answer = await connection.head()
        answer.expect(101)
        if answer.get("sec-websocket-accept") != accept_key(key):
            raise Failure("mismatch")
    except BaseException:
        connection.close()
        raise
    return connection, answer.pod


async def tunnel(port, seconds, period, know, **fields):
    """A WebSocket that sends a message every `period` and expects its echo; ends by itself after `seconds`."""
    connection, pod = await open_websocket(port, **fields)
    know(pod)
    try:
        for number in range(round(seconds / period)):
            connection.writer.write(frame(TEXT, f"message {number}".encode(), os.urandom(4)))
            await echo_of(connection, f"message {number}".encode())
            await asyncio.sleep(period)
        connection.writer.write(frame(CLOSE, b"\x03\xe8", os.urandom(4)))
        await echo_of(connection, b"\x03\xe8")
    finally:
        connection.close()


async def quiet_tunnel(port, times, pause, know):
    """A WebSocket that gets an echo and then waits, and notices its end at once."""
    connection, pod = await open_websocket(port)
    know(pod)
    try:
        for number in range(times):
            connection.writer.write(frame(TEXT, f"message {number}".encode(), os.urandom(4)))
            await echo_of(connection, f"message {number}".encode())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await echo_of(connection, b"")
                    raise Failure("mismatch")
    finally:
        connection.close()


async def silent_tunnel(port, know):
    """A silent WebSocket, until the other side ends it."""
    connection, pod = await open_websocket(port)
    know(pod)
    try:
        await echo_of(connection, b"")
    finally:
        connection.close()


async def echo_of(connection, payload):
    buffer = b""
    while not (parts := split(buffer)):
        try:
            data = await connection.reader.read(4096)
        except OSError:
            data = b""
        if not data:
            raise Failure("cut")
        buffer += data
    if parts[0] == CLOSE and parts[1] != payload:
        raise Failure("early", f"Close {int.from_bytes(parts[1][:2], 'big')}")
    if parts[1] != payload:
        raise Failure("mismatch")


def cookie_of(answer):
    """name=value of the new cookie, or nothing"""
    found = re.match(r"([^=;]+=[^;]*)", answer.get("set-cookie"))
    return found[1] if found else ""
