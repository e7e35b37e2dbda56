"""What clients claim about themselves, and fields that a program behind the router would take for ours."""

import pytest

import awkward
import http2
from http1 import dial
from router import configuration

LOCAL = ["127.0.0.0/8"]


@pytest.fixture(params=["1.1", "2"])
def ask(request):
    """ask(port, target, [(name, value)]) -> status, fields as they are given."""

    def by_http1(port, target="/", fields=()):
        with dial(port) as stream:
            lines = [f"GET {target} HTTP/1.1", "Host: localhost", "Connection: close", *(f"{name}: {value}" for name, value in fields)]
            stream.send("\r\n".join(lines).encode() + b"\r\n\r\n")
            return stream.read_response().status

    def by_http2(port, target="/", fields=()):
        with http2.dial(port) as client:
            return client.get(target=target, fields=[(name.lower(), value) for name, value in fields]).status

    return by_http1 if request.param == "1.1" else by_http2


def allowing(service, **sections):
    return configuration(service.port, routes=[{"backend": "service", "allow": ["10.9.0.0/16"]}], **sections)


@pytest.mark.parametrize("lines", [31, 32, 33, 80])
def test_forged_lines_do_not_hide_what_the_trusted_proxy_says(router, backend, ask, lines):
    """The proxy appends a line of its own; those before it are the client's."""
    service = backend(awkward.named("x"))
    one = router(allowing(service, trusted_proxies=LOCAL))
    forged = [("X-Forwarded-For", "10.9.0.1")] * lines
    assert ask(one.port(), "/", [*forged, ("X-Forwarded-For", "198.51.100.7")]) == 403
    assert ask(one.port(), "/", [("X-Forwarded-For", ", ".join(["10.9.0.1"] * lines + ["198.51.100.7"]))]) == 403
    assert ask(one.port(), "/", [("X-Forwarded-For", "198.51.100.7")] * lines + [("X-Forwarded-For", "10.9.0.1")]) == 200
    assert len(service.requests) == 1


@pytest.mark.parametrize("keys", [{"allow": LOCAL}, {"rate_limit": {"requests": 100}}, {}], ids=["allow", "rate", "hash"])
def test_more_trusted_proxies_than_may_be_are_refused(router, backend, ask, keys):
    service = backend(awkward.named("x"))
    settings = configuration(service.port, trusted_proxies=[*LOCAL, "10.0.0.0/8"])
    settings["routes"] = [{"backend": "service", **keys}]
    settings["backends"][0]["balance"] = "round_robin" if keys else "source_hash"
    one = router(settings)
    assert ask(one.port(), "/", [("X-Forwarded-For", ", ".join(["127.0.0.1"] + ["10.0.0.1"] * 31))]) == 200
    assert ask(one.port(), "/", [("X-Forwarded-For", ", ".join(["127.0.0.1"] + ["10.0.0.1"] * 33))]) == 400
    assert one.logged(status=400)["cause"] == "client_too_many_hops"
    assert len(service.requests) == 1


@pytest.mark.parametrize("rule", [{"allow": LOCAL}, {"deny": ["192.0.2.0/24"]}], ids=["allow", "deny"])
def test_a_client_that_its_proxy_hides_is_not_taken_for_the_proxy(router, backend, ask, rule):
    service = backend(awkward.named("x"))
    settings = configuration(service.port, trusted_proxies=LOCAL)
    settings["routes"] = [{"backend": "service", **rule}, {"path": "/rate", "backend": "service", "rate_limit": {"requests": 100}},
                          {"path": "/open", "backend": "service"}]
    one = router(settings)
    for hidden in ("unknown", "198.51.100.7, unknown", "127.0.0.1, unknown, 127.0.0.2", "198.51.100.7,", "_hidden"):
        assert ask(one.port(), "/", [("X-Forwarded-For", hidden)]) == 403, hidden
        assert ask(one.port(), "/rate", [("X-Forwarded-For", hidden)]) == 200, hidden
        assert ask(one.port(), "/open", [("X-Forwarded-For", hidden)]) == 200, hidden
    assert one.logged(status=403)["cause"] == "client_address_refused"
    assert ask(one.port(), "/", [("X-Forwarded-For", "unknown, 127.0.0.1")]) == 403
    assert ask(one.port(), "/") == 200


TWINS = ["X_Forwarded_For", "X-Forwarded_For", "X_Forwarded_Host", "X_Forwarded_Port", "X_Forwarded_Proto", "Transfer_Encoding",
         "Content_Length", "Keep_Alive", "Proxy_Connection", "X_Client_Certificate_Subject", "X.Forwarded.For", "X_Real_IP", "X-Real-IP",
         "Max_Forwards", "X_Tenant", "x.role"]


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_twins_of_names_that_we_set_or_that_frame_are_dropped(router, backend, ask, protocol):
    service = backend(awkward.named("x") if protocol == "http1" else http2.naming("x"))
    settings = configuration(service.port)
    settings["routes"] = [{"backend": "service", "request_headers": {"set": {"X-Tenant": "a"}, "remove": ["X-Role"]}}]
    settings["backends"][0]["protocol"] = protocol
    one = router(settings)
    kept = [("User_Agent", "kept"), ("X_Other", "kept")]
    assert ask(one.port(), "/", [(name, "forged") for name in TWINS] + kept) == 200
    seen = service.requests[0]
    values = [value for _, value in seen.fields]
    assert "forged" not in values, seen.fields
    assert values.count("kept") == 2 and "a" in values


def test_a_trusted_proxys_own_line_counts_for_scheme_and_host(router, backend, ask):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port, trusted_proxies=LOCAL))
    assert ask(one.port(), "/", [("X-Forwarded-Proto", "https"), ("X-Forwarded-Proto", "http"), ("X-Real-IP", "192.0.2.1")]) == 200
    assert service.requests[0].get("X-Forwarded-Proto") == "http"
    assert service.requests[0].get("X-Real-IP") == "192.0.2.1"
