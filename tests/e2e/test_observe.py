"""What the router says about itself: access log, metrics, health, and to whom."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

import awkward
from http1 import PATIENCE, dial, request
from router import BINARY, Router, configuration, wait_until


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


LOGS_THAT_FAIL = ["a pipe that nobody reads", "a pipe whose reader never reads", "a full disk", "a directory", "a removed folder"]


def break_log(kind, path, stack):
    """Puts something else where the access log was."""
    if kind == "a removed folder":
        return shutil.rmtree(path.parent)
    path.unlink()
    if kind == "a directory":
        path.mkdir()
    elif kind == "a full disk":
        path.symlink_to("/dev/full")
    else:
        os.mkfifo(path)
        if kind == "a pipe whose reader never reads":
            stack.callback(os.close, os.open(path, os.O_RDONLY | os.O_NONBLOCK))


@pytest.mark.parametrize("kind", LOGS_THAT_FAIL)
def test_serving_and_stopping_go_on_whatever_the_access_log_has_become(router, backend, tmp_path, kind):
    path = tmp_path / "logs" / "access.log"
    path.parent.mkdir()
    one = router(configuration(backend(awkward.named("hello")).port, access_log={"format": "json", "path": str(path)}))
    one.get("/before")
    wait_until(lambda: "/before" in path.read_text(), what="the first line")
    with contextlib.ExitStack() as stack:
        break_log(kind, path, stack)
        one.process.send_signal(signal.SIGUSR1)
        for _ in range(3):
            assert one.get("/after" + "x" * 1500).body == b"hello"
        one.process.send_signal(signal.SIGUSR1)
        assert one.get("/again").body == b"hello"
        one.stop()


def test_a_pipe_without_a_reader_keeps_neither_the_start_nor_its_first_lines(router, backend, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    one = router(configuration(backend(awkward.named("hello")).port, access_log={"format": "json", "path": str(path)}))
    assert one.get("/early").body == b"hello"
    with open(path) as reader:
        assert json.loads(reader.readline())["target"] == "/early"


def test_a_stalled_reader_of_the_event_log_keeps_nothing_from_being_done(tmp_path, io, backend):
    """Standard error is a full pipe: configurations are applied, and SIGTERM ends the router."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    one = Router(tmp_path, configuration(backend(awkward.named("hello")).port), io)
    one.write(one.settings)
    one.process = subprocess.Popen([BINARY, "run", "-c", one.file], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    try:
        wait_until(one.ready, what="readiness")
        os.set_blocking(theirs, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(theirs, b"x")
        os.set_blocking(theirs, True)
        one.change(routes=[{"name": "changed", "backend": "service"}])
        wait_until(lambda: one.metric("ebbgate_config_generation") == 2, what="the second configuration")
        assert one.get().body == b"hello"
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(PATIENCE) == 0
    finally:
        one.process.kill()
        one.process.wait()
        os.close(ours)
        os.close(theirs)


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
    assert one.health().status == 200
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
    assert one.health().status == 200
