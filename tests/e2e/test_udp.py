"""Datagrams: udp listeners, the flows of their clients, and endpoints that come, go and refuse."""

import contextlib
import selectors
import socket
import subprocess
import threading
import time

import pytest

import awkward
from admin_client import Api, runtime
from http1 import PATIENCE
from router import BINARY, PORTS, Router, endpoint, promised, wait_until


class Echo:
    """Answers each datagram with its own name, a colon and what it got; `silent` ones only listen."""

    def __init__(self, name, host="127.0.0.1", port=0, silent=False):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.name, self.silent, self.peers, self.received = name.encode(), silent, set(), []
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind((host, port or udp_port()))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                data, peer = self.socket.recvfrom(65536)
                if data == b"stop" and peer == self.socket.getsockname():
                    return
                self.peers.add(peer)
                self.received.append(data)
                if not self.silent:
                    self.socket.sendto(self.name + b":" + data, peer)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.sendto(b"stop", self.socket.getsockname())
        self.thread.join(PATIENCE)
        self.socket.close()


@pytest.fixture
def echo():
    with contextlib.ExitStack() as stack:
        def start(name, **options):
            one = Echo(name, **options)
            stack.callback(one.close)
            return one

        yield start


def udp_port():
    """A port that is free for datagrams."""
    while True:
        port = PORTS.take()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def listener(host="127.0.0.1", port=None, **more):
    return {"name": "dns", "bind": f"{host}:{port or udp_port()}", "protocol": "udp", "backend": "dns", **more}


def backend_of(*endpoints, **more):
    return {"name": "dns", "endpoints": [endpoint(one.port, one.name.decode()) for one in endpoints], **more}


def settings(*endpoints, **more):
    return {"listeners": [listener()], "backends": [backend_of(*endpoints, **more)]}


def client(host="127.0.0.1", timeout=PATIENCE):
    one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    one.settimeout(timeout)
    return one


def ask(one, port, data, host="127.0.0.1"):
    one.sendto(data, (host, port))
    return one.recvfrom(65536)[0]


def ask_until_answered(one, port, data):
    """As clients of a datagram protocol do: once more if no answer comes. The answer, and how often it was asked."""
    one.settimeout(1)
    for tries in range(1, PATIENCE):
        with contextlib.suppress(TimeoutError):
            return ask(one, port, data), tries
    raise AssertionError("no answer")


def test_a_datagram_is_answered_from_the_address_that_was_asked(router, echo):
    service = echo("a")
    one = router(settings(service))
    with client() as asker:
        asker.connect(("127.0.0.1", one.port("dns")))  # from now on the kernel drops what comes from elsewhere
        for turn in range(10):
            asker.send(b"%d" % turn)
            assert asker.recv(100) == b"a:%d" % turn
    assert len(service.peers) == 1, "one flow, one socket"
    assert one.metric("ebbgate_flows") == 1
    for side in "client", "backend":
        for direction in "in", "out":
            assert one.metric("ebbgate_datagrams_total", side=side, direction=direction) == 10
    assert one.metric("ebbgate_datagrams_dropped_total") == 0


def test_on_a_wildcard_each_address_answers_for_itself(router, echo):
    service = echo("a")
    port = udp_port()
    one = router({"listeners": [listener("0.0.0.0", port)], "backends": [backend_of(service)]})
    with client() as asker:
        for host in "127.0.0.1", "127.0.0.2", "127.0.0.3":
            asker.sendto(b"who?", (host, port))
            data, sender = asker.recvfrom(100)
            assert (data, sender) == (b"a:who?", (host, port))
    assert one.metric("ebbgate_flows") == 3


def test_ipv6_on_both_sides(router, echo):
    service = echo("six", host="::1")
    port = udp_port()
    one = router({"listeners": [listener("[::]", port)],
                  "backends": [{"name": "dns", "endpoints": [{"name": "six", "address": f"[::1]:{service.port}"}]}]})
    with client("::1") as asker:
        asker.sendto(b"x", ("::1", port))
        data, sender = asker.recvfrom(100)
        assert data == b"six:x" and sender[:2] == ("::1", port)
    assert one.metric("ebbgate_flows") == 1


@pytest.mark.parametrize("size", [0, 1, 1472, 1473, 9000, 60000, 65505])
def test_datagrams_of_any_size_arrive_whole(router, echo, size):
    service = echo("a")
    one = router(settings(service))
    data = bytes(number % 251 for number in range(size))
    with client() as asker:
        assert ask(asker, one.port("dns"), data) == b"a:" + data
    assert service.received == [data]


def test_a_thousand_clients_each_get_their_own_answer(router, echo):
    services = [echo("a"), echo("b")]
    one = router(settings(*services))
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        clients = [stack.enter_context(client()) for _ in range(1000)]
        for number, asker in enumerate(clients):
            selector.register(asker, selectors.EVENT_READ, number)
        answers = {}
        sent, deadline = 0, time.monotonic() + PATIENCE
        while len(answers) < 1000 and time.monotonic() < deadline:
            while sent < min(len(answers) + 100, 1000):  # what sockets have room for: more, the kernel may drop
                clients[sent].sendto(b"%d" % sent, ("127.0.0.1", one.port("dns")))
                sent += 1
            for key, _ in selector.select(1):
                answers.setdefault(key.data, []).append(key.fileobj.recv(100))
        assert {number: [answer.split(b":")[1] for answer in got] for number, got in answers.items()} == \
            {number: [b"%d" % number] for number in range(1000)}
    assert sum(len(service.peers) for service in services) == 1000
    assert all(400 <= len(service.peers) <= 600 for service in services), "both take their share"
    assert one.metric("ebbgate_flows") == 1000


def test_a_client_stays_with_its_endpoint(router, echo):
    one = router(settings(echo("a"), echo("b"), balance="round_robin"))
    with client() as first, client() as second:
        names = [{ask(asker, one.port("dns"), b"x") for _ in range(5)} for asker in (first, second)]
    assert sorted(names, key=str) == [{b"a:x"}, {b"b:x"}]


def test_a_killed_endpoint_loses_its_clients_to_the_other(router, echo):
    services = {name: echo(name) for name in "ab"}
    one = router(settings(*services.values()))
    with client() as asker:
        before = ask(asker, one.port("dns"), b"x")[:1].decode()
        after = "b" if before == "a" else "a"
        services[before].close()
        asker.sendto(b"lost", ("127.0.0.1", one.port("dns")))
        wait_until(lambda: one.metric("ebbgate_datagrams_total", side="backend", direction="out") == 2, what="the datagram that is refused")
        assert ask(asker, one.port("dns"), b"y") == f"{after}:y".encode(), "the datagram that was refused is lost, the next one is not"
    assert one.metric("ebbgate_flows_moved_total", cause="backend_refused") == 1


def test_the_only_endpoint_is_asked_again_when_it_is_back(router, echo):
    service = echo("a")
    one = router(settings(service))
    with client() as asker:
        assert ask(asker, one.port("dns"), b"1") == b"a:1"
        service.close()
        asker.sendto(b"lost", ("127.0.0.1", one.port("dns")))
        wait_until(lambda: one.metric("ebbgate_datagrams_total", side="backend", direction="out") == 2)
        echo("again", port=service.port)
        assert ask_until_answered(asker, one.port("dns"), b"2")[0] == b"again:2"
    assert one.metric("ebbgate_flows_moved_total") == 0


def test_flows_end_when_idle_and_are_logged(router, echo):
    service = echo("a")
    one = router(settings(service, timeouts={"idle": "3s"}))  # in which the answer comes, on a busy machine too
    with client() as asker:
        ask(asker, one.port("dns"), b"hello")
        line = one.logged(cause="flow_idle_timeout")
        assert line["protocol"] == "UDP" and line["listener"] == "dns" and line["backend"] == "dns"
        assert line["endpoint"] == "a" and line["endpoint_address"] == f"127.0.0.1:{service.port}"
        assert line["client"] == f"127.0.0.1:{asker.getsockname()[1]}"
        assert (line["bytes_received"], line["bytes_sent"], line["tries"], line["status"]) == (5, 7, 1, 0)
        assert line["total_ms"] >= 3000
        assert one.metric("ebbgate_flows") == 0
        assert ask(asker, one.port("dns"), b"anew") == b"a:anew"
    assert len(service.peers) == 2


def test_too_many_flows_end_the_one_used_least_recently(router, echo):
    service = echo("a")
    one = router({**settings(service), "limits": {"connections": 40}})  # a quarter of them: 10 flows
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(client()) for _ in range(11)]
        for asker in [*clients[:10], clients[0], clients[10]]:
            assert ask(asker, one.port("dns"), b"x") == b"a:x"
        line = one.logged(cause="flow_budget")
        assert line["client"] == f"127.0.0.1:{clients[1].getsockname()[1]}", "the first had been used again"
        assert one.metric("ebbgate_flows") == 10
        assert ask(clients[1], one.port("dns"), b"back") == b"a:back"


def test_a_flow_that_nobody_takes_is_counted_and_logged(router, echo):
    service = echo("a")
    broken = settings(service, timeouts={"idle": "300ms"})
    broken["backends"][0]["endpoints"][0]["state"] = "maint"
    one = router(broken)
    with client() as asker:
        asker.sendto(b"hello", ("127.0.0.1", one.port("dns")))
        assert one.logged(cause="backend_empty")["endpoint"] == ""
    assert one.metric("ebbgate_datagrams_dropped_total", reason="no_endpoint") == 1
    assert not service.received


@pytest.mark.parametrize("state", ["leaving", "drain", "maint", "gone"])
def test_an_endpoint_that_leaves_gets_no_further_datagram(router, echo, state):
    services = {name: echo(name) for name in "ab"}
    one = router(settings(*services.values()))
    with client() as asker:
        before = ask(asker, one.port("dns"), b"x")[:1].decode()
        after = "b" if before == "a" else "a"
        changed = backend_of(*services.values())
        if state == "gone":
            changed["endpoints"] = [one for one in changed["endpoints"] if one["name"] != before]
        else:
            next(one for one in changed["endpoints"] if one["name"] == before)["state"] = state
        one.change(backends=[changed])
        wait_until(lambda: ask(asker, one.port("dns"), b"y") == f"{after}:y".encode(), what="the move")
        seen = len(services[before].received)
        assert all(ask(asker, one.port("dns"), b"z") == f"{after}:z".encode() for _ in range(20))
        assert len(services[before].received) == seen
    assert one.metric("ebbgate_flows_moved_total", cause="endpoint_gone") == 1


@pytest.mark.parametrize("how", ["deadline", "operator"])
def test_a_drain_ends_the_flows_that_stay_and_its_receipt_counts_them(router, echo, tmp_path, how):
    """A client that sends nothing more does not move by itself."""
    services = {name: echo(name) for name in "ab"}
    drain = {"deadline": "200ms" if how == "deadline" else "10m"}
    one = router(settings(*services.values(), balance="round_robin", drain=drain, timeouts={"idle": "10m"}) | {"runtime": str(tmp_path / "socket")})
    api = Api(one.admin)
    with client() as asker, client() as neighbour:
        before = ask(asker, one.port("dns"), b"x")[:1].decode()
        after = ask(neighbour, one.port("dns"), b"x")[:1].decode()
        assert {before, after} == {"a", "b"}
        identity = api.drain(f"dns/{before}")
        if how == "operator":
            assert not api.drain_state(identity)["drained"]
            assert runtime(tmp_path / "socket", f"shutdown sessions server dns/{before}") == "\n"
        report = api.drain_state(identity, wait="30s")
        assert report["drained"] and report["cut"] == 1, report
        line = one.logged(cause="drain_deadline" if how == "deadline" else "operator_ended")
        assert (line["protocol"], line["endpoint"]) == ("UDP", before)
        assert one.metric("ebbgate_flows") == 1
        assert ask(neighbour, one.port("dns"), b"y") == f"{after}:y".encode()
        assert ask(asker, one.port("dns"), b"z") == f"{after}:z".encode()


def test_an_answer_that_was_on_its_way_still_arrives_after_the_move(router, echo):
    slow, quick = echo("slow", silent=True), echo("quick")
    one = router(settings(slow))
    with client() as asker:
        asker.sendto(b"think", ("127.0.0.1", one.port("dns")))
        wait_until(lambda: slow.received)
        generation = one.metric("ebbgate_config_generation")
        one.change(backends=[backend_of(quick)])
        wait_until(lambda: one.metric("ebbgate_config_generation") > generation)
        assert ask(asker, one.port("dns"), b"now") == b"quick:now"
        slow.socket.sendto(b"at last", next(iter(slow.peers)))
        assert asker.recv(100) == b"at last"


def test_a_removed_listener_ends_its_flows_and_frees_its_port(router, echo):
    one = router(settings(echo("a")))
    port = one.port("dns")
    with client() as asker:
        ask(asker, port, b"x")
        one.change(listeners=[listener(port=udp_port(), name="other")])
        assert one.logged(cause="listener_removed")["listener"] == "dns"
        assert one.metric("ebbgate_flows") == 0
        assert ask(asker, one.port("other"), b"x") == b"a:x"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", port))


def test_a_port_that_somebody_has_is_refused_and_nothing_changes(router, echo):
    one = router(settings(echo("a")))
    with echo_socket() as (taken, port), client() as asker:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a router that sets it too would share the port
        before = one.settings
        one.change(listeners=[listener(port=port, name="other")])
        wait_until(lambda: f"cannot bind 127.0.0.1:{port}" in one.error_text(), what="the refusal")
        assert ask(asker, next(int(each["bind"].rsplit(":", 1)[1]) for each in before["listeners"]), b"x") == b"a:x"


@contextlib.contextmanager
def echo_socket():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        port = udp_port()
        taken.bind(("127.0.0.1", port))
        yield taken, port


def test_tcp_and_udp_share_a_port(router, echo, backend):
    web = backend(awkward.named("web"))
    port = udp_port()
    one = router({"listeners": [listener(port=port), {"name": "web", "bind": f"127.0.0.1:{port}"}],
                  "routes": [{"name": "all", "backend": "web"}],
                  "backends": [backend_of(echo("a")), {"name": "web", "endpoints": [endpoint(web.port)]}]})
    with client() as asker:
        assert ask(asker, port, b"x") == b"a:x"
    assert one.get().body == b"web"


def test_changes_under_traffic_lose_nothing(router, echo):
    services = [echo("a"), echo("b"), echo("c")]
    one = router({**settings(*services), "workers": 2})
    port, lost, asked, stop = one.port("dns"), [], [0], threading.Event()

    def keep_asking(number):
        with client() as asker:
            turn = 0
            while not stop.is_set():
                turn += 1
                question = b"%d/%d" % (number, turn)
                try:
                    answer = ask(asker, port, question)
                    if not answer.endswith(b":" + question):
                        lost.append((question, answer))
                except TimeoutError:
                    lost.append(question)
                asked[0] += 1

    threads = [threading.Thread(target=keep_asking, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for turn in range(20):
        generation = one.metric("ebbgate_config_generation")
        changed = backend_of(*services)
        changed["endpoints"].pop(turn % 3)
        one.change(backends=[changed])
        wait_until(lambda: one.metric("ebbgate_config_generation") > generation, what="the change")
    stop.set()
    for thread in threads:
        thread.join()
    assert not lost
    assert asked[0] > 100
    assert one.metric("ebbgate_flows_moved_total", cause="endpoint_gone") > 0


def test_an_owed_answer_is_waited_for_when_the_router_stops(router, echo):
    slow = echo("slow", silent=True)
    one = router(settings(slow))
    with client() as asker:
        asker.sendto(b"think", ("127.0.0.1", one.port("dns")))
        wait_until(lambda: slow.received)
        one.process.terminate()
        wait_until(lambda: one.ask_admin("/readyz").status == 503, what="the stop")
        slow.socket.sendto(b"at last", next(iter(slow.peers)))
        assert asker.recv(100) == b"at last"
    one.process.wait(timeout=PATIENCE)
    assert one.logged(cause="shutdown")["bytes_sent"] == 7


@pytest.mark.prompt
def test_streams_are_served_beside_a_flood_of_datagrams(router, echo, backend):
    web = backend(awkward.named("web"))
    one = router({"listeners": [listener(), {"name": "web", "bind": f"127.0.0.1:{PORTS.take()}"}],
                  "routes": [{"name": "all", "backend": "web"}],
                  "backends": [backend_of(echo("a", silent=True)), {"name": "web", "endpoints": [endpoint(web.port)]}]})
    stop = threading.Event()

    def flood():
        with client() as asker:
            asker.connect(("127.0.0.1", one.port("dns")))
            while not stop.is_set():
                asker.send(b"x" * 100)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        times = []
        for _ in range(50):
            started = time.monotonic()
            assert one.get().body == b"web"
            times.append(time.monotonic() - started)
        assert sorted(times)[25] < promised(0.5)
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("change,message", [
    (lambda all: all["listeners"][0].pop("backend"), "listeners[0].backend"),
    (lambda all: all["backends"][0].update(proxy_protocol="v2"), "the PROXY protocol is sent over TCP only"),
    (lambda all: all["listeners"][0].update(proxy_protocol={"from": ["127.0.0.0/8"]}), "the PROXY protocol is read over TCP only"),
    (lambda all: all["listeners"][0].update(connections_per_client=5), "listeners[0].connections_per_client"),
])
def test_keys_that_would_do_nothing_are_refused(tmp_path, change, message):
    wrong = {"listeners": [listener()], "backends": [{"name": "dns", "endpoints": [endpoint(53)]}]}
    change(wrong)
    one = Router(tmp_path, wrong, "epoll")
    one.write(one.settings)
    check = subprocess.run([BINARY, "check", "-c", one.file], capture_output=True, text=True)
    assert check.returncode != 0 and message in check.stdout + check.stderr
