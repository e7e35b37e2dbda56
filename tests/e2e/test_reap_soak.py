"""Endpoints come and go for a long time under many connections: no living one's connection ends, every stale one within a second.

Short by default; the whole is EBB_SOAK_SECONDS=600 EBB_SOAK_CONNECTIONS=1000.
"""

import collections
import errno
import os
import random
import resource
import select
import socket
import time

import pytest

import namespaces
from reaper import Reaper, service, translate
from router import promised

SECONDS = int(os.environ.get("EBB_SOAK_SECONDS", "12"))
CONNECTIONS = int(os.environ.get("EBB_SOAK_CONNECTIONS", "200"))
PROMISE = promised(1)
SERVICE = "192.0.2.10"
ENDPOINTS = 8
GRACE = 2


class Endpoint:
    def __init__(self, number, port):
        self.host, self.port, self.service_port = f"10.99.0.{10 + number}", port, 1001 + number
        self.state, self.due = "ready", None  # when its connections must be gone at the latest

    def listed(self):
        if self.state == "removed":
            return []
        state = "leaving" if self.state == "leaving" else "ready"
        return [{"address": f"{self.host}:{self.port}", "state": state, "grace": f"{GRACE}s"}]


class Soak:
    """One thread: what is true about an endpoint and who is connected to it change one after the other."""

    def __init__(self, wire, reaper_of, random_source):
        self.wire, self.random = wire, random_source
        self.listener = wire.listen(backlog=4096)
        port = self.listener.getsockname()[1]
        self.endpoints = [Endpoint(number, port) for number in range(ENDPOINTS)]
        self.clients, self.accepted = {}, {}  # descriptor -> (socket, endpoint); descriptor -> socket
        self.poll = select.epoll()
        self.listener.setblocking(False)
        self.poll.register(self.listener, select.EPOLLIN)
        self.faults, self.delays, self.ended = [], [], collections.Counter()
        self.listed_ready = ENDPOINTS
        self.reaper = reaper_of(self.truth())

    def truth(self):
        addresses = [f"{SERVICE}:{each.service_port}" for each in self.endpoints]
        return service(*(one for each in self.endpoints for one in each.listed()), addresses=addresses)

    def ready(self):
        return [each for each in self.endpoints if each.state == "ready"]

    def connect(self):
        """Half of the clients know the service's address, half the endpoint's own."""
        endpoint = self.random.choice(self.ready())
        with namespaces.inside(self.wire.near):
            one = socket.socket()
        one.setblocking(False)
        one.connect_ex((SERVICE, endpoint.service_port) if self.random.random() < 0.5 else (endpoint.host, endpoint.port))
        self.clients[one.fileno()] = one, endpoint
        self.poll.register(one, select.EPOLLIN)

    def change(self):
        """ready -> leaving -> removed -> coming -> ready, or from ready to removed at once; three stay ready."""
        endpoint = self.random.choice(self.endpoints)
        if endpoint.state == "coming":
            return
        if endpoint.state != "removed":
            if len(self.ready()) <= 3 and endpoint.state == "ready":
                return
            endpoint.state = "removed" if endpoint.state == "leaving" else self.random.choice(["leaving", "removed"])
        elif any(of is endpoint for _, of in self.clients.values()):
            return
        else:
            endpoint.state, endpoint.due = "coming", None
        said = self.reaper.know(self.truth())
        self.listed_ready = sum(each.state in ("ready", "coming") for each in self.endpoints)
        if endpoint.state == "removed":
            endpoint.due = said
        elif endpoint.state == "leaving":
            endpoint.due = said + GRACE

    def welcome(self):
        """Whoever has come gets connections when the reaper knows of it, as from rules that follow the same list."""
        known = self.reaper.events("files_read")
        if known and int(known[-1]["ready"]) == self.listed_ready:
            for each in self.endpoints:
                each.state = "ready" if each.state == "coming" else each.state

    def run(self, seconds, connections):
        end, next_change = time.monotonic() + seconds, time.monotonic() + 1
        while time.monotonic() < end:
            while len(self.clients) < connections:
                self.connect()
            if time.monotonic() >= next_change:
                self.welcome()
                self.change()
                next_change = time.monotonic() + self.random.uniform(0.2, 1.0)
            for descriptor in self.random.sample(list(self.clients), min(20, len(self.clients))):
                self.say(descriptor)
            self.turn()
            self.look_for_the_late()

    def say(self, descriptor):
        try:
            self.clients[descriptor][0].send(b"ping")
        except BlockingIOError:
            pass  # still being opened
        except OSError:
            self.lost(descriptor)

    def turn(self):
        for descriptor, events in self.poll.poll(0.005):
            if descriptor == self.listener.fileno():
                self.accept()
            elif descriptor in self.clients:
                self.hear(descriptor)
            elif descriptor in self.accepted:
                self.echo(descriptor)

    def accept(self):
        try:
            while True:
                other, _ = self.listener.accept()
                other.setblocking(False)
                self.accepted[other.fileno()] = other
                self.poll.register(other, select.EPOLLIN)
        except BlockingIOError:
            pass

    def echo(self, descriptor):
        try:
            if data := self.accepted[descriptor].recv(4096):
                self.accepted[descriptor].send(data)
                return
        except BlockingIOError:
            return
        except OSError:
            pass  # the kernel of a client that was ended says so
        self.accepted.pop(descriptor).close()

    def hear(self, descriptor):
        try:
            if self.clients[descriptor][0].recv(4096):
                return
        except BlockingIOError:
            return
        except OSError as error:
            self.lost(descriptor, error.errno)
            return
        self.lost(descriptor)

    def lost(self, descriptor, error=None):
        one, endpoint = self.clients.pop(descriptor)
        now = time.monotonic()
        if endpoint.due is None or now < endpoint.due:
            self.faults.append((endpoint.host, endpoint.state, errno.errorcode.get(error), "ended though its endpoint lives"))
        else:
            self.delays.append(now - endpoint.due)
        self.ended[errno.errorcode.get(error)] += 1
        one.close()

    def look_for_the_late(self):
        now = time.monotonic()
        for one, endpoint in self.clients.values():
            if endpoint.due is not None and now - endpoint.due > PROMISE + 5:
                self.faults.append((endpoint.host, endpoint.state, now - endpoint.due, "has not ended"))
        assert not self.faults, self.faults[:5]

    def close(self):
        for one, _ in self.clients.values():
            one.close()
        for one in self.accepted.values():
            one.close()
        self.poll.close()


@pytest.mark.prompt
@pytest.mark.slow
def test_endpoints_come_and_go(tmp_path):
    if refusal := namespaces.refusal():
        pytest.skip(refusal)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(4096, 4 * CONNECTIONS)), hard))
    seed = int(os.environ.get("EBB_SOAK_SEED", str(time.time_ns() % 1_000_000)))
    wire = namespaces.Cable("rs")
    started = []

    def reaper_of(truth):
        started.append(Reaper(tmp_path, {"act": True, "budget": 1_000_000, "allow": [{"netns": [wire.near]}]}, [truth]))
        return started[-1]

    try:
        wire.ip(wire.near, "route add default via 10.99.0.2")
        soak = Soak(wire, reaper_of, random.Random(seed))
        for each in soak.endpoints:
            if refusal := translate(wire.near, (SERVICE, each.service_port), (each.host, each.port)):
                pytest.skip(refusal)
        soak.run(SECONDS, CONNECTIONS)
        slowest = max(soak.delays, default=0)
        print(f"seed {seed}: {SECONDS} s, {CONNECTIONS} connections, {len(soak.delays)} stale ones ended, the slowest after {slowest:.3f} s; {dict(soak.ended)}")
        assert soak.delays and slowest < PROMISE, f"seed {seed}: {sorted(soak.delays)[-5:]}"
        assert all(line["ground"] in ("removed", "grace_over") for line in started[0].events("ended"))
        soak.close()
    finally:
        try:
            for one in started:
                one.stop()
        finally:
            wire.close()
