"""What routes ask for besides sending: who may pass, what is answered here, what the other side sees. HTTP/1 and HTTP/2
clients get the same."""

import collections
import hashlib
import json
import pathlib
import ssl
import subprocess

import pytest

import awkward
import http2
from curl import ask
from http1 import request, response, trusting_context
from router import BINARY, PORTS, configuration, wait_until
from router import backend as backend_of

LOCAL = ["127.0.0.0/8"]


@pytest.fixture(params=["1.1", "2"])
def version(request):
    return request.param


def routed(service, *routes, **sections):
    """Routes to one backend unless they say otherwise."""
    filled = [route if {"backend", "backends", "redirect"} & route.keys() else {"backend": "service", **route} for route in routes]
    return configuration(service.port, routes=filled, **sections)


def secured(settings, certificates, **listener):
    settings["listeners"].append({"name": "secure", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "https",
                                  "certificates": [certificates("localhost", "ecdsa", "localhost")], **listener})
    return settings


# Matching

def test_route_is_found_by_method_fields_query_and_listener(router, backend, version):
    names = ["plain", "posts", "testers", "beta", "inner"]
    services = {name: backend(awkward.named(name)) for name in names}
    settings = configuration(
        routes=[{"name": name, "backend": name, **conditions} for name, conditions in zip(names, (
            {}, {"methods": ["POST"]}, {"headers": {"X-Tester": {"regex": "[a-z]+"}}}, {"query": {"beta": "1"}},
            {"listeners": ["inside"]}))],
        backends=[backend_of(service.port, name=name) for name, service in services.items()])
    settings["listeners"].append({"name": "inside", "bind": f"127.0.0.1:{PORTS.take()}"})
    one = router(settings)

    def answer(target="/", listener="web", **options):
        return ask(one.port(listener), target, version, **options).body.decode()

    assert answer() == "plain"
    assert answer(body=b"x") == "posts"
    assert answer(X_Tester="ann") == "testers"
    assert answer(X_Tester="1") == "plain"
    assert answer("/?a&beta=1") == "beta"
    assert answer("/?beta=1", X_Tester="ann") == "testers"
    assert answer("/?beta=1", listener="inside", X_Tester="ann") == "inner"


# Who may pass

def test_addresses_that_are_not_allowed_are_refused(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"path": "/in", "allow": LOCAL}, {"path": "/out", "allow": ["192.0.2.0/24"]},
                        {"path": "/denied", "deny": ["127.0.0.1"]}, {"path": "/both", "allow": LOCAL, "deny": ["127.0.0.1"]}))
    assert ask(one.port(), "/in", version).status == 200
    for path in ("/out", "/denied", "/both"):
        assert ask(one.port(), path, version).status == 403
        assert one.logged(target=path, status=403)["cause"] == "client_address_refused"
    assert len(service.requests) == 1


def test_address_behind_a_trusted_proxy_counts(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"allow": ["192.0.2.0/24"]}, trusted_proxies=LOCAL))
    assert ask(one.port(), "/", version, X_Forwarded_For="198.51.100.1, 192.0.2.7").status == 200
    assert ask(one.port(), "/", version, X_Forwarded_For="192.0.2.7, 198.51.100.1").status == 403
    assert ask(one.port(), "/", version).status == 403


def test_claims_of_an_untrusted_client_about_its_address_do_not_count(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"allow": ["192.0.2.0/24"]}))
    assert ask(one.port(), "/", version, X_Forwarded_For="192.0.2.7").status == 403


def test_passthrough_is_refused_to_addresses_too(router, backend):
    service = backend(awkward.named("x"))
    settings = routed(service, {"host": "closed.test", "tls": "passthrough", "deny": LOCAL},
                      {"host": "open.test", "tls": "passthrough", "allow": LOCAL},
                      {"host": "none.test", "tls": "passthrough", "backends": [{"name": "service", "weight": 0}]})
    settings["listeners"][0]["protocol"] = "tls-passthrough"
    one = router(settings)
    for name, cause in (("closed.test", "client_address_refused"), ("none.test", "backend_empty")):
        with pytest.raises(OSError):
            one.dial(tls=trusting_context(), name=name)
        one.logged(cause=cause)
        assert not service.streams
    greeting = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        trusting_context().wrap_bio(ssl.MemoryBIO(), greeting, server_hostname="open.test").do_handshake()
    with one.dial() as client:
        client.send(greeting.read())
        wait_until(lambda: any(service.received), what="the greeting at the backend, which speaks no TLS")
    assert len(service.streams) == 1


def at_once(one, target, version, count):
    """The answers to so many requests of one client, which the router finds all at once."""
    if version == "2":
        with http2.dial(one.port()) as client:
            with one.stopped():
                streams = [client.ask(target=target) for _ in range(count)]
            return [client.answer(stream) for stream in streams]
    with one.dial() as client:
        with one.stopped():
            client.send(request(target=target) * count)
        return [client.read_response() for _ in range(count)]


def test_rate_limit_answers_429_with_retry_after(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"path": "/slow", "rate_limit": {"requests": 1, "burst": 3}}, {"path": "/"},
                        trusted_proxies=LOCAL))
    answers = at_once(one, "/slow", version, 20)  # a second is not long on a busy machine
    assert [answer.status for answer in answers[:3]] == [200] * 3
    refused = [answer for answer in answers if answer.status == 429]
    assert refused and all(int(answer.get("retry-after")) >= 1 for answer in refused)
    assert one.logged(status=429)["cause"] == "client_rate_limited"
    assert ask(one.port(), "/", version).status == 200
    assert ask(one.port(), "/slow", version, X_Forwarded_For="192.0.2.1").status == 200


def test_refusals_come_before_redirects_and_bodies(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"deny": LOCAL, "redirect": {"host": "elsewhere.test"}, "body_bytes": 1}))
    assert ask(one.port(), "/", version, body=b"xx").status == 403


def test_body_limit_of_the_route_comes_before_the_global_one(router, backend, version):
    service = backend(awkward.echoing())
    one = router(routed(service, {"path": "/small", "body_bytes": 10}, {"path": "/any", "body_bytes": 0}, {"path": "/"},
                        limits={"body_bytes": 100}))
    chunked = {"Transfer_Encoding": "chunked"} if version == "1.1" else {"Content_Length": ""}
    for fields in ({}, chunked):
        assert ask(one.port(), "/small", version, body=b"x" * 10, **fields).body == b"x" * 10
        assert ask(one.port(), "/small", version, body=b"x" * 11, **fields).status == 413
        assert ask(one.port(), "/", version, body=b"x" * 101, **fields).status == 413
        assert ask(one.port(), "/any", version, body=b"x" * 1000, **fields).status == 200


@pytest.mark.parametrize("route, status", [({"body_bytes": 10}, 413), ({"redirect": {"path": "/new"}}, 302), ({"deny": LOCAL}, 403)],
                         ids=["too large", "redirect", "denied"])
def test_client_that_waits_for_100_is_answered_and_sends_no_body(router, backend, route, status):
    service = backend(awkward.echoing())
    one = router(routed(service, route))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
        answer = client.read_head()
        assert answer.status == status
        client.read(int(answer.get("Content-Length")))
        assert client.is_closed()
    assert not service.requests


# Answered here

@pytest.mark.parametrize("redirect, status, place", [
    ({"scheme": "https"}, 302, "https://shop.test/a/b?c=d"),
    ({"scheme": "https", "port": 8443, "status": 301}, 301, "https://shop.test:8443/a/b?c=d"),
    ({"host": "other.test", "status": 307}, 307, "http://other.test:{port}/a/b?c=d"),
    ({"path": "/new", "port": 80, "status": 303}, 303, "http://shop.test/new?c=d"),
    ({"prefix": "/z", "port": 80, "status": 308}, 308, "http://shop.test/z/b?c=d"),
], ids=["scheme", "port", "host", "path", "prefix"])
def test_redirect_needs_no_backend(router, backend, version, redirect, status, place):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"name": "moved", "path": "/a", "redirect": redirect}))
    for method in (None, "HEAD"):
        answer = ask(one.port(), "/a/b?c=d", version, method, host="shop.test")
        assert (answer.status, answer.get("location")) == (status, place.format(port=one.port()))
        assert (answer.get("content-length"), answer.body) == ("0", b"")
    assert one.logged(route="moved", status=status)["cause"] == "completed"
    assert not service.requests


def test_redirected_connection_is_kept(router, backend):
    one = router(routed(backend(awkward.named("x")), {"path": "/old", "redirect": {"path": "/new"}}, {"path": "/"}))
    with one.dial() as client:
        client.send(request(target="/old") + request(target="/old") + request())
        assert [client.read_response().status for _ in range(3)] == [302, 302, 200]


CORS = {"origins": ["https://*.shop.test"], "methods": ["GET", "PUT"], "headers": ["X-Cart"], "credentials": True, "max_age": "10m"}


def test_preflight_is_answered_by_the_router(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"cors": CORS}))
    asked = {"Access_Control_Request_Method": "PUT", "Access_Control_Request_Headers": "x-cart"}
    answer = ask(one.port(), "/", version, "OPTIONS", Origin="https://www.shop.test", **asked)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.get("content-length") is None
    assert answer.get("access-control-allow-origin") == "https://www.shop.test"
    assert answer.get("access-control-allow-methods") == "GET, PUT"
    assert answer.get("access-control-allow-headers") == "X-Cart"
    assert answer.get("access-control-max-age") == "600"
    assert ask(one.port(), "/", version, "OPTIONS", Origin="https://evil.test", **asked).get("access-control-allow-origin") is None
    assert not service.requests
    assert ask(one.port(), "/", version, "OPTIONS").body == b"x"  # no preflight


def test_preflight_is_answered_by_the_route_of_the_request_to_come(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"path": "/cart", "methods": ["PUT"], "cors": CORS}, {"path": "/plain", "methods": ["PUT"]},
                        {"name": "put", "path": "/both", "methods": ["PUT"], "cors": CORS},
                        {"name": "options", "path": "/both", "methods": ["OPTIONS"]}))

    def preflight(path, method):
        return ask(one.port(), path, version, "OPTIONS", Origin="https://www.shop.test", Access_Control_Request_Method=method)

    for path in ("/cart", "/both"):
        answer = preflight(path, "PUT")
        assert (answer.status, answer.get("access-control-allow-methods")) == (204, "GET, PUT")
    assert preflight("/cart", "DELETE").status == 404  # no route would serve it
    assert preflight("/plain", "PUT").status == 404  # its route knows nothing of origins, and OPTIONS has none
    assert not service.requests
    assert preflight("/both", "DELETE").body == b"x"  # as any OPTIONS
    assert ask(one.port(), "/cart", version, "OPTIONS").status == 404


def test_origins_are_the_routes_matter_not_the_backends(router, backend, version):
    service = backend(awkward.answering(lambda _: response(b"x", Access_Control_Allow_Origin="*")))
    one = router(routed(service, {"path": "/cors", "cors": CORS}, {"path": "/limited", "cors": CORS, "deny": LOCAL}, {"path": "/"}))
    assert ask(one.port(), "/cors", version, Origin="https://www.shop.test").all("access-control-allow-origin") == ["https://www.shop.test"]
    assert ask(one.port(), "/cors", version, Origin="https://evil.test").all("access-control-allow-origin") == []
    assert ask(one.port(), "/cors", version).get("vary") == "Origin"
    refused = ask(one.port(), "/limited", version, Origin="https://www.shop.test")
    assert (refused.status, refused.get("access-control-allow-origin")) == (403, "https://www.shop.test")
    assert ask(one.port(), "/", version, Origin="https://www.shop.test").all("access-control-allow-origin") == ["*"]


def test_hsts_is_sent_over_tls_only_and_once(router, backend, certificates, version):
    service = backend(awkward.answering(lambda _: response(b"x", Strict_Transport_Security="max-age=1")))
    hsts = {"max_age": "1h", "include_subdomains": True}
    one = router(secured(routed(service, {"path": "/", "hsts": hsts},
                                {"path": "/old", "hsts": hsts, "redirect": {"path": "/new"}}), certificates))
    for path, status in (("/", 200), ("/old", 302)):
        answer = ask(one.port("secure"), path, version, tls=True)
        assert (answer.status, answer.all("strict-transport-security")) == (status, ["max-age=3600; includeSubDomains"])
    assert ask(one.port(), "/old", version).all("strict-transport-security") == []


# What the other side sees

def test_fields_are_set_added_and_removed_both_ways(router, backend, version):
    service = backend(awkward.answering(lambda _: response(b"x", Server="secret", X_Keep="1", X_Twice="a")))
    one = router(routed(service, {
        "request_headers": {"set": {"X-Env": "live", "User-Agent": "ebb"}, "add": {"X-Twice": "b"}, "remove": ["Cookie"]},
        "response_headers": {"set": {"X-Frame-Options": "DENY"}, "add": {"X-Twice": "b"}, "remove": ["Server"]}}))
    answer = ask(one.port(), "/", version, X_Env="forged", X_Twice="a", Cookie="a=b")
    seen = service.requests[0]
    assert (seen.all("X-Env"), seen.all("User-Agent"), seen.all("X-Twice"), seen.all("Cookie")) == (["live"], ["ebb"], ["a", "b"], [])
    assert (answer.all("server"), answer.all("x-keep"), answer.all("x-twice")) == ([], ["1"], ["a", "b"])
    assert answer.all("x-frame-options") == ["DENY"]


def test_answers_of_the_router_are_changed_too(router, backend, version):
    one = router(routed(backend(awkward.named("x")), {"deny": LOCAL, "response_headers": {"set": {"X-Frame-Options": "DENY"}}}))
    answer = ask(one.port(), "/", version)
    assert (answer.status, answer.get("x-frame-options")) == (403, "DENY")


def test_forwarding_fields_that_the_route_sets_are_the_routes(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"request_headers": {"set": {"X-Forwarded-Proto": "https"}, "remove": ["Forwarded", "X-Forwarded-Port"]}}))
    ask(one.port(), "/", version, X_Forwarded_Proto="ftp", Forwarded="for=1.2.3.4")
    seen = service.requests[0]
    assert (seen.all("X-Forwarded-Proto"), seen.all("Forwarded"), seen.all("X-Forwarded-Port")) == (["https"], [], [])
    assert seen.all("X-Forwarded-For") == ["127.0.0.1"]


@pytest.mark.parametrize("rewrite, target, seen_target, seen_host", [
    ({"host": "inside.test"}, "/a?b=c", "/a?b=c", "inside.test"),
    ({"prefix": "/v2"}, "/a/x?b=c", "/v2/x?b=c", "shop.test"),
    ({"prefix": "/"}, "/a", "/", "shop.test"),
    ({"path": "/one", "host": "inside.test"}, "/a/x?b=c", "/one?b=c", "inside.test"),
], ids=["host", "prefix", "to the root", "path"])
def test_rewrite_is_what_the_backend_sees(router, backend, version, rewrite, target, seen_target, seen_host):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"path": "/a", "rewrite": rewrite}))
    assert ask(one.port(), target, version, host="shop.test").status == 200
    seen = service.requests[0]
    assert (seen.target, seen.all("Host"), seen.all("X-Forwarded-Host")) == (seen_target, [seen_host], ["shop.test"])
    assert one.logged(status=200)["target"] == target


CLAIMS = {"X_Forwarded_For": "192.0.2.1", "X_Forwarded_Proto": "https", "X_Forwarded_Host": "front.test", "Forwarded": "for=192.0.2.1"}


@pytest.mark.parametrize("mode, expected", [
    ("append", (["192.0.2.1, 127.0.0.1"], ["http"], ["localhost"], 2)),
    ("replace", (["127.0.0.1"], ["http"], ["localhost"], 1)),
    ("if_none", (["192.0.2.1"], ["https"], ["front.test"], 1)),
    ("never", (["192.0.2.1"], ["https"], ["front.test"], 1)),
])
def test_forwarding_fields_follow_their_mode(router, backend, version, mode, expected):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"path": "/", "forwarded": mode}, {"path": "/global"}, forwarded=mode))
    for path in ("/", "/global"):
        ask(one.port(), path, version, **CLAIMS)
        seen = service.requests.pop()
        assert (seen.all("X-Forwarded-For"), seen.all("X-Forwarded-Proto"), seen.all("X-Forwarded-Host")) == expected[:3]
        assert seen.get("Forwarded").count("for=") == expected[3]
        ask(one.port(), path, version)
        assert service.requests.pop().all("X-Forwarded-For") == ([] if mode == "never" else ["127.0.0.1"])


def test_trusted_proxy_says_where_the_client_came_in(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {}, trusted_proxies=LOCAL))
    ask(one.port(), "/", version, X_Forwarded_Port="443", **CLAIMS)
    seen = service.requests[0]
    assert seen.all("X-Forwarded-For") == ["192.0.2.1, 127.0.0.1"]
    assert (seen.all("X-Forwarded-Proto"), seen.all("X-Forwarded-Host"), seen.all("X-Forwarded-Port")) == (["https"], ["front.test"], ["443"])


def test_nobody_forges_the_fields_of_a_client_certificate(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"forwarded": "never"}))
    ask(one.port(), "/", version, X_Client_Certificate_Verified="true", options=["-H", "X_Client_Certificate_Subject: CN=Eve"])
    assert not [name for name, _ in service.requests[0].fields if "certificate" in name.lower()]


def test_backend_learns_of_the_clients_certificate(router, backend, certificates, version):
    service, ours = backend(awkward.named("x")), certificates("ann", "ecdsa", "ann.test")
    one = router(secured(routed(service, {}), certificates, client_certificates={"mode": "optional", "ca": ours["cert"]}))
    shown = ["--cert", ours["cert"], "--key", ours["key"]]
    for options in (shown, []):
        assert ask(one.port("secure"), "/", version, tls=True, options=options, X_Client_Certificate_Subject="CN=Eve").status == 200
    told, untold = [{name: value for name, value in seen.fields if name.startswith("X-Client-Certificate")} for seen in service.requests]
    der = ssl.PEM_cert_to_DER_cert(pathlib.Path(ours["cert"]).read_text())
    serial = subprocess.run(["openssl", "x509", "-noout", "-serial", "-in", ours["cert"]], capture_output=True, text=True, check=True).stdout
    assert told == {"X-Client-Certificate-Verified": "true", "X-Client-Certificate-Subject": "CN=ann.test",
                    "X-Client-Certificate-Sha256": hashlib.sha256(der).hexdigest(),
                    "X-Client-Certificate-Serial": serial.strip().removeprefix("serial=")}
    assert untold == {}


# Shares

def test_weights_divide_the_requests(router, backend):
    services = [backend(awkward.named(name)) for name in ("large", "small", "none")]
    shares = [{"name": "large", "weight": 90}, {"name": "small", "weight": 10, "response_headers": {"set": {"X-Share": "small"}},
                                                "request_headers": {"set": {"X-To": "small"}}}, {"name": "none", "weight": 0}]
    one = router(configuration(routes=[{"backends": shares, "response_headers": {"set": {"X-Share": "any", "X-Route": "yes"}}}],
                               backends=[backend_of(service.port, name=name) for name, service in zip(("large", "small", "none"), services)]))
    seen = collections.Counter()
    with one.dial() as client:
        for _ in range(100):
            client.send(request() * 10)
            for _ in range(10):
                answer = client.read_response()
                seen[answer.body] += 1
                assert answer.all("X-Share") == (["small"] if answer.body == b"small" else ["any"])
                assert answer.all("X-Route") == ["yes"]
    # Five standard deviations of 1,000 draws with 1 in 10.
    assert 52 <= seen[b"small"] <= 148 and seen[b"large"] == 1000 - seen[b"small"]
    assert all(one.get("X-To") == "small" for one in services[1].requests)
    assert one.metric("ebbgate_requests_total", backend="small") == seen[b"small"]


def test_route_whose_shares_all_weigh_nothing_is_503(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"backends": [{"name": "service", "weight": 0}]}))
    assert ask(one.port(), "/", version).status == 503
    one.logged(status=503, cause="backend_empty")


# Bodies of errors

def test_bodies_of_errors_are_the_routes_then_the_global_ones(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(routed(service, {"path": "/own", "deny": LOCAL, "errors": [{"status": 403, "body": "<h1>own</h1>"}]},
                        {"path": "/other", "deny": LOCAL}, {"path": "/fine"},
                        errors=[{"status": "4xx", "body": '{"error": true}', "type": "application/json"}]))
    own = ask(one.port(), "/own", version)
    assert (own.status, own.body, own.get("content-type")) == (403, b"<h1>own</h1>", "text/html; charset=utf-8")
    for path, status in (("/other", 403), ("/nowhere", 404)):
        answer = ask(one.port(), path, version)
        assert (answer.status, answer.body, answer.get("content-type")) == (status, b'{"error": true}', "application/json")
        bare = ask(one.port(), path, version, "HEAD")
        assert (bare.status, bare.get("content-length"), bare.body) == (status, "15", b"")
    call = ask(one.port(), "/own", version, body=b"", Content_Type="application/grpc")
    assert (call.status, call.get("grpc-status"), call.body) == (200, "7", b"")


def test_malformed_requests_get_the_global_body(router, backend):
    one = router(routed(backend(awkward.named("x")), {}, errors=[{"status": 400, "body": "no"}]))
    with one.dial() as client:
        client.send(b"GET / HTTP/1.1\r\nBad Name: x\r\n\r\n")
        answer = client.read_response()
        assert (answer.status, answer.body) == (400, b"no")


# What is malformed is refused as a whole

@pytest.mark.parametrize("route, words", [
    ({"allow": ["10.0.0.0/33"]}, "routes[0].allow"), ({"deny": ["10.0.0.0/8", "nonsense"]}, "routes[0].deny"),
    ({"allow": "127.0.0.1; rm"}, "routes[0].allow"), ({"allow": []}, "routes[0].allow"), ({"deny": None}, "routes[0].deny"),
    ({"allow": ["10.0.0.1/8"]}, "routes[0].allow"),
    ({"rate_limit": {"requests": 0}}, "rate_limit.requests"), ({"request_headers": {"set": {"Host": "x"}}}, "Host"),
    ({"request_headers": {"set": {"X-Client-Certificate-Verified": "true"}}}, "X-Client-Certificate-Verified"),
    ({"cors": {"origins": ["*"], "credentials": True}}, "cors.origins"), ({"mirrors": [{"backend": "none"}]}, "mirrors[0].backend"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_malformed_policy_refuses_the_file(tmp_path, route, words):
    file = tmp_path / "gate.yaml"
    file.write_text(json.dumps(configuration(1, routes=[{"backend": "service", **route}])))
    done = subprocess.run([BINARY, "check", "-c", file], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert words in done.stdout + done.stderr


# Trailers

EDITED = {"set": {"X-Auth": "internal"}, "remove": ["X-Debug"]}
TRAILERS = [("X-Auth", "forged"), ("X-Debug", "1"), ("X-Sum", "42")]
LINES = "".join(f"{name}: {value}\r\n" for name, value in TRAILERS)


def keeping_trailers(answer):
    """Reads chunked requests; `heads` and `trailers` are what came, in small letters."""
    def serve(stream, known):
        while True:
            known.heads.append(stream.read_until(b"\r\n\r\n").lower())
            while stream.read_until(b"\r\n").strip() != b"0":
                stream.read_until(b"\r\n")
            known.trailers.append(stream.read_until(b"\r\n").lower())
            while known.trailers[-1] != b"\r\n" and not known.trailers[-1].endswith(b"\r\n\r\n"):
                known.trailers[-1] += stream.read_until(b"\r\n").lower()
            stream.send(answer)

    return serve


def edited(backend, answer, **rules):
    service = backend(keeping_trailers(answer))
    service.heads, service.trailers = [], []
    return service, routed(service, rules)


def test_trailers_of_a_request_do_not_bring_what_the_route_sets_or_removes(router, backend, version):
    service, settings = edited(backend, response(b"ok"), request_headers=EDITED)
    one = router(settings)
    sent = [*TRAILERS, ("X_Auth", "twin"), ("x.debug", "twin")]
    if version == "2":
        with http2.dial(one.port()) as client:
            stream = client.ask("POST", fields=[("trailer", "x-sum, x-auth")], end=False)
            client.send_body(stream, b"body")
            client.send_head(stream, [(name.lower(), value) for name, value in sent], end=True)
            assert client.answer(stream).status == 200
    else:
        with one.dial() as client:
            lines = "".join(f"{name}: {value}\r\n" for name, value in sent)
            client.send(f"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Auth\r\n\r\n4\r\nbody\r\n0\r\n{lines}\r\n".encode())
            assert client.read_response().status == 200
    assert service.trailers == [b"x-sum: 42\r\n\r\n"]
    assert b"x-auth: internal\r\n" in service.heads[0] and b"trailer:" not in service.heads[0]


def test_trailers_of_a_response_do_not_bring_what_the_route_sets_or_removes(router, backend, version):
    answer = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Debug\r\n\r\n4\r\nbody\r\n0\r\n{LINES}\r\n".encode()
    _, settings = edited(backend, answer, response_headers=EDITED)
    one = router(settings)
    if version == "2":
        with http2.dial(one.port()) as client:
            got = client.get("POST", body=b"x")
            assert [(str(name), str(value)) for name, value in got.trailers] == [("x-sum", "42")]
            assert (got.get("x-auth"), got.get("trailer")) == ("internal", None)
    else:
        with one.dial() as client:
            client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
            head = client.read_until(b"\r\n\r\n").lower()
            assert b"x-auth: internal" in head and b"trailer:" not in head
            assert client.read_until(b"\r\n\r\n").lower() == b"4\r\nbody\r\n0\r\nx-sum: 42\r\n\r\n"


def test_other_trailers_pass_a_route_with_edits(router, backend):
    service, settings = edited(backend, response(b"ok"), request_headers={"set": {"X-Other": "1"}})
    one = router(settings)
    with one.dial() as client:
        client.send(f"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\nx\r\n0\r\n{LINES}\r\n".encode())
        assert client.read_response().status == 200
    assert service.trailers == [f"{LINES}\r\n".lower().encode()]
    assert b"trailer: x-sum\r\n" in service.heads[0]
