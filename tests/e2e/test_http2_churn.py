"""Clients and endpoints that do anything HTTP/2 allows, at random: whatever they do, nothing is left behind."""

import concurrent.futures
import contextlib
import random

import h2.errors
import h2.exceptions
import pytest

import awkward
import http2
from http1 import Closed, response
from router import backend as backend_of, configuration, wait_until

CLIENTS, ROUNDS = 12, 15
CODES = [h2.errors.ErrorCodes.CANCEL, h2.errors.ErrorCodes.NO_ERROR, h2.errors.ErrorCodes.INTERNAL_ERROR, h2.errors.ErrorCodes.REFUSED_STREAM]


def moody_h2(chance):
    def answer(peer, asked):
        mood = chance.random()
        if mood < 0.08:
            return peer.reset(asked.stream, chance.choice(CODES))
        if mood < 0.12:
            return None  # never
        if mood < 0.16:
            peer.send_raw(http2.frame(http2.GOAWAY, payload=max(0, asked.stream - 2 * chance.randrange(3)).to_bytes(4, "big") + bytes(4)))
        if mood > 0.97:
            raise Closed(b"")
        peer.send_head(asked.stream, [(":status", chance.choice([200, 200, 200, 204, 304, 404, 500]))], end=mood > 0.9)
        if mood > 0.9:
            return None
        peer.send_body(asked.stream, bytes(chance.choice([0, 1, 1000, 100_000])), end=mood < 0.8)
        if mood >= 0.8:
            peer.reset(asked.stream, chance.choice(CODES))
        return None

    def serve(stream, known):
        with contextlib.suppress(h2.exceptions.ProtocolError):  # the library's word for frames on streams that it has given up
            http2.serving(answer)(stream, known)
        stream.close()

    return serve


def moody_h1(chance):
    def serve(stream, known):
        while True:
            known.requests.append(stream.read_request())
            mood = chance.random()
            if mood < 0.1:
                return stream.close()
            if mood < 0.15:
                return stream.reset()
            whole = response(bytes(chance.choice([0, 1, 1000, 100_000])))
            stream.send(whole if mood < 0.9 else whole[:-1 - len(whole) // 3])
            if mood >= 0.9:
                return stream.finish_sending()

    return serve


def moody_client(one, seed):
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        with http2.dial(one.port(), tls=False, timeout=0.3, reads_on=chance.random() < 0.8) as client, \
                contextlib.suppress(Closed, OSError, h2.exceptions.ProtocolError):
            streams = []
            for _ in range(chance.randrange(1, 30)):
                target = chance.choice(["/one", "/two", "/nowhere"])
                if chance.random() < 0.6:
                    streams.append(client.ask(target=target))
                else:
                    stream = client.ask("POST", target=target, end=False)
                    streams.append(stream)
                    client.send_body(stream, bytes(chance.choice([0, 10, 100_000])), end=chance.random() < 0.7)
                if chance.random() < 0.2:
                    client.reset(chance.choice(streams), chance.choice(CODES))
                if chance.random() < 0.1:
                    client.receive()
            if chance.random() < 0.2:
                client.send_raw(http2.frame(http2.GOAWAY, payload=bytes(8)))
            while chance.random() < 0.9:
                client.receive()


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_left_behind(router, backend, seed):
    chance = random.Random(seed)
    services = {"one": (backend(moody_h1(chance)), "http1"), "two": (backend(moody_h2(chance)), "h2c"), "nowhere": (backend(awkward.closing_after(b"")), "h2c")}
    one = router(configuration(
        backends=[backend_of(service.port, name=name, protocol=protocol, timeouts={"response": "1s", "connect": "500ms"})
                  for name, (service, protocol) in services.items()],
        routes=[{"name": name, "path": f"/{name}", "backend": name} for name in services],
        timeouts={"client_body": "1s", "client_write": "1s", "backend_body": "1s", "client_idle": "2s"}))
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as lanes:
        list(lanes.map(lambda index: moody_client(one, 1000 * seed + index), range(CLIENTS)))
    wait_until(lambda: one.metric("ebbgate_exchanges") == 0)
    wait_until(lambda: one.metric("ebbgate_connections", side="client") == 0)
    ended = one.metric("ebbgate_requests_total")
    assert ended > CLIENTS * ROUNDS
    wait_until(lambda: len(one.log()) == ended)  # each exactly once
