"""The PROXY protocol, in from hops that are trusted and out to endpoints that want it, with HAProxy as the other side."""

import contextlib
import socket
import ssl
import struct
import subprocess
import threading

import pytest

import awkward
import http2
from http1 import PATIENCE, dial, request, trusting_context
from router import PORTS, configuration, wait_until
from router import backend as backend_of

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


def v1(source="192.0.2.7", port=4711):
    return f"PROXY TCP4 {source} 203.0.113.1 {port} 443\r\n".encode()


def v2(source="192.0.2.7", port=4711, more=b""):
    body = socket.inet_aton(source) + socket.inet_aton("203.0.113.1") + struct.pack("!HH", port, 443) + more
    return SIGNATURE + b"\x21\x11" + struct.pack("!H", len(body)) + body


LOCAL = SIGNATURE + b"\x20\x00\x00\x00"


@pytest.fixture
def behind_proxy(router, backend):
    service = backend(awkward.named("here"))
    settings = configuration(service.port)
    settings["listeners"][0]["proxy_protocol"] = {"from": ["127.0.0.0/8"]}
    return router(settings), service


@pytest.mark.parametrize("header,client", [(v1(), "192.0.2.7"), (v2(), "192.0.2.7"), (v2(more=b"\x04\x00\x01x"), "192.0.2.7"),
                                           (LOCAL, "127.0.0.1"), (b"PROXY UNKNOWN\r\n", "127.0.0.1")])
def test_the_client_is_whom_the_header_names(behind_proxy, header, client):
    one, service = behind_proxy
    with one.dial() as stream:
        stream.send(header + request())
        assert stream.read_response().body == b"here"
    assert service.requests[0].get("X-Forwarded-For") == client
    assert one.logged(status=200)["client"].startswith(client)


@pytest.mark.parametrize("header", [v1(), v2()])
def test_a_header_may_come_byte_by_byte(behind_proxy, header):
    one, service = behind_proxy
    with one.dial() as stream:
        for byte in header + request():
            stream.send(bytes([byte]))
        assert stream.read_response().body == b"here"
    assert service.requests[0].get("X-Forwarded-For") == "192.0.2.7"


@pytest.mark.parametrize("nonsense", [request(), b"PROXY TCP4 192.0.2.7\r\n", b"PROXY TCP5 1.1.1.1 1.1.1.1 1 1\r\n",
                                      SIGNATURE + b"\x31\x11\x00\x0c" + b"\x00" * 12])
def test_a_trusted_hop_without_a_good_header_is_cut(behind_proxy, nonsense):
    one, service = behind_proxy
    with one.dial() as stream:
        with pytest.raises(ConnectionResetError):
            stream.send(nonsense)
            while stream.receive():
                pass
            raise ConnectionResetError
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", cause="client_bad_proxy_header") == 1)
    assert not service.requests


def test_a_header_from_a_stranger_is_no_request(router, backend):
    service = backend(awkward.named("here"))
    settings = configuration(service.port)
    settings["listeners"][0]["proxy_protocol"] = {"from": ["192.0.2.0/24"]}
    one = router(settings)
    with one.dial() as stream:
        stream.send(v1() + request())
        assert stream.read_response().status == 400
    assert one.get().body == b"here"


def test_the_header_comes_before_tls(router, backend, certificates):
    service = backend(awkward.named("here"))
    settings = configuration(service.port)
    settings["listeners"][0].update(protocol="https", certificates=[certificates("localhost", "ecdsa", "localhost")],
                                    proxy_protocol={"from": ["127.0.0.1"]})
    one = router(settings)
    connection = socket.create_connection(("127.0.0.1", one.port()), timeout=PATIENCE)
    connection.sendall(v2())
    with trusting_context().wrap_socket(connection, server_hostname="localhost") as secure:
        secure.sendall(request(Connection="close"))
        assert b"here" in secure.recv(65536)
    assert service.requests[0].get("X-Forwarded-For") == "192.0.2.7"


HAPROXY = """
global
  maxconn 100
defaults
  timeout connect 5s
  timeout client 10s
  timeout server 10s
{rest}
"""


@pytest.fixture
def haproxy(tmp_path):
    processes = []

    def start(port, rest):
        file = tmp_path / f"haproxy-{port}.cfg"
        file.write_text(HAPROXY.format(rest=rest))
        process = subprocess.Popen(["haproxy", "-db", "-f", file], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes.append(process)

        def listening():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_until(listening, what="HAProxy")

    yield start
    for process in processes:
        process.terminate()
        process.wait(timeout=PATIENCE)


@pytest.mark.parametrize("option", ["send-proxy", "send-proxy-v2"])
def test_haproxy_before_us_tells_who_the_client_is(behind_proxy, haproxy, option):
    one, service = behind_proxy
    port = PORTS.take()
    haproxy(port, f"listen through\n  mode tcp\n  bind 127.0.0.1:{port}\n  server us 127.0.0.1:{one.port()} {option}")
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        address = client.getsockname()
        client.sendall(request(Connection="close"))
        assert b"here" in client.recv(65536)
    assert one.logged(status=200)["client"] == f"127.0.0.1:{address[1]}"


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("mode", ["http", "tcp"])
def test_haproxy_behind_us_learns_who_the_client_is(router, backend, haproxy, version, mode):
    service = backend(awkward.named("behind"))
    port = PORTS.take()
    haproxy(port, f"frontend in\n  mode http\n  option forwardfor header X-Seen\n  bind 127.0.0.1:{port} accept-proxy\n"
                  f"  http-request set-header X-Seen-Port %[src_port]\n  default_backend out\n"
                  f"backend out\n  mode http\n  server s 127.0.0.1:{service.port}")
    settings = configuration(port)
    settings["backends"][0]["proxy_protocol"] = version
    if mode == "tcp":
        settings["routes"] = []
        settings["listeners"][0].update(protocol="tcp", backend="service")
    one = router(settings)
    for _ in range(2):  # each client has its own connection: the header is about one client only
        with one.dial() as stream:
            mine = stream.socket.getsockname()[1]
            stream.send(request(Connection="close"))
            assert stream.read_response().body == b"behind"
        assert service.requests[-1].get("X-Seen-Port") == str(mine)


@pytest.mark.parametrize("protocol", ["h2c", "h2", "auto"])
def test_each_request_to_an_http2_endpoint_has_its_own_clients_header(router, backend, certificates, protocol):
    """Three clients ask at once. What an endpoint hears on a connection is the request of the client that the header names, and
    no other; the connection ends with it."""
    pair, together = certificates("again", "ecdsa", "again.internal"), threading.Barrier(3)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair["cert"], pair["key"])
    context.set_alpn_protocols(["h2"])

    def serve(stream, known):
        header = b""
        while not header.endswith(b"\r\n"):  # not a byte more: what follows belongs to TLS
            header += stream.socket.recv(1)
        together.wait(PATIENCE)  # all three wait for a connection before the first of them is there
        connection = stream.socket if protocol == "h2c" else context.wrap_socket(stream.socket, server_side=True)
        peer = http2.Peer(connection, client=False)
        peer.wait_for(lambda: any(half.whole for half in peer.halves.values()))
        for half in list(peer.halves.values()):
            known.requests.append((header.split()[2].decode(), half.get("x-forwarded-for")))
            http2.reply(peer, half, b"fine")
        peer.read_to_end()
        known.requests.append("closed")
        if connection is not stream.socket:
            connection.close()

    service = backend(serve)
    # The time to connect includes the handshake, which each of the three begins when all are there.
    settings = configuration(backends=[backend_of(service.port, protocol=protocol, proxy_protocol="v1", timeouts={"connect": "1m"})])
    settings["listeners"][0]["proxy_protocol"] = {"from": ["127.0.0.0/8"]}
    if protocol != "h2c":
        settings["backends"][0]["tls"] = {"ca": pair["cert"], "name": "again.internal"}
        settings["routes"][0]["tls"] = "reencrypt"
    one = router(settings)
    with contextlib.ExitStack() as stack:
        clients = {f"192.0.2.{number}": stack.enter_context(one.dial()) for number in (1, 2, 3)}
        for source, client in clients.items():
            client.send(v1(source) + request())
        for client in clients.values():
            assert client.read_response().body == b"fine"
    wait_until(lambda: service.requests.count("closed") == 3, what="the end of three connections")
    named = [seen for seen in service.requests if seen != "closed"]
    assert sorted(named) == [(source, source) for source in sorted(clients)]
