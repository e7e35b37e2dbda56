"""Nothing is left of a rig, however it ends."""

import os
import pathlib
import signal
import subprocess

import pytest

from objects import HTTP_READY, pod
from rig import HERE, PYTHON, Rig, wait_until

RIG = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from objects import HTTP_READY, pod
from rig import Rig
rig = Rig()
rig.apply(pod("one", readinessProbe=HTTP_READY))
rig.kubectl("wait", "--for=condition=Ready", "pod/one", "--timeout=120s")
print(rig.namespaces.first, flush=True)
sys.stdin.read()
"""


def inhabitants(kind, namespace):
    """Processes that live in a namespace; dead ones that nobody has reaped live in none."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "ns" / kind) == namespace:
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


def namespaces_of(process):
    """Of a rig: (kind, name) of the namespace of its processes, of its own network and of those of its pods."""
    pids = os.readlink(f"/proc/{process}/ns/pid")
    found = {("pid", pids)}
    for one in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(one / "ns" / "pid") == pids:
                found |= {("net", os.readlink(one / "ns" / "net")), ("mnt", os.readlink(one / "ns" / "mnt"))}
        except OSError:
            continue
    return found


def gone(spaces):
    wait_until(lambda: not any(inhabitants(*space) for space in spaces), "the end of all processes")


def test_an_orderly_end_leaves_nothing(able):
    with Rig() as rig:
        rig.apply(pod("one", readinessProbe=HTTP_READY))
        rig.kubectl("wait", "--for=condition=Ready", "pod/one", "--timeout=120s")
        spaces = namespaces_of(rig.namespaces.first)
        assert len([kind for kind, _ in spaces if kind == "net"]) == 2, "the cluster and the pod"
    gone(spaces)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_killed_rig_leaves_nothing(able, number):
    with subprocess.Popen([PYTHON, "-c", RIG], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        first = int(process.stdout.readline())
        spaces = namespaces_of(first)
        assert len(spaces) > 3 and inhabitants("pid", next(name for kind, name in spaces if kind == "pid"))
        process.send_signal(number)
    gone(spaces)


def test_a_rig_that_fails_to_start_says_why_and_leaves_nothing(able, monkeypatch, tmp_path):
    for program in ("kube-apiserver", "kube-controller-manager", "etcd", "kubectl"):
        (tmp_path / program).write_text("#!/bin/sh\necho this is no $0 >&2\nexit 7\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(RuntimeError, match="etcd ended with status 7:\nthis is no .*/etcd"):
        Rig()
