"""What the router says about itself: access log, metrics, health, and to whom."""

import re

import pytest

import awkward
from http1 import dial, request
from router import configuration, wait_until


def test_access_log_line_tells_the_whole_exchange(router, backend):
    service = backend(awkward.echoing())
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(request("POST", "/path?query", host="shop.test", body=b"twelve bytes", User_Agent='quo"te', Referer="http://from.test/"))
        client.read_response()
        address = "%s:%d" % client.socket.getsockname()
    line = one.logged(status=200)
    expected = {"client": address, "listener": "web", "method": "POST", "authority": "shop.test", "target": "/path?query",
                "protocol": "HTTP/1.1", "tls": "", "cause": "completed", "fault": "none", "route": "all", "backend": "service",
                "endpoint": "e0", "endpoint_address": f"127.0.0.1:{service.port}", "tries": 1, "reused": False,
                "bytes_received": 12, "bytes_sent": 12, "referer": "http://from.test/", "user_agent": 'quo"te'}
    assert {key: line[key] for key in expected} == expected
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", line["time"])
    assert 0 <= line["until_backend_ms"] <= line["until_response_ms"] <= line["total_ms"]


def test_common_log_format(router, backend, tmp_path):
    settings = configuration(backend(awkward.named("hello")).port, access_log={"format": "common", "path": str(tmp_path / "access.log")})
    one = router(settings)
    one.get("/page")
    line = wait_until(lambda: one.access_log.read_text())
    assert re.fullmatch(r'127\.0\.0\.1 - - \[[^\]]+ \+0000\] "GET /page HTTP/1\.1" 200 5 "-" "-"\n', line)


def test_refused_requests_are_logged_with_their_cause(router, backend):
    one = router(configuration(backend(awkward.named("x")).port))
    with one.dial() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")
        assert client.read_response().status == 400
    assert one.logged(status=400, cause="client_bad_request")["fault"] == "client"


def test_metrics_count_by_route_backend_endpoint_code_and_cause(router, backend):
    one = router(configuration(backend(awkward.named("hello")).port))
    for _ in range(3):
        one.get()
    wait_until(lambda: one.metric("ebbgate_requests_total", listener="web", route="all", backend="service", endpoint="e0",
                                  code="200", cause="completed") == 3, what="three requests")
    samples = one.metrics()
    assert samples['ebbgate_request_duration_seconds_count{backend="service"}'] == 3
    assert samples['ebbgate_request_duration_seconds_bucket{backend="service",le="+Inf"}'] == 3
    assert samples["ebbgate_connections_accepted_total"] == 3
    assert samples["ebbgate_backend_connections_opened_total"] == 1
    assert samples["ebbgate_config_generation"] == 1
    for name in ("ebbgate_workers", "ebbgate_loop_lag_max_seconds", "ebbgate_buffer_bytes", "process_open_fds"):
        assert name in samples


def test_every_metric_has_help_and_type(router, backend):
    one = router(configuration(backend(awkward.named("hello")).port))
    one.get()
    text = one.ask_admin("/metrics").body.decode()
    described = set(re.findall(r"^# HELP (\S+)", text, re.MULTILINE)) & set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    for name in set(re.findall(r"^([a-z_]+)", text, re.MULTILINE)):
        assert any(name in (family, *(family + suffix for suffix in ("_total", "_bucket", "_sum", "_count", "_info"))) for family in described), name


def test_health_and_readiness(router, backend):
    one = router(configuration(backend(awkward.named("x")).port))
    assert one.ask_admin("/healthz").status == 200
    assert one.ask_admin("/readyz").status == 200
    assert one.ask_admin("/nothing-here").status == 404


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example"])
def test_admin_serves_no_page_of_another_site(router, backend, host):
    """DNS rebinding: a browser that was led here sends the other site's name."""
    one = router(configuration(backend(awkward.named("x")).port))
    answer = one.ask_admin("/metrics", host=host)
    assert 400 <= answer.status < 500 and b"ebbgate_requests" not in answer.body


def test_admin_reads_only(router, backend):
    one = router(configuration(backend(awkward.named("x")).port))
    assert one.ask_admin("/metrics", method="POST").status == 405
    assert one.ask_admin("/metrics", method="HEAD").body == b""


def test_admin_survives_garbage(router, backend):
    one = router(configuration(backend(awkward.named("x")).port))
    with dial(one.admin) as client:
        client.send(b"\x16\x03\x01 not http at all\r\n\r\n")
        client.read_to_end()
    assert one.ask_admin("/healthz").status == 200
