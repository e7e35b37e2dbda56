"""Fixtures: every test that asks for `router` runs twice, on epoll and on io_uring."""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import awkward  # noqa: E402
import canary_site  # noqa: E402
from canary_server import CanaryServer  # noqa: E402
from http1 import PATIENCE  # noqa: E402
from router import BINARY, PORTS, ROOT, Router, wait_until  # noqa: E402

NGINX = """
daemon off; master_process off; worker_processes 1; pid {directory}/nginx.pid; error_log {directory}/error.log;
events {{ worker_connections 2048; }}
http {{
  access_log off; keepalive_requests 1000000; client_max_body_size 0; send_timeout 10m;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/p; fastcgi_temp_path {directory}/f;
  uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen 127.0.0.1:{port} backlog=4096 sndbuf=256k;
    location = /small {{ return 200 "{body}"; }}
    location = /sink {{ return 200 "taken"; }}
    location / {{ root {directory}/files; }}
  }}
}}
"""


def io_uring_refusal():
    """Why io_uring is forbidden here, or None: containers forbid it by default. For any other reason the tests try and fail."""
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(120)
    descriptor = libc.syscall(425, 2, parameters)  # io_uring_setup
    if descriptor >= 0:
        os.close(descriptor)
    elif ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.EACCES):
        return f"io_uring is not to be had here: {os.strerror(ctypes.get_errno())}"
    return None


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes long or moves much; left out with sanitizers")
    config.addinivalue_line("markers", "sanitized: looks for faults of memory, and is worth its time with a sanitizer's binary only")
    config.addinivalue_line("markers", "prompt: says how long something may take; `make promises` holds the router to it, on a machine with nothing else to do")
    config.addinivalue_line("markers", "leisurely: of those that are prompt, only waits: `make promises` runs some side by side")


def pytest_sessionstart():
    if not BINARY.exists():
        pytest.exit(f"{BINARY} is not built", returncode=1)


@pytest.fixture(params=["epoll", "uring"])
def io(request):
    refusal = io_uring_refusal() if request.param == "uring" else None
    if refusal:
        pytest.skip(refusal)
    return request.param


@pytest.fixture
def router(tmp_path, io):
    """router(settings) starts one; it is stopped, and its end examined, when the test ends."""
    with contextlib.ExitStack() as stack:
        def start(settings, **options):
            one = Router(tmp_path, settings, io, **options)
            stack.callback(lambda: one.process and one.stop())
            return one.start()

        yield start


@pytest.fixture
def backend():
    """backend(serve) starts an awkward one."""
    with contextlib.ExitStack() as stack:
        yield lambda serve, **options: stack.enter_context(awkward.Backend(serve, **options))


@pytest.fixture(scope="session")
def go_client():
    """go_client(name) -> the program of clients/NAME.go; built once for all shards and runs."""
    assert shutil.which("go") is not None, "there is no Go here (tools/deps test)"
    directory = ROOT / "run" / "go"
    directory.mkdir(parents=True, exist_ok=True)
    go = subprocess.run(["go", "version"], check=True, capture_output=True).stdout

    def build(name):
        source = ROOT / "tests" / "e2e" / "clients" / f"{name}.go"
        program = directory / f"{name}-{hashlib.sha256(go + source.read_bytes()).hexdigest()[:16]}"
        with open(directory / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                beside = program.with_suffix(".new")
                subprocess.run(["go", "build", "-o", beside, source], check=True, timeout=1200)
                beside.rename(program)
        return program

    return build


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """certificates(stem, kind, *names) -> {'cert': path, 'key': path}; made once for the same arguments."""
    directory, made = tmp_path_factory.mktemp("certificates"), {}

    def make(stem, kind, *names):
        if (stem, kind, names) not in made:
            subprocess.run([ROOT / "tools" / "certs", directory / stem, kind, *names], check=True)
            made[stem, kind, names] = {"cert": str(directory / f"{stem}.pem"), "key": str(directory / f"{stem}.key")}
        return made[stem, kind, names]

    return make


@pytest.fixture
def healthcheck(tmp_path, certificates):
    """`ebbgate canary serve` with and without TLS for the names of canary_site, in its `pair` of files."""
    pair = certificates("canary", "ecdsa", *sorted(set(canary_site.HOSTS.values())))
    with CanaryServer(tmp_path, TLS_CERT=pair["cert"], TLS_KEY=pair["key"], POD_NAME="pod-1", NODE_NAME="node-1") as one:
        one.pair = pair
        yield one


@pytest.fixture(scope="session")
def nginx(tmp_path_factory):
    """A real server: /small (128 B), /sink (takes any body), files under `nginx.files`."""
    directory = tmp_path_factory.mktemp("nginx")

    class Nginx:
        port = PORTS.take()
        files = directory / "files"

    Nginx.files.mkdir()
    directory.chmod(0o755)
    (directory / "nginx.conf").write_text(NGINX.format(directory=directory, port=Nginx.port, body="x" * 128))
    process = subprocess.Popen(["nginx", "-p", directory, "-c", directory / "nginx.conf"], stdin=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: subprocess.run(["curl", "-sf", f"127.0.0.1:{Nginx.port}/small"], stdout=subprocess.DEVNULL).returncode == 0,
                   what="nginx")
        yield Nginx
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


@pytest.fixture(scope="session")
def nghttpd(tmp_path_factory):
    """A real server of HTTP/2 without TLS: /small (128 B), files under `nghttpd.files`; takes any body."""
    directory = tmp_path_factory.mktemp("nghttpd")

    class Nghttpd:
        port = PORTS.take()
        files = directory

    (directory / "small").write_bytes(b"x" * 128)
    process = subprocess.Popen(["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", directory, str(Nghttpd.port)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: subprocess.run(["curl", "-sf", "--http2-prior-knowledge", f"127.0.0.1:{Nghttpd.port}/small"],
                                          stdout=subprocess.DEVNULL).returncode == 0, what="nghttpd")
        yield Nghttpd
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
