"""HTTP/2 as its clients see it: curl, nghttp, h2load, and a client of our own where they cannot say what is tested."""

import re
import select
import signal
import subprocess

import h2.errors
import pytest

import awkward
import http2
from http1 import PATIENCE, Closed, request, response, trusting_context
from router import PORTS, backend as backend_of, configuration, endpoint, promised, wait_until
from test_large import discard, read_head_only

BLOCK = bytes(range(256)) * 4096  # 1 MiB


@pytest.fixture(params=["h2c", "tls"])
def tls(request):
    return request.param == "tls"


@pytest.fixture
def serve(router, certificates, tls):
    """serve(settings) starts a router whose listener speaks TLS or not."""

    def start(settings):
        if tls:
            settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
        return router(settings)

    return start


def to(service, protocol, **more):
    """A configuration with one backend of that protocol."""
    return configuration(backends=[backend_of(service.port, protocol=protocol, **more)])


def curl(one, *options, target="/", tls=False, check=True):
    """(status, version, body) of one request."""
    how = ["-k", "--http2"] if tls else ["--http2-prior-knowledge"]
    url = f"{'https' if tls else 'http'}://localhost:{one.port()}{target}"
    done = subprocess.run(["curl", "-sS", "-4", "-m", "60", *how, "-w", "\n%{http_code} %{http_version}", *options, url], capture_output=True)
    assert not check or done.returncode == 0, done.stderr
    body, _, last = done.stdout.rpartition(b"\n")
    status, version = last.decode().split()
    return int(status), version, body


# Messages


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_curl_gets_heads_and_posts(serve, backend, tls, protocol):
    echo = {"http1": awkward.echoing, "h2c": http2.echoing}[protocol]()
    service = backend(echo)
    one = serve(to(service, protocol))
    assert curl(one, tls=tls) == (200, "2", b"")
    assert curl(one, "--head", tls=tls)[:2] == (200, "2")
    assert curl(one, "--data-raw", "a few words", tls=tls) == (200, "2", b"a few words")
    assert [seen.method for seen in service.requests] == ["GET", "HEAD", "POST"]


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_a_mebibyte_passes_both_ways(serve, backend, tmp_path, tls, protocol):
    echo = {"http1": awkward.echoing, "h2c": http2.echoing}[protocol]()
    one = serve(to(backend(echo), protocol))
    path = tmp_path / "block"
    path.write_bytes(BLOCK)
    status, version, body = curl(one, "--data-binary", f"@{path}", tls=tls)
    assert (status, version, body == BLOCK) == (200, "2", True)
    assert one.logged(status=200)["bytes_received"] == len(BLOCK)


def test_http1_clients_reach_h2c_backends(router, backend):
    one = router(to(backend(http2.echoing()), "h2c"))
    with one.dial() as client:
        for body in (b"", b"short", BLOCK):
            client.send(request("POST", body=body))
            answer = client.read_response()
            assert (answer.status, answer.body == body) == (200, True)
            assert answer.get("Connection") is None or answer.get("Connection").lower() == "keep-alive"


def test_a_body_of_unknown_length_reaches_every_version(router, backend):
    def answer(peer, asked):
        peer.send_head(asked.stream, [(":status", 200)])
        peer.send_body(asked.stream, b"one ")
        peer.send_body(asked.stream, b"two", end=True)

    one = router(to(backend(http2.serving(answer)), "h2c"))
    chunked = one.get()
    assert (chunked.get("Transfer-Encoding"), chunked.body) == ("chunked", b"one two")
    with one.dial() as old:
        old.send(b"GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        assert old.read_to_end().endswith(b"\r\n\r\none two")
    with http2.dial(one.port()) as client:
        assert bytes(client.get().body) == b"one two"


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_body(router, backend, protocol, status):
    if protocol == "http1":
        service = backend(awkward.answering(lambda _: f"HTTP/1.1 {status} X\r\nETag: \"a\"\r\n\r\n".encode()))
    else:
        service = backend(http2.serving(lambda peer, asked: http2.reply(peer, asked, status=status, fields=[("etag", '"a"')])))
    one = router(to(service, protocol))
    with http2.dial(one.port()) as client:
        for _ in range(2):
            answer = client.get()
            assert (answer.status, answer.get("etag"), answer.body, answer.whole) == (status, '"a"', b"", True)
    assert one.get().status == status


def test_head_keeps_the_length(router, backend):
    one = router(to(backend(awkward.answering(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n")), "http1"))
    with http2.dial(one.port()) as client:
        answer = client.get("HEAD")
        assert (answer.get("content-length"), answer.body, answer.whole) == ("12345", b"", True)


def trailing(protocol):
    """Answers with the request's trailer in a trailer of its own."""
    if protocol == "h2c":
        return http2.serving(lambda peer, asked: http2.reply(peer, asked, b"body", trailers=[("x-seen", dict(asked.trailers).get("x-sum", "none"))]))

    def serve(stream, known):
        while True:
            message = stream.read_head()
            body, seen = b"", b"none"
            while size := int(stream.read_until(b"\r\n"), 16):
                body += stream.read(size + 2)[:-2]
            while (line := stream.read_until(b"\r\n")) != b"\r\n":
                if line.lower().startswith(b"x-sum:"):
                    seen = line.split(b":")[1].strip()
            known.requests.append(message)
            stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-seen\r\n\r\n4\r\nbody\r\n0\r\nX-Seen: " + seen + b"\r\n\r\n")

    return serve


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_trailers_pass_both_ways(router, backend, tmp_path, protocol):
    one = router(to(backend(trailing(protocol)), protocol))
    (tmp_path / "data").write_bytes(b"some data")
    done = subprocess.run(["nghttp", "-v", "--no-push", "-t", "10", "-d", tmp_path / "data", "--trailer=x-sum: 42", "--no-content-length", "-H", ":method: POST",
                           "-H", "te: trailers", f"http://localhost:{one.port()}/"], capture_output=True, timeout=60)
    output = re.sub(rb"\x1b\[[0-9;]*m", b"", done.stdout)
    assert b"x-seen: 42" in output, output


def test_http1_trailers_reach_an_h2c_backend(router, backend):
    one = router(to(backend(trailing("h2c")), "h2c"))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 7\r\n\r\n")
        client.read_head()
        assert b"x-seen: 7" in client.read_until(b"\r\n\r\n").lower()


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_early_hints_come_before_the_answer(serve, backend, tls, protocol):
    if protocol == "http1":
        service = backend(awkward.answering(lambda _: b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + response(b"page")))
    else:
        def answer(peer, asked):
            peer.send_head(asked.stream, [(":status", 103), ("link", "</a.css>")])
            http2.reply(peer, asked, b"page")

        service = backend(http2.serving(answer))
    one = serve(to(service, protocol))
    with http2.dial(one.port(), tls=tls) as client:
        answer = client.get()
    assert [dict(head) for head in answer.interim] == [{":status": "103", "link": "</a.css>"}]
    assert (answer.status, bytes(answer.body)) == (200, b"page")


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_interim_answers_without_end_are_refused(router, backend, protocol):
    """A client that does not read would pile them up here."""
    if protocol == "http1":
        service = backend(awkward.answering(lambda _: (b"HTTP/1.1 103 Early Hints\r\nLink: " + b"x" * 1000 + b"\r\n\r\n") * 100 + response(b"page")))
    else:
        def answer(peer, asked):
            for _ in range(100):
                peer.send_head(asked.stream, [(":status", 103), ("link", "x" * 1000)])
            http2.reply(peer, asked, b"page")

        service = backend(http2.serving(answer))
    one = router(to(service, protocol))
    with one.dial() as client:
        client.send(request())
        heads = [client.read_head()]
        while heads[-1].status == 103:
            heads.append(client.read_head())
        assert heads[-1].status == 502 and len(heads) <= 64
    assert one.metric("ebbgate_requests_total", cause="backend_bad_response") == 1


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_the_body_waits_for_100_continue(router, backend, protocol):
    if protocol == "http1":
        def serve(stream, known):
            head = stream.read_head()
            stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            known.requests.append(head)
            stream.send(response(stream.read(int(head.get("Content-Length")))))
    else:
        def serve(stream, known):
            peer = http2.Peer(stream.socket, client=False)
            peer.wait_for(lambda: peer.halves)
            (number, half), = peer.halves.items()
            peer.send_head(number, [(":status", 100)])
            peer.wait_for(lambda: half.whole)
            http2.reply(peer, half, bytes(half.body))
            peer.read_to_end()

    one = router(to(backend(serve), protocol))
    with http2.dial(one.port()) as client:
        stream = client.ask("POST", fields=[("expect", "100-continue"), ("content-length", "4")], end=False)
        client.wait_for(lambda: client.halves[stream].interim)
        assert not client.halves[stream].fields
        client.send_body(stream, b"data", end=True)
        assert bytes(client.answer(stream).body) == b"data"


def test_crumbs_of_a_cookie_are_joined(router, backend):
    services = backend(awkward.named("x")), backend(http2.naming("x"))
    for service, protocol in zip(services, ("http1", "h2c")):
        one = router(to(service, protocol))
        with http2.dial(one.port()) as client:
            assert client.get(fields=[("cookie", "a=1"), ("accept", "x"), ("cookie", "b=2"), ("cookie", "c=3")]).status == 200
        assert service.requests[0].all("cookie") == ["a=1; b=2; c=3"]
        one.stop()


def test_the_backend_sees_what_the_client_said(serve, backend, tls):
    service = backend(awkward.named("x"))
    one = serve(to(service, "http1"))
    with http2.dial(one.port(), tls=tls) as client:
        client.get(target="/a?b=c", authority="localhost", fields=[("priority", "u=1, i"), ("x-mine", "1"), ("te", "trailers")])
    seen = service.requests[0]
    assert seen.start == "GET /a?b=c HTTP/1.1"
    assert (seen.get("Host"), seen.get("priority"), seen.get("x-mine")) == ("localhost", "u=1, i", "1")
    assert seen.get("X-Forwarded-Proto") == ("https" if tls else "http")


# Errors


def test_requests_that_the_router_refuses(serve, backend, tls):
    service = backend(awkward.named("x"))
    settings = to(service, "http1") | {"routes": [{"name": "all", "host": "localhost", "backend": "service"}]}
    one = serve(settings)
    with http2.dial(one.port(), tls=tls) as client:
        assert client.get(fields=[("x-long", "y" * 17000)]).status == 431
        assert client.get(target="/" + "p" * 9000).status == 414
        assert client.get(fields=[("expect", "the-unexpected")]).status == 417
        assert client.get(fields=[(f"x-{index}", "1") for index in range(200)]).status == 431
        if not tls:
            assert client.get(authority="unknown.test").status == 404
        assert client.get().status == 200  # the connection goes on
    assert len(service.requests) == 1
    assert one.logged(status=431)["cause"] == "client_head_too_large"


def test_errors_of_backends_have_bodies(serve, backend, tls):
    service = backend(awkward.answering_late(response()))
    settings = configuration()
    settings["routes"] = [{"name": name, "path": f"/{name}", "backend": name} for name in ("late", "refused", "none")]
    settings["backends"] = [backend_of(service.port, name="late", timeouts={"response": "100ms"}), backend_of(PORTS.take(), name="refused", queue={"limit": 0}),
                            {"name": "none", "endpoints": [endpoint(PORTS.take(), state="drain")], "queue": {"limit": 0}}]
    one = serve(settings)
    with http2.dial(one.port(), tls=tls) as client:
        for target, status in (("/late", 504), ("/refused", 502), ("/none", 503)):
            answer = client.get(target=target)
            assert (answer.status, bool(answer.body), answer.whole) == (status, True, True)
            assert len(answer.body) == int(answer.get("content-length"))


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_a_truncated_response_never_ends_cleanly(router, backend, protocol):
    if protocol == "http1":
        service = backend(awkward.closing_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun"))
    else:
        def answer(peer, asked):
            peer.send_head(asked.stream, [(":status", 200)])
            peer.send_body(asked.stream, b"begun")
            peer.reset(asked.stream, h2.errors.ErrorCodes.INTERNAL_ERROR)

        service = backend(http2.serving(answer))
    one = router(to(service, protocol))
    with http2.dial(one.port()) as client:
        answer = client.get()
        assert not answer.whole
        assert answer.reset == int(h2.errors.ErrorCodes.INTERNAL_ERROR)
    with one.dial() as old, pytest.raises(Closed):
        old.send(request())
        old.read_response()
    assert len(service.requests) == 2  # nothing is repeated once an answer has begun


def test_a_cancelled_stream_is_cancelled_at_the_backend(router, backend):
    seen = []

    def serve(stream, known):
        peer = http2.Peer(stream.socket, client=False)
        peer.wait_for(lambda: any(half.whole for half in peer.halves.values()))
        known.requests.append(peer.halves[1])
        peer.wait_for(lambda: peer.halves[1].reset is not None)
        seen.append(peer.halves[1].reset)

    service = backend(serve)
    one = router(to(service, "h2c"))
    with http2.dial(one.port()) as client:
        stream = client.ask()
        service.wait_for_requests(1)
        client.reset(stream)
        wait_until(lambda: seen == [int(h2.errors.ErrorCodes.CANCEL)])
    assert one.logged(cause="client_cancelled")["status"] == 0


def test_an_answer_before_the_end_of_the_request_ends_the_stream_only(router, backend):
    one = router(to(backend(awkward.named("x")), "http1") | {"limits": {"body_bytes": 1000}})
    with http2.dial(one.port()) as client:
        early = client.ask("POST", fields=[("content-length", "100000")], end=False)
        client.wait_for(lambda: client.halves[early].whole)
        assert client.halves[early].status == 413
        assert client.get().status == 200


# Connections


def test_http2_can_be_turned_off(serve, backend, tls):
    settings = to(backend(awkward.named("x")), "http1")
    settings["listeners"][0]["http2"] = False
    one = serve(settings)
    if tls:
        context = trusting_context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        with one.dial(tls=context) as client:
            assert client.socket.selected_alpn_protocol() == "http/1.1"
    else:
        with one.dial() as client:
            client.send(http2.PREFACE + http2.settings_frame())
            assert client.read_until(b"\r\n").startswith(b"HTTP/1.1 505")


def test_a_preface_in_pieces_is_understood(router, backend):
    one = router(to(backend(awkward.named("patient")), "http1"))
    with http2.dial(one.port(), greet=False) as client:
        client.h2.initiate_connection()
        for byte in client.h2.data_to_send():
            client.send_raw(bytes([byte]))
        assert bytes(client.get().body) == b"patient"


def test_a_client_that_goes_away_is_let_go_when_its_streams_have_ended(router, backend):
    service = backend(awkward.answering_late(response(b"late")))
    one = router(to(service, "http1"))
    with http2.dial(one.port()) as client:
        stream = client.ask()
        service.wait_for_requests(1)
        client.send_raw(http2.frame(http2.GOAWAY, payload=bytes(8)))
        service.released.set()
        assert bytes(client.answer(stream).body) == b"late"
        client.read_to_end()
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="client", cause="client_closed") == 1)


def test_goaway_after_a_broken_frame_is_not_destroyed_by_what_comes_behind_it(serve, backend, tls):
    """A close would answer that with a reset, before or after the client has read why."""
    one = serve(to(backend(awkward.named("x")), "http1"))
    with http2.dial(one.port(), tls=tls) as client:
        assert client.get().status == 200
        client.send_raw(http2.frame(http2.PRIORITY, stream=1, payload=bytes(4)))
        assert select.select([client.socket], [], [], PATIENCE)[0]  # GOAWAY is there, and not read yet
        for _ in range(3):
            client.send_raw(http2.frame(http2.PING, payload=bytes(8)))
        received = b""
        while part := client.socket.recv(65536):  # a reset is an exception
            received += part
        for event in client.h2.receive_data(received):
            client.note(event)
        assert client.goaway in (h2.errors.ErrorCodes.PROTOCOL_ERROR, h2.errors.ErrorCodes.FRAME_SIZE_ERROR)
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="client", cause="client_protocol_error") == 1)


def test_an_idle_connection_ends_with_goaway(serve, backend, tls):
    one = serve(to(backend(awkward.named("x")), "http1") | {"timeouts": {"client_idle": "300ms"}})
    with http2.dial(one.port(), tls=tls) as client:
        assert client.get().status == 200
        client.read_to_end()
        assert client.goaway == 0


def test_streams_that_run_when_the_router_stops_complete(serve, backend, tls):
    service = backend(awkward.answering_late(response(b"to the end")))
    one = serve(to(service, "http1"))
    with http2.dial(one.port(), tls=tls) as client:
        streams = [client.ask() for _ in range(20)]
        service.wait_for_requests(20)
        client.wait_for(lambda: client.settings_acknowledged)
        one.process.send_signal(signal.SIGTERM)
        assert select.select([client.socket], [], [], PATIENCE)[0]  # the warning is there, and not read yet
        on_its_way = client.ask()
        client.wait_for(lambda: client.goaway is not None)
        service.released.set()
        for stream in [*streams, on_its_way]:
            assert bytes(client.answer(stream).body) == b"to the end"
        client.read_to_end()
        assert client.last_served == on_its_way
    assert one.process.wait(timeout=PATIENCE) == 0


def test_a_client_that_had_no_stream_is_told_that_nothing_was_served(serve, backend, tls):
    one = serve(to(backend(http2.naming("x")), "h2c"))
    with http2.dial(one.port(), tls=tls) as client:
        assert client.get().status == 200
        one.process.send_signal(signal.SIGTERM)
        client.read_to_end()
        assert client.last_served == 1
    assert one.process.wait(timeout=PATIENCE) == 0


@pytest.mark.prompt
def test_a_client_that_does_not_answer_is_not_waited_for(serve, backend, tls):
    one = serve(to(backend(http2.naming("x")), "h2c"))
    with http2.dial(one.port(), tls=tls) as client:
        assert client.get().status == 200
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(timeout=promised(9)) == 0  # others have 10 s
        client.read_to_end()
        assert client.last_served == 1


def test_log_and_metrics_know_the_protocol(serve, backend, tls):
    one = serve(to(backend(http2.naming("x")), "h2c"))
    with http2.dial(one.port(), tls=tls) as client:
        for _ in range(5):
            assert client.get(target="/logged").status == 200
    line = one.logged(target="/logged")
    assert (line["protocol"], line["method"], line["authority"], line["status"]) == ("HTTP/2", "GET", "localhost", 200)
    assert line["tls"] == ("TLSv1.3" if tls else "")
    assert one.metric("ebbgate_requests_total", code="200") == 5
    assert one.metric("ebbgate_backend_connections_opened_total") == 1
    assert one.metric("ebbgate_backend_connections_reused_total") == 4


def test_a_stalled_stream_does_not_stop_its_neighbours(router, backend):
    one = router(to(backend(awkward.answering(lambda asked: response(BLOCK if asked.target == "/large" else b"small"))), "http1"))
    with http2.dial(one.port(), reads_on=False) as client:
        stalled = [client.ask(target="/large") for _ in range(3)]
        # The connection's window is opened, those of the streams are not.
        client.h2.increment_flow_control_window(1 << 24)
        client.flush()
        client.wait_for(lambda: all(len(client.halves[stream].body) == 65535 for stream in stalled))
        assert bytes(client.get(target="/small").body) == b"small"
        for stream in stalled:
            client.h2.increment_flow_control_window(1 << 21, stream)
        client.flush()
        assert all(bytes(client.answer(stream).body) == BLOCK for stream in stalled)


# Load


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_ten_thousand_requests_do_not_fail(serve, nginx, nghttpd, tls, protocol):
    one = serve(to(nginx if protocol == "http1" else nghttpd, protocol))
    done = subprocess.run(["h2load", "-n", "10000", "-c", "4", "-m", "100", f"{'https' if tls else 'http'}://localhost:{one.port()}/small"],
                          capture_output=True, text=True, timeout=120)
    assert "10000 succeeded, 0 failed, 0 errored, 0 timeout" in done.stdout, done.stdout
    assert "status codes: 10000 2xx" in done.stdout, done.stdout


def test_nghttp_is_served(serve, nghttpd, tls):
    one = serve(to(nghttpd, "h2c"))
    url = f"{'https' if tls else 'http'}://localhost:{one.port()}/small"
    done = subprocess.run(["nghttp", "-m", "20", "-t", "10", "--no-verify-peer", url], capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, b"x" * 128 * 20), done


def swallow(stream, known):
    """Reads a whole body before it answers, as applications do."""
    while True:
        head, already = read_head_only(stream)
        stream.used = len(stream.raw)
        discard(stream.socket, int(head.get("Content-Length")) - already)
        known.requests.append(head)
        stream.send(response(b"taken"))


@pytest.mark.slow
def test_100_mib_each_way(serve, backend, nginx, nghttpd, tmp_path, tls):
    size, protocol = 100 << 20, "h2c" if tls else "http1"
    server = nginx if protocol == "http1" else nghttpd
    sink = backend(swallow) if protocol == "http1" else nghttpd
    (server.files / "large").write_bytes(bytes(size))
    one = serve(configuration(backends=[backend_of(server.port, protocol=protocol), backend_of(sink.port, name="sink", protocol=protocol)],
                              routes=[{"name": "all", "backend": "service"}, {"name": "sink", "path": "/small", "backend": "sink"}]))
    memory = one.rss_kib()
    status, version, _ = curl(one, "-o", tmp_path / "got", target="/large", tls=tls)
    assert (status, version, (tmp_path / "got").stat().st_size) == (200, "2", size)
    status, version, _ = curl(one, "-X", "POST", "-T", server.files / "large", target="/small", tls=tls)
    assert (status, version) == (200, "2")
    assert one.logged(method="POST")["bytes_received"] == size
    assert one.rss_kib() - memory < 32 << 10
