"""The network of the laboratory: a namespace for the router and the load, one for each pod, and the fabric between them.

    gate (10.77.255.1) --veth-- fabric (routes, drops) --veth-- pod slot 1 (10.77.0.1), slot 2 (10.77.0.2), ...

A pod's death is made in the fabric, where neither end can see it coming. Names carry the process id, so that runs do not
meet; what an earlier run left behind when it was killed is removed by the next one.
"""

import os
import pathlib
import re
import shutil
import subprocess

GATEWAY = "169.254.1.1"
GATE_ADDRESS = "10.77.255.1"
POD_PORT = 8000
NAMESPACES = pathlib.Path("/run/netns")


def refusal():
    """Why the laboratory cannot run here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "iptables", "nsenter"):
        assert shutil.which(tool) is not None, f"{tool} is not installed (tools/deps lab)"
    name = f"ebb{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        return "network namespaces are refused here: " + (made.stderr.strip().splitlines() or ["without a reason"])[-1]
    in_it = ["nsenter", f"--net={NAMESPACES / name}", "iptables", "-w", "-A", "FORWARD", "-s", "10.77.0.1", "-j", "DROP"]
    ruled = subprocess.run(in_it, capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None if ruled.returncode == 0 else "packet filters are refused here: " + ruled.stderr.strip().splitlines()[-1]


def remove_leftovers():
    for path in NAMESPACES.glob("ebb*-*") if NAMESPACES.exists() else ():
        owner = re.fullmatch(r"ebb(\d+)-\w+", path.name)
        if owner and not pathlib.Path(f"/proc/{owner[1]}").exists():
            subprocess.run(["ip", "netns", "del", path.name], check=False)


class Fabric:
    def __init__(self, slots):
        self.slots = slots
        self.prefix = f"ebb{os.getpid()}"

    def namespace(self, role):
        return f"{self.prefix}-{role}"

    def inside(self, role, *command):
        """The command line that runs `command` in a namespace; the process id stays the same."""
        return ["nsenter", f"--net={NAMESPACES / self.namespace(role)}", *map(str, command)]

    def bound(self, role, *command):
        """The same, and the process ends when this one does, however it ends."""
        return self.inside(role, "setpriv", "--pdeathsig", "KILL", *command)

    def address(self, slot):
        return f"10.77.0.{slot}"

    def __enter__(self):
        remove_leftovers()
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for path in NAMESPACES.glob(f"{self.prefix}-*"):
            subprocess.run(["ip", "netns", "del", path.name], check=False)

    def _build(self):
        roles = {"gate": GATE_ADDRESS, **{f"pod{slot}": self.address(slot) for slot in range(1, self.slots + 1)}}
        for role in ("fabric", *roles):
            subprocess.run(["ip", "netns", "add", self.namespace(role)], check=True)
        lines = ["link set lo up"]
        for role, address in roles.items():
            lines += [f"link add {role} type veth peer name eth0 netns {self.namespace(role)}", f"addr add {GATEWAY}/32 dev {role}",
                      f"link set {role} up", f"route add {address}/32 dev {role}"]
        self._ip("fabric", *lines)
        for role, address in roles.items():
            self._ip(role, "link set lo up", f"addr add {address}/32 dev eth0", "link set eth0 up",
                     f"route add {GATEWAY} dev eth0", f"route add default via {GATEWAY} src {address}")
        # Without the limit every packet to a lost link is answered, as by an unloaded router.
        self._run("fabric", "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/ipv4/icmp_ratelimit")

    def _run(self, role, *command):
        subprocess.run(self.inside(role, *command), check=True, stdin=subprocess.DEVNULL)

    def _ip(self, role, *lines):
        subprocess.run(["ip", "-n", self.namespace(role), "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)

    def _filter(self, verb, *rule):
        self._run("fabric", "iptables", "-w", verb, "FORWARD", *rule, "-j", "DROP")

    # Faults; each has its cure.

    def cut(self, slot):
        """The node is dead: packets vanish both ways, without an error."""
        self._filter("-A", "-s", self.address(slot))
        self._filter("-A", "-d", self.address(slot))

    def mend(self, slot):
        self._filter("-D", "-s", self.address(slot))
        self._filter("-D", "-d", self.address(slot))

    def unplug(self, slot):
        """The link is down, and the fabric reports it: ICMP unreachable."""
        self._ip("fabric", f"link set pod{slot} down")

    def plug(self, slot):
        self._ip("fabric", f"link set pod{slot} up", f"route replace {self.address(slot)}/32 dev pod{slot}")

    def lose_fins(self, slot):
        self._filter("-A", "-s", self.address(slot), "-p", "tcp", "--tcp-flags", "FIN", "FIN")

    def deliver_fins(self, slot):
        self._filter("-D", "-s", self.address(slot), "-p", "tcp", "--tcp-flags", "FIN", "FIN")
