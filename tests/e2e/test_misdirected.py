"""421: browsers send requests for every name of a certificate over one connection (RFC 9113 9.1.1), and only those."""

import subprocess

import pytest

import awkward
import http2
from http1 import dial as dial_http1, request, trusting_context
from router import configuration, wait_until


@pytest.fixture
def two_hosts(router, backend, certificates):
    """two_hosts(certificate, ...) serves shop.test and blog.test, each by a backend that says its name."""

    def start(*chosen):
        services = {name: backend(awkward.named(name)) for name in ("shop", "blog")}
        settings = configuration(backends=[{"name": name, "endpoints": [{"name": "one", "address": f"127.0.0.1:{service.port}"}]}
                                           for name, service in services.items()])
        settings["routes"] = [{"name": name, "host": f"{name}.test", "backend": name} for name in services]
        settings["listeners"][0].update(protocol="https", certificates=list(chosen))
        return router(settings), services

    return start


def test_a_host_that_the_certificate_does_not_cover_is_misdirected(two_hosts, certificates):
    one, services = two_hosts(certificates("shop", "ecdsa", "shop.test"), certificates("blog", "ecdsa", "blog.test"))
    with http2.dial(one.port(), tls=True, name="shop.test") as client:
        assert bytes(client.get(authority="shop.test").body) == b"shop"
        assert client.get(authority="blog.test").status == 421
        assert client.get(authority=f"BLOG.test:{one.port()}").status == 421
        assert client.get("POST", authority="blog.test", body=b"secret").status == 421
        assert bytes(client.get(authority=f"shop.test:{one.port()}").body) == b"shop"  # the connection goes on
    with http2.dial(one.port(), tls=True, name="blog.test") as client:
        assert bytes(client.get(authority="blog.test").body) == b"blog"
    assert [len(service.requests) for service in services.values()] == [2, 1]
    assert one.logged(status=421)["cause"] == "client_misdirected"


def test_hosts_that_share_a_certificate_share_a_connection(two_hosts, certificates):
    one, _ = two_hosts(certificates("both", "ecdsa", "shop.test", "blog.test"))
    with http2.dial(one.port(), tls=True, name="shop.test") as client:
        for _ in range(3):
            assert bytes(client.get(authority="shop.test").body) == b"shop"
            assert bytes(client.get(authority="blog.test").body) == b"blog"
        assert client.get(authority="other.test").status == 421


def test_a_wildcard_covers_one_label(two_hosts, certificates):
    one, _ = two_hosts(certificates("wild", "ecdsa", "*.test"))
    with http2.dial(one.port(), tls=True, name="shop.test") as client:
        assert bytes(client.get(authority="blog.test").body) == b"blog"
        assert client.get(authority="deep.blog.test").status == 421


def test_a_host_that_is_passed_through_is_misdirected_even_if_the_certificate_covers_it(two_hosts, certificates):
    one, services = two_hosts(certificates("wild", "ecdsa", "*.test"))
    routes = one.settings["routes"]
    with http2.dial(one.port(), tls=True, name="shop.test") as client:
        assert bytes(client.get(authority="blog.test").body) == b"blog"
        one.change(routes=[routes[0], {**routes[1], "tls": "passthrough"}, {"name": "rest", "host": "*.test", "backend": "shop"}])
        wait_until(lambda: client.get(authority="blog.test").status == 421, what="blog.test elsewhere")
        assert bytes(client.get(authority="shop.test").body) == b"shop"
        assert bytes(client.get(authority="other.test").body) == b"shop"
    assert len(services["blog"].requests) >= 1 and all(sent.get("host") != "blog.test" for sent in services["shop"].requests)
    assert one.logged(status=421)["authority"] == "blog.test"


def test_http1_is_not_asked(two_hosts, certificates):
    one, _ = two_hosts(certificates("shop", "ecdsa", "shop.test"), certificates("blog", "ecdsa", "blog.test"))
    with dial_http1(one.port(), tls=trusting_context(), name="shop.test") as client:
        # Clients of HTTP/1 do not coalesce: what a proxy in front of us sends over one connection may be for any host.
        client.send(request(host="blog.test"))
        assert client.read_response().body == b"blog"


def test_curl_reaches_both_hosts(two_hosts, certificates):
    one, _ = two_hosts(certificates("shop", "ecdsa", "shop.test"), certificates("blog", "ecdsa", "blog.test"))
    port = one.port()
    done = subprocess.run(["curl", "-sSk", "--http2", "--resolve", f"shop.test:{port}:127.0.0.1", "--resolve", f"blog.test:{port}:127.0.0.1",
                           "-w", " %{http_code} ", f"https://shop.test:{port}/", f"https://blog.test:{port}/"], capture_output=True, timeout=60)
    assert done.stdout == b"shop 200 blog 200 ", done
