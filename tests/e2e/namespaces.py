"""Two network namespaces joined by a cable, and sockets inside them; deleted when the test ends."""

import contextlib
import ctypes
import os
import pathlib
import socket
import subprocess

import pytest

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def refusal():
    """Why namespaces are forbidden here, or None. For any other reason the tests try and fail."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"ebb-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        assert "ermi" in made.stderr, made.stderr  # permission denied, not permitted
        return f"no network namespaces here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


@contextlib.contextmanager
def inside(name):
    """This thread in the namespace: a socket that is made there stays there."""
    with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{name}") as target:
        if LIBC.setns(target.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), name)
        try:
            yield
        finally:
            if LIBC.setns(home.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "the way back")


class Cable:
    """`near` and `far`: 10.99.N.1 here, 10.99.N.2 to 10.99.N.250 there, for the networks that were asked for."""

    def __init__(self, label, networks=(0,)):
        self.near, self.far = f"ebb-{label}-near-{os.getpid()}", f"ebb-{label}-far-{os.getpid()}"
        self.open = contextlib.ExitStack()
        for name in (self.near, self.far):
            subprocess.run(["ip", "netns", "add", name], check=True)
            self.open.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
        self.ip(self.near, f"link add eth0 type veth peer name eth0 netns {self.far}")
        for name in (self.near, self.far):
            self.ip(name, "link set lo up", "link set eth0 up")
        for network in networks:
            self.ip(self.near, f"addr add 10.99.{network}.1/24 dev eth0")
            # Every address of the network is the far side's own.
            self.ip(self.far, f"route add local 10.99.{network}.0/24 dev lo", f"route add 10.99.{network}.1/32 dev eth0")

    def ip(self, name, *commands):
        for command in commands:
            subprocess.run(["ip", "-n", name, *command.split()], check=True)

    def sysctl(self, name, key, value):
        with inside(name):
            pathlib.Path("/proc/sys/net", key).write_text(str(value))

    def cut(self, network):
        """From now on nothing comes back to that network, no FIN, no RST, no ICMP: frames go to a card that is not there."""
        self.ip(self.far, f"neigh replace 10.99.{network}.1 lladdr 02:00:00:00:00:99 dev eth0 nud permanent")

    def listen(self, host="0.0.0.0", side=None, backlog=512):
        with inside(side or self.far):
            one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, 0))
        one.listen(backlog)
        self.open.callback(one.close)
        return one

    def client(self, side=None):
        with inside(side or self.near):
            one = socket.socket()
        self.open.callback(one.close)
        return one

    def pair(self, listener, host):
        """A connection: our end and the other one."""
        one = self.client()
        one.settimeout(60)
        one.connect((host, listener.getsockname()[1]))
        other, peer = listener.accept()
        while peer != one.getsockname():  # others come too: a node agent probes here
            other.close()
            other, peer = listener.accept()
        self.open.callback(other.close)
        return one, other

    def close(self):
        self.open.close()


@contextlib.contextmanager
def laid(name, networks=(0,)):
    """A cable for one test, which is skipped where there can be none."""
    if reason := refusal():
        pytest.skip(reason)
    with contextlib.closing(Cable(name, networks)) as cable:
        yield cable
