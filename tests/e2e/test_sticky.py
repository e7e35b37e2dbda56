"""Clients that a cookie binds to an endpoint: what the cookie looks like, who sees it, when a client moves."""

import threading

import pytest

import awkward
import http2
from http1 import request, response, trusting_context
from router import PORTS, Router, configuration, endpoint, wait_until

STICKY = {"cookie": "EBB"}


def listed(services, states=None, order=None, **more):
    """One backend; an endpoint is called as its service is."""
    names = order or sorted(services)
    endpoints = [endpoint(services[name].port, name, **(states or {}).get(name, {})) for name in names]
    return [{"name": "service", "sticky": STICKY, "endpoints": endpoints, **more}]


def sticky(services, **more):
    return configuration(backends=listed(services, **more))


def change(one, **sections):
    """The change, and the time until it is served."""
    before = one.metric("ebbgate_config_generation")
    one.change(**sections)
    wait_until(lambda: one.metric("ebbgate_config_generation") > before, what="the change")


def pair(answer):
    """`EBB=token` of a Set-Cookie, or None."""
    value = answer.get("Set-Cookie")
    return value.split(";")[0] if value else None


@pytest.fixture
def services(backend):
    return {name: backend(awkward.named(name)) for name in ("a", "b", "c", "d")}


class Clients:
    """Browsers, each with one cookie and a connection per request; a move that nobody had a reason for is found."""

    def __init__(self, one, count):
        self.one = one
        self.homes = {}
        for _ in range(count):
            answer = one.get()
            self.homes[pair(answer)] = answer.body.decode()

    def look(self):
        """{cookie: (where it is served now, its new cookie or None)}"""
        seen = {}
        for cookie in self.homes:
            answer = self.one.get(Cookie=cookie)
            assert answer.status == 200
            seen[cookie] = (answer.body.decode(), pair(answer))
        return seen

    def expect_at_home(self, but=()):
        for cookie, (place, fresh) in self.look().items():
            if self.homes[cookie] in but:
                assert place not in but and fresh not in (None, cookie), "no move, or no new cookie"
                assert self.one.get(Cookie=fresh).body.decode() == place, "the new cookie is of another endpoint"
            else:
                assert (place, fresh) == (self.homes[cookie], None), "a client moved without a reason"


def test_the_cookie_is_opaque_and_meant_for_browsers_only(router, services):
    one = router(sticky(services))
    answer = one.get()
    value, *attributes = answer.get("Set-Cookie").split("; ")
    name, token = value.split("=")
    assert (name, attributes) == ("EBB", ["Path=/", "HttpOnly", "SameSite=Lax"])
    assert len(token) == 16 and not any(text in token for text in ("127", answer.body.decode() + ":"))
    assert len({pair(one.get()) for _ in range(12)}) == len(services), "one token for each endpoint"


def test_attributes_are_those_that_were_asked_for(router, services, certificates):
    settings = sticky(services, sticky={"cookie": "SID", "same_site": "none", "max_age": "2h"})
    settings["listeners"].append({"name": "secure", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "https",
                                  "certificates": [certificates("sticky", "ecdsa", "localhost")]})
    one = router(settings)
    secure = one.get(listener="secure", tls=trusting_context()).get("Set-Cookie")
    assert secure.split("; ")[1:] == ["Path=/", "HttpOnly", "Secure", "SameSite=None", "Max-Age=7200"]
    # Browsers throw SameSite=None away where Secure is missing.
    assert one.get().get("Set-Cookie").split("; ")[1:] == ["Path=/", "HttpOnly", "Max-Age=7200"]


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
def test_the_backend_does_not_see_it(router, backend, protocol):
    kind = awkward.named("a") if protocol == "http1" else http2.naming("a")
    service = backend(kind)
    one = router(configuration(backends=listed({"a": service}, protocol=protocol)))
    cookie = pair(one.get())
    for sent, shown in ((cookie, None), (f"x=1; {cookie}; y=2", "x=1; y=2"), ("x=1;y=2", "x=1;y=2"), (f"{cookie}; EBB=old", None)):
        assert one.get(Cookie=sent).get("Set-Cookie") is None or cookie not in sent
        assert service.requests[-1].get("cookie" if protocol == "h2c" else "Cookie") == shown
    with http2.dial(one.port()) as client:
        answer = client.get(fields=[("cookie", "x=1"), ("cookie", cookie), ("cookie", "y=2")])
        assert (answer.status, answer.get("set-cookie")) == (200, None)
    assert service.requests[-1].get("cookie" if protocol == "h2c" else "Cookie") == "x=1; y=2"


def test_clients_of_http2_are_bound_as_well(router, services):
    one = router(sticky(services))
    with http2.dial(one.port()) as client:
        first = client.get()
        cookie = first.get("set-cookie").split(";")[0]
        for _ in range(8):
            again = client.get(fields=[("cookie", cookie)])
            assert (bytes(again.body), again.get("set-cookie")) == (bytes(first.body), None)


def test_nobody_moves_when_endpoints_come_and_change_places(router, services):
    few = {name: services[name] for name in "abc"}
    one = router(sticky(few))
    clients = Clients(one, 30)
    assert set(clients.homes.values()) == set("abc")
    change(one, backends=listed(services, order=["d", "c", "a", "b"]))
    clients.expect_at_home()
    assert one.metric("ebbgate_sticky_responses_total", client="moved") == 0
    assert one.metric("ebbgate_sticky_responses_total", client="stayed") == len(clients.homes)
    change(one, backends=listed(services, order=["b", "d", "c"]))
    clients.expect_at_home(but="a")
    assert one.metric("ebbgate_sticky_responses_total", client="moved") == list(clients.homes.values()).count("a")


def test_tokens_are_those_of_every_router_and_outlive_it(router, services, tmp_path, io):
    one = router(sticky(services))
    clients = Clients(one, 30)
    (tmp_path / "second").mkdir()
    second = Router(tmp_path / "second", sticky(services, order=["d", "b", "c", "a"]), io).start()
    clients.one = second
    clients.expect_at_home()
    second.stop()
    one.stop()
    one.start()
    clients.one = one
    clients.expect_at_home()


def test_a_strange_cookie_is_replaced(router, services):
    one = router(sticky(services))
    for strange in ("EBB=", "EBB=x", "EBB=" + "A" * 16, 'EBB="', "EBB=" + "é" * 8, "EBB"):
        answer = one.get(Cookie=strange)
        assert answer.status == 200 and pair(answer) is not None


@pytest.mark.parametrize("state", ["leaving", "drain", "maint"])
def test_clients_of_a_draining_endpoint_move_when_another_is_ready(router, services, state):
    one = router(sticky(services))
    clients = Clients(one, 24)
    change(one, backends=listed(services, states={"b": {"state": state}}))
    clients.expect_at_home(but="b")


@pytest.mark.parametrize("state", ["leaving", "drain"])
def test_clients_of_a_draining_endpoint_stay_when_nobody_else_is_ready(router, services, state):
    few = {name: services[name] for name in "ab"}
    one = router(sticky(few))
    clients = Clients(one, 12)
    change(one, backends=listed(few, states={"a": {"state": state}, "b": {"state": "maint"}}))
    home = next(cookie for cookie, place in clients.homes.items() if place == "a")
    answer = one.get(Cookie=home)
    assert (answer.body, answer.get("Set-Cookie")) == (b"a", None)


@pytest.mark.parametrize("protocol", ["http1", "h2c"])
@pytest.mark.parametrize("state", ["leaving", "drain"])
def test_a_draining_endpoint_may_keep_its_clients_to_the_deadline(router, backend, state, protocol):
    kind = awkward.named if protocol == "http1" else http2.naming
    services = {name: backend(kind(name)) for name in "abc"}
    keep = {"sticky": {**STICKY, "drain": "keep"}, "drain": {"deadline": "8s"}, "protocol": protocol}
    one = router(configuration(backends=listed(services, **keep)))
    clients = Clients(one, 24)
    change(one, backends=listed(services, states={"b": {"state": state}}, **keep))
    clients.expect_at_home()
    assert all(one.get().body != b"b" for _ in range(8)), "somebody new came to it"
    bound = next(cookie for cookie, place in clients.homes.items() if place == "b")
    wait_until(lambda: one.get(Cookie=bound).body != b"b", what="the deadline")
    clients.expect_at_home(but="b")


def test_maintenance_moves_even_those_who_may_stay(router, services):
    keep = {"sticky": {**STICKY, "drain": "keep"}}
    one = router(sticky(services, **keep))
    clients = Clients(one, 24)
    change(one, backends=listed(services, states={"b": {"state": "maint"}}, **keep))
    clients.expect_at_home(but="b")


def test_clients_of_a_refusing_endpoint_move_and_nobody_else(router, backend, services):
    one = router(sticky(services))
    clients = Clients(one, 24)
    services["b"].__exit__()
    clients.expect_at_home(but="b")


def test_weight_zero_keeps_its_clients_and_gets_no_others(router, services):
    one = router(sticky(services))
    clients = Clients(one, 24)
    change(one, backends=listed(services, states={"b": {"weight": 0}}))
    clients.expect_at_home()
    assert all(one.get().body != b"b" for _ in range(12))


def test_a_stale_connection_is_no_reason_to_move(router, backend):
    """The endpoint closes its kept connection just when the next request comes: the same endpoint, by a fresh one."""
    healthy = awkward.named("b")

    def closing(stream, known):
        known.requests.append(stream.read_request())
        stream.send(response(b"a"))
        known.requests.append(stream.read_request())
        stream.reset()

    services = {"a": backend(closing), "b": backend(healthy)}
    one = router(sticky(services))
    answers = [one.get() for _ in range(2)]
    home = next(pair(answer) for answer in answers if answer.body == b"a")
    for _ in range(6):
        answer = one.get(Cookie=home)
        assert (answer.body, answer.get("Set-Cookie")) == (b"a", None)


def test_upgraded_connections_are_bound_too(router, backend):
    services = {name: backend(awkward.upgrading()) for name in "ab"}
    one = router(sticky(services))
    with one.dial() as client:
        client.send(request(Connection="Upgrade", Upgrade="websocket"))
        cookie = pair(client.read_response())
    assert cookie is not None
    first = [len(service.requests) for service in services.values()]
    for _ in range(4):
        with one.dial() as client:
            client.send(request(Connection="Upgrade", Upgrade="websocket", Cookie=cookie))
            assert pair(client.read_response()) is None
    assert sorted(len(service.requests) - before for service, before in zip(services.values(), first)) == [0, 4]


def test_a_split_route_stays_with_the_share_that_the_cookie_names(router, services):
    def split(web, following):
        return [{"name": "all", "backends": [{"name": "web", "weight": web}, {"name": "next", "weight": following}]}]

    def half(name, members, cookie):
        return {"name": name, "sticky": {"cookie": cookie}, "endpoints": [endpoint(services[one].port, one) for one in members]}

    for cookies in (("EBB", "EBB"), ("WEB", "NEXT")):
        one = router(configuration(routes=split(50, 50), backends=[half("web", "ab", cookies[0]), half("next", "cd", cookies[1])]))
        clients = Clients(one, 40)
        assert set(clients.homes.values()) == set("abcd")
        clients.expect_at_home()
        change(one, routes=split(100, 0))
        clients.expect_at_home()
        assert all(one.get().body in (b"a", b"b") for _ in range(8))
        assert all(request.get("Cookie") is None for service in services.values() for request in service.requests)
        one.stop()


def test_a_client_waits_for_its_endpoint_rather_than_move(router, backend):
    """endpoint_limits: the session is where it is."""
    release = threading.Event()

    def slow(request):
        if request.target == "/slow":
            release.wait(60)
        return response(b"a")

    services = {"a": backend(awkward.answering(slow)), "b": backend(awkward.named("b"))}
    one = router(sticky(services, endpoint_limits={"requests": 1}))
    home = next(pair(answer) for answer in (one.get() for _ in range(4)) if answer.body == b"a")
    with one.dial() as busy, one.dial() as waiting:
        before = len(services["a"].requests)
        busy.send(request(target="/slow", Cookie=home))
        services["a"].wait_for_requests(before + 1)
        waiting.send(request(Cookie=home))
        assert one.get().body == b"b"
        release.set()
        for client in (busy, waiting):
            answer = client.read_response()
            assert (answer.status, answer.body, answer.get("Set-Cookie")) == (200, b"a", None)
