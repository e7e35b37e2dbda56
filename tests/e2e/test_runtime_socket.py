"""The runtime socket, driven by what was written for HAProxy's."""

import csv
import os
import socket
import stat
import subprocess
import threading
import time

import pytest

import awkward
from admin_client import runtime
from http1 import PATIENCE, request, response
from router import BINARY, backend as backend_of, configuration, wait_until


@pytest.fixture
def gate(router, backend, tmp_path):
    """A router with a runtime socket, two endpoints, and `say(line)`."""
    services = [backend(awkward.named(name)) for name in "ab"]
    one = router(configuration(*(service.port for service in services), workers=2, runtime=str(tmp_path / "run" / "gate.sock")))
    one.socket = tmp_path / "run" / "gate.sock"
    one.services = services
    one.say = lambda line, **options: runtime(one.socket, line, **options)
    return one


def bodies(one, count=10):
    return {one.get().body for _ in range(count)}


def server_state(one, name):
    """{field: value} of `show servers state`, as a script reads it."""
    version, header, *lines = one.say("show servers state service").splitlines()
    assert version == "1"
    fields = header.removeprefix("# ").split(" ")
    return next(dict(zip(fields, line.split(" "))) for line in lines if line and line.split(" ")[3] == name)


def nobody_listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_socket_is_private_and_outlives_a_crash(gate):
    assert stat.S_IMODE(os.stat(gate.socket).st_mode) == 0o600
    gate.process.kill()
    gate.process.wait()
    assert gate.socket.exists()
    wait_until(lambda: nobody_listens(gate.port()), what="the end of the ring, which the kernel takes down a moment later")
    gate.start()
    assert gate.say("show version").strip()


def test_servers_change_their_state(gate):
    assert bodies(gate) == {b"a", b"b"}
    assert gate.say("set server service/e0 state drain") == "\n"
    assert bodies(gate) == {b"b"}
    assert server_state(gate, "e0")["srv_admin_state"] == "8"
    assert gate.say("disable server service/e0") == "\n"
    assert server_state(gate, "e0")["srv_op_state"] == "0"
    assert gate.say("enable server service/e0") == "\n"
    assert bodies(gate) == {b"a", b"b"}


def test_servers_are_added_and_deleted(gate, backend):
    third = backend(awkward.named("c"))
    assert gate.say(f"add server service/e2 127.0.0.1:{third.port}") == "New server registered.\n\n"
    assert bodies(gate) == {b"a", b"b"}  # in maintenance until it is made ready
    gate.say("set server service/e2 state ready")
    assert bodies(gate, 12) == {b"a", b"b", b"c"}
    assert gate.say("del server service/e2") == "Only servers in maintenance mode can be deleted.\n"
    assert gate.say("set server service/e2 state maint; wait 5s srv-removable service/e2; del server service/e2") == "\nDone.\n\nServer deleted.\n"
    assert bodies(gate) == {b"a", b"b"}


def test_server_with_work_cannot_be_deleted_until_it_ends(router, backend, tmp_path):
    slow = backend(awkward.answering_late(response(b"slow")))
    socket = tmp_path / "gate.sock"
    one = router(configuration(slow.port, runtime=str(socket)))
    with one.dial() as client:
        client.send(request())
        slow.wait_for_requests(1)
        runtime(socket, "disable server service/e0")
        assert runtime(socket, "del server service/e0") == "Server still has connections attached to it, cannot remove it.\n"
        assert runtime(socket, "wait 100 srv-removable service/e0").startswith("Wait delay expired. ")
        assert f" be=service srv=e0 " in runtime(socket, "show sess")
        threading.Timer(0.2, slow.released.set).start()
        assert runtime(socket, "wait 20s srv-removable service/e0") == "Done.\n\n"
        assert client.read_response().body == b"slow"
        assert runtime(socket, "del server service/e0") == "Server deleted.\n"


def test_sessions_are_shut_down(router, backend, tmp_path):
    slow = backend(awkward.answering_late(response(b"slow")))
    socket = tmp_path / "gate.sock"
    one = router(configuration(slow.port, runtime=str(socket)))
    with one.dial() as first, one.dial() as second:
        first.send(request())
        slow.wait_for_requests(1)
        assert runtime(socket, "shutdown sessions server service/e0") == "\n"
        assert first.read_response().status == 503
        second.send(request())
        slow.wait_for_requests(2)
        session = wait_until(lambda: [line for line in runtime(socket, "show sess").splitlines() if " srv=e0 " in line], what="the session")
        assert runtime(socket, "shutdown session " + session[0].split(":")[0]) == "\n"
        with pytest.raises(Exception):
            second.read_response()


# From HAProxy's management guide: lines that people have in their scripts.
SOCAT_LINES = [
    ('echo "show info;show stat" | socat stdio unix-connect:$SOCKET', "Name: Ebbgate", "# pxname,svname,"),
    ('echo "show stat" | socat unix-connect:$SOCKET stdio | cut -d "," -f 1,2,5-11,18,24,27,30,36,50,37,56,57,62 | column -s, -t', "service", "BACKEND"),
    ('printf "prompt\\nshow backend\\nquit\\n" | socat stdio unix-connect:$SOCKET', "> # name", "service"),
    ('echo "get weight service/e0" | socat stdio unix-connect:$SOCKET', "1 (initial 1)", ""),
    ('echo "set weight service/e0 50%" | socat - $SOCKET', "", ""),
    ('socat -t20 $SOCKET - <<< "disable server service/e1\nwait 2s srv-removable service/e1\ndel server service/e1"', "Server deleted.", "Done."),
    ('echo "show servers state" | socat $SOCKET - > $STATE && head -1 $STATE', "1", ""),
    ('echo "help" | socat - unix-connect:$SOCKET', "The following commands are valid at this level:", "show servers state [<backend>]"),
]


@pytest.mark.parametrize("line, first, second", SOCAT_LINES)
def test_lines_of_socat_work(gate, tmp_path, line, first, second):
    environment = {**os.environ, "SOCKET": str(gate.socket), "STATE": str(tmp_path / "state")}
    line = line.replace("\\n", "\n") if "<<<" in line else line
    ended = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=30)
    assert ended.returncode == 0, ended
    assert first in ended.stdout and second in ended.stdout, ended.stdout


# The rules of Prometheus' haproxy_exporter for a line of `show stat`: where each value stands, what it may be.
EXPORTER_STATUS = {"UP": 1, "UP 1/3": 1, "UP 2/3": 1, "OPEN": 1, "no check": 1, "DRAIN": 1, "DOWN": 0, "DOWN 1/2": 0, "NOLB": 0, "MAINT": 0,
                   "MAINT(via)": 0, "MAINT (resolution)": 0}
EXPORTER_MINIMUM, EXPORTER_PXNAME, EXPORTER_SVNAME, EXPORTER_STATUS_FIELD, EXPORTER_TYPE = 33, 0, 1, 17, 32
EXPORTER_SERVER_FIELDS = {2: "current_queue", 4: "current_sessions", 7: "sessions_total", 8: "bytes_in_total", 9: "bytes_out_total",
                          13: "connection_errors_total", 14: "response_errors_total", 15: "retry_warnings_total", 18: "weight",
                          39: "1xx", 40: "2xx", 41: "3xx", 42: "4xx", 43: "5xx", 44: "other"}


def export(text):
    """{(type, proxy, server): {metric: number}}"""
    samples = {}
    for row in csv.reader(line for line in text.splitlines() if line and not line.startswith("#")):
        assert len(row) >= EXPORTER_MINIMUM
        kind = {"0": "frontend", "1": "backend", "2": "server"}[row[EXPORTER_TYPE]]
        values = {"up": EXPORTER_STATUS[row[EXPORTER_STATUS_FIELD]]}
        for field, metric in EXPORTER_SERVER_FIELDS.items():
            if row[field]:
                values[metric] = int(row[field])
        samples[kind, row[EXPORTER_PXNAME], row[EXPORTER_SVNAME]] = values
    return samples


def test_statistics_are_read_by_the_rules_of_the_exporter(gate):
    for _ in range(20):
        gate.get()
    gate.say("set server service/e1 state maint")
    samples = export(gate.say("show stat"))
    assert set(samples) == {("frontend", "web", "FRONTEND"), ("server", "service", "e0"), ("server", "service", "e1"), ("backend", "service", "BACKEND")}
    assert samples["server", "service", "e0"]["up"] == 1 and samples["server", "service", "e1"]["up"] == 0
    assert samples["backend", "service", "BACKEND"]["2xx"] == 20
    assert samples["frontend", "web", "FRONTEND"]["2xx"] == 20
    assert samples["server", "service", "e0"]["sessions_total"] + samples["server", "service", "e1"]["sessions_total"] == 20
    assert samples["backend", "service", "BACKEND"]["bytes_out_total"] > 0


def test_columns_are_those_of_the_haproxy_that_is_installed(gate, tmp_path):
    """Header lines, compared with the real program's."""
    configuration_file, socket = tmp_path / "haproxy.cfg", tmp_path / "haproxy.sock"
    configuration_file.write_text(f"global\n stats socket {socket} level admin\ndefaults\n mode http\n timeout client 1s\n timeout server 1s\n"
                                  " timeout connect 1s\nbackend service\n server e0 127.0.0.1:9\n")
    process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", configuration_file], stderr=subprocess.DEVNULL)
    try:
        wait_until(socket.exists, what="HAProxy's socket")
        theirs = wait_until(lambda: runtime(socket, "show stat"), what="HAProxy")
        columns = theirs.splitlines()[0].split(",")
        ours = gate.say("show stat").splitlines()[0].rstrip(",").split(",")
        assert ours == columns[:len(ours)]
        assert columns[len(ours)] == "-"  # what modules add follows behind
        assert gate.say("show servers state").splitlines()[:2] == runtime(socket, "show servers state").splitlines()[:2]
        head = runtime(socket, "show servers conn").splitlines()[0]
        assert gate.say("show servers conn").splitlines()[0].split("[")[0] == head.split("[")[0]
        for line in ("set server none/x state ready", "set server service/x state ready", "set server service/e0 state foo", "set server service",
                     "set server service/e0 weight 300", "get weight service/none", "add server service/d", "del server service/e0",
                     "show servers state none", "add server none/x 1.2.3.4:80", "shutdown session 0x1", "show sess 0x1", "show stat none 4 -1",
                     "set server service/e0 addr nope", "disable server", "add server service/e0 1.2.3.4:80",
                     "set maxconn server service/e0 x", "set maxconn server service/e0 5x", "set maxconn server service/none 5",
                     "set maxconn server service/e0", "set maxconn server", "set severity-output",
                     "set severity-output number;set server service/x state ready;show servers state none",
                     "set severity-output string;set weight service/e0 900;add server service/e0 1.2.3.4:80"):
            assert gate.say(line) == runtime(socket, line), line
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def test_ctl_speaks_it(gate):
    def ctl(*arguments, **options):
        return subprocess.run([BINARY, "ctl", "-s", gate.socket, *arguments], capture_output=True, text=True, timeout=30, **options)

    assert ctl("show", "backend").stdout == "# name\nservice\n\n"
    assert ctl("get weight service/e0;get weight service/e1").stdout == "1 (initial 1)\n\n" * 2
    assert ctl(input="show version\nget weight service/e0\n").stdout.endswith("1 (initial 1)\n\n")
    ended = subprocess.run([BINARY, "ctl", "-s", "/not/there.sock", "show", "info"], capture_output=True, text=True, timeout=30)
    assert ended.returncode == 1 and "does a router run" in ended.stderr
    assert subprocess.run([BINARY, "ctl", "show", "backend"], env={**os.environ, "EBBGATE_SOCKET": str(gate.socket)}, timeout=30).returncode == 0


@pytest.mark.parametrize("line, status, said", [
    ("show backend", 0, "# name\nservice\n\n"),
    ("set server service/e0 state drain", 0, "\n"),
    ("set server service/none state drain", 1, "No such server.\n\n"),
    ("set server none/e0 state drain", 1, "No such backend.\n\n"),
    ("set server service/e0 state asleep", 1, "'set server <srv> state' expects"),
    ("show servers state none", 1, "Can't find backend.\n\n"),
    ("frobnicate", 1, "Unknown command"),
    ("add server service/e7 nowhere", 1, "'server e7' : invalid address"),
    ("add server service/e7 127.0.0.1:1 maxconn many", 1, "maxconn of server e7 is no number"),
    ("del server service/e0", 1, "Only servers in maintenance mode can be deleted.\n"),
    ("get weight service/e0; get weight service/none; get weight service/e1", 1, "1 (initial 1)\n\nNo such server.\n\n1 (initial 1)\n\n"),
    ("set severity-output none; get weight service/none", 0, "\nNo such server.\n\n"),
    ("help", 0, "The following commands are valid at this level:\n"),
])
def test_ctl_says_by_its_exit_status_whether_the_router_has_refused(gate, line, status, said):
    ended = subprocess.run([BINARY, "ctl", "-s", gate.socket, line], capture_output=True, text=True, timeout=30)
    assert ended.stdout.startswith(said) and ended.returncode == status, ended
    # Lines of standard input: a refusal keeps none of the next from being sent.
    ended = subprocess.run([BINARY, "ctl", "-s", gate.socket], input=f"{line}\nshow backend\n", capture_output=True, text=True, timeout=30)
    assert ended.stdout.endswith("# name\nservice\n\n"), ended
    helped = subprocess.run([BINARY, "ctl", "--help"], capture_output=True, text=True, timeout=30).stdout
    assert "1 it cannot be reached, or has refused" in helped


@pytest.mark.parametrize("line", [
    r"show\ stat", r"show\ info", r"show\ sess", r"show\ servers state", r"show servers\ state", r"show\ servers\ state service", r"get\ weight service/e0",
    r"set\ weight service/e0 5", r"set\ server service/e0 state maint", r"enable\ server", r"del\ server service/e0", r"add\ server service/e9 127.0.0.1:9",
    r"shutdown\ sessions\ server", r"set\ maxconn\ server service/e0 1", r"wait\ 5", r"help\ show", r"set\ severity-output number",
])
def test_escaped_blank_is_part_of_a_word(gate, line):
    """No command has a name with a blank in one of its words: the router refuses the line and goes on."""
    ended = subprocess.run([BINARY, "ctl", "-s", gate.socket, line], capture_output=True, text=True, timeout=30)
    assert ended.stdout.startswith("Unknown command") and ended.returncode == 1, ended
    assert gate.say("get weight service/e0") == "1 (initial 1)\n\n"
    assert gate.process.poll() is None


class Closing:
    """A runtime socket that says `reply` to one line and closes, as that of a router that ends meanwhile."""

    def __init__(self, path, reply):
        self.path, self.reply = path, reply
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with self.listener, self.listener.accept()[0] as connection:
            while connection.recv(65536):
                pass
            connection.sendall(self.reply)


@pytest.mark.parametrize("line, reply, status", [
    ("show stat", b"", 1),
    ("show stat", b"\n", 1),
    ("show stat", b"\n# pxname,svn", 1),
    ("show backend; show stat", b"\n\n", 1),
    ("set server service/e0 state drain", b"\n\n", 0),
    ("show backend", b"\n# name\nservice\n\n", 0),
    ("quit", b"\n", 0),
    ("show backend; quit; show stat", b"\n# name\n\n", 0),
    ("prompt", b"\n\n> ", 0),
])
def test_ctl_fails_when_the_connection_ends_before_the_last_reply(tmp_path, line, reply, status):
    closing = Closing(tmp_path / "gate.sock", reply)
    ended = subprocess.run([BINARY, "ctl", "-s", closing.path, line], capture_output=True, text=True, timeout=30)
    assert ended.returncode == status, ended
    assert ("before it had replied" in ended.stderr) == (status != 0), ended


class Counting:
    """A service that keeps each request for a moment, and remembers how many it had at the same time."""

    def __init__(self):
        self.lock, self.busy, self.most, self.served = threading.Lock(), 0, 0, 0

    def answer(self, _):
        with self.lock:
            self.busy += 1
            self.most = max(self.most, self.busy)
        time.sleep(0.02)
        with self.lock:
            self.busy -= 1
            self.served += 1
        return response(b"done")


def ask_all(one, count):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(one.get())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def stat_of(one, server):
    rows = csv.DictReader(one.say("show stat").removeprefix("# ").splitlines())
    return next(row for row in rows if row["svname"] == server)


@pytest.mark.parametrize("limit", [1, 3])
def test_maxconn_is_a_limit_of_all_workers_together(router, backend, tmp_path, limit):
    """What finds the server full waits in the queue, on whichever worker it is, and is served."""
    counting = Counting()
    service = backend(awkward.answering(counting.answer))
    one = router(configuration(backends=[{"name": "service", "endpoints": [], "queue": {"limit": 1000, "timeout": "60s"}}], workers=4,
                               runtime=str(tmp_path / "gate.sock")))
    one.say = lambda line: runtime(tmp_path / "gate.sock", line)
    assert one.say(f"add server service/a 127.0.0.1:{service.port} maxconn {limit}") == "New server registered.\n\n"
    assert one.say("set server service/a state ready") == "\n"
    assert stat_of(one, "a")["slim"] == str(limit)
    assert [answer.body for answer in ask_all(one, 40)] == [b"done"] * 40
    assert counting.most <= limit and counting.served == 40


def test_maxconn_is_changed_while_requests_wait(router, backend, tmp_path):
    slow = backend(awkward.answering_late(response(b"slow")))
    one = router(configuration(slow.port, workers=2, runtime=str(tmp_path / "gate.sock")))
    one.say = lambda line: runtime(tmp_path / "gate.sock", line)
    with one.dial() as first, one.dial() as second, one.dial() as third:
        first.send(request())
        slow.wait_for_requests(1)
        # What is under way counts.
        assert one.say("set maxconn server service/e0 1") == "\n"
        assert stat_of(one, "e0")["slim"] == "1"  # all workers were asked, behind the change that they were told of
        for client in (second, third):
            client.send(request())
        wait_until(lambda: int(stat_of(one, "BACKEND")["qcur"]) == 2, what="two that wait")
        assert one.say("set maxconn server service/e0 2") == "\n"
        slow.wait_for_requests(2)
        assert int(stat_of(one, "e0")["slim"]) == 2 and int(stat_of(one, "BACKEND")["qcur"]) == 1
        assert one.say("set maxconn server service/e0 0") == "\n"
        slow.wait_for_requests(3)
        assert stat_of(one, "e0")["slim"] == ""
        slow.released.set()
        assert [client.read_response().body for client in (first, second, third)] == [b"slow"] * 3


@pytest.mark.parametrize("words, expected", [
    (["ctl", ""], {"show", "set", "wait"}),
    (["ctl", "show", "s"], {"stat", "servers", "sess"}),
    (["ctl", "set", "server", "service/"], {"service/e0", "service/e1"}),
    (["ctl", "set", "server", "service/e0", "state", ""], {"ready", "drain", "maint"}),
    (["ctl", "show", "servers", "state", ""], {"service"}),
    (["dr"], {"drain"}),
])
def test_bash_completes_commands_and_names(gate, words, expected):
    script = f"""
source <({BINARY} ctl --completion bash)
COMP_WORDS=({BINARY} "$@") COMP_CWORD=$#
_ebbgate
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    ended = subprocess.run(["bash", "-c", script, "bash", *words], env={**os.environ, "EBBGATE_SOCKET": str(gate.socket)}, capture_output=True, text=True, timeout=60)
    assert expected <= set(ended.stdout.split()), ended
