"""How clients speak to the faulty proxy: HTTP/1.1 one request after another, HTTP/2 many at once."""

import asyncio

import h2.config
import h2.connection
import h2.events
import h2.exceptions


class Exchange:
    """One request, and the way back."""

    def __init__(self, version, method, target, fields, body):
        self.version, self.method, self.target, self.fields, self.body = version, method, target, fields, body


class Http1Exchange(Exchange):
    def __init__(self, writer, *request):
        super().__init__("1.1", *request)
        self._writer = writer

    async def respond(self, status, fields):
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        self._writer.write(f"HTTP/1.1 {status} Answer\r\n{lines}Transfer-Encoding: chunked\r\n\r\n".encode())
        await self._writer.drain()

    async def send(self, part):
        if part:
            self._writer.write(b"%x\r\n" % len(part) + part + b"\r\n")
            await self._writer.drain()

    async def finish(self):
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()


class Http1Front:
    def __init__(self, reader, writer, handle):
        self._reader, self._writer, self._handle = reader, writer, handle

    async def run(self):
        while True:
            method, target, _ = (await self._reader.readuntil(b"\r\n")).decode().split()
            fields, length = [], 0
            while (line := await self._reader.readuntil(b"\r\n")) != b"\r\n":
                name, value = line.decode("latin-1").rstrip("\r\n").split(":", 1)
                fields.append((name, value.strip()))
                if name.lower() == "content-length":
                    length = int(value)
            body = await self._reader.readexactly(length)
            # A client that leaves in the middle of a watch ends it.
            handled = asyncio.ensure_future(self._handle(Http1Exchange(self._writer, method, target, fields, body)))
            gone = asyncio.ensure_future(self._gone())
            done, _ = await asyncio.wait((handled, gone), return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if handled not in done:
                handled.cancel()
                return
            handled.result()

    async def _gone(self):
        while not self._reader.at_eof():
            await asyncio.sleep(0.1)


class Http2Exchange(Exchange):
    def __init__(self, front, stream, *request):
        super().__init__("2", *request)
        self._front, self._stream = front, stream

    async def respond(self, status, fields):
        self._front.machine.send_headers(self._stream, [(":status", str(status)), *fields])
        await self._front.flush()

    async def send(self, part):
        while part:
            room = min(self._front.machine.local_flow_control_window(self._stream), self._front.machine.max_outbound_frame_size)
            if room <= 0:
                await self._front.window_opened()
                continue
            self._front.machine.send_data(self._stream, part[:room])
            part = part[room:]
            await self._front.flush()

    async def finish(self):
        self._front.machine.end_stream(self._stream)
        await self._front.flush()


class Http2Front:
    def __init__(self, reader, writer, handle):
        self._reader, self._writer, self._handle = reader, writer, handle
        self.machine = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self._requests, self._tasks = {}, {}
        self._opened = asyncio.Event()
        self._failed = asyncio.get_running_loop().create_future()

    async def flush(self):
        if waiting := self.machine.data_to_send():
            self._writer.write(waiting)
            await self._writer.drain()

    async def window_opened(self):
        self._opened.clear()
        await self._opened.wait()

    async def run(self):
        self.machine.initiate_connection()
        await self.flush()
        reading = asyncio.ensure_future(self._read())
        try:
            done, _ = await asyncio.wait((reading, self._failed), return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            reading.cancel()
            for task in self._tasks.values():
                task.cancel()

    async def _read(self):
        while got := await self._reader.read(65536):
            try:
                events = self.machine.receive_data(got)
            except h2.exceptions.ProtocolError:
                await self.flush()
                return
            for event in events:
                self._take(event)
            await self.flush()

    def _take(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self._requests[event.stream_id] = (event.headers, bytearray())
        elif isinstance(event, h2.events.DataReceived):
            self._requests[event.stream_id][1].extend(event.data)
            self.machine.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._begin(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            if task := self._tasks.pop(event.stream_id, None):
                task.cancel()
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            self._opened.set()

    def _begin(self, stream):
        headers, body = self._requests.pop(stream)
        named = dict(headers)
        fields = [(name, value) for name, value in headers if not name.startswith(":")]
        exchange = Http2Exchange(self, stream, named[":method"], named[":path"], fields, bytes(body))
        task = self._tasks[stream] = asyncio.ensure_future(self._handle(exchange))
        task.add_done_callback(lambda done: self._ended(stream, done))

    def _ended(self, stream, task):
        self._tasks.pop(stream, None)
        if not task.cancelled() and (error := task.exception()) and not self._failed.done():
            if isinstance(error, (h2.exceptions.ProtocolError, OSError)):
                error = EOFError()  # the client, or the API server, is gone
            self._failed.set_exception(error)
