"""What every contestant is: a process in the gate's namespace that is told about endpoints."""

import signal
import socket
import subprocess
import time


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

    def launch(self, *command):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.fabric.inside("gate", *command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
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


def await_socket(path, process, log, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError("it did not start: " + log.read_text(errors="replace")[-2000:])
