#!/usr/bin/python3
"""What hostile clients cost: the router's memory, and how long a well-behaved neighbour waits meanwhile.

    bench/under_attack.py [--io uring] [--kinds frames readers] [--connections 100] [--seconds 10]

A row for each kind of client (tests/e2e/attackers.py) and one for all at once: the most memory that the process has had, the
neighbour's median, 99th percentile and slowest answer, and how many of the hostile connections the router has ended.
The goal: under 512 MiB, 99 of 100 answers within 100 ms; the exit status is 1 when a row misses it. EBBGATE names another binary than build/ebbgate.
"""

import argparse
import multiprocessing
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tests" / "e2e"), str(ROOT / "bench")]
import attackers  # noqa: E402
from http1 import dial, request  # noqa: E402
from router import PORTS, Router, wait_until  # noqa: E402

PEAK_MIB_MAX, P99_MS_MAX = 512, 100

NGINX = """
daemon off; master_process off; worker_processes 1; pid {0}/nginx.pid; error_log {0}/error.log; events {{ }}
http {{ access_log off; keepalive_requests 1000000; server {{ listen 127.0.0.1:{1}; location = /small {{ return 200 "small"; }} }} }}
"""


def serve_attackers(pipe):
    with attackers.Endpoint() as endpoint:
        pipe.send((endpoint.port, endpoint.deaf_port))
        pipe.recv()


def attack(pipe, port, bytes_port, kinds, connections):
    senders = attackers.attack(port, bytes_port, kinds, connections)
    pipe.send("begun")
    attackers.press_on(senders, seconds=3600, until=pipe.poll)
    pipe.recv()
    pipe.send(sum(sender.has_ended() for sender in senders))


def beside(target, *arguments):
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    return process, ours


def peak_mib(router):
    status = pathlib.Path(f"/proc/{router.process.pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE).group(1)) / 1024


def ask_for(seconds, port):
    """The time of each answer, on one connection, at most one request every 2 ms."""
    times, end = [], time.monotonic() + seconds
    with dial(port) as stream:
        while time.monotonic() < end:
            began = time.monotonic()
            stream.send(request(target="/small"))
            assert stream.read_response().status == 200
            times.append(time.monotonic() - began)
            time.sleep(0.002)
    return sorted(times)


def measure(directory, io, kinds, connections, seconds, neighbour_port):
    server, server_pipe = beside(serve_attackers)
    port, deaf_port = server_pipe.recv()
    router = Router(directory, {"workers": 2, **attackers.settings_for(port, deaf_port, neighbour_port, PORTS)}, io).start()
    attacker, pipe = beside(attack, router.port(), router.port("bytes"), kinds, connections)
    assert pipe.recv() == "begun"
    times = ask_for(seconds, router.port())
    pipe.send("enough")
    ended = pipe.recv()
    peak = peak_mib(router)
    attacker.join()
    server_pipe.send("enough")
    server.join()
    router.stop()
    milliseconds = [1000 * times[min(len(times) * part // 100, len(times) - 1)] for part in (50, 99, 100)]
    print(f"| {io} | {' + '.join(kinds) or 'none'} | {peak:.0f} | " + " | ".join(f"{one:.1f}" for one in milliseconds) + f" | {ended} |", flush=True)
    return peak < PEAK_MIB_MAX and milliseconds[1] < P99_MS_MAX


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--io", nargs="+", default=["epoll", "uring"])
    parser.add_argument("--kinds", nargs="+", choices=attackers.KINDS)
    parser.add_argument("--connections", type=int, default=attackers.CONNECTIONS, help="of each kind")
    parser.add_argument("--seconds", type=float, default=10)
    chosen = parser.parse_args()
    rows = [chosen.kinds] if chosen.kinds else [[], *([kind] for kind in attackers.KINDS), list(attackers.KINDS)]
    print("| reactor | clients | peak MiB | median ms | p99 ms | slowest ms | ended |\n|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        port = PORTS.take()
        configuration = pathlib.Path(directory) / "nginx.conf"
        configuration.write_text(NGINX.format(directory, port))
        with subprocess.Popen(["/usr/sbin/nginx", "-c", configuration, "-p", directory]) as nginx:
            wait_until(lambda: answers(port), what="the neighbour's endpoint")
            held = [measure(directory, io, kinds, chosen.connections, chosen.seconds, port) for io in chosen.io for kinds in rows]
            nginx.terminate()
    return 0 if all(held) else 1


def answers(port):
    try:
        dial(port).socket.close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
