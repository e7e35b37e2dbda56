"""`ebbgate canary serve`: OpenShift's answer and variables, and what is more: HTTP/2, WebSocket, bounds, a graceful end."""

import asyncio
import socket
import subprocess

import pytest
import websockets

import http2
from canary_server import CanaryServer
from http1 import Closed, dial, request, trusting_context
from raw_tls import APPLICATION_DATA, HANDSHAKE, RawTls, key_update
from router import BINARY, PORTS

BODY = b"Healthcheck requested\n"


@pytest.fixture(params=["plain", "tls"])
def server(request, tmp_path, certificates):
    """Its `context` is what http1.dial() wants."""
    variables = {"POD_NAME": "canary-7", "NODE_NAME": "worker-3"}
    if request.param == "tls":
        pair = certificates("localhost", "ecdsa", "localhost")
        variables |= {"TLS_CERT": pair["cert"], "TLS_KEY": pair["key"]}
    with CanaryServer(tmp_path, **variables) as one:
        one.secure = request.param == "tls"
        one.context = trusting_context() if one.secure else None
        yield one


def ask(server, port, method="GET", target="/", **fields):
    with dial(port, tls=server.context) as stream:
        stream.send(request(method, target, Connection="close", **fields))
        return stream.read_response(method)


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD"])
def test_any_request_on_both_ports_gets_openshifts_answer(server, method):
    for port in server.ports:
        answer = ask(server, port, method, "/deep/path?x=1")
        assert answer.status == 200 and answer.get("x-request-port") == str(port)
        assert answer.body == (b"" if method == "HEAD" else BODY)


def test_nonce_pod_and_node_are_told(server):
    answer = ask(server, server.ports[0], Ebbgate_Canary="a-nonce-1")
    assert answer.get("Ebbgate-Canary") == "a-nonce-1"
    assert (answer.get("Ebbgate-Canary-Pod"), answer.get("Ebbgate-Canary-Node")) == ("canary-7", "worker-3")
    assert ask(server, server.ports[0]).get("Ebbgate-Canary") is None


def test_start_is_told_as_openshift_does(server):
    words = "serving TLS on" if server.secure else "serving on"
    assert server.text().splitlines() == [f"{words} {port}" for port in server.ports]


def test_a_connection_is_reused_and_bodies_are_read(server):
    with dial(server.ports[0], tls=server.context) as stream:
        for number in range(100):
            stream.send(request("POST", body=b"x" * 1000 * number))
            assert stream.read_response().body == BODY


def test_http2_by_alpn_and_prior_knowledge(server):
    with http2.dial(server.ports[1], tls=server.secure) as client:
        streams = [client.ask(target=f"/{number}", fields=[("ebbgate-canary", f"n{number}")]) for number in range(50)]
        for number, stream in enumerate(streams):
            answer = client.answer(stream)
            assert answer.status == 200 and bytes(answer.body) == BODY
            assert answer.get("ebbgate-canary") == f"n{number}" and answer.get("x-request-port") == str(server.ports[1])
        assert client.get("POST", body=b"y" * 300_000).status == 200


def test_websocket_echo(server):
    async def talk():
        uri = f"{'wss' if server.secure else 'ws'}://localhost:{server.ports[0]}/"
        async with websockets.connect(uri, ssl=server.context, open_timeout=60, max_size=None, ping_interval=None) as connection:
            assert connection.response_headers["x-request-port"] == str(server.ports[0])
            for message in ("text \u00e4", b"\x00\xff", "", b"x" * 200_000):
                await connection.send(message)
                assert await connection.recv() == message
            await asyncio.wait_for(await connection.ping(b"are you there"), 10)
            await connection.send(["in ", "two"])
            assert await connection.recv() == "in two"
        assert connection.close_code == 1000

    asyncio.run(talk())


def test_graceful_end_lets_a_request_in_progress_be_answered(server):
    with dial(server.ports[0], tls=server.context) as busy, dial(server.ports[1], tls=server.context) as idle, \
            http2.dial(server.ports[0], tls=server.secure) as multiplexed:
        idle.send(request())
        idle.read_response()
        busy.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert busy.read_head().status == 100
        stream = multiplexed.ask("POST", end=False)
        multiplexed.wait_for(lambda: multiplexed.settings_acknowledged)
        server.terminate()
        assert idle.read_to_end() == b""
        multiplexed.wait_for(lambda: multiplexed.goaway is not None)
        busy.send(b"done")
        answer = busy.read_response()
        assert answer.status == 200 and answer.get("Connection") == "close"
        assert busy.read_to_end() == b""
        multiplexed.send_body(stream, b"done", end=True)
        assert multiplexed.answer(stream).status == 200
        multiplexed.read_to_end()
        assert server.end() == 0


def test_garbage_is_refused_and_the_others_do_not_notice(server):
    if not server.secure:
        with dial(server.ports[0]) as stream:
            stream.send(b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n")
            assert stream.read_response().status == 400
            assert stream.is_closed()
    else:
        with dial(server.ports[0]) as stream:
            stream.send(b"this is no handshake\r\n\r\n")
            with pytest.raises((Closed, ConnectionError)):
                stream.read(1000)
    assert ask(server, server.ports[0]).status == 200


def test_response_overrides_the_body_and_flags_mirror_the_variables(tmp_path):
    port = PORTS.take()
    with CanaryServer(tmp_path, "--port", str(port), "--pod", "by-flag", RESPONSE="all is well", PORT="1", POD_NAME="by-variable") as server:
        assert server.ports[0] == port
        with dial(port) as stream:
            stream.send(request())
            answer = stream.read_response()
        assert answer.body == b"all is well\n" and answer.get("Ebbgate-Canary-Pod") == "by-flag"


def test_tls_version(tmp_path, certificates):
    import ssl
    pair = certificates("localhost", "ecdsa", "localhost")
    files = {"TLS_CERT": pair["cert"], "TLS_KEY": pair["key"]}
    old = trusting_context(maximum_version=ssl.TLSVersion.TLSv1_2)
    with CanaryServer(tmp_path, TLS_MIN_VERSION="VersionTLS13", **files) as server:
        with pytest.raises(ssl.SSLError):
            dial(server.ports[0], tls=old)
        dial(server.ports[0], tls=trusting_context()).close()
    with CanaryServer(tmp_path, TLS_MIN_VERSION="nonsense", TLS_CIPHERS="X", **files) as server:
        assert "nonsense" in server.text() and "TLS_CIPHERS" in server.text()
        dial(server.ports[0], tls=old).close()


@pytest.mark.parametrize("variables, words", [
    ({"TLS_CERT": "/nowhere.pem"}, "--tls-key"),
    ({"TLS_CERT": "/nowhere.pem", "TLS_KEY": "/nowhere.key"}, "/nowhere.pem"),
])
def test_what_cannot_be_served_is_told(variables, words):
    done = subprocess.run([BINARY, "canary", "serve"], env={"PORT": "0", "SECOND_PORT": "0", **variables},
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and words in done.stderr


def test_a_port_that_is_taken_is_told(tmp_path):
    with CanaryServer(tmp_path) as server:
        done = subprocess.run([BINARY, "canary", "serve", "--port", str(server.ports[0])], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "in use" in done.stderr


def half_asked(server, sent):
    """Behind the requests comes half of a KeyUpdate: until the rest has come, TLS sends no answer."""
    peer = RawTls(socket.create_connection(("127.0.0.1", server.ports[0]))).shake_hands()
    peer.send(peer.record(APPLICATION_DATA, sent) + peer.record(HANDSHAKE, key_update()[:4]))
    return peer


def send_the_rest(peer):
    peer.send_record(HANDSHAKE, key_update()[4:])
    peer.out.update()


@pytest.fixture
def secured(tmp_path, certificates):
    pair = certificates("localhost", "ecdsa", "localhost")
    with CanaryServer(tmp_path, TLS_CERT=pair["cert"], TLS_KEY=pair["key"]) as one:
        one.context = trusting_context()
        yield one


@pytest.mark.parametrize("last", [False, True], ids=["kept", "close"])
def test_an_answer_waits_for_the_rest_of_a_tls_message(secured, last):
    with half_asked(secured, request(**{"Connection": "close"} if last else {})) as peer:
        assert ask(secured, secured.ports[0]).body == BODY  # by the same thread: so that the half has been read
        send_the_rest(peer)
        peer.read_until(BODY)
        if last:
            while peer.next_record() is not None:
                pass
        else:
            peer.write(request())
            peer.read_until(BODY)


def test_answers_that_wait_for_tls_messages_do_not_pile_up(secured):
    """Each segment has the rest of one message, many requests, and half of the next."""
    asked = request() * (4000 // len(request()))
    with half_asked(secured, asked) as peer, dial(secured.ports[0]) as beside:
        with pytest.raises(OSError):
            for _ in range(400):
                beside.send(request())
                assert beside.read_response().body == BODY  # by the same thread: so that each segment is read alone
                rest = peer.record(HANDSHAKE, key_update()[4:])
                peer.out.update()
                peer.send(rest + peer.record(APPLICATION_DATA, asked) + peer.record(HANDSHAKE, key_update()[:4]))
    assert ask(secured, secured.ports[0]).body == BODY


def test_a_client_that_leaves_before_it_has_said_anything_leaves_nothing_behind(secured):
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", secured.ports[0]), timeout=60) as client:
            client.shutdown(socket.SHUT_WR)
            while client.recv(4096):
                pass
    assert ask(secured, secured.ports[0]).body == BODY
