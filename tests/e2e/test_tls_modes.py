"""One port for all: TLS that ends here, TLS that goes on to the backend anew, TLS that is passed through unread."""

import pathlib
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

import awkward
import http2
from http1 import PATIENCE, Closed, Stream, dial, request, response, trusting_context
from router import PORTS, configuration, endpoint, wait_until

PATIENT = {"connect": "1m"}  # the time to connect includes the handshake: a busy machine makes no connection a second time


def over_tls(serve, certificate, ask_client=None, alpn=None, seen=None):
    """The same backend behind TLS of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate["cert"], certificate["key"])
    if alpn:
        context.set_alpn_protocols(alpn)
    if ask_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(ask_client)
    if seen is not None:
        context.sni_callback = lambda _socket, name, _context: seen.append(name)

    def secured(stream, backend):
        try:
            stream.socket = context.wrap_socket(stream.socket, server_side=True)
        except ssl.SSLError:
            return
        try:
            serve(stream, backend)
        finally:
            stream.socket.close()

    return secured


def shown_name(port, name):
    """Whose certificate a client sees, by its first alternative name."""
    with dial(port, tls=trusting_context(), name=name) as client:
        der = client.socket.getpeercert(binary_form=True)
    text = subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-ext", "subjectAltName"], input=der,
                          capture_output=True, check=True).stdout.decode()
    return text.split("DNS:")[1].split(",")[0].strip()


@pytest.fixture
def shared_port(backend, certificates):
    """edge.test ends here, again.test is encrypted anew, through.test is passed through: one https listener."""
    edge = backend(awkward.named("edge"))
    again_pair, through_pair = certificates("again", "ecdsa", "again.internal"), certificates("through", "ecdsa", "through.test")
    again = backend(over_tls(awkward.named("again"), again_pair))
    through = backend(over_tls(awkward.named("through"), through_pair))
    settings = configuration(edge.port)
    settings["listeners"][0].update(protocol="https", certificates=[certificates("front", "ecdsa", "edge.test", "again.test")])
    settings["routes"] = [{"host": "edge.test", "backend": "service"},
                          {"host": "again.test", "backend": "again", "tls": "reencrypt"},
                          {"host": "through.test", "backend": "through", "tls": "passthrough"}]
    settings["backends"] += [
        {"name": "again", "tls": {"ca": again_pair["cert"], "name": "again.internal"}, "timeouts": PATIENT, "endpoints": [endpoint(again.port)]},
        {"name": "through", "endpoints": [endpoint(through.port)]}]
    return settings


def test_three_modes_share_one_port(router, shared_port):
    one = router(shared_port)
    for host, answer in (("edge.test", b"edge"), ("again.test", b"again"), ("through.test", b"through")):
        with dial(one.port(), tls=trusting_context(), name=host) as client:
            client.send(request(host=host))
            assert client.read_response().body == answer
    assert shown_name(one.port(), "edge.test") == "edge.test"
    assert shown_name(one.port(), "through.test") == "through.test"  # the backend's own certificate
    assert one.logged(backend="through")["cause"] in ("tunnel_closed", "client_reset")  # as the client left it


def test_a_client_hello_may_come_byte_by_byte(router, shared_port):
    one = router(shared_port)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = trusting_context().wrap_bio(incoming, outgoing, server_hostname="through.test")
    with dial(one.port()) as client:
        def shake():
            try:
                session.do_handshake()
                return True
            except ssl.SSLWantReadError:
                return False

        done = shake()
        while not done:
            for byte in outgoing.read():
                client.send(bytes([byte]))
            before = len(client.raw)
            assert client.receive()
            incoming.write(bytes(client.raw[before:]))
            done = shake()
        client.send(outgoing.read())
        assert session.getpeercert(binary_form=True)


def test_half_a_tunnel_ends_on_its_own(router, backend):
    """The backend reads to the end and answers then: TCP knows how to end one half."""
    def serve(stream, _):
        while stream.receive():
            pass
        stream.send(b"got %d" % len(stream.raw))
        stream.socket.shutdown(1)

    service = backend(serve)
    settings = configuration(service.port, routes=[])
    settings["listeners"][0].update(protocol="tcp", backend="service")
    one = router(settings)
    with one.dial() as client:
        client.send(b"x" * 100_000)
        client.socket.shutdown(1)
        assert client.read(10) == b"got 100000"[:10]
    assert one.logged(cause="tunnel_closed")["bytes_sent"] == 10


def test_a_server_may_speak_first(router, backend):
    service = backend(lambda stream, _: (stream.send(b"220 ready\r\n"), stream.receive()))
    settings = configuration(service.port, routes=[])
    settings["listeners"][0].update(protocol="tcp", backend="service")
    one = router(settings)
    with one.dial() as client:
        assert client.read(11) == b"220 ready\r\n"


def test_an_endpoint_that_refuses_is_passed_over(router, backend):
    service = backend(lambda stream, _: stream.send(b"hello"))
    settings = configuration(PORTS.take(), service.port, routes=[])
    settings["listeners"][0].update(protocol="tcp", backend="service")
    one = router(settings)
    for _ in range(6):
        with one.dial() as client:
            assert client.read(5) == b"hello"


def test_passthrough_listener_refuses_names_that_nobody_serves(router, shared_port):
    shared_port["listeners"][0] = {"name": "web", "bind": shared_port["listeners"][0]["bind"], "protocol": "tls-passthrough"}
    shared_port["routes"] = [route for route in shared_port["routes"] if route.get("tls") == "passthrough"]
    one = router(shared_port)
    assert shown_name(one.port(), "through.test") == "through.test"
    with pytest.raises(ssl.SSLError, match="(?i)unrecognized.name"):
        dial(one.port(), tls=trusting_context(), name="nobody.test")
    with one.dial() as client:
        client.send(b"GET / HTTP/1.1\r\n\r\n")
        assert client.read_to_end() == b""
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", cause="client_tls_name_refused") == 1)


def reencrypting(service, **tls):
    settings = configuration(service.port)
    settings["backends"][0]["timeouts"] = PATIENT
    settings["backends"][0]["tls"] = tls
    settings["routes"][0]["tls"] = "reencrypt"
    return settings


@pytest.mark.parametrize("name,wrong_ca", [("else.test", False), ("again.internal", True)])
def test_an_endpoint_that_cannot_prove_its_name_gets_nothing(router, backend, certificates, name, wrong_ca):
    pair = certificates("again", "ecdsa", "again.internal")
    other = certificates("other", "ecdsa", "other.test")
    service = backend(over_tls(awkward.named("secret"), pair))
    one = router(reencrypting(service, ca=(other if wrong_ca else pair)["cert"], name=name))
    response = one.get()
    assert response.status == 502 and b"backend_tls_untrusted" in response.body
    assert not service.requests


def test_endpoint_sees_server_name_and_our_certificate(router, backend, certificates):
    pair, ours = certificates("again", "ecdsa", "again.internal"), certificates("ours", "ecdsa", "router.test")
    names = []
    service = backend(over_tls(awkward.named("secret"), pair, ask_client=ours["cert"], seen=names))
    one = router(reencrypting(service, ca=pair["cert"], name="again.internal", sni="sni.internal",
                              cert=ours["cert"], key=ours["key"]))
    assert one.get().body == b"secret"
    assert names == ["sni.internal"]


def test_connections_to_a_tls_endpoint_are_kept_and_resumed(router, backend, certificates):
    pair = certificates("again", "ecdsa", "again.internal")
    service = backend(over_tls(awkward.named("kept"), pair))
    one = router(reencrypting(service, ca=pair["cert"], name="again.internal"))
    for _ in range(5):
        assert one.get().body == b"kept"
    assert len(service.streams) == 1


def test_large_bodies_go_both_ways_through_tls_on_both_sides(router, backend, certificates):
    pair = certificates("again", "ecdsa", "again.internal")
    service = backend(over_tls(awkward.echoing(), pair))
    settings = reencrypting(service, ca=pair["cert"], name="again.internal")
    settings["listeners"][0].update(protocol="https", certificates=[pair])
    one = router(settings)
    body = bytes(range(256)) * 8192
    with one.dial(tls=trusting_context()) as client:
        client.send(request("POST", body=body))  # not from a thread: Python's TLS sockets are not to be used by two
        assert client.read_response().body == body


def test_clients_must_show_a_certificate_where_it_is_required(router, backend, certificates):
    front, ours = certificates("front", "ecdsa", "edge.test"), certificates("client", "ecdsa", "client.test")
    service = backend(awkward.named("inside"))
    settings = configuration(service.port)
    settings["listeners"][0].update(protocol="https", certificates=[front],
                                    client_certificates={"mode": "required", "ca": ours["cert"]})
    one = router(settings)
    context = trusting_context()
    with pytest.raises((ssl.SSLError, Closed, ConnectionError)):
        with one.dial(tls=context) as client:
            client.send(request())
            client.read_response()
    context = trusting_context()
    context.load_cert_chain(ours["cert"], ours["key"])
    with one.dial(tls=context) as client:
        client.send(request())
        assert client.read_response().body == b"inside"
    assert len(service.requests) == 1


def test_a_certificate_of_passthrough_backend_is_never_needed_here(router, shared_port):
    """The route's removal closes nothing that is open, and the name is then served as any other."""
    one = router(shared_port)
    with dial(one.port(), tls=trusting_context(), name="through.test") as client:
        one.change(routes=[route for route in shared_port["routes"] if route["host"] != "through.test"])
        wait_until(lambda: shown_name(one.port(), "through.test") == "edge.test", what="the new routes")
        client.send(request(host="through.test"))
        assert client.read_response().body == b"through"


def either_way(serve, certificate, **options):
    """With TLS for connections that begin with a handshake, plain for others; `backend.kinds` tells which came."""
    secured = over_tls(serve, certificate, **options)

    def kind(stream, backend):
        backend.kinds.append("tls" if stream.socket.recv(1, socket.MSG_PEEK) == b"\x16" else "plain")
        (secured if backend.kinds[-1] == "tls" else serve)(stream, backend)

    return kind


def applied(one, **sections):
    """The change is what all workers serve."""
    generation = one.metric("ebbgate_config_generation")
    one.change(**sections)
    wait_until(lambda: one.metric("ebbgate_config_generation") > generation, what="the new configuration")


@pytest.fixture
def kept(router, backend, certificates):
    """A router with a pooled connection to an endpoint that takes plain connections and TLS; change(...) changes its backend."""

    class Kept:
        pair = certificates("again", "ecdsa", "again.internal")

        def start(self, serve=None, **more):
            self.service = backend(either_way(serve or awkward.named("here"), self.pair))
            self.service.kinds = []
            self.one = router(configuration(backends=[self.behind()]))
            if more:
                self.change(**more)
            assert self.one.get().body == b"here"
            return self

        def change(self, **more):
            applied(self.one, routes=[{"name": "all", "backend": "service", **({"tls": "reencrypt"} if "tls" in more else {})}],
                    backends=[self.behind(**more)])

        def behind(self, timeouts=None, **more):
            return {"name": "service", "endpoints": [endpoint(self.service.port)], "timeouts": PATIENT | (timeouts or {}), **more}

        def trusting(self, **more):
            return {"tls": {"ca": self.pair["cert"], "name": "again.internal", **more}}

    return Kept()


def test_no_plain_connection_is_used_once_the_backend_has_tls(kept):
    kept.start()
    kept.change(**kept.trusting())
    assert kept.one.get().body == b"here"
    assert kept.service.kinds == ["plain", "tls"]
    kept.change()
    assert kept.one.get().body == b"here"
    assert kept.service.kinds == ["plain", "tls", "plain"]
    assert kept.one.metric("ebbgate_connections_closed_total", side="backend", cause="backend_changed") == 2


def test_a_plain_connection_that_is_busy_when_tls_comes_closes_after_its_answer(kept):
    slow = threading.Event()

    def answer(asked):
        if asked.target == "/slow":
            slow.wait(PATIENCE)
        return response(b"here")

    kept.start(awkward.answering(answer))
    with kept.one.dial() as client:
        client.send(request(target="/slow"))
        kept.service.wait_for_requests(2)
        kept.change(**kept.trusting())
        slow.set()
        assert client.read_response().body == b"here"
        wait_until(lambda: not kept.service.threads[1].is_alive(), what="the end of the plain connection")
    assert kept.one.get().body == b"here"
    assert kept.service.kinds == ["plain", "tls"]


@pytest.mark.parametrize("change", ["ca", "name"])
def test_a_connection_that_was_proven_otherwise_is_not_used(kept, certificates, change):
    kept.start(**kept.trusting())
    other = certificates("other", "ecdsa", "other.test")
    kept.change(**kept.trusting(**({"ca": other["cert"]} if change == "ca" else {"name": "else.test"})))
    answer = kept.one.get()
    assert answer.status == 502 and b"backend_tls_untrusted" in answer.body
    assert len(kept.service.requests) == 1


def test_an_authority_that_is_replaced_in_its_file_closes_what_it_has_vouched_for(kept, certificates, tmp_path):
    authority = tmp_path / "authority.pem"
    shutil.copy(kept.pair["cert"], authority)
    kept.start(**kept.trusting(ca=str(authority)))
    changed = lambda: kept.one.metric("ebbgate_connections_closed_total", side="backend", cause="backend_changed")  # noqa: E731
    other = certificates("other", "ecdsa", "other.test")
    authority.write_bytes(pathlib.Path(other["cert"]).read_bytes())
    wait_until(lambda: changed() == 1, what="the end of the pooled connection")
    answer = kept.one.get()
    assert answer.status == 502 and b"backend_tls_untrusted" in answer.body
    authority.write_bytes(pathlib.Path(kept.pair["cert"]).read_bytes())
    wait_until(lambda: kept.one.get().status == 200, what="the old authority")
    assert len(kept.service.requests) == 2


def test_a_new_certificate_of_ours_is_shown_to_the_endpoint(kept, certificates):
    kept.start(**kept.trusting())
    ours = certificates("ours", "ecdsa", "router.test")
    kept.change(**kept.trusting(cert=ours["cert"], key=ours["key"]))
    assert kept.one.get().body == b"here"
    assert kept.service.kinds == ["tls", "tls"]


def test_a_change_of_something_else_keeps_the_connection(kept):
    kept.start(**kept.trusting())
    kept.change(retries=1, timeouts={"response": "20s"}, **kept.trusting())
    assert kept.one.get().body == b"here"
    assert kept.service.kinds == ["tls"]


def test_an_http2_connection_takes_no_stream_of_the_new_manner(router, backend):
    """One request runs on it while the backend's PROXY header is switched on."""
    def serve(stream, known):
        plain = stream.socket.recv(3, socket.MSG_PEEK) == b"PRI"
        known.kinds.append("plain" if plain else "header")
        if not plain:
            while stream.socket.recv(1) != b"\n":
                pass
        http2.serving(answer)(stream, known)

    def answer(peer, asked):
        if asked.target == "/slow":
            slow.append((peer, asked))
        else:
            http2.reply(peer, asked, b"here")

    slow, service = [], backend(serve)
    service.kinds = []

    def to(**more):
        return [{"name": "service", "protocol": "h2c", "timeouts": PATIENT, "endpoints": [endpoint(service.port)], **more}]

    one = router(configuration(backends=to()))
    with one.dial() as client:
        client.send(request(target="/slow"))
        service.wait_for_requests(1)
        applied(one, backends=to(proxy_protocol="v1"))
        assert one.get().body == b"here"
        http2.reply(*slow[0], b"slow")
        assert client.read_response().body == b"slow"
        wait_until(lambda: not service.threads[1].is_alive(), what="the end of the old connection")
    assert service.kinds == ["plain", "header"]


@pytest.mark.parametrize("address, sans", [("127.0.0.7", "IP:127.0.0.7"), ("fd00::7", "IP:fd00::7"), ("[fd00::7]", "IP:fd00::7")])
def test_a_backend_is_verified_by_its_address_and_no_address_is_sent_as_a_name(router, backend, certificates, tmp_path, address, sans):
    """RFC 6066 section 3 has no addresses in the server name."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-subj", "/CN=x",
                    "-addext", f"subjectAltName={sans}", "-keyout", tmp_path / "own.key", "-out", tmp_path / "own.pem"],
                   check=True, capture_output=True)
    pair, names = {"cert": str(tmp_path / "own.pem"), "key": str(tmp_path / "own.key")}, []
    service = backend(over_tls(awkward.named("secret"), pair, seen=names))
    one = router(reencrypting(service, ca=pair["cert"], name=address))
    assert one.get().body == b"secret"
    assert names == [None]


@pytest.mark.parametrize("address", ["127.0.0.8", "fd00::8"])
def test_a_backend_with_another_address_is_not_trusted(router, backend, certificates, address):
    pair = certificates("again", "ecdsa", "again.internal", address)  # as a dNSName, which does not count
    service = backend(over_tls(awkward.named("secret"), pair))
    one = router(reencrypting(service, ca=pair["cert"], name=address))
    assert one.get().status == 502
    assert one.logged(status=502)["cause"] == "backend_tls_untrusted"


def test_the_most_specific_host_wins_whether_it_is_passed_through_or_not(router, backend, certificates):
    """A wildcard that is passed through does not capture the names of routes whose TLS ends here."""
    wild_pair = certificates("wild", "ecdsa", "*.example.test", "*.deep.example.test")
    wild = backend(over_tls(awkward.named("wild"), wild_pair))
    settings = configuration(backend(awkward.named("shop")).port)
    front = certificates("shop", "ecdsa", "shop.example.test", "*.deep.example.test")
    opaque = PORTS.take()
    settings["listeners"][0].update(protocol="https", certificates=[front])
    settings["listeners"].append({"name": "opaque", "bind": f"127.0.0.1:{opaque}", "protocol": "tls-passthrough"})
    settings["routes"] = [{"host": "*.example.test", "backend": "wild", "tls": "passthrough"},
                          {"host": "exact.deep.example.test", "backend": "wild", "tls": "passthrough"},
                          {"host": "*.deep.example.test", "backend": "service"},
                          {"host": "shop.example.test", "backend": "service"}]
    settings["backends"].append({"name": "wild", "endpoints": [endpoint(wild.port)]})
    one = router(settings)

    def answer(port, host):
        with dial(port, tls=trusting_context(), name=host) as client:
            client.send(request(host=host))
            return client.read_response().body

    expected = {"shop.example.test": b"shop", "other.example.test": b"wild", "a.shop.example.test": b"wild",
                "a.deep.example.test": b"shop", "exact.deep.example.test": b"wild"}
    assert {host: answer(one.port(), host) for host in expected} == expected
    assert {host: answer(opaque, host) for host in expected} == dict.fromkeys(expected, b"wild"), "a listener without certificates"
    with http2.dial(one.port(), tls=True, name="a.deep.example.test") as client:
        assert bytes(client.get(authority="b.deep.example.test").body) == b"shop"
        assert client.get(authority="exact.deep.example.test").status == 421
