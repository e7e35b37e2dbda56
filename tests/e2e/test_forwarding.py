"""One request, one response: what each side sees."""

import pytest

import awkward
from http1 import request, response
from router import backend as backend_of
from router import configuration, endpoint, wait_until

BODY = b"The tide goes out, the tide comes in."
CHUNKED = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           b"5;ext=1\r\nebb a\r\n7\r\nnd flow\r\n0\r\nX-Trailer: yes\r\n\r\n")


def test_request_reaches_the_backend_with_its_host_and_forwarding_fields(router, backend):
    service = backend(awkward.named("hello"))
    one = router(configuration(service.port))
    answer = one.get("/a/b?c=d", host="shop.example.com", Connection_X="kept", Keep_Alive="timeout=5")
    assert (answer.status, answer.body) == (200, b"hello")
    seen = service.requests[0]
    assert seen.start == "GET /a/b?c=d HTTP/1.1"
    assert seen.all("Host") == ["shop.example.com"]
    assert seen.all("X-Forwarded-For") == ["127.0.0.1"]
    assert seen.all("X-Forwarded-Proto") == ["http"]
    assert seen.all("X-Forwarded-Host") == ["shop.example.com"]
    assert seen.get("Connection-X") == "kept"
    assert not seen.all("Keep-Alive") and "close" not in seen.get("Connection", "")


@pytest.mark.parametrize("raw", [response(BODY), CHUNKED, response(b"", "204 No Content")], ids=["length", "chunked", "empty"])
def test_response_split_at_every_byte_arrives_whole(router, backend, raw):
    one = router(configuration(backend(awkward.splitting(raw)).port))
    with one.dial() as client:
        for _ in range(3):
            client.send(request())
            answer = client.read_response()
            assert answer.body in (BODY, b"ebb and flow", b"")
            assert answer.body or answer.status in (200, 204)


def test_request_split_at_every_byte_arrives_whole(router, backend):
    service = backend(awkward.echoing())
    one = router(configuration(service.port))
    with one.dial() as client:
        for byte in request("POST", "/split", body=BODY):
            client.send(bytes([byte]))
        assert client.read_response().body == BODY
    assert service.requests[0].body == BODY


def test_pipelined_requests_are_answered_in_order(router, backend):
    service = backend(awkward.answering(lambda one: response(one.target.encode())))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(b"".join(request(target=f"/{number}") for number in range(20)))
        assert [client.read_response().body for _ in range(20)] == [f"/{number}".encode() for number in range(20)]


def test_backend_connection_is_reused_by_another_client(router, backend):
    service = backend(awkward.named("hello"))
    one = router(configuration(service.port))
    for _ in range(5):
        assert one.get().status == 200
    assert len(service.streams) == 1
    assert one.metric("ebbgate_backend_connections_reused_total") == 4


def test_interim_responses_pass_and_are_not_taken_for_the_final_one(router, backend):
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    one = router(configuration(backend(awkward.answering(lambda _: hints + hints + response(BODY))).port))
    with one.dial() as client:
        client.send(request())
        assert [client.read_head().status for _ in range(2)] == [103, 103]
        assert client.read_response().body == BODY


def test_trailers_of_a_request_reach_the_backend(router, backend):
    service = backend(awkward.echoing())
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nebb\r\n0\r\nX-Sum: 7\r\n\r\n")
        assert client.read_response().body == b"ebb"
    assert b"X-Sum: 7\r\n\r\n" in service.received[0] and b"x=y" not in service.received[0]


def test_http_1_0_client_gets_a_body_that_ends_with_the_connection(router, backend):
    one = router(configuration(backend(awkward.splitting(CHUNKED)).port))
    with one.dial() as client:
        client.send(b"GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        raw = client.read_to_end()
    assert b"chunked" not in raw.lower() and raw.endswith(b"\r\n\r\nebb and flow")


def test_hosts_and_paths_choose_the_backend(router, backend):
    names = ["exact", "wild", "path", "rest"]
    services = {name: backend(awkward.named(name)) for name in names}
    one = router(configuration(
        routes=[{"host": "shop.example.com", "path": "/api", "backend": "path"}, {"host": "shop.example.com", "backend": "exact"},
                {"host": "*.example.com", "backend": "wild"}, {"backend": "rest"}],
        backends=[backend_of(services[name].port, name=name) for name in names]))
    asked = {("shop.example.com", "/"): b"exact", ("SHOP.example.com:80", "/apiary"): b"exact", ("shop.example.com", "/api/x"): b"path",
             ("a.b.example.com", "/"): b"wild", ("example.com", "/api"): b"rest", ("other", "/"): b"rest"}
    assert {key: one.get(key[1], host=key[0]).body for key in asked} == asked


def test_no_route_and_no_endpoint_say_so(router):
    one = router(configuration(routes=[{"host": "here.test", "backend": "service"}], backends=[backend_of(queue={"timeout": "100ms"})]))
    nowhere, empty = one.get(host="elsewhere.test"), one.get(host="here.test")
    assert nowhere.status == 404 and b"route_not_found" in nowhere.body
    assert empty.status == 503 and b"backend_empty" in empty.body
    one.logged(status=404, cause="route_not_found")
    one.logged(status=503, cause="backend_empty")


def test_round_robin_takes_turns_by_weight_and_leaves_draining_endpoints_out(router, backend):
    services = [backend(awkward.named(name)) for name in "abc"]
    endpoints = [endpoint(services[0].port, "a", weight=1), endpoint(services[1].port, "b", weight=3),
                 endpoint(services[2].port, "c", state="drain")]
    one = router(configuration(backends=[{"name": "service", "balance": "round_robin", "endpoints": endpoints}]))
    answers = [one.get().body for _ in range(40)]
    assert (answers.count(b"a"), answers.count(b"b"), answers.count(b"c")) == (10, 30, 0)


def test_least_request_avoids_the_busy_endpoint(router, backend):
    busy, free = backend(awkward.answering_late(response(b"busy"))), backend(awkward.named("free"))
    one = router(configuration(backends=[backend_of(busy.port, free.port, balance="least_request")]))
    waiting = []
    while not busy.requests:  # until one is stuck there
        waiting.append(one.dial())
        waiting[-1].send(request())
        wait_until(lambda: busy.requests or waiting[-1].is_readable(), what="a request to arrive")
    assert [one.get().body for _ in range(10)] == [b"free"] * 10
    busy.released.set()
    for client in waiting:
        client.close()


def test_connect_is_refused(router, backend):
    service = backend(awkward.named("hello"))
    one = router(configuration(service.port))
    with one.dial() as client:
        client.send(b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
        assert client.read_response().status in (400, 405)
    assert not service.requests
