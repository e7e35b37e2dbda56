"""One pod of the node, from its binding to its removal.

    waiting for volumes -> init containers -> running -> terminating -> gone
                                                |                        ^
                                                '------- ended ----------'

A thread of its own walks through that. Each change of its status is written by another thread (Status), so that an API server that
hangs holds up nothing here: the kubelet ends a pod in time whether or not the API server answers.
"""

import http.client
import pathlib
import re
import shutil
import threading
import time

import api
import images
from container import Container
from pod_network import PodNetwork
from probe import Probe
from volumes import NotYet, Volumes

RETRY_SECONDS = 0.2
LONGEST_BACK_OFF = 5  # seconds before a container is started again; the kubelet goes up to 300
FINAL = ("Succeeded", "Failed")


def stamp(moment):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


class Status:
    """Writes the newest status until the API server has taken it."""

    def __init__(self, client, path, uid, build):
        self._api, self._path, self._uid, self._build = client, path, uid, build
        self._changed, self._closing, self._sent = threading.Event(), False, {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def changed(self):
        self._changed.set()

    def close(self):
        """Returns when the last status is written, or the pod is not there any more."""
        self._closing = True
        self._changed.set()
        self._thread.join()

    def _run(self):
        while True:
            self._changed.wait()
            self._changed.clear()
            closing = self._closing
            status = self._build()
            if status != self._sent and not persistent(self._write, status):
                return
            self._sent = status
            if closing:
                return

    def _write(self, status):
        self._api.request("PATCH", f"{self._path}/status", {"metadata": {"uid": self._uid}, "status": status}, api.STRATEGIC)


def persistent(action, *arguments):
    """Does it until the API server has done it; false if the pod is not there any more (404) or is another one (409)."""
    while True:
        try:
            action(*arguments)
            return True
        except api.ApiError as error:
            if error.status in (404, 409):
                return False
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(RETRY_SECONDS)


class Pod:
    def __init__(self, node, pod):
        self._node, self._api, self._object = node, node.api, pod
        meta = pod["metadata"]
        self.uid, self._name = meta["uid"], f"{meta['namespace']}/{meta['name']}"
        self._path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        self.folder = pathlib.Path(node.folder) / "pods" / self.uid
        self.folder.mkdir(parents=True)
        self._stopping = threading.Event()
        self._kill_at = None
        self._phase, self._waiting = "Pending", ("ContainerCreating", "")
        self._network = None
        self._containers, self._init, self._probes = [], [], []
        self._transitions, self._born = {}, time.time()
        self._status = Status(self._api, self._path, self.uid, self._build_status)
        threading.Thread(target=self._run, daemon=True).start()

    def is_called(self, namespace, name):
        return self._name == f"{namespace}/{name}"

    def seen(self, pod):
        """The API server shows the pod: it may have been deleted, or given less time."""
        if "deletionTimestamp" not in pod["metadata"]:
            return
        grace = pod["metadata"].get("deletionGracePeriodSeconds", 0)
        kill_at = time.monotonic() + grace
        if self._kill_at is None:
            self._kill_at = kill_at
            self._note("deletion seen", grace=grace)
            self._stopping.set()
        elif kill_at < self._kill_at:
            self._kill_at = kill_at

    def vanished(self):
        """The API server has it no more: it was deleted by force, or while we did not look."""
        self._kill_at = time.monotonic()
        if not self._stopping.is_set():
            self._note("vanished")
            self._stopping.set()

    def _note(self, event, **facts):
        self._node.note(self._name, event, **facts)
        self._status.changed()

    def _run(self):
        try:
            self._network = PodNetwork(self.uid, self._node.addresses.take())
            if self._prepare() and self._run_init():
                self._phase = "Running"
                for container in self._containers:
                    container.start()
                    self._probe(container)
                self._status.changed()
                self._supervise()
        except Exception as error:  # pylint: disable=broad-except
            self._waiting = ("CreateContainerError", str(error))
            self._note("failed", reason=repr(error))
        self._stopping.wait()
        self._terminate()

    def _prepare(self):
        """Volumes and environments; false if the pod is deleted before all sources are there."""
        spec = self._object["spec"]
        while not self._stopping.is_set():
            try:
                volumes = Volumes(self._api, self._object, self._field)
                paths = dict(volumes.make(self.folder / "volumes"))
                self._init = [self._container(one, paths, volumes) for one in spec.get("initContainers", [])]
                self._containers = [self._container(one, paths, volumes) for one in spec["containers"]]
                return True
            except (NotYet, api.ApiError, OSError, http.client.HTTPException) as error:
                if self._waiting[1] != str(error):
                    self._waiting = ("ContainerCreating", str(error))
                    self._note("waits", reason=str(error))
                self._stopping.wait(RETRY_SECONDS)
        return False

    def _container(self, spec, paths, volumes):
        command = images.command_of(spec, self._node.images)
        if not command:
            raise ValueError(f"the rig has no image {spec['image']} with a command")
        environment = self._environment(spec, volumes)
        command = [re.sub(r"\$\((\w+)\)", lambda found: environment.get(found[1], found[0]), word) for word in command]
        mounts = [(paths[mount["name"]] / mount.get("subPath", ""), mount["mountPath"].rstrip("/"), mount.get("readOnly", False))
                  for mount in spec.get("volumeMounts", [])]
        container = Container(spec, command, environment, mounts, self.folder / spec["name"], self._network, self._note)
        container.address = self._network.address
        return container

    def _field(self, path):
        meta = self._object["metadata"]
        if found := re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", path):
            return meta.get(found[1], {}).get(found[2], "")
        return {"metadata.name": meta["name"], "metadata.namespace": meta["namespace"], "metadata.uid": meta["uid"],
                "spec.nodeName": self._node.name, "spec.serviceAccountName": self._object["spec"].get("serviceAccountName", ""),
                "status.podIP": self._network.address, "status.podIPs": self._network.address, "status.hostIP": self._node.address}[path]

    def _environment(self, spec, volumes):
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                       "HOSTNAME": self._object["metadata"]["name"], **self._node.service}
        for one in spec.get("env", []):
            source = one.get("valueFrom")
            if not source:
                value = re.sub(r"\$\((\w+)\)", lambda found: environment.get(found[1], found[0]), one.get("value", ""))
            elif "fieldRef" in source:
                value = self._field(source["fieldRef"]["fieldPath"])
            else:
                kind = "secret" if "secretKeyRef" in source else "configMap"
                key = source[f"{kind}KeyRef"]
                value = volumes.value(kind, key["name"], key["key"], key.get("optional", False))
            if value is not None:
                environment[one["name"]] = value
        return environment

    def _run_init(self):
        for container in self._init:
            while True:
                container.start()
                while not container.ended.wait(0.05):
                    if self._stopping.is_set():
                        return False
                if container.exit_code == 0:
                    break
                if self._stopping.wait(self._back_off(container)):
                    return False
        return not self._stopping.is_set()

    def _probe(self, container):
        if settings := container.spec.get("readinessProbe"):
            self._probes.append(Probe(container, settings, lambda: self._note("ready" if container.ready else "not ready",
                                                                              container=container.name)))
        else:
            container.ready = True

    def _back_off(self, container):
        return min(LONGEST_BACK_OFF, 0.25 * 2 ** container.restarts)

    def _supervise(self):
        """Starts again what ends, until the pod is deleted or all that may end has ended."""
        policy = self._object["spec"].get("restartPolicy", "Always")
        due = {}
        while not self._stopping.wait(0.05):
            over = [one for one in self._containers if one.ended.is_set()]
            again = [one for one in over if policy == "Always" or (policy == "OnFailure" and one.exit_code != 0)]
            if len(over) == len(self._containers) and not again:
                self._phase = self._final_phase()
                self._status.changed()
                return
            for container in again:
                if time.monotonic() >= due.setdefault(container.name, time.monotonic() + self._back_off(container)):
                    del due[container.name]
                    container.start()
                    container.ready = "readinessProbe" not in container.spec
                    self._status.changed()

    def _final_phase(self):
        return "Succeeded" if all(one.exit_code == 0 for one in self._containers) else "Failed"

    def _terminate(self):
        stops = [threading.Thread(target=one.stop, args=(lambda: self._kill_at,), daemon=True) for one in self._init + self._containers]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()
        for probe in self._probes:
            probe.end()
        if self._phase not in FINAL:
            self._phase = self._final_phase() if self._containers else "Failed"
        self._status.changed()
        self._status.close()
        persistent(self._api.request, "DELETE", self._path, {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                                                             "preconditions": {"uid": self.uid}})
        if self._network:
            self._network.end()
            self._node.addresses.give_back(self._network.address)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._node.forget(self)
        self._node.note(self._name, "gone")

    # The status.

    def _condition(self, kind, true):
        before, since = self._transitions.get(kind, (None, None))
        if before != true:
            since = stamp(time.time())
            self._transitions[kind] = (true, since)
        return {"type": kind, "status": "True" if true else "False", "lastTransitionTime": since}

    def _build_status(self):
        up = self._phase == "Running"
        ready = up and bool(self._containers) and all(one.ready for one in self._containers)
        prepared = bool(self._containers)
        status = {"phase": self._phase, "startTime": stamp(self._born),
                  "hostIP": self._node.address, "hostIPs": [{"ip": self._node.address}],
                  "conditions": [self._condition("PodReadyToStartContainers", prepared),
                                 self._condition("Initialized", up or self._phase in FINAL),
                                 self._condition("ContainersReady", ready), self._condition("Ready", ready)],
                  "containerStatuses": self._container_statuses(self._object["spec"]["containers"], self._containers)}
        if self._object["spec"].get("initContainers"):
            status["initContainerStatuses"] = self._container_statuses(self._object["spec"]["initContainers"], self._init)
        if self._network:
            status.update(podIP=self._network.address, podIPs=[{"ip": self._network.address}])
        return status

    def _container_statuses(self, specs, containers):
        made = {one.name: one for one in containers}
        statuses = []
        for spec in specs:
            container = made.get(spec["name"])
            state = {"waiting": {"reason": self._waiting[0], "message": self._waiting[1]}}
            if container and container.ended.is_set():
                state = {"terminated": {"exitCode": container.exit_code, "reason": "Error" if container.exit_code else "Completed",
                                        "startedAt": stamp(container.started_at), "finishedAt": stamp(container.ended_at)}}
            elif container and container.running:
                state = {"running": {"startedAt": stamp(container.started_at)}}
            statuses.append({"name": spec["name"], "image": spec["image"], "imageID": spec["image"], "state": state,
                             "ready": bool(container and container.ready), "started": bool(container and container.running),
                             "restartCount": max(0, container.restarts) if container else 0})
        return statuses
