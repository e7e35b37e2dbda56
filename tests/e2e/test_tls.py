"""TLS as clients see it: versions, names, key types, resumption, and no plain word on a TLS port."""

import ssl
import subprocess

import pytest

import awkward
from http1 import dial, request, trusting_context
from router import configuration, wait_until


def secure(service, certificates, **listener):
    settings = configuration(service.port)
    settings["listeners"][0].update(protocol="https", certificates=certificates, **listener)
    return settings


@pytest.fixture
def pair(certificates):
    return certificates("localhost", "ecdsa", "localhost")


def s_client(port, *options, send=b""):
    """openssl s_client; returns its whole output."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-ign_eof" if send else "-no_ign_eof", *options]
    done = subprocess.run(command, input=send, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return done.stdout.decode("latin-1")


def names_shown(port, name):
    context = trusting_context()
    with dial(port, tls=context, name=name) as client:
        der = client.socket.getpeercert(binary_form=True)
    text = subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-ext", "subjectAltName"], input=der, capture_output=True, check=True)
    return [part.strip()[4:] for part in text.stdout.decode().split("\n")[1].split(",")]


@pytest.mark.parametrize("option,version", [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")])
def test_openssl_gets_an_answer_over_each_version(router, backend, pair, option, version):
    one = router(secure(backend(awkward.named("over tls")), [pair]))
    output = s_client(one.port(), option, "-servername", "localhost", send=request(Connection="close"))
    assert f"New, {version}" in output and output.count("over tls") == 1
    assert one.logged(status=200)["tls"] == version


@pytest.mark.parametrize("option", ["-tls1", "-tls1_1"])
def test_old_versions_are_refused(router, backend, pair, option):
    one = router(secure(backend(awkward.named("x")), [pair]))
    assert "Cipher is (NONE)" in s_client(one.port(), option, "-cipher", "ALL:@SECLEVEL=0")


def test_backend_learns_that_the_client_came_over_tls(router, backend, pair):
    service = backend(awkward.named("x"))
    one = router(secure(service, [pair]))
    one.get(tls=trusting_context())
    assert service.requests[0].get("X-Forwarded-Proto") == "https"


def test_name_chooses_the_certificate_exact_before_wildcard_before_default(router, backend, certificates):
    chosen = [certificates("default", "ecdsa", "default.test"), certificates("exact", "ecdsa", "shop.example.com"),
              certificates("wild", "ecdsa", "*.example.com")]
    one = router(secure(backend(awkward.named("x")), chosen))
    shown = {name: names_shown(one.port(), name)[0] for name in ("shop.example.com", "SHOP.example.com", "other.example.com",
                                                                 "a.b.example.com", "unknown.test", "default.test")}
    assert shown == {"shop.example.com": "shop.example.com", "SHOP.example.com": "shop.example.com",
                     "other.example.com": "*.example.com", "a.b.example.com": "default.test", "unknown.test": "default.test",
                     "default.test": "default.test"}


def test_unknown_names_are_refused_where_so_configured(router, backend, pair):
    one = router(secure(backend(awkward.named("x")), [pair], unknown_names="refuse"))
    assert one.get(tls=trusting_context()).status == 200
    with pytest.raises(ssl.SSLError, match="(?i)unrecognized.name"):
        dial(one.port(), tls=trusting_context(), name="unknown.test")
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="client", cause="client_tls_name_refused") == 1)


@pytest.mark.parametrize("wanted,shown", [("ecdsa_secp256r1_sha256", "ECDSA"), ("rsa_pss_rsae_sha256", "RSA-PSS")])
def test_ecdsa_and_rsa_certificates_of_one_name_stand_side_by_side(router, backend, certificates, wanted, shown):
    both = [certificates("both-ecdsa", "ecdsa", "both.test"), certificates("both-rsa", "rsa", "both.test")]
    one = router(secure(backend(awkward.named("x")), both))
    output = s_client(one.port(), "-servername", "both.test", "-sigalgs", wanted)
    assert f"Peer signature type: {shown}" in output


def test_alpn_agrees_on_http_1_1(router, backend, pair):
    one = router(secure(backend(awkward.named("x")), [pair]))
    assert "ALPN protocol: http/1.1" in s_client(one.port(), "-alpn", "http/1.1")
    assert "ALPN protocol: http/1.1" in s_client(one.port(), "-alpn", "spdy/3,http/1.1")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_sessions_are_resumed_whichever_worker_takes_the_connection(router, backend, pair, version):
    one = router(secure(backend(awkward.named("x")), [pair]) | {"workers": 2})
    context = trusting_context(minimum_version=version, maximum_version=version)
    session, reused = None, []
    for _ in range(8):
        with one.dial(tls=context, session=session) as client:
            client.send(request())
            assert client.read_response().status == 200
            reused.append(client.socket.session_reused)
            session = client.socket.session
    assert reused == [False] + [True] * 7
    assert one.metric("ebbgate_tls_handshakes_total", kind="resumed") == 7


def test_plain_words_on_a_tls_port_harm_nobody(router, backend, pair):
    service = backend(awkward.named("x"))
    one = router(secure(service, [pair]))
    with one.dial() as client:
        client.send(request())
        client.read_to_end()
    assert one.get(tls=trusting_context()).status == 200
    assert len(service.requests) == 1
    assert one.metric("ebbgate_connections_closed_total", side="client", cause="client_tls_failed") == 1


def test_handshake_split_at_every_byte_succeeds(router, backend, pair):
    one = router(secure(backend(awkward.named("patient")), [pair]))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = trusting_context().wrap_bio(incoming, outgoing, server_hostname="localhost")

    def drive(step):
        while True:
            try:
                result = step()
                wants_more = False
            except ssl.SSLWantReadError:
                wants_more = True
            for byte in outgoing.read():
                client.send(bytes([byte]))
            if not wants_more:
                return result
            incoming.write(client.socket.recv(65536))

    with one.dial() as client:
        drive(session.do_handshake)
        drive(lambda: session.write(request(Connection="close")))
        answer = b""
        while not answer.endswith(b"patient"):
            answer += drive(lambda: session.read(65536))


def test_close_notify_ends_a_response_that_ends_with_the_connection(router, backend, pair):
    one = router(secure(backend(awkward.closing_after(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")), [pair]))
    with one.dial(tls=trusting_context()) as client:
        client.send(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert client.read_to_end().endswith(b"until the end")


@pytest.mark.parametrize("after", [b"\x17\x03\x03\x00\x20" + bytes(32), b"no record at all"], ids=["bad record", "no record"])
def test_words_behind_the_end_of_our_side_harm_nobody(router, backend, pair, after):
    """The router has closed its side after a refusal and cannot answer with an alert any more."""
    one = router(secure(backend(awkward.named("x")), [pair]))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = trusting_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with one.dial() as client:
        while True:
            try:
                session.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.send(outgoing.read())
                incoming.write(client.socket.recv(65536))
        session.write(b"GET / HTTP/1.1\r\nbroken\r\n\r\n")
        client.send(outgoing.read())
        client.read_to_end()  # until its FIN
        client.send(after)
        wait_until(lambda: one.metric("ebbgate_connections", side="client") == 0)
    assert one.get(tls=trusting_context()).status == 200
