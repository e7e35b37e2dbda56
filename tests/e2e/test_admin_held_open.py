"""Connections of the admin listener and the runtime socket that are only held open take neither away from others."""

import contextlib
import resource
import socket
import subprocess
import threading

import pytest

import awkward
from http1 import PATIENCE, Stream, request, response, trusting_context
from raw_tls import APPLICATION_DATA, HANDSHAKE, RawTls, key_update
from router import BINARY, PORTS, configuration, healthz, wait_until

CONNECTIONS_MAX, PER_ADDRESS_MAX, RUNTIME_MAX = 1024 + 32, 256, 64


@pytest.fixture
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def gate(router, backend, tmp_path):
    one = router(configuration(backend(awkward.named("a")).port, runtime=str(tmp_path / "gate.sock")))
    one.socket = str(tmp_path / "gate.sock")
    return one


def dial_from(address, port):
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", port))
    return connection


def ask_from(address, port, target):
    with Stream(dial_from(address, port)) as stream:
        stream.send(request(target=target, host="localhost", Connection="close"))
        return stream.read_response()


def hold(held, one, address, sent):
    """One more connection that is answered, if anything was `sent`, and left alone."""
    stream = held.enter_context(Stream(dial_from(address, one.admin)))
    stream.send(sent)
    if sent.endswith(b"\r\n\r\n"):
        assert stream.read_response().status == 200


def served(one, address):
    answers = [healthz(lambda: ask_from(address, one.admin, "/healthz")), *(ask_from(address, one.admin, target) for target in ("/readyz", "/api/v1/config"))]
    return [answer.status for answer in answers]


GET_HEALTH = request(target="/healthz", host="localhost")
GET_READY = request(target="/readyz", host="localhost")  # unlike the other it has no time limit


@pytest.mark.parametrize("sent", [GET_READY, b"", b"GET /healthz HTT"], ids=["idle", "silent", "half"])
def test_connections_of_many_addresses_make_room(gate, many_descriptors, sent):
    with contextlib.ExitStack() as held:
        for number in range(CONNECTIONS_MAX + 100):
            hold(held, gate, f"127.0.0.{2 + number // 200}", sent)
        for _ in range(5):
            assert served(gate, "127.0.0.99") == [200, 200, 200]


def test_connections_of_one_address_make_room_for_that_address(gate, many_descriptors):
    with contextlib.ExitStack() as held:
        for _ in range(PER_ADDRESS_MAX + 40):
            hold(held, gate, "127.0.0.2", GET_READY)
        for _ in range(5):
            assert served(gate, "127.0.0.2") == [200, 200, 200]


@pytest.mark.parametrize("sent, reply", [(b"", b""), (b"show ba", b""), (b"prompt\n", b"\n> ")], ids=["silent", "half", "prompt"])
def test_connections_of_the_runtime_socket_make_room(gate, sent, reply):
    with contextlib.ExitStack() as held:
        for _ in range(RUNTIME_MAX + 6):
            connection = held.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(PATIENCE)
            connection.connect(gate.socket)
            connection.sendall(sent)
            assert connection.recv(len(reply), socket.MSG_WAITALL) == reply
        for _ in range(5):
            ended = subprocess.run([BINARY, "ctl", "-s", gate.socket, "show", "backend"], capture_output=True, text=True, timeout=PATIENCE)
            assert (ended.returncode, ended.stdout) == (0, "# name\nservice\n\n"), ended


@pytest.fixture
def secured(router, backend, tmp_path, certificates):
    """Its admin listener speaks TLS and wants a token."""
    (tmp_path / "token").write_text("0123456789abcdef")
    pair = certificates("localhost", "ecdsa", "localhost")
    admin = {"bind": f"127.0.0.1:{PORTS.take()}", "token_file": str(tmp_path / "token"), "tls": pair}
    return router(configuration(backend(awkward.named("a")).port, admin=admin), admin_tls=trusting_context())


def ask_in_half(one, sent, address="127.0.0.1"):
    """Requests, and behind them the first half of a KeyUpdate: until the rest has come, TLS sends no answer."""
    peer = RawTls(dial_from(address, one.admin)).shake_hands()
    peer.send(peer.record(APPLICATION_DATA, sent) + peer.record(HANDSHAKE, key_update()[:4]))
    return peer


def send_the_rest(peer):
    peer.send_record(HANDSHAKE, key_update()[4:])
    peer.out.update()


@pytest.mark.parametrize("target, status", [("/healthz", b"200"), ("/api/v1/config", b"401"), ("/none", b"401")])
@pytest.mark.parametrize("last", [False, True], ids=["kept", "close"])
def test_an_answer_waits_for_the_rest_of_a_tls_message(secured, target, status, last):
    with ask_in_half(secured, request(target=target, host="localhost", **{"Connection": "close"} if last else {})) as peer:
        assert served_with_token(secured) == [200, 200]  # by the same thread: so that the half has been read
        send_the_rest(peer)
        peer.read_until(b"HTTP/1.1 " + status)
        if status == b"200" and not last:
            peer.write(GET_READY)
            peer.read_until(b"HTTP/1.1 200")
        else:
            while peer.next_record() is not None:
                pass


def served_with_token(one):
    return [one.health().status, one.ask_admin("/api/v1/config").status]


PIPELINED = 300


@pytest.mark.slow  # so that no sanitizer keeps what was freed
def test_pipelined_requests_wait_too(secured):
    """Else all their answers would be kept at once, megabytes of them for each connection."""
    asked = request(target="/web/paths.js", host="localhost")
    size = len(secured.ask_admin("/web/paths.js").body)
    before = secured.rss_kib()
    with contextlib.ExitStack() as held:
        peers = [held.enter_context(ask_in_half(secured, asked * PIPELINED)) for _ in range(40)]
        wait_until(lambda: settled(secured), what="memory that stays as it is")
        assert (secured.rss_kib() - before) << 10 < 40 * PIPELINED * size // 2
        assert served_with_token(secured) == [200, 200]
        last = peers[-1]  # it has waited least: an answer may take 10 s
        send_the_rest(last)
        for _ in range(PIPELINED):
            last.read_until(b"HTTP/1.1 200")
        last.write(GET_READY)
        last.read_until(b"HTTP/1.1 200")


def settled(one):
    seen = set()
    for _ in range(10):
        seen.add(one.rss_kib())
        assert one.ask_admin("/readyz").status == 200
        threading.Event().wait(0.05)
    return max(seen) - min(seen) < 1024


def test_messages_that_are_never_whole_do_not_pile_up_requests(secured):
    """Each segment has the rest of one message, many requests, and half of the next."""
    asked = GET_HEALTH * (4000 // len(GET_HEALTH))
    with ask_in_half(secured, GET_HEALTH) as peer, RawTls(dial_from("127.0.0.1", secured.admin)).shake_hands() as beside:
        with pytest.raises(OSError):
            for _ in range(400):
                beside.write(GET_HEALTH)
                beside.read_until(b"HTTP/1.1 ")  # by the same threads: so that each segment is read alone
                rest = peer.record(HANDSHAKE, key_update()[4:])
                peer.out.update()
                peer.send(rest + peer.record(APPLICATION_DATA, asked) + peer.record(HANDSHAKE, key_update()[:4]))
    assert served_with_token(secured) == [200, 200]


def test_answers_that_wait_for_a_tls_message_make_room(secured, many_descriptors):
    with contextlib.ExitStack() as held:
        for _ in range(PER_ADDRESS_MAX + 10):
            held.enter_context(ask_in_half(secured, GET_HEALTH))
        for _ in range(5):
            assert served_with_token(secured) == [200, 200]


def test_callers_that_wait_for_drains_leave_health_to_their_address(router, backend, many_descriptors):
    """An agent, a proxy or a test that waits for all its drains at once may be where the probes come from."""
    slow = backend(awkward.answering_late(response(b"late")))
    one = router(configuration(slow.port))
    drain = request("POST", "/api/v1/drains?wait=30s", "localhost", b'{"endpoint": "service/e0"}')
    with contextlib.ExitStack() as held:
        client = held.enter_context(one.dial())
        client.send(request())
        slow.wait_for_requests(1)
        waiting = [held.enter_context(Stream(dial_from("127.0.0.1", one.admin))) for _ in range(PER_ADDRESS_MAX)]
        for each in waiting:
            each.send(drain)
        assert served(one, "127.0.0.2") == [200, 200, 200]  # others have their own part; by now all those are being served
        for _ in range(40):
            assert [one.health().status, one.ask_admin("/readyz").status] == [200, 200]
        assert one.ask_admin("/api/v1/config").status == 503
        slow.released.set()
        assert client.read_response().body == b"late"
        assert {each.read_response().status for each in waiting} == {200, 201}
        assert one.ask_admin("/api/v1/config").status == 200
