"""The contestants: the router (epoll, io_uring), HAProxy, nginx, and the floor, a plain TCP relay. One thread each, on one core.

All get the same work: keep-alive on both sides, Host kept, X-Forwarded-For added, no logging, TLS 1.3 with one certificate, buffers of
16 KiB (HAProxy's default, and the size of our blocks)."""

import contextlib
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

import route_tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
BACKEND = ROOT / "build" / "backend"
H2_BACKEND = ROOT / "build" / "h2_backend"
TUNNELS = ROOT / "build" / "tunnels"
PROXY_CORE, LOAD_CORE = 1, 0
DESCRIPTORS = 20000
CONNECTIONS = 8000
ROUTES = (1, 1000, 100_000)  # the schemes routes-N are plain, to a separate process with that many routes
EVERY_SCHEME = ("plain", "tls", "h2", "grpc", "websocket", "passthrough", "tcp")  # each contestant has a port for each

NGINX_FRAME = """
daemon off; master_process off; worker_processes 1; worker_rlimit_nofile {descriptors};
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
pid {directory}/nginx.pid; error_log stderr crit;
events {{ worker_connections {connections}; }}
http {{
  access_log off; server_tokens off; tcp_nodelay on; sendfile on;
  keepalive_timeout 300s; keepalive_requests 1000000000; http2_max_concurrent_streams 256;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  {http}
}}
{rest}
"""

NGINX_HTTP = """
  upstream service {{ server 127.0.0.1:{backend}; keepalive 256; keepalive_requests 1000000000; }}
  ssl_protocols TLSv1.3; ssl_certificate {cert}; ssl_certificate_key {key}; ssl_session_tickets on;
  upstream echo {{ server 127.0.0.1:{grpc_backend}; keepalive 256; keepalive_requests 1000000000; }}
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
  server {{
    listen 127.0.0.1:{grpc} ssl http2 backlog=4096;
    location / {{ grpc_pass grpc://echo; grpc_set_header X-Forwarded-For $remote_addr; }}
  }}
  server {{
    listen 127.0.0.1:{websocket} backlog=4096;
    location / {{
      proxy_pass http://127.0.0.1:{tunnels};
      proxy_http_version 1.1;
      proxy_set_header Connection "upgrade";
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_buffer_size 16k; proxy_buffers 16 16k;
    }}
  }}
"""

NGINX_STREAM = """
stream {{
  tcp_nodelay on; proxy_buffer_size 16k;
  upstream tunnels {{ server 127.0.0.1:{tunnels}; }}
  map $ssl_preread_server_name $named {{ passed.test tunnels; }}
  server {{ listen 127.0.0.1:{passthrough} backlog=4096; ssl_preread on; proxy_pass $named; }}
  server {{ listen 127.0.0.1:{tcp} backlog=4096; proxy_pass 127.0.0.1:{backend}; }}
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
  timeout tunnel 300s
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
frontend web3
  bind 127.0.0.1:{grpc} ssl crt {directory}/both.pem alpn h2,http/1.1 backlog 4096
  default_backend service3
backend service3
  server one 127.0.0.1:{grpc_backend} proto h2
listen sockets
  bind 127.0.0.1:{websocket} backlog 4096
  server one 127.0.0.1:{tunnels}
frontend names
  mode tcp
  bind 127.0.0.1:{passthrough} backlog 4096
  tcp-request inspect-delay 5s
  tcp-request content accept if {{ req_ssl_hello_type 1 }}
  use_backend named if {{ req_ssl_sni -i passed.test }}
backend named
  mode tcp
  server one 127.0.0.1:{tunnels}
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
  - {{name: third, bind: "127.0.0.1:{grpc}", protocol: https, certificates: [{{cert: {cert}, key: {key}}}]}}
  - {{name: sockets, bind: "127.0.0.1:{websocket}", protocol: http}}
  - {{name: names, bind: "127.0.0.1:{passthrough}", protocol: tls-passthrough}}
  - {{name: bytes, bind: "127.0.0.1:{tcp}", protocol: tcp, backend: service}}
routes:
  - {{name: first, listeners: [web, secure], backend: service}}
  - {{name: second, listeners: [second], backend: service2}}
  - {{name: third, listeners: [third], backend: service3}}
  - {{name: sockets, listeners: [sockets], backend: tunnels}}
  - {{name: named, host: passed.test, tls: passthrough, backend: tunnels}}
backends:
  - name: service
    endpoints: [{{name: one, address: "127.0.0.1:{backend}"}}]
  - name: service2
    protocol: h2c
    endpoints: [{{name: one, address: "127.0.0.1:{h2_backend}"}}]
  - name: service3
    protocol: h2c
    endpoints: [{{name: one, address: "127.0.0.1:{grpc_backend}"}}]
  - name: tunnels
    endpoints: [{{name: one, address: "127.0.0.1:{tunnels}"}}]
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
        """Refuses a proxy that pins itself to another core: it would compete with the client."""
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", (task / "status").read_text(), re.MULTILINE).group(1)
            if allowed != str(PROXY_CORE):
                raise RuntimeError(f"{self.name}: thread {task.name} may run on core {allowed}, not only on {PROXY_CORE}")


class Arena:
    """Backend and contestants, all running side by side; ends all of them on exit."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.stem = self.directory / "bench"
        self.contestants = []
        self.services = {name: free_port() for name in ("backend", "h2_backend", "grpc_backend", "tunnels")}
        self.exit = contextlib.ExitStack()

    def __enter__(self):
        subprocess.run([ROOT / "tools" / "certs", self.stem, "ecdsa", "bench.test"], check=True)
        (self.directory / "both.pem").write_text(pathlib.Path(f"{self.stem}.pem").read_text() + pathlib.Path(f"{self.stem}.key").read_text())
        commands = {"backend": (BACKEND, "{}"), "h2_backend": (H2_BACKEND, "{}", "plain"), "grpc_backend": (H2_BACKEND, "{}", "grpc"),
                    "tunnels": (TUNNELS, "serve", "{}")}
        for name, command in commands.items():
            process = self.start(name, [str(word).format(self.services[name]) for word in command], LOAD_CORE)
            wait_for_port(self.services[name], process)
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

    def nginx_command(self, name, http, rest=""):
        home = self.directory / name
        home.mkdir()
        text = NGINX_FRAME.format(directory=home, descriptors=DESCRIPTORS, connections=CONNECTIONS, http=http, rest=rest)
        (home / "nginx.conf").write_text(text)
        return ["nginx", "-p", home, "-c", home / "nginx.conf"]

    def facts(self):
        ports = {name: free_port() for name in (*EVERY_SCHEME, "admin")}
        return ports, {"cert": f"{self.stem}.pem", "key": f"{self.stem}.key", "directory": self.directory, "connections": CONNECTIONS,
                       **self.services, **ports}

    def enter(self, contestant, ports, command):
        contestant.command, contestant.ports = command, ports
        self.restart(contestant)
        self.contestants.append(contestant)

    def restart(self, contestant):
        """Starts a new process, so that memory allocated before does not count as free."""
        if contestant.process is not None:
            self.stop(contestant.process)
        contestant.process = self.start("-".join([*contestant.name.split(), contestant.serves[0]]), contestant.command, PROXY_CORE)
        wait_for_port(contestant.ports["plain"], contestant.process)
        contestant.check_core()

    def add_nginx(self):
        version = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip().split("/")[-1]
        ports, facts = self.facts()
        command = self.nginx_command("nginx", NGINX_HTTP.format(**facts), NGINX_STREAM.format(**facts))
        serves = tuple(scheme for scheme in EVERY_SCHEME if scheme != "h2")  # nginx speaks HTTP/2 to gRPC services only
        self.enter(Contestant("nginx", version, serves, peer=True), ports, command)

    def add_haproxy(self):
        version = subprocess.run(["haproxy", "-v"], capture_output=True, text=True).stdout.split()[2]
        ports, facts = self.facts()
        configuration = self.directory / "haproxy.cfg"
        configuration.write_text(HAPROXY.format(**facts))
        self.enter(Contestant("haproxy", version, EVERY_SCHEME, peer=True), ports, ["haproxy", "-db", "-f", configuration])

    def add_ebbgate(self, io, binary=ROOT / "build" / "ebbgate", suffix=""):
        ports, facts = self.facts()
        configuration = self.directory / f"ebbgate-{io}{suffix}.yaml"
        configuration.write_text(EBBGATE.format(io=io, **facts))
        version = subprocess.run([binary, "version"], capture_output=True, text=True).stdout.strip()
        self.enter(Contestant(f"ebbgate {io}{suffix}", version, EVERY_SCHEME), ports, [binary, "run", "-c", configuration])

    def add_with_routes(self, name, count):
        """A second process of the contestant, with many routes and nothing else."""
        known = next(one for one in self.contestants if one.name == name)
        ports, facts = self.facts()
        configuration = self.directory / f"{name.replace(' ', '-')}-{count}-routes"
        if name == "nginx":
            command = self.nginx_command(configuration.name, route_tables.for_nginx(count, facts))
        elif name == "haproxy":
            configuration.write_text(route_tables.for_haproxy(count, facts, configuration.with_suffix(".map")))
            command = ["haproxy", "-db", "-f", configuration]
        else:
            configuration.write_text(route_tables.for_ebbgate(count, facts, name.split()[1]))
            command = [known.command[0], "run", "-c", configuration]
        scheme = f"routes-{count}"
        self.enter(Contestant(name, known.version, (scheme,), known.peer), {**ports, scheme: ports["plain"]}, command)

    def add_relay(self, io, *options):
        """The floor: the cost of forwarding bytes without parsing them."""
        ports, facts = self.facts()
        command = [ROOT / "build" / "relay", "--io", io, "--listen", f"127.0.0.1:{ports['plain']}", "--to", f"127.0.0.1:{facts['backend']}",
                   *options]
        name = " ".join(["relay", io, *(option.strip("-") for option in options)])
        self.enter(Contestant(name, "", ("plain",)), ports, command)
