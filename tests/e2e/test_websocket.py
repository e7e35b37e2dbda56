"""WebSocket through the router: the `websockets` library on both sides over HTTP/1, and each mix with HTTP/2 (RFC 8441)."""

import asyncio
import contextlib
import threading

import h2.errors
import pytest
import websockets.exceptions
import websockets.frames
import websockets.server
import websockets.streams

import awkward
import http2
from http1 import PATIENCE, response, trusting_context
from loop_server import LoopServer
from router import backend as backend_of, configuration, wait_until

SIZE_MAX = 32 << 20


class Server(LoopServer):
    """Echoes messages; `close N` makes it close with code N. `codes` are those that clients closed with."""

    def __init__(self):
        self.codes, self.messages, self.requests = [], 0, []

    async def echo(self, connection):
        self.requests.append((connection.path, connection.request_headers))
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            async for message in connection:
                self.messages += 1
                if isinstance(message, str) and message.startswith("close "):
                    await connection.close(int(message[6:]), "as asked")
                    return
                await connection.send(message)
        self.codes.append((connection.close_code, connection.close_reason))

    @contextlib.asynccontextmanager
    async def serving(self):
        async with websockets.serve(self.echo, "127.0.0.1", 0, max_size=SIZE_MAX, subprotocols=["chat"], ping_interval=None) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield


@pytest.fixture
def server():
    with Server() as one:
        yield one


@pytest.fixture(params=["plain", "tls"])
def tls(request):
    return request.param == "tls"


@pytest.fixture
def through(router, certificates, tls):
    def start(port, protocol="http1", **sections):
        settings = configuration(backends=[backend_of(port, protocol=protocol)], **sections)
        if tls:
            settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
        return router(settings)

    return start


def talk(one, tls, conversation, **options):
    """Runs conversation(connection) with the library's client."""

    async def run():
        context = trusting_context() if tls else None
        if context:
            context.set_alpn_protocols(["http/1.1"])
        uri = f"{'wss' if tls else 'ws'}://localhost:{one.port()}/chat?room=1"
        async with websockets.connect(uri, ssl=context, max_size=SIZE_MAX, ping_interval=None, open_timeout=PATIENCE, **options) as connection:
            return await asyncio.wait_for(conversation(connection), 60)

    return asyncio.run(run())


# The library on both sides


def test_messages_fragments_and_pings(through, server, tls):
    one = through(server.port)

    async def conversation(connection):
        assert connection.subprotocol == "chat"
        for message in ("text \u00e4", b"\x00\xff", "", b"x" * 70000):
            await connection.send(message)
            assert await connection.recv() == message
        await connection.send(["in ", "four ", "frag", "ments"])
        assert await connection.recv() == "in four fragments"
        await asyncio.wait_for(await connection.ping(b"are you there"), 5)

    talk(one, tls, conversation, subprotocols=["chat"])
    path, headers = server.requests[0]
    assert path == "/chat?room=1" and headers["X-Forwarded-Proto"] == ("https" if tls else "http")
    assert one.logged(status=101)["cause"] == "tunnel_closed"


def test_close_codes_pass_both_ways(through, server, tls):
    one = through(server.port)

    async def client_closes(connection):
        await connection.close(4321, "enough")

    async def server_closes(connection):
        await connection.send("close 4000")
        with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
            await connection.recv()
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4000, "as asked")

    talk(one, tls, client_closes)
    wait_until(lambda: server.codes == [(4321, "enough")])
    talk(one, tls, server_closes)
    wait_until(lambda: one.metric("ebbgate_exchanges") == 0)


def test_ten_thousand_messages(through, server, tls):
    one = through(server.port)

    async def conversation(connection):
        async def send():
            for number in range(10_000):
                await connection.send(str(number))

        sending = asyncio.create_task(send())
        for number in range(10_000):
            assert await connection.recv() == str(number)
        await sending

    talk(one, tls, conversation)
    assert server.messages == 10_000


def test_one_message_of_16_mib(through, server, tls):
    one = through(server.port)
    message = bytes(range(256)) * (16 << 12)

    async def conversation(connection):
        await connection.send(message)
        assert await connection.recv() == message

    talk(one, tls, conversation, compression=None)


def test_an_idle_tunnel_ends_and_a_busy_one_does_not(router, server):
    one = router(configuration(server.port) | {"timeouts": {"tunnel_idle": "4s"}})

    async def conversation(connection):
        for _ in range(8):  # longer than the time-out together, shorter each
            await asyncio.sleep(0.6)
            await asyncio.wait_for(await connection.ping(), PATIENCE)
        with pytest.raises(websockets.exceptions.ConnectionClosed):
            await connection.recv()

    talk(one, False, conversation)
    assert one.logged(status=101)["cause"] == "tunnel_idle_timeout"


# Over HTTP/2


class Socket:
    """A WebSocket in a stream of HTTP/2, by hand (RFC 8441 section 5)."""

    def __init__(self, one, tls=False, fields=()):
        self.peer = http2.dial(one.port(), tls=tls)
        self.peer.wait_for(lambda: self.peer.h2.remote_settings.get(8) == 1)  # SETTINGS_ENABLE_CONNECT_PROTOCOL
        self.stream = self.peer.h2.get_next_available_stream_id()
        self.peer.send_head(self.stream, [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https" if tls else "http"),
                                          (":path", "/chat"), (":authority", "localhost"), ("sec-websocket-version", "13"), *fields])
        self.half = self.peer.halves[self.stream]
        self.peer.wait_for(lambda: self.half.fields)
        self.reader = websockets.streams.StreamReader()
        self.fed = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.socket.close()

    def send(self, opcode, data, fin=True):
        frame = websockets.frames.Frame(opcode, data, fin).serialize(mask=True)
        self.peer.send_body(self.stream, frame)

    def receive(self):
        """The next frame."""
        parse = websockets.frames.Frame.parse(self.reader.read_exact, mask=False)
        while True:
            try:
                next(parse)
            except StopIteration as done:
                return done.value
            self.peer.wait_for(lambda: len(self.half.body) > self.fed or self.half.ended)
            assert len(self.half.body) > self.fed, "the stream ended"
            self.reader.feed_data(bytes(self.half.body[self.fed:]))
            self.fed = len(self.half.body)


TEXT, BINARY, CLOSE, PING, PONG, CONTINUATION = (websockets.frames.Opcode[name] for name in ("TEXT", "BINARY", "CLOSE", "PING", "PONG", "CONT"))


def converse(websocket):
    assert websocket.half.status == 200 and not websocket.half.whole
    websocket.send(TEXT, b"hello")
    assert websocket.receive().data == b"hello"
    websocket.send(TEXT, b"in two ", fin=False)
    websocket.send(CONTINUATION, b"parts")
    assert websocket.receive().data == b"in two parts"
    websocket.send(PING, b"?")
    answer = websocket.receive()
    assert (answer.opcode, answer.data) == (PONG, b"?")
    large = bytes(range(256)) * 4096
    websocket.send(BINARY, large)
    assert websocket.receive().data == large
    websocket.send(CLOSE, (4321).to_bytes(2, "big") + b"enough")
    answer = websocket.receive()
    assert (answer.opcode, answer.data[:2]) == (CLOSE, (4321).to_bytes(2, "big"))


def test_a_client_of_http2_reaches_a_server_of_http1(through, server, tls):
    one = through(server.port)
    with Socket(one, tls) as websocket:
        converse(websocket)
        websocket.peer.wait_for(lambda: websocket.half.whole)  # the server closes its connection after the close frames
        websocket.peer.h2.end_stream(websocket.stream)
        websocket.peer.flush()
        wait_until(lambda: one.metric("ebbgate_exchanges") == 0)
    wait_until(lambda: server.codes == [(4321, "enough")])
    path, headers = server.requests[0]
    assert path == "/chat" and headers["Upgrade"] == "websocket" and headers["Sec-WebSocket-Key"]


def test_tunnels_and_requests_share_a_connection(router, server):
    one = router(configuration(backends=[backend_of(server.port)]))
    with Socket(one) as websocket:
        for number in range(20):
            websocket.send(TEXT, str(number).encode())
            plain = websocket.peer.get()  # the server of WebSockets answers 426
            assert plain.status == 426
            assert websocket.receive().data == str(number).encode()


def test_half_close_is_kept_over_http2(router, backend):
    one = router(configuration(backend(awkward.upgrading()).port))
    with Socket(one) as tunnel:
        assert tunnel.half.status == 200
        tunnel.peer.send_body(tunnel.stream, b"last words", end=True)
        tunnel.peer.wait_for(lambda: tunnel.half.ended)
        assert (bytes(tunnel.half.body), tunnel.half.reset) == (b"last words", None)
    assert one.logged(status=101)["cause"] == "tunnel_closed"


def test_a_backend_that_resets_resets_the_stream(router, backend):
    one = router(configuration(backend(awkward.upgrading_then_resetting()).port))
    with Socket(one) as tunnel:
        tunnel.peer.send_body(tunnel.stream, b"stop")
        tunnel.peer.wait_for(lambda: tunnel.half.ended)
        assert tunnel.half.reset is not None and not tunnel.half.whole
        assert tunnel.peer.get().status == 502  # the connection goes on; nobody had asked for this 101


def test_a_refused_handshake_is_an_ordinary_answer(router, backend):
    one = router(configuration(backend(awkward.answering(lambda _: response(b"no", "403 Forbidden"))).port))
    with Socket(one) as tunnel:
        tunnel.peer.wait_for(lambda: tunnel.half.ended)
        assert (tunnel.half.status, bytes(tunnel.half.body)) == (403, b"no")


def test_a_reset_stream_ends_the_tunnel_at_the_backend(router, backend):
    service = backend(awkward.upgrading())
    one = router(configuration(service.port))
    with Socket(one) as tunnel:
        tunnel.peer.reset(tunnel.stream, h2.errors.ErrorCodes.CANCEL)
        wait_until(lambda: one.metric("ebbgate_exchanges") == 0)
        wait_until(lambda: one.metric("ebbgate_connections", side="backend") == 0)


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "206 Partial Content"])
def test_success_of_an_http1_server_that_ignores_the_upgrade_is_no_websocket(router, backend, status):
    """To a client of HTTP/2 any 2xx would say that the tunnel is there."""
    body = b"" if status.startswith("204") else b"a page"
    service = backend(awkward.answering(lambda _: response(body, status)))
    one = router(configuration(service.port))
    with Socket(one, fields=[("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")]) as tunnel:
        assert tunnel.half.status == 502
        tunnel.peer.wait_for(lambda: tunnel.half.ended)
        assert b"a page" not in tunnel.half.body
    assert one.logged(status=502)["cause"] == "backend_no_upgrade"
    assert len(service.requests[0].all("Sec-WebSocket-Key")) == 1


@pytest.mark.parametrize("protocol", ["h2c", "H2C"])
def test_no_tunnel_of_http2_leads_past_the_routes(router, backend, protocol):
    """HTTP/1 has the same rule: an endpoint must not be asked to speak HTTP/2 behind our back."""
    service = backend(awkward.upgrading(protocol))
    one = router(configuration(service.port))
    with http2.dial(one.port()) as peer:
        peer.wait_for(lambda: peer.h2.remote_settings.get(8) == 1)  # SETTINGS_ENABLE_CONNECT_PROTOCOL
        stream = peer.h2.get_next_available_stream_id()
        peer.send_head(stream, [(":method", "CONNECT"), (":protocol", protocol), (":scheme", "http"), (":path", "/"), (":authority", "localhost"),
                                ("http2-settings", "AAMAAABkAAQAAP__")])
        peer.wait_for(lambda: peer.halves[stream].fields)
        assert peer.halves[stream].status == 405
    assert one.logged(status=405)["cause"] == "client_method_refused"
    assert not service.requests


def test_an_endpoint_that_switches_to_another_protocol_makes_no_websocket(router, backend):
    one = router(configuration(backend(awkward.upgrading("other")).port))
    with Socket(one) as tunnel:
        tunnel.peer.wait_for(lambda: tunnel.half.ended)
        assert tunnel.half.status == 502
    assert one.logged(status=502)["cause"] == "backend_bad_response"


@pytest.mark.parametrize("status", ["302 Found", "403 Forbidden", "426 Upgrade Required", "503 Service Unavailable"])
def test_a_refusal_of_an_http1_server_is_passed_on(router, backend, status):
    service = backend(awkward.answering(lambda _: response(b"no", status)))
    one = router(configuration(service.port))
    with Socket(one) as tunnel:
        assert tunnel.half.status == int(status[:3])


def test_a_client_of_http1_may_get_a_page_instead_of_an_upgrade(router, backend):
    one = router(configuration(backend(awkward.named("a page")).port))
    with one.dial() as client:
        client.send(HANDSHAKE)
        assert client.read_response().body == b"a page"


def connecting(connect=True):
    """A server of HTTP/2 that takes extended CONNECT and echoes what comes; requests without :protocol get a 200."""

    def serve(stream, known):
        peer = http2.Peer(stream.socket, client=False, **({"ENABLE_CONNECT_PROTOCOL": 1} if connect else {}))
        echoed = {}
        while True:
            peer.receive()
            for number, half in list(peer.halves.items()):
                if half.fields and number not in echoed:
                    known.requests.append(half)
                    echoed[number] = 0
                    peer.send_head(number, [(":status", 200)])
                if number in echoed and (len(half.body) > echoed[number] or half.whole):
                    data = bytes(half.body[echoed[number]:])
                    echoed[number] = len(half.body)
                    peer.send_body(number, data, end=half.whole)
                    if half.whole:
                        del peer.halves[number], echoed[number]

    return serve


HANDSHAKE = (b"GET /chat HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
             b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")


@pytest.mark.parametrize("size", [5, 1 << 20])
def test_a_client_of_http1_reaches_a_server_of_http2(router, backend, size):
    service = backend(connecting())
    one = router(configuration(backends=[backend_of(service.port, protocol="h2c")]))
    with one.dial() as client:
        client.send(HANDSHAKE)
        answer = client.read_response()
        assert (answer.status, answer.get("Sec-WebSocket-Accept")) == (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")  # of RFC 6455 1.3
        threading.Thread(target=client.send, args=(b"y" * size,), daemon=True).start()
        assert client.read(size) == b"y" * size
        client.finish_sending()
        assert client.read_to_end() == b""
    seen = service.requests[0]
    assert (seen.method, seen.get(":protocol"), seen.target, seen.get("sec-websocket-key")) == ("CONNECT", "websocket", "/chat", None)


def test_a_client_of_http2_reaches_a_server_of_http2(through, backend, tls):
    one = through(backend(connecting()).port, "h2c")
    with Socket(one, tls) as tunnel:
        for word in (b"one", b"two", b"three" * 10000):
            tunnel.peer.send_body(tunnel.stream, word)
            tunnel.peer.wait_for(lambda: bytes(tunnel.half.body).endswith(word))
        tunnel.peer.send_body(tunnel.stream, b"", end=True)
        tunnel.peer.wait_for(lambda: tunnel.half.whole)


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_both_sides_hear_of_the_deadline_of_a_drain(router, backend, protocol):
    service = backend(awkward.upgrading() if protocol == "http1" else connecting())
    ready = backend_of(service.port, protocol=protocol, drain={"deadline": "200ms"})
    one = router(configuration(backends=[ready]))
    with Socket(one) as tunnel:
        tunnel.peer.send_body(tunnel.stream, b"\x82\x02hi")
        tunnel.peer.wait_for(lambda: tunnel.half.body)
        one.change(backends=[{**ready, "endpoints": [{**ready["endpoints"][0], "state": "drain"}]}])
        tunnel.peer.wait_for(lambda: tunnel.half.ended)
        assert tunnel.half.whole and tunnel.half.body.endswith(b"\x88\x02\x03\xe9")  # Close, 1001
    heard = (lambda: bytes(service.received[0])) if protocol == "http1" else (lambda: bytes(service.requests[0].body))
    wait_until(lambda: heard().endswith(b"\x88\x82\0\0\0\0\x03\xe9"), what="the Close that the endpoint gets")
    one.logged(status=101, cause="drain_deadline")


def test_a_client_that_has_finished_hears_of_the_deadline_of_a_drain(router, backend):
    def goes_on(stream, known):
        stream.read_request()
        stream.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x82\x02hi")
        known.released.wait(60)

    ready = backend_of(backend(goes_on).port, drain={"deadline": "200ms"})
    one = router(configuration(backends=[ready]))
    with Socket(one) as tunnel:
        tunnel.peer.wait_for(lambda: tunnel.half.body)
        tunnel.peer.send_body(tunnel.stream, b"", end=True)
        one.change(backends=[{**ready, "endpoints": [{**ready["endpoints"][0], "state": "drain"}]}])
        tunnel.peer.wait_for(lambda: tunnel.half.ended)
        assert tunnel.half.whole and tunnel.half.body.endswith(b"\x88\x02\x03\xe9")  # Close, 1001
    wait_until(lambda: one.metric("ebbgate_exchanges") == 0, what="the end of the tunnel")


def test_a_server_of_http2_without_extended_connect_is_an_error(router, backend):
    service = backend(connecting(connect=False))
    one = router(configuration(backends=[backend_of(service.port, protocol="h2c")]))
    with one.dial() as client:
        client.send(HANDSHAKE)
        assert client.read_response().status in (501, 502)
    assert not service.requests


def refusing(status, end):
    """A server of HTTP/2 with room for two streams that answers each extended CONNECT with that status."""

    def serve(stream, known):
        peer = http2.Peer(stream.socket, client=False, MAX_CONCURRENT_STREAMS=2, ENABLE_CONNECT_PROTOCOL=1)
        answered = set()
        while True:
            peer.receive()
            for number, half in list(peer.halves.items()):
                if half.fields and number not in answered:
                    answered.add(number)
                    known.requests.append(half)
                    peer.send_head(number, [(":status", status)], end=end)
                    if not end:
                        peer.send_body(number, b"no", end=True)

    return serve


@pytest.mark.parametrize("end", [True, False])
def test_a_refused_websocket_ends_its_stream_at_the_server_of_http2(router, backend, end):
    service = backend(refusing(403, end))
    one = router(configuration(backends=[backend_of(service.port, protocol="h2c")]))
    for _ in range(5):
        with one.dial() as client:
            client.send(HANDSHAKE)
            assert client.read_response().status == 403
    wait_until(lambda: all(half.ended for half in service.requests), what="the end of each stream")
    assert len(service.requests) == 5 and len(service.streams) == 1
    assert not any(half.reset for half in service.requests)


def test_a_tunnel_that_the_server_of_http2_ends_with_its_answer_is_over_for_the_client(router, backend):
    service = backend(refusing(200, True))
    one = router(configuration(backends=[backend_of(service.port, protocol="h2c")]))
    with one.dial() as client:
        client.send(HANDSHAKE)
        assert client.read_response().status == 101
        assert client.read_to_end() == b""
    with Socket(one) as tunnel:
        tunnel.peer.wait_for(lambda: tunnel.half.ended)
        assert tunnel.half.status == 200 and tunnel.half.whole
    wait_until(lambda: one.metric("ebbgate_exchanges") == 0)
    wait_until(lambda: all(half.ended for half in service.requests), what="the end of each stream")
    assert one.metric("ebbgate_missing_transitions_total") == one.metric("ebbgate_lost_handles_total") == 0
