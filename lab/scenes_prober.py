"""The first incident: a health prober whose own connections fill the router."""

import json
import subprocess
import sys
import time

import prober
from contestant_ebbgate import BINARY
from ports import LEAKY_ADDRESS, WEB
from scene import Result, Scene

STORY = """A prober asks the router twice a second whether it lives, each time through a new transport. Every transport keeps its
connection alive, and nobody closes it. The router is left with 2 sockets more each second until its own keep-alive time-out ends
them: time-out / period in the end (40 here, with 20 s; 600 with the 300 s of OpenShift's router), for one prober of many.
Before: HAProxy. After: the idle connections of one client address have a budget. `ebbgate conns` looks on from the side."""

PERIOD_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 20  # of HAProxy here: contestant_haproxy
BUDGET = 8  # idle connections per client: contestant_ebbgate
LOOKS = (10, 20, 30, 40)
LEAK_SECONDS = 30  # the census must have named the prober by then


def sockets_of_the_prober(stage):
    """At the router's side."""
    listed = subprocess.run(stage.fabric.inside("gate", "ss", "-Htn", "state", "established", "sport", "=", f":{WEB}", "dst", LEAKY_ADDRESS),
                            capture_output=True, text=True, check=True)
    return len(listed.stdout.splitlines())


def named_in(listing):
    """The leaking program by the census; an empty string if there is none."""
    leaking = {socket.get("process", "?") for socket in json.loads(listing.read_text())["sockets"] if socket["verdict"] == "leaking"}
    return " ".join(sorted(leaking))


def leaky_prober(stage):
    stage.contestant.start(stage.pods.start(2), "prober")
    begun = time.monotonic()
    process = subprocess.Popen(stage.fabric.bound("gate", sys.executable, prober.__file__, str(PERIOD_SECONDS)), stdin=subprocess.DEVNULL,
                               stdout=open(stage.directory / "prober.log", "wb"), stderr=subprocess.STDOUT, start_new_session=True)
    listing = stage.directory / "conns.json"
    census = subprocess.Popen(stage.fabric.bound("gate", BINARY, "conns", "--samples", "5", "--every", "4s", "--json"), stdin=subprocess.DEVNULL,
                              stdout=open(listing, "wb"), stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        counts, name, named_after = [], "", float("inf")
        for look in LOOKS:
            while time.monotonic() < begun + look:
                if not name and census.poll() is not None:
                    name, named_after = named_in(listing), time.monotonic() - begun
                time.sleep(0.1)
            counts.append(sockets_of_the_prober(stage))
    finally:
        for one in (process, census):
            one.kill()
            one.wait()
    failed = (stage.directory / "prober.log").read_text().count("probe ")
    goals = ((max(counts) <= BUDGET, f"{max(counts)} connections of the prober were kept"),
             (not failed, f"{failed} probes failed"),
             (name == prober.NAME and named_after <= LEAK_SECONDS, f"the census named {name or 'nobody'} after {named_after:.0f} s"))
    return Result({**{f"at {look} s": count for look, count in zip(LOOKS, counts)}, "probes failed": failed, "named leaking after s": round(named_after) if name else "never",
                   "by the census": name}, [sentence for reached, sentence in goals if not reached])


SCENES = [Scene("incident-prober", "a prober leaks a connection every 500 ms: sockets at the router", ("haproxy", "ebbgate"), leaky_prober, story=STORY)]
