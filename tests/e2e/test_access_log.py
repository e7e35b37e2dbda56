"""The access log: what ended before it was a request, what was no request at all, and what the router itself has answered."""

import contextlib
import ssl

import pytest

import awkward
import http2
from http1 import dial, request, response, trusting_context
from router import PORTS, configuration, endpoint, wait_until


@pytest.fixture
def secure(backend, certificates):
    """edge.test ends here, through.test is passed through, others are refused; a `tcp` listener beside."""
    def served_once(name):
        def serve(stream, _):
            stream.read_request()
            stream.send(response(name, Connection="close"))
            stream.close()

        return serve

    service = backend(served_once(b"service"))
    settings = configuration(service.port)
    settings["listeners"][0].update(protocol="https", certificates=[certificates("front", "ecdsa", "edge.test")])
    settings["listeners"] += [{"name": "raw", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "tls-passthrough"},
                              {"name": "bytes", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "tcp", "backend": "service"}]
    settings["routes"] = [{"name": "edge", "host": "edge.test", "backend": "service"},
                          {"name": "through", "host": "through.test", "backend": "through", "tls": "passthrough"}]

    def passed_through(stream, _):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pair = certificates("through", "ecdsa", "through.test")
        context.load_cert_chain(pair["cert"], pair["key"])
        stream.socket = context.wrap_socket(stream.socket, server_side=True)
        served_once(b"through")(stream, _)

    settings["backends"].append({"name": "through", "endpoints": [endpoint(backend(passed_through).port)]})
    return settings


def test_a_handshake_that_fails_has_a_line(router, secure):
    one = router(secure)
    with dial(one.port()) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: edge.test\r\n\r\n")
        client.read_to_end()
        address = "%s:%d" % client.socket.getsockname()
    line = one.logged(cause="client_tls_failed", client=address)
    expected = {"listener": "web", "protocol": "TLS", "fault": "client", "status": 0, "method": "", "target": "", "authority": "", "tries": 0,
                "endpoint_address": "", "until_backend_ms": None, "until_response_ms": None}
    assert {key: line[key] for key in expected} == expected and line["total_ms"] >= 0
    # One who does not trust us says so; the name that was asked for is known.
    with pytest.raises(ssl.SSLError), dial(one.port(), tls=ssl.create_default_context(), name="edge.test") as client:
        client.send(request(host="edge.test"))
        client.read_response()
    assert one.logged(cause="client_tls_failed", authority="edge.test")["protocol"] == "TLS"


def test_a_handshake_for_a_name_that_nobody_serves_has_a_line(router, secure):
    one = router(secure)
    with pytest.raises((ssl.SSLError, OSError)):
        dial(one.port("raw"), tls=trusting_context(), name="elsewhere.test").close()
    line = one.logged(cause="client_tls_name_refused")
    assert (line["listener"], line["protocol"], line["authority"]) == ("raw", "TLS", "elsewhere.test")


def test_a_connection_that_says_nothing_has_none(router, secure):
    """Checks of balancers, scans of ports: they are counted, and would fill the log."""
    one = router(secure)
    for listener in ("web", "raw"):
        dial(one.port(listener)).close()
    wait_until(lambda: one.metric("ebbgate_connections_closed_total", side="client") == 2, what="both ends")
    with dial(one.port(), tls=trusting_context(), name="edge.test") as client:
        client.send(request(host="edge.test", Connection="close"))
        assert client.read_response().status == 200
    one.logged(status=200)
    assert len(one.log()) == 1, one.log()


def test_what_is_passed_through_is_logged_by_its_name(router, secure):
    one = router(secure)
    for listener in ("web", "raw"):
        with dial(one.port(listener), tls=trusting_context(), name="through.test") as client:
            client.send(request(host="through.test", Connection="close"))
            assert client.read_response().body == b"through"
        line = one.logged(listener=listener)
        assert (line["protocol"], line["authority"], line["route"], line["backend"]) == ("TLS", "through.test", "through", "through")
        assert line["method"] == line["target"] == "" and line["bytes_sent"] > 0


def test_bytes_of_a_tcp_listener_are_logged_as_tcp(router, secure):
    one = router(secure)
    with dial(one.port("bytes")) as client:
        client.send(request(Connection="close"))
        assert client.read_response().body == b"service"
    line = one.logged(listener="bytes")
    assert (line["protocol"], line["authority"], line["endpoint"]) == ("TCP", "", "e0")


def test_endpoint_that_refused_is_named(router):
    port = PORTS.take()
    one = router(configuration(port))
    assert one.get().status in (502, 503)
    line = one.logged(cause="backend_refused")
    assert (line["endpoint"], line["endpoint_address"], line["until_backend_ms"]) == ("e0", f"127.0.0.1:{port}", None)
    assert line["tries"] >= 1


def test_bytes_of_answers_of_its_own_are_counted(router, backend):
    settings = configuration(backend(awkward.named("x")).port)
    settings["routes"] = [{"name": "moved", "path": "/moved", "redirect": {"path": "/there"}}, {"name": "shop", "host": "shop.test", "backend": "service"}]
    one = router(settings)
    for target, status in (("/none", 404), ("/moved", 302)):
        answer = one.get(target)
        assert answer.status == status
        assert one.logged(status=status)["bytes_sent"] == len(answer.body)
    with one.dial() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")
        body = client.read_response().body
    assert body and one.logged(status=400)["bytes_sent"] == len(body)
    with one.dial() as client:
        client.send(request("HEAD", "/none", host="nobody.test", Connection="close"))
        assert client.read_response("HEAD").status == 404
    assert one.logged(method="HEAD")["bytes_sent"] == 0


def test_bytes_of_answers_of_its_own_are_counted_over_http_2(router, backend):
    settings = configuration(backend(awkward.named("x")).port)
    settings["routes"] = [{"name": "moved", "path": "/moved", "redirect": {"path": "/there"}}, {"name": "shop", "host": "shop.test", "backend": "service"}]
    one = router(settings)
    with http2.dial(one.port()) as client:
        for target, status in (("/none", 404), ("/moved", 302)):
            answer = client.get(target=target)
            assert answer.status == status
            line = one.logged(status=status)
            assert (line["bytes_sent"], line["protocol"]) == (len(answer.body), "HTTP/2")
        assert client.get("HEAD", "/none").status == 404
        assert one.logged(method="HEAD")["bytes_sent"] == 0


@pytest.mark.parametrize("looks", [True, False], ids=["looks at names", "does not"])
def test_a_handshake_that_takes_too_long_has_a_line(router, secure, looks):
    """Also where the name is looked at first, because it may belong to a route that passes TLS through."""
    if not looks:
        secure["routes"].pop()
        secure["listeners"] = secure["listeners"][:1]
    one = router(secure | {"timeouts": {"tls_handshake": "200ms"}})
    with contextlib.ExitStack() as stack:
        with one.stopped():  # so that it finds these bytes in time, however late we are
            client, silent = (stack.enter_context(dial(one.port())) for _ in range(2))
            client.send(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello
        client.read_to_end()
        silent.read_to_end()
        address = "%s:%d" % client.socket.getsockname()
    line = one.logged(cause="client_tls_timeout")
    assert (line["client"], line["listener"], line["protocol"], line["fault"], line["status"]) == (address, "web", "TLS", "client", 0)
    assert line["total_ms"] >= 200
    assert one.metric("ebbgate_connections_closed_total", side="client", cause="client_tls_timeout") == 2
    assert [line["cause"] for line in one.log()] == ["client_tls_timeout"], "silence has none"
