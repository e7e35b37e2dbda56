"""The canary inside the router: every kind of leg through the front door, the port that moves, the generation, and its section
that comes and goes. What can be wrong with a leg: test_canary_faults.py."""

import json
import os
import socket

import pytest

from canary_site import HOSTS, PROTOCOLS, canary, failures, generation, legs, settings, wait_until_all_succeed
from http1 import request, trusting_context
from router import PORTS, wait_until


def test_every_kind_of_leg_through_the_front_door(router, healthcheck):
    one = router(settings(healthcheck))
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


def test_configuration_is_told_to_probes_on_the_canarys_routes_only(router, healthcheck):
    one = router(settings(healthcheck))

    def told(host, **fields):
        with one.dial("web") as stream:
            stream.send(request(host=host, Connection="close", **fields))
            answer = stream.read_response()
            assert answer.status == 200
            return answer.get("Ebbgate-Generation"), answer.get("Ebbgate-Configuration")

    running = json.loads(one.ask_admin("/api/v1/config").body)
    mark = (str(running["generation"]), running["digest"])
    assert told(HOSTS["edge"], Ebbgate_Canary="n1") == mark
    assert told(HOSTS["reencrypt"], Ebbgate_Canary="n1") == mark
    assert told(HOSTS["edge"]) == (None, None)
    assert told("other.test", Ebbgate_Canary="n1") == (None, None)


def test_reuse_is_proven_however_short_the_router_keeps_connections(router, healthcheck):
    """Each of their connections idles out between two probes."""
    one = router({**settings(healthcheck, every="2s"), "timeouts": {"client_idle": "500ms"}})

    def is_proven(leg):
        return leg["probes"] >= 3 and leg["last"]["reused"] and "connect" in leg["last"]["phases_us"]

    wait_until(lambda: all(is_proven(legs(one)[f"self/{kind}/http1_reused"]) for kind in ("plain", "edge", "reencrypt")), 60, "reuse")
    wait_until_all_succeed(one)


def test_port_moves_and_configurations_change_without_a_false_alarm(router, healthcheck):
    # A move follows five rounds without a fault, and a busy machine needs more than half a second for a probe.
    one = router(settings(healthcheck, every="2s", budget="2s"))

    def moved():
        """The canary and the endpoints, between two moves."""
        before = canary(one)
        endpoints = json.loads(one.ask_admin("/api/v1/endpoints").body)["endpoints"]
        return (before, endpoints) if canary(one)["port_moves"] == before["port_moves"] >= 1 else None

    now, endpoints = wait_until(moved, 90, "the first move")
    assert now["wanted_port"] == healthcheck.ports[now["port_moves"] % len(healthcheck.ports)]
    present = {e["backend"]: e["address"] for e in endpoints if e["membership"] == "present"}
    assert present["canary"] == f"127.0.0.1:{now['wanted_port']}" and present["other"] == f"127.0.0.1:{healthcheck.ports[0]}"
    before = generation(one)
    one.change(timeouts={"client_idle": "50s"})
    wait_until(lambda: generation(one) > before, 10, "the new configuration")
    wait_until(lambda: canary(one)["port_moves"] > now["port_moves"], 90, "the next move")
    wait_until_all_succeed(one)
    counts = one.metrics()
    assert counts["ingress_canary_endpoint_wrong_port_echo"] == 0
    assert not [name for name in counts if 'fault="stale_generation"' in name or 'fault="wrong_port"' in name]
    assert "event=endpoint_draining backend=canary" not in one.error_text()


def test_section_comes_and_goes_with_the_configuration(router, healthcheck):
    given = settings(healthcheck)
    section = given.pop("canary")
    one = router(given)
    assert canary(one)["configured"] is False
    one.change(canary=section)
    wait_until(lambda: canary(one)["configured"], 10, "the canary")
    wait_until_all_succeed(one)
    one.write({name: value for name, value in one.settings.items() if name != "canary"})
    wait_until(lambda: not canary(one)["configured"], 10, "the canary's end")
    endpoints = json.loads(one.ask_admin("/api/v1/endpoints").body)["endpoints"]
    assert {e["address"] for e in endpoints if e["membership"] == "present"} == {f"127.0.0.1:{healthcheck.ports[0]}"}
    wait_until(lambda: one.metric("ebbgate_audit_runs_total", outcome="complete") >= 3, 30, "audits")
    assert one.metric("ebbgate_audit_differences") == 0


def test_certificate_that_nobody_vouches_for_is_a_fault_unless_told_otherwise(router, healthcheck):
    given = settings(healthcheck, listeners=["secure"])
    del given["canary"]["ca"]
    one = router(given)
    wait_until(lambda: set(failures(one).values()) == {"certificate"}, 60, "the fault")
    one.change(canary={**given["canary"], "verify": False})
    wait_until_all_succeed(one)
    assert legs(one)["self/edge/h2"]["last"]["certificate"]["verified"] is False
    with one.dial("secure", tls=trusting_context(), name=HOSTS["edge"]) as stream:
        stream.send(request(host=HOSTS["edge"], Connection="close"))
        assert stream.read_response().status == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="another resolv.conf needs a mount namespace")
def test_descriptors_of_the_resolver_are_not_taken_for_lost(router, healthcheck, tmp_path):
    """A name server that never answers: the C library waits with its socket open, which is none of the router's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as names:
        names.bind((f"127.53.0.{1 + (PORTS.first - 20000) // 200}", 53))
        names.settimeout(60)
        (tmp_path / "resolv.conf").write_text(f"nameserver {names.getsockname()[0]}\noptions timeout:30\n")
        given = settings(healthcheck, listeners=["web"], replicas=[{"name": "b", "host": "b.routers.test"}])
        one = router(given, through=["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"',
                                     str(tmp_path / "resolv.conf")])
        names.recv(1500)  # a question is under way, for 30 s
        before = one.metric("ebbgate_audit_runs_total", outcome="complete")
        wait_until(lambda: one.metric("ebbgate_audit_runs_total", outcome="complete") >= before + 3, 25, "audits")
        assert "event=audit_difference " not in one.error_text()
        assert one.metric("ebbgate_audit_differences") == 0
        wait_until(lambda: "name_resolution" in str(legs(one)["b/plain/h2"]["last"]), 60, "the fault")
