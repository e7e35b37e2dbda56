"""The node agent: one Node whose pods are processes of this machine, in the order of the kubelet. agent.py SETTINGS (JSON)

It binds pods that no scheduler has bound, runs them (pod.py), answers `kubectl logs`, and keeps a journal: one line of JSON for each
thing that it did to a pod. It ends with the namespaces that it lives in.
"""

import http.client
import http.server
import json
import ssl
import sys
import threading
import time
import urllib.parse

import api
import pod_network
from pod import FINAL, Pod

RETRY_SECONDS = 0.2


class Node:
    def __init__(self, settings):
        self.name, self.address, self.folder = settings["name"], settings["address"], settings["folder"]
        self.images, self.service, self._log_port = settings["images"], settings["service"], settings["log_port"]
        with open(settings["authority"], encoding="utf-8") as authority:
            self.api = api.Api(settings["api"][0], settings["api"][1], settings["token"], authority.read())
        self.addresses = pod_network.Addresses(settings["number"])
        self._pods, self._lock = {}, threading.Lock()
        self._journal = open(settings["journal"], "a", encoding="utf-8", buffering=1)  # noqa: SIM115

    def note(self, pod, event, **facts):
        with self._lock:
            self._journal.write(json.dumps({"at": round(time.time(), 6), "pod": pod, "event": event, **facts}) + "\n")

    def register(self):
        self.api.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": self.name, "labels": {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}}})
        # A new Node is tainted as not ready. The controller that lifts the taint does not run here.
        self.api.request("PATCH", f"/api/v1/nodes/{self.name}", {"spec": {"taints": None}}, api.MERGE)
        room, now = {"cpu": "64", "memory": "64Gi", "pods": "250"}, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # `kubectl logs` dials the host name first if there is one.
        self.api.request("PATCH", f"/api/v1/nodes/{self.name}/status", {"status": {
            "capacity": room, "allocatable": room, "addresses": [{"type": "InternalIP", "address": self.address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._log_port}},
            "conditions": [{"type": "Ready", "status": "True", "reason": "AgentReady", "lastTransitionTime": now}],
        }}, api.MERGE)

    def forget(self, pod):
        with self._lock:
            self._pods.pop(pod.uid, None)

    def find(self, namespace, name):
        with self._lock:
            return next((pod for pod in self._pods.values() if pod.is_called(namespace, name)), None)

    def take(self, kind, what):
        """An event of the pods of this node."""
        if kind == "LIST":
            there = {pod["metadata"]["uid"] for pod in what}
            for pod in [pod for uid, pod in self._pods.copy().items() if uid not in there]:
                pod.vanished()
            for pod in what:
                self.take("ADDED", pod)
            return
        uid = what["metadata"]["uid"]
        known = self._pods.get(uid)
        if kind == "DELETED":
            if known:
                known.vanished()
        elif known:
            known.seen(what)
        elif what["status"].get("phase") not in FINAL or "deletionTimestamp" in what["metadata"]:
            with self._lock:
                self._pods[uid] = Pod(self, what)
            self._pods[uid].seen(what)

    def bind(self, kind, what):
        """An event of the pods that have no node: they get this one."""
        for pod in what if kind == "LIST" else [what] if kind == "ADDED" else []:
            meta = pod["metadata"]
            try:
                self.api.request("POST", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding", {
                    "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "uid": meta["uid"]},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": self.name}})
            except api.ApiError as error:
                if error.status not in (404, 409):
                    raise

    def follow(self, selector, take):
        while True:
            try:
                for kind, what in self.api.follow("/api/v1/pods", fieldSelector=selector):
                    take(kind, what)
            except (OSError, http.client.HTTPException, api.ApiError, ValueError) as error:
                self.note("", "watch ended", reason=repr(error))
                time.sleep(RETRY_SECONDS)


class Logs(http.server.BaseHTTPRequestHandler):
    """Of the kubelet's API what `kubectl logs` needs: /containerLogs/NAMESPACE/POD/CONTAINER."""

    node = None

    def do_GET(self):  # noqa: N802
        words = urllib.parse.urlparse(self.path).path.split("/")
        pod = self.node.find(words[2], words[3]) if len(words) == 5 and words[1] == "containerLogs" else None
        log = pod and pod.folder / f"{words[4]}.log"
        found = bool(log and log.exists())
        self.send_response(200 if found else 404)
        self.end_headers()
        if found:
            self.wfile.write(log.read_bytes())

    def log_message(self, *_):
        pass


def serve_logs(node, port, certificate, key):
    Logs.node = node
    server = http.server.ThreadingHTTPServer((node.address, port), Logs)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main():
    settings = json.loads(sys.argv[1])
    node = Node(settings)
    serve_logs(node, settings["log_port"], settings["certificate"], settings["key"])
    node.register()
    node.note("", "registered")
    threading.Thread(target=node.follow, args=("spec.nodeName=", node.bind), daemon=True).start()
    node.follow(f"spec.nodeName={node.name}", node.take)


if __name__ == "__main__":
    main()
