"""The reaper with what it does besides: its metrics and its API; and control groups for the programs that it is to arm."""

import contextlib
import os
import pathlib
import signal
import urllib.request

from reaper import Reaper
from router import wait_until


def cgroup_root():
    """Where control groups of version 2 are mounted, or None."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return pathlib.Path(folder)
    return None


class ControlGroup:
    """A group with one below it, in which programs are started."""

    def __init__(self, label):
        self.name = f"/ebb-{label}-{os.getpid()}"
        self.folder = pathlib.Path(str(cgroup_root()) + self.name)
        self.inner = self.folder / "programs"
        self.inner.mkdir(parents=True)

    def enter(self):
        """For preexec_fn of subprocess."""
        (self.inner / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        wait_until(lambda: not (self.inner / "cgroup.procs").read_text(), seconds=20, what="the end of its programs")
        self.inner.rmdir()
        self.folder.rmdir()


class NodeAgent(Reaper):
    def __init__(self, directory, policy, services=(), **more):
        super().__init__(directory, {"metrics": "127.0.0.1:0", **policy}, services, **more)

    def all(self, name, **fields):
        return [each for each in self.events(name) if fields.items() <= each.items()]

    def event(self, name, **fields):
        """The first of that name and those fields; waits for it."""
        return wait_until(lambda: self.all(name, **fields), seconds=30, what=f"{name} {fields}")[0]

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.event('started')['metrics']}{path}", timeout=60) as answer:
            return answer.read().decode()

    def metric(self, sample):
        """Its value; None: it is not there."""
        for line in self.get("/metrics").splitlines():
            name, _, value = line.rpartition(" ")
            if name == sample:
                return float(value)
        return None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        self.process = None


@contextlib.contextmanager
def node_agent(directory, policy, services=(), **more):
    agent = NodeAgent(directory, policy, services, **more)
    try:
        yield agent
    finally:
        agent.stop()
