"""Requests that no endpoint may take at the moment wait for one; they are woken, not told to come back."""

import threading
import time

import awkward
from http1 import PATIENCE, request, response
from router import backend as backend_of
from router import configuration, endpoint, wait_until


def waiting(one):
    """Requests in the router that have no endpoint yet."""
    return int(one.metric("ebbgate_requests_held"))


def ask_in_background(one, count=1, **fields):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(one.get(**fields))) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, answers


def served(threads, answers):
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a request was not answered"
    return answers


def test_request_waits_for_the_first_endpoint_of_an_empty_backend(router, backend):
    one = router(configuration())
    threads, answers = ask_in_background(one, 3)
    wait_until(lambda: waiting(one) == 3, what="three held requests")
    one.change(backends=[backend_of(backend(awkward.named("new")).port)])
    assert [answer.body for answer in served(threads, answers)] == [b"new"] * 3
    assert waiting(one) == 0


def test_request_waits_while_all_endpoints_drain(router, backend):
    service = backend(awkward.named("back"))
    one = router(configuration(backends=[{"name": "service", "endpoints": [endpoint(service.port, state="maint")]}]))
    threads, answers = ask_in_background(one)
    wait_until(lambda: waiting(one) == 1, what="a held request")
    one.change(backends=[backend_of(service.port)])
    assert [answer.body for answer in served(threads, answers)] == [b"back"]


def test_body_that_comes_while_the_request_waits_arrives_whole(router, backend):
    body = bytes(range(256)) * 1024
    one = router(configuration())
    with one.dial() as client:
        client.send(request("POST", Content_Length=str(len(body))))
        wait_until(lambda: waiting(one) == 1, what="a held request")
        sender = threading.Thread(target=client.send, args=(body,))
        sender.start()
        one.change(backends=[backend_of(backend(awkward.echoing()).port)])
        assert client.read_response("POST").body == body
        sender.join(PATIENCE)


def test_waiting_ends_with_503_and_says_when_to_come_back(router):
    one = router(configuration(backends=[backend_of(queue={"timeout": "100ms"})]))
    answer = one.get()
    assert answer.status == 503 and int(answer.get("Retry-After")) >= 1
    one.logged(status=503, cause="backend_empty")


def test_no_more_wait_than_may(router, backend):
    one = router(configuration(backends=[backend_of(queue={"limit": 2})]))
    threads, answers = ask_in_background(one, 2)
    wait_until(lambda: waiting(one) == 2, what="two held requests")
    assert one.get().status == 503
    one.logged(status=503, cause="queue_full")
    one.change(backends=[backend_of(backend(awkward.named("at last")).port)])
    assert [answer.body for answer in served(threads, answers)] == [b"at last"] * 2


def test_client_that_leaves_is_not_served(router, backend):
    service = backend(awkward.named("x"))
    one = router(configuration())
    with one.dial() as client:
        client.send(request())
        wait_until(lambda: waiting(one) == 1, what="a held request")
        client.reset()
    wait_until(lambda: waiting(one) == 0, what="the client's leaving")
    one.change(backends=[backend_of(service.port)])
    assert one.get().body == b"x"
    assert len(service.requests) == 1


def test_endpoint_gets_no_more_at_a_time_than_its_limit(router, backend):
    busy, most, lock, together = [], [], threading.Lock(), threading.Event()

    def slow(_):
        with lock:
            busy.append(1)
            most.append(len(busy))
            if len(busy) == 2:
                together.set()
        together.wait(20)  # for as many as may be
        time.sleep(0.05)
        with lock:
            busy.pop()
        return response(b"done")

    one = router(configuration(backends=[backend_of(backend(awkward.answering(slow)).port, endpoint_limits={"requests": 2})]))
    threads, answers = ask_in_background(one, 12)
    assert [answer.body for answer in served(threads, answers)] == [b"done"] * 12
    assert max(most) == 2
