"""`ebbgate reap` against real sockets in namespaces: what is stale ends within a second, what lives never."""

import contextlib
import errno
import json
import os
import select
import socket
import subprocess
import time
import urllib.request

import pytest

import namespaces
from node_agent import node_agent
from reaper import Reaper, service, tracked, translate
from router import BINARY, HELD, PORTS, promised, wait_until

PROMISE = promised(1)


@pytest.fixture
def wire():
    with namespaces.laid("r", networks=(0, 1)) as one:
        yield one


@pytest.fixture
def reaper(tmp_path, wire):
    started = []

    def start(policy, *services, **more):
        policy = {"act": True, "allow": [{"netns": [wire.near]}], **policy}
        started.append(Reaper(tmp_path, policy, services, **more))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def end_of(one, seconds=60):
    """When the socket ended, and by which error."""
    readable, _, _ = select.select([one], [], [], seconds)
    at = time.monotonic()
    assert readable, "the socket has not ended"
    return at, one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def lives(pair):
    one, other = pair
    one.send(b"ping")
    assert other.recv(16) == b"ping"
    other.send(b"pong")
    return one.recv(16) == b"pong"


class Town:
    """Connections to endpoints that are addresses of the far side; all have the same port."""

    def __init__(self, wire):
        self.wire, self.listener = wire, wire.listen()
        self.port = self.listener.getsockname()[1]

    def at(self, host):
        return host, self.port

    def pair(self, host):
        return self.wire.pair(self.listener, host)


@pytest.mark.prompt
def test_stale_ends_within_a_second_and_the_living_stay(wire, reaper):
    town = Town(wire)
    stale = [town.pair("10.99.0.7") for _ in range(20)]
    living = [town.pair("10.99.0.8") for _ in range(20)]
    strangers = [town.pair("10.99.0.9") for _ in range(5)]
    one = reaper({"metrics": "127.0.0.1:%d" % (port := PORTS.take())}, service(town.at("10.99.0.7"), town.at("10.99.0.8")))
    assert all(map(lives, stale + living + strangers))
    removed = one.know(service(town.at("10.99.0.8")))
    for mine, _ in stale:
        at, error = end_of(mine)
        assert error == errno.ECONNABORTED and at - removed < PROMISE, (error, at - removed)
    wait_until(lambda: len(one.events("ended")) == 20, what="the log of the ends")
    assert all(map(lives, living + strangers))
    said = one.events("ended")[0]
    assert said["ground"] == "removed" and said["service"] == "shop" and said["peer"] == "10.99.0.7:%d" % town.port
    assert said["netns"] == wire.near and said["pid"] == os.getpid() and said["info"]["bytes_acknowledged"] >= 4
    metrics = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read().decode()
    assert 'ebbgate_reap_sockets_total{outcome="ended",ground="removed"} 20' in metrics
    assert 'ebbgate_reap_endpoints{state="ready"} 1' in metrics and "ebbgate_reap_acting 1" in metrics


def test_without_act_nothing_ends_and_the_log_says_what_would(wire, reaper):
    town = Town(wire)
    stale, living = town.pair("10.99.0.7"), town.pair("10.99.0.8")
    one = reaper({"act": False}, service(town.at("10.99.0.7"), town.at("10.99.0.8")))
    one.know(service(town.at("10.99.0.8")))
    said = wait_until(lambda: one.events("would_end"), what="the log")
    assert len(said) == 1 and said[0]["peer"] == "10.99.0.7:%d" % town.port
    assert lives(stale) and lives(living) and not one.events("ended")
    one.set_policy({"act": True, "allow": [{"netns": [wire.near]}], "endpoints": str(one.truth_file)})  # from now on it is meant
    assert end_of(stale[0])[1] == errno.ECONNABORTED
    assert lives(living)


def test_once_says_what_it_would_do_and_dry_run_comes_before_the_policy(wire, tmp_path):
    town = Town(wire)
    stale = town.pair("10.99.0.7")
    policy = tmp_path / "reap.yaml"
    policy.write_text(json.dumps({"act": True, "allow": [{"netns": [wire.near]}]}))
    command = [BINARY, "reap", "--policy", policy, "--once", "--gone", "10.99.0.7"]
    done = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("would end 10.99.0.1:"), done
    assert "its peer is listed as gone" in done.stdout and "1 with grounds, 1 would_end" in done.stderr
    assert lives(stale)
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["event"] == "ended"
    assert end_of(stale[0])[1] == errno.ECONNABORTED


def test_only_what_is_allowed_is_touched(wire, reaper):
    town, other = Town(wire), Town(wire)
    allowed, not_allowed = town.pair("10.99.0.7"), other.pair("10.99.0.7")
    rows = [{"netns": ["ebb-nowhere"]}, {"netns": [wire.near], "port": [town.port], "uid": [os.getuid()], "labels": {"app": "web"}}]
    reaper({"allow": rows}, gone=["10.99.0.7"], places=[{"netns": [wire.near], "labels": {"app": "web"}}])
    assert end_of(allowed[0])[1] == errno.ECONNABORTED
    assert lives(not_allowed)


@pytest.mark.parametrize("row", [{"process": ["another"]}, {"uid": [12345]}, {"port": [1]}, {"labels": {"app": "web"}}, {"netns": ["this"]},
                                 {"cgroup": ["/nowhere"]}])
def test_a_row_that_does_not_match_protects(wire, tmp_path, row):
    town = Town(wire)
    stale = town.pair("10.99.0.7")
    policy = tmp_path / "reap.yaml"
    policy.write_text(json.dumps({"act": True, "allow": [{"netns": [wire.near], **row}]}))
    done = subprocess.run([BINARY, "reap", "--policy", policy, "--once", "--gone", "10.99.0.7"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "", done
    assert lives(stale)


def test_the_budget_bounds_what_a_minute_may_cost(wire, reaper):
    town = Town(wire)
    stale = [town.pair("10.99.0.7") for _ in range(10)]
    one = reaper({"budget": 3}, gone=["10.99.0.7"])
    wait_until(lambda: len(one.events("over_budget")) == 7, what="the log of refusals")
    assert len(one.events("ended")) == 3
    ended = select.select([mine for mine, _ in stale], [], [], 0)[0]
    assert len(ended) == 3 and sum(lives(pair) for pair in stale if pair[0] not in ended) == 7


@pytest.mark.prompt
def test_who_leaves_drains_until_the_grace_is_over(wire, reaper):
    town = Town(wire)
    leaving, living = town.pair("10.99.0.7"), town.pair("10.99.0.8")
    one = reaper({}, service(town.at("10.99.0.7"), town.at("10.99.0.8")))
    said = one.know(service({"address": "10.99.0.7:%d" % town.port, "state": "leaving", "grace": "6s"}, town.at("10.99.0.8")))
    while time.monotonic() - said < 2:
        assert lives(leaving)
        time.sleep(0.1)
    at, error = end_of(leaving[0])
    assert error == errno.ECONNABORTED and 6 <= at - said < 6 + PROMISE, at - said
    assert wait_until(lambda: one.events("ended"), what="the log")[0]["ground"] == "grace_over"
    assert lives(living)


def test_who_leaves_and_falls_silent_is_not_waited_for(wire, reaper):
    town = Town(wire)
    leaving = town.pair("10.99.1.7")
    one = reaper({}, service({"address": "10.99.1.7:%d" % town.port, "state": "leaving", "grace": "10m"}, town.at("10.99.0.8")))
    assert lives(leaving)
    wire.cut(1)
    leaving[0].send(b"into the dark")
    assert end_of(leaving[0], 60)[1] == errno.ECONNABORTED
    assert wait_until(lambda: one.events("ended"), what="the log")[0]["ground"] == "leaving_silent"


def test_silence_and_idleness_beyond_a_limit(wire, reaper):
    town = Town(wire)
    made = time.monotonic()
    silent, busy, idle = town.pair("10.99.1.7"), town.pair("10.99.0.8"), town.pair("10.99.0.9")
    one = reaper({"end": {"unanswered": "2s", "idle": "15s"}, "every": "1s"})
    wire.cut(1)
    cut = time.monotonic()
    silent[0].send(b"into the dark")
    earliest = {silent[0]: cut + 2, idle[0]: made + 15}
    while earliest:
        assert lives(busy)
        for ended in select.select(list(earliest), [], [], 0.2)[0]:
            assert ended.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNABORTED
            assert time.monotonic() >= earliest.pop(ended)
        assert time.monotonic() - cut < 90, earliest
    wait_until(lambda: len(one.events("ended")) == 2, what="the log")
    assert {line["ground"] for line in one.events("ended")} == {"unanswered", "idle"}
    assert lives(busy)


@pytest.mark.prompt
def test_behind_a_service_address_the_entry_of_connection_tracking_goes_too(wire, reaper):
    town = Town(wire)
    wire.ip(wire.near, "route add default via 10.99.0.2")
    if refusal := translate(wire.near, ("192.0.2.10", 443), town.at("10.99.0.7")):
        pytest.skip(refusal)
    translate(wire.near, ("192.0.2.10", 444), town.at("10.99.0.8"))
    pinned, living = wire.client(), wire.client()
    pinned.connect(("192.0.2.10", 443))
    living.connect(("192.0.2.10", 444))
    addresses = ["192.0.2.10:443", "192.0.2.10:444"]
    one = reaper({}, service(town.at("10.99.0.7"), town.at("10.99.0.8"), addresses=addresses))
    entry = ("dst=192.0.2.10", "sport=%d" % pinned.getsockname()[1])
    assert tracked(wire.near, *entry)
    removed = one.know(service(town.at("10.99.0.8"), addresses=addresses))
    at, error = end_of(pinned)
    assert error == errno.ECONNABORTED and at - removed < PROMISE
    said = wait_until(lambda: one.events("ended"), what="the log")
    assert len(said) == 1 and said[0]["conntrack_deleted"] and said[0]["real_peer"] == "10.99.0.7:%d" % town.port
    assert not tracked(wire.near, *entry) and tracked(wire.near, "dport=444")
    assert not select.select([living], [], [], 0)[0]


@pytest.mark.prompt
def test_pods_are_translated_by_their_node(wire, reaper):
    """The reaper runs on the node (the near side), the client in a pod behind it."""
    pod = f"ebb-r-pod-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", pod], check=True)
    wire.open.callback(subprocess.run, ["ip", "netns", "del", pod], check=False)
    wire.ip(wire.near, f"link add pod type veth peer name eth0 netns {pod}", "link set pod up", "addr add 10.98.0.1/24 dev pod",
            "route add default via 10.99.0.2")
    wire.ip(pod, "link set lo up", "link set eth0 up", "addr add 10.98.0.2/24 dev eth0", "route add default via 10.98.0.1")
    wire.ip(wire.far, "route add 10.98.0.0/24 via 10.99.0.1")
    wire.sysctl(wire.near, "ipv4/ip_forward", 1)
    town = Town(wire)
    if refusal := translate(wire.near, ("192.0.2.10", 443), town.at("10.99.0.7"), "PREROUTING"):
        pytest.skip(refusal)
    addresses = ["192.0.2.10:443"]
    one = reaper({"allow": [{"netns": ["ebb-r-pod-*"]}]}, service(town.at("10.99.0.7"), town.at("10.99.0.8"), addresses=addresses), netns=wire.near)
    client = wire.client(pod)
    client.settimeout(60)
    client.connect(("192.0.2.10", 443))
    removed = one.know(service(town.at("10.99.0.8"), addresses=addresses))
    at, error = end_of(client)
    assert error == errno.ECONNABORTED and at - removed < PROMISE
    said = wait_until(lambda: one.events("ended"), what="the log")[0]
    assert said["netns"] == pod and said["conntrack_deleted"] and not tracked(wire.near, "dst=192.0.2.10")


def test_a_file_that_is_wrong_is_refused_whole_and_the_old_one_stays(wire, reaper):
    town = Town(wire)
    pair = town.pair("10.99.0.7")
    one = reaper({}, service(town.at("10.99.0.7"), town.at("10.99.0.8")))
    one._replace(one.truth_file, "services:\n  - {name: shop, endpoint: []}\n")
    said = wait_until(lambda: one.events("endpoints_refused"), what="the refusal")[0]
    assert "endpoints.yaml:2:" in said["reason"] and "did you mean `endpoints`?" in said["reason"]
    assert lives(pair)
    one.set_policy("act: perhaps\n")
    said = wait_until(lambda: one.events("policy_refused"), what="the refusal")[0]
    assert "reap.yaml:1:" in said["reason"]
    one.know(service(town.at("10.99.0.8")))
    assert end_of(pair[0])[1] == errno.ECONNABORTED


def test_a_list_that_is_being_rewritten_is_not_believed(wire, reaper, tmp_path):
    """In place and slowly, while other files in the folder change: half of it lacks endpoints that live."""
    town = Town(wire)
    first, second, stale = (town.pair(host) for host in ("10.99.0.7", "10.99.0.8", "10.99.0.9"))
    one = reaper({}, service(town.at("10.99.0.7"), town.at("10.99.0.8"), town.at("10.99.0.9")))
    assert lives(first) and lives(second) and lives(stale)
    lines = ["services:", "- name: shop", "  endpoints:", *(f"  - address: {host}:{town.port}" for host in ("10.99.0.7", "10.99.0.8"))]
    with open(one.truth_file, "w") as writer:
        for line in lines:
            writer.write(line + "\n")
            writer.flush()
            (tmp_path / "neighbour.txt").write_text("changed")
            time.sleep(0.3)  # long enough for a reaper that looks to see half a list; a slow one passes all the same
        once = subprocess.run([BINARY, "reap", "--policy", one.policy_file, "--once", "--dry-run"], capture_output=True, text=True)
        assert once.returncode == 1 and "open for writing" in once.stderr, once
        assert lives(first) and lives(second) and lives(stale)
        assert not one.events("ended", "endpoints_refused")
    assert end_of(stale[0])[1] == errno.ECONNABORTED
    assert lives(first) and lives(second)


def test_wrong_files_and_words_are_explained(tmp_path):
    def refused(policy, *arguments, status=1):
        (tmp_path / "reap.yaml").write_text(policy)
        done = subprocess.run([BINARY, "reap", "--policy", tmp_path / "reap.yaml", *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done
        return done.stderr

    assert "reap.yaml:1:1: akt: there is no such key; did you mean `act`?" in refused("akt: true")
    assert "allow[0]: there is no condition in it" in refused("allow: [{}]", "--once")
    assert "No such file" in refused("endpoints: nowhere.yaml", "--once")
    assert "is no address" in refused("", "--once", "--gone", "nobody")
    refused("", "--json", status=2)
    helped = subprocess.run([BINARY, "reap", "--help"], capture_output=True, text=True, timeout=60).stdout
    assert "--dry-run" in helped and "act: true" in helped


def test_ends_in_good_order_with_a_busy_list(wire, reaper):
    """Changes that never stop keep it neither from working nor from stopping."""
    town = Town(wire)
    one = reaper({}, service(town.at("10.99.0.7"), town.at("10.99.0.8")))
    until = time.monotonic() + 3
    while time.monotonic() < until:
        one.know(service(town.at("10.99.0.7"), town.at("10.99.0.8")))
        pair = town.pair("10.99.0.7")
        one.know(service(town.at("10.99.0.8")))
        assert end_of(pair[0])[1] == errno.ECONNABORTED
    one.stop()


HOLDER = """
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
listener = socket.create_server(("127.0.3.1", 0), backlog=64)
for _ in range(int(sys.argv[1]) // 2):
    held.append(socket.create_connection(listener.getsockname()))
    held.append(listener.accept()[0])
print("ready", flush=True)
sys.stdin.read()
"""


def cpu_of(process):
    """Seconds of CPU that it has used."""
    fields = open(f"/proc/{process.pid}/stat").read().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spent(process, seconds):
    """Percent of a core that it uses from now on."""
    before, begin = cpu_of(process), time.monotonic()
    time.sleep(seconds)
    return 100 * (cpu_of(process) - before) / (time.monotonic() - begin)


@pytest.mark.prompt
@pytest.mark.slow
def test_ten_thousand_sockets_cost_little(wire, reaper):
    """CPU of the reaper while it looks often, right after a removal, and when nothing is expected."""
    town = Town(wire)
    with subprocess.Popen(["nsenter", f"--net=/run/netns/{wire.near}", "/usr/bin/python3", "-c", HOLDER, "10000"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"ready\n"
        one = reaper({}, service(town.at("10.99.0.7"), town.at("10.99.0.8")))

        quiet = spent(one.process, 15)
        pair = town.pair("10.99.0.7")
        removed = one.know(service(town.at("10.99.0.8")))
        took = end_of(pair[0])[0] - removed
        busy, calm = spent(one.process, 2), spent(one.process, 8)
        print(f"10,000 sockets: {quiet:.1f} % of a core when nothing is expected, {busy:.1f} % in the 2 s after a removal, "
              f"{calm:.1f} % in the 8 s behind them; the stale one ended after {1000 * took:.0f} ms")
        assert took < PROMISE and (quiet < 5 or not HELD)
        holder.stdin.close()
        holder.wait(60)


@contextlib.contextmanager
def pods(count):
    """Namespaces with a listener and a connection in each."""
    names = [f"ebb-pod-{os.getpid()}-{number}" for number in range(count)]

    def each(command):
        subprocess.run(["ip", "-batch", "-"], input="".join(command.format(name) + "\n" for name in names), text=True, check=True)

    with contextlib.ExitStack() as held:
        held.callback(each, "netns del {}")
        each("netns add {}")
        for name in names:
            subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
            with namespaces.inside(name):
                listener = held.enter_context(socket.create_server(("127.0.0.1", 0)))
                held.enter_context(socket.create_connection(listener.getsockname()))
                held.enter_context(listener.accept()[0])
        yield


@pytest.mark.prompt
@pytest.mark.slow
def test_hundreds_of_pods_cost_little_and_a_silent_node_is_found_among_them(tmp_path, wire):
    """CPU of the agent as it comes, nodes watched; looks that take long are made less often."""
    town = Town(wire)
    pairs = [town.pair("10.99.1.2") for _ in range(3)]
    with pods(250), node_agent(tmp_path, {"allow": [{"netns": ["ebb-pod-*", wire.near]}]}) as agent:
        wait_until(lambda: agent.metric("ebbgate_reap_sockets_seen") == 750 + len(pairs), seconds=60, what="a look at all of them")
        looks, before = agent.metric("ebbgate_reap_looks_total"), cpu_of(agent.process)
        share = spent(agent.process, 30)
        looks = agent.metric("ebbgate_reap_looks_total") - looks
        each = (cpu_of(agent.process) - before) / max(1, looks)
        wire.cut(1)
        cut = time.monotonic()
        for one, _ in pairs:
            one.send(b"into the dark")
        agent.event("node_reported", node="10.99.1.2")
        print(f"250 pods: {share:.1f} % of a core; {looks:.0f} looks of {1000 * each:.0f} ms of CPU in 30 s; "
              f"a silent node was reported after {time.monotonic() - cut:.1f} s")
        assert looks >= 1 and (share < 5 or not HELD)
