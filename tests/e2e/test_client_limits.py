"""How many connections one client may have open at a listener, over all workers."""

import pytest

import awkward
from http1 import request
from router import configuration, wait_until
from test_proxy_protocol import v1


def closed_for_it(one):
    return one.metric("ebbgate_connections_closed_total", cause="client_too_many")


@pytest.mark.parametrize("workers", [1, 2])
def test_beyond_the_limit_a_connection_is_reset_and_a_closed_one_makes_room(router, backend, workers):
    settings = configuration(backend(awkward.named("in")).port, workers=workers)
    settings["listeners"][0]["connections_per_client"] = 4
    one = router(settings)
    held = [one.dial() for _ in range(4)]
    for stream in held:
        stream.send(request())
        assert stream.read_response().body == b"in"
    with pytest.raises(ConnectionError), one.dial() as fifth:  # the reset may come before connect() has returned
        fifth.send(request())
        while fifth.receive():
            pass
        raise ConnectionResetError
    wait_until(lambda: closed_for_it(one) == 1)
    held.pop().close()
    wait_until(lambda: one.metric("ebbgate_connections", side="client", state="idle") == 3, what="the place of the closed one")
    assert one.get().body == b"in"
    for stream in held:
        stream.close()


def test_the_client_that_a_trusted_hop_names_is_the_one_that_counts(router, backend):
    settings = configuration(backend(awkward.named("in")).port)
    settings["listeners"][0].update(connections_per_client=1, proxy_protocol={"from": ["127.0.0.1"]})
    one = router(settings)
    with one.dial() as first, one.dial() as second:
        for stream, source in ((first, "192.0.2.1"), (second, "192.0.2.2")):
            stream.send(v1(source) + request())
            assert stream.read_response().body == b"in"
        with one.dial() as again, pytest.raises(ConnectionError):
            again.send(v1("192.0.2.1") + request())
            while again.receive():
                pass
            raise ConnectionResetError
    wait_until(lambda: closed_for_it(one) == 1)
