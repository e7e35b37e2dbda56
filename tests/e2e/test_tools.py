"""The clients that people use: curl and wrk, against a real nginx."""

import hashlib
import os
import random
import re
import subprocess

import pytest

import awkward
from http1 import response, trusting_context
from router import PORTS, SANITIZED, configuration


def in_front_of(port, certificates):
    """A plain and a TLS listener."""
    settings = configuration(port, workers=2)
    settings["listeners"].append({"name": "secure", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "https",
                                  "certificates": [certificates("localhost", "ecdsa", "localhost")]})
    return settings


@pytest.fixture
def front(router, nginx, certificates):
    return router(in_front_of(nginx.port, certificates))


def url(one, scheme, path):
    return f"{scheme}://localhost:{one.port('web' if scheme == 'http' else 'secure')}{path}"


def curl(*options, **more):
    done = subprocess.run(["curl", "-sS", "-k", "--max-time", "60", *map(str, options)], capture_output=True, **more)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(params=["http", "https"])
def scheme(request):
    return request.param


def test_curl_gets(front, scheme):
    assert curl(url(front, scheme, "/small")) == b"x" * 128


def test_curl_reuses_its_connection(front, scheme):
    target = url(front, scheme, "/small")
    output = curl("-w", "%{num_connects},", "-o", os.devnull, target, "-o", os.devnull, target, "-o", os.devnull, target)
    assert output == b"1,0,0,"


def test_curl_asks_for_the_head_only(front, scheme, nginx):
    (nginx.files / "page").write_bytes(b"y" * 5000)
    assert b"content-length: 5000" in curl("-I", url(front, scheme, "/page")).lower()


def test_curl_asks_for_a_range_and_for_news(front, scheme, nginx):
    (nginx.files / "page").write_bytes(bytes(range(256)) * 20)
    target = url(front, scheme, "/page")
    assert curl("-r", "100-199", target) == (bytes(range(256)) * 20)[100:200]
    tag = re.search(rb"(?i)etag: (\S+)", curl("-I", target)).group(1).decode()
    assert curl("-w", "%{http_code}", "-H", f"If-None-Match: {tag}", target) == b"304"


@pytest.mark.parametrize("options", [[], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"], ["--http1.0"]],
                         ids=["length", "chunked", "expect", "http/1.0"])
def test_curl_posts(router, backend, certificates, scheme, options, tmp_path):
    service = backend(awkward.answering(lambda request: response(str(len(request.body)).encode())))
    one = router(in_front_of(service.port, certificates))
    (tmp_path / "body").write_bytes(bytes(300000))
    assert curl("--data-binary", f"@{tmp_path / 'body'}", *options, url(one, scheme, "/")) == b"300000"
    assert one.logged(method="POST", status=200)["bytes_received"] == 300000


def test_curl_downloads_a_large_file_unchanged(front, scheme, nginx):
    data = random.Random(5).randbytes(32 << 20)
    (nginx.files / "large").write_bytes(data)
    assert hashlib.sha256(curl(url(front, scheme, "/large"))).digest() == hashlib.sha256(data).digest()


def test_curl_sees_the_status_and_the_cause_of_a_missing_page(front, scheme):
    assert b"404" in curl("-w", "%{http_code}", url(front, scheme, "/not-there"))
    assert front.logged(status=404)["cause"] == "completed"  # nginx's own 404, passed on


def load(one, scheme, *options, seconds=2):
    command = ["wrk", "-t2", "-c32", f"-d{seconds}s", *options, url(one, scheme, "/small").replace("localhost", "127.0.0.1")]
    output = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=True).stdout
    assert "Socket errors" not in output and "Non-2xx" not in output, output
    return int(re.search(r"(\d+) requests in", output).group(1))


def test_wrk_sees_no_error_with_keep_alive(front, scheme):
    requests = load(front, scheme)
    assert requests > (100 if SANITIZED else 1000)
    assert front.metric("ebbgate_requests_total", code="200", cause="completed") >= requests


def test_wrk_sees_no_error_with_a_connection_per_request(front, scheme):
    assert load(front, scheme, "-H", "Connection: close") > 50


def test_all_connections_are_accounted_for_after_load(front, scheme):
    load(front, scheme, "-H", "Connection: close", seconds=1)
    assert front.get("/small", "secure" if scheme == "https" else "web", tls=trusting_context() if scheme == "https" else None).status == 200
    samples = front.metrics()
    closed = sum(value for name, value in samples.items() if name.startswith("ebbgate_connections_closed_total") and 'side="client"' in name)
    live = sum(value for name, value in samples.items() if name.startswith("ebbgate_connections{") and 'side="client"' in name)
    assert samples["ebbgate_connections_accepted_total"] == closed + live
