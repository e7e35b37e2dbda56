"""The same table of routes for each contestant: N path prefixes over up to 1,000 hosts, all to one service."""

HOSTS = 1000

NGINX = """
  upstream service {{ server 127.0.0.1:{backend}; keepalive 256; keepalive_requests 1000000000; }}
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
  proxy_buffer_size 16k; proxy_buffers 16 16k; proxy_max_temp_file_size 0; server_names_hash_max_size 4096;
  {servers}
"""

HAPROXY = """
global
  nbthread 1
  maxconn {connections}
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
  use_backend %[base,map_beg({table})]
backend service
  server one 127.0.0.1:{backend}
"""

EBBGATE = """
admin: 127.0.0.1:{admin}
workers: 1
io: {io}
timeouts: {{client_idle: 300s}}
listeners:
  - {{name: web, bind: "127.0.0.1:{plain}", protocol: http}}
backends:
  - {{name: service, endpoints: [{{name: one, address: "127.0.0.1:{backend}"}}]}}
routes:
{routes}
"""


def table(count):
    """(host, path prefix); bench/routes.lua requests the same."""
    return [(f"h{number % HOSTS}.test", f"/service/{number}") for number in range(count)]


def for_nginx(count, facts):
    by_host = {}
    for host, path in table(count):
        by_host.setdefault(host, []).append(f"location {path}/ {{ proxy_pass http://service; }}")
    servers = (f"server {{ listen 127.0.0.1:{facts['plain']}{' backlog=4096' if number == 0 else ''}; server_name {host}; {' '.join(locations)} }}"
               for number, (host, locations) in enumerate(by_host.items()))
    return NGINX.format(servers="\n  ".join(servers), **facts)


def for_haproxy(count, facts, file):
    file.write_text("".join(f"{host}{path}/ service\n" for host, path in table(count)))
    return HAPROXY.format(table=file, **facts)


def for_ebbgate(count, facts, io):
    routes = (f'  - {{name: r{number}, host: {host}, path: {path}, backend: service}}' for number, (host, path) in enumerate(table(count)))
    return EBBGATE.format(io=io, routes="\n".join(routes), **facts)
