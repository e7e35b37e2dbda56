"""The control plane is real: what it stores, refuses and controls is Kubernetes itself."""

import json

import pytest

import api
import binaries
from rig import wait_until


def test_answers_with_its_version_and_a_node_that_is_ready(rig):
    assert rig.admin.get("/version")["gitVersion"] == binaries.VERSION
    assert json.loads(rig.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"] == binaries.VERSION
    (node,) = json.loads(rig.kubectl("get", "nodes", "-o", "json"))["items"]
    assert [(one["type"], one["status"]) for one in node["status"]["conditions"]] == [("Ready", "True")]
    assert "taints" not in node["spec"]


def test_is_found_at_the_address_of_its_service(rig):
    assert rig.through_service().get("/readyz") == "ok"
    assert json.loads(rig.kubectl("version", "-o", "json", through_service=True))["serverVersion"]["gitVersion"] == binaries.VERSION


def test_refuses_a_service_account_what_no_role_allows(rig, namespace):
    token = rig.kubectl("create", "token", "default", "-n", namespace).strip()
    account = api.Api(rig.admin.address, rig.admin.port, token, rig.plane.credentials.authority, rig.namespaces.dial)
    path = f"/api/v1/namespaces/{namespace}/pods"
    with pytest.raises(api.ApiError) as refused:
        account.get(path)
    assert refused.value.status == 403
    rig.kubectl("create", "role", "reader", "--verb=list", "--resource=pods", "-n", namespace)
    rig.kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={namespace}:default", "-n", namespace)

    def allowed():
        try:
            return account.get(path)["kind"] == "PodList"
        except api.ApiError as error:
            assert error.status == 403
            return False
    wait_until(allowed, "the role")


GATEWAY = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "one"},
           "spec": {"gatewayClassName": "some", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}}


def route(*filters):
    return {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "one"},
            "spec": {"parentRefs": [{"name": "one"}], "rules": [{"filters": list(filters)}]}}


def test_has_the_gateway_api_with_its_defaults_and_its_rules(rig, namespace):
    rig.install_gateway_api()
    redirect = {"type": "RequestRedirect", "requestRedirect": {"hostname": "a.example"}}
    rewrite = {"type": "URLRewrite", "urlRewrite": {"hostname": "b.example"}}
    rig.apply(GATEWAY, route(redirect), namespace=namespace)
    stored = json.loads(rig.kubectl("get", "httproute", "one", "-o", "json", "-n", namespace))
    assert stored["spec"]["parentRefs"][0]["kind"] == "Gateway"
    assert stored["spec"]["rules"][0]["matches"] == [{"path": {"type": "PathPrefix", "value": "/"}}]
    with pytest.raises(AssertionError, match="May specify either"):
        rig.apply(route(redirect, rewrite), namespace=namespace)


def test_has_the_routes_of_openshift_with_their_rules(rig, namespace):
    rig.install_openshift_route()
    one = {"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"name": "one"},
           "spec": {"host": "a.example", "to": {"kind": "Service", "name": "a"}}}
    rig.apply(one, namespace=namespace)
    assert json.loads(rig.kubectl("get", "route.route.openshift.io", "one", "-o", "json", "-n", namespace))["spec"]["to"]["weight"] == 100
    one["spec"]["tls"] = {"termination": "sideways"}
    with pytest.raises(AssertionError, match="termination"):
        rig.apply(one, namespace=namespace)
