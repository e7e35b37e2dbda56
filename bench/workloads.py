"""The requests that a contestant gets in one window, and their cost for its process."""

import dataclasses
import json
import pathlib
import re
import subprocess
import tempfile
import time

from contestants import LOAD_CORE, ROOT, ROUTES, TUNNELS

POST_SCRIPT = ROOT / "bench" / "post.lua"
ROUTES_SCRIPT = ROOT / "bench" / "routes.lua"
CONNECT = ROOT / "build" / "connect"
MEBIBYTE = 1 << 20
GRPC_MESSAGE = b"\0" + (128).to_bytes(4, "big") + b"x" * 128  # not compressed, its length, itself


@dataclasses.dataclass
class Workload:
    name: str
    title: str
    scheme: str  # the port (contestants.EVERY_SCHEME); h2 goes to an HTTP/2 endpoint
    path: str = "/small"
    options: tuple = ()
    script_arguments: tuple = ()  # of wrk's script
    mode: str = ""  # of bench/connect.cc or bench/tunnels.cc, or h2load; "": wrk
    group: str = ""  # workloads of one group, which follow each other, are measured in turns
    unit: str = "us"  # us: CPU microseconds per request; mb: MB per CPU second; kib: KiB per idle connection


WORKLOADS = [
    Workload("h1_keepalive", "h1 keep-alive, 128 B, 64 connections", "plain", options=("-c", "64")),
    Workload("h1_new", "h1, new connection per request", "plain", options=("-c", "64", "-H", "Connection: close")),
    Workload("h1_post", "h1 POST 16 KiB", "plain", "/post", ("-c", "64", "-s", str(POST_SCRIPT))),
    Workload("tls_keepalive", "TLS 1.3 keep-alive, 128 B, 64 connections", "tls", options=("-c", "64")),
    Workload("tls_full", "TLS 1.3 full handshake per request (P-256)", "tls", mode="full"),
    Workload("tls_resumed", "TLS 1.3 resumed handshake per request", "tls", mode="resumed"),
    Workload("big_plain", "1 MiB response, plain", "plain", "/big", ("-c", "16"), unit="mb"),
    Workload("big_tls", "1 MiB response, TLS", "tls", "/big", ("-c", "16"), unit="mb"),
    Workload("h2_h1", "h2 over TLS, 16 x 32 streams, to h1", "tls", options=("-c", "16", "-m", "32"), mode="h2load"),
    Workload("h2_h2", "h2 over TLS, 16 x 32 streams, to h2", "h2", options=("-c", "16", "-m", "32"), mode="h2load"),
    Workload("grpc_unary", "gRPC unary over TLS, 128 B both ways, 16 x 32 streams", "grpc", "/bench.Echo/Unary",
             ("-c", "16", "-m", "32", "-d", "{message}", "-H", "content-type: application/grpc", "-H", "te: trailers"), mode="h2load"),
    Workload("websocket", "WebSocket, 128 B both ways, 256 tunnels", "websocket", options=("256",), mode="websocket"),
    Workload("passthrough_new", "TLS passthrough by name, new connection each", "passthrough", options=("64",), mode="hello"),
    Workload("passthrough_big", "TLS passthrough by name, 1 MiB", "passthrough", options=("16",), mode="bulk", unit="mb"),
    Workload("tcp_small", "TCP, 128 B both ways, 64 connections", "tcp", options=("-c", "64")),
    Workload("tcp_big", "TCP, 1 MiB", "tcp", "/big", ("-c", "16"), unit="mb"),
    *(Workload(f"routes_{count}", f"h1 keep-alive, {count:,} routes", f"routes-{count}", options=("-c", "64", "-s", str(ROUTES_SCRIPT)),
               script_arguments=(str(count),), group="routes") for count in ROUTES),
    Workload("idle_plain", "idle client connection, plain", "plain", mode="plain-hold", unit="kib"),
    Workload("idle_tls", "idle client connection, TLS", "tls", mode="tls-hold", unit="kib"),
]


def schedstat(pid):
    """Nanoseconds that all threads ran, and that they were ready but waited for the core."""
    ran = waited = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            fields = (task / "schedstat").read_text().split()
        except FileNotFoundError:
            continue
        ran, waited = ran + int(fields[0]), waited + int(fields[1])
    return ran, waited


def pss_kib(pid):
    return int(re.search(r"^Pss:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE).group(1))


def _microseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}[unit]


def wrk(workload, port, seconds):
    scheme = "https" if workload.scheme == "tls" else "http"
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1", f"-d{seconds}s", "--latency", *workload.options,
               "-H", "Host: bench.test", f"{scheme}://127.0.0.1:{port}{workload.path}", "--", *workload.script_arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 30).stdout
    requests, elapsed = re.search(r"(\d+) requests in ([\d.]+m?s)", output).groups()
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    bad_status = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    failed = sum(map(int, errors.groups())) if errors else 0
    return {"requests": int(requests), "seconds": _microseconds(elapsed) / 1e6,
            "failed": failed + (int(bad_status.group(1)) if bad_status else 0),
            "p50_us": _microseconds(re.search(r"^\s+50%\s+(\S+)", output, re.MULTILINE).group(1)),
            "p99_us": _microseconds(re.search(r"^\s+99%\s+(\S+)", output, re.MULTILINE).group(1))}


def shake_hands(workload, port, seconds):
    command = ["taskset", "-c", str(LOAD_CORE), str(CONNECT), workload.mode, "127.0.0.1", str(port), str(seconds)]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 30).stdout)
    if workload.mode == "resumed" and result["resumed"] < 0.9 * result["requests"]:
        raise RuntimeError(f"only {result['resumed']} of {result['requests']} handshakes were resumed")
    return result


def through_tunnels(workload, port, seconds):
    command = ["taskset", "-c", str(LOAD_CORE), str(TUNNELS), workload.mode, "127.0.0.1", str(port), *workload.options, str(seconds)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 30).stdout)


def h2load(workload, port, seconds):
    with tempfile.NamedTemporaryFile(prefix="ebb-bench-message-") as message:
        message.write(GRPC_MESSAGE)
        message.flush()
        options = [option.format(message=message.name) for option in workload.options]
        command = ["taskset", "-c", str(LOAD_CORE), "h2load", "-t1", "-D", str(seconds), *options, f"https://127.0.0.1:{port}{workload.path}"]
        output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 30).stdout
    done, failed, errored = re.search(r"requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored", output).groups()
    mean = re.search(r"time for request:\s+\S+\s+\S+\s+(\S+)", output).group(1)
    return {"requests": int(done), "seconds": seconds, "failed": int(failed) + int(errored), "p50_us": _microseconds(mean), "p99_us": 0}


def hold(workload, port, count, pid):
    """Memory per idle connection: measures the process without and with them, both after traffic."""
    command = ["taskset", "-c", str(LOAD_CORE), str(CONNECT), workload.mode, "127.0.0.1", str(port), str(count)]
    before = pss_kib(pid)
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if client.stdout.readline() != "held\n":
            raise RuntimeError("the idle connections could not be opened")
        time.sleep(1.0)  # time to release idle buffers
        during = pss_kib(pid)
    finally:
        client.stdin.close()
        client.wait(timeout=30)
    return {"connections": count, "before_kib": before, "during_kib": during}


def window(workload, contestant, seconds, idle_connections):
    """One contestant, one window: the work done, and its cost."""
    port = contestant.ports[workload.scheme]
    if workload.unit == "kib":
        result = hold(workload, port, idle_connections, contestant.pid)
        result["value"] = max(0, result["during_kib"] - result["before_kib"]) / idle_connections
        return result
    ran_before, waited_before = schedstat(contestant.pid)
    generate = {"": wrk, "h2load": h2load, "full": shake_hands, "resumed": shake_hands}.get(workload.mode, through_tunnels)
    result = generate(workload, port, seconds)
    ran, waited = (after - before for after, before in zip(schedstat(contestant.pid), (ran_before, waited_before)))
    result["cpu_ns"], result["waited_ns"], result["pss_kib"] = ran, waited, pss_kib(contestant.pid)
    if workload.unit == "us":
        result["value"] = ran / 1e3 / max(1, result["requests"])
    else:
        result["value"] = result["requests"] * MEBIBYTE / 1e6 / (ran / 1e9)
    return result
