"""Ebbgate, driven by the configuration file: every change is the whole file, renamed into place."""

import json
import os
import pathlib
import subprocess
import time

from contestant import Contestant, many, say
from fabric import POD_PORT
from ports import ADMIN, GRPC, HTTP2, LIMIT, WEB
from scene import Skip

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("EBBGATE", ROOT / "build" / "ebbgate"))
# A careful user's settings; everything else is the default.
SERVICE = {"sticky": {"cookie": "ebb"}, "health": {"http": "/healthz"}}
DEFAULTS_ONLY = ("slow", "unchecked", "streams-unchecked")  # families with default settings
FOR_FAMILY = {"slow-start": {"slow_start": "5s"}, "tunnels": {"drain": {"deadline": "5s"}},
              # Each pod gets a third of the few requests, however many streams it has.
              "streams": {"balance": "round_robin"}, "streams-unchecked": {"balance": "round_robin"},
              # The limit is per worker; the scene's clients count on one worker.
              "disabled": {"drain": {"deadline": "8s"}, "endpoint_limits": {"requests": LIMIT}}}
# All clients of the million have one address, as behind a load balancer.
LIMITS = {"million": {"idle_per_client": 0}, "leaky": {"idle_per_client": 64}, "prober": {"idle_per_client": 8}}
EXPLAINED = ("time", "target", "protocol", "status", "cause", "endpoint", "tries", "reused", "total_ms")


class Ebbgate(Contestant):
    name = "ebbgate"
    peer = False

    def start(self, pods, family):
        self.file = self.directory / "ebbgate.yaml"
        self.access_log = self.directory / "access.log"
        self.runtime = self.directory / "runtime.sock"
        self.endpoints = {pod.name: self.endpoint(pod.name, pod) for pod in pods}
        self.many = [(backend, [self.endpoint(name, pod) for name, pod in two]) for backend, two in many(pods)] if family == "churn" else []
        self.limits = LIMITS.get(family, {})
        self.workers = 1 if family == "disabled" else 2
        self.leave_out_the_unknown({"runtime": str(self.runtime), "audit": {"every": "2s"}}, {**({} if family in DEFAULTS_ONLY else SERVICE), **FOR_FAMILY.get(family, {})})
        self.write()
        self.launch(BINARY, "run", "-c", self.file)
        self.await_admin()

    def endpoint(self, name, pod):
        return {"name": name, "address": f"{self.fabric.address(pod.slot)}:{POD_PORT}"}

    def settings(self):
        endpoints = list(self.endpoints.values())
        return {
            "admin": f"127.0.0.1:{ADMIN}", "workers": self.workers, "cause_header": True, "limits": self.limits, **self.top,
            "access_log": {"format": "json", "path": str(self.access_log)},
            "listeners": [{"name": "web", "bind": f"127.0.0.1:{WEB}"}, {"name": "http2", "bind": f"127.0.0.1:{HTTP2}"},
                          {"name": "grpc", "bind": f"127.0.0.1:{GRPC}"}],
            "routes": [{"name": "grpc", "listeners": ["grpc"], "backend": "grpc"}, {"name": "all", "backend": "service"},
                       *({"name": name, "host": f"{name}.example.com", "backend": name} for name, _ in self.many)],
            "backends": [{"name": "service", "endpoints": endpoints, **self.service},
                         {"name": "grpc", "protocol": "h2c", "endpoints": endpoints},
                         *({"name": name, "endpoints": two} for name, two in self.many)],
        }

    def leave_out_the_unknown(self, top, service):
        """Leaves out unknown keys, so that older binaries can be measured too."""
        self.top, self.service = {}, {}
        for place, wanted in ((self.top, top), (self.service, service)):
            for key, value in wanted.items():
                place[key] = value
                self.write()
                if subprocess.run([BINARY, "check", "-c", self.file], capture_output=True).returncode != 0:
                    del place[key]

    def write(self):
        beside = self.file.with_suffix(".new")
        beside.write_text(json.dumps(self.settings(), indent=1))
        beside.rename(self.file)

    def await_admin(self):
        """/readyz, from within the namespace."""
        deadline = time.monotonic() + 20
        while subprocess.run(self.fabric.inside("gate", "curl", "-sf", f"127.0.0.1:{ADMIN}/readyz"), capture_output=True).returncode != 0:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError("ebbgate did not start: " + self.log.read_text(errors="replace")[-2000:])
            time.sleep(0.05)

    def tell(self, add=(), leave=(), gone=()):
        for pod in gone:
            self.endpoints.pop(pod.name, None)
        for pod in add:
            self.endpoints[pod.name] = self.endpoint(pod.name, pod)
        for pod in leave:
            self.endpoints[pod.name]["state"] = "leaving"
        self.write()

    def switch(self, backend, server, on):
        if not self.runtime.exists():
            raise Skip("this ebbgate has no runtime socket")
        say(self.runtime, f"set server {backend}/{server} state {'ready' if on else 'drain'}")

    def disable(self, pod, how):
        if how == "removal":
            self.tell(gone=[pod])
        else:
            say(self.runtime, f"set server service/{pod.name} state {how}")

    def drained(self, pod, seconds):
        address = f"{self.fabric.address(pod.slot)}:{POD_PORT}"
        asked = subprocess.run(self.fabric.inside("gate", BINARY, "drain", "--endpoint", address, "--routers", f"127.0.0.1:{ADMIN}",
                                                  "--timeout", f"{seconds}s"), capture_output=True, text=True)
        if asked.returncode not in (0, 3):
            raise Skip("this ebbgate gives no receipts: " + (asked.stderr.strip().splitlines() or ["without a reason"])[-1])
        return asked.returncode == 0

    def metric(self, series):
        """The sum of all samples whose line begins with this text."""
        text = subprocess.run(self.fabric.inside("gate", "curl", "-sf", f"127.0.0.1:{ADMIN}/metrics"), capture_output=True, text=True).stdout
        return sum(round(float(line.rsplit(" ", 1)[1])) for line in text.splitlines() if line.startswith(series))

    def replays(self):
        return self.metric("ebbgate_retries_total")

    def audited(self):
        if "audit" not in self.top:
            return "", []
        runs = 'ebbgate_audit_runs_total{outcome="complete"}'
        first, deadline = self.metric(runs), time.monotonic() + 15
        while (seen := self.metric(runs)) <= first and time.monotonic() < deadline:  # one more, to see what the scene has left behind
            time.sleep(0.2)
        # The log has all findings since the start, the gauge only the present ones.
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if "event=audit_difference" in line]
        differences = max(len(lines), self.metric("ebbgate_audit_differences"))
        return differences, ["the audit does not run"] * (seen <= first) + [f"the audit found {differences} differences"] * (differences > 0) + lines[:3]

    def explain(self, identities):
        if not self.access_log.exists():
            return []
        wanted = {f"id={identity}" for identity in identities}
        lines = map(json.loads, self.access_log.read_text(errors="replace").splitlines())
        return [" ".join(f"{key}={line[key]}" for key in EXPLAINED) for line in lines if line.get("target", "").rsplit("&", 1)[-1] in wanted]
