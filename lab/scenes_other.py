"""Faults of ordinary days: idle connections that close while requests arrive, lost FINs, clients that leak."""

import statistics
import time

from account import conclude, count, misses
from contestants import IN_DEATHS
from scene import Result, Scene

REPLICAS = 3
IDLE_MILLISECONDS = 1000
# Pulses meet connections that have been idle for about the pods' idle timeout.
PULSES = {"pulse": 0.99, "get": 30, "post": 10}


def keep_alive_race(stage, fins):
    """Pods close connections after a second of idleness; pulses of requests come about once a second."""
    pods = stage.open(REPLICAS, PULSES, "deaths", pod_options={"idle": IDLE_MILLISECONDS})
    try:
        for pod in pods if not fins else ():
            stage.fabric.lose_fins(pod.slot)
        time.sleep(5 if stage.short else 30)
        # Without its FIN a close shows as a reset, and a bare reset proves nothing about a POST.
        return conclude(stage, excuse=None if fins else lambda record, _: record.kind == "post", replays=stage.contestant.replays())
    finally:
        for pod in pods if not fins else ():
            stage.fabric.deliver_fins(pod.slot)


def slow_start(stage):
    """A fourth pod joins three: its share of the requests in its first second, and once it is warm."""
    window = 5
    pods = stage.open(REPLICAS, {"get": 200, "fresh": 100}, "slow-start")
    new = stage.pods.start(1)[0]
    joined = time.monotonic()
    stage.contestant.tell(add=[new])
    time.sleep(2 * window)
    stage.close()
    counts = count(stage)

    def share(begin, end):
        served = [record.pod == new.name for record in stage.records if joined + begin <= record.start < joined + end and record.outcome == "ok"]
        return statistics.mean(served) if served else 0.0

    first, warm = share(0, 1), share(window + 1, 2 * window)
    fair = 1 / (len(pods) + 1)
    missed = misses(counts)
    if not 0 < first < fair * 0.6:
        missed.append(f"a new endpoint got {first:.0%} of the requests in its first second")
    if not fair * 0.6 < warm < fair * 1.4:
        missed.append(f"a warm endpoint got {warm:.0%} of the requests")
    return Result({"requests": counts.requests, "failed": len(counts.failed), "share in 1st s": f"{first:.0%}", "share when warm": f"{warm:.0%}",
                   "what failed": counts.by_class()}, missed, counts.failed)


SCENES = [
    Scene("keep-alive-race", "pods close idle connections after 1 s while requests arrive", IN_DEATHS, keep_alive_race, fins=True),
    Scene("fin-loss", "the same, and their FINs are lost", IN_DEATHS, keep_alive_race, fins=False),
    Scene("slow-start", "a new endpoint warms up for 5 s", ("ebbgate", "haproxy"), slow_start),
]
