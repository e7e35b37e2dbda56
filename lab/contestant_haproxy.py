"""HAProxy, driven by its runtime API. Endpoints are predefined servers, as in OpenShift's router, or added and deleted.

Defaults are those of OpenShift's router. "tuned" is the best known configuration. Against rolling updates: immediate redispatch, retry
of empty responses, and checks every 250 ms. Against deaths: also tcp-ut, and the end of all sessions of a server that is down, which
would break requests in flight in a rolling update."""

import threading
import time

from contestant import Contestant, await_socket, many, say
from fabric import POD_PORT
from ports import GRPC, HTTP2, LIMIT, WEB

FRAME = """
global
  nbthread 2
  maxconn 8000
  stats socket {socket} mode 600 level admin expose-fd listeners
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server {server_timeout}
  timeout tunnel 1h
  timeout http-request 10s
  timeout http-keep-alive {keep_alive}
  {defaults}
frontend web
  bind 127.0.0.1:{web}
  {many_rule}
  default_backend service
frontend http2
  bind 127.0.0.1:{http2} proto h2
  default_backend service
frontend grpc
  bind 127.0.0.1:{grpc} proto h2
  default_backend grpc
backend service
  balance {balance}
  cookie hap insert indirect nocache
  {backend}
{service}
backend grpc
  balance random
{grpc_servers}
{many}
"""
TUNED = ("option redispatch 1", "retries 4", "retry-on conn-failure empty-response response-timeout")


class Haproxy(Contestant):
    name = "haproxy"
    leave_state = "maint"
    tuned = False
    dynamic = False

    def start(self, pods, family):
        self.socket = self.directory / "haproxy.sock"
        self.deleting = []
        deadly = self.tuned and family in ("deaths", "million", "slow")
        self.check = ("check inter 500ms fall 2 rise 2 tcp-ut 2s on-marked-down shutdown-sessions" if deadly
                      else "check inter 250ms fall 1 rise 1" if self.tuned else "check inter 2s fall 3")
        self.check += {"slow-start": " slowstart 5s", "disabled": f" maxconn {LIMIT}"}.get(family, "")
        serving = {pod.slot for pod in pods}
        slots = () if self.dynamic else range(1, self.fabric.slots + 1)
        (self.directory / "haproxy.cfg").write_text(FRAME.format(
            socket=self.socket, web=WEB, http2=HTTP2, grpc=GRPC, server_timeout="10s" if deadly else "30s",
            keep_alive="20s" if family == "prober" else "300s",
            defaults="\n  ".join(TUNED if self.tuned else ("option redispatch", "retries 3")),
            balance="leastconn" if self.tuned else "random",
            backend="\n  ".join(("option httpchk GET /healthz",) * self.tuned + ("http-request disable-l7-retry if METH_POST",) * deadly),
            many_rule="use_backend %[req.hdr(host),field(1,.)] if { req.hdr(host) -m beg many }" if family == "churn" else "",
            many="\n".join(f"backend {backend}\n  balance random\n" + "".join(f"  server {server} {self.target(pod.slot)}\n" for server, pod in two)
                           for backend, two in many(pods)) if family == "churn" else "",
            service="\n".join(f"  server s{slot} {self.target(slot)} cookie s{slot} {self.check} {'' if slot in serving else 'disabled'}"
                              for slot in slots),
            grpc_servers="\n".join(f"  server s{slot} {self.target(slot)} proto h2 check {'' if slot in serving else 'disabled'}" for slot in slots)))
        self.launch("haproxy", "-db", "-f", self.directory / "haproxy.cfg")
        await_socket(self.socket, self.process, self.log)
        if self.dynamic:
            self.tell(add=pods)

    def target(self, slot):
        return f"{self.fabric.address(slot)}:{POD_PORT}"

    def say(self, command):
        return say(self.socket, command)

    def switch(self, backend, server, on):
        self.say(f"set server {backend}/{server} state {'ready' if on else 'drain'}")

    def tell(self, add=(), leave=(), gone=()):
        for pods, state in ((gone, "maint"), (leave, self.leave_state)):
            for pod in pods:
                for backend in ("service", "grpc"):
                    self.say(f"set server {backend}/{self.server(pod)} state {state}")
        for pod in add:
            for backend in ("service", "grpc"):
                if self.dynamic:
                    self.say(f"add server {backend}/{pod.name} {self.target(pod.slot)} "
                             + ("proto h2" if backend == "grpc" else "check inter 2s fall 3"))
                    self.say(f"enable health {backend}/{pod.name}")
                self.say(f"set server {backend}/{self.server(pod)} state ready")
        if self.dynamic and (ended := [pod for pod in gone if pod not in add]):
            self.delete_in_the_background(ended)

    def disable(self, pod, how):
        for backend in ("service", "grpc"):
            self.say(f"set server {backend}/{self.server(pod)} state {'drain' if how == 'drain' else 'maint'}")
        if how == "removal":
            self.delete_in_the_background([pod])

    def server(self, pod):
        return pod.name if self.dynamic else f"s{pod.slot}"

    def delete_in_the_background(self, pods):
        thread = threading.Thread(target=self.delete, args=(pods,), daemon=True)
        self.deleting.append(thread)
        thread.start()

    def delete(self, pods):
        """HAProxy refuses while a connection is attached: retry until it succeeds."""
        for pod in pods:
            for backend in ("service", "grpc"):
                for _ in range(50):
                    if self.process.poll() is not None or "deleted" in self.say(f"del server {backend}/{self.server(pod)}"):
                        break
                    time.sleep(0.2)


class HaproxyDrain(Haproxy):
    name = "haproxy-drain"
    leave_state = "drain"


class HaproxyAddDel(Haproxy):
    name = "haproxy-adddel"
    dynamic = True


class HaproxyTuned(Haproxy):
    name = "haproxy-tuned"
    tuned = True
