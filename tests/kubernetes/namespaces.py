"""Namespaces of their own for a cluster: network, processes and mounts, gone without a trace when the process that made them ends.

/run is a fresh memory file system in there: the files of the cluster and the names of its network namespaces live in it. A
supervisor (supervisor.py) is the first process. Nothing has a name outside, so runs do not meet.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
CLONE_NEWNET = 0x40000000
PATIENCE = 120  # seconds; a bound for what hangs, never a time that is promised
PREPARE = "mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p /run/netns /run/rig && ip link set lo up && exec \"$@\""


def refusal():
    """Why there can be no such namespaces here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "iptables", "nsenter", "unshare", "mount"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (tools/deps test)"
    checks = " && ".join((PREPARE.replace('exec "$@"', "true"), "mkdir /run/o /run/w",
                          "mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/o,workdir=/run/w /etc",
                          "iptables -w -t mangle -A OUTPUT -m conntrack --ctorigdst 10.96.0.1 -j DROP",
                          "iptables -w -t nat -A OUTPUT -d 10.96.0.1 -p tcp --dport 443 -j DNAT --to-destination 10.244.0.1:6443"))
    tried = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", checks],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if tried.returncode == 0:
        return None
    return "namespaces, overlays or packet filters are refused here: " + (tried.stderr.strip().splitlines() or ["without a reason"])[-1]


class Process:
    def __init__(self, name, pid):
        self.name, self.pid = name, pid
        self.status = None  # once it has ended
        self.ended = threading.Event()


class Namespaces:
    def __init__(self):
        self._asking = threading.Lock()
        self._answer, self._answered = None, threading.Semaphore(0)
        self._processes, self._orphans = {}, {}
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc",
                   "sh", "-c", PREPARE, "sh", PYTHON, HERE / "supervisor.py"]
        self._unshare = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._wait_for_answer()
        children = pathlib.Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children").read_text().split()
        self.first = int(children[0])  # as seen from outside
        self.files = pathlib.Path(f"/proc/{self.first}/root")  # the files of the inside, as seen from outside
        self._network = os.open(f"/proc/{self.first}/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def _read(self):
        for line in self._unshare.stdout:
            facts = json.loads(line)
            if "ended" not in facts:
                self._answer = facts
                self._answered.release()
                continue
            process = self._processes.get(facts["ended"])
            if process is None:
                self._orphans[facts["ended"]] = facts["status"]
            else:
                process.status = facts["status"]
                process.ended.set()
        self._answer = None
        self._answered.release()

    def _wait_for_answer(self):
        if not self._answered.acquire(timeout=PATIENCE) or self._answer is None:
            raise RuntimeError("the supervisor of the namespaces has ended or hangs")
        return self._answer

    def _ask(self, **order):
        self._unshare.stdin.write((json.dumps(order) + "\n").encode())
        self._unshare.stdin.flush()
        return self._wait_for_answer()

    def start(self, name, command, log, environment=None):
        with self._asking:
            self._orphans.clear()
            answer = self._ask(start=[str(word) for word in command], log=str(log), environment=environment or dict(os.environ))
            if answer["started"] is None:
                raise RuntimeError(f"{name} did not start: {answer['reason']}")
            process = self._processes[answer["started"]] = Process(name, answer["started"])
            if process.pid in self._orphans:  # it ended before it was entered above
                process.status = self._orphans[process.pid]
                process.ended.set()
        return process

    def signal(self, process, number):
        with self._asking:
            self._ask(signal=int(number), pid=process.pid)

    def kill(self, process):
        self.signal(process, signal.SIGKILL)
        if not process.ended.wait(PATIENCE):
            raise RuntimeError(f"{process.name} did not end")

    def inside(self, *command):
        """The command line that runs `command` in here; what it starts ends with the namespaces."""
        return ["nsenter", f"--target={self.first}", "--net", "--mount", "--pid", *map(str, command)]

    def run(self, *command, **options):
        return subprocess.run(self.inside(*command), **{"check": True, "stdin": subprocess.DEVNULL, **options})

    @contextlib.contextmanager
    def network(self):
        """This thread is in the network of the inside; a socket that it makes stays there."""
        libc = ctypes.CDLL(None, use_errno=True)
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if libc.setns(self._network, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield
            finally:
                if libc.setns(home, CLONE_NEWNET) != 0:
                    os.abort()  # the thread would go on in the wrong network
        finally:
            os.close(home)

    def dial(self, address, port, timeout=PATIENCE):
        with self.network():
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        try:
            connection.connect((address, port))
        except BaseException:
            connection.close()
            raise
        return connection

    def end(self):
        """Every process in here is killed; the kernel then takes the networks and the files away."""
        if self._unshare.returncode is not None:
            return
        with contextlib.suppress(BrokenPipeError):
            self._unshare.stdin.close()
        try:
            self._unshare.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._unshare.kill()
            self._unshare.wait()
        self._reader.join()
        self._unshare.stdout.close()
        os.close(self._network)
