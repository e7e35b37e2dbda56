"""Paths are decided once: no spelling leads around a route that guards, and the endpoint gets what was matched."""

import base64
import hashlib
import time

import pytest

import awkward
import http2
from http1 import Closed, dial
from router import PORTS, configuration

# To an endpoint that decodes, merges, strips or resolves, each may be /admin or below it.
SPELLINGS = ["/x/../admin", "//admin", "/%61dmin", "/admin%2Fx", "/admin%2fx", "/./admin", "/;/admin", "/admin;x", "/%2e%2e/admin",
             "/x/%2E%2e/admin", "/x/..;/admin", "/x/..;a=b/admin", "/x/..%2Fadmin", "/x/..%5Cadmin", "/x/..%252Fadmin", "/x%2F..%2Fadmin",
             "/%2Fadmin", "/\\admin", "/x\\..\\admin", "/admin\\x", "/admin%5cx", "/admin%00", "/admin%3Fx", "/.;/admin", "/admin/../admin",
             "///admin", "/x/.././admin", "/x;/..;/admin", "/..//admin", "/ad%min", "/admin%", "/%61dmin?/../x", "/admin;?q",
             # Dot segments are removed before something else is decoded, merged or left out, or stay while it is.
             "/x%2Fy/../admin%2Fz", "/x%5Cy/../admin%5Cz", "/x%2Fy/../admin%3Fz", "/x%252fy/../admin%252fz", "/x%2Fy/%2e%2e/admin;z",
             "/x%2Fy/..%3B/admin", "/x%2Fy/..%5Cadmin", "/a//../../admin//z", "/%61dmin/../x", "/admin;/../x", "/admin%2f.."]
# By their normal form these are not below /admin.
RESOLVED = ["/%61dmin/../x", "/admin;/../x"]


@pytest.fixture(params=["1.1", "2"])
def version(request):
    return request.param


def ask(port, target, version="1.1", method="GET"):
    """The status; the target goes out byte for byte."""
    if version == "2":
        with http2.dial(port) as client:
            return client.get(method, target).status
    with dial(port) as stream:
        stream.send(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return stream.read_response(method).status


def upgrade(port, target, version):
    """The status of a request for a WebSocket."""
    if version == "2":
        with http2.dial(port) as client:
            client.wait_for(lambda: client.h2.remote_settings.get(8) == 1)  # SETTINGS_ENABLE_CONNECT_PROTOCOL
            stream = client.h2.get_next_available_stream_id()
            client.send_head(stream, [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", target),
                                      (":authority", "localhost"), ("sec-websocket-version", "13")])
            client.wait_for(lambda: client.halves[stream].fields)
            return client.halves[stream].status
    with dial(port) as stream:
        stream.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        return int(stream.read_until(b"\r\n\r\n").split()[1])


def listener(name, **keys):
    return {"name": name, "bind": f"127.0.0.1:{PORTS.take()}", **keys}


def guarded(service, rule, **keys):
    settings = configuration(service.port, routes=[{"name": "all", "backend": "service"},
                                                   {"name": "admin", "path": "/admin", "backend": "service", **rule}])
    settings["listeners"] = [listener("web", **keys)]
    return settings


RULES = {"deny": {"deny": ["0.0.0.0/0"]}, "allow": {"allow": ["10.0.0.0/8"]}, "rate": {"rate_limit": {"requests": 1, "burst": 1}}}


@pytest.mark.parametrize("paths", [None, "normalise", "refuse"])
def test_no_spelling_leads_around_an_access_rule(router, backend, version, paths):
    service = backend(awkward.named("x"))
    one = router(guarded(service, RULES["deny"], **({"paths": paths} if paths else {})))
    sent = [target for target in SPELLINGS if paths != "normalise" or target not in RESOLVED]
    statuses = {target: ask(one.port(), target, version) for target in sent}
    assert set(statuses.values()) <= {400, 403}, statuses
    assert ask(one.port(), "/admin", version) == 403
    assert ask(one.port(), "/open", version) == 200
    assert [seen.target for seen in service.requests] == ["/open"]
    assert one.logged(target="/admin%2Fx", status=400)["cause"] == "client_path_ambiguous"


def test_no_spelling_of_a_websocket_leads_around_an_access_rule(router, backend, version):
    def accept(stream, known):
        known.requests.append(stream.read_request())
        stream.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                    b"Sec-WebSocket-Accept: " + accept_for(known.requests[-1].get("Sec-WebSocket-Key")) + b"\r\n\r\n")
        stream.read_to_end()

    service = backend(accept)
    one = router(guarded(service, RULES["deny"]))
    statuses = {target: upgrade(one.port(), target, version) for target in SPELLINGS}
    assert set(statuses.values()) <= {400, 403}, statuses
    assert upgrade(one.port(), "/admin", version) == 403
    assert not service.requests
    assert upgrade(one.port(), "/open", version) == (200 if version == "2" else 101)
    assert [seen.target for seen in service.requests] == ["/open"]


def accept_for(key):
    """RFC 6455 section 4.2.2."""
    return base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())


def test_no_spelling_leads_around_a_rate_limit(router, backend):
    service = backend(awkward.named("x"))
    one = router(guarded(service, {"rate_limit": {"requests": 1, "burst": 1}}))
    started = time.monotonic()
    statuses = [ask(one.port(), target) for target in SPELLINGS * 2]
    assert statuses.count(200) <= 1 + time.monotonic() - started and set(statuses) <= {200, 400, 429}
    assert {seen.target.partition("?")[0] for seen in service.requests} <= {"/admin"}


def test_what_no_route_serves_is_not_reached_through_one_that_is_served(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port, routes=[{"path": "/public", "backend": "service"}]))
    for target in ("/public/../secret", "/public/%2e%2e/secret"):
        assert ask(one.port(), target, version) == 404
    for target in ("/public/..%2Fsecret", "/public/..;/secret", "/public/..%5Csecret", "/public/..\\secret", "/public/..%252fsecret"):
        assert ask(one.port(), target, version) == 400
    assert not service.requests
    assert ask(one.port(), "/public/a%2Fb;c=1//d", version) == 200
    assert service.requests[0].target == "/public/a%2Fb;c=1//d"


ABSOLUTE = ["http://localhost/x/../admin", "http://localhost//admin", "http://localhost/%61dmin", "HTTP://localhost:80/admin;x"]


@pytest.mark.parametrize("target", ABSOLUTE)
def test_absolute_targets_are_no_way_around_either(router, backend, target):
    service = backend(awkward.named("x"))
    one = router(guarded(service, RULES["allow"]))
    assert ask(one.port(), target) in (400, 403)
    assert not service.requests


# What is sent, what the endpoint gets: one route for all, nothing guarded.
FORMS = {"/a/b?x=/../y&z=%61": "/a/b?x=/../y&z=%61", "/caf%C3%A9/a%20b": "/caf%C3%A9/a%20b", "/projects/group%2Fname": "/projects/group%2Fname",
         "/fetch/https://a.test//b": "/fetch/https://a.test//b", "/shop;jsessionid=1/x": "/shop;jsessionid=1/x", "/.well-known/x": "/.well-known/x",
         "/a/./b/../c": "/a/c", "/%7Euser/%61": "/~user/a", "/a%2fb": "/a%2Fb", "/..": "/", "/a/..?q": "/?q"}


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_the_endpoint_gets_what_was_matched(router, backend, version, protocol):
    service = backend(awkward.named("x") if protocol == "http1" else http2.naming("x"))
    settings = configuration(service.port)
    settings["listeners"][0]["paths"] = "normalise"
    settings["backends"][0]["protocol"] = protocol
    one = router(settings)
    for target in FORMS:
        assert ask(one.port(), target, version) == 200, target
    assert [seen.target for seen in service.requests] == list(FORMS.values())
    assert one.logged(target="/a/./b/../c")["status"] == 200  # the log has what was sent


def test_nothing_is_touched_where_nothing_is_guarded(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port, routes=[{"name": "all", "backend": "service"}, {"path": "/admin", "backend": "service"}]))
    sent = [*SPELLINGS, *FORMS]
    assert [ask(one.port(), target, version) for target in sent] == [200] * len(sent)
    assert [seen.target for seen in service.requests] == sent


def test_options_for_the_server_as_a_whole_has_no_path(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port))
    assert ask(one.port(), "*", version, "OPTIONS") == 200
    assert service.requests[0].target == "*"


def test_paths_pass_as_they_are_where_so_asked(router, backend, version):
    service = backend(awkward.named("x"))
    sent = ["/a/../b", "/%61;//c\\d", "/100%", "/a%2fb"]
    one = router(guarded(service, RULES["allow"], paths="as_is"))
    assert [ask(one.port(), target, version) for target in sent] == [200] * len(sent)
    assert [seen.target for seen in service.requests] == sent


def test_a_route_has_its_own_mode(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port, routes=[
        {"name": "all", "backend": "service"}, {"path": "/files", "backend": "service", "paths": "as_is"},
        {"path": "/strict", "backend": "service", "paths": "refuse"}]))
    assert ask(one.port(), "/files/./a%2f..//b", version) == 200
    assert service.requests[-1].target == "/files/./a%2f..//b"
    for target in ("/strict/a//b", "/strict/a;b", "/x/../strict", "/strict%2Fa"):
        assert ask(one.port(), target, version) == 400, target
    assert ask(one.port(), "/strict/a%20b", version) == 200


def test_a_route_with_its_own_mode_is_not_left_by_dot_segments(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port, routes=[
        {"name": "all", "backend": "service"}, {"path": "/strict", "backend": "service", "paths": "refuse"},
        {"path": "/norm", "backend": "service", "paths": "normalise"}]))
    for target in ("/strict/../x", "/strict/%2e%2e/x", "/strict/../norm"):
        assert ask(one.port(), target, version) == 400, target
    assert ask(one.port(), "/norm/../x", version) == 200
    assert [seen.target for seen in service.requests] == ["/x"]


MANY_READINGS = "/a;b%2Fc//d%5Ce/./f%253Bg/..%252Fq"


def test_paths_with_too_many_readings_are_refused_only_where_one_may_matter(router, backend, version):
    service = backend(awkward.named("x"))
    settings = guarded(service, RULES["deny"])
    settings["routes"].append({"name": "open", "host": "open.test", "backend": "service"})
    one = router(settings)
    assert ask(one.port(), MANY_READINGS, version) == 400
    assert one.logged(target=MANY_READINGS)["cause"] == "client_path_ambiguous"
    with http2.dial(one.port()) as client:
        assert client.get(target=MANY_READINGS, authority="open.test").status == 200
    assert [seen.target for seen in service.requests] == [MANY_READINGS]


def test_http2_connection_that_asks_only_for_ambiguous_paths_ends(router, backend):
    service = backend(awkward.named("x"))
    one = router(guarded(service, RULES["deny"]))
    with http2.dial(one.port()) as client, pytest.raises((Closed, OSError)):
        for _ in range(2000):
            assert client.get(target=MANY_READINGS).status == 400
    assert client.goaway == 11  # ENHANCE_YOUR_CALM
    assert ask(one.port(), "/open") == 200


def test_rewrites_and_redirects_see_the_matched_path(router, backend, version):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port, routes=[
        {"name": "all", "backend": "service"},
        {"path": "/old", "backend": "service", "rewrite": {"prefix": "/new"}},
        {"path": "/moved", "redirect": {"prefix": "/there"}}]) | {"listeners": [listener("web", paths="normalise")]})
    assert ask(one.port(), "/x/../%6fld/a/./b?q=/../", version) == 200
    assert service.requests[0].target == "/new/a/b?q=/../"
    assert ask(one.port(), "/mov%65d/../moved/a", version) == 302
    for target in ("/old%2Fa", "/moved;a", "//moved"):  # a redirect guards: what is behind it is not served here
        assert ask(one.port(), target, version) == (200 if target.startswith("/old") else 400)


@pytest.mark.parametrize("paths", [None, "normalise"])
def test_no_spelling_leads_out_of_a_rewrite(router, backend, version, paths):
    inside, outside = backend(awkward.named("inside")), backend(awkward.named("outside"))
    settings = configuration(outside.port, routes=[
        {"name": "all", "backend": "service"}, {"path": "/api", "backend": "inside", "rewrite": {"prefix": "/v1"}}])
    settings["backends"].append({"name": "inside", "endpoints": [{"address": f"127.0.0.1:{inside.port}"}]})
    settings["listeners"] = [listener("web", **({"paths": paths} if paths else {}))]
    one = router(settings)
    for target in ("/api/../secret", "/api/%2e%2e/secret", "/api/x/../../secret"):
        assert ask(one.port(), target, version) == 200, target
    for target in ("/api/..%2Fsecret", "/api/..;/secret", "/api/..%5csecret", "/api/..%252fsecret", "/api/..\\secret", "/api/..%2Fapi/x"):
        assert ask(one.port(), target, version) == 400, target
    assert not inside.requests
    assert [seen.target for seen in outside.requests] == ["/secret"] * 3
    assert ask(one.port(), "/api/a%2Fb;c//d?../", version) == 200
    assert inside.requests[0].target == "/v1/a%2Fb;c//d?../"
    assert one.logged(target="/api/..%2Fsecret")["cause"] == "client_path_ambiguous"


@pytest.mark.parametrize("host", ["admin.test..", "admin..test", ".admin.test", "admin.test..:80", "."])
def test_no_spelling_of_a_host_leads_around_its_routes(router, backend, host):
    service = backend(awkward.named("x"))
    one = router(configuration(service.port, routes=[{"name": "all", "backend": "service"},
                                                     {"host": "admin.test", "backend": "service", **RULES["deny"]}]))
    with dial(one.port()) as stream:
        stream.send(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert stream.read_response().status == 400
    with http2.dial(one.port()) as client:
        assert client.get(authority=host).status == 400
    for spelling in ("admin.test.", "ADMIN.test:80"):
        with http2.dial(one.port()) as client:
            assert client.get(authority=spelling).status == 403
    assert not service.requests


def test_mirrors_get_the_matched_path_too(router, backend):
    service, copies = backend(awkward.named("x")), backend(awkward.named("copy"))
    settings = configuration(service.port, routes=[{"backend": "service", "mirrors": [{"backend": "copies"}]}])
    settings["backends"].append({"name": "copies", "endpoints": [{"address": f"127.0.0.1:{copies.port}"}]})
    settings["listeners"][0]["paths"] = "normalise"
    one = router(settings)
    assert ask(one.port(), "/a/../%62") == 200
    copies.wait_for_requests(1)
    assert service.requests[0].target == copies.requests[0].target == "/b"
