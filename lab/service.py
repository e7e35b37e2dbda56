"""A service address as Kubernetes makes them: connection tracking sends each new connection to an endpoint, and pins it there.

The endpoints are nginx in the pods' namespaces, with TLS and HTTP/2; each answers with its own address.
"""

import contextlib
import pathlib
import subprocess
import time

ADDRESS, PORT = "10.96.0.10", 443
URL = f"https://{ADDRESS}/"
NGINX = """
daemon off; master_process off; pid {directory}/nginx.pid; error_log {directory}/nginx.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/p; fastcgi_temp_path {directory}/f;
  uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen {address}:{port} ssl http2; ssl_certificate {directory}/../service.pem; ssl_certificate_key {directory}/../service.key;
    keepalive_timeout 3600s; location / {{ return 200 "$server_addr\\n"; }}
  }}
}}
"""


class Service:
    def __init__(self, fabric, directory, slots):
        self.fabric, self.directory, self.slots = fabric, pathlib.Path(directory), slots
        self.servers, self.pinned = [], None

    def __enter__(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=service",
                        "-keyout", self.directory / "service.key", "-out", self.directory / "service.pem"], check=True, capture_output=True)
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
        directory = self.directory / f"server{slot}"
        directory.mkdir()
        file = directory / "nginx.conf"
        file.write_text(NGINX.format(directory=directory, address=self.fabric.address(slot), port=PORT))
        self.servers.append(subprocess.Popen(self.fabric.bound(f"pod{slot}", "nginx", "-p", directory, "-c", file), stdin=subprocess.DEVNULL,
                                             stdout=open(directory / "stderr", "wb"), stderr=subprocess.STDOUT, start_new_session=True))
        deadline = time.monotonic() + 10
        while not (directory / "nginx.pid").exists():
            if self.servers[-1].poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("a server did not start: " + (directory / "stderr").read_text(errors="replace"))
            time.sleep(0.02)

    def point_to(self, slot):
        """New connections go there from now on; those that exist stay where they are, whatever became of that place."""
        if slot:
            self._rule("-I", slot)
        if self.pinned:
            self._rule("-D", self.pinned)
        self.pinned = slot

    def _rule(self, verb, slot):
        subprocess.run(self.fabric.inside("gate", "iptables", "-w", "-t", "nat", verb, "OUTPUT", "-d", ADDRESS, "-p", "tcp", "--dport", str(PORT),
                                          "-j", "DNAT", "--to-destination", f"{self.fabric.address(slot)}:{PORT}"), check=True)
