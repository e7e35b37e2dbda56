"""`ebbgate canary probe`: every fault by its own name, from servers and routers that have it."""

import base64
import contextlib
import hashlib
import json
import os
import pathlib
import socket
import ssl
import subprocess
import threading

import pytest

import awkward
import http2
import namespaces
from http1 import Stream, response, swallow_packets
from router import BINARY, PORTS, REPORT, configuration


def probe(*arguments, **more):
    """On a busy machine a right answer may take its time; those who wait for a time-out say which."""
    patient = () if "--budget" in arguments else ("--budget", "30s")
    done = subprocess.run([BINARY, "canary", "probe", *patient, *map(str, arguments)], capture_output=True, text=True, timeout=120, **more)
    assert not REPORT.search(done.stderr), done.stderr
    return done


def results(*arguments, **more):
    """What it says of each probe; its exit status agrees."""
    done = probe("--json", *arguments, **more)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found, done.stderr
    assert done.returncode == (0 if all(each["good"] for each in found) else 1)
    return found


def faults(*arguments, **more):
    return [each["fault"] for each in results(*arguments, **more)]


def marks(request, port="8080", nonce=None):
    return {"Ebbgate_Canary": nonce or request.get("Ebbgate-Canary"), "x_request_port": port, "Ebbgate_Canary_Pod": "canary-1",
            "Ebbgate_Canary_Node": "node-1"}


def right_answer(request, **changes):
    return response(b"Healthcheck requested\n", **marks(request, **changes))


def websocket_frame(kind, payload):
    return bytes([0x80 | kind, len(payload)]) + payload


def canary_server(stream, backend):
    """As `ebbgate canary serve` answers: HTTP/1 and the echo of a WebSocket."""
    while True:
        request = stream.read_request()
        backend.requests.append(request)
        key = request.get("Sec-WebSocket-Key")
        if key is None:
            stream.send(right_answer(request))
            continue
        accept = base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
        fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in marks(request).items())
        stream.send(f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    f"Sec-WebSocket-Accept: {accept}\r\n{fields}\r\n".encode())
        while True:
            kind, size = stream.read(2)
            mask = stream.read(4)
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(stream.read(size & 0x7f)))
            if kind & 0x0f == 8:
                stream.send(websocket_frame(8, payload))
                stream.finish_sending()
                stream.read_to_end()
                return stream.close()
            stream.send(websocket_frame(kind & 0x0f, payload))


def http_url(port, path="/"):
    return f"http://127.0.0.1:{port}{path}"


@pytest.fixture
def tls_server(tmp_path):
    """tls_server(serve, days=…, name=…, alpn=…) -> (port, certificate file)"""
    with contextlib.ExitStack() as stack:
        def start(serve, days=60, name="canary.example.com", alpn=("http/1.1",)):
            stem = tmp_path / f"cert{len(list(tmp_path.iterdir()))}"
            make_certificate(stem, name, days)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{stem}.pem", f"{stem}.key")
            context.set_alpn_protocols(list(alpn))

            def secured(stream, backend):
                with context.wrap_socket(stream.socket, server_side=True) as secure:
                    serve(Stream(secure, timeout=60), backend)

            one = stack.enter_context(awkward.Backend(secured))
            return one.port, f"{stem}.pem"

        yield start


def make_certificate(stem, name, days):
    """Self-signed, by `openssl x509`, which takes days in the past."""
    subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-subj", f"/CN={name}",
                    "-keyout", f"{stem}.key", "-out", f"{stem}.csr"], check=True, capture_output=True)
    extensions = pathlib.Path(f"{stem}.ext")
    extensions.write_text(f"subjectAltName=DNS:{name}\n")
    subprocess.run(["openssl", "x509", "-req", "-in", f"{stem}.csr", "-key", f"{stem}.key", "-extfile", extensions,
                    "-out", f"{stem}.pem", "-days", str(days)], check=True, capture_output=True)


def https_url(name="canary.example.com"):
    return f"https://{name}/"


def test_right_answer_is_good_and_its_phases_are_told(backend):
    one = backend(canary_server)
    found = results(http_url(one.port))[0]
    assert found["fault"] == "none" and found["answer"] == {"status": 200, "port": "8080", "pod": "canary-1", "node": "node-1", "canary": True}
    assert set(found["phases_us"]) == {"connect", "first_byte", "total"}
    assert found["phases_us"]["total"] >= found["phases_us"]["connect"] + found["phases_us"]["first_byte"]
    text = probe(http_url(one.port))
    assert text.returncode == 0 and "answered by canary-1 on node-1, port 8080" in text.stdout


def test_any_server_can_be_asked(backend):
    text = probe(http_url(backend(awkward.named("shop")).port))
    assert text.returncode == 0 and "no canary server" in text.stdout


def test_fault_is_named_with_what_to_do(backend):
    text = probe(http_url(PORTS.take()))
    assert text.returncode == 1
    assert "connect_refused: nothing listens there (Connection refused)" in text.stdout and "what to do: is the router running" in text.stdout


def test_name_without_an_address():
    assert faults("--budget", "5s", "http://no-such-host.invalid/") == ["name_resolution"]


def test_name_is_looked_up(backend):
    found = results(f"http://localhost:{backend(canary_server).port}/")[0]
    assert found["good"] and "dns" in found["phases_us"] and found["peer"].startswith("127.")


def test_nothing_listens():
    assert faults(http_url(PORTS.take())) == ["connect_refused"]


def test_connection_attempts_are_swallowed():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        swallow_packets(listener)
        assert faults("--budget", "1s", http_url(listener.getsockname()[1])) == ["connect_timeout"]


@pytest.mark.skipif(namespaces.refusal() is not None, reason="no network namespaces here")
def test_no_way_to_the_address():
    name = f"ebb-canary-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        done = subprocess.run(["ip", "netns", "exec", name, BINARY, "canary", "probe", "--json", "http://192.0.2.1/"], capture_output=True,
                              text=True, timeout=60)
        assert json.loads(done.stdout)["fault"] == "connect_unreachable"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def test_plain_server_at_a_tls_url(backend):
    one = backend(awkward.stalling_after(b""))
    assert faults("--budget", "1s", "--resolve", f"127.0.0.1:{one.port}", https_url()) == ["tls_handshake"]
    other = backend(lambda stream, _: (stream.read(5), stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")))
    assert faults("--resolve", f"127.0.0.1:{other.port}", https_url()) == ["tls_handshake"]


def test_http2_that_is_not_offered(tls_server):
    port, certificate = tls_server(canary_server)
    found = results("--http2", "--ca", certificate, "--resolve", f"127.0.0.1:{port}", https_url())[0]
    assert (found["fault"], found["detail"]) == ("tls_handshake", "HTTP/2 was not agreed upon (ALPN)")


def test_certificate_that_is_trusted(tls_server):
    port, certificate = tls_server(canary_server)
    found = results("--ca", certificate, "--resolve", f"127.0.0.1:{port}", https_url())[0]
    assert found["good"] and found["certificate"]["verified"] and not found["certificate"]["expires_soon"]
    assert "tls" in found["phases_us"]


def test_certificate_of_an_unknown_authority(tls_server):
    port, _ = tls_server(canary_server)
    assert faults("--resolve", f"127.0.0.1:{port}", https_url()) == ["certificate"]


def test_certificate_of_another_name(tls_server):
    port, certificate = tls_server(canary_server)
    assert faults("--ca", certificate, "--resolve", f"127.0.0.1:{port}", https_url("shop.example.com")) == ["certificate"]


def test_certificate_that_has_expired(tls_server):
    port, certificate = tls_server(canary_server, days=-1)
    found = results("--ca", certificate, "--resolve", f"127.0.0.1:{port}", https_url())[0]
    assert (found["fault"], found["detail"]) == ("certificate", "certificate has expired")
    recorded = results("--insecure", "--resolve", f"127.0.0.1:{port}", https_url())[0]
    assert recorded["good"] and recorded["certificate"]["expires_soon"] and not recorded["certificate"]["verified"]


def test_certificate_that_expires_soon_is_a_warning(tls_server):
    port, certificate = tls_server(canary_server, days=5)
    text = probe("--ca", certificate, "--resolve", f"127.0.0.1:{port}", https_url())
    assert text.returncode == 0 and "warning: CN=canary.example.com, expires in 4 days" in text.stdout


def test_every_probe_sees_the_certificate(tls_server):
    """A session that was resumed would not show it."""
    port, certificate = tls_server(canary_server)
    assert [each["certificate"]["subject"] for each in
            results("--ca", certificate, "--count", 3, "--every", "10ms", "--resolve", f"127.0.0.1:{port}", https_url())] == [
                "CN=canary.example.com"] * 3


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n"


@pytest.mark.parametrize("serve, fault", [
    (awkward.stalling_after(b""), "first_byte_timeout"),
    (awkward.stalling_after(HEAD + b"Health"), "slow"),
    (awkward.resetting_after(b""), "reset"),
    (awkward.closing_after(b""), "truncated"),
    (awkward.closing_after(HEAD[:20]), "truncated"),
    (awkward.closing_after(HEAD + b"Health"), "truncated"),
    (awkward.answering(lambda _: b"220 mail.example.com ESMTP\r\n\r\n"), "malformed"),
    (awkward.answering(lambda _: b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), "status_1xx"),
    (awkward.answering(lambda _: response(status="206 Partial Content")), "status_2xx"),
    (awkward.answering(lambda _: response(status="302 Found", Location="https://canary.example.com/")), "status_3xx"),
    (awkward.answering(lambda _: response(status="404 Not Found")), "status_4xx"),
    (awkward.answering(lambda _: response(status="503 Service Unavailable")), "status_5xx"),
    (awkward.answering(lambda request: right_answer(request, nonce="of-yesterday")), "wrong_body"),
    (awkward.answering(lambda request: response(b"It works!", **marks(request))), "wrong_body"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_answer_has_its_fault(backend, serve, fault):
    one = backend(serve)
    budget = {"first_byte_timeout": "1s", "slow": "5s"}.get(fault, "30s")
    assert faults("--budget", budget, http_url(one.port)) == [fault]
    assert faults("--budget", budget, "--reuse", "--count", 1, http_url(one.port)) == [fault]


def test_answer_from_the_wrong_port(backend):
    one = backend(canary_server)
    assert faults("--expect-port", 8888, http_url(one.port)) == ["wrong_port"]
    assert faults("--expect-port", 8080, http_url(one.port)) == ["none"]


def test_stream_that_is_reset(backend):
    def reset(peer, request):
        peer.h2.reset_stream(request.stream, 8)
        peer.flush()

    assert faults("--http2", http_url(backend(http2.serving(reset)).port)) == ["reset"]


def test_http2_status(backend):
    one = backend(http2.serving(lambda peer, request: http2.reply(peer, request, b"no", status=503)))
    assert faults("--http2", http_url(one.port)) == ["status_5xx"]


def test_websocket_that_is_no_websocket(backend):
    assert faults("--websocket", http_url(backend(awkward.named("shop")).port)) == ["status_2xx"]
    assert faults("--websocket", http_url(backend(awkward.upgrading()).port)) == ["malformed"]


def test_connection_is_used_again(backend):
    one = backend(canary_server)
    found = results("--reuse", "--count", 4, "--every", "10ms", http_url(one.port))
    assert [each["reused"] for each in found] == [True, True, True, True]
    assert len(one.streams) == 1
    assert len(one.requests) == 5, "a new connection is asked twice"
    assert len({request.get("Ebbgate-Canary") for request in one.requests}) == 5


def test_reset_of_the_second_request_is_a_fault(backend):
    """A server that answers each first request of a connection and resets each second one."""
    def serve(stream, served):
        stream.send(right_answer(stream.read_request()))
        stream.read_request()
        stream.reset()

    one = backend(serve)
    found = results("--reuse", "--count", 4, "--every", "10ms", http_url(one.port))
    assert [(each["fault"], each["detail"]) for each in found] == [("reset", "reset when the connection was used again")] * 4
    text = probe("--reuse", "--count", 4, "--every", "10ms", http_url(one.port))
    assert text.returncode == 1 and "4 probes, 0 good; 4 reset\n" in text.stdout


def test_connection_that_was_closed_meanwhile_is_made_anew(backend):
    def serve(stream, served):
        served.requests.append(request := stream.read_request())
        stream.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)  # the answer leaves together with the end
        stream.send(right_answer(request))
        stream.finish_sending()

    one = backend(serve)
    found = results("--reuse", "--count", 3, "--every", "500ms", http_url(one.port))
    assert [(each["fault"], each["reused"]) for each in found] == [("none", False)] * 3
    assert "no connection was used a second time" in probe("--reuse", "--count", 2, "--every", "10ms", http_url(one.port)).stdout


def test_fresh_connections_are_closed(backend):
    one = backend(canary_server)
    assert len(results("--count", 5, "--every", "10ms", http_url(one.port))) == 5
    assert len(one.streams) == 5
    assert all(stream.is_closed() for stream in one.streams)


def test_every_protocol_through_the_router(router, backend, certificates):
    one = backend(canary_server)
    settings = configuration(one.port)
    plain = int(settings["listeners"][0]["bind"].rsplit(":", 1)[1])
    secure = PORTS.take()
    pair = certificates("canary", "ecdsa", "canary.example.com")
    settings["listeners"].append({"name": "secure", "bind": f"127.0.0.1:{secure}", "protocol": "https", "certificates": [pair]})
    router(settings)
    legs = ["--http2", "--websocket", "--reuse", "--count", 3, "--every", "20ms"]
    for arguments in ([http_url(plain)], ["--ca", pair["cert"], "--resolve", f"127.0.0.1:{secure}", https_url()]):
        found = results(*legs, *arguments)
        assert [each["fault"] for each in found] == ["none"] * 9
        assert {each["protocol"] for each in found} == {"h2", "websocket", "http1_reused"}
        assert faults(*arguments) == ["none"]


def test_router_without_endpoints_is_a_status_not_a_wrong_body(router):
    settings = configuration(PORTS.take())
    router(settings)
    assert faults(f"http://{settings['listeners'][0]['bind']}/")[0] == "status_5xx"


@pytest.mark.parametrize("arguments, words", [
    (["ftp://example.com/"], "is no URL"),
    (["/healthz"], "is no URL"),
    (["http://a b/"], "is no URL"),
    (["--resolve", "localhost:80", "http://x/"], "--resolve"),
    (["--ca", "/no/such/file", "https://x/"], "/no/such/file"),
    (["--every", "soon", "http://x/"], "--every"),
    (["--budget", "0s", "http://x/"], "--budget"),
])
def test_wrong_command_line_is_explained(arguments, words):
    done = probe(*arguments)
    assert done.returncode == 2 and words in done.stderr


@pytest.mark.slow
def test_sockets_do_not_grow_over_ten_thousand_probes(router, backend):
    settings = configuration(backend(canary_server).port)
    one = router(settings)
    url = f"http://{settings['listeners'][0]['bind']}/"
    command = [BINARY, "canary", "probe", "--json", "--http2", "--websocket", "--reuse", "--count", "3334", "--every", "1ms", "--budget", "30s", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(process.stdout))
    reader.start()
    most, most_at_router = 0, 0
    try:
        while process.poll() is None:
            most = max(most, sockets_of(process.pid))
            most_at_router = max(most_at_router, sockets_of(one.process.pid))
            reader.join(0.02)
    finally:
        process.kill()
        process.wait()
        reader.join()
    found = [json.loads(line) for line in lines]
    assert len(found) == 3 * 3334 and all(each["good"] for each in found)
    assert most <= 3, "a leg has one socket at most"
    # Three legs and what serves them, the pool of idle connections, and what is just being closed.
    assert most_at_router <= 40


def sockets_of(pid):
    count = 0
    with contextlib.suppress(OSError):
        for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                count += os.readlink(descriptor).startswith("socket:")
    return count
