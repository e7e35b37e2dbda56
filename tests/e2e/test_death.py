"""Endpoints that die, freeze, answer nobody or reset everybody: who notices, how soon, and what becomes of requests."""

import contextlib
import socket
import threading
import time

import pytest

import awkward
from http1 import PATIENCE, Closed, request, response, swallow_packets
from router import backend as backend_of
from router import HELD, PORTS, configuration, promised, wait_until


class Moody:
    """A server that answers with its name until it is told to do otherwise."""

    def __init__(self, name):
        self.name = name
        self.answers = threading.Event()
        self.answers.set()
        self.resets = False

    def __call__(self, stream, backend):
        while True:
            if self.resets:
                stream.read_request()
                return stream.reset()
            message = stream.read_request()
            backend.requests.append(message)
            if message.target == "/stream":
                stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while self.answers.wait(60):
                    stream.send(b"4\r\ntick\r\n")
                    time.sleep(0.05)
            if message.target == "/slow":
                time.sleep(3)
            self.answers.wait(60)
            stream.send(response(self.name.encode()))


def die(backend):
    """Its host is gone: nothing is received any more and nothing acknowledged."""
    swallow_packets(backend.listener)
    for stream in backend.streams:
        swallow_packets(stream.socket)


@pytest.fixture
def pair(backend):
    moods = Moody("a"), Moody("b")
    yield moods, [backend(mood) for mood in moods]
    for mood in moods:
        mood.answers.set()


def two(services, **more):
    return configuration(backends=[backend_of(*(service.port for service in services), balance="round_robin", **more)])


class Load:
    """Requests one after another on several connections, until it is stopped; what each took and said."""

    def __init__(self, router, method="GET", connections=8, target="/"):
        self.results = []  # (started, seconds, status, body)
        self.stopping = threading.Event()
        self.router, self.method, self.target = router, method, target
        self.threads = [threading.Thread(target=self.run) for _ in range(connections)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join(PATIENCE)

    def run(self):
        with self.router.dial() as client:
            while not self.stopping.is_set():
                started = time.monotonic()
                client.send(request(self.method, self.target))
                try:
                    answer = client.read_response()
                    status, body = answer.status, answer.body
                except (Closed, OSError):
                    return self.results.append((started, time.monotonic() - started, 0, b""))
                self.results.append((started, time.monotonic() - started, status, body))
                time.sleep(0.01)

    def failed(self):
        return [result for result in self.results if result[2] != 200]


def posts(services):
    return [seen for service in services for seen in service.requests if seen.method == "POST"]


def poster_at(router, service):
    """A client whose POST waits at that service, which answers nobody."""
    def posted():
        client = router.dial()
        client.send(request("POST", body=b"slow"))
        wait_until(lambda: posts([service]) or client.is_readable(), what="the POST, or its answer")
        if posts([service]):
            return client
        client.close()
        return None

    return wait_until(posted, what="a POST at that service")


def verdicts(router, to, cause=None):
    labels = {"to": to} if cause is None else {"to": to, "cause": cause}
    return router.metric("ebbgate_endpoint_verdicts_total", **labels)


def settled(router, services):
    """Both endpoints have served enough to be known."""
    with Load(router):
        wait_until(lambda: all(len(service.requests) > 40 for service in services))


@pytest.mark.parametrize("workers", [1, 2])
def test_refused_endpoint_is_left_alone_until_a_probe_gets_through(router, backend, workers):
    service = backend(awkward.named("alive"))
    port = PORTS.take()
    one = router({**configuration(backends=[backend_of(port, service.port, balance="round_robin")]), "workers": workers})
    assert [one.get().body for _ in range(10)] == [b"alive"] * 10
    assert verdicts(one, "down", "backend_refused") == 1
    with socket.create_server(("127.0.0.1", port)):
        wait_until(lambda: verdicts(one, "up") == 1)


@pytest.mark.prompt
def test_request_does_not_wait_for_an_endpoint_that_does_not_answer_the_connection_attempt(router, backend):
    dead, alive = backend(awkward.named("dead")), backend(awkward.named("alive"))
    swallow_packets(dead.listener)
    one = router(two([dead, alive]))
    for _ in range(2):
        started = time.monotonic()
        assert one.get().body == b"alive"
        assert time.monotonic() - started < promised(0.9)  # the connection attempt itself has 1 s
    wait_until(lambda: verdicts(one, "down", "backend_connect_timeout") == 1)


@pytest.mark.prompt
@pytest.mark.parametrize("workers", [1, 2])
def test_dead_host_is_noticed_and_its_requests_are_replayed_or_told(router, pair, workers):
    (mood, _), services = pair
    one = router({**two(services), "workers": workers})
    settled(one, services)
    posters = []
    with contextlib.ExitStack() as stack, Load(one) as load:
        mood.answers.clear()
        while not posts(services[:1]):  # the load takes turns too; without a pause, for the host has to die under it
            assert len(posters) < 100, "no POST comes to the first"
            posters.append(stack.enter_context(one.dial()))
            posters[-1].send(request("POST", body=b"once"))
            wait_until(lambda: len(posts(services)) == len(posters))
        die(services[0])
        death = time.monotonic()
        statuses = {poster.read_response().status for poster in posters}
        assert 504 in statuses and statuses <= {200, 504}  # the host is gone, and its kernel's silence proves it
        told = time.monotonic() - death
        time.sleep(1)
    assert not load.failed()
    assert told < promised(2.5)
    assert max(seconds for _, seconds, _, _ in load.results) < promised(2.5)
    assert max((started for started, seconds, _, _ in load.results if seconds > 1), default=death) - death < promised(1.5)
    assert one.logged(method="POST", status=504)["cause"] == "backend_dead"
    assert len(posts(services)) == len(posters)


@pytest.mark.prompt
def test_silent_endpoint_loses_its_work_to_its_sibling_until_it_answers_again(router, pair):
    (mood, _), services = pair
    one = router(two(services))
    settled(one, services)
    with one.dial() as watcher:
        streams = [one.dial() for _ in range(2)]  # round robin: one of them is served by the first
        for stream in streams:
            stream.send(request(target="/stream"))
            stream.read_head()
        mood.answers.clear()
        poster = poster_at(one, services[0])
        silence = time.monotonic()
        with Load(one) as load:
            wait_until(lambda: verdicts(one, "suspect", "backend_silent") == 1)
            watcher.send(request("POST", body=b"goes to the other"))
            assert watcher.read_response().body == b"b"
            time.sleep(2)
            assert not load.failed()
            assert max(seconds for _, seconds, _, _ in load.results) < promised(2.5)
            assert max((started for started, seconds, _, _ in load.results if seconds > 1), default=silence) - silence < promised(1.5)
            mood.answers.set()
            wait_until(lambda: verdicts(one, "up") == 1)
            wait_until(lambda: any(body == b"a" for _, _, _, body in load.results[-20:]))
            # Silence ends nothing: the POST is answered, once, and the streams go on.
            assert poster.read_response().body == b"a"
            for stream in streams:
                for _ in range(3):
                    assert stream.read(9) == b"4\r\ntick\r\n"
    assert len(posts(services[:1])) == 1
    assert one.metric("ebbgate_requests_total", cause="backend_silent") == 0


@pytest.mark.prompt  # over a second without an answer, by a machine that is busy, is a reason for suspicion
def test_requests_that_are_slow_by_nature_raise_no_suspicion(router, pair):
    _, services = pair
    one = router(two(services))
    settled(one, services)
    with Load(one, target="/slow", connections=6) as slow, Load(one, connections=2):
        time.sleep(4)
    assert slow.results and not slow.failed()
    assert not HELD or verdicts(one, "suspect") == 0


def test_endpoint_that_resets_every_connection_is_ejected_and_comes_back(router, pair):
    (mood, _), services = pair
    one = router(two(services))
    settled(one, services)
    mood.resets = True
    for stream in services[0].streams:
        stream.finish_sending()
    with Load(one) as load:
        wait_until(lambda: verdicts(one, "down") >= 1)
        mood.resets = False
        wait_until(lambda: verdicts(one, "up") >= 1)
    assert not load.failed()


def test_endpoint_that_closes_idle_connections_is_not_ill(router, backend):
    def serve(stream, service):
        service.requests.append(stream.read_request())
        stream.send(response(b"bye"))
        stream.finish_sending()

    services = [backend(serve), backend(serve)]
    one = router(two(services, evidence={"silence": {"after": "1m"}}))  # a busy machine may keep one of them silent
    with Load(one) as load:
        wait_until(lambda: len(load.results) > 200)
    assert not load.failed()
    assert verdicts(one, "down") == 0 and verdicts(one, "suspect") == 0


def test_what_is_slow_by_nature_does_not_make_a_quiet_endpoint_suspect(router, pair):
    """Requests that others have overtaken go on being slow when no others come: that is not silence."""
    _, services = pair
    one = router(two(services))
    for _ in range(10):
        assert one.get().status == 200
    with contextlib.ExitStack() as stack:
        waiting = []
        for _ in range(3):  # to one endpoint the slow ones, to the other the quick ones
            client = stack.enter_context(one.dial())
            client.send(request(target="/slow"))
            waiting.append(client)
            wait_until(lambda: sum(message.target == "/slow" for service in services for message in service.requests) == len(waiting))
            one.get()
        one.get(), one.get()
        assert {client.read_response().body for client in waiting} <= {b"a", b"b"}
    assert sorted(sum(message.target == "/slow" for message in service.requests) for service in services) == [0, 3]
