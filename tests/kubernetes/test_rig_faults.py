"""Each fault does what it says, as plain clients see it: kubectl and a few lines of Python."""

import http.client
import json
import select

import pytest

import api
from control_plane import SERVICE_ADDRESS, SERVICE_PORT
from namespaces import PATIENCE
from objects import config_map, pod
from rig import wait_until

SHORT = 1  # seconds after which a client gives up; nothing comes however long it waits


def path(namespace):
    return f"/api/v1/namespaces/{namespace}/configmaps"


def held(client):
    """A connection on which one request has been answered; the next answer is not waited for long."""
    connection = client.connect()
    ask(client, connection)
    connection.sock.settimeout(SHORT)
    return connection


def ask(client, connection):
    connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {client.token}"})
    return connection.getresponse().read()


def test_a_dead_api_server_refuses_and_comes_back_with_what_it_knew(rig, namespace):
    rig.apply(config_map("kept", word="kept"), namespace=namespace)
    client = rig.through_service()
    connection = held(client)
    with rig.faults.api_server_dead():
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(client, connection)
        with pytest.raises(ConnectionRefusedError):
            client.get("/readyz")
        refused = rig.kubectl("get", "pods", check=False, through_service=True)
        assert refused.returncode != 0 and "refused" in refused.stderr
    connection.close()
    assert client.get(f"{path(namespace)}/kept")["data"] == {"word": "kept"}


def test_a_frozen_api_server_accepts_and_says_nothing(rig):
    client = rig.through_service()
    connection = held(client)
    with rig.faults.api_server_frozen():
        rig.namespaces.dial(SERVICE_ADDRESS, SERVICE_PORT, SHORT).close()
        with pytest.raises(TimeoutError):
            ask(client, connection)
        with pytest.raises(TimeoutError):
            client.get("/readyz", timeout=SHORT)
    connection.close()
    assert client.get("/readyz") == "ok"


def test_a_black_hole_swallows_new_and_old_connections_and_no_others(rig):
    client = rig.through_service()
    connection = held(client)
    with rig.faults.black_hole():
        with pytest.raises(TimeoutError):
            rig.namespaces.dial(SERVICE_ADDRESS, SERVICE_PORT, SHORT)
        with pytest.raises(TimeoutError):
            ask(client, connection)
        assert rig.admin.get("/readyz") == "ok"
    connection.close()
    assert client.get("/readyz") == "ok"


def test_pods_see_the_black_hole_too(rig, namespace):
    knocks = {"exec": {"command": ["timeout", "2", "bash", "-c", f": >/dev/tcp/{SERVICE_ADDRESS}/{SERVICE_PORT}"]},
              "periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 1}
    rig.apply(pod("knocks", readinessProbe=knocks), namespace=namespace)
    rig.kubectl("wait", "--for=condition=Ready", "pod/knocks", "-n", namespace, "--timeout=120s")
    with rig.faults.black_hole():
        rig.kubectl("wait", "--for=condition=Ready=false", "pod/knocks", "-n", namespace, "--timeout=120s")
    rig.kubectl("wait", "--for=condition=Ready", "pod/knocks", "-n", namespace, "--timeout=120s")


def test_a_proxy_without_rules_changes_nothing(rig, namespace):
    rig.apply(config_map("one", word="x" * 300000), namespace=namespace)
    with rig.faults.proxy() as proxy:
        assert rig.through_service().get(path(namespace))["items"] == rig.admin.get(path(namespace))["items"]
        shown = json.loads(rig.kubectl("get", "configmap", "one", "-o", "json", "-n", namespace, through_service=True))
        assert shown["data"]["word"] == "x" * 300000
        versions = {one["version"] for one in proxy.requests() if f"{path(namespace)}/one" in one["target"]}
        assert versions == {"2"}, "kubectl speaks HTTP/2"


@pytest.mark.parametrize("status", [410, 429, 500])
def test_answers_of_the_proxy_come_as_often_as_told(rig, namespace, status):
    rule = {"match": f"GET {path(namespace)}", "times": 2, "status": status, "headers": {"Retry-After": "7"}}
    with rig.faults.proxy(rule) as proxy:
        client = rig.through_service()
        for _ in range(2):
            with pytest.raises(api.ApiError) as refused:
                client.get(path(namespace))
            assert (refused.value.status, refused.value.headers["Retry-After"]) == (status, "7")
        assert client.get(path(namespace))["kind"] == "ConfigMapList"
        assert [one["status"] for one in proxy.requests()] == [status, status, 200]


def test_kubectl_is_told_of_an_error_too(rig, namespace):
    with rig.faults.proxy({"match": path(namespace), "status": 500, "body": {"kind": "Status", "message": "the rig says no"}}):
        refused = rig.kubectl("get", "configmaps", "-n", namespace, check=False, through_service=True)
    assert refused.returncode != 0 and "the rig says no" in refused.stderr


def test_a_slow_proxy_has_the_request_and_does_not_answer(rig):
    with rig.faults.proxy({"match": "/readyz", "times": 1, "delay": 3600}) as proxy:
        client = rig.through_service()
        connection = client.connect()
        connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {client.token}"})
        wait_until(proxy.requests, "the request")
        connection.sock.settimeout(SHORT)
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()
        assert client.get("/readyz") == "ok"


def test_a_watch_is_told_that_its_version_is_too_old(rig, namespace):
    with rig.faults.proxy({"match": f"GET {path(namespace)}.*watch=1", "times": 1, "expire": True}):
        client = rig.through_service()
        version = client.get(path(namespace))["metadata"]["resourceVersion"]
        with pytest.raises(api.ApiError) as expired:
            list(client.events(path(namespace), version))
        assert expired.value.status == 410
        rig.apply(config_map("late"), namespace=namespace)
        assert next(client.events(path(namespace), version))["object"]["metadata"]["name"] == "late"


def watched(client, target):
    """The bytes of a watch until it breaks."""
    connection = client.connect()
    try:
        connection.request("GET", target, headers={"Authorization": f"Bearer {client.token}"})
        response = connection.getresponse()
        assert response.status == 200
        with pytest.raises((http.client.IncompleteRead, ConnectionError)) as broken:
            response.read()
        return getattr(broken.value, "partial", None)
    finally:
        connection.close()


def test_a_watch_is_cut_at_any_byte(rig, namespace):
    """Two events; the cut falls into the first, between them, and into the second."""
    rig.apply(config_map("one", word="1"), config_map("two", word="2"), namespace=namespace)
    target = f"{path(namespace)}?watch=1&fieldSelector=metadata.name%21%3Dkube-root-ca.crt"
    client = rig.through_service()
    with rig.faults.proxy() as proxy:
        connection = client.connect()
        connection.request("GET", target, headers={"Authorization": f"Bearer {client.token}"})
        response = connection.getresponse()
        whole = response.readline() + response.readline()
        connection.close()
        first = whole.index(b"\n") + 1
        assert sorted(json.loads(line)["object"]["metadata"]["name"] for line in whole.splitlines()) == ["one", "two"]
        for cut in [*range(0, 24), first - 1, first, first + 1, *range(first + 2, len(whole), 97), len(whole) - 1]:
            proxy.rules({"match": "watch=1", "cut": cut})
            assert watched(client, target) == whole[:cut]
            assert [one["sent"] for one in proxy.requests()] == [cut]


def test_a_cut_may_reset_the_connection(rig, namespace):
    rig.apply(config_map("one"), namespace=namespace)
    with rig.faults.proxy({"match": "watch=1", "cut": 10, "reset": True}):
        client = rig.through_service()
        connection = client.connect()
        connection.request("GET", f"{path(namespace)}?watch=1", headers={"Authorization": f"Bearer {client.token}"})
        told = select.poll()  # Python's TLS reads an RST as the end, so the socket is asked
        told.register(connection.sock, 0)
        assert [event & select.POLLERR for _, event in told.poll(PATIENCE * 1000)] == [select.POLLERR]
        connection.close()


def test_every_connection_of_the_proxy_is_cut_at_once(rig, namespace):
    with rig.faults.proxy() as proxy:
        client = rig.through_service()
        connection = held(client)
        proxy.cut_all()
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(client, connection)
        assert client.get("/readyz") == "ok"
        wait_until(lambda: any(one["target"] == "/readyz" for one in proxy.requests()), "the request")
