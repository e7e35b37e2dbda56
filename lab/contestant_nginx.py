"""nginx, driven by reloads of its configuration: the open-source edition has no other way.

Defaults are nginx's own, with upstream keep-alive. "tuned" has short time-outs and retries of everything but POST.
"""

import signal
import time

from contestant import Contestant
from fabric import POD_PORT
from ports import GRPC, HTTP2, WEB

FRAME = """
daemon off; worker_processes 2; user root; pid {directory}/nginx.pid; error_log {directory}/error.log;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 300s; client_max_body_size 0;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/p; fastcgi_temp_path {directory}/f;
  uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  map $http_upgrade $upgrade {{ default upgrade; "" ""; }}
  upstream service {{ {servers} keepalive 32; }}
  upstream sticky {{ hash $cookie_session consistent; {servers} keepalive 32; }}
  upstream grpc {{ {servers} keepalive 32; }}
  server {{
    listen 127.0.0.1:{web};
    listen 127.0.0.1:{http2} http2;
    proxy_http_version 1.1; proxy_set_header Connection $upgrade; proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Host $host; proxy_buffering off; {tuning}
    location / {{ proxy_pass http://service; }}
    location /sticky {{ proxy_pass http://sticky; }}
  }}
  server {{
    listen 127.0.0.1:{grpc} http2;
    location / {{ grpc_pass grpc://grpc; }}
  }}
}}
"""
TUNING = "proxy_connect_timeout 1s; proxy_read_timeout 10s; proxy_send_timeout 5s; proxy_next_upstream error timeout http_502 http_504;"


class Nginx(Contestant):
    name = "nginx"
    tuning = ""
    server_options = ""

    def start(self, pods, family):
        self.present = {pod.name: pod for pod in pods}
        self.directory.chmod(0o755)
        self.write()
        self.launch("nginx", "-p", self.directory, "-c", self.directory / "nginx.conf")
        deadline = time.monotonic() + 20
        while not (self.directory / "nginx.pid").exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError("nginx did not start: " + self.log.read_text(errors="replace")[-2000:])
            time.sleep(0.02)

    def write(self):
        servers = "".join(f"server {self.fabric.address(pod.slot)}:{POD_PORT}{self.server_options}; " for pod in self.present.values())
        # An upstream may not be empty; a port that refuses connections is the closest substitute.
        (self.directory / "nginx.conf").write_text(FRAME.format(
            directory=self.directory, web=WEB, http2=HTTP2, grpc=GRPC, tuning=self.tuning, servers=servers or "server 127.0.0.1:9; "))

    def tell(self, add=(), leave=(), gone=()):
        before = set(self.present)
        for pod in (*leave, *gone):
            self.present.pop(pod.name, None)
        self.present.update((pod.name, pod) for pod in add)
        if set(self.present) != before:
            self.write()
            self.process.send_signal(signal.SIGHUP)


class NginxTuned(Nginx):
    name = "nginx-tuned"
    tuning = TUNING
    server_options = " max_fails=1 fail_timeout=5s"
