"""Time-outs and limits of single streams: the stream ends, the connection and its other streams go on."""

import h2.errors
import pytest

import awkward
import http2
from http1 import PATIENCE, response
from router import backend as backend_of, configuration, wait_until

STREAMS_MAX = 128
CANCEL, REFUSED_STREAM = int(h2.errors.ErrorCodes.CANCEL), int(h2.errors.ErrorCodes.REFUSED_STREAM)


def answer_by_target(asked):
    return response(bytes(1 << 20) if asked.target == "/large" else b"small")


def test_a_body_that_stops_coming_ends_its_stream_only(router, backend):
    one = router(configuration(backend(awkward.answering(answer_by_target)).port) | {"timeouts": {"client_body": "300ms"}})
    with http2.dial(one.port()) as client:
        stalled = client.ask("POST", end=False)
        client.send_body(stalled, b"some of it")
        assert client.answer(stalled).status in (0, 408)
        assert bytes(client.get().body) == b"small"
    assert one.logged(method="POST")["cause"] == "client_body_timeout"


def test_a_response_that_nobody_reads_ends_its_stream_only(router, backend):
    one = router(configuration(backend(awkward.answering(answer_by_target)).port) | {"timeouts": {"client_write": "500ms"}})
    with http2.dial(one.port(), reads_on=False) as client:
        client.h2.increment_flow_control_window(1 << 24)  # of the connection
        stalled = client.ask(target="/large")
        answer = client.answer(stalled)
        assert (answer.whole, answer.reset, len(answer.body)) == (False, CANCEL, 65535)
        assert bytes(client.get().body) == b"small"
    assert one.logged(target="/large")["cause"] == "client_write_timeout"


def test_a_slow_reader_is_not_a_stopped_one(router, backend):
    """Each piece that is taken begins the time anew."""
    one = router(configuration(backend(awkward.answering(answer_by_target)).port) | {"timeouts": {"client_write": "4s"}})
    with http2.dial(one.port(), reads_on=False) as client:
        client.h2.increment_flow_control_window(1 << 24)
        stream, half = client.ask(target="/large"), None
        for turn in range(1, 9):
            half = client.halves[stream]
            client.wait_for(lambda: len(half.body) == 65535 * turn)
            with pytest.raises(TimeoutError):  # nothing comes for a while, and the stream stays
                client.socket.settimeout(0.6)  # longer than the time-out together, shorter each
                client.receive()
            client.socket.settimeout(PATIENCE)
            client.h2.increment_flow_control_window(65535, stream)
            client.flush()
        client.h2.increment_flow_control_window(1 << 20, stream)
        client.flush()
        assert len(client.answer(stream).body) == 1 << 20


def test_streams_beyond_the_limit_are_refused_and_others_served(router, backend):
    service = backend(awkward.answering_late(response(b"late")))
    one = router(configuration(service.port))
    with http2.dial(one.port(), greet=False) as client:
        client.h2.initiate_connection()
        client.h2.remote_settings[3] = 1000  # MAX_CONCURRENT_STREAMS: as if it had not been said yet
        client.flush()
        streams = [client.ask() for _ in range(STREAMS_MAX + 20)]
        client.wait_for(lambda: sum(client.halves[stream].reset == REFUSED_STREAM for stream in streams) == 20)
        service.released.set()
        answers = [client.answer(stream) for stream in streams]
    assert [answer.reset for answer in answers] == [None] * STREAMS_MAX + [REFUSED_STREAM] * 20
    assert all(bytes(answer.body) == b"late" for answer in answers[:STREAMS_MAX])


def test_error_bodies_that_nobody_reads_give_way_to_a_line_of_text(router, backend, tmp_path):
    """A small budget is used up by them, and nobody has to be ended for that."""
    (tmp_path / "large.html").write_text("x" * 65000)
    one = router(configuration(backend(awkward.answering(answer_by_target)).port, limits={"buffers": "8MiB"},
                               errors=[{"status": "4xx", "file": str(tmp_path / "large.html")}],
                               routes=[{"name": "no", "path": "/no", "backend": "service", "deny": ["127.0.0.1"]}, {"name": "all", "backend": "service"}]))
    with http2.dial(one.port(), reads_on=False) as client, http2.dial(one.port()) as neighbour:
        streams = [client.ask(target="/no") for _ in range(STREAMS_MAX)]
        assert bytes(neighbour.get().body) == b"small"
        client.h2.increment_flow_control_window(1 << 24)  # of the connection
        client.flush()
        answers = [client.answer(stream) for stream in streams]
    assert {answer.status for answer in answers} == {403}
    assert {len(answer.body) < 200 for answer in answers} == {True, False}
    assert one.metric("ebbgate_connections_closed_total", side="client", cause="buffer_limit") == 0


def test_tunnels_that_are_used_before_they_are_granted_are_reset_where_buffers_are_scarce(router, backend):
    one = router(configuration(backend(awkward.answering_late(response(b"late"))).port, limits={"buffers": "8MiB"}))
    with http2.dial(one.port()) as client, http2.dial(one.port()) as patient:
        head = [(":method", "CONNECT"), (":protocol", "websocket"), *http2.pseudo_fields()[1:], ("sec-websocket-version", "13")]
        streams = [client.h2.get_next_available_stream_id() + 2 * index for index in range(32)]
        for stream in streams:
            client.send_head(stream, head)
        waiting = patient.h2.get_next_available_stream_id()
        patient.send_head(waiting, head)
        patient.send_body(waiting, b"x" * 16000)
        for stream in streams:
            client.send_body(stream, b"x" * 60000)
        client.wait_for(lambda: client.halves[streams[0]].reset is not None)
        assert patient.halves[waiting].reset is None
        assert one.metric("ebbgate_connections_closed_total", side="client") == 0
        assert one.metric("ebbgate_requests_total", cause="buffer_limit") > 0


def test_a_response_that_ends_with_its_connection_ends_the_stream(router, backend):
    one = router(configuration(backend(awkward.closing_after(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")).port))
    with http2.dial(one.port()) as client:
        answer = client.get()
        assert (answer.status, bytes(answer.body), answer.whole) == (200, b"until the end", True)


@pytest.mark.parametrize("reset", [False, True], ids=["fin", "rst"])
def test_an_endpoint_that_dies_with_many_streams(router, backend, reset):
    """No GOAWAY: what is safe to repeat is repeated, what is not gets its 502, and each stream exactly one answer."""

    def serve(stream, known):
        peer = http2.Peer(stream.socket, client=False)
        if stream is known.streams[0]:
            peer.wait_for(lambda: peer.halves[1].whole)
            http2.reply(peer, peer.halves[1], b"first")
            peer.wait_for(lambda: sum(half.whole for half in peer.halves.values()) == 41)
            return stream.reset() if reset else stream.close()
        while True:
            peer.receive()
            for number, half in list(peer.halves.items()):
                if half.whole:
                    del peer.halves[number]
                    http2.reply(peer, half, b"again")

    one = router(configuration(backends=[backend_of(backend(serve).port, protocol="h2c")]))
    with http2.dial(one.port()) as client:
        assert bytes(client.get().body) == b"first"
        streams = [client.ask("GET" if index % 2 else "POST", body=None if index % 2 else b"x") for index in range(40)]
        answers = [client.answer(stream) for stream in streams]
    assert [answer.status for answer in answers[1::2]] == [200] * 20
    assert [answer.status for answer in answers[::2]] == [502] * 20
    wait_until(lambda: len(one.log()) == 41)


def test_a_change_of_the_configuration_disturbs_no_stream(router, backend):
    services = backend(awkward.answering_late(response(b"old"))), backend(http2.naming("new"))
    one = router(configuration(backends=[backend_of(services[0].port)]))
    with http2.dial(one.port()) as client:
        waiting = client.ask()
        services[0].wait_for_requests(1)
        generation = one.metric("ebbgate_config_generation")
        one.change(backends=[backend_of(services[1].port, protocol="h2c")])
        wait_until(lambda: one.metric("ebbgate_config_generation") > generation)
        assert bytes(client.get().body) == b"new"  # over the same connection
        services[0].released.set()
        assert bytes(client.answer(waiting).body) == b"old"
