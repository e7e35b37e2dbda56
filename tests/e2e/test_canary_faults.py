"""Every fault that the canary knows, injected into legs of the router's own prober: reported under its own name, in its own
legs only, and within the time that is promised."""

import contextlib
import json
import re
import resource
import ssl

import pytest
from prometheus_client import parser as prometheus

import replica
from canary_site import HOSTS, PROTOCOLS, canary, failures, legs, settings, statuses, wait_until_all_succeed
from http1 import dial, request, swallow_packets
from router import ROOT, Router, promised, wait_until

pytestmark = pytest.mark.leisurely
# As they are by default: it is with them that a fault is known within 15 s.
PACE = {"every": "5s", "budget": "2s"}
HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\nHealth"


def status(line, fields=""):
    return replica.answer(f"HTTP/1.1 {line}\r\n{fields}Content-Length: 0\r\n\r\n".encode())


# Fault: (the leg of a plain door that has it, what the door does there). The others of that door are passed on to the router.
AFTER_CONNECT = {
    "first_byte_timeout": ("http1_reused", replica.silent),
    "reset": ("http1_fresh", replica.reset),
    "truncated": ("http1_reused", replica.answer(HALF)),
    "malformed": ("h2", status("400 Bad Request")),
    "status_1xx": ("http1_fresh", replica.answer(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")),
    "status_2xx": ("http1_reused", status("206 Partial Content")),
    "status_3xx": ("http1_reused", status("302 Found", "Location: /\r\n")),
    "status_4xx": ("http1_fresh", status("404 Not Found")),
    "status_5xx": ("websocket", status("503 Service Unavailable")),
    "wrong_body": ("http1_fresh", replica.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")),
    "wrong_port": ("http1_fresh", replica.changing("x-request-port", "1")),
    "wrong_backend": ("http1_fresh", replica.changing("Ebbgate-Canary-Pod", "shop-1")),
    "slow": ("http1_reused", replica.answer(HALF, then_wait=True)),
}
# Packets that begin so are lost behind the handshake.
NOT_DELIVERED = {"write": ("h2", b"PRI ")}
# Fault: the host of a replica whose every leg has it. TCP does not connect to groups: ENETUNREACH, wherever it runs.
CONNECT = {"connect_refused": "127.0.1.1", "connect_timeout": "127.0.1.2", "connect_unreachable": "224.0.0.1",
           "name_resolution": "nowhere.invalid"}
TLS = {"certificate": "reencrypt", "tls_handshake": "passthrough"}


def wait_for_failures(router, wanted):
    with contextlib.suppress(AssertionError):
        wait_until(lambda: failures(router) == wanted, promised(15))
    assert failures(router) == wanted, legs(router)


def test_no_fault_of_the_documentation_is_left_out():
    section = (ROOT / "docs" / "canary.md").read_text().split("## Faults")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert named == {*AFTER_CONNECT, *NOT_DELIVERED, *CONNECT, *TLS, "unable", "stale_generation"}


@pytest.mark.prompt
def test_each_fault_in_its_own_leg_under_its_own_name(router, healthcheck):
    faults = {**AFTER_CONNECT, **NOT_DELIVERED}
    hosts = {name: f"127.0.1.{number}" for number, name in enumerate(faults, 1)}
    replicas = [{"name": name, "host": host} for name, host in hosts.items()]
    given = settings(healthcheck, listeners=["web"], **PACE, pods=["pod-*"], replicas=replicas)
    port = int(given["listeners"][0]["bind"].rsplit(":")[1])
    wanted = {f"{name}/plain/{protocol}": name for name, (protocol, _) in faults.items()}
    with contextlib.ExitStack() as stack:
        doors = {name: stack.enter_context(replica.Door(host, port, replica.protocol_of)) for name, host in hosts.items()}
        one = router(given)
        wait_until_all_succeed(one)
        assert one.metrics()['ingress_canary_route_reachable{host="canary.test"}'] == 1

        for name, (protocol, fault) in AFTER_CONNECT.items():
            doors[name].break_down({protocol: fault})
        for name, (_, beginning) in NOT_DELIVERED.items():
            doors[name].lose(beginning)
        wait_for_failures(one, wanted)
        assert canary(one)["condition"]["status"] == "False"
        for leg, fault in wanted.items():
            wait_until(lambda: f"event=canary_leg_failing leg={leg} " in one.error_text(), 5, f"the line of {leg}")

        families = {family.name: family for family in prometheus.text_string_to_metric_families(one.ask_admin("/metrics").body.decode())}
        reachable = {sample.labels["host"]: sample.value for sample in families["ingress_canary_route_reachable"].samples}
        assert reachable["canary.test"] == 0
        assert families["ingress_canary_check_duration"].type == "histogram"
        bounds = {sample.labels["le"] for sample in families["ingress_canary_check_duration"].samples if sample.name.endswith("_bucket")}
        assert bounds == {"25", "50", "100", "200", "400", "800", "1600", "+Inf"}
        assert sum(sample.value for sample in families["ingress_canary_endpoint_wrong_port_echo"].samples) >= 3
        assert families["ingress_canary_route_DNS_error"].type == "counter"
        counted = {(s.labels["replica"], s.labels["protocol"], s.labels["fault"]) for s in families["ebbgate_canary_probes"].samples
                   if s.labels["fault"] != "none"}
        assert {(name, protocol, name) for name, (protocol, _) in faults.items()} <= counted

        for name, door in doors.items():
            door.lose(None) if name in NOT_DELIVERED else door.break_down({})
        wait_until_all_succeed(one)
        wait_until(lambda: one.error_text().count("event=canary_leg_recovered") >= len(wanted), 5, "the lines of recovery")
        found = canary(one)
        assert found["sockets"] <= len(found["legs"])
        wait_until(lambda: one.metric("ebbgate_audit_runs_total", outcome="complete") >= 3, 30, "audits")
        assert one.metric("ebbgate_audit_differences") == 0


@pytest.mark.prompt
def test_a_replica_that_cannot_be_reached(router, healthcheck):
    replicas = [{"name": fault, "host": host} for fault, host in CONNECT.items()]
    given = settings(healthcheck, listeners=["web"], **PACE, replicas=replicas)
    port = int(given["listeners"][0]["bind"].rsplit(":")[1])
    with replica.Door(CONNECT["connect_timeout"], port, replica.protocol_of) as door:
        swallow_packets(door.listener)
        one = router(given)
        wait_for_failures(one, {f"{fault}/plain/{protocol}": fault for fault in CONNECT for protocol in PROTOCOLS})
        assert all(status == "True" for name, status in statuses(one).items() if name.startswith("self/"))
        assert one.metrics()['ingress_canary_route_DNS_error{host="canary.test",dnsServer=""}'] >= 3


def name_and_protocol_of(hello):
    """The longest of the canary's names in a ClientHello, and whether HTTP/2 is all that it offers (RFC 7301 section 3.1)."""
    name = max((name for name in HOSTS.values() if name.encode() in hello), key=len, default=None)
    return name and (name, "h2" if b"\x00\x03\x02h2" in hello else "http/1.1")


@pytest.mark.prompt
def test_faults_of_tls(router, healthcheck, certificates):
    stranger = certificates("stranger", "ecdsa", "stranger.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stranger["cert"], stranger["key"])

    def wrong_certificate(connection, _):
        with contextlib.suppress(ssl.SSLError):
            context.wrap_socket(connection, server_side=True).recv(1)

    does = {"certificate": wrong_certificate, "tls_handshake": replica.answer(b"\x15\x03\x03\x00\x02\x02\x28")}
    given = settings(healthcheck, listeners=["secure"], **PACE, replicas=[{"name": "b", "host": "127.0.1.1"}])
    port = int(given["listeners"][0]["bind"].rsplit(":")[1])
    with replica.Door("127.0.1.1", port, name_and_protocol_of) as door:
        one = router(given)
        wait_until_all_succeed(one)
        door.break_down({(HOSTS[kind], "h2"): does[fault] for fault, kind in TLS.items()})
        wait_for_failures(one, {f"b/{kind}/h2": fault for fault, kind in TLS.items()})


@pytest.mark.prompt
def test_prober_that_is_unable_to_ask_blames_no_leg(router, healthcheck):
    """Without descriptors nothing is known of a leg, but for those that need none: they have their connection."""
    one = router(settings(healthcheck, listeners=["web"], **PACE))
    wait_until_all_succeed(one)
    limits = resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE)
    with dial(one.admin) as stream:

        def conditions():
            stream.send(request(target="/api/v1/canary", host="localhost"))
            return {leg["protocol"]: (leg["condition"]["status"], leg["condition"]["reason"])
                    for leg in json.loads(stream.read_response().body)["legs"]}

        conditions()  # the connection has its descriptor
        resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            wanted = {protocol: ("Unknown", "CanaryChecksNotPossible") for protocol in PROTOCOLS}
            wanted["http1_reused"] = ("True", "CanaryChecksSucceeding")
            wait_until(lambda: conditions() == wanted, promised(15), "that it is not known")
        finally:
            resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, limits)
    wait_until_all_succeed(one)
    assert one.metric("ebbgate_canary_probes_total", fault="unable") >= 3
    assert "event=canary_leg_failing" not in one.error_text()


@pytest.mark.prompt
def test_a_replica_that_does_not_get_the_new_configuration(router, healthcheck, tmp_path, io):
    """Two routers with the same file, but for what is each one's own; then one of the files changes."""
    mine = settings(healthcheck, **PACE, settle="1s", replicas=[{"name": "b", "host": "127.0.1.1"}])
    theirs = settings(healthcheck, **PACE)
    for own, other in zip(mine["listeners"], theirs["listeners"]):
        other["bind"] = own["bind"].replace("127.0.0.1", "127.0.1.1")
    (tmp_path / "b").mkdir()
    b = Router(tmp_path / "b", theirs, io)
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: b.process and b.stop())
        b.start()
        a = router(mine)
        wait_until_all_succeed(a)
        assert digest(a) == digest(b)
        assert {leg["last"]["configuration"] for leg in legs(a).values()} == {digest(a), None}  # None: behind a passthrough

        a.change(timeouts={"client_idle": "50s"})
        wait_until(lambda: digest(a) != digest(b), what="the new configuration")
        wait_for_failures(a, {f"b/{kind}/{protocol}": "stale_generation" for kind in HOSTS for protocol in PROTOCOLS if kind != "passthrough"})
        assert legs(a)["b/plain/h2"]["last"]["detail"] == f"configuration {digest(b)} is not ours"
        b.change(timeouts={"client_idle": "50s"})
        wait_until_all_succeed(a)


def digest(router):
    return json.loads(router.ask_admin("/api/v1/config").body)["digest"]
