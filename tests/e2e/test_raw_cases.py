"""Plays raw_cases.py: byte for byte what reaches the backend, byte for byte what the client gets."""

import threading

import pytest

import awkward
from conftest import io_uring_refusal
from http1 import PATIENCE, Closed
from raw_cases import CASES, Own
from router import Router, configuration, wait_until


class Script:
    """The backend's turns, taken in order by whichever of its connections has something to read."""

    def __init__(self):
        self.lock = threading.Lock()
        self.play([], 0)

    def play(self, turns, port):
        with self.lock:
            self.turns = [(self.spelled_out(turn.gets, port), turn) for turn in turns]
            self.got = []

    @staticmethod
    def spelled_out(expected, port):
        return expected.replace(b"{client}", b"127.0.0.1").replace(b"{port}", str(port).encode())

    def next_turn(self):
        with self.lock:
            return self.turns.pop(0) if self.turns else (None, None)

    def serve(self, stream, _):
        while stream.used < len(stream.raw) or stream.receive():
            expected, turn = self.next_turn()
            if turn is None:
                self.got.append(bytes(stream.raw[stream.used:]))
                return
            stream.socket.settimeout(PATIENCE)
            try:
                taken = stream.read(len(expected))
            except (Closed, TimeoutError):
                taken = stream.take(len(stream.raw))
            self.got.append(taken)
            stream.send(turn.sends)
            if turn.closes:
                stream.finish_sending()
                stream.read_to_end()
                return
            stream.socket.settimeout(60)


@pytest.fixture(scope="module", params=["epoll", "uring"])
def stage(request, tmp_path_factory):
    """One router and one scripted backend for all cases of an io."""
    if request.param == "uring" and io_uring_refusal():
        pytest.skip(io_uring_refusal())
    script = Script()
    with awkward.Backend(script.serve) as backend:
        router = Router(tmp_path_factory.mktemp("raw"), configuration(backend.port), request.param)
        try:
            yield router.start(), backend, script
        finally:
            router.stop()


def clear(router, backend):
    """No pooled connection of one case serves the next."""
    for stream in backend.streams:
        try:
            stream.finish_sending()
        except OSError:
            pass
    wait_until(lambda: sum(value for name, value in router.metrics().items()
                           if name.startswith("ebbgate_connections{") and 'side="backend"' in name) == 0, what="an empty pool")
    backend.streams.clear()


def read_exactly(client, expected):
    client.socket.settimeout(PATIENCE)
    try:
        return client.read(len(expected))
    except Closed as closed:
        return closed.rest
    except TimeoutError:
        return client.take(len(client.raw))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_raw_case(stage, case):
    router, backend, script = stage
    script.play(case.backend, router.port())
    wanted = [Script.spelled_out(turn.gets, router.port()) for turn in case.backend]
    try:
        with router.dial() as client:
            for turn in case.client:
                client.send(turn.send)
                expected = turn.gets.render() if isinstance(turn.gets, Own) else turn.gets
                assert read_exactly(client, expected) == expected
            if case.stays_open:
                client.socket.settimeout(0.03)
                with pytest.raises(TimeoutError):
                    client.receive()
            else:
                assert client.is_closed()
        assert script.got == wanted
        assert len(backend.streams) <= len(case.backend), "a connection that nothing was sent over"
    finally:
        clear(router, backend)
