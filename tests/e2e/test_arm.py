"""`ebbgate reap --arm`: programs with default options notice a dead peer in seconds, and nobody's own choice is changed."""

import errno
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

import namespaces
from node_agent import ControlGroup, cgroup_root, node_agent
from router import BINARY, promised, wait_until

TCP_RTO_MAX_MS = 44
BPF = 321  # the number of the system call on x86-64
PROMISE = 10  # seconds

# Connects, says what its socket is like, and does one thing until its peer is found dead.
PROGRAM = """
import json, socket, sys, time
host, port, deed, before, after = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4]), json.loads(sys.argv[5])
one = socket.socket()
for level, name, value in before: one.setsockopt(level, name, value)
one.connect((host, port))
for level, name, value in after: one.setsockopt(level, name, value)
def get(level, name):
    try: return one.getsockopt(level, name)
    except OSError: return None
print(json.dumps([get(1, 9), get(6, 4), get(6, 5), get(6, 6), get(6, 18), get(6, 44)]), flush=True)
try:
    while deed == "write":
        one.sendall(b"x")
        time.sleep(0.2)
    one.recv(1)
    print(json.dumps("closed"), flush=True)
except OSError as error:
    print(json.dumps(error.errno), flush=True)
"""


def bpf_refusal():
    """Why no program can be loaded, or None."""
    if os.uname().machine != "x86_64":
        return "the test knows the system call of x86-64 only"
    attributes = (2).to_bytes(4, "little") + (4).to_bytes(4, "little") + (8).to_bytes(4, "little") + (1).to_bytes(4, "little")
    descriptor = namespaces.LIBC.syscall(BPF, 0, attributes + bytes(112), 128)  # BPF_MAP_CREATE of an array
    if descriptor < 0:
        assert namespaces.ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.EACCES)
        return f"no BPF here: {os.strerror(namespaces.ctypes.get_errno())}"
    os.close(descriptor)
    return None


@pytest.fixture(scope="module", autouse=True)
def possible():
    refusal = namespaces.refusal() or (None if cgroup_root() else "control groups of version 2 are not mounted") or bpf_refusal()
    if refusal:
        pytest.skip(refusal)


@pytest.fixture
def cable():
    with namespaces.laid("arm", networks=(0, 1)) as made:
        yield made


@pytest.fixture
def group():
    made = ControlGroup("arm")
    yield made
    made.close()


@pytest.fixture
def programs(cable, group):
    """Starts programs in the near namespace, in the control group that is armed or not."""
    started = []

    def start(command, armed=True):
        process = subprocess.Popen(["ip", "netns", "exec", cable.near, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=group.enter if armed else None)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=60)


class Service:
    """Takes connections at the far side, and says something on each every 0.2 s if it is to."""

    def __init__(self, cable, talks=False):
        self.listener = cable.listen()
        self.port = self.listener.getsockname()[1]
        self.talks, self.open, self.ending = talks, [], False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        self.listener.settimeout(0.2)
        while not self.ending:
            try:
                one, _ = self.listener.accept()
                one.setblocking(False)
                self.open.append(one)
                if self.talks:
                    one.send(b"HTTP/1.1 200 OK\r\n\r\n")
            except TimeoutError:
                pass
            for one in self.open:
                try:
                    if self.talks:
                        one.send(b"x")
                    one.recv(65536)
                except OSError:
                    pass

    def close(self):
        self.ending = True
        self.thread.join()
        for one in self.open:
            one.close()


@pytest.fixture
def serve(cable):
    made = []

    def make(**how):
        made.append(Service(cable, **how))
        return made[-1]

    yield make
    for each in made:
        each.close()


def policy(group):
    return {"act": True, "allow": [{"cgroup": [f"{group.name}/*"]}], "every": "1s", "nodes": {"watch": False}, "arm": {}}


def python(service, deed, before=(), after=(), host="10.99.0.2"):
    return [sys.executable, "-c", PROGRAM, host, str(service.port), deed, json.dumps(before), json.dumps(after)]


def options_of(process):
    """SO_KEEPALIVE, its three times, the user time-out and the RTO maximum (None: an older kernel)."""
    return json.loads(process.stdout.readline())


def rto(value):
    """As a kernel with, or without, TCP_RTO_MAX_MS shows it."""
    with socket.socket() as one:
        try:
            one.getsockopt(socket.IPPROTO_TCP, TCP_RTO_MAX_MS)
            return value
        except OSError:
            return None


ARMED = [1, 4, 1, 4, 8000]
UNARMED = [0, 7200, 75, 9, 0]


@pytest.mark.prompt
@pytest.mark.leisurely
def test_programs_with_default_options_notice_a_dead_peer(tmp_path, cable, group, programs, serve):
    quiet, talking = serve(), serve(talks=True)
    with node_agent(tmp_path, policy(group)) as agent:
        assert agent.event("arming")["at_connect"] == "1"
        armed = {
            "writes": programs(python(quiet, "write")),
            "reads": programs(python(quiet, "read")),
            # Its keepalive is its own (60 s): its stalls are limited.
            "curl uploads": programs(["curl", "-sS", "-H", "Expect:", "-T", "/dev/zero", "--limit-rate", "200k", f"http://10.99.0.2:{quiet.port}/"]),
            "curl downloads": programs(["curl", "-sS", "-N", "--no-keepalive", "-o", "/dev/null", f"http://10.99.0.2:{talking.port}/"]),
        }
        unarmed = {
            "writes": programs(python(quiet, "write"), armed=False),
            "reads": programs(python(quiet, "read"), armed=False),
        }
        for each in ("writes", "reads"):
            assert options_of(armed[each]) == [*ARMED, rto(1000)]
            assert options_of(unarmed[each]) == [*UNARMED, rto(120000)]
        wait_until(lambda: len(quiet.open) == 5 and len(talking.open) == 1, seconds=20, what="all connections")
        time.sleep(1)  # data flows on all of them
        cable.cut(0)
        cut_at = time.monotonic()
        noticed = {}
        while len(noticed) < len(armed) and time.monotonic() - cut_at < promised(3 * PROMISE):
            for name, process in armed.items():
                if name not in noticed and process.poll() is not None:
                    noticed[name] = time.monotonic() - cut_at
            time.sleep(0.02)
        assert noticed.keys() == armed.keys() and max(noticed.values()) < promised(PROMISE), noticed
        for each in ("writes", "reads"):
            assert json.loads(armed[each].stdout.readline()) == errno.ETIMEDOUT
        time.sleep(max(0, PROMISE - (time.monotonic() - cut_at)))
        assert all(process.poll() is None for process in unarmed.values())
        assert agent.metric('ebbgate_reap_armed_sockets_total{when="connect"}') == 4
        assert agent.metric("ebbgate_reap_stalls_limited_total") >= 1


def test_what_a_program_has_set_itself_is_not_changed(tmp_path, group, programs, serve):
    service = serve()
    keepalive = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (6, socket.TCP_KEEPIDLE, 33), (6, socket.TCP_KEEPINTVL, 7),
                 (6, socket.TCP_KEEPCNT, 3)]
    with node_agent(tmp_path, policy(group)) as agent:
        own_all = programs(python(service, "read", before=[*keepalive, (6, socket.TCP_USER_TIMEOUT, 30000)]))
        own_keepalive = programs(python(service, "read", before=keepalive))
        own_timeout = programs(python(service, "read", before=[(6, socket.TCP_USER_TIMEOUT, 30000)]))
        afterwards = programs(python(service, "read", after=[*keepalive, (6, socket.TCP_USER_TIMEOUT, 30000)]))
        assert options_of(own_all) == [1, 33, 7, 3, 30000, rto(1000)]
        assert options_of(own_keepalive) == [1, 33, 7, 3, 0, rto(1000)]
        assert options_of(own_timeout) == [1, 4, 1, 4, 30000, rto(1000)]
        assert options_of(afterwards) == [1, 33, 7, 3, 30000, rto(1000)]
        # Those that open sockets are swept by do not change them either.
        looks = agent.metric("ebbgate_reap_looks_total")
        wait_until(lambda: agent.metric("ebbgate_reap_looks_total") >= looks + 2, seconds=20, what="two more looks")
        assert agent.metric('ebbgate_reap_armed_sockets_total{when="open"}') == 0


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_new_sockets_are_not_armed_after_its_end(tmp_path, group, programs, serve, end):
    service = serve()
    with node_agent(tmp_path, policy(group)) as agent:
        assert options_of(programs(python(service, "read"))) == [*ARMED, rto(1000)]
        getattr(agent, end)()
        # The kernel lets go of a killed process' programs a moment after its end.
        wait_until(lambda: options_of(programs(python(service, "read"))) == [*UNARMED, rto(120000)], seconds=20, what="an unarmed socket")


def test_only_named_ports_and_never_loopback(tmp_path, cable, group, programs, serve):
    service, other = serve(), serve()
    local = cable.listen(host="127.0.0.1", side=cable.near)
    row = {"cgroup": [f"{group.name}/*"], "port": [service.port, local.getsockname()[1]]}
    with node_agent(tmp_path, {"act": True, "allow": [row], "arm": {"timeout": "20s"}}):
        assert options_of(programs(python(service, "read"))) == [1, 4, 1, 4, 20000, rto(1000)]
        assert options_of(programs(python(other, "read"))) == [*UNARMED, rto(120000)]
        command = [sys.executable, "-c", PROGRAM, "127.0.0.1", str(local.getsockname()[1]), "read", "[]", "[]"]
        assert options_of(programs(command)) == [*UNARMED, rto(120000)]


@pytest.mark.prompt
@pytest.mark.leisurely
def test_open_sockets_are_armed_by_conditions_that_the_kernel_does_not_know(tmp_path, cable):
    listener = cable.listen()
    one, other = cable.pair(listener, "10.99.0.2")
    own, _ = cable.pair(listener, "10.99.0.2")
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30000)
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 33)
    ours = pathlib.Path("/proc/self/comm").read_text().strip()
    row = {"netns": [cable.near, cable.far], "process": [ours], "uid": [0]}
    with node_agent(tmp_path, {"act": True, "allow": [row], "every": "1s"}, arguments=["--arm"]) as agent:
        assert agent.event("arming") | {"at_connect": "0", "rows_armed_when_seen": "1"} == agent.event("arming")
        assert int(agent.event("armed", process=ours, pid=str(os.getpid()))["sockets"]) >= 1
        get = lambda which, name: which.getsockopt(socket.IPPROTO_TCP, name)  # noqa: E731
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert [get(one, each) for each in (4, 5, 6, 18)] == ARMED[1:]
        assert [get(own, each) for each in (4, 18)] == [33, 30000]
        assert get(other, socket.TCP_USER_TIMEOUT) == 0, "it was accepted, not opened"
        late, _ = cable.pair(listener, "10.99.0.2")
        wait_until(lambda: get(late, socket.TCP_USER_TIMEOUT) == 8000, seconds=20, what="a later socket to be armed")
        one.setblocking(True)
        cable.cut(0)
        one.send(b"x")
        sent_at = time.monotonic()
        with pytest.raises(TimeoutError):
            one.recv(1)
        assert time.monotonic() - sent_at < promised(PROMISE)


def programs_at(group):
    """How many BPF programs for sockets (BPF_CGROUP_SOCK_OPS) are attached to the control group (BPF_PROG_QUERY)."""
    folder = os.open(group.folder, os.O_RDONLY)
    try:
        attributes = bytearray(struct.pack("=IIIIQI", folder, 3, 0, 0, 0, 0) + bytes(100))
        buffer = (namespaces.ctypes.c_char * len(attributes)).from_buffer(attributes)
        assert namespaces.LIBC.syscall(BPF, 16, buffer, len(attributes)) == 0, os.strerror(namespaces.ctypes.get_errno())
        return struct.unpack_from("=I", attributes, 24)[0]
    finally:
        os.close(folder)


WITHOUT_ACT = {"a policy without act": ({}, []), "act: false": ({"act": False}, []), "--dry-run": ({"act": True}, ["--dry-run"])}


@pytest.mark.parametrize("how", WITHOUT_ACT)
def test_without_act_no_socket_of_another_program_is_touched(tmp_path, cable, group, programs, serve, how):
    """Neither those that were open, nor new ones, nor those that stall."""
    service = serve()
    keepalive = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (6, socket.TCP_KEEPIDLE, 33)]
    programs(python(service, "read"))
    programs(python(service, "write", before=keepalive))
    wait_until(lambda: len(service.open) == 2, seconds=20, what="both connections")
    options = lambda: sorted(json.dumps(each["options"]) for each in conns(cable, "state=established", f"peer=10.99.0.2:{service.port}"))  # noqa: E731
    before = options()
    more, arguments = WITHOUT_ACT[how]
    wanted = {each: value for each, value in policy(group).items() if each != "act"} | more
    with node_agent(tmp_path, wanted, arguments=arguments) as agent:
        assert programs_at(group) == 0
        said = agent.event("arming")
        assert (said["at_connect"], said["would_arm_at_connect"]) == ("0", "1"), said
        wait_until(lambda: sum(int(each["sockets"]) for each in agent.all("would_arm")) == 2, seconds=30, what="both to be told")
        assert options_of(programs(python(service, "read"))) == [*UNARMED, rto(120000)]
        wait_until(lambda: sum(int(each["sockets"]) for each in agent.all("would_arm")) == 3, seconds=30, what="the third to be told")
        cable.cut(0)
        stalled = lambda: any(each["timer"] == "on" and each["timer_count"] > 1 for each in conns(cable, f"peer=10.99.0.2:{service.port}"))  # noqa: E731
        wait_until(stalled, seconds=60, what="a stall")
        looks = agent.metric("ebbgate_reap_looks_total")
        wait_until(lambda: agent.metric("ebbgate_reap_looks_total") >= looks + 2, seconds=120, what="two looks at the stall")
        assert set(options()) == set(before)
        assert programs_at(group) == 0 and not agent.all("armed")
        assert agent.metric('ebbgate_reap_armed_sockets_total{when="open"}') == agent.metric('ebbgate_reap_armed_sockets_total{when="connect"}') == 0
        assert agent.metric("ebbgate_reap_would_arm_sockets_total") == 3 and agent.metric("ebbgate_reap_stalls_limited_total") == 0


def test_a_policy_that_stops_acting_detaches_its_programs(tmp_path, cable, group, programs, serve):
    service = serve()
    with node_agent(tmp_path, policy(group)) as agent:
        assert programs_at(group) == 1
        assert options_of(programs(python(service, "read"))) == [*ARMED, rto(1000)]
        agent.set_policy(json.loads(agent.policy_file.read_text()) | {"act": False})
        agent.event("files_read")
        assert programs_at(group) == 0
        assert options_of(programs(python(service, "read"))) == [*UNARMED, rto(120000)]
        agent.event("would_arm")
        assert agent.metric('ebbgate_reap_armed_sockets_total{when="connect"}') == 1, "what was counted stays"
        agent.set_policy(json.loads(agent.policy_file.read_text()) | {"act": True})
        agent.event("armed")


def conns(cable, *filters):
    """The sockets of the near side with their options."""
    done = subprocess.run([BINARY, "conns", "--json", "--netns", cable.near, *filters], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)["sockets"]


@pytest.mark.prompt
@pytest.mark.leisurely
@pytest.mark.parametrize("language", ["go", "curl"])
def test_stalls_of_open_sockets_with_keepalive_of_their_own_are_limited(tmp_path, cable, group, programs, serve, request, language):
    """The connection is older than the agent, and its program has chosen its keepalive: no lasting limit, but one while it stalls."""
    service = serve()
    commands = {"go": lambda: [request.getfixturevalue("go_client")("tcp_writer"), f"10.99.0.2:{service.port}"],
                "curl": lambda: ["curl", "-sS", "-H", "Expect:", "-T", "/dev/zero", "--limit-rate", "200k", f"http://10.99.0.2:{service.port}/"]}
    client = programs(commands[language]())
    wait_until(lambda: service.open, seconds=20, what="the connection")
    times = ("keepalive_idle_s", "keepalive_interval_s", "keepalive_probes")
    options = lambda: wait_until(lambda: conns(cable, "state=established", f"peer=10.99.0.2:{service.port}"), what="the socket")[0]["options"]  # noqa: E731
    chosen = [options()[each] for each in times]
    assert chosen != [7200, 75, 9], "it has no keepalive of its own"
    with node_agent(tmp_path, policy(group) | {"every": "10m", "nodes": {}}) as agent:  # by what is glanced at
        agent.event("armed")
        assert options()["user_timeout_ms"] == 0
        # A stall that ends: the limit comes and goes.
        cable.cut(0)
        wait_until(lambda: options()["user_timeout_ms"] == 8001, seconds=20, what="the limit")
        cable.ip(cable.far, "neigh del 10.99.0.1 dev eth0")
        wait_until(lambda: options()["user_timeout_ms"] == 0, seconds=60, what="the end of the limit")
        assert [options()[each] for each in times] == chosen and client.poll() is None
        # One that does not.
        cable.cut(0)
        cut_at = time.monotonic()
        client.wait(60)
        assert time.monotonic() - cut_at < promised(PROMISE)
        assert agent.metric("ebbgate_reap_stalls_limited_total") >= 2


def test_a_stall_is_no_longer_limited_when_the_agent_ends(tmp_path, cable, group, programs, serve):
    service = serve()
    keepalive = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (6, socket.TCP_KEEPIDLE, 33)]
    programs(python(service, "write", before=keepalive))
    wait_until(lambda: service.open, seconds=20, what="the connection")
    socket_of = lambda: wait_until(lambda: conns(cable, f"peer=10.99.0.2:{service.port}"), what="the socket")[0]  # noqa: E731
    timeout = lambda: socket_of()["options"]["user_timeout_ms"]  # noqa: E731
    with node_agent(tmp_path, policy(group) | {"arm": {"timeout": "10m"}}) as agent:
        agent.event("armed")
        cable.cut(0)
        wait_until(lambda: timeout() == 600001, seconds=60, what="the limit")
        agent.stop()
        assert timeout() == 0


def test_the_agent_keeps_no_more_than_it_needs(tmp_path, group):
    kept = 1 << 21 | 1 << 12 | 1 << 19 | 1 << 2  # SYS_ADMIN, NET_ADMIN, SYS_PTRACE, DAC_READ_SEARCH
    with node_agent(tmp_path, policy(group)) as agent:
        for task in pathlib.Path(f"/proc/{agent.process.pid}/task").iterdir():
            facts = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
            for each in ("CapPrm", "CapEff", "CapBnd"):
                assert int(facts[each], 16) == kept, (task, each)
            assert int(facts["CapInh"], 16) == int(facts["CapAmb"], 16) == 0
            assert facts["NoNewPrivs"] == "1" and facts["Seccomp"] == "2", task
