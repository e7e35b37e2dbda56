"""A client that closes its connection has left: its request is cancelled at the endpoint at once, wherever it is on its way."""

import contextlib
import socket
import ssl
import threading

import h2.errors
import pytest

import awkward
import http2
from http1 import PATIENCE, Stream, request, response, trusting_context
from raw_tls import ALERT, APPLICATION_DATA, TLS12, TLS13, WARNING, RawTls
from router import backend as backend_of
from router import PORTS, configuration, wait_until


class Polite(Stream):
    """Says goodbye with close_notify, and does not wait for an answer to that."""

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.settimeout(0)
            self.socket.unwrap()
        super().close()


@pytest.fixture(params=["plain", "tls", "close_notify"])
def site(request, router, certificates):
    """site(settings) -> (router, how to dial it)."""

    def start(settings):
        if request.param == "plain":
            one = router(settings)
            return one, one.dial
        settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
        one = router(settings)
        # 1.2: tickets of 1.3 that are not read would turn the close into a reset.
        context = trusting_context(maximum_version=ssl.TLSVersion.TLSv1_2)
        if request.param == "tls":
            return one, lambda: one.dial(tls=context)
        return one, lambda: Polite(one.dial(tls=context).socket)

    return start


def connections_to_endpoints(one):
    return sum(value for name, value in one.metrics().items() if name.startswith("ebbgate_connections{") and 'side="backend"' in name)


def test_while_the_answer_is_awaited(site, backend):
    service = backend(awkward.stalling_after(b""))
    one, dial = site(configuration(service.port))
    with dial() as client:
        client.send(request())
        service.wait_for_requests(1)
    assert service.streams[0].is_closed()
    assert one.logged(status=0)["cause"] == "client_aborted"


def test_while_the_answer_of_an_http2_endpoint_is_awaited(site, backend):
    reset = threading.Event()

    def wait_for_the_end(peer, asked):
        peer.wait_for(lambda: asked.reset is not None)
        assert asked.reset == h2.errors.ErrorCodes.CANCEL
        reset.set()

    service = backend(http2.serving(wait_for_the_end))
    one, dial = site(configuration(backends=[backend_of(service.port, protocol="h2c")]))
    with dial() as client:
        client.send(request())
        service.wait_for_requests(1)
    assert reset.wait(PATIENCE)
    assert one.logged(status=0)["cause"] == "client_aborted"


def test_while_the_answer_arrives(site, backend):
    service = backend(awkward.stalling_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome"))
    one, dial = site(configuration(service.port))
    with dial() as client:
        client.send(request())
        client.read_until(b"some")
    assert service.streams[0].is_closed()
    assert one.logged(status=200)["cause"] == "client_aborted"


def test_while_the_request_is_held(site, backend):
    service = backend(awkward.named("x"))
    one, dial = site(configuration())
    with dial() as client:
        client.send(request())
        wait_until(lambda: one.metric("ebbgate_requests_held") == 1, what="a held request")
    wait_until(lambda: one.metric("ebbgate_requests_held") == 0, what="the client's leaving")
    assert one.logged(status=0)["cause"] == "client_aborted"
    one.change(backends=[backend_of(service.port)])
    wait_until(lambda: one.metric("ebbgate_requests_held") == 0 and one.metric("ebbgate_config_generation") > 1)
    assert not service.requests


def test_while_tls_that_is_passed_through_is_held(router):
    """Its endpoint could not answer it: a ClientHello is not all that there is to say."""
    settings = configuration()
    settings["listeners"].append({"name": "opaque", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "tls-passthrough"})
    settings["routes"].append({"name": "raw", "host": "raw.test", "backend": "service", "tls": "passthrough"})
    settings["backends"][0]["queue"] = {"timeout": "10m"}
    one = router(settings)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="raw.test")
    with pytest.raises(ssl.SSLWantReadError):
        hello.do_handshake()
    with one.dial("opaque") as client:
        client.send(outgoing.read())
        wait_until(lambda: one.metric("ebbgate_requests_held") == 1, what="a held connection")
    wait_until(lambda: one.metric("ebbgate_requests_held") == 0, what="the client's leaving")


def test_with_a_stream_of_its_http2_connection(router, backend):
    service = backend(awkward.stalling_after(b""))
    one = router(configuration(service.port))
    with http2.dial(one.port()) as client:
        client.ask()
        service.wait_for_requests(1)
        client.socket.shutdown(socket.SHUT_WR)  # a close with unread frames would be a reset
        client.read_to_end()
    assert service.streams[0].is_closed()
    assert one.logged(status=0)["cause"] == "client_aborted"


@pytest.mark.parametrize("body", [b"", b"whole", b"in part"])
def test_while_the_endpoint_is_connected_to(site, body):
    with contextlib.ExitStack() as stack:
        deaf = awkward.deaf_listener(stack)
        one, dial = site(configuration(backends=[backend_of(deaf.getsockname()[1], timeouts={"connect": "50s"}, retries=0)]))
        with dial() as client:
            length = len(body) + (100 if body == b"in part" else 0)
            client.send(request("POST", Content_Length=str(length)) + body)
            wait_until(lambda: connections_to_endpoints(one) == 1, what="a connection attempt")
        assert one.logged(status=0)["cause"] == "client_aborted"
        wait_until(lambda: connections_to_endpoints(one) == 0, what="the end of the attempt")


def test_behind_pipelined_requests_that_are_not_read_yet(site, backend):
    service = backend(awkward.stalling_after(b""))
    one, dial = site(configuration(service.port))
    with dial() as client:
        client.send(request() + 2000 * request(target="/later"))
        service.wait_for_requests(1)
    assert service.streams[0].is_closed()
    assert one.logged(status=0)["cause"] == "client_aborted"
    assert len(service.requests) == 1


@pytest.mark.parametrize("framing", ["Content-Length: 100000000", "Transfer-Encoding: chunked"])
def test_in_the_middle_of_a_body_that_the_endpoint_does_not_read(site, backend, framing):
    def serve(stream, known):
        known.requests.append(stream.read_head())
        known.released.wait(PATIENCE)

    service = backend(serve)
    one, dial = site(configuration(service.port))
    with dial() as client:
        client.send(f"POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode())
        service.wait_for_requests(1)
        for _ in range(5):
            client.send(bytes(50000) if "Length" in framing else b"c350\r\n" + bytes(50000) + b"\r\n")
    assert one.logged(status=0)["cause"] == "client_aborted"
    wait_until(lambda: connections_to_endpoints(one) == 0, what="the end of the endpoint's connection")


def test_a_listener_may_serve_clients_that_close_one_half(router, backend):
    service = backend(awkward.answering_late(response(b"worth waiting for")))
    settings = configuration(service.port)
    settings["listeners"][0]["half_close"] = True
    one = router(settings)
    with one.dial() as client:
        client.send(request() + request(target="/second"))
        client.finish_sending()
        service.wait_for_requests(1)
        service.released.set()
        assert [client.read_response().body for _ in range(2)] == [b"worth waiting for"] * 2
        assert client.is_closed()


CLOSE_NOTIFY = bytes([WARNING, 0])


@pytest.mark.parametrize("version", [TLS12, TLS13], ids=["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("how", ["close_notify", "FIN", "both"])
def test_a_listener_may_serve_clients_that_close_one_half_of_tls(router, backend, certificates, how, version):
    service = backend(awkward.answering_late(response(b"worth waiting for")))
    settings = configuration(service.port)
    settings["listeners"][0].update(half_close=True, protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")])
    one = router(settings)
    with RawTls(socket.create_connection(("127.0.0.1", one.port())), version=version).shake_hands() as client:
        requests = client.record(APPLICATION_DATA, request() + request(target="/second"))
        client.send(requests + (client.record(ALERT, CLOSE_NOTIFY) if how != "FIN" else b""))
        if how != "close_notify":
            client.shutdown(socket.SHUT_WR)
        service.wait_for_requests(1)
        service.released.set()
        for _ in range(2):
            client.read_until(b"worth waiting for")
        while client.next_record() is not None:
            pass
    wait_until(lambda: [line["cause"] for line in one.log()] == ["completed"] * 2, what="both answers")
