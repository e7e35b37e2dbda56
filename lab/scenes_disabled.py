"""The second incident: an operator disables an endpoint to which clients are bound."""

import collections
import json
import pathlib
import subprocess
import sys

from fabric import POD_PORT
from ports import LIMIT
from scene import Result, Scene

STORY = """Twenty clients are bound to one of two pods, which may have twenty at a time: five WebSockets and fifteen requests of 3 s. Ten more
with its cookie wait in the queue. The operator says {how}. Then five browsers come with its cookie, five times a second.
In flight, queued and tunnels should end well; browsers should move; idle connections should close. Our deadline of drains is 8 s."""

CLIENTS = pathlib.Path(__file__).resolve().parent / "bound_clients.py"
TUNNELS, QUEUED, BROWSERS, SECONDS = 5, 10, 5, 12
HOW = {"drain": "`state drain`", "maint": "`state maint`", "removal": "that it is no endpoint any more"}


def connections_to(stage, pod):
    listed = subprocess.run(stage.fabric.inside("gate", "ss", "-Htn", "state", "established", "dst", f"{stage.fabric.address(pod.slot)}:{POD_PORT}"),
                            capture_output=True, text=True, check=True)
    return len(listed.stdout.splitlines())


def summed(ends, victim):
    """How many ended in which way, and where, if not at the victim."""
    counted = collections.Counter("ok elsewhere" if outcome == "ok" and pod != victim else outcome for outcome, pod, *_ in ends)
    return ", ".join(f"{count} {outcome}" for outcome, count in counted.most_common())


def latest(ends):
    return round(max((end for _, _, end, _ in ends), default=0.0), 1)


def disabled(stage, how):
    victim, other = stage.pods.start(2)
    stage.contestant.start([victim, other], "disabled")
    specification = {"pod": victim.name, "tunnels": TUNNELS, "slow": LIMIT - TUNNELS, "queued": QUEUED, "browsers": BROWSERS, "seconds": SECONDS}
    clients = subprocess.Popen(stage.fabric.bound("gate", sys.executable, CLIENTS, json.dumps(specification)), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=open(stage.directory / "clients.stderr", "wb"), text=True, start_new_session=True)
    try:
        if clients.stdout.readline() != "ready\n":
            raise RuntimeError("the clients did not start: " + (stage.directory / "clients.stderr").read_text(errors="replace"))
        victim.leaves()
        stage.contestant.disable(victim, how)
        clients.stdin.write("disabled\n")
        clients.stdin.flush()
        ends = json.loads(clients.stdout.readline())
        left = connections_to(stage, victim)
    finally:
        clients.kill()
        clients.wait()
        clients.stdin.close()
        clients.stdout.close()
    stuck = sum(pod == victim.name for _, pod, *_ in ends["browser"])
    failed = sum(outcome != "ok" for outcome, _, end, _ in ends["browser"] if end < SECONDS)
    goals = ((all(outcome == "ok" and pod == victim.name for outcome, pod, *_ in ends["slow"]), "requests in flight were disturbed"),
             (all(outcome == "ok" and end < 1 for outcome, _, end, _ in ends["queued"]), "the queue did not move at once"),
             (stuck == 0 and failed == 0, f"{stuck} requests of browsers went to it, {failed} failed"),
             (all(outcome.startswith("early") and end < 9 for outcome, _, end, _ in ends["tunnel"]), "tunnels did not end by the deadline"),
             (left == 0, f"{left} connections to it are open in the end"))
    return Result({"in flight": summed(ends["slow"], victim.name), "queued": summed(ends["queued"], victim.name), "last of them s": latest(ends["queued"]),
                   "browsers": f"{len(ends['browser'])}, {stuck} to it, {failed} failed", "open to it in the end": left,
                   "tunnels until s": latest(ends["tunnel"]), "tunnels": summed(ends["tunnel"], victim.name)},
                  [sentence for reached, sentence in goals if not reached])


SCENES = [Scene(f"incident-{how}", f"an endpoint is disabled under bound clients: {how}", ("haproxy", "ebbgate"), disabled, how=how,
                story=STORY.format(how=words)) for how, words in HOW.items()]
