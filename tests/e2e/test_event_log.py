"""What the router tells its operator about endpoints, line by line."""

import shlex
import socket
import threading

import pytest

import awkward
from admin_client import Api
from http1 import request, response
from router import backend as backend_of
from router import configuration, wait_until


def events(one, name):
    """The lines of that event, each as a dictionary."""
    lines = [dict(word.split("=", 1) for word in shlex.split(line)) for line in one.error_text().splitlines() if line.startswith("time=")]
    return [line for line in lines if line["event"] == name]


def event(one, name, **fields):
    return wait_until(lambda: next((line for line in events(one, name) if all(line.get(key) == value for key, value in fields.items())), None),
                      15, f"a line {name} with {fields}, in {one.error_text()},")


def test_each_verdict_is_told_once(router):
    with socket.socket() as service:
        service.bind(("127.0.0.1", 0))  # refuses until it listens
        port = service.getsockname()[1]
        one = router(configuration(port, workers=2, backends=[backend_of(port, queue={"timeout": "100ms"})]))
        for _ in range(4):  # by whichever worker they come in
            assert one.get().status in (502, 503)
        line = event(one, "endpoint_health", to="down")
        assert line["backend"] == "service" and line["endpoint"] == "e0" and line["address"] == f"127.0.0.1:{port}"
        assert line["from"] == "up" and line["cause"] == "backend_refused" and line["level"] == "warning"
        assert line["condemned"] == "false" and line["ejected"] == "false" and int(line["lasted_ms"]) >= 0
        service.listen()
        back = event(one, "endpoint_health", to="up")
        assert back["from"] == "down" and back["cause"] == "backend_refused" and back["level"] == "info"
        assert len(events(one, "endpoint_health")) == one.metric("ebbgate_endpoint_verdicts_total") == 2


def test_ejection_is_told_as_such(router, backend):
    services = [backend(awkward.answering(lambda _: response(b"no", "500 Internal Server Error"))), backend(awkward.named("well"))]
    one = router(configuration(*(service.port for service in services)))
    for _ in range(20):
        one.get()
    line = event(one, "endpoint_health", to="down", ejected="true")
    assert line["cause"] == "backend_failing" and line["condemned"] == "false"


@pytest.mark.parametrize("apart", [True, False], ids=["two routes", "one route"])
def test_routes_with_the_same_paths_are_compared_apart(router, backend, apart):
    """One endpoint gets what fails everywhere, its sibling what never does. By method and path they look the same."""
    serve = awkward.answering(lambda asked: response(b"no", "500 Internal Server Error") if asked.get("Host") == "fails.test" else response())
    routes = [{"name": "fails", "host": "fails.test", "backend": "service"}, {"name": "works", "host": "works.test", "backend": "service"}]
    backends = [backend_of(backend(serve).port, backend(serve).port, balance="round_robin")]
    one = router(configuration(backends=backends, routes=routes if apart else [{"name": "all", "backend": "service"}]))
    ejected = lambda: one.metric("ebbgate_endpoint_verdicts_total")  # noqa: E731
    for _ in range(30):
        for host, status in (("fails.test", 500), ("works.test", 200)):
            with one.dial() as client:
                client.send(request(target="/x/y", host=host, Connection="close"))
                assert client.read_response().status == status
        if ejected():
            break
    assert bool(ejected()) != apart


def test_a_drain_is_told_from_its_begin_to_its_end(router, backend):
    release = threading.Event()

    def slow(stream, _):
        stream.read_request()
        release.wait(60)
        stream.send(response(b"done"))

    one = router(configuration(backend(slow).port, workers=2))
    api = Api(one.admin)
    with one.dial() as client:
        client.send(request())
        wait_until(lambda: api.endpoint("e0")["in_flight"]["total"] == 1)
        assert api.call("PATCH", "/api/v1/backends/service/endpoints/e0", {"wish": "drain"})[0] == 200
        line = event(one, "endpoint_draining", backend="service", endpoint="e0", why="drain")
        assert line["level"] == "info"
        assert events(one, "endpoint_drained") == []
        release.set()
        assert client.read_response().status == 200
    drained = event(one, "endpoint_drained", backend="service", endpoint="e0", why="drain")
    assert int(drained["took_ms"]) >= 0
    assert api.call("PATCH", "/api/v1/backends/service/endpoints/e0", {"wish": "ready"})[0] == 200
    event(one, "endpoint_ready", backend="service", endpoint="e0")

    one.change(backends=[{"name": "service", "endpoints": []}])
    event(one, "endpoint_draining", endpoint="e0", why="gone")
    event(one, "endpoint_drained", endpoint="e0", why="gone")
    assert [len(events(one, name)) for name in ("endpoint_draining", "endpoint_drained", "endpoint_ready")] == [2, 2, 1]
