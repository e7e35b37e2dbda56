"""Ten thousand tunnels, and leaving endpoints: tunnels may run until the drain's deadline, and no longer."""

import datetime
import json
import resource
import subprocess
import time

from fabric import POD_PORT
from scene import Result, Scene

TUNNELS, DESCRIPTORS_FOR_OTHERS = 10_000, 600
DEADLINE_SECONDS, TOLERANCE_SECONDS = 5, 0.1
WORD_SECONDS = 0.1  # until a changed file takes effect


def crowds(count):
    """Each tunnel takes two descriptors of the router; if these do not suffice, some are HTTP/2 streams, which take one."""
    too_many = 2 * count + DESCRIPTORS_FOR_OTHERS - resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return {"crowd": count - max(0, too_many), "crowd_http2": max(0, too_many)}


def await_tunnels(stage, count):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        listed = subprocess.run(stage.fabric.inside("gate", "ss", "-Htn", "state", "established", "dport", "=", f":{POD_PORT}"),
                                capture_output=True, text=True, check=True)
        if listed.stdout.count("\n") >= count:
            return
        time.sleep(0.5)
    raise RuntimeError("the tunnels did not open")


def ends_by_the_log(stage):
    """When the router ended each tunnel, in seconds since the epoch. The log states how many lines it dropped."""
    ends = []
    for line in map(json.loads, stage.contestant.access_log.read_text().splitlines()):
        moment = datetime.datetime.fromisoformat(line["time"]).timestamp()
        if line.get("event") == "lines_dropped":
            ends += [moment] * line["count"]
        elif line["target"] == "/ws":
            ends.append(moment + line["total_ms"] / 1000)
    return sorted(ends)


def drain_of_tunnels(stage):
    count = 500 if stage.short else TUNNELS
    pods = stage.open(4, crowds(count), "tunnels")
    await_tunnels(stage, count)
    new = stage.pods.start(1)
    told = time.time()
    stage.contestant.tell(add=new, leave=pods)
    time.sleep(DEADLINE_SECONDS + 6)
    records = stage.close()
    ends = [end - told for end in ends_by_the_log(stage)]
    first, last = (ends[0], ends[-1]) if ends else (0.0, 0.0)
    closes = sum(record.outcome == "early" for record in records)
    goals = ((len(ends) == count, f"{count - len(ends)} tunnels did not end"),
             (first >= DEADLINE_SECONDS, f"a tunnel ended {first:.2f} s after its endpoint was to leave, before the deadline"),
             (last <= DEADLINE_SECONDS + WORD_SECONDS + TOLERANCE_SECONDS, f"the last tunnel ended {last - DEADLINE_SECONDS:.2f} s after the deadline"),
             (closes == count, f"{count - closes} clients got no Close frame"))
    return Result({"tunnels": count, "ended": len(ends), "first end s": round(first, 2), "last end s": round(last, 2), "with a Close frame": closes},
                  [sentence for reached, sentence in goals if not reached])


SCENES = [Scene("tunnels", f"ten thousand tunnels of endpoints that leave, deadline {DEADLINE_SECONDS} s", ("ebbgate",), drain_of_tunnels)]
