"""The canary inside the router: every kind of leg through the front door, faults in their own leg under their own name, the
port that moves, the generation, API, metrics, event log and the self-audit."""

import contextlib
import json
import ssl

import pytest

import replica
from canary_server import CanaryServer
from http1 import request, swallow_packets, trusting_context
from router import PORTS, SANITIZED, wait_until

HOSTS = {"plain": "canary.test", "edge": "canary.test", "reencrypt": "re.canary.test", "passthrough": "raw.canary.test"}
PROTOCOLS = ("http1_fresh", "http1_reused", "h2", "websocket")
# Of a fault to its report: what the product promises. Sanitizers make everything slower.
PROMISE = 45 if SANITIZED else 15


@pytest.fixture
def server(tmp_path, certificates):
    pair = certificates("canary", "ecdsa", *sorted(set(HOSTS.values())))
    with CanaryServer(tmp_path, TLS_CERT=pair["cert"], TLS_KEY=pair["key"], POD_NAME="pod-1", NODE_NAME="node-1") as one:
        one.pair = pair
        yield one


def settings(server, listeners=("web", "secure"), **canary):
    """Routes of every kind to one server, which answers with TLS and without."""
    endpoints = [{"name": "one", "address": f"127.0.0.1:{server.ports[0]}"}]
    every = {
        "web": {"name": "web", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "http"},
        "secure": {"name": "secure", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "https", "certificates": [server.pair]},
    }
    return {
        "listeners": [every[name] for name in listeners],
        "routes": [
            {"name": "walked", "host": HOSTS["edge"], "backend": "canary"},
            {"name": "reencrypted", "host": HOSTS["reencrypt"], "backend": "canary-tls", "tls": "reencrypt"},
            {"name": "raw", "host": HOSTS["passthrough"], "backend": "canary-raw", "tls": "passthrough"},
            {"name": "other", "host": "other.test", "backend": "other"},
        ],
        "backends": [
            {"name": "canary", "endpoints": endpoints},
            {"name": "canary-tls", "endpoints": endpoints, "tls": {"ca": server.pair["cert"], "name": HOSTS["edge"]}},
            {"name": "canary-raw", "endpoints": endpoints},
            {"name": "other", "endpoints": endpoints},
        ],
        "canary": {"backends": ["canary", "canary-tls", "canary-raw"], "ports": server.ports, "ca": server.pair["cert"],
                   "every": "1s", "budget": "1s", **canary},
        "audit": {"every": "1s"},
    }


def canary(router):
    return json.loads(router.ask_admin("/api/v1/canary").body)


def legs(router):
    return {leg["name"]: leg for leg in canary(router)["legs"]}


def statuses(router):
    return {name: leg["condition"]["status"] for name, leg in legs(router).items()}


def failures(router):
    """{leg: name of its fault} of those that fail."""
    return {name: leg["cause"]["fault"] for name, leg in legs(router).items() if leg["condition"]["status"] == "False"}


def wait_until_all_succeed(router, seconds=60):
    try:
        wait_until(lambda: set(statuses(router).values()) == {"True"}, seconds, "that all legs succeed")
    except AssertionError:
        raise AssertionError({name: leg["errors"] for name, leg in legs(router).items() if leg["condition"]["status"] != "True"}) from None


def generation(router):
    return json.loads(router.ask_admin("/api/v1/config").body)["generation"]


def test_every_kind_of_leg_through_the_front_door(router, server):
    one = router(settings(server))
    wait_until_all_succeed(one)
    found = legs(one)
    assert set(found) == {f"self/{kind}/{protocol}" for kind in HOSTS for protocol in PROTOCOLS}
    for leg in found.values():
        last = leg["last"]
        assert leg["host"] == HOSTS[leg["kind"]] and last["pod"] == "pod-1" and last["node"] == "node-1"
        assert last["generation"] == (None if leg["kind"] == "passthrough" else str(generation(one)))
        assert last["tls"] == ("" if leg["kind"] == "plain" else "TLSv1.3")
        assert {"total", "first_byte"} <= set(last["phases_us"])
    assert canary(one)["condition"]["status"] == "True"
    wait_until(lambda: all(legs(one)[f"self/{kind}/http1_reused"]["last"]["reused"] for kind in HOSTS), 20, "reuse")


def test_generation_is_told_to_probes_on_the_canarys_routes_only(router, server):
    one = router(settings(server))

    def told(host, **fields):
        with one.dial("web") as stream:
            stream.send(request(host=host, Connection="close", **fields))
            answer = stream.read_response()
            assert answer.status == 200
            return answer.get("Ebbgate-Generation")

    assert told(HOSTS["edge"], Ebbgate_Canary="n1") == str(generation(one))
    assert told(HOSTS["reencrypt"], Ebbgate_Canary="n1") == str(generation(one))
    assert told(HOSTS["edge"]) is None
    assert told("other.test", Ebbgate_Canary="n1") is None


def test_port_moves_and_configurations_change_without_a_false_alarm(router, server):
    one = router(settings(server, every="500ms", budget="500ms"))
    wait_until(lambda: canary(one)["port_moves"] >= 1, 90, "the first move")
    now = canary(one)["wanted_port"]
    assert now == server.ports[1]
    endpoints = json.loads(one.ask_admin("/api/v1/endpoints").body)["endpoints"]
    moved = {e["backend"]: e["address"] for e in endpoints if e["membership"] == "present"}
    assert moved["canary"] == f"127.0.0.1:{now}" and moved["other"] == f"127.0.0.1:{server.ports[0]}"
    before = generation(one)
    one.change(timeouts={"client_idle": "50s"})
    wait_until(lambda: generation(one) > before, 10, "the new configuration")
    wait_until(lambda: canary(one)["port_moves"] >= 2, 90, "the second move")
    wait_until_all_succeed(one)
    counts = one.metrics()
    assert counts["ingress_canary_endpoint_wrong_port_echo"] == 0
    assert not [name for name in counts if 'fault="stale_generation"' in name or 'fault="wrong_port"' in name]
    assert "event=endpoint_draining backend=canary" not in one.error_text()


def test_section_comes_and_goes_with_the_configuration(router, server):
    given = settings(server)
    section = given.pop("canary")
    one = router(given)
    assert canary(one)["configured"] is False
    one.change(canary=section)
    wait_until(lambda: canary(one)["configured"], 10, "the canary")
    wait_until_all_succeed(one)
    one.write({name: value for name, value in one.settings.items() if name != "canary"})
    wait_until(lambda: not canary(one)["configured"], 10, "the canary's end")
    endpoints = json.loads(one.ask_admin("/api/v1/endpoints").body)["endpoints"]
    assert {e["address"] for e in endpoints if e["membership"] == "present"} == {f"127.0.0.1:{server.ports[0]}"}
    wait_until(lambda: one.metric("ebbgate_audit_runs_total", outcome="complete") >= 3, 30, "audits")
    assert one.metric("ebbgate_audit_differences") == 0


HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\nHealth"
PLAIN_FAULTS = {
    "reset": ("http1_fresh", replica.reset),
    "truncated": ("http1_reused", replica.answer(HALF)),
    "malformed": ("h2", replica.answer(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")),
    "status_5xx": ("websocket", replica.answer(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")),
    "status_4xx": ("http1_fresh", replica.answer(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")),
    "status_3xx": ("http1_reused", replica.answer(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")),
    "first_byte_timeout": ("http1_reused", replica.silent),
    "wrong_body": ("http1_fresh", replica.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")),
    "wrong_port": ("http1_fresh", replica.from_another_port),
    "slow": ("http1_reused", replica.answer(HALF, then_wait=True)),
}


def test_each_fault_in_its_own_leg_under_its_own_name(router, server):
    prometheus = pytest.importorskip("prometheus_client.parser", reason="python3-prometheus-client is not installed")
    hosts = {name: f"127.0.1.{number}" for number, name in enumerate(PLAIN_FAULTS, 1)}
    replicas = [{"name": name, "host": host} for name, host in hosts.items()]
    given = settings(server, listeners=["web"], every="2s", budget="2s", replicas=replicas)
    port = int(given["listeners"][0]["bind"].rsplit(":")[1])
    with contextlib.ExitStack() as stack:
        doors = {name: stack.enter_context(replica.Door(host, port, replica.protocol_of)) for name, host in hosts.items()}
        one = router(given)
        wait_until_all_succeed(one)
        assert one.metrics()['ingress_canary_route_reachable{host="canary.test"}'] == 1

        wanted = {}
        for name, (protocol, fault) in PLAIN_FAULTS.items():
            doors[name].break_down({protocol: fault})
            wanted[f"{name}/plain/{protocol}"] = name
        with contextlib.suppress(AssertionError):
            wait_until(lambda: failures(one) == wanted, PROMISE)
        assert failures(one) == wanted, legs(one)
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
        assert {(name, protocol, name) for name, (protocol, _) in PLAIN_FAULTS.items()} <= counted

        for door in doors.values():
            door.break_down({})
        wait_until_all_succeed(one)
        wait_until(lambda: one.error_text().count("event=canary_leg_recovered") >= len(wanted), 5, "the lines of recovery")
        found = canary(one)
        assert found["sockets"] <= len(found["legs"])
        wait_until(lambda: one.metric("ebbgate_audit_runs_total", outcome="complete") >= 3, 30, "audits")
        assert one.metric("ebbgate_audit_differences") == 0


def test_a_replica_that_cannot_be_reached(router, server):
    with contextlib.ExitStack() as stack:
        given = settings(server, listeners=["web"], replicas=[
            {"name": "refused", "host": "127.0.1.1"}, {"name": "swallowed", "host": "127.0.1.2"}, {"name": "unnamed", "host": "nowhere.invalid"}])
        port = int(given["listeners"][0]["bind"].rsplit(":")[1])
        door = stack.enter_context(replica.Door("127.0.1.2", port, replica.protocol_of))
        swallow_packets(door.listener)
        one = router(given)
        names = {"refused": "connect_refused", "swallowed": "connect_timeout", "unnamed": "name_resolution"}
        wanted = {f"{name}/plain/{protocol}": fault for name, fault in names.items() for protocol in PROTOCOLS}
        with contextlib.suppress(AssertionError):
            wait_until(lambda: failures(one) == wanted, 60)
        assert failures(one) == wanted
        assert all(status == "True" for name, status in statuses(one).items() if name.startswith("self/"))
        assert one.metrics()['ingress_canary_route_DNS_error{host="canary.test",dnsServer=""}'] >= 3


def server_name_of(head):
    """The longest of the canary's names in a ClientHello."""
    return max((name for name in HOSTS.values() if name.encode() in head), key=len, default=None)


def test_faults_of_tls(router, server, certificates):
    stranger = certificates("stranger", "ecdsa", "stranger.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stranger["cert"], stranger["key"])

    def wrong_certificate(connection, _):
        with contextlib.suppress(ssl.SSLError):
            context.wrap_socket(connection, server_side=True).recv(1)

    handshake_failure = replica.answer(b"\x15\x03\x03\x00\x02\x02\x28")
    given = settings(server, listeners=["secure"], replicas=[{"name": "b", "host": "127.0.1.1"}])
    port = int(given["listeners"][0]["bind"].rsplit(":")[1])
    with replica.Door("127.0.1.1", port, server_name_of) as door:
        one = router(given)
        wait_until_all_succeed(one)
        door.break_down({HOSTS["reencrypt"]: wrong_certificate, HOSTS["passthrough"]: handshake_failure})
        wanted = {f"b/{kind}/{protocol}": fault for kind, fault in (("reencrypt", "certificate"), ("passthrough", "tls_handshake"))
                  for protocol in PROTOCOLS}
        with contextlib.suppress(AssertionError):
            wait_until(lambda: failures(one) == wanted, PROMISE)
        assert failures(one) == wanted


def test_certificate_that_nobody_vouches_for_is_a_fault_unless_told_otherwise(router, server):
    given = settings(server, listeners=["secure"])
    del given["canary"]["ca"]
    one = router(given)
    wait_until(lambda: set(failures(one).values()) == {"certificate"}, 60, "the fault")
    one.change(canary={**given["canary"], "verify": False})
    wait_until_all_succeed(one)
    assert legs(one)["self/edge/h2"]["last"]["certificate"]["verified"] is False
    with one.dial("secure", tls=trusting_context(), name=HOSTS["edge"]) as stream:
        stream.send(request(host=HOSTS["edge"], Connection="close"))
        assert stream.read_response().status == 200
