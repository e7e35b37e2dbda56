"""A Kubernetes cluster in namespaces of its own: a real control plane, a node agent whose pods are processes, and faults.

    test process (Rig)
      |  lines of JSON                     network of the cluster: 10.244.0.1 (node), 10.96.0.1 (Service, DNAT)
      '-- supervisor ---- etcd, kube-apiserver, kube-controller-manager
                     |--- faulty proxy (once a test asks for it)
                     '--- node agent ---- pods, each in a network namespace on the bridge `pods`: 10.244.1.2, ...

All of it ends with the test process, however that ends (namespaces.py).
"""

import contextlib
import http.client
import json
import os
import subprocess
import time

import binaries
import control_plane
import images
from api import Api, ApiError
from control_plane import INSIDE, NODE_ADDRESS, SERVICE_ADDRESS, SERVICE_PORT, ControlPlane
from faults import Faults
from namespaces import HERE, PATIENCE, PYTHON, Namespaces

NODE, NODE_NUMBER, LOG_PORT = "node-1", 1, 10250
FILES = {"api": [NODE_ADDRESS, control_plane.API_PORT], "authority": f"{INSIDE}/ca.crt", "certificate": f"{INSIDE}/server.crt",
         "key": f"{INSIDE}/server.key"}


def wait_until(condition, what="the condition", patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come in {patience} s")
        time.sleep(0.02)
    return result


class Rig:
    def __init__(self, extra_images=None):
        self.programs = binaries.programs()
        self.namespaces = Namespaces()
        try:
            self.plane = ControlPlane(self.namespaces, self.programs)
            self.admin = self.plane.admin
            self.faults = Faults(self.namespaces, self.plane, self._start_proxy)
            self._images = {**images.IMAGES, **(extra_images or {})}
            self.plane.start()
            self._start_agent()
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.namespaces.end()

    def _start_agent(self):
        settings = {**FILES, "name": NODE, "number": NODE_NUMBER, "address": NODE_ADDRESS, "log_port": LOG_PORT, "folder": INSIDE,
                    "journal": f"{INSIDE}/journal", "images": self._images, "token": self.admin.token,
                    "service": {"KUBERNETES_SERVICE_HOST": SERVICE_ADDRESS, "KUBERNETES_SERVICE_PORT": str(SERVICE_PORT)}}
        self.agent = self.namespaces.start("the node agent", [PYTHON, HERE / "agent.py", json.dumps(settings)], f"{INSIDE}/agent.log")
        self._wait_for(self.agent, lambda: any(note["event"] == "registered" for note in self.journal()))

    def _start_proxy(self):
        settings = {**FILES, "port": control_plane.PROXY_PORT, "control_port": control_plane.PROXY_CONTROL_PORT}
        proxy = self.namespaces.start("the faulty proxy", [PYTHON, HERE / "faulty_proxy.py", json.dumps(settings)], f"{INSIDE}/proxy.log")

        def answers():
            with contextlib.suppress(ConnectionRefusedError):
                self.namespaces.dial(NODE_ADDRESS, control_plane.PROXY_PORT).close()
                return True
        self._wait_for(proxy, answers)

    def _wait_for(self, process, condition):
        wait_until(lambda: condition() or process.ended.is_set(), process.name)
        if process.ended.is_set():
            raise RuntimeError(f"{process.name} ended with status {process.status}:\n" + self.file("agent.log") + self.file("proxy.log"))

    def file(self, name):
        """The text of a file of the cluster: logs, journal, kubeconfigs."""
        with contextlib.suppress(FileNotFoundError):
            return (self.namespaces.files / INSIDE.lstrip("/") / name).read_text(errors="replace")
        return ""

    def journal(self, pod=None):
        """What the node agent did, in order; of one pod (NAMESPACE/NAME) or of all."""
        notes = [json.loads(line) for line in self.file("journal").splitlines(keepends=True) if line.endswith("\n")]
        return [note for note in notes if pod in (None, note["pod"])]

    # Clients.

    def kubectl(self, *words, check=True, text=None, through_service=False, timeout=PATIENCE):
        """What kubectl prints, run inside; `text` is its standard input. Unchecked, the finished process."""
        config = f"{INSIDE}/{'service' if through_service else 'admin'}.kubeconfig"
        environment = {**os.environ, "KUBECONFIG": config, "HOME": INSIDE, "KUBECACHEDIR": f"{INSIDE}/kubectl"}
        done = subprocess.run(self.namespaces.inside(self.programs / "kubectl", *words), input=text or "", text=True, capture_output=True,
                              timeout=timeout, env=environment)
        if not check:
            return done
        if done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def apply(self, *objects, namespace="default"):
        """Server-side apply."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        return self.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", text=text)

    def make_namespace(self, name):
        """Returns when pods can be made in it."""
        self.admin.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

        def complete():
            with contextlib.suppress(ApiError):
                self.admin.get(f"/api/v1/namespaces/{name}/serviceaccounts/default")
                return self.admin.get(f"/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt")
        wait_until(complete, f"the default service account of {name}")

    def through_service(self):
        """A client that sees what pods see: every fault of the Service address."""
        return Api(SERVICE_ADDRESS, SERVICE_PORT, self.admin.token, self.plane.credentials.authority, self.namespaces.dial)

    def http(self, address, port, path="/", method="GET", timeout=PATIENCE):
        """(status, body) of a request from the node, say to a pod."""
        connection = http.client.HTTPConnection(address, port)
        connection.sock = self.namespaces.dial(address, port, timeout)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    # Kinds of other projects.

    def install_gateway_api(self, channel="standard"):
        self._install(binaries.definitions() / f"gateway-{channel}")

    def install_openshift_route(self):
        self._install(binaries.definitions() / "openshift")

    def _install(self, folder):
        self.kubectl("apply", "--server-side", "-f", folder)
        self.kubectl("wait", "--for=condition=Established", f"--timeout={PATIENCE}s", "crd", "--all")

    # What tests look at.

    def pods(self, namespace="default", **labels):
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        return self.admin.get(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)["items"]

    def endpoints(self, service, namespace="default"):
        """Of all EndpointSlices of the Service: {address: (ready, serving, terminating)}."""
        slices = self.admin.get(f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices",
                                labelSelector=f"kubernetes.io/service-name={service}")
        return {address: tuple(endpoint["conditions"].get(name, False) for name in ("ready", "serving", "terminating"))
                for one in slices["items"] for endpoint in one.get("endpoints") or [] for address in endpoint["addresses"]}
