"""What every contestant is: a process in the gate's namespace that is told about endpoints."""

import pathlib
import re
import signal
import socket
import subprocess
import time

from scene import Skip


class Contestant:
    name = ""
    peer = True

    def __init__(self, fabric, directory):
        self.fabric, self.directory = fabric, directory
        self.log = directory / "contestant.log"
        self.process = None

    def start(self, pods, family):
        """`family` is what the scene is about ("rolling", "deaths"): tuned peers are tuned for that."""
        raise NotImplementedError

    def tell(self, add=(), leave=(), gone=()):
        """Endpoints that came, that leave but still serve, and that are no more: all at once, as one event."""
        raise NotImplementedError

    def switch(self, backend, server, on):
        """One endpoint of one backend is to take no new work, or to take it again."""
        raise Skip(f"{self.name} cannot switch single endpoints")

    def disable(self, pod, how):
        """An operator's word about one endpoint: "drain", "maint" or "removal"."""
        raise Skip(f"{self.name} cannot disable single endpoints")

    def drained(self, pod, seconds):
        """Asks for a drain and waits for its receipt: what a preStop hook does."""
        raise Skip(f"{self.name} gives no receipts")

    def replays(self):
        """How many requests it has sent again, if it says so."""
        return ""

    def audited(self):
        """How often its own book and the kernel's have differed since it started, if it compares them; and sentences about that."""
        return "", []

    def resident_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[1])

    def launch(self, *command):
        with open(self.log, "ab") as log:
            # It ends with the laboratory, however that ends.
            self.process = subprocess.Popen(self.fabric.inside("gate", "setpriv", "--pdeathsig", "TERM", *command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def explain(self, identities):
        """What its log says about these requests, for people."""
        return []


def many(pods, count=1000):
    """(name, two endpoints) of each of a thousand backends, which share the pods."""
    return [(f"many{number}", (("one", pods[number % len(pods)]), ("two", pods[(number + 1) % len(pods)]))) for number in range(count)]


def say(path, command):
    """One command to a runtime socket of HAProxy's dialect; its answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(path))
        connection.sendall(command.encode() + b"\n")
        answer = b""
        while data := connection.recv(65536):
            answer += data
    return answer.decode().strip()


def await_socket(path, process, log, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError("it did not start: " + log.read_text(errors="replace")[-2000:])
