"""Endpoints that speak HTTP/2 and have a bad day: refused streams, GOAWAY, silence, few streams."""

import concurrent.futures
import contextlib
import socket
import ssl
import time

import h2.errors
import h2.events
import pytest

import awkward
import http2
from http1 import Stream, request
from router import backend as backend_of, configuration, wait_until

SILENCE_SECONDS = 7  # 5 without a byte, then 2 for the answer to a PING


def to(*services, timeouts=None, **more):
    """The time to connect, which includes SETTINGS, is no part of these tests: a busy machine makes no connection a second time."""
    return configuration(backends=[backend_of(*(service.port for service in services), protocol="h2c",
                                              timeouts={"connect": "1m", **(timeouts or {})}, **more)])


def connection_number(stream, known):
    return next(number for number, each in enumerate(known.streams) if each is stream)


@pytest.mark.parametrize("method,body", [("GET", None), ("POST", b"once")])
def test_settings_that_come_late_are_waited_for(router, backend, method, body):
    """The endpoint's kernel has connected at once; its process takes its time, as it may with an answer."""
    def serve(stream, known):
        time.sleep(3)
        http2.naming("late")(stream, known)

    service = backend(serve)
    one = router(configuration(backends=[backend_of(service.port, protocol="h2c", timeouts={"connect": "500ms", "handshake": "40s"})]))
    with one.dial() as client:
        client.send(request(method, "/", body=body or b""))
        assert client.read_response().body == b"late"
    assert len(service.streams) == 1


def test_settings_that_do_not_come_end_the_attempt(router, backend):
    service = backend(awkward.stalling_after(b""))
    one = router(configuration(backends=[backend_of(service.port, protocol="h2c", timeouts={"connect": "300ms", "handshake": "600ms"},
                                                    queue={"timeout": "300ms"})]))
    assert one.get().status == 504
    one.logged(cause="backend_connect_timeout")


@pytest.mark.parametrize("method,body", [("GET", None), ("POST", b"also this, since nobody has seen it")])
def test_a_refused_stream_is_sent_again(router, backend, method, body):
    refused = []

    def answer(peer, asked):
        if not refused:
            refused.append(asked)
            return peer.reset(asked.stream, h2.errors.ErrorCodes.REFUSED_STREAM)
        http2.reply(peer, asked, bytes(asked.body) or b"second")

    service = backend(http2.serving(answer))
    one = router(to(service))
    with http2.dial(one.port()) as client:
        got = client.get(method, body=body)
        assert (got.status, bytes(got.body)) == (200, body or b"second")
    assert [seen.method for seen in service.requests] == [method, method]
    assert one.logged(method=method, tries=2)["cause"] == "completed"
    assert one.metric("ebbgate_retries_total", cause="backend_refused_stream") == 1


def test_refused_streams_are_not_repeated_forever(router, backend):
    service = backend(http2.serving(lambda peer, asked: peer.reset(asked.stream, h2.errors.ErrorCodes.REFUSED_STREAM)))
    one = router(to(service, retries=2))
    with http2.dial(one.port()) as client:
        assert client.get().status in (502, 503)
    assert len(service.requests) == 3


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_streams_beyond_the_last_of_a_goaway_are_sent_again(router, backend, method):
    def serve(stream, known):
        peer = http2.Peer(stream.socket, client=False)
        if connection_number(stream, known) > 0:
            while True:
                peer.wait_for(lambda: any(half.whole for half in peer.halves.values()))
                for number, half in list(peer.halves.items()):
                    if half.whole:
                        del peer.halves[number]
                        known.requests.append(half)
                        http2.reply(peer, half, b"elsewhere")
        peer.wait_for(lambda: sum(half.whole for half in peer.halves.values()) == 3)
        known.requests.extend(peer.halves.values())
        peer.send_raw(http2.frame(http2.GOAWAY, payload=(1).to_bytes(4, "big") + bytes(4)))
        http2.reply(peer, peer.halves[1], b"here")
        peer.read_to_end()

    service = backend(serve)
    one = router(to(service))
    with http2.dial(one.port()) as client:
        streams = [client.ask(method, target=f"/{index}", body=b"x" if method == "POST" else None) for index in range(3)]
        assert [bytes(client.answer(stream).body) for stream in streams] == [b"here", b"elsewhere", b"elsewhere"]
    assert [seen.target for seen in service.requests] == ["/0", "/1", "/2", "/1", "/2"]


def test_a_goaway_that_passes_over_a_request_too_long_to_repeat_is_answered(router, backend):
    def serve(stream, known):
        peer = http2.Peer(stream.socket, client=False)
        peer.wait_for(lambda: any(len(half.body) > 65536 for half in peer.halves.values()))
        peer.send_raw(http2.frame(http2.GOAWAY, payload=bytes(8)))
        peer.read_to_end()

    one = router(to(backend(serve)))
    with one.dial() as client:
        client.send(request("POST", body=bytes(300_000)))
        assert client.read_response().status == 503
    assert one.logged(status=503)["cause"] == "backend_refused_stream"


def test_many_requests_share_an_endpoint_that_takes_one_at_a_time(router, backend):
    service = backend(http2.naming("one by one", MAX_CONCURRENT_STREAMS=1))
    one = router(to(service))
    with http2.dial(one.port()) as client:
        streams = [client.ask() for _ in range(50)]
        answers = [client.answer(stream) for stream in streams]
        assert [(answer.status, bytes(answer.body)) for answer in answers] == [(200, b"one by one")] * 50
    assert len(service.requests) == 50


def without_streams(greeting, certificate=None):
    """Takes no stream on any of its connections; greets every time as if it were the first."""

    def serve(stream, known):
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate["cert"], certificate["key"])
            context.set_alpn_protocols(["h2"])
            stream = Stream(context.wrap_socket(stream.socket, server_side=True, suppress_ragged_eofs=True))
        stream.send(greeting)
        stream.read_to_end()

    return serve


NO_STREAMS = http2.settings_frame(MAX_CONCURRENT_STREAMS=0)
GOES_AWAY = http2.settings_frame() + http2.frame(http2.GOAWAY, payload=bytes(8))


def closed_as(one, greeting):
    cause = "backend_refused_stream" if greeting == NO_STREAMS else "backend_going_away"
    return one.metric("ebbgate_connections_closed_total", side="backend", cause=cause)


@pytest.mark.parametrize("protocol", ["h2c", "auto"])
@pytest.mark.parametrize("greeting", [NO_STREAMS, GOES_AWAY], ids=["no streams", "going away"])
def test_an_endpoint_that_takes_no_stream_is_asked_as_often_as_retries_allow(router, backend, certificates, protocol, greeting):
    secure = protocol == "auto"
    service = backend(without_streams(greeting, certificates("localhost", "ecdsa", "localhost") if secure else None))
    settings = to(service, retries=2, **({"tls": {"verify": False}} if secure else {}))
    settings["backends"][0]["protocol"] = protocol
    if secure:
        settings["routes"][0]["tls"] = "reencrypt"
    one = router(settings)
    with one.dial() as client:
        client.send(request("POST", body=b"whatever it is"))
        wait_until(lambda: client.is_readable() or len(service.streams) > 3, what="an answer, or a connection too many")
        assert len(service.streams) <= 3
        assert client.read_response().status == 503
    assert one.logged(status=503)["cause"] == "backend_refused_stream"
    assert len(service.streams) == 3
    wait_until(lambda: closed_as(one, greeting) == 3, what="the end of connections that are of no use")


@pytest.mark.parametrize("greeting", [NO_STREAMS, GOES_AWAY], ids=["no streams", "going away"])
def test_requests_go_elsewhere_from_an_endpoint_that_takes_no_stream(router, backend, greeting):
    service, other = backend(without_streams(greeting)), backend(http2.naming("elsewhere"))
    one = router(to(service, other, balance="round_robin"))
    with http2.dial(one.port()) as client:
        for _ in range(6):
            streams = [client.ask("POST", body=b"x") for _ in range(3)]
            assert [bytes(client.answer(stream).body) for stream in streams] == [b"elsewhere"] * 3
    assert 1 <= len(service.streams) <= 18
    wait_until(lambda: closed_as(one, greeting) == len(service.streams), what="the end of connections that are of no use")


def silent(stream, known):
    """Answers /before, and then never says anything, not even to a PING. `known.requests` are the targets of all else."""
    peer = http2.Peer(stream.socket, client=False)
    while data := stream.socket.recv(65536):
        for event in peer.h2.receive_data(data):
            if not isinstance(event, h2.events.RequestReceived):
                continue
            peer.note(event)
            asked = peer.halves[event.stream_id]
            if asked.target == "/before":
                http2.reply(peer, asked, b"dead")
            else:
                known.requests.append(asked.target)


def test_repeatable_requests_leave_a_connection_that_answers_no_ping(router, backend):
    """Others wait for their own time-out: that a process is busy is no proof that it will not answer."""
    dead, alive = backend(silent), backend(http2.naming("alive"))
    one = router(to(dead, alive, balance="round_robin", timeouts={"response": "25s"}))
    targets = ["/get/0", "/get/1", "/get/2", "/get/3", "/post/0", "/post/1"]
    known = set()  # there is a connection to either of them: nobody goes elsewhere because one takes its time to connect
    wait_until(lambda: known.add(one.get("/before").body) or known == {b"dead", b"alive"}, what="both to be known")
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(http2.dial(one.port())) for _ in targets]
        started = time.monotonic()
        for client, target in zip(clients, targets):
            client.ask("POST", target, body=b"once only") if "post" in target else client.ask("GET", target)

        def answer(client):
            got = client.answer(1)
            return got.status, bytes(got.body), time.monotonic() - started

        with concurrent.futures.ThreadPoolExecutor(len(targets)) as lanes:
            answers = dict(zip(targets, lanes.map(answer, clients)))
    # Each has three of them, so there is a GET among those of the dead one.
    assert len(dead.requests) == len(set(dead.requests)) == 3, dead.requests
    answered = sorted(seen.target for seen in alive.requests if seen.target != "/before")
    assert answered == [target for target in targets if target not in dead.requests or "get" in target]
    for target, (status, body, seconds) in answers.items():
        if target not in dead.requests:
            assert (status, body) == (200, b"alive"), answers
            continue
        assert seconds > SILENCE_SECONDS - 1, answers
        if "get" in target:
            assert (status, body) == (200, b"alive"), answers
        else:
            assert status == 504 and b"backend_response_timeout" in body, answers
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="backend", cause="backend_ping_timeout") >= 1)
    wait_until(lambda: "event=endpoint_relieved" in one.error_text(), what="the event")


def test_an_endpoint_that_answers_no_ping_gets_no_new_work(router, backend):
    """It has never answered anything, so that it is not known how long it usually takes."""
    dead, alive = backend(silent), backend(http2.naming("alive"))
    one = router(to(dead, alive, balance="round_robin", timeouts={"response": "40s"}))
    with concurrent.futures.ThreadPoolExecutor(2) as lanes:
        first = [lanes.submit(one.get, f"/get/{number}") for number in range(2)]
        wait_until(lambda: dead.requests, what="a request at the endpoint that is dead")
        wait_until(lambda: "silence=doubted" in one.error_text(), what="the doubt")
        assert [answer.result().body for answer in first] == [b"alive"] * 2


def test_an_endpoint_that_never_sends_settings_cannot_be_connected_to(router, backend):
    def mute(stream, known):
        known.requests.append(stream.read(len(http2.PREFACE)))
        stream.read_to_end()

    service = backend(mute)
    one = router(to(service, retries=0, timeouts={"connect": "200ms"}))
    started = time.monotonic()
    assert one.get().status in (502, 504)
    assert time.monotonic() - started < 27  # a response has 30 s
    assert one.logged(cause="backend_connect_timeout")


def test_an_endpoint_that_speaks_http1_after_all_is_an_error(router, backend):
    service = backend(lambda stream, known: (stream.read(24), stream.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"), stream.read_to_end()))
    one = router(to(service, retries=0))
    assert one.get().status == 502
    assert one.logged(status=502)["cause"] == "backend_protocol_error"


def test_requests_share_connections(router, backend):
    service = backend(http2.naming("shared"))
    one = router(to(service))
    with http2.dial(one.port()) as client, one.dial() as old:
        for _ in range(20):
            streams = [client.ask() for _ in range(10)]
            assert all(client.answer(stream).status == 200 for stream in streams)
            old.send(request())
            assert old.read_response().body == b"shared"
    assert len(service.requests) == 220
    assert len(service.streams) == 1


def test_a_request_that_waits_for_a_connection_gets_the_place_of_one_that_went_away(router, backend):
    """The last stream of a connection that takes no more is cancelled: the connection closes, and nothing else happens."""

    def serve(stream, known):
        if connection_number(stream, known) > 0:
            return http2.naming("second")(stream, known)
        peer = http2.Peer(stream.socket, client=False)
        peer.wait_for(lambda: any(half.whole for half in peer.halves.values()))
        peer.send_raw(http2.frame(http2.GOAWAY, payload=(1).to_bytes(4, "big") + bytes(4)) + http2.frame(http2.PING, payload=bytes(8)))
        peer.wait_for(lambda: peer.pings_answered)  # it has seen both
        known.requests.append(peer.halves[1])
        peer.read_to_end()

    service = backend(serve)
    one = router(to(service, endpoint_limits={"connections": 1}, queue={"timeout": "10m"}))
    with http2.dial(one.port()) as second:
        with http2.dial(one.port()) as first:
            first.ask()
            service.wait_for_requests(1)
            stream = second.ask()
            wait_until(lambda: one.metric("ebbgate_requests_held") == 1, what="a held request")
        assert bytes(second.answer(stream).body) == b"second"


def test_a_graceful_goaway_of_an_endpoint_fails_nobody(router, backend):
    """Each connection serves ten requests, then says that it goes away, as servers with a limit of requests do."""

    def answer(peer, asked):
        http2.reply(peer, asked, b"served")
        if asked.stream == 19:
            peer.send_raw(http2.frame(http2.GOAWAY, payload=asked.stream.to_bytes(4, "big") + bytes(4)))

    service = backend(http2.serving(answer))
    one = router(to(service))
    with http2.dial(one.port()) as client:
        for _ in range(20):
            streams = [client.ask("POST", body=b"x") for _ in range(5)]
            assert [bytes(client.answer(stream).body) for stream in streams] == [b"served"] * 5
    assert len(service.streams) >= 10


def test_an_answer_before_the_end_of_the_request_passes(router, backend):
    """RFC 9113 8.1: a complete response, then RST_STREAM NO_ERROR, while the request's body is still on its way."""

    def serve(stream, known):
        peer = http2.Peer(stream.socket, client=False)
        peer.wait_for(lambda: peer.halves)
        http2.reply(peer, next(iter(peer.halves.values())), b"enough", status=400)
        peer.reset(1, h2.errors.ErrorCodes.NO_ERROR)
        peer.read_to_end()

    one = router(to(backend(serve)))
    with http2.dial(one.port()) as client:
        stream = client.ask("POST", end=False)
        client.send_body(stream, b"x" * 1000)
        client.wait_for(lambda: client.halves[stream].whole)
        assert (client.halves[stream].status, bytes(client.halves[stream].body)) == (400, b"enough")


def test_upload_waits_for_a_slow_endpoint(router, backend):
    """An endpoint that does not open its windows holds the client back, and the router keeps little of it."""

    def serve(stream, known):
        peer = http2.Peer(stream.socket, client=False, reads_on=False)
        peer.wait_for(lambda: len(peer.halves[1].body) == 65535)
        known.requests.append(peer.halves[1])
        known.released.wait(60)
        peer.reads_on = True
        peer.h2.acknowledge_received_data(65535, 1)
        peer.flush()
        peer.wait_for(lambda: peer.halves[1].whole)
        http2.reply(peer, peer.halves[1], str(len(peer.halves[1].body)).encode())
        peer.read_to_end()

    service = backend(serve)
    one = router(to(service))
    with http2.dial(one.port()) as client:
        size = 8 << 20
        stream = client.ask("POST", body=bytes(size))
        service.wait_for_requests(1)
        client.h2.ping(b"12345678")
        client.flush()
        client.wait_for(lambda: client.pings_answered == 1)
        held = size - len(client.outgoing[stream][0])
        assert held < 1 << 20, held
        service.released.set()
        assert bytes(client.answer(stream).body) == str(size).encode()


def test_answers_before_the_end_of_a_connection_reach_their_clients(router, backend):
    """A second request looks whether the endpoint has closed the connection, and finds so. The answer to the first lies before that end."""
    served = []

    def answer_on_the_second(peer):
        for number, half in list(peer.halves.items()):
            if half.whole and len(served) > 1:
                peer.send_head(number, [(":status", 200)], end=True)
                del peer.halves[number]

    service = backend(http2.noting(served, answer_on_the_second))
    one = router(configuration(backends=[backend_of(service.port, protocol="h2c")]))
    with one.dial() as first, one.dial() as second:
        first.send(request("POST", body=b"hi"))
        wait_until(lambda: served and any(half.whole for half in served[0].halves.values()))
        with one.stopped():  # so that the second request is read before the answer to the first
            second.send(request("POST", body=b"ho"))
            served[0].send_head(1, [(":status", 201)], end=True)
            served[0].socket.shutdown(socket.SHUT_WR)
        assert first.read_response().status == 201
        assert second.read_response().status == 200
    assert one.metric("ebbgate_missing_transitions_total") == one.metric("ebbgate_lost_handles_total") == 0
