"""A service address as in Kubernetes: connection tracking sends each new connection to an endpoint, and pins it there.

The endpoints are nginx in the pods' namespaces, with TLS and HTTP/2; each answers with its own address."""

import contextlib
import pathlib
import subprocess

import nginx

ADDRESS, PORT = "10.96.0.10", 443
URL = f"https://{ADDRESS}/"
CERTIFICATES = pathlib.Path(__file__).resolve().parent.parent / "tools" / "certs"
HTTP = """
  keepalive_timeout 3600s;
  server {{
    listen {address}:{port} ssl http2; ssl_certificate {stem}.pem; ssl_certificate_key {stem}.key;
    location / {{ return 200 "$server_addr\\n"; }}
  }}"""


class Service:
    def __init__(self, fabric, directory, slots):
        self.fabric, self.directory, self.slots = fabric, pathlib.Path(directory), slots
        self.servers, self.pinned = [], None

    def __enter__(self):
        subprocess.run([CERTIFICATES, self.directory / "service", "ecdsa", "service"], check=True)
        with contextlib.ExitStack() as undo:
            undo.callback(self.__exit__)
            for slot in self.slots:
                self.serve(slot)
            self.point_to(self.slots[0])
            undo.pop_all()
        return self

    def __exit__(self, *_):
        self.point_to(None)
        for server in self.servers:
            server.kill()
            server.wait()

    def serve(self, slot):
        http = HTTP.format(address=self.fabric.address(slot), port=PORT, stem=self.directory / "service")
        self.servers.append(nginx.serve(self.fabric, self.directory, slot, http))

    def point_to(self, slot):
        """New connections go there from now on; existing ones stay, whatever the state of their endpoint."""
        if slot:
            self._rule("-I", slot)
        if self.pinned:
            self._rule("-D", self.pinned)
        self.pinned = slot

    def _rule(self, verb, slot):
        subprocess.run(self.fabric.inside("gate", "iptables", "-w", "-t", "nat", verb, "OUTPUT", "-d", ADDRESS, "-p", "tcp", "--dport", str(PORT),
                                          "-j", "DNAT", "--to-destination", f"{self.fabric.address(slot)}:{PORT}"), check=True)
