"""Pods are processes with addresses, probes, volumes and tokens; EndpointSlices come from the real controller."""

import pathlib

import pytest

from images import IMAGES
from objects import HTTP_READY, config_map, deployment, environment, host_folder, pod, service
from rig import wait_until

READY, NOT_READY = (True, True, False), (False, False, False)


def test_a_deployments_pods_become_ready_and_appear_in_the_slice(rig, namespace):
    rig.apply(deployment("web", 3, readinessProbe=HTTP_READY), service("web"), namespace=namespace)
    rig.kubectl("rollout", "status", "deployment/web", "-n", namespace)
    endpoints = wait_until(lambda: len(found := rig.endpoints("web", namespace)) == 3 and set(found.values()) == {READY} and found)
    names = {rig.http(address, 8080)[1].decode().strip() for address in endpoints}
    assert names == {one["metadata"]["name"] for one in rig.pods(namespace, app="web")}
    assert {one["status"]["podIP"] for one in rig.pods(namespace, app="web")} == set(endpoints)


def test_a_rollout_replaces_every_pod(rig, namespace):
    rig.apply(deployment("web", 2, readinessProbe=HTTP_READY), service("web"), namespace=namespace)
    rig.kubectl("rollout", "status", "deployment/web", "-n", namespace)
    before = {one["metadata"]["uid"] for one in rig.pods(namespace)}
    rig.kubectl("rollout", "restart", "deployment/web", "-n", namespace)
    rig.kubectl("rollout", "status", "deployment/web", "-n", namespace)
    wait_until(lambda: len(rig.pods(namespace)) == 2, "the end of the old pods")
    assert not before & {one["metadata"]["uid"] for one in rig.pods(namespace)}


def test_readiness_follows_an_http_probe(rig, namespace):
    rig.apply(pod("web", readinessProbe=HTTP_READY), service("web"), namespace=namespace)
    wait_until(lambda: list(rig.endpoints("web", namespace).values()) == [READY], "the endpoint")
    (address,) = rig.endpoints("web", namespace)
    rig.http(address, 8080, "/unhealthy", "POST")
    wait_until(lambda: rig.endpoints("web", namespace) == {address: NOT_READY}, "the loss of readiness")
    rig.http(address, 8080, "/healthy", "POST")
    wait_until(lambda: rig.endpoints("web", namespace) == {address: READY}, "readiness")


@pytest.mark.parametrize("kind", ["tcpSocket", "exec"])
def test_readiness_waits_for_a_probe_of_each_kind(rig, namespace, tmp_path, kind):
    """The container listens, or its command succeeds, once the test has made a file."""
    probe = {"tcpSocket": {"port": 8080}} if kind == "tcpSocket" else {"exec": {"command": ["test", "-e", "/mnt/go"]}}
    fields, mount = host_folder(tmp_path, "/mnt")
    waits = ["sh", "-c", f"while [ ! -e /mnt/go ]; do sleep 0.05; done; exec {' '.join(IMAGES['rig/server'])}"]
    rig.apply(pod("web", command=waits, spec=fields, readinessProbe={**probe, "periodSeconds": 1}, **mount), service("web"),
              namespace=namespace)
    wait_until(lambda: list(rig.endpoints("web", namespace).values()) == [NOT_READY], "the endpoint")
    (tmp_path / "go").touch()
    wait_until(lambda: list(rig.endpoints("web", namespace).values()) == [READY], "readiness")


def test_a_pod_asks_the_api_server_with_its_token(rig, namespace, tmp_path):
    """Address, token, authority and namespace are where every client library looks for them."""
    rig.kubectl("create", "role", "reader", "--verb=get", "--resource=configmaps", "-n", namespace)
    rig.kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={namespace}:default", "-n", namespace)
    fields, mount = host_folder(tmp_path, "/mnt")
    asks = f"""cd /mnt; until {rig.programs}/kubectl get configmap wanted -o 'jsonpath={{.data.word}}' >answer; do sleep 0.1; done
               touch done; exec sleep infinity"""
    one = pod("asks", "rig/host", command=["sh", "-c", asks], spec=fields, grace=0,
              env=environment(HOME="/run", KUBECACHEDIR="/run/kubectl"), **mount)
    rig.apply(config_map("wanted", word="found"), one, namespace=namespace)
    wait_until((tmp_path / "done").exists, "the answer")
    assert (tmp_path / "answer").read_text() == "found"


def test_volumes_and_environment_come_from_secrets_config_maps_and_fields(rig, namespace, tmp_path):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hidden"}, "stringData": {"tls.key": "key\n", "other": "no"}}
    spec = {"volumes": [{"name": "out", "hostPath": {"path": str(tmp_path)}}, {"name": "none", "emptyDir": {}},
                        {"name": "keys", "secret": {"secretName": "hidden", "items": [{"key": "tls.key", "path": "deep/key"}]}},
                        {"name": "settings", "configMap": {"name": "plain"}}]}
    mounts = [{"name": "out", "mountPath": "/mnt"}, {"name": "none", "mountPath": "/srv/rig/empty"},
              {"name": "keys", "mountPath": "/etc/rig-keys", "readOnly": True},
              {"name": "settings", "mountPath": "/etc/rig-settings/one.yaml", "subPath": "one.yaml"}]
    env = [*environment(PLAIN="plain", DOUBLED="$(PLAIN)$(PLAIN)"),
           {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
           {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
           {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "other"}}},
           {"name": "SETTING", "valueFrom": {"configMapKeyRef": {"name": "plain", "key": "one.yaml"}}}]
    writes = """cat /etc/rig-keys/deep/key >/mnt/key; cat /etc/rig-settings/one.yaml >/mnt/settings; touch /etc/rig-keys/new 2>/mnt/refused
                touch /srv/rig/empty/file; printf '%s\\n' "$POD" "$ADDRESS" "$SECRET" "$SETTING" "$DOUBLED" "$1" >/mnt/environment
                touch /mnt/done; exec sleep infinity"""
    rig.apply(secret, config_map("plain", **{"one.yaml": "a: 1"}),
              pod("reads", "rig/host", command=["sh", "-c", writes, "sh", "$(PLAIN)"], env=env, spec=spec, volumeMounts=mounts, grace=0),
              namespace=namespace)
    wait_until((tmp_path / "done").exists, "the pod's files")
    address = rig.pods(namespace)[0]["status"]["podIP"]
    assert (tmp_path / "key").read_text() == "key\n" and (tmp_path / "settings").read_text() == "a: 1"
    assert "Read-only" in (tmp_path / "refused").read_text()
    assert (tmp_path / "environment").read_text().splitlines() == ["reads", address, "no", "a: 1", "plainplain", "plain"]
    assert not any(pathlib.Path(path).exists() for path in ("/etc/rig-keys", "/etc/rig-settings", "/srv/rig")), "the machine was changed"


def test_a_pod_waits_for_a_secret_that_comes_later(rig, namespace):
    spec = {"volumes": [{"name": "keys", "secret": {"secretName": "late"}}]}
    rig.apply(pod("waits", spec=spec, volumeMounts=[{"name": "keys", "mountPath": "/mnt"}]), namespace=namespace)
    wait_until(lambda: any(note["event"] == "waits" for note in rig.journal(f"{namespace}/waits")), "the wait")
    rig.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late"}}, namespace=namespace)
    rig.kubectl("wait", "--for=condition=Ready", "pod/waits", "-n", namespace, "--timeout=120s")


def test_a_container_that_ends_is_started_again(rig, namespace):
    rig.apply(pod("web", readinessProbe=HTTP_READY), namespace=namespace)
    rig.kubectl("wait", "--for=condition=Ready", "pod/web", "-n", namespace, "--timeout=120s")
    rig.http(rig.pods(namespace)[0]["status"]["podIP"], 8080, "/exit", "POST")

    def again():
        (status,) = rig.pods(namespace)[0]["status"]["containerStatuses"]
        return status["restartCount"] == 1 and status["ready"]
    wait_until(again, "the second life of the container")


def test_init_containers_run_first_and_a_pod_that_may_end_ends(rig, namespace, tmp_path):
    fields, mount = host_folder(tmp_path, "/mnt")
    first = {"name": "first", "image": "rig/host", "command": ["sh", "-c", "echo first >>/mnt/order"], **mount}
    rig.apply(pod("job", "rig/host", command=["sh", "-c", "echo main >>/mnt/order"],
                  spec={**fields, "restartPolicy": "Never", "initContainers": [first]}, **mount), namespace=namespace)
    wait_until(lambda: rig.pods(namespace)[0]["status"]["phase"] == "Succeeded", "the end of the pod")
    assert (tmp_path / "order").read_text() == "first\nmain\n"


def test_an_image_that_the_rig_lacks_is_named_in_the_status(rig, namespace):
    rig.apply(pod("odd", "example/none"), namespace=namespace)

    def told():
        statuses = rig.pods(namespace)[0]["status"].get("containerStatuses", [])
        return any("example/none" in one["state"].get("waiting", {}).get("message", "") for one in statuses)
    wait_until(told, "the reason")


def test_kubectl_logs_prints_what_a_pod_writes(rig, namespace):
    rig.apply(pod("web"), namespace=namespace)
    rig.kubectl("wait", "--for=condition=Ready", "pod/web", "-n", namespace, "--timeout=120s")
    wait_until(lambda: rig.kubectl("logs", "web", "-n", namespace) == "started\n", "the log")
