"""etcd, kube-apiserver and kube-controller-manager in the rig's namespaces, and the address at which pods find the API server.

The address of the Service `kubernetes` is a DNAT to the API server, or to the faulty proxy before it, as kube-proxy makes it. The
node's address is the API server itself: what the rig and a person use, whatever becomes of the other.
"""

import json
import signal
import time

import api
import credentials

NODE_ADDRESS, POD_NETWORK = "10.244.0.1", "10.244.0.0/16"
SERVICE_NETWORK, SERVICE_ADDRESS, SERVICE_PORT = "10.96.0.0/16", "10.96.0.1", 443
API_PORT, PROXY_PORT, PROXY_CONTROL_PORT = 6443, 6444, 6445
ETCD, ETCD_PEER = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
USERS = {"admin": "system:masters", "system:kube-controller-manager": None}
CONTROLLERS = ("deployment-controller,replicaset-controller,endpointslice-controller,namespace-controller,garbage-collector-controller,"
               "serviceaccount-controller,root-ca-certificate-publisher-controller")
INSIDE = "/run/rig"
READY_SECONDS = 120


def kubeconfig(address, port, user, token):
    """JSON is YAML."""
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "rig",
        "clusters": [{"name": "rig", "cluster": {"server": f"https://{address}:{port}", "certificate-authority": f"{INSIDE}/ca.crt"}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": user}}]}, indent=1)


class ControlPlane:
    def __init__(self, namespaces, programs):
        self._namespaces, self._programs = namespaces, programs
        self._folder = namespaces.files / INSIDE.lstrip("/")  # as seen from outside
        self.credentials = credentials.make(["127.0.0.1", NODE_ADDRESS, SERVICE_ADDRESS],
                                            ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"], USERS)
        self.admin = api.Api(NODE_ADDRESS, API_PORT, self.credentials.tokens["admin"], self.credentials.authority, namespaces.dial)
        self.etcd = self.api_server = self.controller_manager = None

    def start(self):
        self._write_files()
        for line in ("link add pods type bridge", f"addr add {NODE_ADDRESS}/16 dev pods", "link set pods up",
                     f"route add default via {NODE_ADDRESS}"):  # the API server does not start without a default route
            self._namespaces.run("ip", *line.split())
        self._namespaces.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet")
        self.lead_to(API_PORT)
        self.start_etcd()
        self.start_api_server()
        self.start_controller_manager()
        self.wait_until_ready()

    def _write_files(self):
        made = self.credentials
        users = "".join(f'{made.tokens[user]},{user},{user},"{group}"\n' if group else f"{made.tokens[user]},{user},{user}\n"
                        for user, group in USERS.items())
        files = {"ca.crt": made.authority, "server.crt": made.certificate + made.authority, "server.key": made.key, "tokens.csv": users,
                 "accounts.key": made.account_key, "accounts.pub": made.account_public_key,
                 "admin.kubeconfig": kubeconfig(NODE_ADDRESS, API_PORT, "admin", made.tokens["admin"]),
                 "service.kubeconfig": kubeconfig(SERVICE_ADDRESS, SERVICE_PORT, "admin", made.tokens["admin"]),
                 "controllers.kubeconfig": kubeconfig(NODE_ADDRESS, API_PORT, "controllers", made.tokens["system:kube-controller-manager"])}
        for name, text in files.items():
            (self._folder / name).write_text(text)

    def _start(self, program, *arguments):
        return self._namespaces.start(program, [self._programs / program, *arguments], f"{INSIDE}/{program}.log")

    def start_etcd(self):
        self.etcd = self._start("etcd", "--data-dir", f"{INSIDE}/etcd", "--unsafe-no-fsync", "--listen-client-urls", ETCD,
                                "--advertise-client-urls", ETCD, "--listen-peer-urls", ETCD_PEER,
                                "--initial-advertise-peer-urls", ETCD_PEER, "--initial-cluster", f"default={ETCD_PEER}")

    def start_api_server(self):
        self.api_server = self._start(
            "kube-apiserver", "--etcd-servers", ETCD, "--bind-address", "0.0.0.0", "--advertise-address", NODE_ADDRESS,
            "--secure-port", API_PORT, "--tls-cert-file", f"{INSIDE}/server.crt", "--tls-private-key-file", f"{INSIDE}/server.key",
            "--token-auth-file", f"{INSIDE}/tokens.csv", "--authorization-mode", "Node,RBAC", "--endpoint-reconciler-type", "none",
            "--service-cluster-ip-range", SERVICE_NETWORK, "--service-account-issuer", "https://kubernetes.default.svc",
            "--service-account-key-file", f"{INSIDE}/accounts.pub", "--service-account-signing-key-file", f"{INSIDE}/accounts.key",
            "--allow-privileged")

    def start_controller_manager(self):
        self.controller_manager = self._start(
            "kube-controller-manager", "--kubeconfig", f"{INSIDE}/controllers.kubeconfig", "--leader-elect=false", "--bind-address",
            "127.0.0.1", "--cert-dir", f"{INSIDE}/controllers", "--root-ca-file", f"{INSIDE}/ca.crt", "--service-account-private-key-file",
            f"{INSIDE}/accounts.key", "--use-service-account-credentials=true", "--controllers", CONTROLLERS)

    def log(self, program):
        return (self._folder / f"{program}.log").read_text(errors="replace")

    def wait_until_ready(self):
        """Until the API server is ready and pods can be made in the namespace `default`."""
        self._wait_for(lambda: self.admin.get("/readyz", timeout=5) == "ok")
        self._wait_for(lambda: self.admin.get("/api/v1/namespaces/default/serviceaccounts/default"))

    def _wait_for(self, condition):
        deadline = time.monotonic() + READY_SECONDS
        while True:
            for process in (self.etcd, self.api_server, self.controller_manager):
                if process.ended.is_set():
                    raise RuntimeError(f"{process.name} ended with status {process.status}:\n" + self.log(process.name)[-3000:])
            try:
                if condition():
                    return
                reason = "not yet"
            except (OSError, api.http.client.HTTPException, api.ApiError) as error:
                reason = error
            if time.monotonic() > deadline:
                reason = f"the control plane is not ready after {READY_SECONDS} s: {reason}"
                raise RuntimeError(f"{reason}\n{self.log('kube-apiserver')[-3000:]}")
            time.sleep(0.02)

    # The Service address.

    def lead_to(self, port):
        """New connections to the Service address reach this port of the node; connections that stand stay where they are."""
        to = ("-d", SERVICE_ADDRESS, "-p", "tcp", "--dport", str(SERVICE_PORT), "-j", "DNAT", "--to-destination", f"{NODE_ADDRESS}:{port}")
        for chain in ("PREROUTING", "OUTPUT"):
            self._filter("nat", "-F", chain)
            self._filter("nat", "-A", chain, *to)

    def _filter(self, table, *rule):
        self._namespaces.run("iptables", "-w", "-t", table, *rule)

    def swallow(self):
        """Packets to and from the Service address vanish, of connections that stand too: the address leads to a machine that is gone."""
        for chain in ("PREROUTING", "OUTPUT"):
            self._filter("mangle", "-A", chain, "-m", "conntrack", "--ctorigdst", SERVICE_ADDRESS, "-j", "DROP")

    def release(self):
        for chain in ("PREROUTING", "OUTPUT"):
            self._filter("mangle", "-D", chain, "-m", "conntrack", "--ctorigdst", SERVICE_ADDRESS, "-j", "DROP")

    # The API server's life.

    def kill_api_server(self):
        self._namespaces.kill(self.api_server)

    def freeze_api_server(self):
        self._namespaces.signal(self.api_server, signal.SIGSTOP)

    def thaw_api_server(self):
        self._namespaces.signal(self.api_server, signal.SIGCONT)
