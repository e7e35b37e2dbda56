"""The incident that `ebbgate reap` was made for: a client behind a service address whose node dies without a word, in three
languages. Without the reaper it would wait for 924.6 s; with it, it is served by the living endpoint within a second of the removal.
"""

import pathlib
import queue
import subprocess
import threading
import time

import pytest

import namespaces
from reaper import Reaper, forget_translations, service, translate
from router import promised, wait_until

PROMISE = promised(1)
CLIENTS = pathlib.Path(__file__).resolve().parent / "clients"
SERVICE = ("192.0.2.10", 443)
PORT = 8443
DYING, LIVING = "10.99.0.7", "10.99.0.8"

NGINX = """
daemon off; master_process off; worker_processes 1; pid {directory}/nginx.pid; error_log {directory}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 1h;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/p; fastcgi_temp_path {directory}/f;
  uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen {port} ssl http2;
    ssl_certificate {cert}; ssl_certificate_key {key};
    location / {{ return 200 "$server_addr\\n"; }}
  }}
}}
"""


@pytest.fixture
def town(tmp_path, certificates):
    """The near side is the client's node, the far side has all endpoints."""
    if refusal := namespaces.refusal():
        pytest.skip(refusal)
    wire = namespaces.Cable("rc")
    wire.ip(wire.near, "route add default via 10.99.0.2")
    if refusal := translate(wire.near, SERVICE, (DYING, PORT)):
        wire.close()
        pytest.skip(refusal)
    files = certificates("service", "rsa", "service.test")
    (tmp_path / "nginx.conf").write_text(NGINX.format(directory=tmp_path, port=PORT, **files))
    server = subprocess.Popen(["nsenter", f"--net=/run/netns/{wire.far}", "nginx", "-p", tmp_path, "-c", tmp_path / "nginx.conf"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield wire
    server.terminate()
    server.wait(60)
    wire.close()


@pytest.fixture(params=["curl", "python requests", "go net/http over HTTP/2"])
def client(request):
    """The command, and the protocol that it must speak."""
    url = "https://%s:%d/" % SERVICE
    if request.param == "curl":
        return ["curl", "-sNk", "--http1.1", "--rate", "20/s", "-w", "%{errormsg}\\n", url + "[1-100000]"], ""
    if request.param == "python requests":
        return ["/usr/bin/python3", CLIENTS / "requests_client.py", url], "HTTP/1.1 "
    return [request.getfixturevalue("go_client")("http2_client"), url], "HTTP/2.0 "


class Listening:
    """The lines of a program, with the time of their coming."""

    def __init__(self, wire, command):
        self.process = subprocess.Popen(["nsenter", f"--net=/run/netns/{wire.near}", *map(str, command)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line.strip()))

    def until(self, text, seconds=60):
        """When the text came, and what came before."""
        before, deadline = [], time.monotonic() + seconds
        while True:
            try:
                at, line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{text!r} did not come; before: {before[-3:]}") from None
            if line == text:
                return at, before
            before.append(line)

    def silent_for(self, seconds):
        try:
            while True:
                self.lines.get(timeout=seconds)
        except queue.Empty:
            return True

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def black_hole(wire, host):
    """The node is dead: packets vanish, nobody says a word."""
    for chain, side in (("INPUT", "-d"), ("OUTPUT", "-s")):
        subprocess.run(["nsenter", f"--net=/run/netns/{wire.far}", "iptables", "-w", "-A", chain, side, host, "-j", "DROP"], check=True)


@pytest.mark.prompt
def test_a_client_behind_a_dead_endpoint_is_served_again_within_a_second_of_its_removal(town, client, tmp_path):
    addresses = ["%s:%d" % SERVICE]
    policy = {"act": True, "allow": [{"netns": [town.near], "port": [SERVICE[1]]}]}
    command, protocol = client
    reaper = Reaper(tmp_path, policy, [service((DYING, PORT), (LIVING, PORT), addresses=addresses)])
    one = Listening(town, command)
    try:
        one.until(protocol + DYING)
        black_hole(town, DYING)
        assert one.silent_for(2), "the client should hang: its connection is dead, and nothing says so"
        forget_translations(town.near)
        translate(town.near, SERVICE, (LIVING, PORT))
        removed = reaper.know(service((LIVING, PORT), addresses=addresses))
        at, before = one.until(protocol + LIVING)
        print(f"{pathlib.Path(command[0]).name}: {at - removed:.3f} s, told: {before[:1]}")
        assert at - removed < PROMISE, (at - removed, before)
        ended = wait_until(lambda: reaper.events("ended"), what="the log")
        assert {line["real_peer"] for line in ended} == {f"{DYING}:{PORT}"} and ended[0]["ground"] == "removed"
    finally:
        one.stop()
        reaper.stop()
