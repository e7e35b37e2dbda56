"""`ebbgate reap` as a process: its two files, its log, its end."""

import json
import os
import pathlib
import signal
import subprocess
import time

import namespaces
from router import BINARY, REPORT, wait_until


def service(*endpoints, name="shop", **more):
    """Endpoints as (host, port) or as mappings."""
    listed = [each if isinstance(each, dict) else {"address": "%s:%d" % each} for each in endpoints]
    return {"name": name, "endpoints": listed, **more}


class Reaper:
    """Files are JSON, which is YAML; they are replaced whole, as Kubernetes replaces them."""

    def __init__(self, directory, policy, services=(), netns=None, arguments=(), **truth):
        self.directory = pathlib.Path(directory)
        self.policy_file, self.truth_file = self.directory / "reap.yaml", self.directory / "endpoints.yaml"
        self.log_file, self.lines, self.read_to = self.directory / "reap.log", [], 0
        self.set_policy({"endpoints": str(self.truth_file), **policy})
        self.know(*services, **truth)
        command = [str(BINARY), "reap", "--policy", str(self.policy_file), *arguments]
        if netns:
            command = ["nsenter", f"--net=/run/netns/{netns}", *command]
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: self.events("started"), seconds=30, what="the reaper's start")

    def _replace(self, file, content):
        fresh = file.with_suffix(".new")
        fresh.write_text(content if isinstance(content, str) else json.dumps(content))
        os.rename(fresh, file)
        return time.monotonic()

    def set_policy(self, policy):
        return self._replace(self.policy_file, policy)

    def know(self, *services, **more):
        """From now on this is the truth; returns when it was said."""
        return self._replace(self.truth_file, {"services": list(services), **more})

    def log(self):
        with open(self.log_file, "rb") as file:
            file.seek(self.read_to)
            whole, end, _ = file.read().rpartition(b"\n")
        self.read_to += len(whole) + len(end)
        self.lines += map(json.loads, whole.splitlines())
        return self.lines

    def events(self, *names):
        return [line for line in self.log() if line["event"] in names]

    def stop(self):
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        text = self.log_file.read_text()
        assert status == 0 and not REPORT.search(text), text[-4000:]


def translate(netns, service_address, endpoint, chain="OUTPUT"):
    """The rule by which kube-proxy sends a service's address to an endpoint; None, or why there can be none."""
    host, port = service_address
    rule = ["iptables", "-w", "-t", "nat", "-A", chain, "-d", host, "-p", "tcp", "--dport", str(port), "-j", "DNAT", "--to", "%s:%d" % endpoint]
    done = subprocess.run(["nsenter", f"--net=/run/netns/{netns}", *rule], capture_output=True, text=True)
    return None if done.returncode == 0 else f"no address translation here: {done.stderr.strip()}"


def forget_translations(netns):
    subprocess.run(["nsenter", f"--net=/run/netns/{netns}", "iptables", "-w", "-t", "nat", "-F"], check=True)


def tracked(netns, *parts):
    """Lines of the namespace's connection tracking that have all parts."""
    with namespaces.inside(netns):
        lines = pathlib.Path("/proc/thread-self/net/nf_conntrack").read_text().splitlines()
    return [line for line in lines if all(part in line for part in parts)]
