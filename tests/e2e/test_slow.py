"""Slow is not dead: what the router may conclude from silence and failures, and what it must leave alone."""

import contextlib
import json
import threading
import time

import pytest

from http1 import PATIENCE, Closed, request, response, swallow_packets
from router import HELD, configuration, wait_until
from router import backend as backend_of


class Service:
    """Answers as the target says: with `slow` in it after some seconds, /fail and `broken` with 500, /stream is quiet after its head."""

    SECONDS = 4

    def __init__(self):
        self.answers = threading.Event()  # cleared: nothing is answered any more, but checks if they may be
        self.answers.set()
        self.checks_hang = True
        self.fails = False
        self.seen = []

    def __call__(self, stream, backend):
        while True:
            message = stream.read_request()
            if message.target == "/healthz" and not self.checks_hang:
                stream.send(response(b"fine"))
                continue
            self.seen.append((message.method, message.target))
            if "slow" in message.target:
                time.sleep(self.SECONDS)
            self.answers.wait()  # the fixture sets it at the end: nobody is answered because a test has waited for long enough
            if message.target.startswith("/stream"):
                stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhead\r\n")
                continue
            status = "500 Broken" if self.fails or message.target.startswith("/fail") or "broken" in message.target else "200 OK"
            stream.send(response(b"answer", status=status))


@pytest.fixture
def services(backend):
    minds = [Service() for _ in range(3)]
    yield minds, [backend(mind) for mind in minds]
    for mind in minds:
        mind.answers.set()


def of(services, count=3, **more):
    """No time-out ends what waits."""
    return configuration(backends=[backend_of(*(service.port for service in services[1][:count]), timeouts={"response": "10m"}, **more)],
                         timeouts={"backend_body": "10m"})


def endpoint(router, index):
    return json.loads(router.ask_admin(f"/api/v1/backends/service/endpoints/e{index}").body)


class Asking:
    """Requests from threads; each on a connection of its own."""

    def __init__(self, router):
        self.router, self.threads, self.results = router, [], []

    def one(self, method, target):
        def run():
            try:
                with self.router.dial() as client:
                    client.send(request(method, target, body=b"once" if method == "POST" else b""))
                    self.results.append((method, target, client.read_response().status))
            except (Closed, OSError):
                self.results.append((method, target, 0))

        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def wait(self):
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a request was not answered"
        return self.results


def warm_up(router, minds, count=60, target="/fast/0"):
    asking = Asking(router)

    def warm():
        for _ in range(10):
            asking.one("GET", target)
        asking.wait()
        return all(len(mind.seen) >= count for mind in minds)

    wait_until(warm, what=f"{count} requests at each endpoint")


def quick_kind(router, count, query=""):
    """The path of a kind of request that was answered so often, and never late. Where the machine has made an answer late, the
    kind is slow indeed, and the next one is taken. `query` is made another one for each request."""
    for number in range(10):
        slowest = 0
        for asked in range(count):
            started = time.monotonic()
            assert router.get(f"/quick{number}" + (query.format(asked) or "/1")).status == 200
            slowest = max(slowest, time.monotonic() - started)
        if slowest < 0.5:  # late is what takes longer than a second
            return f"/quick{number}" + (query or "/1")
    raise AssertionError("some request of each kind was late")


def open_stream(router, minds, index):
    """A client of a quiet stream at that service, the only one there."""
    def there():
        client = router.dial()
        client.send(request(target="/stream/1"))
        client.read_head()
        assert client.read(9) == b"4\r\nhead\r\n"
        if any(target == "/stream/1" for _, target in minds[index].seen):
            return client
        client.close()
        return None

    return wait_until(there, what=f"a stream at endpoint {index}")


def ask_until_confirmed(router, asking, target="/fast/1", one_by_one=False):
    """With `one_by_one`, no more than one request that is not answered is left behind when the next is asked."""
    def confirmed():
        if one_by_one:
            wait_until(lambda: len(asking.results) >= len(asking.threads) - 1, what="an answer")
        asking.one("GET", target)
        return endpoint(router, 0)["silence"] == "confirmed"

    wait_until(confirmed, what="the confirmation")


def assert_moved(router):
    """Some test of the first endpoint was in vain, and then requests left it."""
    # Of one look: what a worker has counted is not in the sum while it is too busy to say.
    counters = wait_until(lambda: (known := endpoint(router, 0)["counters"])["moved"] > 0 and known, what="the count of those that left")
    assert counters["trials_failed"] > 0
    wait_until(lambda: "event=endpoint_relieved" in router.error_text(), what="the event")
    return counters


@pytest.mark.prompt  # over a second without an answer, by a machine that is busy, is a reason to doubt
@pytest.mark.leisurely
@pytest.mark.parametrize("balance", ["least_request", "round_robin"])
@pytest.mark.parametrize("slow", ["/slow/{}", "/fast/{}?slow"], ids=["own-path", "same-path"])
def test_slow_requests_among_fast_ones_in_sparse_traffic_are_answered_once(router, services, balance, slow):
    minds, _ = services
    one = router(of(services, balance=balance))
    asking = Asking(one)
    for number in range(30):
        asking.one("GET", f"/fast/{number}")
        if number % 4 == 0:
            asking.one("POST", slow.format(number))
        if number % 4 == 2:
            asking.one("GET", slow.format(number))
        time.sleep(0.4)
    results = asking.wait()
    assert {status for _, _, status in results} == {200}
    seen = [each for mind in minds for each in mind.seen]
    posts = [each for each in seen if each[0] == "POST"]
    assert set(seen) == {(method, target) for method, target, _ in results} and len(posts) == len(set(posts))
    if HELD:
        assert len(seen) == len(set(seen)) == len(results)
        assert one.metric("ebbgate_retries_total", cause="backend_silent") == 0


@pytest.mark.parametrize("checks", [False, True], ids=["no-checks", "checks"])
def test_frozen_endpoint_keeps_posts_and_streams_and_loses_gets(router, services, checks):
    minds, _ = services
    health = {"health": {"http": "/healthz", "every": "500ms", "timeout": "300ms"}} if checks else {}
    one = router(of(services, balance="round_robin", **health))
    for mind in minds:
        mind.checks_hang = False
    warm_up(one, minds)
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(open_stream(one, minds, 0))
        minds[0].answers.clear()
        asking = Asking(one)

        def posted():
            asking.one("POST", f"/post/{len(asking.threads)}")
            wait_until(lambda: sum(method == "POST" for mind in minds for method, _ in mind.seen) == len(asking.threads), what="the POST")
            return any(method == "POST" for method, _ in minds[0].seen)

        wait_until(posted, what="a POST at the first endpoint")
        posts = len(asking.threads)
        # Before its checks hang: without a request there, nothing could leave.
        wait_until(lambda: asking.one("GET", "/fast/1") or ("GET", "/fast/1") in minds[0].seen, what="a GET at the first endpoint")
        minds[0].checks_hang = True
        ask_until_confirmed(one, asking)
        for number in range(10):
            asking.one("GET", "/fast/2")
        wait_until(lambda: len(asking.results) == len(asking.threads) - 1, what="all answers but one")
        assert {status for _, _, status in asking.results} == {200}
        assert sum(method == "POST" for method, _, _ in asking.results) == posts - 1
        minds[0].answers.set()
        assert {status for _, _, status in asking.wait()} == {200}
        assert len([each for mind in minds for each in mind.seen if each[0] == "POST"]) == posts
        wait_until(lambda: one.get("/fast/3").status == 200 and endpoint(one, 0)["silence"] == "none")
        assert not stream.is_readable()  # neither cut nor ended
        wait_until(lambda: endpoint(one, 0)["counters"]["moved"] > 0, what="the count of those that left")
    wait_until(lambda: "endpoint_relieved" in one.error_text() and "silence=confirmed" in one.error_text(), what="the events")


def test_one_request_that_waits_at_a_frozen_endpoint_is_enough(router, services):
    """The default balance sends no second one there, and no trial by itself."""
    minds, _ = services
    one = router(of(services))
    target = quick_kind(one, 150)
    minds[0].answers.clear()
    asking = Asking(one)
    ask_until_confirmed(one, asking, target, one_by_one=True)
    assert {status for _, _, status in asking.wait()} == {200}
    assert not minds[0].answers.is_set()
    assert assert_moved(one)["trials"] > 0


def test_doubt_that_one_trial_does_not_settle_is_settled_without_traffic(router, services):
    """Few answers are known, some requests wait, one more was a trial in vain; then nobody asks any more."""
    minds, _ = services
    one = router(of(services, balance="round_robin"))
    target = quick_kind(one, 3 * 17)
    before = len(minds[0].seen)
    minds[0].answers.clear()
    asking = Asking(one)

    def waiting():
        asking.one("GET", target)
        wait_until(lambda: sum(len(mind.seen) for mind in minds) >= asked + len(asking.threads), what="the request at an endpoint")
        return len(minds[0].seen) - before >= 3

    asked = sum(len(mind.seen) for mind in minds)
    wait_until(waiting, what="three requests that wait")

    def answered():
        asking.one("GET", target)
        return asking.threads[-1].join(1) or not asking.threads[-1].is_alive()

    wait_until(answered, what="an answer of a sibling to what was asked later")
    wait_until(lambda: endpoint(one, 0)["silence"] != "none", what="doubt")
    asking.one("GET", target)
    assert {status for _, _, status in asking.wait()} == {200}
    assert not minds[0].answers.is_set()
    wait_until(lambda: endpoint(one, 0)["counters"]["moved"] >= 3, what="the count of those that left")


@pytest.mark.parametrize("answers,query", [(150, ""), (36, "?number={}")], ids=["one-target", "queries"])
def test_requests_of_one_burst_leave_a_frozen_endpoint(router, services, answers, query):
    """All are read in one round of each worker, and nobody asks later. A query does not make another kind of request."""
    minds, _ = services
    one = router(of(services, balance="round_robin"))
    target = quick_kind(one, answers, query)
    minds[0].answers.clear()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(one.dial()) for _ in range(18)]
        with one.stopped():
            for number, client in enumerate(clients):
                client.send(request("GET", target.format(f"later-{number}")))
        assert {client.read_response().status for client in clients} == {200}
    assert not minds[0].answers.is_set()
    assert_moved(one)


def test_gray_endpoint_whose_checks_pass_loses_its_gets(router, services):
    minds, _ = services
    for mind in minds:
        mind.checks_hang = False
    one = router(of(services, balance="round_robin", health={"http": "/healthz", "every": "2s", "timeout": "2s"}))
    warm_up(one, minds)
    minds[0].answers.clear()

    def check():
        return wait_until(lambda: endpoint(one, 0)["check"], what="a check")  # none while its worker is too busy to say

    passed = check()["passed"]
    asking = Asking(one)
    ask_until_confirmed(one, asking)
    assert {status for _, _, status in asking.wait()} == {200}
    wait_until(lambda: (known := check())["passed"] > passed and known["state"] == "good", what="a check that passes meanwhile")
    assert_moved(one)


def test_quiet_stream_on_a_host_that_is_gone_is_told(router, services):
    minds, backends = services
    one = router(of(services, count=2, balance="round_robin", keepalive={"idle_per_endpoint": 0, "idle_per_endpoint_max": 0}))
    with open_stream(one, minds, 0) as stream:
        swallow_packets(backends[0].listener)
        for peer in backends[0].streams:
            swallow_packets(peer.socket)
        asking = Asking(one)
        for _ in range(4):
            asking.one("GET", "/fast/1")
        assert stream.is_closed()
        assert {status for _, _, status in asking.wait()} == {200}
    assert one.logged(target="/stream/1", cause="backend_dead")


def test_quiet_stream_of_an_endpoint_that_only_accepts_no_more_stays(router, services):
    minds, backends = services
    one = router(of(services, count=2, balance="round_robin", keepalive={"idle_per_endpoint": 0, "idle_per_endpoint_max": 0}))
    with open_stream(one, minds, 0) as stream:
        swallow_packets(backends[0].listener)  # as a full accept queue does
        asking = Asking(one)
        for _ in range(4):
            asking.one("GET", "/fast/1")
        wait_until(lambda: endpoint(one, 0)["cause"] == "backend_connect_timeout")
        asking.wait()
        time.sleep(3)
        assert not stream.is_readable()
        wait_until(lambda: endpoint(one, 0)["in_flight"]["total"] == 1, what="the stream alone")


def test_url_that_fails_everywhere_ejects_nobody(router, services):
    minds, _ = services
    one = router(of(services, count=2, balance="round_robin"))
    warm_up(one, minds[:2])
    for _ in range(40):
        assert one.get("/fail/1").status == 500
    assert [endpoint(one, index)["health"] for index in range(2)] == ["up", "up"]


@pytest.mark.parametrize("evidence", [{}, {"failures": "off"}], ids=["on", "off"])
def test_endpoint_that_fails_alone_is_ejected_unless_that_is_off(router, services, evidence):
    minds, _ = services
    one = router(of(services, count=2, balance="round_robin", evidence=evidence))
    minds[0].fails = True
    for _ in range(40):
        one.get("/fast/1")
    ejected = one.metric("ebbgate_endpoint_verdicts_total", to="down", cause="backend_failing")
    assert ejected == 0 if evidence else ejected >= 1  # each lasts 1 s, and the machine may be slower than 40 requests in that


@pytest.mark.parametrize("bond", [{"sticky": {"cookie": "EBB"}}, {"balance": "header_hash", "hash_header": "X-Client"}], ids=["cookie", "hash"])
def test_client_that_is_bound_to_an_endpoint_ejects_nobody(router, services, bond):
    """What it asks for fails there, and no sibling is asked for it."""
    minds, _ = services
    one = router(of(services, **bond))
    homes = {}  # of the clients: how one comes back to its endpoint

    def one_of_each():
        for _ in range(5):
            headers = {} if "sticky" in bond else {"X-Client": str(sum(len(mind.seen) for mind in minds))}
            before = [len(mind.seen) for mind in minds]
            answer = one.get("/fast/1", **headers)
            home = next(index for index, mind in enumerate(minds) if len(mind.seen) > before[index])
            homes[home] = headers or {"Cookie": answer.get("Set-Cookie").split(";")[0]}
        return len(homes) == len(minds)

    wait_until(one_of_each, what="a client at each endpoint")
    for _ in range(40):
        assert one.get("/fast/broken", **homes[0]).status == 500
        for index in (1, 2):
            assert one.get("/fast/1", **homes[index]).status == 200
    assert one.metric("ebbgate_endpoint_verdicts_total", to="down", cause="backend_failing") == 0


def test_silence_can_be_switched_off(router, services):
    minds, _ = services
    one = router(of(services, count=2, balance="round_robin", evidence={"silence": "off"}))
    warm_up(one, minds[:2])
    minds[0].answers.clear()
    asking = Asking(one)
    for _ in range(20):
        asking.one("GET", "/fast/1")
    time.sleep(3)
    assert endpoint(one, 0)["silence"] == "none"
    minds[0].answers.set()
    assert {status for _, _, status in asking.wait()} == {200}
