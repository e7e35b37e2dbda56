"""The router's own book against the kernel's, while everything is in use."""

import concurrent.futures
import contextlib
import socket
import threading
import time

import awkward
import curl
from admin_client import Api, runtime
from http1 import PATIENCE, request
from router import PORTS, configuration, endpoint, wait_until
from test_tunnels import upgraded
from test_udp import echo, udp_port  # noqa: F401 (a fixture)

AUDITED = {"audit": {"every": "1s"}}


def runs(one):
    return one.metric("ebbgate_audit_runs_total", outcome="complete")


def hit_and_run(port, stop):
    """Connections that come and go: whole requests, halves of them, and nothing at all."""
    while not stop.is_set():
        for sent in (request(Connection="close"), b"GET / HT", b""):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
                client.sendall(sent)
                if sent.endswith(b"\r\n\r\n"):
                    client.recv(65536)


def load_http2(port, stop):
    while not stop.is_set():
        curl.ask(port, "/small", version="2")


def test_nothing_differs_while_everything_is_in_use(router, backend, nginx, echo, tmp_path):  # noqa: F811
    upgrades, datagrams = backend(awkward.upgrading()), echo("e")
    (nginx.files / "large").write_bytes(b"x" * (8 << 20))
    settings = configuration(nginx.port, workers=2, runtime=str(tmp_path / "runtime.sock"), **AUDITED)
    settings["listeners"].append({"name": "datagrams", "bind": f"127.0.0.1:{udp_port()}", "protocol": "udp", "backend": "datagrams"})
    settings["routes"].insert(0, {"name": "chat", "path": "/chat", "backend": "chat"})
    settings["backends"] += [{"name": "chat", "endpoints": [endpoint(upgrades.port)]},
                             {"name": "datagrams", "endpoints": [endpoint(datagrams.port)]},
                             {"name": "refusing", "queue": {"timeout": "100ms"}, "endpoints": [endpoint(PORTS.take())]}]
    settings["routes"].insert(0, {"name": "refused", "path": "/refused", "backend": "refusing"})
    settings["timeouts"] = {"client_head": "1s"}
    one = router(settings)
    api, stop = Api(one.admin), threading.Event()
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(8) as pool:
        stack.callback(stop.set)
        tunnels = [stack.enter_context(upgraded(one)) for _ in range(5)]
        flows = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(5)]
        for flow in flows:
            flow.sendto(b"ping", ("127.0.0.1", one.port("datagrams")))
        tasks = [pool.submit(hit_and_run, one.port(), stop) for _ in range(2)] + [pool.submit(load_http2, one.port(), stop)]
        tasks.append(pool.submit(lambda: [one.get("/large") for _ in iter(stop.is_set, True)]))
        tasks.append(pool.submit(lambda: [one.get("/refused") for _ in iter(stop.is_set, True)]))
        kinds, first, deadline = set(), runs(one), time.monotonic() + 2 * PATIENCE
        while runs(one) < first + 4:
            assert time.monotonic() < deadline, "the audit does not run"
            report = api.get("/api/v1/audit")
            assert report["differences"] == [] and report["differences_total"] == 0, report
            kinds |= {kind for kind, count in report["held"].items() if count > 0}
            runtime(tmp_path / "runtime.sock", "show info")
            for client in tunnels:
                client.send(b"x")
                assert client.read(1) == b"x"
            time.sleep(0.1)
        stop.set()
        for task in tasks:
            task.result(timeout=PATIENCE)
    assert {"own", "listener", "client", "tunnel", "backend", "flow", "admin", "runtime", "log", "watch", "inherited"} <= kinds, kinds
    assert one.metric("ebbgate_audit_differences") == 0 and one.metric("ebbgate_audit_runs_total", outcome="incomplete") == 0
    assert "event=audit" not in one.error_text()


def test_all_that_is_held_is_all_that_is_open(router, nginx):
    one = router(configuration(nginx.port, **AUDITED))
    api = Api(one.admin)
    clients = [one.dial() for _ in range(20)]
    wait_until(lambda: api.get("/api/v1/audit")["held"]["client"] == 20, what="twenty clients in the book")
    report = api.get("/api/v1/audit")
    # A file may be open in passing.
    assert report["open"] - sum(report["held"].values()) in (0, 1), report
    for client in clients:
        client.close()
    wait_until(lambda: api.get("/api/v1/audit")["held"]["client"] == 0, what="no client in the book")
    assert one.metric("ebbgate_audit_differences") == 0


def test_it_can_be_switched_off(router, nginx):
    one = router(configuration(nginx.port, audit={"every": "0s"}))
    assert Api(one.admin).get("/api/v1/audit")["every_ms"] == 0
