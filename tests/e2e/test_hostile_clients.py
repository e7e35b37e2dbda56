"""TLS clients that send every message of the handshake protocol, every alert and their records torn at every byte: early, in
time, late, twice and behind the end. What RFC 8446 allows is answered; anything else ends that one connection at most, while the
requests of a neighbour, between any two pieces, are served.
"""

import contextlib
import itertools
import socket
import threading

import pytest

import awkward
import hostile
import http2
from http1 import Closed, request, response, trusting_context
from raw_tls import ALERT, APPLICATION_DATA, HANDSHAKE, TLS12, TLS13, RawTls, key_update
from router import backend as backend_of
from router import configuration, wait_until

CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"
RESET = http2.frame(http2.RST_STREAM, 0, 1, bytes(4))[:9]
TOGETHER = 48  # attackers at a time
KINDS = {"1.3": (TLS13, "http/1.1"), "1.3-h2": (TLS13, "h2"), "1.2": (TLS12, "http/1.1")}
MOMENTS = [*hostile.EARLY, "at once", "half a request", "under way", "answered", "cut", "closed", "closed under way", "behind the last answer"]

pytestmark = pytest.mark.sanitized


@pytest.fixture
def pair(certificates):
    return certificates("localhost", "ecdsa", "localhost")


class Site:
    """A router of one worker, what is behind it, and a neighbour."""

    target, good = "/", b"good"

    def __init__(self, router, backend, pair):
        self.late = backend(self.serve_late)
        self.turn = threading.Event()
        services = {"late": self.late, "cut": backend(self.serve_cut), "service": backend(hostile.prompt_service)}
        settings = configuration(backends=[backend_of(service.port, name=name) for name, service in services.items()],
                                 routes=[{"name": "late", "path": "/late", "backend": "late"}, {"name": "cut", "path": "/cut", "backend": "cut"},
                                         {"name": "all", "backend": "service"}],
                                 timeouts={"tls_handshake": "5m", "client_head": "5m"})  # what is sent piece by piece takes its time
        settings["listeners"][0].update(protocol="https", certificates=[pair])
        self.one = router(settings)
        self.port = self.one.port()
        self.neighbour = hostile.Neighbour(self.one, self.one.dial(tls=trusting_context()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.turn.set()
        self.neighbour.stream.close()

    def serve_late(self, stream, known):
        """Answers when the turn has come."""
        with stream:
            while True:
                stream.read_request()
                self.turn.wait(60)
                stream.send(response(b"late"))

    def serve_cut(self, stream, known):
        with stream:
            awkward.closing_after(CUT)(stream, known)

    def next_turn(self):
        self.turn = threading.Event()

    def answer_the_late(self):
        self.turn.set()

    def stays_well(self):
        """At the end nothing is left behind; what the router counts as its own faults, Router.stop() looks at."""
        self.neighbour.is_served("at the end")
        self.neighbour.stream.close()
        wait_until(lambda: self.one.metric("ebbgate_connections", side="client") == 0, what="the end of all connections")
        assert self.one.get(tls=trusting_context()).body == b"good"


class Attacker:
    """One connection with one attack at one moment of its life."""

    def __init__(self, site, attack, moment, version, alpn):
        self.site, self.attack, self.moment, self.speech = site, attack, moment, hostile.SPEECH[alpn]()
        self.said_hello, self.rest, self.expected = False, b"", site.good
        self.tls = RawTls(socket.create_connection(("127.0.0.1", site.port)), version, alpn)
        self.hello = self.tls.next_flight()
        if moment != "with the hello":
            self.tls.send(self.hello)

    def arrive(self):
        """Comes to that moment, and knows what to send."""
        self.pieces = self.early_pieces() if self.moment in hostile.EARLY else self.later_pieces()

    def early_pieces(self):
        tls = self.tls
        if self.moment == "with the hello":
            first, *others = self.attack.pieces(tls) or [b""]
            return [self.hello + first, *others]
        flight = tls.next_flight()
        if self.moment == "with the Finished":
            tls.out = tls.early_keys()
            first, *others = self.attack.pieces(tls) or [b""]
            return [flight + first, *others]
        if tls.version == TLS12:
            return [*self.attack.pieces(tls), flight]
        ours, tls.out = tls.out, tls.early_keys("HANDSHAKE_TRAFFIC_SECRET")
        finished = tls.early_keys("HANDSHAKE_TRAFFIC_SECRET").open(APPLICATION_DATA, flight[11:])[1]  # behind change_cipher_spec
        pieces = [*self.attack.pieces(tls), flight[:6] + tls.record(HANDSHAKE, finished)]
        tls.out = ours
        return pieces

    def later_pieces(self):
        tls, moment = self.tls.shake_hands(), self.moment
        if moment == "half a request":
            asked = self.hello_once() + self.speech.ask(self.site.target)
            tls.write(asked[:-9])
            self.rest = asked[-9:]
        elif moment in ("under way", "closed under way"):
            tls.write(self.hello_once() + self.speech.ask("/late"))
            self.expected = b"late"
        elif moment == "answered":
            tls.write(self.hello_once() + self.speech.ask(self.site.target))
            tls.read_until(self.site.good)
        elif moment == "behind the last answer":
            tls.write(self.speech.ask(self.site.target, Connection="close"))
            tls.read_until(self.site.good)
        elif moment == "cut":
            tls.write(self.hello_once() + self.speech.ask("/cut"))
            tls.read_until(RESET if self.tls.alpn == "h2" else b"only this")
        if moment.startswith("closed"):
            tls.send_record(ALERT, b"\1\0")
        return self.attack.pieces(tls)

    def hello_once(self):
        said, self.said_hello = self.said_hello, True
        return b"" if said else self.speech.hello

    @property
    def lawful(self):
        over = self.moment in ("with the hello", "before the Finished", "closed", "closed under way", "behind the last answer")
        return self.attack.lawful and not over and not (self.moment == "cut" and self.tls.alpn != "h2")

    def push(self, number):
        with contextlib.suppress(OSError):
            if number < len(self.pieces):
                self.tls.send(self.pieces[number])

    def go_on(self):
        """Asks, as if nothing had been."""
        with contextlib.suppress(OSError):
            if self.attack.gone:
                self.tls.shutdown(socket.SHUT_WR)
            elif self.moment == "under way":
                pass  # the answer is due
            else:
                self.tls.write(self.rest or self.hello_once() + self.speech.ask(self.site.target))

    def conclude(self):
        with self.tls:
            if self.lawful:
                self.tls.shake_hands().read_until(self.expected)
            else:
                self.tls.drain()


def assault(site, moment, version, alpn, attacks):
    """Some at a time. Between any two pieces of one the neighbour asks, and answers that are awaited come after the first."""
    attacks = iter(attacks)
    while together := list(itertools.islice(attacks, TOGETHER)):
        told = f"{moment}: {[attack.name for attack in together]}"
        site.next_turn()
        attackers = [Attacker(site, attack, moment, version, alpn) for attack in together]
        for attacker in attackers:
            attacker.arrive()
        for number in range(max(len(attacker.pieces) for attacker in attackers)):
            for attacker in attackers:
                attacker.push(number)
            site.neighbour.is_served(told)
            site.answer_the_late()
        for attacker in attackers:
            attacker.go_on()
        site.neighbour.is_served(told)
        for attacker in attackers:
            try:
                attacker.conclude()
            except (OSError, Closed) as error:
                raise AssertionError(f"no answer after {attacker.attack.name}, {moment}: {error!r}") from error
    site.stays_well()


def sorted_attacks(version, moment, everything=hostile.THOROUGH):
    """Those of many pieces together."""
    again = {"client_hello_again": hostile.client_hello(version)} if version == TLS12 and moment in ("answered", "under way") else {}
    return sorted(hostile.attacks(version, {**hostile.MESSAGES, **again}, everything=everything), key=lambda attack: attack.cut == hostile.EACH)


def worthwhile(kind, moment):
    """HTTP/2 has no last answer, and TLS 1.2 differs in few places."""
    without = {"h2": ("behind the last answer",), "1.2": ("half a request", "closed under way", "behind the last answer")}
    return not any(moment in moments for word, moments in without.items() if word in kind)


@pytest.mark.parametrize("kind, moment", [(kind, moment) for kind in KINDS for moment in MOMENTS if worthwhile(kind, moment)])
def test_every_message_and_alert_torn_at_every_byte(router, backend, pair, kind, moment):
    version, alpn = KINDS[kind]
    with Site(router, backend, pair) as site:
        assault(site, moment, version, alpn, sorted_attacks(version, moment))


@pytest.mark.parametrize("kind", KINDS)
def test_every_record_cut_at_every_byte(router, backend, pair, kind):
    version, alpn = KINDS[kind]
    with Site(router, backend, pair) as site:
        assault(site, "answered", version, alpn, (one for one in hostile.attacks(version, everything=True) if isinstance(one.cut, int)))


def connect(site, version=TLS13, alpn="http/1.1"):
    return RawTls(socket.create_connection(("127.0.0.1", site.port)), version, alpn)


def in_pieces(site, tls, *pieces):
    """Each is read before the next one comes."""
    for piece in pieces:
        tls.send(piece)
        site.neighbour.is_served("between two pieces")


@pytest.mark.parametrize("kind", KINDS)
def test_requests_torn_at_every_byte(router, backend, pair, kind):
    """Over two records, with a KeyUpdate in between; and their record on the wire."""
    version, alpn = KINDS[kind]
    with Site(router, backend, pair) as site, connect(site, version, alpn).shake_hands() as tls:
        speech = hostile.SPEECH[alpn]()
        tls.write(speech.hello)
        size = len(hostile.SPEECH[alpn]().ask())
        for at in range(size + 1):
            asked = speech.ask()
            pieces = [tls.record(APPLICATION_DATA, asked[:at])]
            if version == TLS13:
                pieces.append(tls.record(HANDSHAKE, key_update(at % 2)))
                tls.out.update()
            in_pieces(site, tls, *pieces, tls.record(APPLICATION_DATA, asked[at:]))
            tls.read_until(b"good")
        for at in range(size + hostile.OVERHEAD[version] + 1):
            data = tls.record(APPLICATION_DATA, speech.ask())
            in_pieces(site, tls, data[:at], data[at:])
            tls.read_until(b"good")
        in_pieces(site, tls, *(bytes([byte]) for byte in tls.record(APPLICATION_DATA, speech.ask())))
        tls.read_until(b"good")


def two_records(flight, at):
    """The message in the one record of the flight."""
    return [flight[:3] + len(part).to_bytes(2, "big") + part for part in (flight[5:5 + at], flight[5 + at:])]


@pytest.mark.parametrize("version", [TLS13, TLS12], ids=["1.3", "1.2"])
@pytest.mark.parametrize("where", ["hello", "hello in two records", "last flight"])
def test_handshakes_torn_at_every_byte(router, backend, pair, version, where):
    """They are good all the same."""
    with Site(router, backend, pair) as site:
        at, size = 1, 2
        while at < size:
            with connect(site, version) as tls:
                hello = tls.next_flight()
                tear = two_records if where == "hello in two records" else lambda flight, at: [flight[:at], flight[at:]]
                in_pieces(site, tls, *([hello] if where == "last flight" else tear(hello, at)))
                last = tls.next_flight()
                in_pieces(site, tls, *(tear(last, at) if where == "last flight" else [last]))
                tls.shake_hands().write(request())
                tls.read_until(b"good")
                size = len(last) if where == "last flight" else len(hello) - 5
            at += 1
        assert size > 50
        site.stays_well()
