"""A stage for one scene and one contestant: pods, the contestant and the load, all in the same fabric, all stopped at the end."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

from pods import Pods

LOAD = pathlib.Path(__file__).resolve().parent / "load.py"
# About 300 requests a second, and tunnels, calls and downloads that always run.
MIXED = {"get": 100, "fresh": 40, "post": 60, "slow": 2, "h2": 30, "sticky": 12, "ws": 8, "grpc": 2, "download": 1}
FAULTY = {"get": 180, "fresh": 40, "post": 80, "long": 1, "stream": 6}

CLIENT_SECONDS = 20  # a client's patience
ENDLESS = ("stream", "quiet", "hush")  # may be open when the load ends


class Stage:
    def __init__(self, fabric, contestant_class, directory, short=False):
        self.fabric, self.short = fabric, short
        self.directory = pathlib.Path(directory)
        self.contestant = contestant_class(fabric, self.directory)
        self.pods = Pods(fabric, self.directory)
        self.load = None
        self.records = []
        self.unserved = []  # [begin, end] of the times without a serving endpoint

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.load and self.load.poll() is None:
            self.load.kill()
            self.load.wait()
        with contextlib.ExitStack() as stack:
            stack.callback(self.pods.__exit__)
            stack.callback(self.contestant.stop)

    def open(self, count, classes, family, settle=1.5, pod_options=None, first=None, **load):
        """Starts pods, contestant and load, in this order; returns once all are warm. The first pod may have its own options; `load` is
        added to the load's specification."""
        pods = [*self.pods.start(1, **(first or pod_options or {})), *self.pods.start(count - 1, **(pod_options or {}))]
        self.contestant.start(pods, family)
        specification = {"classes": classes, "records": str(self.directory / "records.json"), "timeout": CLIENT_SECONDS,
                         "tunnel_seconds": 3 if self.short else 8, **load}
        self.load = subprocess.Popen(self.fabric.bound("gate", sys.executable, LOAD, json.dumps(specification)), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=open(self.directory / "load.stderr", "wb"), start_new_session=True)
        if self.load.stdout.readline() != b"started\n":
            raise RuntimeError("the load did not start: " + (self.directory / "load.stderr").read_text(errors="replace"))
        time.sleep(settle)
        return pods

    def close(self):
        """Ends the load; all records."""
        self.load.stdin.write(b"stop\n")
        self.load.stdin.close()
        if self.load.wait(120) != 0:
            raise RuntimeError("the load failed: " + (self.directory / "load.stderr").read_text(errors="replace"))
        self.load.stdout.close()
        self.records = [Record(*one) for one in json.loads((self.directory / "records.json").read_text())]
        return self.records

    @contextlib.contextmanager
    def busy(self):
        """While this holds, every core has other work, at normal priority."""
        burners = [subprocess.Popen(self.fabric.bound("gate", "sh", "-c", "while :; do :; done"), stdin=subprocess.DEVNULL)
                   for _ in range(os.cpu_count() or 1)]
        try:
            yield
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()

    @contextlib.contextmanager
    def nothing_serves(self):
        """While this holds, requests can only wait."""
        self.unserved.append([time.monotonic(), float("inf")])
        yield
        self.unserved[-1][1] = time.monotonic()


class Record:
    def __init__(self, kind, identity, start, end, outcome, pod, note):
        self.client = kind
        self.kind = kind.rstrip("0123456789") if kind.startswith("sticky") else kind
        self.identity, self.start, self.end, self.outcome, self.pod, self.note = identity, start, end, outcome, pod, note

    @property
    def seconds(self):
        return self.end - self.start

    @property
    def failed(self):
        """Only streams may still be open at the end."""
        return self.outcome != "ok" and not (self.kind in ENDLESS and self.outcome == "open")
