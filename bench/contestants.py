"""Who runs: the router (epoll, io_uring), HAProxy, nginx, and the floor, a plain TCP relay. One thread each, on one core.

All get the same work: keep-alive on both sides, Host kept, X-Forwarded-For added, no logging, TLS 1.3 with one certificate,
buffers of 16 KiB (HAProxy's default, and the size of our blocks).
"""

import contextlib
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BACKEND = ROOT / "build" / "backend"
PROXY_CORE, LOAD_CORE = 1, 0
DESCRIPTORS = 20000
CONNECTIONS = 8000

NGINX_FRAME = """
daemon off; master_process off; worker_processes 1; worker_rlimit_nofile {descriptors};
pid {directory}/nginx.pid; error_log stderr crit;
events {{ worker_connections {connections}; }}
http {{
  access_log off; server_tokens off; tcp_nodelay on; sendfile on;
  keepalive_timeout 300s; keepalive_requests 1000000000; http2_max_concurrent_streams 256;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  {rest}
}}
"""

NGINX_PROXY = """
  upstream service {{ server 127.0.0.1:{backend}; keepalive 256; keepalive_requests 1000000000; }}
  ssl_protocols TLSv1.3; ssl_certificate {cert}; ssl_certificate_key {key}; ssl_session_tickets on;
  server {{
    listen 127.0.0.1:{plain} backlog=4096;
    listen 127.0.0.1:{tls} ssl http2 backlog=4096;
    client_body_buffer_size 32k; client_max_body_size 0;
    location / {{
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_request_buffering off;
      proxy_buffer_size 16k; proxy_buffers 16 16k; proxy_max_temp_file_size 0;
    }}
  }}
"""

# HAProxy's own splice is off: an earlier measurement on such a machine gave 1,491 MB per CPU second with it and 1,541
# without. It has not been repeated here.
HAPROXY = """
global
  nbthread 1
  maxconn {connections}
  tune.ssl.default-dh-param 2048
  ssl-default-bind-options ssl-min-ver TLSv1.3
defaults
  mode http
  timeout connect 5s
  timeout client 300s
  timeout server 300s
  timeout http-keep-alive 300s
  option forwardfor
  http-reuse always
frontend web
  bind 127.0.0.1:{plain} backlog 4096
  bind 127.0.0.1:{tls} ssl crt {directory}/both.pem alpn h2,http/1.1 backlog 4096
  default_backend service
backend service
  server one 127.0.0.1:{backend}
frontend web2
  bind 127.0.0.1:{h2} ssl crt {directory}/both.pem alpn h2,http/1.1 backlog 4096
  default_backend service2
backend service2
  server one 127.0.0.1:{h2_backend} proto h2
listen bytes
  mode tcp
  bind 127.0.0.1:{tcp} backlog 4096
  server one 127.0.0.1:{backend}
"""

EBBGATE = """
admin: 127.0.0.1:{admin}
workers: 1
io: {io}
timeouts: {{client_idle: 300s}}
listeners:
  - {{name: web, bind: "127.0.0.1:{plain}", protocol: http}}
  - {{name: secure, bind: "127.0.0.1:{tls}", protocol: https, certificates: [{{cert: {cert}, key: {key}}}]}}
  - {{name: second, bind: "127.0.0.1:{h2}", protocol: https, certificates: [{{cert: {cert}, key: {key}}}]}}
  - {{name: bytes, bind: "127.0.0.1:{tcp}", protocol: tcp, backend: service}}
routes:
  - {{name: first, listeners: [web, secure], backend: service}}
  - {{name: second, listeners: [second], backend: service2}}
backends:
  - name: service
    endpoints: [{{name: one, address: "127.0.0.1:{backend}"}}]
  - name: service2
    protocol: h2c
    endpoints: [{{name: one, address: "127.0.0.1:{h2_backend}"}}]
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise RuntimeError(f"{process.args} did not listen on port {port}: {process.log_path.read_text(errors='replace')[-2000:]}")


def _raise_descriptor_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def launch(command, core, log_path):
    with open(log_path, "wb") as log:
        process = subprocess.Popen(["taskset", "-c", str(core), *map(str, command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   preexec_fn=_raise_descriptor_limit)
    process.log_path = log_path
    return process


class Contestant:
    def __init__(self, name, version, serves, peer=False):
        self.name, self.version, self.serves, self.peer = name, version, serves, peer
        self.process = None
        self.command = None
        self.ports = {}

    @property
    def pid(self):
        return self.process.pid

    def check_core(self):
        """A proxy that pins itself elsewhere would be measured against a busy client."""
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", (task / "status").read_text(), re.MULTILINE).group(1)
            if allowed != str(PROXY_CORE):
                raise RuntimeError(f"{self.name}: thread {task.name} may run on core {allowed}, not only on {PROXY_CORE}")


class Arena:
    """Backend and contestants, all running side by side; ends them all on exit."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.stem = self.directory / "bench"
        self.contestants = []
        self.backend, self.h2_backend = free_port(), free_port()
        self.exit = contextlib.ExitStack()

    def __enter__(self):
        subprocess.run([ROOT / "tools" / "certs", self.stem, "ecdsa", "bench.test"], check=True)
        wait_for_port(self.backend, self.start("backend", [BACKEND, self.backend], LOAD_CORE))
        files = self.directory / "files"
        files.mkdir()
        (files / "small").write_bytes(b"x" * 128)
        h2_backend = ["nghttpd", "--no-tls", "-d", files, "--max-concurrent-streams=256", self.h2_backend]
        wait_for_port(self.h2_backend, self.start("h2-backend", h2_backend, LOAD_CORE))
        return self

    def __exit__(self, *_):
        self.exit.close()

    def start(self, name, command, core):
        process = launch(command, core, self.directory / f"{name}.log")
        self.exit.callback(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def nginx_command(self, name, rest):
        home = self.directory / name
        home.mkdir()
        text = NGINX_FRAME.format(directory=home, descriptors=DESCRIPTORS, connections=CONNECTIONS, rest=rest)
        (home / "nginx.conf").write_text(text)
        return ["nginx", "-p", home, "-c", home / "nginx.conf"]

    def facts(self):
        ports = {name: free_port() for name in ("plain", "tls", "h2", "tcp", "admin")}
        return ports, {"backend": self.backend, "h2_backend": self.h2_backend, "cert": f"{self.stem}.pem", "key": f"{self.stem}.key", "directory": self.directory,
                       "connections": CONNECTIONS, **ports}

    def enter(self, contestant, ports, command):
        contestant.command, contestant.ports = command, ports
        self.restart(contestant)
        self.contestants.append(contestant)

    def restart(self, contestant):
        """A new process: what the last one had allocated must not pass for free."""
        if contestant.process is not None:
            self.stop(contestant.process)
        contestant.process = self.start(contestant.name.replace(" ", "-"), contestant.command, PROXY_CORE)
        wait_for_port(contestant.ports["plain"], contestant.process)
        contestant.check_core()

    def add_nginx(self):
        version = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip().split("/")[-1]
        ports, facts = self.facts()
        command = self.nginx_command("nginx", NGINX_PROXY.format(**facts))
        self.enter(Contestant("nginx", version, ("plain", "tls"), peer=True), ports, command)

    def add_haproxy(self):
        version = subprocess.run(["haproxy", "-v"], capture_output=True, text=True).stdout.split()[2]
        ports, facts = self.facts()
        both = pathlib.Path(facts["cert"]).read_text() + pathlib.Path(facts["key"]).read_text()
        (self.directory / "both.pem").write_text(both)
        configuration = self.directory / "haproxy.cfg"
        configuration.write_text(HAPROXY.format(**facts))
        self.enter(Contestant("haproxy", version, ("plain", "tls", "h2", "tcp"), peer=True), ports, ["haproxy", "-db", "-f", configuration])

    def add_ebbgate(self, io):
        binary = ROOT / "build" / "ebbgate"
        ports, facts = self.facts()
        configuration = self.directory / f"ebbgate-{io}.yaml"
        configuration.write_text(EBBGATE.format(io=io, **facts))
        version = subprocess.run([binary, "version"], capture_output=True, text=True).stdout.strip()
        self.enter(Contestant(f"ebbgate {io}", version, ("plain", "tls", "h2", "tcp")), ports, [binary, "run", "-c", configuration])

    def add_relay(self, io, *options):
        """The floor: what passing bytes on costs without looking at them."""
        ports, facts = self.facts()
        command = [ROOT / "build" / "relay", "--io", io, "--listen", f"127.0.0.1:{ports['plain']}", "--to", f"127.0.0.1:{facts['backend']}",
                   *options]
        name = " ".join(["relay", io, *(option.strip("-") for option in options)])
        self.enter(Contestant(name, "", ("plain",)), ports, command)
