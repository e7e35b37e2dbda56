"""Max-Forwards and Via: how far a request goes, and that it does not go in a circle."""

import pytest

import awkward
import http2
from http1 import dial
from router import configuration


def ask(port, method="GET", target="/", version="1.1", **fields):
    with dial(port) as stream:
        lines = [f"{method} {target} HTTP/{version}", "Host: localhost", "Connection: close",
                 *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
        stream.send("\r\n".join(lines).encode() + b"\r\n\r\n")
        return stream.read_response(method)


@pytest.fixture
def service(backend):
    return backend(awkward.named("x"))


@pytest.mark.parametrize("target", ["/", "*", "/a/b"])
def test_options_that_may_go_no_further_is_answered_here(router, service, target):
    one = router(configuration(service.port))
    answer = ask(one.port(), "OPTIONS", target, Max_Forwards="0")
    assert (answer.status, answer.body) == (204, b"")
    assert "GET" in answer.get("Allow") and "TRACE" not in answer.get("Allow")
    assert not service.requests


def test_trace_that_may_go_no_further_is_refused_here(router, service):
    one = router(configuration(service.port))
    answer = ask(one.port(), "TRACE", Max_Forwards="0")
    assert answer.status == 405 and answer.get("Allow")
    assert not service.requests


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE"])
def test_each_hop_takes_one_off(router, service, method):
    one = router(configuration(service.port))
    for sent, seen in (("1", "0"), ("10", "9"), ("007", "6"), ("9223372036854775807", "9223372036854775806")):
        assert ask(one.port(), method, Max_Forwards=sent).status == 200
        assert service.requests[-1].all("Max-Forwards") == [seen]


def test_other_methods_do_not_count_hops(router, service):
    one = router(configuration(service.port))
    for method in ("GET", "DELETE"):
        assert ask(one.port(), method, Max_Forwards="0").status == 200
        assert service.requests[-1].get("Max-Forwards") == "0"


@pytest.mark.parametrize("value", ["", "x", "-1", "1, 2", "99999999999999999999"])
def test_a_limit_that_is_no_number_is_refused(router, service, value):
    one = router(configuration(service.port))
    assert ask(one.port(), "OPTIONS", Max_Forwards=value).status == 400
    assert not service.requests


def test_access_rules_come_first(router, service):
    one = router(configuration(service.port, routes=[{"backend": "service", "deny": ["127.0.0.1"]}]))
    assert ask(one.port(), "OPTIONS", Max_Forwards="0").status == 403


def test_via_is_off_by_default(router, service):
    one = router(configuration(service.port))
    assert ask(one.port(), Via="1.1 cdn").status == 200
    assert service.requests[0].all("Via") == ["1.1 cdn"]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_via_names_the_router_behind_those_before_it(router, service, version):
    one = router(configuration(service.port, via="edge-1"))
    assert ask(one.port(), version=version, Via="1.1 cdn").status == 200
    assert service.requests[0].all("Via") == ["1.1 cdn", f"{version} edge-1"]


@pytest.mark.parametrize("value", ["1.1 edge-1", "1.0 cdn, 2 EDGE-1 (ebbgate), 1.1 other"])
def test_a_request_that_comes_back_is_refused(router, service, value):
    one = router(configuration(service.port, via="edge-1", cause_header=True))
    answer = ask(one.port(), Via=value)
    assert (answer.status, answer.get("Ebbgate-Cause")) == (508, "forwarding_loop")
    assert one.logged(status=508)["cause"] == "forwarding_loop"
    assert ask(one.port(), Via="1.1 edge-10").status == 200


def test_a_router_that_is_its_own_endpoint_says_so(router):
    settings = configuration(via="edge-1")
    settings["backends"][0]["endpoints"] = [{"address": settings["listeners"][0]["bind"]}]
    one = router(settings)
    assert ask(one.port()).status == 508
    assert len(one.log()) <= 3


# The same over HTTP/2


def ask_h2(port, method="GET", target="/", **fields):
    with http2.dial(port) as client:
        return client.get(method, target, fields=[(name.lower().replace("_", "-"), value) for name, value in fields.items()])


def test_what_may_go_no_further_is_answered_here_over_http_2(router, service):
    one = router(configuration(service.port))
    for target in ("/", "*"):
        answer = ask_h2(one.port(), "OPTIONS", target, Max_Forwards="0")
        assert (answer.status, bytes(answer.body)) == (204, b"")
        assert "GET" in answer.get("allow") and "TRACE" not in answer.get("allow")
    answer = ask_h2(one.port(), "TRACE", Max_Forwards="0")
    assert answer.status == 405 and answer.get("allow")
    assert ask_h2(one.port(), "OPTIONS", Max_Forwards="x").status == 400
    assert not service.requests
    assert ask_h2(one.port(), "OPTIONS", Max_Forwards="10").status == 200
    assert service.requests[-1].all("Max-Forwards") == ["9"]


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_via_over_http_2(router, backend, protocol):
    service = backend(http2.naming("x") if protocol == "h2c" else awkward.named("x"))
    settings = configuration(service.port, via="edge-1", cause_header=True)
    settings["backends"][0]["protocol"] = protocol
    one = router(settings)
    assert ask_h2(one.port(), Via="1.1 cdn").status == 200
    assert service.requests[0].all("via" if protocol == "h2c" else "Via") == ["1.1 cdn", "2 edge-1"]
    answer = ask_h2(one.port(), Via="1.1 other, 2 edge-1")
    assert (answer.status, answer.get("ebbgate-cause")) == (508, "forwarding_loop")
    assert one.logged(status=508)["cause"] == "forwarding_loop"
    assert len(service.requests) == 1
