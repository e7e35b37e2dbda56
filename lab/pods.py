"""Pods as the laboratory sees them: processes with an address, a journal and a biography."""

import collections
import contextlib
import pathlib
import selectors
import signal
import subprocess
import sys
import time

from fabric import POD_PORT

POD = pathlib.Path(__file__).resolve().parent / "pod.py"
READY_SECONDS = 20


class Pod:
    def __init__(self, name, slot, process, journal):
        self.name, self.slot, self.process, self.journal = name, slot, process, journal
        self.leaving_since = None  # the first of: SIGTERM, a fault, or notice to the router

    def leaves(self):
        self.leaving_since = self.leaving_since or time.monotonic()

    def alive(self):
        return self.process.poll() is None

    def signal(self, number):
        if number not in (signal.SIGCONT,):
            self.leaves()
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def suffer(self, fault):
        if fault != "none":
            self.leaves()
        self.process.stdin.write(fault.encode() + b"\n")
        self.process.stdin.flush()

    def wait_until_gone(self, seconds=30):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)


class Pods:
    """Slots are used in turn, except those whose process still runs. The end stops all processes."""

    def __init__(self, fabric, directory):
        self.fabric, self.directory = fabric, pathlib.Path(directory)
        self.all = []
        self.turn = collections.deque(range(1, fabric.slots + 1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pod in self.all:
            if pod.alive():
                pod.process.kill()
        for pod in self.all:
            pod.process.wait()
            pod.process.stdin.close()
            pod.process.stdout.close()

    def free_slot(self):
        for _ in range(len(self.turn)):
            slot = self.turn[0]
            self.turn.rotate(-1)
            if not any(pod.slot == slot and pod.alive() for pod in self.all):
                return slot
        raise RuntimeError("no pod slot is free")

    def spawn(self, slot=None, **options):
        """Starts one pod without waiting."""
        slot = slot or self.free_slot()
        name = f"pod{len(self.all)}"
        journal = self.directory / f"{name}.journal"
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        with open(self.directory / f"{name}.stderr", "wb") as errors:
            process = subprocess.Popen(
                self.fabric.bound(f"pod{slot}", sys.executable, POD, name, self.fabric.address(slot), POD_PORT, journal, *words),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        pod = Pod(name, slot, process, journal)
        self.all.append(pod)
        return pod

    def await_ready(self, pod):
        with selectors.DefaultSelector() as selector:
            selector.register(pod.process.stdout, selectors.EVENT_READ)
            if not selector.select(READY_SECONDS) or pod.process.stdout.readline() != b"ready\n":
                raise RuntimeError(f"{pod.name} is not ready: " + (self.directory / f"{pod.name}.stderr").read_text(errors="replace"))
        return pod

    def start(self, count=1, **options):
        fresh = [self.spawn(**options) for _ in range(count)]
        return [self.await_ready(pod) for pod in fresh]

    def noted(self, word):
        """How often pods have recorded this word for each request."""
        counted = collections.Counter()
        for pod in self.all:
            for line in pod.journal.read_text().splitlines() if pod.journal.exists() else ():
                what, identity = line.split(" ", 1)
                counted[identity] += what == word
        return +counted

    def journals(self):
        """(how often each POST ran, the requests that were swallowed)"""
        return self.noted("ran"), set(self.noted("swallowed"))
