"""Who gets how much: weights, hashes, slow start. Shares of sequential requests are exact where turns are taken."""

import collections
import socket
import time

import pytest

import awkward
import http2
from http1 import PATIENCE, Stream, request, response
from router import PORTS, configuration, endpoint, wait_until
from test_sticky import change

KEYS = 120


def listed(services, balance, weights=None, order=None, **more):
    names = order or sorted(services)
    endpoints = [endpoint(services[name].port, name, weight=(weights or {}).get(name, 1)) for name in names]
    return [{"name": "service", "balance": balance, "endpoints": endpoints, **more}]


@pytest.fixture
def services(backend):
    return {name: backend(awkward.named(name)) for name in "abcd"}


def shares(one, count, **fields):
    counts = collections.Counter()
    with one.dial() as client:
        for _ in range(count):
            client.send(request(**fields))
            counts[client.read_response().body.decode()] += 1
    return counts


def owners(one, count=KEYS):
    found = {}
    with one.dial() as client:
        for key in range(count):
            client.send(request(X_Tenant=f"tenant-{key}"))
            found[key] = client.read_response().body.decode()
    return found


@pytest.mark.parametrize("balance", ["round_robin", "least_request"])
def test_weights_are_exact_where_turns_are_taken(router, services, balance):
    one = router(configuration(backends=listed(services, balance, {"a": 1, "b": 2, "c": 7, "d": 0})))
    assert shares(one, 100) == {"a": 10, "b": 20, "c": 70}


def test_turns_are_mixed(router, services):
    one = router(configuration(backends=listed(services, "round_robin", {"a": 5, "b": 1, "c": 1, "d": 0})))
    with one.dial() as client:
        order = ""
        for _ in range(14):
            client.send(request())
            order += client.read_response().body.decode()
    assert "aaaaa" not in order and order.count("a") == 10


def test_random_follows_the_weights(router, services):
    one = router(configuration(backends=listed(services, "random", {"a": 1, "b": 1, "c": 2, "d": 0})))
    counts = shares(one, 800)
    assert set(counts) == set("abc")
    assert 300 < counts["c"] < 500 and 120 < counts["a"] < 280, counts


@pytest.mark.parametrize("balance", ["least_request", "random"])
def test_a_busy_endpoint_gets_less(router, backend, balance):
    """One that never answers keeps one of few clients, not all of them in the end."""
    stuck = backend(awkward.stalling_after(b""))
    quick = [backend(awkward.named(str(number))) for number in range(3)]
    services = {"s": stuck, **{str(number): service for number, service in enumerate(quick)}}
    one = router(configuration(backends=listed(services, balance)))
    waiting = []
    for _ in range(60):
        client = one.dial()
        client.send(request())
        wait_until(lambda: client.is_readable() or len(stuck.requests) > len(waiting), what="a request to arrive")
        if client.is_readable():
            client.close()
        else:
            waiting.append(client)
    assert 1 <= len(waiting) <= (1 if balance == "least_request" else 12), len(waiting)
    for client in waiting:
        client.reset()  # a mere FIN would leave the router with the request, and no endpoint for it when all are gone


def test_a_header_names_the_endpoint(router, services):
    one = router(configuration(backends=listed(services, "header_hash", hash_header="X-Tenant")))
    before = owners(one)
    counts = collections.Counter(before.values())
    assert set(counts) == set("abcd") and max(counts.values()) < KEYS / 2, counts
    assert owners(one) == before
    with http2.dial(one.port()) as client:
        for key in range(20):
            assert client.get(fields=[("x-tenant", f"tenant-{key}")]).body.decode() == before[key]
    one.stop()
    one.start()
    assert owners(one) == before
    change(one, backends=listed(services, "header_hash", hash_header="X-Tenant", order=["d", "b", "a", "c"]))
    assert owners(one) == before


def test_only_the_keys_of_one_that_goes_or_comes_move(router, services):
    one = router(configuration(backends=listed(services, "header_hash", hash_header="X-Tenant")))
    before = owners(one)
    change(one, backends=listed(services, "header_hash", hash_header="X-Tenant", order=["a", "b", "d"]))
    without = owners(one)
    assert all(without[key] == owner for key, owner in before.items() if owner != "c")
    assert len({without[key] for key, owner in before.items() if owner == "c"}) > 1, "all went to one neighbour"
    change(one, backends=listed(services, "header_hash", hash_header="X-Tenant"))
    assert owners(one) == before


def test_a_request_without_the_header_goes_anywhere(router, services):
    one = router(configuration(backends=listed(services, "header_hash", hash_header="X-Tenant")))
    assert set(shares(one, 100)) == set("abcd")


def test_one_source_has_one_endpoint(router, services):
    settings = configuration(backends=listed(services, "source_hash"), trusted_proxies=["127.0.0.0/8"])
    one = router(settings)
    assert len(shares(one, 20)) == 1
    places = {client: set(shares(one, 3, X_Forwarded_For=f"192.0.2.{client}")) for client in range(40)}
    assert all(len(place) == 1 for place in places.values())
    assert set().union(*places.values()) == set("abcd")
    # Whoever has one address of a /64 has them all.
    assert shares(one, 3, X_Forwarded_For="2001:db8::1") == shares(one, 3, X_Forwarded_For="2001:db8::2")


def test_tcp_connections_of_one_source_go_to_one_endpoint(router, backend):
    services = {name: backend(awkward.closing_after(response(name.encode()))) for name in "abc"}
    settings = configuration(backends=listed(services, "source_hash"))
    settings["listeners"].append({"name": "raw", "bind": f"0.0.0.0:{PORTS.take()}", "protocol": "tcp", "backend": "service"})
    one = router(settings)
    places = {}
    for client in range(1, 21):
        for _ in range(2):
            with Stream(socket.create_connection(("127.0.0.1", one.port("raw")), source_address=(f"127.0.0.{client}", 0))) as stream:
                stream.send(request())
                places.setdefault(client, set()).add(stream.read_response().body.decode())
    assert all(len(place) == 1 for place in places.values())
    assert set().union(*places.values()) == set("abc")


def test_a_hot_key_does_not_crush_its_endpoint(router, backend):
    """80 requests at once for one key and four endpoints: none gets more than 5/4 of the mean, 25."""
    services = {name: backend(awkward.answering_late(response(name.encode()))) for name in "abcd"}
    one = router(configuration(backends=listed(services, "header_hash", hash_header="X-Tenant")))
    with http2.dial(one.port()) as client:
        asked = [client.ask(fields=[("x-tenant", "one")]) for _ in range(80)]
        wait_until(lambda: sum(len(service.requests) for service in services.values()) == 80, what="all requests")
        loads = sorted(len(service.requests) for service in services.values())
        for service in services.values():
            service.released.set()
        assert all(client.answer(stream).status == 200 for stream in asked)
    assert loads[-1] <= 26, loads


def test_a_new_endpoint_gets_its_share_by_degrees(router, services):
    few = {name: services[name] for name in "abc"}
    one = router(configuration(backends=listed(few, "round_robin", slow_start="1h")))
    assert shares(one, 30) == {"a": 10, "b": 10, "c": 10}, "all were there from the start"
    change(one, backends=listed(services, "round_robin", slow_start="1h"))
    counts = shares(one, 310)
    assert counts["d"] == 10 and counts["a"] == 100, counts  # a tenth of a share
    change(one, backends=listed(services, "round_robin", slow_start="2s"))
    wait_until(lambda: len(set(shares(one, 40).values())) == 1, what="the full share")


def test_slow_start_is_not_for_those_without_neighbours(router, services):
    def of(names):
        return listed({name: services[name] for name in names}, "round_robin", slow_start="1h")

    one = router(configuration(backends=of("")))
    change(one, backends=of("a"))
    assert one.get().body == b"a"
    change(one, backends=of("bcd"))  # all at once in the place of the one before
    assert shares(one, 30) == {"b": 10, "c": 10, "d": 10}


def test_hash_balances_flows_of_datagrams_too(router):
    servers = {}
    for name in "abc":
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.02)
        servers[name] = server
    endpoints = [endpoint(server.getsockname()[1], name) for name, server in servers.items()]
    settings = configuration(backends=[{"name": "service", "balance": "source_hash", "endpoints": endpoints}])
    settings["listeners"].append({"name": "dns", "bind": f"0.0.0.0:{PORTS.take()}", "protocol": "udp", "backend": "service"})
    one = router(settings)

    def place(client):
        """A flow of its own from this address: each has a new port."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind((f"127.0.0.{client}", 0))
            sender.sendto(b"?", ("127.0.0.1", one.port("dns")))
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                for name, server in servers.items():
                    try:
                        server.recv(16)
                        return name
                    except TimeoutError:
                        pass
        raise AssertionError("no datagram came")

    places = {client: {place(client) for _ in range(2)} for client in range(1, 13)}
    for server in servers.values():
        server.close()
    assert all(len(one_place) == 1 for one_place in places.values())
    assert len(set().union(*places.values())) > 1
