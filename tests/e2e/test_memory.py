"""The router's memory stays bounded, whatever clients send and however little they read, and others are served meanwhile."""

import contextlib
import pathlib
import re
import socket

import pytest

import attackers
import awkward
from http1 import request, response
from router import PORTS, SANITIZED, configuration, wait_until
from router import backend as backend_of

PEAK_KIB_MAX = 512 << 10
BUFFER_BYTES_MAX = 96 << 20  # of what one kind of client holds; all of them together: what the workers may have

pytestmark = [pytest.mark.slow, pytest.mark.skipif(SANITIZED, reason="sanitizers hold memory of their own")]
BLOCK = 64 << 10  # a few of them


def peak_kib(router):
    status = pathlib.Path(f"/proc/{router.process.pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE).group(1))


@pytest.mark.parametrize("kinds", [*((kind,) for kind in attackers.KINDS), attackers.KINDS], ids="+".join)
def test_hostile_clients_hold_little_and_a_neighbour_is_served(router, nginx, kinds):
    with attackers.Endpoint() as endpoint:
        one = router({"workers": 2, **attackers.settings_for(endpoint.port, endpoint.deaf_port, nginx.port, PORTS)})
        senders = attackers.attack(one.port(), one.port("bytes"), kinds)
        with one.dial() as neighbour:
            def served():
                neighbour.send(request(target="/small"))
                return neighbour.read_response().status

            answers = []
            attackers.press_on(senders, seconds=3, until=lambda: answers.append(served()))
            answers += [served() for _ in range(20)]
        assert set(answers) == {200}
        assert one.metric("ebbgate_buffer_bytes") < (BUFFER_BYTES_MAX if len(kinds) == 1 else 256 << 20)
        assert peak_kib(one) < PEAK_KIB_MAX, one.metrics()
        for sender in senders:
            sender.socket.close()
        wait_until(lambda: one.metric("ebbgate_exchanges") == 0, what="the end of all requests")
        assert one.get("/small").status == 200


@contextlib.contextmanager
def attacked(router, nginx, pieces, connections, buffers):
    """A router of one worker beside connections that send these pieces, and what a neighbour was answered meanwhile."""
    with attackers.Endpoint() as endpoint:
        settings = attackers.settings_for(endpoint.port, endpoint.deaf_port, nginx.port, PORTS)
        settings["backends"][0]["timeouts"]["response"] = "10m"  # no time-out ends what they hold
        one = router({"limits": {"buffers": buffers}, **settings})
        with one.dial() as neighbour:
            answers = []

            def served():
                neighbour.send(request(target="/small"))
                answers.append(neighbour.read_response().status)

            served()
            one.idle_bytes = one.metric("ebbgate_buffer_bytes")  # io_uring has some that it receives into
            senders = [attackers.Sender(one.port(), pieces) for _ in range(connections)]
            attackers.press_on(senders, seconds=2, until=served)
            sent = connections * sum(map(len, pieces))

            def taken():
                served()
                return one.metric("ebbgate_bytes_total", side="client", direction="in") >= sent or any(map(attackers.Sender.has_ended, senders))

            wait_until(taken, what="the router to take what was sent")
            for _ in range(20):
                served()
            yield one, answers
        for sender in senders:
            sender.socket.close()


def test_bytes_for_tunnels_that_are_not_granted_are_charged_and_copied_together(router, nginx):
    with attacked(router, nginx, attackers.handshakes(), connections=14, buffers="8MiB") as (one, answers):
        assert set(answers) == {200}
        assert one.metric("ebbgate_buffer_bytes") - one.idle_bytes < 4 << 20
        assert one.metric("ebbgate_connections_closed_total", side="client", cause="buffer_limit") == 0


def test_heads_of_requests_are_charged_to_the_client_that_sent_them(router, nginx):
    """A few bytes on the wire are 16 KiB in the router. The neighbour, who holds nothing, is not ended for it."""
    with attacked(router, nginx, attackers.heads(), connections=60, buffers="32MiB") as (one, answers):
        assert set(answers) == {200}
        assert one.metric("ebbgate_buffer_bytes") <= 32 << 20
        assert one.metric("ebbgate_requests_total", cause="buffer_limit") > 0  # streams that were refused


def answering_with_long_heads(asked):
    return response(**{f"X-Long-{index}": "h" * 1000 for index in range(14)})


def test_heads_of_answers_that_nobody_reads_wait_within_a_limit(router, backend):
    one = router(configuration(backend(awkward.answering(answering_with_long_heads)).port))
    assert one.get("/").status == 200
    before, idle_bytes = one.rss_kib(), one.metric("ebbgate_buffer_bytes")
    askers = [attackers.Asker(one.port()) for _ in range(40)]
    for _ in range(21):  # 190 resets, which is within what a client may do
        for asker in askers:
            asker.round(9)
        wait_until(lambda: one.metric("ebbgate_exchanges") <= len(askers), what="the answers")
    for asker in askers:
        asker.round(110)
        wait_until(lambda: one.metric("ebbgate_exchanges") <= len(askers), what="the answers")
    charged_kib = one.metric("ebbgate_buffer_bytes") / 1024
    assert one.rss_kib() - before < charged_kib + (32 << 10)
    assert charged_kib < len(askers) * (2560 + 256)  # a head for each of 128 streams, and 256 KiB twice
    for asker in askers:
        asker.socket.close()
    wait_until(lambda: one.metric("ebbgate_buffer_bytes") < idle_bytes + BLOCK, what="the end of what they held")


def test_an_upload_keeps_no_client_that_does_not_read(router, backend):
    one = router(configuration(backend(awkward.answering(answering_with_long_heads)).port, timeouts={"client_write": "2s"}))
    asker = attackers.Asker(one.port())
    asker.round(100)

    def ended():
        asker.go_on()
        return one.metric("ebbgate_connections_closed_total", side="client", cause="client_write_timeout") == 1

    wait_until(ended, what="the end of the connection")
    asker.socket.close()


def test_answers_to_pipelined_requests_wait_for_their_reader(router, nginx):
    """It asks and asks and never reads: what it is owed stays within the limit for one connection."""
    (nginx.files / "page").write_bytes(b"p" * 16000)
    one = router(configuration(nginx.port))
    before = one.rss_kib()
    with socket.create_connection(("127.0.0.1", one.port())) as client:
        client.settimeout(1)
        asked = request(target="/page") * 2000
        sent = 0
        try:
            while sent < 20 * len(asked):
                sent += client.send(asked)
        except TimeoutError:
            pass  # it is not read from any more
        # Its requests in the kernel's buffers aside, it has been answered little.
        assert one.metric("ebbgate_buffer_bytes") < 8 << 20
        assert one.rss_kib() - before < 32 << 10


def test_pipelined_requests_are_answered_when_their_reader_goes_on(router, nginx):
    (nginx.files / "page").write_bytes(b"p" * 16000)
    one = router(configuration(nginx.port))
    with one.dial() as client:
        client.send(request(target="/page") * 500)
        wait_until(lambda: one.metric("ebbgate_buffer_bytes") > 256 << 10, what="answers that wait")
        for _ in range(500):
            assert len(client.read_response().body) == 16000
        client.send(request(target="/page"))
        assert client.read_response().status == 200


def test_a_client_that_only_asks_gets_no_more_time_to_read(router, nginx):
    (nginx.files / "page").write_bytes(b"p" * 16000)
    one = router(configuration(nginx.port, timeouts={"client_write": "2s"}))
    with socket.create_connection(("127.0.0.1", one.port())) as client:
        client.setblocking(False)

        def ask_again():
            """A request every now and then must not keep it open."""
            try:
                client.send(request(target="/page") * 100)
            except BlockingIOError:
                pass
            except OSError:
                return True
            return one.metric("ebbgate_connections_closed_total", cause="client_write_timeout") == 1

        wait_until(ask_again, what="the end of the connection")


def ask_for_zstd(router):
    stream = router.dial()
    stream.send(request(target="/endless", **{"Accept-Encoding": "zstd"}))
    return stream, stream.read_head().get("Content-Encoding")


def test_responses_beyond_the_budget_of_encoders_are_not_compressed(router, nginx):
    with attackers.Endpoint() as endpoint:
        settings = attackers.settings_for(endpoint.port, endpoint.deaf_port, nginx.port, PORTS)
        one = router({"limits": {"encoders": "2MiB"}, **settings})  # one of zstd has room
        first, coding = ask_for_zstd(one)
        assert coding == "zstd"
        second, coding = ask_for_zstd(one)
        assert coding is None
        assert one.metric("ebbgate_compressions_left_out_total") == 1
        first.socket.close()
        second.socket.close()
        wait_until(lambda: one.metric("ebbgate_exchanges") == 0, what="the end of both")
        third, coding = ask_for_zstd(one)
        assert coding == "zstd"
        third.socket.close()


def test_who_holds_most_is_ended_before_the_buffers_are_used_up(router, nginx):
    with attackers.Endpoint() as endpoint:
        settings = attackers.settings_for(endpoint.port, endpoint.deaf_port, nginx.port, PORTS)
        one = router({"limits": {"buffers": "8MiB"}, **settings})
        senders = attackers.attack(one.port(), one.port("bytes"), ["readers"])
        attackers.press_on(senders, seconds=3)
        with one.dial() as neighbour:
            def ended():
                neighbour.send(request(target="/small"))
                assert neighbour.read_response().status == 200
                return one.metric("ebbgate_connections_closed_total", cause="buffer_limit") > 0

            wait_until(ended, what="the end of a client that holds much")
            for _ in range(20):
                assert one.metric("ebbgate_buffer_bytes") <= (8 << 20) + BLOCK  # heads and own answers are never refused one
        for sender in senders:
            sender.socket.close()


def test_copies_for_another_try_give_way_and_no_request_does(router, backend):
    """Requests whose answers are late, each with a body that is kept in case that its endpoint closes."""
    waiting = 160

    def serve(stream, known):
        while True:
            asked = stream.read_request()
            if asked.method == "POST":
                known.requests.append(asked)
                known.released.wait(60)
            stream.send(response(b"%d" % len(asked.body)))

    service = backend(serve)
    one = router(configuration(backends=[backend_of(service.port, timeouts={"response": "10m"})], limits={"buffers": "8MiB"}))
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(one.dial()) for _ in range(waiting)]
        for client in clients:
            client.send(request("POST", body=bytes(60000)))
            assert one.get().body == b"0"  # a neighbour
        service.wait_for_requests(waiting)
        wait_until(lambda: one.metric("ebbgate_replay_copies_dropped_total") > 0, what="a copy that gave way")
        assert one.metric("ebbgate_buffer_bytes") <= (8 << 20) + BLOCK
        assert one.get().body == b"0"
        service.released.set()
        assert [client.read_response().body for client in clients] == [b"60000"] * waiting
    assert one.metric("ebbgate_connections_closed_total", cause="buffer_limit") == 0
