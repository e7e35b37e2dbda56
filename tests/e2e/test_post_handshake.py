"""What a peer may send once the handshake is done: a message in two halves, garbage behind the end, keys changed on and on. The
router waits for the rest, or closes that one connection; it never ends."""

import contextlib
import queue
import select
import socket
import threading

import pytest

import awkward
import hostile
import http2
from http1 import PATIENCE, Closed, Stream, request, response, trusting_context
from raw_tls import APPLICATION_DATA, HANDSHAKE, TICKET, TLS12, TLS13, RawTls, key_update, message
from router import backend as backend_of
from router import configuration, wait_until

ALL = {"name": "all", "backend": "service", "tls": "reencrypt"}
PATIENT = {"connect": "1m"}  # the time to connect includes the handshake, which the test makes long
NEW_TICKET = message(TICKET, bytes.fromhex("00000e10 00000001 01 00 0004") + b"tick" + b"\0\0")


@pytest.fixture
def pair(certificates):
    return certificates("localhost", "ecdsa", "localhost")


def https(pair, *ports, **more):
    settings = configuration(*ports, **more)
    settings["listeners"][0].update(protocol="https", certificates=[pair])
    return settings


def connect(one, **options):
    return RawTls(socket.create_connection(("127.0.0.1", one.port())), **options).shake_hands()


def nothing_came(peer):
    return not peer.received and not select.select([peer.socket], [], [], 0)[0]


def late_service(backend):
    """Answers /late when it is released, all else at once."""
    def serve(stream, known):
        while True:
            asked = stream.read_request()
            known.requests.append(asked)
            if asked.target == "/late":
                known.released.wait(60)
            stream.send(response(asked.target.encode()))

    return backend(serve)


def alive(one, target="/alive"):
    return one.get(target, tls=trusting_context()).status == 200


@pytest.mark.parametrize("wish", [0, 1])
@pytest.mark.parametrize("split", [1, 4])
def test_an_answer_waits_for_the_rest_of_a_key_update(router, backend, pair, wish, split):
    service = late_service(backend)
    one = router(https(pair, service.port))
    with connect(one, alpn="http/1.1") as client:
        client.write(request(target="/first"))
        client.read_until(b"/first")
        client.write(request(target="/late"))
        service.wait_for_requests(2)
        whole = key_update(wish)
        client.send_record(HANDSHAKE, whole[:split])
        assert alive(one)  # by the same worker: so that the half has been read
        service.released.set()
        one.logged(target="/late")
        assert split < 4 or nothing_came(client)  # OpenSSL waits for the message once it has seen the whole head of it
        client.send_record(HANDSHAKE, whole[split:])
        client.out.update()
        client.read_until(b"/late")
        client.write(request(target="/last"))
        client.read_until(b"/last")
    assert alive(one)


@pytest.mark.parametrize("split", range(1, 4))
def test_a_last_answer_leaves_beside_the_begin_of_a_key_update(router, backend, pair, split):
    """Nobody knows yet what it will be."""
    one = router(https(pair, backend(awkward.named("good")).port))
    with connect(one, alpn="http/1.1") as client:
        client.send(client.record(APPLICATION_DATA, request(Connection="close")) + client.record(HANDSHAKE, key_update()[:split]))
        client.read_until(b"good")


def test_a_session_of_http_2_outlives_a_key_update_in_halves(router, backend, pair):
    service = late_service(backend)
    one = router(https(pair, service.port))
    with connect(one, alpn="h2") as tls:
        client = http2.Client(tls)
        assert bytes(client.get(target="/first").body) == b"/first"
        late = client.ask(target="/late")
        service.wait_for_requests(2)
        whole = key_update(1)
        tls.send_record(HANDSHAKE, whole[:4])
        assert alive(one)
        service.released.set()
        one.logged(target="/late")
        tls.send_record(HANDSHAKE, whole[4:])
        tls.out.update()
        assert bytes(client.answer(late).body) == b"/late"
        assert bytes(client.get(target="/last").body) == b"/last"
    assert one.metric("ebbgate_tls_handshakes_total") == 2


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_a_long_answer_waits_at_its_endpoint_meanwhile(router, backend, pair, alpn):
    size, sent = 48 << 20, []

    def serve(stream, known):
        known.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size >> 16):
            stream.send(bytes(1 << 16))
            sent.append(1 << 16)

    one = router(https(pair, backend(serve).port))
    with connect(one, alpn=alpn) as tls:
        whole = key_update(1)
        client = http2.Client(tls, INITIAL_WINDOW_SIZE=1 << 30) if alpn == "h2" else None
        if client:
            client.send_raw(http2.frame(http2.WINDOW_UPDATE, payload=(1 << 30).to_bytes(4, "big")))
            stream = client.ask()
        else:
            tls.write(request())
        tls.send_record(HANDSHAKE, whole[:2])
        wait_until(lambda: sent, what="the answer's beginning")
        wait_until(lambda: (before := len(sent), stuck(sent))[0] == len(sent), what="its being stuck")
        assert sum(sent) < size // 2
        tls.send_record(HANDSHAKE, whole[2:])
        tls.out.update()
        if client:
            assert len(client.answer(stream).body) == size
        else:
            tls.read_until(b"\r\n\r\n")
            got = 0
            while got < size:
                got += len(tls.recv(1 << 20))
            assert got == size


EVENTS = 3500  # all of them together are less than what may wait for one client


def test_small_pieces_that_wait_meanwhile_hold_little_memory(router, backend, pair):
    """Each comes alone, and none may keep a block for itself."""
    event = b"30\r\ndata: " + b"x" * 40 + b"\n\n\r\n"

    def serve(stream, known):
        if stream.read_request().target != "/events":
            return stream.send(response())
        stream.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + event)
        known.released.wait(60)
        for _ in range(EVENTS):
            stream.send(event)
            threading.Event().wait(0.0002)
        stream.send(b"0\r\n\r\n")

    service = backend(serve)
    one = router(https(pair, service.port))
    with connect(one, alpn="http/1.1") as client:
        client.write(request(target="/events"))
        client.read_until(b"data: ")
        whole = key_update(1)
        client.send_record(HANDSHAKE, whole[:4])
        assert alive(one)
        before = one.metric("ebbgate_buffer_bytes")  # io_uring has buffers of its own
        service.released.set()
        one.logged(target="/events")  # the answer is whole, and waits in the router
        assert one.metric("ebbgate_buffer_bytes") - before < 1 << 20
        client.send_record(HANDSHAKE, whole[4:])
        client.out.update()
        client.read_until(b"0\r\n\r\n")
    assert one.metric("ebbgate_connections_closed_total", cause="buffer_limit") == 0


def stuck(sent):
    """Looks again until nothing has been added for a while."""
    while True:
        before = len(sent)
        threading.Event().wait(0.3)
        if len(sent) == before:
            return True


@pytest.mark.parametrize("mode", ["http1", "h2", "auto"])
@pytest.mark.parametrize("whole", [NEW_TICKET, key_update(1)], ids=["ticket", "key_update"])
def test_a_request_waits_for_the_rest_of_an_endpoints_message(router, backend, pair, mode, whole):
    def serve(stream, known):
        with RawTls(stream.socket, alpn=["http/1.1"] if mode == "http1" else ["h2"], certificate=pair) as tls:
            tls.shake_hands()
            tls.send_record(HANDSHAKE, whole[:4])
            known.halves.append(tls)
            known.released.wait(60)
            tls.send_record(HANDSHAKE, whole[4:])
            if whole[0] != TICKET:
                tls.out.update()
            if mode == "http1":
                awkward.named("after all")(Stream(SocketLike(tls)), known)
            else:
                http2.naming("after all")(Stream(SocketLike(tls)), known)

    service = backend(serve)
    service.halves = []
    backends = [backend_of(service.port, protocol=mode, tls={"verify": False}, timeouts=PATIENT)]
    plain = backend(awkward.named("plain"))
    one = router(configuration(backends=[*backends, backend_of(plain.port, name="plain")],
                               routes=[{"name": "beside", "path": "/plain", "backend": "plain"}, ALL]))
    with one.dial() as client:
        client.send(request())
        wait_until(lambda: service.halves, what="half a message")
        assert one.get("/plain").body == b"plain"
        service.released.set()
        assert client.read_response().body == b"after all"
        client.send(request())
        assert client.read_response().body == b"after all"


class SocketLike:
    """RawTls where the test's servers expect a socket."""

    def __init__(self, tls):
        self.tls = tls

    def __getattr__(self, name):
        return getattr(self.tls, name)


BAD_RECORD = b"\x17\x03\x03\x00\x20" + bytes(32)
GARBAGE = {"bad record": lambda _: BAD_RECORD, "alert": lambda _: b"\x15\x03\x03\x00\x02\x02\x28", "plain": lambda _: request(),
           "half a message": lambda tls: tls.record(HANDSHAKE, key_update(1)[:3])}


@pytest.mark.parametrize("version, alpn", [(TLS12, "http/1.1"), (TLS13, "http/1.1"), (TLS12, "h2"), (TLS13, "h2")], ids=["1.2", "1.3", "1.2-h2", "1.3-h2"])
@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_behind_a_cut_answer_is_dropped(router, backend, pair, version, alpn, garbage):
    """With HTTP/2 the connection has outlived the answer."""
    cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"
    one = router(https(pair, backend(awkward.closing_after(cut)).port))
    with connect(one, version=version, alpn=alpn) as client:
        if alpn == "h2":
            assert http2.Client(client).get().reset is not None
        else:
            client.write(request())
            client.read_until(b"only this")
        one.logged(target="/")
        with contextlib.suppress(OSError):
            client.send(GARBAGE[garbage](client))
            client.send(BAD_RECORD)
        while client.next_record() is not None:
            assert alpn == "h2", "something came behind the end"
    wait_until(lambda: one.metric("ebbgate_connections", side="client") == 0)


@pytest.mark.parametrize("mode", ["http1", "h2"])
@pytest.mark.parametrize("version", [TLS12, TLS13], ids=["1.2", "1.3"])
@pytest.mark.parametrize("where", ["in the middle", "behind the last answer", "behind a client that left"])
def test_garbage_of_an_endpoint_behind_its_answer_is_dropped(router, backend, pair, mode, version, where):
    """Each kind of it on a connection of its own, of which nothing is left."""
    def serve(stream, known):
        with RawTls(stream.socket, version, "h2" if mode == "h2" else "http/1.1", pair).shake_hands() as tls:
            speech = hostile.Speech2() if mode == "h2" else hostile.Speech1()
            if speech.greeting:
                tls.write(speech.greeting)
            speech.hear(tls)
            tls.write(speech.last if where == "behind the last answer" else speech.halves()[0])
            known.turns.get(timeout=PATIENCE)
            with contextlib.suppress(OSError):
                tls.send(kinds.pop()(tls))
                tls.send(BAD_RECORD)
            tls.drain(PATIENCE)  # until the router closes
            known.requests.append(tls.ended)

    kinds, service = list(GARBAGE.values()), backend(serve)
    service.turns = queue.SimpleQueue()
    plain = backend(awkward.named("plain"))
    one = router(configuration(backends=[backend_of(service.port, protocol=mode, retries=0, tls={"verify": False}, timeouts=PATIENT), backend_of(plain.port, name="plain")],
                               routes=[{"name": "beside", "path": "/plain", "backend": "plain"}, ALL]))
    for number in range(len(GARBAGE)):
        with one.dial() as client:
            client.send(request())
            client.read_until(b"go")
            if where == "behind a client that left":
                client.reset()
                wait_until(lambda: len(one.log()) == number + 1, what="its line in the log")
            service.turns.put(None)
            if where == "in the middle":
                with pytest.raises((Closed, ConnectionResetError)):
                    client.read_until(b"od")
        service.wait_for_requests(number + 1)
    assert service.requests == [True] * len(GARBAGE)
    wait_until(lambda: one.metric("ebbgate_connections", side="backend") == 0)
    assert one.get("/plain").body == b"plain"


@pytest.mark.parametrize("later", ["before SETTINGS", "with SETTINGS"])
def test_an_endpoint_that_agrees_on_http_2_late_and_closes(router, backend, pair, later):
    """The exchange has moved on by then; the connection belongs to nobody."""
    def late(stream, known):
        with RawTls(stream.socket, alpn=["h2"], certificate=pair) as tls:
            tls.hear()
            known.requests.append("ClientHello")
            known.released.wait(60)
            tls.shake_hands()
            if later == "with SETTINGS":
                tls.write(http2.frame(http2.SETTINGS))
            tls.recv(24)

    def good(stream, known):
        with RawTls(stream.socket, alpn=["http/1.1"], certificate=pair) as tls:
            awkward.named("good")(Stream(SocketLike(tls.shake_hands())), known)

    slow, quick = backend(late), backend(good)
    one = router(configuration(backends=[backend_of(slow.port, quick.port, protocol="auto", balance="round_robin", tls={"verify": False},
                                                timeouts=PATIENT)], routes=[ALL]))
    assert [one.get().status for _ in range(2)] == [200, 200]
    slow.wait_for_requests(1)
    slow.released.set()
    wait_until(lambda: one.metric("ebbgate_connections", side="backend") == 1, what="the late connection's end")
    assert one.get().status == 200


def test_answers_of_tls_are_limited_for_one_who_reads_nothing(router, backend, pair):
    """Each attempt to renegotiate gets a warning, as each KeyUpdate gets another."""
    one = router(https(pair, backend(awkward.named("x")).port, timeouts={"client_head": "5m", "client_write": "5m"}))
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect(("127.0.0.1", one.port()))
    closed = lambda: one.metric("ebbgate_connections_closed_total", side="client", cause="client_tls_failed") == 1  # noqa: E731
    with RawTls(plain, version=TLS12, alpn="http/1.1").shake_hands() as client, contextlib.suppress(OSError):
        hello = client.said[5:5 + int.from_bytes(client.said[3:5], "big")]
        while not closed():
            client.send(b"".join(client.record(HANDSHAKE, hello) for _ in range(2000)))
    assert alive(one)
    wait_until(closed)


@pytest.mark.parametrize("size", [1200, 1600, 1900])  # of the first; the longer ones nearly fill a block
def test_requests_in_two_records_leave_an_idle_client(router, pair, size):
    """The second request ends in the second record, and both come at once: then nothing is left to be read."""
    one = router(https(pair, routes=[], backends=[]))
    first, second = request(target="/first"), request(target="/second")
    first = first[:-2] + b"X-Padding: " + b"x" * (size - len(first) - 23) + b"\r\n\r\n"
    both = first + second
    with connect(one, alpn="http/1.1") as client:
        client.write(request(target="/nowhere"))
        client.read_until(b"(route_not_found)\n")
        client.send(client.record(APPLICATION_DATA, both[:size]) + client.record(APPLICATION_DATA, both[size:]))
        client.read_until(b"(route_not_found)\n")
        client.read_until(b"(route_not_found)\n")
        wait_until(lambda: one.metric("ebbgate_connections", side="client", state="idle") == 1, what="a client that is idle")
        client.write(request(target="/last"))
        client.read_until(b"(route_not_found)\n")
    wait_until(lambda: [line["status"] for line in one.log()] == [404] * 4, what="four answers and no other")


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_client_that_reads_late_is_answered_though_its_requests_come_in_pieces(router, pair, ahead):
    """The answer to the second of two requests in two records may be the one too many. Behind it lies part of the next."""
    one = router(https(pair, routes=[], backends=[], timeouts={"client_head": "5m", "client_write": "5m"},
                       errors=[{"status": 404, "body": "x" * 60000 + "(end)"}]))
    head = request(target="/asked")
    asked = head[:-2] + b"X-Padding: " + b"x" * (950 - len(head) - 13) + b"\r\n\r\n"
    assert len(asked) == 950
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect(("127.0.0.1", one.port()))
    with RawTls(plain, alpn="http/1.1").shake_hands() as client:
        for _ in range(ahead):
            client.write(asked)
        count = ahead
        client.write(asked[:100])
        stream = (asked * 3)[100:2000]
        before = one.metric("ebbgate_buffer_bytes")
        many = lambda: one.metric("ebbgate_buffer_bytes") - before > 256 << 10  # noqa: E731
        while not many():
            client.send(client.record(APPLICATION_DATA, stream[:1600]) + client.record(APPLICATION_DATA, stream[1600:]))
            count += 2
            wait_until(lambda: len(one.log()) >= count or many())
        client.write(asked[100:])
        for _ in range(count + 1):
            client.read_until(b"(end)")
    wait_until(lambda: [line["status"] for line in one.log()] == [404] * (count + 1), what="all answers and no other")
