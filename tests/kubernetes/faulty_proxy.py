"""A proxy before the API server that does what it is told to: faulty_proxy.py SETTINGS (JSON)

Clients speak HTTP/2 or HTTP/1.1 over TLS; each request goes on to the API server over a connection of its own. A rule says to which
requests a fault happens, and how often; the first rule that fits is taken. Rules and the list of requests are read and written on a
port of their own (PUT /rules, GET /requests, POST /cut), which answers when they hold.

    {"match": REGEX of "METHOD PATH?QUERY", "times": N or null,
     "delay": SECONDS before the request goes on,
     "pause": SECONDS between the parts of the response,
     "status": N, "headers": {...}, "body": TEXT    answered here, the API server does not see it,
     "expire": true                                 a watch gets 200 and, in it, the event ERROR 410,
     "cut": BYTES of the response's body, then the connection is closed as by a process that died,
     "reset": true                                  closed with RST}
"""

import asyncio
import json
import re
import socket
import ssl
import struct
import sys

from proxy_fronts import Http1Front, Http2Front

EXPIRED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "too old resource version: 1 (2)",
           "reason": "Expired", "code": 410}
CONNECTION_FIELDS = ("connection", "keep-alive", "transfer-encoding", "upgrade", "te", "host", "content-length", "accept-encoding")


class Cut(Exception):
    """The client's connection is to be closed."""


class Proxy:
    def __init__(self, settings):
        self._host, self._port = settings["api"]
        self._to_server = ssl.create_default_context(cafile=settings["authority"])
        self.rules, self.requests, self._open = [], [], set()

    def rule_for(self, line):
        for number, rule in enumerate(self.rules):
            if rule.get("times") != 0 and re.search(rule["match"], line):
                if rule.get("times") is not None:
                    rule["times"] -= 1
                return number, rule
        return None, {}

    async def connected(self, reader, writer):
        self._open.add(writer)
        front = Http2Front if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2" else Http1Front
        try:
            await front(reader, writer, self.handle).run()
        except (OSError, EOFError, ValueError):
            pass
        except Cut as cut:
            if cut.args[0]:
                raw = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    def cut_all(self):
        for writer in list(self._open):
            writer.transport.abort()

    async def handle(self, exchange):
        """One request of a front: `exchange` has method, target, fields, body, and respond(), send(), finish()."""
        number, rule = self.rule_for(f"{exchange.method} {exchange.target}")
        seen = {"method": exchange.method, "target": exchange.target, "version": exchange.version, "rule": number, "status": None,
                "sent": 0}
        self.requests.append(seen)
        await asyncio.sleep(rule.get("delay", 0))
        if "status" in rule:
            await self._answer(exchange, seen, rule["status"], rule.get("headers", {}), rule.get("body", ""))
        elif rule.get("expire"):
            await self._answer(exchange, seen, 200, {}, json.dumps({"type": "ERROR", "object": EXPIRED}) + "\n")
        else:
            await self._forward(exchange, seen, rule)

    async def _answer(self, exchange, seen, status, headers, body):
        body = body if isinstance(body, str) else json.dumps(body)
        seen["status"] = status
        await exchange.respond(status, [("content-type", "application/json"), *headers.items()])
        await exchange.send(body.encode())
        seen["sent"] = len(body)
        await exchange.finish()

    async def _forward(self, exchange, seen, rule):
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._to_server)
        try:
            fields = [(name, value) for name, value in exchange.fields if name.lower() not in CONNECTION_FIELDS]
            fields += [("Host", f"{self._host}:{self._port}"), ("Connection", "close"), ("Content-Length", str(len(exchange.body)))]
            head = f"{exchange.method} {exchange.target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields)
            writer.write(head.encode() + b"\r\n" + exchange.body)
            status, answered = await read_head(reader)
            seen["status"] = status
            await exchange.respond(status, [(name, value) for name, value in answered.items() if name not in CONNECTION_FIELDS])
            async for part in read_body(reader, answered):
                room = rule["cut"] - seen["sent"] if "cut" in rule else len(part)
                await exchange.send(part[:room])
                seen["sent"] += min(room, len(part))
                if "cut" in rule and len(part) >= room:
                    raise Cut(rule.get("reset", False))
                await asyncio.sleep(rule.get("pause", 0))
            await exchange.finish()
        finally:
            writer.transport.abort()


async def read_head(reader):
    status = int((await reader.readuntil(b"\r\n")).split(b" ", 2)[1])
    fields = {}
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        name, value = line.decode("latin-1").rstrip("\r\n").split(":", 1)
        fields[name.lower()] = value.strip()
    return status, fields


async def read_body(reader, fields):
    if fields.get("transfer-encoding") != "chunked":
        left = int(fields.get("content-length", 1 << 60))
        while left and (part := await reader.read(min(left, 65536))):
            left -= len(part)
            yield part
        return
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)


async def control(proxy, reader, writer):
    try:
        method, target, _ = (await reader.readuntil(b"\r\n")).decode().split()
        length = 0
        while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = await reader.readexactly(length)
        if (method, target) == ("PUT", "/rules"):
            proxy.rules, proxy.requests = json.loads(body), []
        elif (method, target) == ("POST", "/cut"):
            proxy.cut_all()
        answer = json.dumps(proxy.requests).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
        await writer.drain()
    finally:
        writer.close()


async def main():
    settings = json.loads(sys.argv[1])
    proxy = Proxy(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings["certificate"], settings["key"])
    context.set_alpn_protocols(["h2", "http/1.1"])
    await asyncio.start_server(lambda reader, writer: control(proxy, reader, writer), "0.0.0.0", settings["control_port"])
    server = await asyncio.start_server(proxy.connected, "0.0.0.0", settings["port"], ssl=context)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
