"""`ebbgate conns` against real sockets: a zoo of more than 200 in all states, and deaths that were foretold."""

import contextlib
import datetime
import errno
import json
import os
import pathlib
import pty
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time

import pytest

import namespaces
from http1 import PATIENCE
from router import BINARY, PORTS, HELD, wait_until

# Ports come round again on a busy machine; nobody else uses this address.
OWN = f"127.77.{PORTS.first // 200 % 250}.1"
TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_SYNCNT, TCP_USER_TIMEOUT, TCP_RTO_MAX_MS = 4, 5, 6, 7, 18, 44


def conns(*arguments, status=0, **more):
    done = subprocess.run([BINARY, "conns", *map(str, arguments)], capture_output=True, text=True, timeout=60, **more)
    assert done.returncode == status, done.stderr
    return done


def census(*arguments):
    return json.loads(conns("--json", *arguments).stdout)


def find(answer, one, *otherwise):
    """What the census says of a socket."""
    host, port = one.getsockname()[:2]
    return next((each for each in answer["sockets"] if each["local"] == f"{host}:{port}" and each["fd"] == one.fileno()), *otherwise)


def moment(answer):
    return datetime.datetime.fromisoformat(answer["at"]).timestamp()


def tcp(one, **options):
    for name, value in options.items():
        one.setsockopt(socket.IPPROTO_TCP, globals()["TCP_" + name], value)


def keepalive(one, idle, interval, count):
    one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    tcp(one, KEEPIDLE=idle, KEEPINTVL=interval, KEEPCNT=count)


def fill(one):
    """Writes until the peer's window and our buffer are full."""
    one.setblocking(False)
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 0.5:
        try:
            one.send(bytes(65536))
            quiet_since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)


@pytest.fixture
def cable():
    refusal = namespaces.refusal()
    if refusal:
        pytest.skip(refusal)
    made = []

    def make(networks=(0,)):
        made.append(namespaces.Cable(f"c{len(made)}", networks))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_own_sockets_with_owner_descriptor_and_exact_age():
    with socket.create_server((OWN, 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        listener.accept()[0].close()
        said = find(census(f"pid={os.getpid()}"), one)
        assert said["pid"] == os.getpid() and said["state"] == "CLOSE-WAIT" and said["peer"] == f"{OWN}:{listener.getsockname()[1]}"
        assert said["age_exact"] and 0 <= said["age_ms"] < 10_000
        assert find(census("state=listen"), listener)["verdict"] == "listening"
        table = conns(f"{OWN}:{listener.getsockname()[1]}")
        assert "CLOSE-WAIT" in table.stdout and f"/{os.getpid()} fd {one.fileno()}" in table.stdout
        assert "VERDICT" in table.stdout.splitlines()[0] and "3 sockets: 2 closing, 1 listening" in table.stderr


def test_ipv6_and_options_that_only_the_owner_knows():
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        one = socket.create_connection(listener.getsockname()[:2])
        keepalive(one, 33, 7, 3)
        tcp(one, USER_TIMEOUT=4500)
        said = next(each for each in census("state=established")["sockets"] if each["fd"] == one.fileno() and each["pid"] == os.getpid())
        assert said["local"].startswith("[::1]:")
        assert said["options"]["keepalive_idle_s"] == 33 and said["options"]["user_timeout_ms"] == 4500
        assert said["gives_up"]["by"] == "user_timeout" and not said["gives_up"]["assumed"]
        one.close()


@pytest.fixture
def public_folder():
    with tempfile.TemporaryDirectory() as name:
        pathlib.Path(name).chmod(0o755)
        yield pathlib.Path(name)


def test_an_ordinary_user_is_told_what_root_would_see(public_folder):
    if os.geteuid() != 0:
        pytest.skip("becoming an ordinary user needs root")
    binary = public_folder / "ebbgate"
    binary.write_bytes(pathlib.Path(BINARY).read_bytes())
    binary.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        keepalive(one, 5, 5, 5)
        done = subprocess.run([binary, "conns", f"port={one.getsockname()[1]}"], capture_output=True, text=True, user=65534, group=65534,
                              timeout=60)
        assert done.returncode == 0, done.stderr
        near, far = (":".join(map(str, end)) for end in (one.getsockname(), one.getpeername()))  # the port alone may be in use twice
        line = next(each for each in done.stdout.splitlines() if each.split()[3:5] == [near, far])
        assert "ESTAB" in line and line.rstrip().endswith("-")
        assert " ~" in line  # assumed: the defaults of the namespace
        assert "root would see them" in done.stderr and "options could not be read" in done.stderr


def test_wrong_words_are_explained():
    assert "there is state, verdict" in conns("stat=x", status=1).stderr
    assert "NAME" in conns("--help").stdout and "--why" in conns("--help").stdout
    assert "No such file" in conns("--netns", "ebb-there-is-none", status=1).stderr
    assert "there is no socket" in conns("--why", "192.0.2.1:9", status=1).stderr
    for pair in (["--json", "--watch"], ["--by", "peer", "--json"], ["--by", "peer", "--sort", "age"], ["--why", "1/1", "--sort", "age"]):
        conns(*pair, status=2)


class Zoo:
    """Sockets by the verdict that is due."""

    def __init__(self, wire):
        self.wire, self.due = wire, {}
        self.listener = wire.listen()
        self.busy = []

    def add(self, verdict, one):
        self.due[one] = verdict

    def pair(self, host):
        return self.wire.pair(self.listener, host)

    def populate(self):
        wire = self.wire
        for i in range(30):
            one, other = self.pair("10.99.0.2")
            self.busy.append((one, other))
            self.add("active", one)
        for i in range(40):
            one, _ = self.pair("10.99.0.2")
            if i % 2:
                keepalive(one, 2, 1, 2)
            self.add("idle", one)
        for i in range(10):
            self.add("listening", wire.listen(side=wire.near))
        self.waiting = wire.listen(side=wire.near)
        with namespaces.inside(wire.near):
            self.callers = [socket.create_connection(("127.0.0.1", self.waiting.getsockname()[1])) for _ in range(5)]
        for i in range(20):
            one, other = self.pair("10.99.0.3")
            other.close()
            self.add("orphan", one)
            one, _ = self.pair("10.99.0.3")
            one.shutdown(socket.SHUT_WR)
            self.add("orphan", one)
        for i in range(10):
            self.add("stale", self.pair("10.99.0.9")[0])  # by the list of those that are gone
        for i in range(5):
            one, _ = self.pair("10.99.0.4")
            fill(one)  # its peer lives and answers, it only does not read
            self.add("active", one)
        suspects = [self.pair(f"10.99.1.{10 + i}")[0] for i in range(30)]
        probed = [self.pair(f"10.99.1.{50 + i}")[0] for i in range(15)]
        stuck = [self.pair(f"10.99.1.{70 + i}")[0] for i in range(4)]
        closing = [self.pair(f"10.99.1.{80 + i}")[0] for i in range(10)]
        stale = [self.pair("10.99.1.90")[0] for i in range(20)]
        for one in stuck:
            fill(one)
        wire.cut(1)
        for i, one in enumerate(suspects):
            if i % 3 == 0:
                tcp(one, USER_TIMEOUT=60_000)
            one.send(b"into the dark")
        for one in probed:
            keepalive(one, 1, 1, 60)
        for one in stale[:10]:
            one.send(b"into the dark")
        for one in suspects + probed + stuck:
            self.add("half-open suspect", one)
        for one in stale:
            self.add("stale", one)  # also the idle ones: the others prove it
        self.closed = [one.getsockname()[1] for one in closing]
        for one in closing:
            one.close()
        for i in range(20):
            one = wire.client()
            one.setblocking(False)
            one.connect_ex((f"10.99.2.{2 + i}", 80))
            self.add("half-open suspect", one)

    @contextlib.contextmanager
    def kept_busy(self):
        """During the block, however long a busy machine takes for it."""
        begun, over = threading.Event(), threading.Event()

        def talk():
            while not over.wait(0.05):
                for one, other in self.busy:
                    one.send(b"ping")
                    other.recv(16)
                    other.send(b"pong")
                    one.recv(16)
                begun.set()

        thread = threading.Thread(target=talk)
        thread.start()
        try:
            assert begun.wait(PATIENCE)
            yield
        finally:
            over.set()
            thread.join()


def test_every_verdict_of_a_zoo_is_right(cable):
    wire = cable(networks=(0, 1))
    wire.ip(wire.near, "route add 10.99.2.0/24 via 10.99.0.2")  # where nobody answers
    zoo = Zoo(wire)
    zoo.populate()
    for i in range(10):  # closed whole, while the other end stays: the kernel waits for it alone
        zoo.pair("10.99.0.5")[0].close()
    for i in range(10):
        one, other = zoo.pair("10.99.0.6")
        one.close()
        other.close()
    time.sleep(8)
    with zoo.kept_busy():
        answer = census("--netns", wire.near, "--quiet", "3s", "--orphan", "3s", "--limit", "1h", "--gone", "10.99.0.9")
    assert len(answer["sockets"]) >= 200
    wrong = []
    for one, verdict in zoo.due.items():
        said = find(answer, one)
        assert said["why"] and (said["verdict"] in ("idle", "active", "closing", "listening") or said["remedy"])
        if said["verdict"] != verdict:
            wrong.append((verdict, said))
    assert not wrong, f"{len(wrong)} of {len(zoo.due)}: {wrong[0]}"
    without_owner = [each for each in answer["sockets"] if each["inode"] == 0]
    queued = [each for each in without_owner if each["local"] == "127.0.0.1:%d" % zoo.waiting.getsockname()[1]]
    assert {each["verdict"] for each in queued} == {"orphan"} and len(queued) == 5  # nobody accepts them
    without_owner = [each for each in without_owner if each not in queued]
    # Ports are used again towards other peers.
    dark = [each for each in without_owner if each["peer"].startswith("10.99.1.") and int(each["local"].split(":")[1]) in zoo.closed]
    assert {each["verdict"] for each in dark} == {"half-open suspect"} and len(dark) == 10
    assert {each["verdict"] for each in without_owner if each not in dark} == {"closing"}
    assert sum(each["timer"] == "timewait" for each in without_owner) == 20
    # What is quiet and would not be noticed within the limit, unless keepalive looks after it.
    strict = census("--netns", wire.near, "--quiet", "3s", "--orphan", "3s", "--limit", "5s")
    for one in (one for one, verdict in zoo.due.items() if verdict == "idle"):
        said = find(strict, one)
        assert said["verdict"] == ("idle" if said["timer"] == "keepalive" else "unprotected"), said


def test_handshakes_that_nobody_confirms(cable):
    wire = cable(networks=(0, 1))
    wire.cut(1)
    listener = wire.listen()
    for i in range(5):
        one = wire.client()
        one.bind(("10.99.1.1", 0))
        one.setblocking(False)
        one.connect_ex(("10.99.1.2", listener.getsockname()[1]))
    time.sleep(4.5)
    waiting = census("--netns", wire.far, "state=syn-recv")["sockets"]
    assert len(waiting) == 5
    assert {each["verdict"] for each in waiting} == {"half-open suspect"} and all(each["gives_up"]["by"] == "handshake" for each in waiting)


class Doomed:
    """A socket whose end is foretold at several moments and then seen."""

    def __init__(self, label, one):
        self.label, self.one, self.foretold, self.ended = label, one, [], None


def foretell(wire, doomed):
    alive = [each for each in doomed if each.ended is None]
    answer = census("--netns", wire.near)
    at = moment(answer)
    for each in alive:
        said = find(answer, each.one, None)
        if said is None:
            wait_until(lambda: each.ended is not None, what=f"the end of {each.label}")
            continue
        assert "in_ms" in said["gives_up"], (each.label, said)
        each.foretold.append((at, at + said["gives_up"]["in_ms"] / 1000, said))


def note_ends(doomed, stop):
    """In a thread of its own: a census may take its time."""
    poll = select.poll()
    by_number = {each.one.fileno(): each for each in doomed}
    for number in by_number:
        poll.register(number, 0)
    while by_number and not stop.is_set():
        for number, _ in poll.poll(20):
            by_number.pop(number).ended = time.time()
            poll.unregister(number)


@pytest.mark.prompt
def test_the_kernel_gives_up_when_it_was_foretold(cable):
    wire = cable(networks=(0, 1))
    wire.ip(wire.near, "route add 10.99.2.0/24 via 10.99.0.2")
    for key, value in {"tcp_retries2": 5, "tcp_orphan_retries": 4}.items():
        wire.sysctl(wire.near, f"ipv4/{key}", value)
    listener = wire.listen()
    pairs = iter([wire.pair(listener, f"10.99.1.{2 + i}")[0] for i in range(12)])
    doomed = []

    def add(label, one, send=False):
        one.setblocking(False)
        doomed.append(Doomed(label, one))
        if send:
            one.send(b"into the dark")

    closed_window = next(pairs)
    fill(closed_window)
    probed = [next(pairs) for _ in range(3)]
    for one, settings in zip(probed, ((3, 2, 4), (2, 1, 3), (2, 3, 3))):
        keepalive(one, *settings)
    tcp(probed[1], USER_TIMEOUT=10_000)
    wire.cut(1)
    add("data", next(pairs), send=True)
    both = next(pairs)
    keepalive(both, 1, 1, 2)
    add("data with keepalive, which does not count", both, send=True)
    for limit in (4_000, 12_000):
        one = next(pairs)
        tcp(one, USER_TIMEOUT=limit)
        add(f"data with a user timeout of {limit} ms", one, send=True)
    one = next(pairs)
    try:
        tcp(one, RTO_MAX_MS=1000)
        add("data with an RTO of at most 1 s", one, send=True)
    except OSError as error:
        assert error.errno == errno.ENOPROTOOPT  # before Linux 6.15
    add("window", closed_window)
    for label, one in zip(("keepalive", "keepalive with a user timeout", "slow keepalive"), probed):
        add(label, one)
    for label, options in {"syn": {"SYNCNT": 3}, "syn with a user timeout": {"USER_TIMEOUT": 6_500}}.items():
        one = wire.client()
        tcp(one, **options)
        one.setblocking(False)
        one.connect_ex(("10.99.2.2", 80))
        doomed.append(Doomed(label, one))
    stop = threading.Event()
    watcher = threading.Thread(target=note_ends, args=(doomed, stop))
    watcher.start()
    try:
        deadline = time.monotonic() + 2 * PATIENCE
        time.sleep(1)
        while alive := [each.label for each in doomed if each.ended is None]:
            assert time.monotonic() < deadline, alive
            foretell(wire, doomed)
            watcher.join(2)
    finally:
        stop.set()
        watcher.join()
    misses = []
    for each in doomed:
        assert each.foretold, each.label
        for at, end, said in each.foretold:
            # A tenth of what was left, or what the kernel's timer wheel rounds times of 4 to 16 s to.
            if abs(end - each.ended) > max(0.1 * (each.ended - at), 0.3 if HELD else 3):
                misses.append((each.label, round(end - at, 2), round(each.ended - at, 2), said["timer"], said["timer_count"]))
    assert not misses, misses


@pytest.mark.prompt
def test_what_no_program_holds_ends_when_it_was_foretold(cable):
    wire = cable(networks=(0, 1))
    wire.sysctl(wire.near, "ipv4/tcp_orphan_retries", 4)
    one, _ = wire.pair(wire.listen(), "10.99.1.2")
    host, port = one.getsockname()
    wire.cut(1)
    one.send(b"into the dark")
    one.close()
    time.sleep(1)

    def is_gone():
        with namespaces.inside(wire.near):
            lines = pathlib.Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
        return not any(line.split()[1].endswith(f":{port:04X}") for line in lines)

    answer = census("--netns", wire.near)
    said = next(each for each in answer["sockets"] if each["local"] == f"{host}:{port}")
    assert said["inode"] == 0 and said["gives_up"]["by"] == "retransmissions"
    at = moment(answer)
    foretold = at + said["gives_up"]["in_ms"] / 1000
    wait_until(is_gone, what="the end of the socket")
    assert abs(time.time() - foretold) < max(0.1 * (time.time() - at), 0.5 if HELD else 3)


def test_the_real_peer_behind_a_service_address(cable):
    wire = cable()
    port = wire.listen().getsockname()[1]
    rule = ["iptables", "-w", "-t", "nat", "-A", "OUTPUT", "-d", "192.0.2.10", "-p", "tcp", "--dport", "443", "-j", "DNAT", "--to", f"10.99.0.7:{port}"]
    made = subprocess.run(["ip", "netns", "exec", wire.near, *rule], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"no address translation here: {made.stderr}")
    wire.ip(wire.near, "route add default via 10.99.0.2")
    one = wire.client()
    one.connect(("192.0.2.10", 443))
    said = find(census("--netns", wire.near, "peer=10.99.0.7"), one)
    assert said["peer"] == "192.0.2.10:443" and said["real_peer"] == f"10.99.0.7:{port}"
    assert f"192.0.2.10:443>10.99.0.7:{port}" in conns("--netns", wire.near).stdout
    assert census("--netns", wire.near, "--gone", "10.99.0.7", "verdict=stale")["sockets"]
    text = conns("--netns", wire.near, "--why", "192.0.2.10:443").stdout
    assert f"the real peer is 10.99.0.7:{port}" in text and "924.6 s (tcp_retries2 = 15)" in text


def test_namespaces_are_found_by_name_process_and_all_at_once(cable):
    wire = cable()
    one, _ = wire.pair(wire.listen(), "10.99.0.2")
    with subprocess.Popen(["ip", "netns", "exec", wire.near, "sleep", "60"]) as sleeper:
        wait_until(lambda: pathlib.Path(f"/proc/{sleeper.pid}/comm").read_text() == "sleep\n", what="the namespace")
        try:
            assert find(census("--pid", sleeper.pid), one)
            assert find(census("--netns", f"/proc/{sleeper.pid}/ns/net"), one)
        finally:
            sleeper.kill()
    everything = census("--all")
    assert {wire.near, wire.far, "this"} <= {each["name"] for each in everything["namespaces"]}
    assert find(everything, one)["netns"] == wire.near
    groups = conns("--all", "--by", "peer", f"netns={wire.near}").stdout.splitlines()
    assert [line.split()[:2] for line in groups] == [["PEER", "SOCKETS"], ["10.99.0.2", "1"]]


def leak(wire, listener, stop):
    """A prober with a new transport for each probe."""
    while not stop.wait(0.1):
        wire.pair(listener, "10.99.0.2")


def test_connections_that_only_grow_are_leaking_and_recorded(cable, tmp_path):
    wire = cable()
    listener = wire.listen()
    steady = [wire.pair(listener, "10.99.0.3")[0] for _ in range(5)]
    stop = threading.Event()
    prober = threading.Thread(target=leak, args=(wire, listener, stop))
    prober.start()
    file = tmp_path / "night.jsonl"
    try:
        answer = census("--netns", wire.near, "--samples", 6, "--every", "1s", "--record", file)  # in which a busy machine, too, makes one
    finally:
        stop.set()
        prober.join()
    growing = [each for each in answer["sockets"] if each["peer"].startswith("10.99.0.2:")]
    assert len(growing) > 5 and {each["verdict"] for each in growing} == {"leaking"}
    assert {each["pid"] for each in growing} == {os.getpid()}
    assert {find(answer, one)["verdict"] for one in steady} == {"active"}
    again = census("--replay", file)
    assert again["sockets"] == answer["sockets"] and again["at"] == answer["at"]
    assert "leaking" in conns("--replay", file, "--by", "process").stdout
    file.write_text(file.read_text()[:-30])
    assert "line" in conns("--replay", file, status=1).stderr


class Watch:
    """`conns --watch` on a terminal of its own."""

    def __init__(self, *arguments):
        self.terminal, inner = pty.openpty()
        self.inner = inner
        self.before = termios.tcgetattr(inner)
        self.process = subprocess.Popen([BINARY, "conns", "--watch", "--every", "200ms", *arguments], stdin=inner, stdout=inner, stderr=inner)
        self.seen = b""

    def read_until(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen[-2000:]
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.seen += os.read(self.terminal, 65536)
        self.seen = self.seen.split(text, 1)[1]

    def type(self, text):
        os.write(self.terminal, text)

    def ended_well(self):
        self.read_until(b"\x1b[?25h\x1b[?1049l")
        status = self.process.wait(PATIENCE)
        restored = termios.tcgetattr(self.inner) == self.before
        os.close(self.terminal)
        os.close(self.inner)
        return status == 0 and restored


def test_watch_follows_its_keys_and_gives_the_terminal_back():
    with socket.create_server((OWN, 0)):
        watch = Watch()
        watch.read_until(b"\x1b[?1049h")
        watch.read_until(b"sort: verdict")
        watch.type(b"s")
        watch.read_until(b"sort: queue")
        watch.type(b"gg")
        watch.read_until(b"group: peer")
        watch.type(b"gg/")
        watch.read_until(b"filter: _")
        watch.type(f"local={OWN} state=listen\r".encode())
        watch.read_until(b"1 sockets: 1 listening")
        watch.type(b"\x1b[B\x1b[6~p")
        watch.read_until(b"(paused)")
        watch.type(b"q")
        assert watch.ended_well()


@pytest.mark.parametrize("end", ["term", "interrupt key", "hangup"])
def test_watch_gives_the_terminal_back_however_it_ends(end):
    watch = Watch()
    watch.read_until(b"sort: verdict")
    if end == "interrupt key":
        watch.type(b"\x03")
    else:
        watch.process.send_signal(signal.SIGTERM if end == "term" else signal.SIGHUP)
    assert watch.ended_well()


def test_watch_without_a_terminal_says_so():
    assert "needs a terminal" in conns("--watch", status=1, stdin=subprocess.DEVNULL).stderr


# A process's ru_maxrss begins with that of the one that forked it, so a small one does.
STOPWATCH = """
import json, os, sys, time
started = time.monotonic()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
print(json.dumps([status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.monotonic() - started]))
"""


def timed(arguments):
    """Seconds of CPU (it is one thread, and others may use the machine), MiB, seconds by the clock."""
    done = subprocess.run([sys.executable, "-c", STOPWATCH, BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    status, *figures = json.loads(done.stdout)
    assert status == 0
    return figures


HOLDER = """
import socket, sys
host, count = sys.argv[1], int(sys.argv[2])
listener = socket.create_server((host, 0), backlog=16)
held = []
for _ in range(count):
    held.append(socket.create_connection(listener.getsockname()))
    held.append(listener.accept()[0])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.prompt
@pytest.mark.slow
def test_a_hundred_thousand_sockets_within_a_second_and_100_mib(cable):
    """50,000 connections inside one namespace: 100,000 ends in a few programs, as the limit of descriptors allows."""
    wire = cable()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    each = min(limit - 100, 100_000) // 2
    if each < 5_000:
        pytest.skip(f"{limit} descriptors are too few")
    holders = []
    try:
        for i in range(-(-50_000 // each)):
            command = ["ip", "netns", "exec", wire.near, sys.executable, "-c", HOLDER, f"127.0.1.{i + 1}", str(min(each, 50_000 - i * each))]
            holders.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))))
        for one in holders:
            assert one.stdout.readline() == b"ready\n"
        for mode in ([], ["--json"], ["--by", "process"]):
            runs = [timed(["conns", "--netns", wire.near, *mode]) for _ in range(3)]
            seconds, mib = min(runs)[0], max(run[1] for run in runs)
            print(f"100,000 sockets {' '.join(mode)}: {seconds:.2f} s of CPU, {mib:.0f} MiB, {min(run[2] for run in runs):.2f} s by the clock")
            # The second is for what people wait for; --json also fetches the options of idle sockets.
            assert (seconds < 1 or "--json" in mode or not HELD) and mib < 100, (mode, runs)
        # The first of them may have become idle meanwhile.
        sums = conns("--netns", wire.near, "--by", "verdict", "state=established").stdout.splitlines()[1:]
        assert sum(int(line.split()[1]) for line in sums) == 100_000, sums
    finally:
        for one in holders:
            one.stdin.close()
            one.wait(60)
            one.stdout.close()
