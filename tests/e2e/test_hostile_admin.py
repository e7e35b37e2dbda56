"""The same clients as in test_hostile_clients.py before the admin listener, which has TLS and connections of its own."""

import contextlib

import pytest

import awkward
import hostile
from http1 import dial, request, trusting_context
from raw_tls import ALERT, APPLICATION_DATA, FATAL, HANDSHAKE, TLS12, TLS13, key_update
from router import PORTS, configuration
from test_hostile_clients import KINDS, assault, connect, pair, sorted_attacks  # noqa: F401 (a fixture)

# One kind of workers is enough: the admin server has a reactor of its own.
pytestmark = [pytest.mark.sanitized, pytest.mark.parametrize("io", ["epoll"], indirect=True)]
MOMENTS = [*hostile.EARLY, "at once", "half a request", "answered", "closed", "behind the last answer"]


class Site:
    """As that of the clients; who asks is an operator."""

    target, good = "/readyz", b"generation 1\n"  # unlike /healthz it has no time limit

    def __init__(self, router, backend, pair):
        settings = configuration(backend(awkward.named("good")).port) | {"admin": {"bind": f"127.0.0.1:{PORTS.take()}", "tls": pair}}
        self.one = router(settings, admin_tls=trusting_context())
        self.port = self.one.admin
        self.neighbour = hostile.Neighbour(self.one, dial(self.port, tls=trusting_context()), request(target=self.target), self.good)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.neighbour.stream.close()

    def next_turn(self):
        pass

    def answer_the_late(self):
        pass

    def stays_well(self):
        self.neighbour.is_served("at the end")
        assert self.one.get().body == b"good"


@pytest.fixture
def site(router, backend, pair):  # noqa: F811
    with Site(router, backend, pair) as one:
        yield one


@pytest.mark.parametrize("moment, kind", [*((moment, "1.3") for moment in MOMENTS), ("answered", "1.2"), ("behind the last answer", "1.2")])
def test_every_message_and_alert_torn_at_every_byte(site, moment, kind):
    version = KINDS[kind][0]
    assault(site, moment, version, "http/1.1", sorted_attacks(version, moment))


@pytest.mark.parametrize("wish", [0, 1])
@pytest.mark.parametrize("last", [False, True], ids=["kept", "last"])
def test_an_answer_waits_for_the_rest_of_a_key_update(site, last, wish):
    """Half of it comes with the request, and the rest when the answer has been made."""
    whole = key_update(wish)
    asked = request(target=site.target, **({"Connection": "close"} if last else {}))
    for split in range(1, len(whole)):
        with connect(site).shake_hands() as client:
            client.send(client.record(APPLICATION_DATA, asked) + client.record(HANDSHAKE, whole[:split]))
            for _ in range(3):
                site.neighbour.is_served("meanwhile")
            if split < 4 and last:
                client.read_until(site.good)  # OpenSSL waits for the message once it has seen the whole head of it
                continue
            client.send_record(HANDSHAKE, whole[split:])
            client.out.update()
            client.read_until(site.good)
            if not last:
                client.write(request(target=site.target))
                client.read_until(site.good)


@pytest.mark.parametrize("split", range(6))
def test_half_a_key_update_and_then_a_request(site, split):
    """Nothing may come in between (RFC 8446 5.1): the connection ends, and no other."""
    with connect(site).shake_hands() as client:
        client.send_record(HANDSHAKE, key_update(1)[:split])
        site.neighbour.is_served("behind half a message")
        with contextlib.suppress(OSError):
            client.write(request(target=site.target))
            while client.next_record() is not None:
                pass
    site.stays_well()


@pytest.mark.parametrize("version", [TLS13, TLS12], ids=["1.3", "1.2"])
@pytest.mark.parametrize("garbage", ["bad record", "alert", "plain", "half a message", "another request"])
def test_garbage_behind_the_last_answer_is_dropped(site, garbage, version):
    with connect(site, version).shake_hands() as client:
        client.write(request(target=site.target, Connection="close"))
        client.read_until(site.good)
        data = {"bad record": b"\x17\x03\x03\x00\x20" + bytes(32), "alert": client.record(ALERT, bytes([FATAL, 40])), "plain": request(),
                "half a message": client.record(HANDSHAKE, key_update(1)[:3]), "another request": client.record(APPLICATION_DATA, request())}[garbage]
        with contextlib.suppress(OSError):
            for byte in data:
                client.send(bytes([byte]))
            client.send(b"\x17\x03\x03\x00\x20" + bytes(32))
            site.neighbour.is_served("meanwhile")
        assert all(kind == ALERT for kind, _ in iter(client.next_record, None))
    site.stays_well()
