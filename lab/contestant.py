"""The base of all contestants: a process in the gate's namespace that gets the list of endpoints."""

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
        """`family` is the subject of the scene ("rolling", "deaths"): tuned peers are tuned for it."""
        raise NotImplementedError

    def tell(self, add=(), leave=(), gone=()):
        """Reports endpoints that came, that leave but still serve, and that are gone: all as one event."""
        raise NotImplementedError

    def switch(self, backend, server, on):
        """Takes one endpoint of one backend out of service, or back."""
        raise Skip(f"{self.name} cannot switch single endpoints")

    def disable(self, pod, how):
        """An operator's command for one endpoint: "drain", "maint" or "removal"."""
        raise Skip(f"{self.name} cannot disable single endpoints")

    def drained(self, pod, seconds):
        """Requests a drain and waits for its receipt, as a preStop hook does."""
        raise Skip(f"{self.name} gives no receipts")

    def replays(self):
        """How many requests the contestant has repeated, if it reports that."""
        return ""

    def audited(self):
        """How often its own book and the kernel's have differed since the start, if it compares them; and sentences about that."""
        return "", []

    def resident_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[1])

    def launch(self, *command):
        with open(self.log, "ab") as log:
            # The process ends with the laboratory, however that ends.
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
        """The lines of its log about these requests, for display."""
        return []


def many(pods, count=1000):
    """(name, two endpoints) of each of a thousand backends, which share the pods."""
    return [(f"many{number}", (("one", pods[number % len(pods)]), ("two", pods[(number + 1) % len(pods)]))) for number in range(count)]


def say(path, command):
    """Sends one command to a HAProxy runtime socket; returns the answer."""
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
