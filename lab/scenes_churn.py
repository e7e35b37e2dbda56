"""Frequent changes, and clients that never close."""

import itertools
import random
import subprocess
import time

from account import conclude, count, misses
from ports import LEAKY_ADDRESS, WEB
from scene import Result, Scene
from stage import MIXED

CHANGES_PER_SECOND = 200
QUIET_SECONDS, CHURN_SECONDS = 8, 60
LEAK_SECONDS, LEAKS_PER_SECOND, HELD_MAX = 60, 2, 64
IN_USE = 1  # the newest connection, which is in use while the census looks


def percentile(records, share):
    durations = sorted(record.seconds for record in records)
    return durations[int(share * len(durations))] if durations else 0.0


def churn(stage):
    """One endpoint of one of a thousand backends is switched off or on, 200 times a second; the other one stays."""
    stage.open(4, {"many": 300}, "churn", settle=2)
    stage.contestant.switch("many0", "one", on=True)  # skips contestants without this ability, before the long wait
    quiet_from = time.monotonic()
    time.sleep(QUIET_SECONDS)
    before, churn_from = stage.contestant.resident_kib(), time.monotonic()
    off = set()
    for number in itertools.count(1):
        backend = f"many{random.randrange(1000)}"
        stage.contestant.switch(backend, "one", on=backend in off)
        off ^= {backend}
        if (now := time.monotonic()) > churn_from + (10 if stage.short else CHURN_SECONDS):
            break
        time.sleep(max(0.0, churn_from + number / CHANGES_PER_SECOND - now))
    churned_until = time.monotonic()
    time.sleep(3)
    after = stage.contestant.resident_kib()
    stage.close()
    counts = count(stage)
    quiet = percentile([one for one in stage.records if quiet_from < one.start and one.end < churn_from], 0.99)
    busy = percentile([one for one in stage.records if churn_from < one.start < churned_until], 0.99)
    goals = ((busy <= 1.5 * quiet + 0.002, f"p99 {1000 * busy:.1f} ms while endpoints change, {1000 * quiet:.1f} ms before"),
             (after <= before * 1.1 + 2048, f"{before} KiB before, {after} KiB after"))
    return Result({"requests": counts.requests, "failed": len(counts.failed), "changes/s": round(number / (churned_until - churn_from)),
                   "p99 quiet ms": round(1000 * quiet, 1), "p99 churn ms": round(1000 * busy, 1), "KiB before": before, "KiB after": after,
                   "what failed": counts.by_class()},
                  misses(counts) + [sentence for reached, sentence in goals if not reached], counts.failed)


def connections_of_the_leak(stage):
    listed = subprocess.run(stage.fabric.inside("gate", "ss", "-Htn", "state", "established", "sport", "=", f":{WEB}", "dst", LEAKY_ADDRESS),
                            capture_output=True, text=True, check=True)
    return len(listed.stdout.splitlines())


def leaky_client(stage):
    """Two connections a second that are used once and never closed, beside the ordinary load. Ebbgate may keep 64 of them."""
    hurry = 10 if stage.short else 1
    stage.open(4, {**MIXED, "leak": LEAKS_PER_SECOND * hurry}, "leaky")
    held = []
    deadline = time.monotonic() + LEAK_SECONDS / hurry
    while time.monotonic() < deadline:
        held.append(connections_of_the_leak(stage))
        time.sleep(0.5)
    return conclude(stage, missed=[f"{max(held)} connections were held"] if max(held) > HELD_MAX + IN_USE else [], **{"held at most": max(held)})


SCENES = [
    Scene("leaky", "a client opens two kept-alive connections a second and closes none", ("ebbgate", "haproxy", "nginx"), leaky_client),
    Scene("churn", "200 endpoint changes a second on 1,000 backends", ("ebbgate", "haproxy"), churn),
]
