"""When a request is sent again, and when it must not be (RFC 9110 section 9.2.2)."""

import pathlib
import random
import select
import sys
import threading
import time

import pytest

import awkward
from http1 import PATIENCE, Closed, request, response, swallow_packets
from router import backend as backend_of
from router import PORTS, configuration, promised, wait_until


def dies_on_second(end):
    """The first connection answers once and then breaks on its second request; later ones are healthy."""
    return awkward.scripted(awkward.once_then(response(b"first"), end), awkward.named("fresh"))


@pytest.mark.parametrize("end", [awkward.closing_after(b""), awkward.resetting_after(b"")], ids=["fin", "rst"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_idempotent_request_on_a_stale_connection_is_sent_again(router, backend, end, method):
    service = backend(dies_on_second(end))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(request())
        assert client.read_response().body == b"first"
        client.send(request(method))
        assert client.read_response(method).status == 200
    assert [seen.method for seen in service.requests] == ["GET", method, method]
    assert one.logged(method=method, tries=2)["cause"] == "completed"


@pytest.mark.parametrize("end", [awkward.closing_after(b""), awkward.resetting_after(b"")], ids=["fin", "rst"])
def test_post_that_the_backend_may_have_acted_on_is_not_sent_again(router, backend, end):
    service = backend(dies_on_second(end))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(request())
        assert client.read_response().body == b"first"
        client.send(request("POST", body=b"once only"))
        assert client.read_response().status == 502
    assert [seen.method for seen in service.requests] == ["GET", "POST"]
    assert one.logged(method="POST", status=502)["cause"] in ("backend_closed", "backend_reset")


def test_post_does_not_meet_a_connection_that_the_backend_closed_while_idle(router, backend):
    closed = threading.Event()  # on loopback the FIN is at the router's socket when shutdown(2) returns

    def close(stream, _):
        stream.finish_sending()
        closed.set()
        stream.read_to_end()

    service = backend(awkward.scripted(awkward.once_then(response(b"first"), close), awkward.named("fresh")))
    one = router(configuration(service.port))
    assert one.get().body == b"first"
    assert closed.wait(PATIENCE)
    with one.dial() as client:
        client.send(request("POST", body=b"once only"))
        assert client.read_response().body == b"fresh"


def test_any_request_moves_on_from_an_endpoint_that_refuses_the_connection(router, backend):
    service = backend(awkward.named("alive"))
    one = router(configuration(backends=[backend_of(PORTS.take(), service.port, balance="round_robin")]))
    for _ in range(6):
        with one.dial() as client:
            client.send(request("POST", body=b"never sent before"))
            assert client.read_response().body == b"alive"
    assert len(service.requests) == 6


def test_nothing_is_sent_again_once_the_response_began(router, backend):
    service = backend(awkward.closing_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun"))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(request())
        client.read_head()
        client.read_to_end()
    assert len(service.requests) == 1


def test_retries_are_bounded(router, backend):
    services = [backend(awkward.closing_after(b"")) for _ in range(6)]
    one = router(configuration(backends=[backend_of(*(service.port for service in services), retries=2)]))
    assert one.get().status == 502
    assert sum(len(service.requests) for service in services) == 3


def test_zero_retries_means_one_try(router, backend):
    services = [backend(awkward.closing_after(b"")) for _ in range(3)]
    one = router(configuration(backends=[backend_of(*(service.port for service in services), retries=0)]))
    assert one.get().status == 502
    assert sum(len(service.requests) for service in services) == 1


def lost_on_the_way(first, end, sent):
    """After one answer nothing reaches this connection any more; when the router has written to it, it ends."""

    def serve(stream, backend):
        backend.requests.append(stream.read_request())
        swallow_packets(stream.socket)
        stream.send(first)
        assert sent.wait(PATIENCE)
        end(stream)

    return serve


def written(one):
    return one.metric("ebbgate_bytes_total", side="backend", direction="out")


def answer_to_a_lost_post(router, backend, end, body):
    """It goes out on a kept connection that the backend ends without having read it; (router, backend, answer)."""
    sent = threading.Event()
    service = backend(awkward.scripted(lost_on_the_way(response(b"first"), end, sent), awkward.named("fresh")))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(request())
        assert client.read_response().body == b"first"
        before = written(one)
        client.send(request("POST", body=body))
        wait_until(lambda: written(one) > before)
        sent.set()
        return one, service, client.read_response()


@pytest.mark.parametrize("body", [b"", b"once only", bytes(40_000)], ids=["bodiless", "small", "40k"])
def test_post_that_crossed_the_backends_fin_is_sent_again(router, backend, body):
    one, service, answer = answer_to_a_lost_post(router, backend, lambda stream: stream.close(), body)
    assert answer.body == b"fresh"
    assert [(seen.method, seen.body) for seen in service.requests] == [("GET", b""), ("POST", body)]
    assert one.logged(method="POST", status=200)["tries"] == 2


def test_post_that_met_a_reset_is_not_sent_again_even_if_it_was_lost(router, backend):
    one, service, answer = answer_to_a_lost_post(router, backend, lambda stream: stream.reset(), b"once only")
    assert answer.status == 502
    assert [seen.method for seen in service.requests] == ["GET"]
    assert one.logged(method="POST", status=502)["cause"] == "backend_reset"


def closing_when_idle(seconds, say=None):
    """Keeps a connection for so long after an answer, and says so if asked to."""
    fields = {} if say is None else {"Keep_Alive": f"timeout={say}"}

    def serve(stream, backend):
        while select.select([stream.socket], [], [], seconds)[0]:
            message = stream.read_request()
            backend.requests.append(message)
            stream.send(response(message.body, **fields))
        stream.close()

    return serve


def test_requests_do_not_meet_a_backend_that_closes_idle_connections(router, backend):
    service = backend(closing_when_idle(0.1))
    one = router(configuration(service.port))
    failures = []

    def ask(seed):
        chance = random.Random(seed)
        with one.dial() as client:
            for number in range(20):
                time.sleep(chance.uniform(0, 0.18))
                body = f"{seed}-{number}".encode()
                method = chance.choice(["GET", "POST", "PUT"])
                client.send(request(method, body=body))
                try:
                    answer = client.read_response()
                except (Closed, OSError) as error:
                    return failures.append((method, error))
                if (answer.status, answer.body) != (200, body):
                    failures.append((method, answer.start, answer.body))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(18)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not failures
    posts = [seen.body for seen in service.requests if seen.method == "POST"]
    assert len(posts) == len(set(posts)), "a POST was executed twice"


@pytest.mark.prompt
def test_connection_is_given_up_before_the_time_that_the_backend_says(router, backend):
    service = backend(closing_when_idle(60, say=1))
    one = router(configuration(service.port))
    assert one.get().status == 200
    started = time.monotonic()
    assert service.streams[0].is_closed()
    assert 0.5 < time.monotonic() - started < promised(1)


WITHOUT_IPV6 = [sys.executable, pathlib.Path(__file__).with_name("without_ipv6.py")]


def test_endpoint_for_which_there_is_no_socket_fails_within_its_tries(router):
    one = router(configuration(backends=[{"name": "service", "endpoints": [{"address": "[2001:db8::1]:8080"}]}]), through=WITHOUT_IPV6)
    assert one.get().status == 500
    assert 1 <= one.logged(status=500)["tries"] <= 3


def test_endpoint_for_which_there_is_no_socket_leaves_requests_to_others(router, backend):
    service = backend(awkward.named("fine"))
    endpoints = [{"name": "six", "address": "[2001:db8::1]:8080"}, {"name": "four", "address": f"127.0.0.1:{service.port}"}]
    one = router(configuration(backends=[{"name": "service", "endpoints": endpoints}]), through=WITHOUT_IPV6)
    assert [one.get().body for _ in range(6)] == [b"fine"] * 6
