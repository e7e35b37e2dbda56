"""The admin API: what is there, changes that last, connections, and who is let in."""

import json
import socket
import ssl
import struct
import subprocess
import time

import pytest

import awkward
from admin_client import Api
from http1 import request, response
from router import BINARY, PORTS, backend as backend_of, configuration, wait_until


def test_endpoints_are_counted_and_changed(router, backend):
    services = [backend(awkward.named(name)) for name in "ab"]
    one = router(configuration(*(service.port for service in services), workers=2))
    api = Api(one.admin)
    for _ in range(20):
        one.get()
    backends = api.get("/api/v1/backends")["backends"]
    assert [(known["name"], known["endpoints_total"], known["endpoints_ready"]) for known in backends] == [("service", 2, 2)]
    counters = [api.endpoint(name)["counters"] for name in ("e0", "e1")]
    assert sum(known["requests"] for known in counters) == 20
    assert sum(known["responses"]["2xx"] for known in counters) == 20

    path = "/api/v1/backends/service/endpoints/e0"
    status, body, _ = api.call("PATCH", path, {"wish": "maint"})
    assert (status, body["wish"]) == (200, "maint")
    assert {one.get().body for _ in range(10)} == {b"b"}
    assert api.call("DELETE", path)[0] == 204
    assert [known["name"] for known in api.get("/api/v1/endpoints")["endpoints"]] == ["e1"]
    status, body, _ = api.call("POST", "/api/v1/backends/service/endpoints", {"name": "new", "address": f"127.0.0.1:{services[0].port}"})
    assert (status, body["name"]) == (201, "new")
    assert {one.get().body for _ in range(10)} == {b"a", b"b"}


def test_changes_outlive_new_configurations_until_these_say_something_else(router, backend):
    service = backend(awkward.named("a"))
    one = router(configuration(service.port))
    api = Api(one.admin)
    api.call("PATCH", "/api/v1/backends/service/endpoints/e0", {"wish": "drain", "weight": 7})

    def apply(**change):
        generation = api.get("/api/v1/config")["generation"]
        known = backend_of(service.port)
        known["endpoints"][0].update(change)
        one.change(backends=[known], timeouts={"client_idle": f"{generation + 10}s"})
        wait_until(lambda: api.get("/api/v1/config")["generation"] > generation, what="the new configuration")
        endpoint = api.endpoint("e0")
        return endpoint["wish"], endpoint["weight"]

    assert apply() == ("drain", 7)
    assert apply(weight=3) == ("drain", 3)
    assert apply(weight=3, state="maint") == ("maint", 3)
    assert apply(weight=3) == ("ready", 3)


def test_connections_are_listed_and_cut(router, backend):
    service = backend(awkward.answering_late(response(b"late")))
    one = router(configuration(service.port))
    api = Api(one.admin)
    with one.dial() as busy, one.dial() as idle:
        busy.send(request())
        service.wait_for_requests(1)
        serving = wait_until(lambda: api.get("/api/v1/connections?backend=service&endpoint=e0&state=serving")["connections"], what="the connection")
        assert serving[0]["exchanges"][0]["endpoint"] == "e0"
        assert wait_until(lambda: api.get("/api/v1/connections?client=127.0.0.1&idle_for=10ms")["connections"], what="the idle one")
        assert api.get("/api/v1/connections?client=127.0.0.9")["connections"] == []
        assert api.call("DELETE", f"/api/v1/connections/{serving[0]['id']}")[0] == 204
        with pytest.raises(Exception):
            busy.read_response()
        assert api.call("DELETE", f"/api/v1/connections/{serving[0]['id']}")[0] == 404
        idle.send(request())
        service.released.set()
        assert idle.read_response().body == b"late"
    one.logged(cause="operator_ended")


def test_every_documented_path_answers(router, backend):
    one = router(configuration(backend(awkward.named("a")).port))
    api = Api(one.admin)
    document = api.get("/api/v1/openapi.json")
    assert document["openapi"].startswith("3.1")
    for path, methods in document["paths"].items():
        concrete = path.replace("{backend}", "service").replace("{endpoint}", "none").replace("{id}", "none")
        for method in methods.keys() - {"parameters"}:
            status = api.call(method.upper(), concrete)[0]
            assert status in (200, 400, 404), (method, path, status)
            assert str(status) in methods[method]["responses"], (method, path, status)


def test_token_is_asked_for(router, backend, tmp_path):
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    port = PORTS.take()
    one = router(configuration(backend(awkward.named("a")).port) | {"admin": {"bind": f"0.0.0.0:{port}", "token_file": str(token)}})
    assert Api(port).call("GET", "/api/v1/endpoints")[0] == 401
    assert Api(port, "0123456789abcdeF").call("GET", "/metrics")[0] == 401
    assert Api(port, "0123456789abcdef").call("GET", "/api/v1/endpoints")[0] == 200
    assert Api(port).call("GET", "/readyz")[0] == 200
    ended = subprocess.run([BINARY, "drain", "--endpoint", "service/e0", "--routers", f"127.0.0.1:{port}", "--token-file", token], timeout=30)
    assert ended.returncode == 0
    assert one.process.poll() is None


def test_client_certificates_are_asked_for(router, backend, certificates):
    server, operator = certificates("admin", "ecdsa", "localhost"), certificates("operator", "ecdsa", "operator")
    context = ssl.create_default_context(cafile=server["cert"])
    context.load_cert_chain(operator["cert"], operator["key"])
    port = PORTS.take()
    admin = {"bind": f"0.0.0.0:{port}", "tls": {"cert": server["cert"], "key": server["key"], "client_ca": operator["cert"]}}
    one = router(configuration(backend(awkward.named("a")).port) | {"admin": admin}, admin_tls=context)
    assert one.ask_admin("/api/v1/endpoints").status == 200
    one.admin_tls = ssl.create_default_context(cafile=server["cert"])
    with pytest.raises(Exception):
        one.ask_admin("/api/v1/endpoints")
    one.admin_tls = context


def test_clients_that_leave_before_or_during_the_handshake_leave_nothing_behind(router, backend, certificates):
    server = certificates("admin", "ecdsa", "localhost")
    admin = {"bind": f"127.0.0.1:{PORTS.take()}", "tls": {"cert": server["cert"], "key": server["key"]}}
    one = router(configuration(backend(awkward.named("a")).port) | {"admin": admin},
                 admin_tls=ssl.create_default_context(cafile=server["cert"]))
    for said in (b"", b"\x16\x03\x01\x02\x00\x01"):  # nothing, and the beginning of a ClientHello
        with socket.create_connection(("127.0.0.1", one.admin), timeout=60) as client:
            client.sendall(said)
            client.shutdown(socket.SHUT_WR)
            while client.recv(4096):
                pass
        with socket.create_connection(("127.0.0.1", one.admin), timeout=60) as client:
            client.sendall(said)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # the close is a reset
    assert one.ask_admin("/api/v1/endpoints").status == 200
    assert one.metric("ebbgate_missing_transitions_total") == 0


@pytest.mark.parametrize("admin, words", [
    ({"bind": "0.0.0.0:9901"}, "add token_file"),
    ({"bind": "127.0.0.1:9901", "tls": {"cert": "a", "key": "b", "client_ka": "c"}}, "did you mean `client_ca`?"),
])
def test_openness_is_refused_with_a_remedy(tmp_path, admin, words):
    file = tmp_path / "ebbgate.yaml"
    file.write_text(json.dumps(configuration(1) | {"admin": admin}))
    ended = subprocess.run([BINARY, "check", "-c", file], capture_output=True, text=True, timeout=30)
    assert ended.returncode == 1 and words in ended.stderr, ended.stderr


def test_many_changes_at_once_are_cheap(router, backend):
    """200 changes a second over 1,000 backends, for a while, under load."""
    service = backend(awkward.named("a"))
    settings = configuration(service.port)
    settings["backends"] += [backend_of(service.port, name=f"b{number}") for number in range(1000)]
    one = router(settings)
    api = Api(one.admin)
    started = time.monotonic()
    for number in range(300):
        status, _, _ = api.call("PATCH", f"/api/v1/backends/b{number}/endpoints/e0", {"weight": number % 256 + 1})
        assert status == 200
        assert one.get().body == b"a"
    assert api.endpoint("e0", "b299")["weight"] == 44
    assert time.monotonic() - started < 60
