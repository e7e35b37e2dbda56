"""Drains: no new work, old work ends, and whoever waits is told at once."""

import contextlib
import json
import os
import resource
import socket
import statistics
import subprocess
import threading
import time

import pytest

import awkward
from admin_client import Api, timed
from http1 import request, response
from router import BINARY, PORTS, SANITIZED, backend as backend_of, configuration, promised, wait_until


def drain_command(one, *arguments, port=None):
    return subprocess.run([BINARY, "drain", "--routers", f"127.0.0.1:{port or one.admin}", *arguments], capture_output=True, text=True, timeout=60)


def released_after(service, seconds=0, asked=lambda: True):
    """When the last byte was let go: so long after the drain was asked for."""
    moment = []

    def release():
        wait_until(asked, what="the drain")
        time.sleep(seconds)
        moment.append(time.monotonic())
        service.released.set()

    thread = threading.Thread(target=release)
    thread.start()
    return thread, moment


@pytest.mark.prompt
@pytest.mark.parametrize("workers", [1, 2])
def test_receipt_comes_with_the_last_byte_and_other_endpoints_take_the_work(router, backend, workers):
    slow, other = backend(awkward.answering_late(response(b"slow"))), backend(awkward.named("other"))
    one = router(configuration(slow.port, workers=workers))
    api = Api(one.admin)
    with one.dial() as client:
        client.send(request())
        slow.wait_for_requests(1)
        one.change(backends=[backend_of(slow.port, other.port)])
        wait_until(lambda: len(api.get("/api/v1/endpoints")["endpoints"]) == 2, what="the second endpoint")
        identity = api.drain(f"127.0.0.1:{slow.port}")
        report = api.drain_state(identity)
        assert (report["state"], report["endpoints"][0]["in_flight"]["sent"]) == ("draining", 1)
        assert all(one.get().body == b"other" for _ in range(10))
        thread, moment = released_after(slow, 0.3)
        report = api.drain_state(identity, wait="30s")
        told = time.monotonic()
        thread.join()
        assert report["drained"], report
        assert client.read_response().body == b"slow"
        assert told - moment[0] < promised(0.1)
    assert api.endpoint("e0")["membership"] == "leaving"
    status, body, _ = api.call("DELETE", f"/api/v1/drains/{identity}")
    assert (status, body["state"]) == (200, "ended")
    assert api.endpoint("e0")["membership"] == "present"


@pytest.mark.prompt
def test_receipts_are_prompt(router, backend):
    """Of many drains in a row, each with one request in flight."""
    rounds = 20 if SANITIZED else 200
    gate = threading.Event()

    def serve(stream, owner):
        while True:
            owner.requests.append(stream.read_request())
            gate.wait(60)
            gate.clear()
            owner.moment = time.monotonic()
            stream.send(response(b"slow"))

    slow = backend(serve)
    one = router(configuration(slow.port, workers=2))
    api = Api(one.admin)
    delays = []
    with one.dial() as client:
        for turn in range(rounds):
            client.send(request())
            slow.wait_for_requests(turn + 1)
            identity = api.drain("service/e0")
            threading.Timer(0.02, gate.set).start()
            report = api.drain_state(identity, wait="30s")
            told = time.monotonic()
            assert report["drained"], report
            assert client.read_response().body == b"slow"
            delays.append(told - slow.moment)
            api.call("DELETE", f"/api/v1/drains/{identity}")
    assert sorted(delays)[int(0.99 * rounds) - 1] < promised(0.1), statistics.quantiles(delays, n=100)


def test_endpoint_that_is_the_last_still_serves_and_is_not_drained(router, backend):
    only = backend(awkward.answering_late(response(b"last")))
    one = router(configuration(only.port))
    api = Api(one.admin)
    identity = api.drain("service/e0")
    assert api.drain_state(identity, wait="5s")["drained"]
    with one.dial() as client:
        client.send(request())
        only.wait_for_requests(1)
        assert not api.drain_state(identity)["drained"]
        only.released.set()
        assert client.read_response().body == b"last"
        assert api.drain_state(identity, wait="5s")["drained"]


@pytest.mark.prompt
def test_command_waits_for_all_and_says_so(router, backend):
    slow, other = backend(awkward.answering_late(response(b"slow"))), backend(awkward.named("other"))
    one = router(configuration(slow.port))
    with one.dial() as client:
        client.send(request())
        slow.wait_for_requests(1)
        one.change(backends=[backend_of(slow.port, other.port)])
        wait_until(lambda: len(Api(one.admin).get("/api/v1/endpoints")["endpoints"]) == 2, what="the second endpoint")
        ended, took = timed(lambda: drain_command(one, "--endpoint", f"127.0.0.1:{slow.port}", "--timeout", "300ms"))
        assert ended.returncode == 3 and 0.3 <= took < promised(2), (ended, took)
        assert "1 sent" in ended.stderr
        ended = drain_command(one, "--endpoint", f"127.0.0.1:{slow.port}", "--timeout", "300ms", "--json")
        assert ended.returncode == 3 and not json.loads(ended.stdout)["drained"], ended
        thread, _ = released_after(slow, 0.3)
        ended = drain_command(one, "--endpoint", "service/e0", "--timeout", "30s", "--json")
        thread.join()
        assert ended.returncode == 0, ended
        assert json.loads(ended.stdout)["routers"] == [{"address": f"127.0.0.1:{one.admin}", "state": "drained", "words": ""}]
        assert client.read_response().body == b"slow"


def test_command_fails_where_nobody_answers_or_knows_the_endpoint(router, backend):
    one = router(configuration(backend(awkward.named("a")).port))
    ended = drain_command(one, "--endpoint", "10.9.9.9:80")
    assert ended.returncode == 1 and "there is no such endpoint" in ended.stderr, ended
    ended = drain_command(one, "--endpoint", "service/e0", "--timeout", "20s", port=PORTS.take())
    assert ended.returncode == 1 and "refused" in ended.stderr, ended
    assert drain_command(one).returncode == 2
    assert drain_command(one, "--self", "--endpoint", "a:1").returncode == 2


def test_routers_that_are_not_there_have_nothing_to_acknowledge(router, backend):
    one = router(configuration(backend(awkward.named("a")).port))
    nobody = f"127.0.0.1:{PORTS.take()}"
    command = [BINARY, "drain", "--endpoint", "service/e0", "--timeout", "10m", "--json", "--routers"]
    hasty = {**os.environ, "RES_OPTIONS": "timeout:1 attempts:1"}  # where no name server answers, that is not ours to wait for
    ended = subprocess.run([*command, f"{nobody},127.0.0.1:{one.admin},no-such-router.invalid:9902"], capture_output=True, text=True, timeout=60,
                           env=hasty)
    told = json.loads(ended.stdout)
    assert ended.returncode == 0 and told["drained"] and told["cut"] == 0, ended
    states = {each["address"]: each["state"] for each in told["routers"]}
    assert states[nobody] == "absent" and states[f"127.0.0.1:{one.admin}"] == "drained", states
    assert states["no-such-router.invalid:9902"] in ("absent", "failed"), states
    ended = subprocess.run([*command, nobody], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and not json.loads(ended.stdout)["drained"], ended


def test_router_that_accepts_and_does_not_answer_has_failed_after_three_seconds():
    """It is not waited for until the whole time of the drain is over."""
    asked_for, ended = [], threading.Event()

    def never_answer(listener):
        with listener.accept()[0] as connection:
            asked_for.append(connection.recv(65536))
            ended.wait()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=never_answer, args=[listener], daemon=True)
        thread.start()
        try:
            asked = drain_command(None, "--endpoint", "service/e0", "--timeout", "10m", "--json", port=listener.getsockname()[1])
        finally:
            ended.set()
        thread.join()
    assert asked_for[0].startswith(b"POST /api/v1/drains")
    assert asked.returncode == 1 and [each["state"] for each in json.loads(asked.stdout)["routers"]] == ["failed"], asked


def test_a_drain_that_cut_work_says_so(router, backend, tmp_path):
    slow = backend(awkward.answering_late(response(b"slow")))
    settings = configuration(slow.port) | {"runtime": str(tmp_path / "socket")}
    settings["backends"][0]["drain"] = {"deadline": "100ms"}
    one = router(settings)
    with one.dial() as client:
        client.send(request())
        slow.wait_for_requests(1)
        ended = drain_command(one, "--endpoint", "service/e0", "--timeout", "30s")
        assert ended.returncode == 4 and "drained: service/e0" in ended.stdout and "1 requests or tunnels were cut" in ended.stderr, ended
        ended = drain_command(one, "--endpoint", "service/e0", "--timeout", "30s", "--json")
        assert ended.returncode == 4 and json.loads(ended.stdout)["cut"] == 1 and json.loads(ended.stdout)["drained"], ended
    with one.dial() as client:
        Api(one.admin).call("DELETE", "/api/v1/drains/" + Api(one.admin).get("/api/v1/drains")["drains"][0]["id"])
        client.send(request())
        slow.wait_for_requests(2)
        ended = subprocess.run([BINARY, "ctl", "-s", tmp_path / "socket", "set server service/e0 state maint; wait 30s srv-removable service/e0"],
                               capture_output=True, text=True, timeout=60)
        assert "Done. 1 requests or tunnels were cut." in ended.stdout, ended
    ended = subprocess.run([BINARY, "ctl", "-s", tmp_path / "socket", "set server service/e0 state ready; set server service/e0 state maint; wait 30s srv-removable service/e0"],
                           capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip().endswith("Done."), ended


def test_endpoint_drains_itself_and_nothing_else(router, backend):
    """This test's own address is 127.0.0.1, that of the endpoint; the other one is at 127.0.0.2."""
    here = backend(awkward.named("here"))
    port = PORTS.take()
    settings = configuration(here.port)
    settings["backends"][0]["endpoints"].append({"name": "there", "address": "127.0.0.2:9"})
    admin = PORTS.take()
    one = router(settings | {"admin": {"bind": f"127.0.0.1:{admin}", "self_drain": f"127.0.0.1:{port}"}})
    ended = drain_command(one, "--self", "--timeout", "10s", port=port)
    assert ended.returncode == 0, ended
    api, own = Api(one.admin), Api(port)
    assert api.endpoint("e0")["membership"] == "leaving"
    assert api.endpoint("there")["membership"] == "present"
    assert own.call("POST", "/api/v1/drains", {"endpoint": "127.0.0.2:9"})[0] == 403
    assert own.call("POST", "/api/v1/drains", {"endpoint": "service/there"})[0] == 403
    identity = api.drain("service/there")
    assert own.call("GET", f"/api/v1/drains/{identity}")[0] == 404
    for path in ("/", "/metrics", "/api/v1/endpoints", "/api/v1/connections"):
        assert own.call("GET", path)[0] == 404
    assert own.call("POST", "/api/v1/drains?wait=5s")[1]["drained"]


def test_silent_connections_to_the_listener_for_endpoints_take_nothing_away(router, backend):
    here = backend(awkward.named("here"))
    admin, port = PORTS.take(), PORTS.take()
    one = router(configuration(here.port) | {"admin": {"bind": f"127.0.0.1:{admin}", "self_drain": f"127.0.0.1:{port}"}})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1030):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert one.health().status == 200
        assert Api(one.admin).endpoint("e0")["membership"] == "present"
        ended = drain_command(one, "--self", "--timeout", "10s", port=port)
        assert ended.returncode == 0, ended


def test_drains_of_endpoints_that_left_are_waited_for(router, backend):
    slow, other = backend(awkward.answering_late(response(b"slow"))), backend(awkward.named("other"))
    one = router(configuration(slow.port))
    api = Api(one.admin)
    with one.dial() as client:
        client.send(request())
        slow.wait_for_requests(1)
        one.change(backends=[backend_of(other.port)])
        wait_until(lambda: api.endpoint("e0")["address"] == f"127.0.0.1:{other.port}", what="the change")
        assert one.get().body == b"other"
        thread, _ = released_after(slow, asked=lambda: api.get("/api/v1/drains")["drains"])  # before that, its work keeps the endpoint known
        ended = drain_command(one, "--endpoint", f"127.0.0.1:{slow.port}", "--timeout", "30s")
        thread.join()
        assert ended.returncode == 0, ended
        assert client.read_response().body == b"slow"


@pytest.mark.prompt
def test_drain_of_many_tunnels_ends_by_its_deadline(router, backend):
    count = 50 if SANITIZED else 500

    def tunnel(stream, owner):
        owner.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
        owner.released.wait(60)

    service = backend(tunnel)
    settings = configuration(service.port)
    settings["backends"][0]["drain"] = {"deadline": "1s"}
    one = router(settings)
    api = Api(one.admin)
    clients = []
    try:
        for _ in range(count):
            clients.append(one.dial())
            clients[-1].send(request(Connection="upgrade", Upgrade="x"))
        service.wait_for_requests(count)
        wait_until(lambda: api.endpoint("e0")["in_flight"]["tunnels"] == count, what="all tunnels")
        report, took = timed(lambda: api.drain_state(api.drain("service/e0"), wait="30s"))
        assert report["drained"] and report["cut"] == count, report
        assert 0.9 < took < promised(1.2)
    finally:
        for client in clients:
            client.close()
