"""A pod ends in the order of the kubelet, and its endpoint says so at each step."""

from objects import HTTP_READY, environment, host_folder, pod, service
from rig import wait_until

READY, TERMINATING = (True, True, False), (False, True, True)
HOOK = {"preStop": {"httpGet": {"path": "/prestop", "port": 8080}}}


def recording(tmp_path, name="web", grace=30, args=(), **container):
    """A server that writes down what happens to it, in a file of the test."""
    fields, mount = host_folder(tmp_path, "/mnt")
    return pod(name, grace=grace, args=list(args), env=environment(RECORD="/mnt/record"), spec=fields, **mount, **container)


def events(rig, name):
    return [note["event"] for note in rig.journal(name)]


def whole_order(rig, name):
    """All that the node did to a pod, up to its end; readiness apart."""
    wait_until(lambda: "gone" in events(rig, name), "the end of the pod")
    return [one for one in events(rig, name) if one not in ("ready", "not ready")]


def ready(rig, namespace):
    wait_until(lambda: list(rig.endpoints("web", namespace).values()) == [READY], "the endpoint")
    return next(iter(rig.endpoints("web", namespace)))


def test_the_hook_runs_before_the_signal_and_the_endpoint_serves_until_the_end(rig, namespace, tmp_path):
    rig.apply(recording(tmp_path, args=["--stay"], readinessProbe=HTTP_READY, lifecycle=HOOK), service("web"), namespace=namespace)
    address = ready(rig, namespace)
    rig.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")
    wait_until(lambda: "SIGTERM" in (tmp_path / "record").read_text(), "the signal")
    assert (tmp_path / "record").read_text().split() == ["started", "preStop", "SIGTERM"]
    wait_until(lambda: rig.endpoints("web", namespace) == {address: TERMINATING}, "the terminating endpoint")
    assert rig.http(address, 8080) == (200, b"web\n")
    rig.http(address, 8080, "/exit", "POST")
    wait_until(lambda: not rig.endpoints("web", namespace) and not rig.pods(namespace), "the end of the pod")
    order = whole_order(rig, f"{namespace}/web")
    assert order == ["started", "deletion seen", "preStop", "preStop ended", "SIGTERM", "ended", "gone"]


def test_no_signal_comes_while_a_hook_runs(rig, namespace, tmp_path):
    """The hook is a command in the container; it ends when the test has made a file."""
    waits = "echo preStop >>/mnt/record; while [ ! -e /mnt/go ]; do sleep 0.05; done; echo ended >>/mnt/record"
    hook = {"preStop": {"exec": {"command": ["sh", "-c", waits]}}}
    rig.apply(recording(tmp_path, grace=3600, readinessProbe=HTTP_READY, lifecycle=hook), service("web"), namespace=namespace)
    address = ready(rig, namespace)
    rig.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")
    wait_until(lambda: rig.endpoints("web", namespace) == {address: TERMINATING}, "the terminating endpoint")
    wait_until(lambda: "preStop" in (tmp_path / "record").read_text(), "the hook")
    assert rig.http(address, 8080)[0] == 200 and "SIGTERM" not in (tmp_path / "record").read_text()
    (tmp_path / "go").touch()
    wait_until(lambda: not rig.pods(namespace), "the end of the pod")
    assert (tmp_path / "record").read_text().split() == ["started", "preStop", "ended", "SIGTERM"]


def test_a_pod_that_stays_is_killed_when_its_grace_is_over(rig, namespace, tmp_path):
    rig.apply(recording(tmp_path, grace=3, args=["--stay"], readinessProbe=HTTP_READY), service("web"), namespace=namespace)
    ready(rig, namespace)
    rig.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")
    wait_until(lambda: not rig.pods(namespace), "the end of the pod")
    order = whole_order(rig, f"{namespace}/web")
    notes = {note["event"]: note for note in rig.journal(f"{namespace}/web")}
    assert order == ["started", "deletion seen", "SIGTERM", "SIGKILL", "ended", "gone"]
    assert notes["ended"]["status"] == 137 and notes["deletion seen"]["grace"] == 3
    assert notes["SIGKILL"]["at"] - notes["deletion seen"]["at"] >= 3, "a slow machine comes later, never sooner"


def test_a_hook_that_outlives_the_grace_is_cut_short(rig, namespace, tmp_path):
    hook = {"preStop": {"exec": {"command": ["sleep", "infinity"]}}}
    rig.apply(recording(tmp_path, grace=1, readinessProbe=HTTP_READY, lifecycle=hook), service("web"), namespace=namespace)
    ready(rig, namespace)
    rig.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")
    wait_until(lambda: not rig.pods(namespace), "the end of the pod")
    assert (tmp_path / "record").read_text().split() == ["started", "SIGTERM"]


def test_a_second_deletion_with_less_grace_shortens_the_first(rig, namespace, tmp_path):
    rig.apply(recording(tmp_path, grace=3600, args=["--stay"], readinessProbe=HTTP_READY), service("web"), namespace=namespace)
    ready(rig, namespace)
    rig.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")
    wait_until(lambda: "SIGTERM" in (tmp_path / "record").read_text(), "the signal")
    rig.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false", "--grace-period=1")
    wait_until(lambda: not rig.pods(namespace), "the end of the pod")
    assert "SIGKILL" in events(rig, f"{namespace}/web")


def test_a_pod_ends_while_the_api_server_is_away(rig, namespace, tmp_path):
    """The node knows what it has to do; it tells when it can."""
    rig.apply(recording(tmp_path, grace=3, args=["--stay"], readinessProbe=HTTP_READY), service("web"), namespace=namespace)
    ready(rig, namespace)
    rig.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")
    wait_until(lambda: "deletion seen" in events(rig, f"{namespace}/web"), "the deletion")
    with rig.faults.api_server_frozen():
        wait_until(lambda: "ended" in events(rig, f"{namespace}/web"), "the end of the process")
    wait_until(lambda: not rig.pods(namespace) and not rig.endpoints("web", namespace), "the end of the pod")
