"""A browser: it sends requests for every host of a certificate over one connection, and each must reach its own backend.

Chromium is asked for the DOM of a page whose scripts come from two hosts and say who served them.
"""

import base64
import hashlib
import re
import ssl
import subprocess

import pytest

import awkward
from browser import CHROMIUM, MISSING, PLAIN
from http1 import response
from router import backend as backend_of
from router import configuration

HOSTS = ("shop.example.test", "blog.example.test")  # of one site: cookies of others would keep connections apart
SCRIPTS = 10

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)


def saying(name):
    """A page, and scripts that add this backend's name and the host that the browser wanted to it."""

    def answer(request):
        authority = request.get("host")
        host, port = authority.split(":")
        if request.target.endswith(".js"):
            return response(f"document.getElementById('said').append('{name}={host} ')".encode(), Content_Type="text/javascript")
        scripts = "".join(f'<script src="https://{one}:{port}/{number}.js"></script>' for number in range(SCRIPTS) for one in HOSTS)
        return response(f"<!doctype html><body><p id=said></p>{scripts}</body>".encode(), Content_Type="text/html")

    return awkward.answering(answer)


def key_pin(certificate):
    """As Chromium wants it: the digest of the public key in DER."""
    made = subprocess.run(["openssl", "x509", "-in", certificate["cert"], "-pubkey", "-noout"], check=True, capture_output=True, text=True)
    key = base64.b64decode("".join(line for line in made.stdout.splitlines() if not line.startswith("-")))
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


def over_tls(certificate, serve):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate["cert"], certificate["key"])

    def secured(stream, known):
        stream.socket = context.wrap_socket(stream.socket, server_side=True)
        serve(stream, known)

    return secured


@pytest.fixture
def serve(router, backend):
    """serve(certificate, ...) serves both hosts with them; `passes_through`: the second by a server of its own with that."""

    def start(*chosen, passes_through=None):
        servers = [saying(host) for host in HOSTS]
        routes = [{"name": host, "host": host, "backend": host} for host in HOSTS]
        if passes_through:
            servers[1] = over_tls(passes_through, servers[1])
            routes[1]["tls"] = "passthrough"
            routes.append({"name": "trap", "backend": HOSTS[0]})
        settings = configuration(backends=[backend_of(backend(server).port, name=host) for host, server in zip(HOSTS, servers)], routes=routes)
        settings["listeners"][0].update(protocol="https", certificates=list(chosen))
        return router(settings)

    return start


@pytest.fixture
def visit(tmp_path):
    """visit(port, certificate, ...) trusts these; returns what the page said in the end."""

    def browse(port, *trusted):
        command = [CHROMIUM, *PLAIN, f"--user-data-dir={tmp_path / 'profile'}", "--host-resolver-rules=MAP * 127.0.0.1", "--timeout=30000",
                   f"--ignore-certificate-errors-spki-list={','.join(map(key_pin, trusted))}", "--dump-dom", f"https://{HOSTS[0]}:{port}/"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        said = re.search(r'<p id="said">(.*?)</p>', done.stdout)
        assert said, f"no page: {done.stdout[-2000:]} {done.stderr[-2000:]}"
        return said.group(1).split()

    return browse


def connections(one, **fields):
    """The hosts that were asked for, by connection."""
    found = {}
    for line in one.log():
        if all(line[key] == value for key, value in fields.items()):
            found.setdefault(line["client"], set()).add(line["authority"].split(":")[0])
    return found


RIGHT = [f"{host}={host}" for _ in range(SCRIPTS) for host in HOSTS]


def test_hosts_on_one_connection_reach_their_own_backends(serve, visit, certificates):
    both = certificates("both", "ecdsa", *HOSTS)
    one = serve(both)
    assert visit(one.port(), both) == RIGHT
    assert set(HOSTS) in connections(one, status=200).values(), "the browser has not used one connection for both"
    assert not connections(one, status=421)


def test_misdirected_requests_are_repeated_on_a_connection_of_their_own(serve, visit, certificates):
    # The browser sees the ECDSA certificate and takes it for a permission to ask for both; the RSA one beside it is for one.
    both, first = certificates("both", "ecdsa", *HOSTS), certificates("first", "rsa", HOSTS[0])
    one = serve(both, first)
    assert visit(one.port(), both, first) == RIGHT
    assert {HOSTS[1]} in connections(one, status=421).values(), "the browser has not tried"
    assert all(len(hosts) == 1 for hosts in connections(one, status=200).values())


def test_a_host_that_is_passed_through_is_not_answered_for_by_another(serve, visit, certificates):
    # One certificate for both, but the second host ends TLS itself; what is asked for it elsewhere must not find the trap.
    both = certificates("both", "ecdsa", *HOSTS)
    one = serve(both, passes_through=both)
    assert visit(one.port(), both) == RIGHT
    assert {HOSTS[1]} in connections(one, status=421).values(), "the browser has not tried"
