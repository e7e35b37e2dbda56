"""A million requests against real servers that close idle connections after a second."""

import collections
import json
import pathlib
import subprocess

import nginx
from fabric import POD_PORT
from ports import WEB
from scene import Result, Scene

HERE = pathlib.Path(__file__).resolve().parent
REPLICAS, CLIENTS = 3, 3000
REQUESTS, REQUESTS_PER_SECOND = 1_000_000, CLIENTS / 1.03
HTTP = 'keepalive_timeout 1s; server {{ listen {address}:{port} backlog=4096; location / {{ return 200 "served"; }} }}'
Server = collections.namedtuple("Server", "name slot process")


def serve(stage, slot):
    http = HTTP.format(address=stage.fabric.address(slot), port=POD_PORT)
    return Server(f"server{slot}", slot, nginx.serve(stage.fabric, stage.directory, slot, http))


def million(stage):
    servers = [serve(stage, slot) for slot in range(1, REPLICAS + 1)]
    try:
        stage.contestant.start(servers, "million")
        seconds = 10 if stage.short else round(REQUESTS / REQUESTS_PER_SECOND * 1.05)
        ran = subprocess.run(stage.fabric.bound("gate", "wrk", "-t", 1, "-c", CLIENTS, "-d", f"{seconds}s", "--timeout", "10s",
                                                "-s", HERE / "think.lua", f"http://127.0.0.1:{WEB}"), capture_output=True, text=True, check=True)
        replays = stage.contestant.replays()
    finally:
        for server in servers:
            server.process.terminate()
            server.process.wait()
    sums = json.loads(ran.stdout.splitlines()[-1])
    errors = sum(number for kind, number in sums.items() if kind != "requests")
    missed = [f"{errors} errors"] if errors else []
    if not stage.short and sums["requests"] < REQUESTS:
        missed.append(f"only {sums['requests']} requests")
    return Result({"requests": sums.pop("requests"), "failed": errors, "replays": replays, **sums}, missed)


SCENES = [
    Scene("million", "a million requests in pulses; servers (nginx) close idle connections after 1 s, when the next pulse comes", ("ebbgate", "haproxy-tuned"),
          million),
]
