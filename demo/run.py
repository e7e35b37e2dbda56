#!/usr/bin/python3
"""`make run`: three demo services, a canary server and the router in front of them, until Ctrl-C or until one of them ends."""

import ctypes
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVICES = {"shop": 18081, "api": 18082, "news": 18083}
CANARY_PORTS = (18084, 18085)
ROUTER_PORTS = (8080, 8443, 9901)
# One by one: OpenSSL takes no wildcard for names of two labels.
NAMES = ("localhost", "news.localhost", "canary.localhost", "canary-inside.localhost", "canary-raw.localhost")
READY = "http://127.0.0.1:9901/readyz"

WELCOME = """
  http://localhost:8080/            shop, says what it was asked
  http://localhost:8080/api/        api, by path
  http://news.localhost:8080/       news, by host
  https://localhost:8443/           the same over TLS (the certificate is self-signed)
  http://localhost:9901/            the dashboard: whether every way through the router is good, endpoints, drains
  http://localhost:9901/metrics     what the router counts

  curl -i 'localhost:8080/api/slow?seconds=2'
  curl -N http://news.localhost:8080/events
  curl -k --data-binary @README.md https://localhost:8443/echo | tail -n 3
  curl -s localhost:9901/api/v1/canary | jq -r '.legs[] | .name + " " + .condition.status'

  Edit demo/ebbgate.yaml and save: the change is live at once, or refused with its reason. Ctrl-C ends all.
"""


def die_with_parent():
    """Ends the process with its parent, even if the parent is killed: PR_SET_PDEATHSIG, see prctl(2)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def start(command):
    return subprocess.Popen(command, cwd=ROOT, preexec_fn=die_with_parent, start_new_session=True)


def in_use(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until_ready(processes):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and all(process.poll() is None for process in processes):
        try:
            with urllib.request.urlopen(READY, timeout=1) as answer:
                if answer.status == 200:
                    return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    return False


def stop(processes):
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main():
    taken = [port for port in (*SERVICES.values(), *CANARY_PORTS, *ROUTER_PORTS) if in_use(port)]
    if taken:
        print(f"demo: in use already: port {', '.join(map(str, taken))}; end that program or change demo/ebbgate.yaml", file=sys.stderr)
        return 1
    stem = ROOT / "run" / "demo" / "localhost"
    subprocess.run([ROOT / "tools" / "certs", stem, "ecdsa", *NAMES], check=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    processes = []
    try:
        for name, port in SERVICES.items():
            processes.append(start(["/usr/bin/python3", "demo/service.py", name, str(port)]))
        processes.append(start(["build/ebbgate", "canary", "serve", "--tls-cert", f"{stem}.pem", "--tls-key", f"{stem}.key",
                                "--port", str(CANARY_PORTS[0]), "--second-port", str(CANARY_PORTS[1])]))
        processes.append(start(["build/ebbgate", "run", "-c", "demo/ebbgate.yaml"]))
        if not wait_until_ready(processes):
            print("demo: the router did not become ready", file=sys.stderr)
            return 1
        print(WELCOME, flush=True)
        while all(process.poll() is None for process in processes):
            time.sleep(0.2)
        print("demo: a process ended by itself; stopping the others", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
        return 0
    finally:
        stop(processes)


if __name__ == "__main__":
    sys.exit(main())
