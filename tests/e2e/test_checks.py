"""Active checks: who is asked, what is a good answer, and what follows from a bad one."""

import csv
import threading
import time

import pytest

import awkward
import http2
from admin_client import Api, runtime
from http1 import PATIENCE, request, response, swallow_packets
from router import PORTS, backend as backend_of, configuration, endpoint, promised, wait_until
from test_tls_modes import over_tls

EVERY = 0.2
HTTP = {"http": "/healthz", "every": "200ms", "timeout": "200ms"}
TCP = {"every": "200ms", "timeout": "200ms"}


class Patient:
    """Answers requests with its name, and its checks as it feels."""

    def __init__(self, name):
        self.name, self.status, self.checks = name, "200 OK", []
        self.answers = threading.Event()
        self.answers.set()

    def __call__(self, stream, backend):
        while True:
            message = stream.read_request()
            if message.target.startswith("/healthz"):
                self.checks.append(message)
                stream.send(response(b"as it feels", self.status))
                continue
            self.answers.wait(60)
            backend.requests.append(message)
            stream.send(response(self.name.encode()))


@pytest.fixture
def ward(router, backend, tmp_path):
    """ward(names, **settings): a router with a backend of such patients; it knows them, and its API."""
    started = []

    def start(names="ab", health=HTTP, workers=1, **more):
        patients = [Patient(name) for name in names]
        started.extend(patients)
        services = [backend(patient) for patient in patients]
        one = router(configuration(backends=[backend_of(*(service.port for service in services), balance="round_robin", health=health, **more)])
                     | {"workers": workers, "runtime": str(tmp_path / "run" / "gate.sock")})
        one.patients, one.services, one.api = patients, services, Api(one.admin)
        return one

    yield start
    for patient in started:
        patient.answers.set()


def endpoint_is(one, name, health, cause=None):
    known = one.api.endpoint(name)
    return known if (known["health"], known["cause"]) == (health, cause) else None


def wait_for(one, name, health, cause=None):
    return wait_until(lambda: endpoint_is(one, name, health, cause), what=f"{name} {health} by {cause}, {one.api.endpoint(name)},")


def last_check(one, name="e0"):
    """None while its worker is too busy to say."""
    return wait_until(lambda: one.api.endpoint(name)["check"], what="a check")


def wait_for_outcome(api, outcome, health, endpoint="e0", backend="service"):
    """Twice in a row; on a busy machine a check may be late now and then."""

    def seen():
        known = api.endpoint(endpoint, backend)
        check = known["check"]  # none while its worker is too busy to say
        return known if check and (check["outcome"], known["health"]) == (outcome, health) and check["in_a_row"] >= 2 else None

    return wait_until(seen, what=f"{outcome} by {endpoint}, {api.endpoint(endpoint, backend)},")


def served_by(one, count=10):
    return {one.get().body for _ in range(count)}


@pytest.mark.prompt
@pytest.mark.parametrize("workers", [1, 2])
def test_an_endpoint_that_fails_its_checks_is_left_in_time_and_comes_back(ward, workers):
    one = ward(workers=workers)
    wait_until(lambda: all(patient.checks for patient in one.patients), what="the first checks")
    assert served_by(one) == {b"a", b"b"}

    one.patients[0].status = "503 Service Unavailable"
    sick = time.monotonic()
    known = wait_for(one, "e0", "down", "backend_check_failed")
    assert time.monotonic() - sick < promised(2 * EVERY + 1)  # fall 2; the rest is the test's own
    assert (known["check"]["state"], known["check"]["outcome"], known["check"]["status"]) == ("bad", "unwanted_status", 503)
    assert served_by(one) == {b"b"}

    one.patients[0].status = "200 OK"
    wait_for(one, "e0", "up")
    assert served_by(one) == {b"a", b"b"}
    assert endpoint_is(one, "e1", "up")
    assert one.metric("ebbgate_checks_total", backend="service", result="failed") >= 2
    assert one.metric("ebbgate_checks_total", backend="service", result="passed") >= 4


def test_a_check_is_small_says_who_asks_and_is_not_a_request(ward):
    one = ward("a")
    wait_until(lambda: len(one.patients[0].checks) >= 3, what="checks")
    asked = one.patients[0].checks[0]
    assert asked.start == "GET /healthz HTTP/1.1"
    assert (asked.get("User-Agent"), asked.get("Host")) == ("ebbgate-check", f"127.0.0.1:{one.services[0].port}")
    assert one.metric("ebbgate_requests_total") == 0
    assert one.metric("ebbgate_backend_connections_opened_total") == 0
    assert one.log() == []
    assert one.api.endpoint("e0")["counters"]["requests"] == 0
    assert one.api.endpoint("e0")["in_flight"]["total"] == 0


def test_only_one_worker_asks(ward):
    one = ward("a", workers=2)
    wait_until(lambda: len(one.patients[0].checks) >= 2, what="checks")
    started = time.monotonic() - EVERY  # one that is under way counts
    before = one.metric("ebbgate_checks_total")  # not what the endpoint has seen: a busy machine shows it several at once
    time.sleep(2)
    asked = one.metric("ebbgate_checks_total") - before
    assert asked <= (time.monotonic() - started) / (0.9 * EVERY) + 1


@pytest.mark.parametrize("expect, good", [([200], True), (["2xx"], True), ([204, "4xx"], False)])
def test_which_answers_are_good_can_be_said(ward, expect, good):
    one = ward("ab", health=HTTP | {"expect": expect, "host": "shop.internal", "http": "/healthz?full=1"})
    wait_for_outcome(one.api, *(("answered", "up") if good else ("unwanted_status", "down")))
    assert (one.patients[0].checks[0].target, one.patients[0].checks[0].get("Host")) == ("/healthz?full=1", "shop.internal")


def test_endpoints_that_all_fail_their_checks_serve_nevertheless(ward):
    one = ward("ab")
    for patient in one.patients:
        patient.status = "500 Broken"
    for name in ("e0", "e1"):
        wait_for(one, name, "down", "backend_check_failed")
    assert served_by(one) == {b"a", b"b"}


def test_a_single_endpoint_is_checked_and_requests_wait_until_it_is_back(router, backend):
    port = PORTS.take()
    one = router(configuration(backends=[backend_of(port, health=TCP)]))
    one.api = Api(one.admin)
    wait_for(one, "e0", "down", "backend_refused")  # nobody has asked for anything
    assert last_check(one)["outcome"] == "not_connected"
    with one.dial() as client:
        client.send(request())
        wait_until(lambda: one.metric("ebbgate_requests_held") == 1, what="a request that waits")
        backend(awkward.named("back"), port=port)
        assert client.read_response().body == b"back"
    wait_for_outcome(one.api, "connected", "up")


def test_a_host_that_is_gone_is_noticed_without_any_request(router, backend):
    service = backend(awkward.named("gone"))
    one = router(configuration(backends=[backend_of(service.port, health=HTTP)]))
    one.api = Api(one.admin)
    wait_until(lambda: last_check(one)["passed"] >= 1, what="a check")
    swallow_packets(service.listener)
    wait_for(one, "e0", "down", "backend_connect_timeout")
    wait_for_outcome(one.api, "connect_timeout", "down")


@pytest.mark.parametrize("wish", ["drain", "maint"])
def test_draining_endpoints_go_on_being_checked(ward, wish):
    one = ward()
    one.api.call("PATCH", "/api/v1/backends/service/endpoints/e0", {"wish": wish})
    known = len(one.patients[0].checks)
    wait_until(lambda: len(one.patients[0].checks) >= known + 3, what="checks of the draining endpoint")
    one.patients[0].status = "503 Service Unavailable"
    assert wait_for(one, "e0", "down", "backend_check_failed")["wish"] == wish
    one.patients[0].status = "200 OK"
    assert wait_for(one, "e0", "up")["wish"] == wish


def test_checks_that_pass_do_not_cure_requests_that_hang(ward):
    one = ward(health=HTTP | {"every": "1s", "timeout": "1s"})
    wait_until(lambda: len(one.patients[0].checks) >= 2, what="checks")
    stopping = threading.Event()

    def load():
        with one.dial() as client:
            while not stopping.is_set():
                client.send(request())
                client.read_response()

    threads = [threading.Thread(target=load) for _ in range(6)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: all(len(service.requests) > 40 for service in one.services))
        one.patients[0].answers.clear()
        wait_for(one, "e0", "suspect", "backend_silent")
        passed = last_check(one)["passed"]
        wait_until(lambda: last_check(one)["passed"] >= passed + 5, what="checks that pass")
        wait_until(lambda: last_check(one)["state"] == "good", what="a check that is not late")
        assert endpoint_is(one, "e0", "suspect", "backend_silent")
        assert one.metric("ebbgate_endpoint_verdicts_total", to="up") == 0
        one.patients[0].answers.set()
        wait_for(one, "e0", "up")
    finally:
        one.patients[0].answers.set()
        stopping.set()
        for thread in threads:
            thread.join(PATIENCE)


@pytest.mark.parametrize("serve, outcome", [
    (awkward.stalling_after(b""), "answer_timeout"),
    (awkward.stalling_after(b"HTTP/1.1 200 OK\r\nContent-"), "answer_timeout"),
    (awkward.closing_after(b""), "bad_answer"),
    (awkward.resetting_after(b""), "bad_answer"),
    (awkward.closing_after(b"nonsense\r\n\r\n"), "bad_answer"),
    (awkward.closing_after(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70000 + b"\r\n\r\n"), "bad_answer"),
    (awkward.splitting(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"), "answered"),
    (awkward.stalling_after(b"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\nendless"), "answered"),
], ids=["silent", "half", "closed", "reset", "nonsense", "too-large", "split", "endless"])
def test_bad_answers_are_told_apart(router, backend, serve, outcome):
    one = router(configuration(backends=[backend_of(backend(serve).port, health=HTTP)]))
    one.api = Api(one.admin)
    wait_for_outcome(one.api, outcome, "up" if outcome == "answered" else "down")


@pytest.mark.parametrize("health, good", [(HTTP, "answered"), (TCP, "secured")], ids=["http", "handshake"])
@pytest.mark.parametrize("alpn", [None, ["h2"]], ids=["http1", "h2"])
def test_tls_backends_are_checked_over_tls(router, backend, certificates, health, good, alpn):
    pair, names, seen = certificates("again", "ecdsa", "again.internal"), [], []

    def serve(peer, asked):
        seen.append(asked)
        http2.reply(peer, asked, b"fine")

    plain = awkward.answering(lambda asked: seen.append(asked) or response(b"fine"))
    service = backend(over_tls(http2.serving(serve) if alpn else plain, pair, alpn=alpn, seen=names))
    known = {"health": health | {"timeout": "200ms"}, "protocol": "auto", "endpoints": [endpoint(service.port)]}
    trusted = known | {"name": "trusted", "tls": {"ca": pair["cert"], "name": "again.internal"}}
    mistaken = known | {"name": "mistaken", "tls": {"ca": pair["cert"], "name": "else.internal"}}
    one = router(configuration(backends=[backend_of(service.port), trusted, mistaken]))
    api = Api(one.admin)
    for name, outcome, state in (("trusted", good, "up"), ("mistaken", "not_secured", "down")):
        wait_for_outcome(api, outcome, state, "one", name)
    assert {"again.internal", "else.internal"} <= set(names)
    if health is HTTP:
        assert seen[0].target == "/healthz"
        assert (seen[0].get(":authority") if alpn else seen[0].get("Host")) == "again.internal"


def test_endpoints_that_speak_http2_are_asked_in_it(router, backend):
    statuses = [200]
    service = backend(http2.serving(lambda peer, asked: http2.reply(peer, asked, b"body", statuses[-1])))
    one = router(configuration(backends=[backend_of(service.port, protocol="h2c", health=HTTP)]))
    one.api = Api(one.admin)
    wait_until(lambda: last_check(one)["passed"] >= 2, what="checks")
    assert [(seen.method, seen.target, seen.get("user-agent")) for seen in service.requests[:1]] == [("GET", "/healthz", "ebbgate-check")]
    statuses.append(503)
    wait_for(one, "e0", "down", "backend_check_failed")
    statuses.append(200)
    wait_for(one, "e0", "up")


@pytest.mark.parametrize("version, header", [("v1", b"PROXY UNKNOWN\r\n"), ("v2", b"\r\n\r\n\0\r\nQUIT\n\x20")])
def test_the_proxy_header_of_a_check_names_no_client(router, backend, version, header):
    one = None

    def serve(stream, known):
        stream.read(len(header) if version == "v1" else 16)
        awkward.named("fine")(stream, known)

    service = backend(serve)
    one = router(configuration(backends=[backend_of(service.port, proxy_protocol=version, health=HTTP)]))
    wait_until(lambda: one.metric("ebbgate_checks_total", result="passed") >= 2, what="checks")
    assert service.received[0].startswith(header)


def test_another_port_may_be_asked(router, backend):
    service, janitor = backend(awkward.named("service")), Patient("janitor")
    desk = backend(janitor)
    one = router(configuration(backends=[backend_of(service.port, health=HTTP | {"port": desk.port})]))
    one.api = Api(one.admin)
    wait_until(lambda: len(janitor.checks) >= 2, what="checks")
    janitor.status = "503 Closed"
    wait_for(one, "e0", "down", "backend_check_failed")
    assert service.requests == []
    assert one.get().body == b"service"  # there is nobody better


def test_what_checks_have_taken_down_is_probed_when_they_are_no_more(ward):
    one = ward()
    one.patients[0].status = "503 Service Unavailable"
    wait_for(one, "e0", "down", "backend_check_failed")
    plain = backend_of(*(service.port for service in one.services), balance="round_robin")
    one.change(backends=[plain])
    wait_for(one, "e0", "up")
    assert one.api.endpoint("e0")["check"] is None
    asked = len(one.patients[0].checks)
    time.sleep(3 * EVERY)
    assert len(one.patients[0].checks) == asked

    one.change(backends=[plain | {"health": HTTP}])
    wait_for(one, "e0", "down", "backend_check_failed")
    one.change(backends=[plain | {"health": HTTP | {"expect": ["5xx"]}}])
    wait_for(one, "e0", "up")


def test_show_stat_has_the_checks_in_haproxys_columns(ward, tmp_path):
    one = ward()
    one.patients[0].status = "503 Service Unavailable"
    wait_for(one, "e0", "down", "backend_check_failed")
    wait_until(lambda: last_check(one, "e1")["in_a_row"] >= 2, what="checks")

    def answered():
        """The rows, where the last check of each was not late."""
        table = runtime(tmp_path / "run" / "gate.sock", "show stat").removeprefix("# ").splitlines()
        rows = {row["svname"]: row for row in csv.DictReader(table) if row["pxname"] == "service"}
        return rows if (rows["e0"]["check_status"], rows["e1"]["check_status"], rows["e1"]["check_health"]) == ("L7STS", "L7OK", "3") else None

    rows = wait_until(answered, what="checks that are answered in time")
    assert (rows["e0"]["status"], rows["e0"]["check_status"], rows["e0"]["check_code"], rows["e0"]["check_health"]) == ("DOWN", "L7STS", "503", "0")
    assert (rows["e1"]["status"], rows["e1"]["check_status"], rows["e1"]["check_code"], rows["e1"]["check_health"]) == ("UP", "L7OK", "200", "3")
    assert (rows["e0"]["chkdown"], rows["e0"]["check_rise"], rows["e0"]["check_fall"]) == ("1", "2", "2")
    assert int(rows["e0"]["chkfail"]) >= 2 and int(rows["e1"]["check_duration"]) < 200
    assert rows["e0"]["last_chk"] == "the answer is not a good one (status 503)"
