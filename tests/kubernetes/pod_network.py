"""The network of one pod: a namespace, a veth to the cluster's bridge, an address."""

import subprocess
import threading

BRIDGE, GATEWAY = "pods", "10.244.0.1"


class Addresses:
    """Of a node: 10.244.NODE.2 and up, the one that has been free longest first, so that an address does not come back at once."""

    def __init__(self, node):
        self._free = [f"10.244.{node}.{number}" for number in range(2, 255)]
        self._lock = threading.Lock()

    def take(self):
        with self._lock:
            return self._free.pop(0)

    def give_back(self, address):
        with self._lock:
            self._free.append(address)


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdin=subprocess.DEVNULL)


class PodNetwork:
    def __init__(self, uid, address):
        self.name, self.address, self._link = f"pod-{uid[:8]}", address, f"p{uid[:8]}"
        ip("netns", "add", self.name)
        ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self._link, "master", BRIDGE, "up")
        lines = ("link set lo up", f"addr add {address}/16 dev eth0", "link set eth0 up", f"route add default via {GATEWAY}")
        subprocess.run(["ip", "-n", self.name, "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)

    @property
    def path(self):
        return f"/run/netns/{self.name}"

    def end(self):
        """Processes that are still in it keep it alive, but not its link: a pod that has ended answers nobody."""
        subprocess.run(["ip", "link", "del", self._link], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "del", self.name], check=False)
