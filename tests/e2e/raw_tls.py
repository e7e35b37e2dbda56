"""A TLS peer whose records are made by hand. Python's ssl module shakes hands, its key log tells the secrets, and from then on
every record is what the test wants it to be: any type, any content, torn anywhere. Client or server, TLS 1.3 or 1.2.
"""

import collections
import functools
import hashlib
import hmac
import select
import socket
import ssl
import struct
import tempfile
import threading

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from http1 import PATIENCE, Closed

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA, HEARTBEAT = range(20, 25)
TICKET, KEY_UPDATE = 4, 24  # messages of the handshake
WARNING, FATAL = 1, 2
TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
SUITE12 = "ECDHE-ECDSA-AES128-GCM-SHA256"
SUITES13 = {"TLS_AES_256_GCM_SHA384": (AESGCM, 32, "sha384"), "TLS_AES_128_GCM_SHA256": (AESGCM, 16, "sha256"),
            "TLS_CHACHA20_POLY1305_SHA256": (ChaCha20Poly1305, 32, "sha256")}


def message(kind, body=b""):
    """A message of the handshake protocol."""
    return bytes([kind]) + struct.pack(">I", len(body))[1:] + body


def key_update(wish=0):
    """0: only ours changes; 1: the peer has to change its key too."""
    return message(KEY_UPDATE, bytes([wish]))


def expand(secret, info, size, digest):
    """HKDF-Expand (RFC 5869)."""
    out = block = b""
    for index in range(1, 256):
        if len(out) >= size:
            break
        block = hmac.digest(secret, block + info + bytes([index]), digest)
        out += block
    return out[:size]


def expand_label(secret, label, size, digest):
    """RFC 8446 section 7.1, without a context."""
    name = b"tls13 " + label
    return expand(secret, struct.pack(">HB", size, len(name)) + name + b"\0", size, digest)


def prf12(secret, seed, size):
    """RFC 5246 section 5, with SHA-256."""
    out, chain = b"", seed
    while len(out) < size:
        chain = hmac.digest(secret, chain, "sha256")
        out += hmac.digest(secret, chain + seed, "sha256")
    return out[:size]


class Keys13:
    """One direction of TLS 1.3."""

    def __init__(self, suite, secret):
        self.cipher, self.size, self.digest = SUITES13[suite]
        self.use(secret)

    def use(self, secret):
        self.secret, self.count = secret, 0
        self.aead = self.cipher(expand_label(secret, b"key", self.size, self.digest))
        self.iv = expand_label(secret, b"iv", 12, self.digest)

    def update(self):
        self.use(expand_label(self.secret, b"traffic upd", hashlib.new(self.digest).digest_size, self.digest))

    def nonce(self):
        self.count += 1
        return bytes(a ^ b for a, b in zip(self.iv, struct.pack(">4xQ", self.count - 1)))

    def seal(self, kind, content):
        head = struct.pack(">BHH", APPLICATION_DATA, 0x0303, len(content) + 17)
        return head + self.aead.encrypt(self.nonce(), content + bytes([kind]), head)

    def open(self, kind, body):
        if kind != APPLICATION_DATA:
            return kind, body  # change_cipher_spec, or an alert from before the keys
        head = struct.pack(">BHH", kind, 0x0303, len(body))
        inner = self.aead.decrypt(self.nonce(), body, head).rstrip(b"\0")
        return inner[-1], inner[:-1]


class Keys12:
    """One direction of TLS 1.2 with AES-GCM (RFC 5288); the Finished message was its record 0."""

    def __init__(self, key, salt):
        self.aead, self.salt, self.count = AESGCM(key), salt, 1

    def seal(self, kind, content):
        explicit = struct.pack(">Q", self.count)
        data = struct.pack(">QBHH", self.count, kind, 0x0303, len(content))
        self.count += 1
        sealed = explicit + self.aead.encrypt(self.salt + explicit, content, data)
        return struct.pack(">BHH", kind, 0x0303, len(sealed)) + sealed

    def open(self, kind, body):
        data = struct.pack(">QBHH", self.count, kind, 0x0303, len(body) - 24)
        self.count += 1
        return kind, self.aead.decrypt(self.salt + body[:8], body[8:], data)


class Clear:
    """Before there are keys: records as they are."""

    def seal(self, kind, content):
        return struct.pack(">BHH", kind, 0x0303, len(content)) + content

    def open(self, kind, body):
        return kind, body


class KeyLog:
    """The secrets of all connections of this process, as its TLS library tells them."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile("r", prefix="ebbgate-e2e-keys-")
        self.lock, self.secrets, self.rest = threading.Lock(), collections.defaultdict(dict), ""

    def of(self, client_random):
        with self.lock:
            *lines, self.rest = (self.rest + self.file.read()).split("\n")  # the last one may still be written by another thread
            for label, whose, secret in (line.split() for line in lines if line and not line.startswith("#")):
                self.secrets[bytes.fromhex(whose)][label] = bytes.fromhex(secret)
            return self.secrets[client_random]

    def forget(self, client_random):
        with self.lock:
            self.secrets.pop(client_random, None)


KEY_LOG = KeyLog()


def make_context(version, alpn, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if certificate else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = version
    context.set_ciphers(SUITE12)
    context.keylog_filename = KEY_LOG.file.name
    if alpn:
        context.set_alpn_protocols(alpn)
    if certificate:
        context.load_cert_chain(*certificate)
        context.num_tickets = 0  # the first record under our keys is the test's
    else:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


known_context = functools.lru_cache(make_context)


class RawTls:
    """A connection after (or in the middle of) its handshake. `certificate`: we are the server."""

    def __init__(self, plain, version=TLS13, alpn=None, certificate=None, name="localhost"):
        self.socket, self.version, self.alpn, self.server_side = plain, version, alpn, certificate is not None
        plain.settimeout(PATIENCE)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        make = make_context if certificate and version == TLS12 else known_context  # a server that remembers sessions would resume them
        context = make(version, (alpn,) if isinstance(alpn, str) else tuple(alpn or ()), certificate and (certificate["cert"], certificate["key"]))
        self.given, self.made = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.given, self.made, server_side=self.server_side, server_hostname=None if certificate else name)
        self.seen, self.said, self.received, self.plain = b"", b"", b"", b""
        self.patience = PATIENCE  # of recv()
        self.out, self.inn = Clear(), Clear()
        self.done = self.ended = False  # the handshake; the connection

    def close(self):
        self.socket.close()
        KEY_LOG.forget(self.client_random)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # The handshake

    def step(self):
        """What we want to say next, b"" if the peer has to speak, None when the handshake is done. The last flight of a client
        comes together with the end: None then, and `last_flight` is still to be sent."""
        if self.done:
            return None
        try:
            self.tls.do_handshake()
            done = True
        except ssl.SSLWantReadError:
            done = False
        flight = self.made.read()
        self.said += flight
        if done:
            self.last_flight = flight
            self.take_keys()
            return None
        return flight

    def hear(self):
        """Bytes of the peer for the handshake."""
        got = self.socket.recv(65536)
        if not got:
            raise Closed("in the handshake")
        self.seen += got
        self.given.write(got)

    def next_flight(self):
        """Hears the peer until we have something to say, which is for the caller to send."""
        while not (flight := self.step()) and flight is not None:
            self.hear()
        if flight is None:
            flight, self.last_flight = self.last_flight, b""
        return flight

    def shake_hands(self):
        while (flight := self.step()) is not None:
            self.socket.sendall(flight) if flight else self.hear()
        self.socket.sendall(self.last_flight)
        self.last_flight = b""
        return self

    def take_keys(self):
        self.received = self.given.read()
        self.out, self.inn = (self.keys(side) for side in self.sides())
        self.done = True

    def sides(self):
        """Ours, the peer's."""
        return ("SERVER", "CLIENT") if self.server_side else ("CLIENT", "SERVER")

    @property
    def client_random(self):
        return (self.seen if self.server_side else self.said)[11:43]

    def keys(self, side, label="TRAFFIC_SECRET_0"):
        secrets = KEY_LOG.of(self.client_random)
        if self.version == TLS13:
            return Keys13(self.tls.cipher()[0], secrets[f"{side}_{label}"])
        server_random = (self.said if self.server_side else self.seen)[11:43]
        block = prf12(secrets["CLIENT_RANDOM"], b"key expansion" + server_random + self.client_random, 40)
        return Keys12(block[16:32], block[36:40]) if side == "SERVER" else Keys12(block[0:16], block[32:36])

    def early_keys(self, label="TRAFFIC_SECRET_0"):
        """Ours, as soon as the flight with our Finished is made. HANDSHAKE_TRAFFIC_SECRET: those of the handshake itself."""
        return self.keys(self.sides()[0], label)

    # Records

    def record(self, kind, content=b""):
        return self.out.seal(kind, content)

    def send(self, data):
        self.socket.sendall(data)

    def send_record(self, kind, content=b""):
        self.send(self.record(kind, content))

    def send_message(self, whole, splits=()):
        """A message of the handshake protocol, in as many records as it is split into."""
        at = 0
        for end in (*splits, len(whole)):
            self.send_record(HANDSHAKE, whole[at:end])
            at = end

    def write(self, data):
        self.send_record(APPLICATION_DATA, data)

    def update_key(self, wish=0):
        self.send_message(key_update(wish))
        self.out.update()

    def next_record(self, seconds=PATIENCE):
        """(kind, content) of the next record, or None at the end."""
        while True:
            if len(self.received) >= 5:
                kind, _, size = struct.unpack(">BHH", self.received[:5])
                if len(self.received) >= 5 + size:
                    body, self.received = self.received[5:5 + size], self.received[5 + size:]
                    kind, content = self.inn.open(kind, body)
                    if kind == HANDSHAKE and content[:1] == bytes([KEY_UPDATE]) and isinstance(self.inn, Keys13):
                        self.inn.update()
                    return kind, content
            self.socket.settimeout(seconds)
            try:
                got = self.socket.recv(65536)
            except ConnectionResetError:
                got = b""
            if not got:
                self.ended = True
                return None
            self.received += got

    def read_until(self, wanted, seconds=PATIENCE):
        """Plaintext until it holds `wanted`; what follows is kept."""
        while wanted not in self.plain:
            record = self.next_record(seconds)
            if record is None:
                raise Closed(f"{wanted!r} did not come, but {self.plain!r}")
            if record[0] == APPLICATION_DATA:
                self.plain += record[1]
        end = self.plain.index(wanted) + len(wanted)
        text, self.plain = self.plain[:end], self.plain[end:]
        return text

    # As a socket, for those who only want plaintext through it

    def sendall(self, data):
        for at in range(0, len(data), 16384):
            self.write(bytes(data[at:at + 16384]))

    def recv(self, size):
        while not self.plain:
            record = self.next_record(self.patience)
            if record is None:
                return b""
            if record[0] == APPLICATION_DATA:
                self.plain += record[1]
        data, self.plain = self.plain[:size], self.plain[size:]
        return data

    def settimeout(self, seconds):
        self.socket.settimeout(seconds)

    def setsockopt(self, *arguments):
        self.socket.setsockopt(*arguments)

    def shutdown(self, how):
        self.socket.shutdown(how)

    def drain(self, seconds=0.0):
        """Whatever has come by now, or comes within that time, decrypted as far as that works; never fails."""
        try:
            while self.received or select.select([self.socket], [], [], seconds)[0]:
                if self.next_record(seconds or 0.01) is None:
                    return
        except (OSError, InvalidTag, IndexError):
            return
