"""TLS endpoints that send every message of the handshake protocol, every alert and their records torn at every byte: early, in
time, late, twice and behind the end. What RFC 8446 allows does no harm; after anything else the client who waits is told, while a
neighbour, asking between any two pieces, is served.
"""

import concurrent.futures
import contextlib
import itertools
import socket
import struct
import threading

import pytest

import hostile
from http1 import PATIENCE, Closed, request
from raw_tls import ALERT, APPLICATION_DATA, HANDSHAKE, TLS12, TLS13, Clear, RawTls, key_update
from router import backend as backend_of
from router import configuration, wait_until
from test_tls_modes import over_tls

LANES = 3  # side by side, each with an endpoint, a client, and one attack at a time
OF_CLIENTS = ("client_hello", "end_of_early_data", "client_key_exchange", "message_hash")
PATIENT = {"connect": "1m"}  # the time to connect includes the handshake
OFF = {"silence": "off", "failures": "off", "retransmission": "off", "connect": "off"}
MOMENTS = [*hostile.EARLY, "at once", "asked", "amid", "answered", "behind the last answer", "closed"]
KINDS = {"http1": ("http1", TLS13, "http/1.1"), "h2": ("h2", TLS13, "h2"), "auto-h2": ("auto", TLS13, "h2"), "auto-http1": ("auto", TLS13, "http/1.1"),
         "http1-1.2": ("http1", TLS12, "http/1.1")}

pytestmark = pytest.mark.sanitized


@pytest.fixture
def pair(certificates):
    return certificates("localhost", "ecdsa", "localhost")


class Site:
    """A router of one worker, hostile endpoints, and a neighbour."""

    def __init__(self, router, backend, pair, kind, moment=None, serve=None):
        protocol, self.version, self.alpn = KINDS[kind]
        self.moment, self.pair = moment, pair
        self.lanes = [Lane(self, f"lane{number}") for number in range(LANES)]
        tls = {"tls": {"verify": False}}
        backends = [backend_of(backend(serve or lane.serve).port, name=lane.name, protocol=protocol, retries=0, evidence=OFF, timeouts=PATIENT, **tls)
                    for lane in self.lanes]
        routes = [{"name": lane.name, "path": f"/{lane.name}", "backend": lane.name, "tls": "reencrypt"} for lane in self.lanes]
        good = backend(over_tls(hostile.prompt_service, pair, alpn=["http/1.1"]))
        self.one = router(configuration(backends=[*backends, backend_of(good.port, **tls)],
                                        routes=[*routes, {"name": "all", "backend": "service", "tls": "reencrypt"}]))
        self.neighbour = hostile.Neighbour(self.one, self.one.dial())

    def assault(self, attacks):
        attacks = list(attacks)
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            for _ in pool.map(lambda lane, some: lane.run(some), self.lanes, (attacks[number::LANES] for number in range(LANES))):
                pass
        self.neighbour.is_served("at the end")
        self.neighbour.stream.close()
        wait_until(lambda: self.one.metric("ebbgate_connections", side="client") == 0, what="the end of all clients")
        assert self.one.get().body == b"good"


class Lane:
    """One client and one endpoint. Each connection to it is one attack, or a good one."""

    def __init__(self, site, name):
        self.site, self.name, self.client = site, name, None
        self.attack, self.fault = None, None
        self.connections, self.serving, self.idle = 0, 0, threading.Condition()

    # The client

    def run(self, attacks):
        for attack in attacks:
            try:
                self.play(attack)
            except (OSError, Closed, AssertionError) as error:
                causes = [(line["target"], line["status"], line["cause"]) for line in self.site.one.log()[-3 * LANES:]]
                raise AssertionError(f"{attack.name}, {self.site.moment}: {error!r}; {causes}") from error
        if self.client:
            self.client.close()

    def play(self, attack):
        self.attack, self.connections = attack, 0
        self.got, self.ready = threading.Semaphore(0), threading.Event()
        served = self.ask()
        assert served or not self.is_lawful(attack) and self.site.moment not in ("answered", "behind the last answer"), "a good answer was lost"
        if self.site.moment == "answered":
            assert self.ready.wait(PATIENCE)
            assert self.ask(), "the next request was lost"
            assert self.connections == 1 or not self.is_lawful(attack), "the connection was lost"
        with self.idle:
            assert self.idle.wait_for(lambda: self.serving == 0, PATIENCE), "the endpoint is not done"
        if self.fault:
            raise self.fault

    def ask(self):
        """True if the answer is the good one. Some answer has to come, unless half of one has come already."""
        self.client = self.client or self.site.one.dial()
        try:
            self.client.send(request(target=f"/{self.name}"))
            answer = self.client.read_response()
        except (Closed, ConnectionError):
            assert self.site.moment == "amid", "no answer"
            self.client.close()
            self.client = None
            return False
        assert answer.status in (200, 502), answer.start
        self.got.release()
        return answer.body == b"good"

    def is_lawful(self, attack):
        return attack.lawful and self.site.moment not in ("with the hello", "before the Finished", "closed")

    # The endpoint

    def serve(self, stream, _):
        with self.idle:
            self.serving += 1
        self.connections += 1
        attack, self.attack = self.attack, None
        ready, got = self.ready, self.got
        try:
            with RawTls(stream.socket, self.site.version, self.site.alpn, self.site.pair) as tls, contextlib.suppress(*hostile.QUIET):
                speech = hostile.SPEECH[self.site.alpn]()
                if attack:
                    self.attack_with(attack, tls, speech, ready, got)
                else:
                    self.answer(greet(tls.shake_hands(), speech), speech, got)
            self.site.neighbour.is_served("behind an attack")
        except AssertionError as error:
            self.fault = error
        finally:
            ready.set()
            with self.idle:
                self.serving -= 1
                self.idle.notify()

    def answer(self, tls, speech, got):
        speech.hear(tls)
        tls.write(speech.last)
        got.acquire(timeout=PATIENCE)

    def attack_with(self, attack, tls, speech, ready, got):
        moment, rest = self.site.moment, None
        early = moment in hostile.EARLY or moment == "at once"
        if moment in hostile.EARLY:
            pieces = early_pieces(attack, tls, moment)
        else:
            tls.shake_hands()
            if not early:
                greet(tls, speech)
                speech.hear(tls)
                first, rest = speech.halves()
            if moment == "amid":
                tls.write(first)
            elif moment == "asked":
                rest = first + rest
            elif moment == "answered":
                tls.write(first + rest)
            elif moment == "behind the last answer":
                tls.write(speech.last)
            elif moment == "closed":
                tls.send_record(ALERT, b"\1\0")
            if moment in ("answered", "behind the last answer"):
                got.acquire(timeout=PATIENCE)
            pieces = attack.pieces(tls)
        for number, piece in enumerate(pieces):
            if number > 0:
                self.site.neighbour.is_served(attack.name)
            with contextlib.suppress(OSError):
                tls.send(piece)
        if attack.gone:
            return tls.shutdown(socket.SHUT_WR)
        if not self.is_lawful(attack):
            tls.drain()
            return tls.write(rest or speech.greeting + b"".join(speech.halves()))  # as if nothing had been
        if early:
            ours = tls.out  # which may be newer than those of the handshake's end
            tls.shake_hands().out = ours
            self.answer(greet(tls, speech), speech, got)
        elif moment == "answered":
            self.site.neighbour.is_served(attack.name)
            ready.set()
            self.answer(tls, speech, got)
        elif moment != "behind the last answer":
            tls.write(rest)
            got.acquire(timeout=PATIENCE)


def greet(tls, speech):
    if speech.greeting:
        tls.write(speech.greeting)
    return tls


def records_of(flight):
    """(kind, body, all of it)"""
    while flight:
        kind, _, size = struct.unpack(">BHH", flight[:5])
        yield kind, flight[5:5 + size], flight[:5 + size]
        flight = flight[5 + size:]


def early_pieces(attack, tls, moment):
    flight = tls.next_flight()
    if moment == "with the hello":
        return [*attack.pieces(tls), flight]
    if tls.version == TLS12:
        tls.send(flight)
        flight = tls.next_flight()
    elif moment == "with the Finished":
        tls.out = tls.early_keys()
    if moment == "with the Finished":
        first, *others = attack.pieces(tls) or [b""]
        return [flight + first, *others]
    if tls.version == TLS12:
        tls.out = Clear()
        return [*attack.pieces(tls), flight]
    keys, tls.out = (tls.early_keys("HANDSHAKE_TRAFFIC_SECRET") for _ in range(2))
    clear = b"".join(whole for kind, _, whole in records_of(flight) if kind != APPLICATION_DATA)
    *others, finished = [keys.open(kind, body) for kind, body, _ in records_of(flight) if kind == APPLICATION_DATA]
    return [clear + b"".join(tls.record(*one) for one in others), *attack.pieces(tls), tls.record(*finished)]


def sorted_attacks(version):
    """The lawful ones first: the router learns how long an endpoint keeps connections without work. Those of many pieces are dealt
    evenly."""
    messages = {name: whole for name, whole in hostile.MESSAGES.items() if name not in OF_CLIENTS}
    attacks = hostile.attacks(version, messages, lawful=(*hostile.KEY_UPDATES, "ticket"), everything=hostile.THOROUGH)
    return sorted(attacks, key=lambda attack: (not attack.lawful, attack.cut == hostile.EACH))


def worthwhile(kind, moment):
    """`auto` is like what was agreed on from then on, and TLS 1.2 differs in few places."""
    few = {"auto": ("with the Finished", "at once"), "1.2": ("with the Finished", "asked", "answered", "closed")}
    return all(moment in moments for word, moments in few.items() if word in kind)


@pytest.mark.parametrize("kind, moment", [(kind, moment) for kind in KINDS for moment in MOMENTS if worthwhile(kind, moment)])
def test_every_message_and_alert_torn_at_every_byte(router, backend, pair, kind, moment):
    site = Site(router, backend, pair, kind, moment)
    site.assault(sorted_attacks(site.version))


@pytest.mark.parametrize("kind", ["http1", "h2", "http1-1.2"])
def test_answers_torn_at_every_byte(router, backend, pair, kind):
    """Over two records, with a KeyUpdate and a ticket in between; and their record on the wire. All on one connection."""
    _, version, alpn = KINDS[kind]
    size = len(b"".join(hostile.SPEECH[alpn]().halves()))
    ways = [("records", at) for at in range(size + 1)] + [("wire", at) for at in range(size + hostile.OVERHEAD[version] + 1)]
    todo, connections, done = iter(ways), [], threading.Event()

    def serve(stream, _):
        connections.append(stream)
        with RawTls(stream.socket, version, alpn, pair).shake_hands() as tls:
            speech = hostile.SPEECH[alpn]()
            greet(tls, speech)
            for how, at in todo:
                speech.hear(tls)
                answer = b"".join(speech.halves())
                pieces = [tls.record(APPLICATION_DATA, answer[:at])] if how == "records" else [tls.record(APPLICATION_DATA, answer)]
                if how == "wire":
                    pieces = [pieces[0][:at], pieces[0][at:]]
                elif version == TLS13:
                    pieces.append(tls.record(HANDSHAKE, hostile.TICKET) + tls.record(HANDSHAKE, key_update(at % 2)))
                    tls.out.update()
                if how == "records":
                    pieces.append(tls.record(APPLICATION_DATA, answer[at:]))
                tls.send(pieces[0])
                for piece in pieces[1:]:
                    site.neighbour.is_served(f"{how} {at}")
                    tls.send(piece)
            done.set()

    site = Site(router, backend, pair, kind, serve=serve)
    with site.one.dial() as client:
        for how, at in ways:
            client.send(request(target="/lane0"))
            assert client.read_response().body == b"good", (how, at)
    assert done.wait(PATIENCE) and len(connections) == 1


@pytest.mark.parametrize("kind, which", [("http1", 0), ("h2", 0), ("http1-1.2", 0), ("http1-1.2", 1)])
def test_handshakes_torn_at_every_byte(router, backend, pair, kind, which):
    """The first or the second flight of the endpoint. They are good all the same."""
    _, version, alpn = KINDS[kind]
    size, todo = [], []

    def serve(stream, _):
        with RawTls(stream.socket, version, alpn, pair) as tls:
            speech = hostile.SPEECH[alpn]()
            for _ in range(which):
                tls.send(tls.next_flight())
            flight, at = tls.next_flight(), todo.pop()
            tls.send(flight[:at])
            site.neighbour.is_served(f"cut at {at}")
            tls.send(flight[at:])
            speech.hear(greet(tls.shake_hands(), speech))
            size.append(len(flight))
            tls.write(speech.last)
            with contextlib.suppress(Closed):
                speech.hear(tls)  # it is for the router to close

    site = Site(router, backend, pair, kind, serve=serve)
    with site.one.dial() as client:
        def torn(at):
            todo.append(at)
            client.send(request(target="/lane0"))
            assert client.read_response().body == b"good", at

        torn(1)
        for at in hostile.cuts(size[0]):
            torn(at)


@pytest.mark.parametrize("kind, moment", [("http1", "with the Finished"), ("http1", "asked"), ("h2", "with the Finished"), ("h2", "asked")])
def test_active_checks_meet_them_too(router, backend, pair, kind, moment):
    """Which have connections of their own."""
    protocol, version, alpn = KINDS[kind]
    attacks, begun, done, neighbours = sorted_attacks(version), itertools.count(), [], []

    def serve(stream, _):
        if not neighbours or (number := next(begun)) >= len(attacks):
            return stream.close()
        attack, speech = attacks[number], hostile.SPEECH[alpn]()
        with RawTls(stream.socket, version, alpn, pair) as tls, contextlib.suppress(*hostile.QUIET):
            if moment == "asked":
                speech.hear(greet(tls.shake_hands(), speech))
            for piece in attack.pieces(tls) if moment == "asked" else early_pieces(attack, tls, moment):
                neighbours[0].is_served(attack.name)
                tls.send(piece)
            tls.write(speech.last if moment == "asked" else speech.greeting + speech.last)
            tls.drain()
        done.append(attack)

    many = backend_of(*(backend(serve).port for _ in range(20)), protocol=protocol, tls={"verify": False}, name="checked",
                      health={"http": "/", "every": "100ms", "timeout": "100ms"})
    routes = [{"name": "checked", "path": "/checked", "backend": "checked", "tls": "reencrypt"}, {"name": "all", "backend": "service"}]
    one = router(configuration(backends=[many, backend_of(backend(hostile.prompt_service).port)], routes=routes))
    neighbours.append(hostile.Neighbour(one, one.dial()))
    while (known := len(done)) < len(attacks):
        wait_until(lambda: len(done) > known, what=f"the next of them after {known} of {len(attacks)}")
    neighbours[0].is_served("at the end")
