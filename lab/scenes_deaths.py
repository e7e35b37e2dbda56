"""Endpoints that die without a word, or lie: one of three pods falls ill under load, and is cured ten seconds later.

The contestant is told nothing; it has to find out.
"""

import signal
import statistics
import time

from account import count
from contestants import IN_DEATHS
from scene import Result, Scene
from stage import FAULTY

REPLICAS = 3
SICK_SECONDS, CURED_SECONDS = 10, 6
IDEMPOTENT = ("get", "fresh", "long")
TOLD_SECONDS, SLOW_START_SECONDS, RECOVERY_SECONDS, STALL_SECONDS = 2.0, 1.5, 5.0, 2.0


class Death:
    """A fault and its cure."""

    def __init__(self, strike, cure):
        self.strike, self.cure = strike, cure


def restart(stage, pod):
    """The same address serves again, by a new process of the same name for the contestant."""
    again = stage.pods.await_ready(stage.pods.spawn(slot=pod.slot))
    stage.reborn[pod.name] = again.name


DEATHS = {
    "node-death": ("packets to and from one pod vanish", Death(lambda stage, pod: stage.fabric.cut(pod.slot),
                                                               lambda stage, pod: stage.fabric.mend(pod.slot))),
    "link-down": ("the link of one pod is down, the fabric answers ICMP unreachable",
                  Death(lambda stage, pod: stage.fabric.unplug(pod.slot), lambda stage, pod: stage.fabric.plug(pod.slot))),
    "frozen": ("one pod is stopped (SIGSTOP)", Death(lambda _, pod: pod.signal(signal.SIGSTOP), lambda _, pod: pod.signal(signal.SIGCONT))),
    "no-answer": ("one pod accepts and never answers", Death(lambda _, pod: pod.suffer("hang"), lambda _, pod: pod.suffer("none"))),
    "gray": ("one pod answers health checks and nothing else", Death(lambda _, pod: pod.suffer("gray"), lambda _, pod: pod.suffer("none"))),
    "reset": ("one pod resets what it has accepted", Death(lambda _, pod: pod.suffer("reset"), lambda _, pod: pod.suffer("none"))),
    "kill": ("one pod is killed (SIGKILL), nobody tells", Death(lambda _, pod: pod.signal(signal.SIGKILL), restart)),
}


def death(stage, kind):
    fault = DEATHS[kind][1]
    stage.reborn = {}
    victim = stage.open(REPLICAS, FAULTY, "deaths", settle=3, timeout=20)[0]
    struck = time.monotonic()
    fault.strike(stage, victim)
    try:
        time.sleep(SICK_SECONDS / 2 if stage.short else SICK_SECONDS)
    finally:
        cured = time.monotonic()
        fault.cure(stage, victim)
    time.sleep(CURED_SECONDS)
    stage.close()
    return judge(stage, {victim.name, stage.reborn.get(victim.name, victim.name)}, struck, cured)


def judge(stage, names, struck, cured):
    counts = count(stage)
    records = [record for record in stage.records if record.end > struck]
    failed = [record for record in records if record.failed and record.kind != "stream"]
    repeatable = [record for record in failed if record.kind in IDEMPOTENT]
    posts = [record for record in failed if record.kind == "post"]
    quick = [record for record in records if record.kind in ("get", "fresh", "post")]
    slow = [record for record in quick if record.seconds > 1]
    stalled = [record for record in quick if record.seconds > STALL_SECONDS]
    long_late = [record for record in records if record.kind == "long" and record.seconds > 6 + STALL_SECONDS]
    last_slow = max((record.start - struck for record in slow), default=0.0)
    told = [record.end - struck for record in stage.records if record.kind == "stream" and record.pod in names
            and record.start < struck and record.end > struck]
    told_posts = max((record.end - max(record.start, struck) for record in posts), default=0.0)
    back = min((record.start - cured for record in stage.records
                if record.pod in names and record.start > cured and record.outcome == "ok" and record.kind != "long"), default=None)
    untold = sum(record.outcome == "open" for record in stage.records if record.kind == "stream" and record.pod in names and record.start < struck)
    shown = {"requests": counts.requests, "failed": len(repeatable), "POSTs failed": len(posts), ">1 s": len(slow), ">2 s": len(stalled),
             "median ms": round(1000 * statistics.median(record.seconds for record in quick), 1),
             "slowest s": round(max((record.seconds for record in quick), default=0), 2), "last slow start s": round(last_slow, 2),
             "6 s over 8": len(long_late), "streams told s": "never" if untold else round(max(told, default=0), 2),
             "POSTs told s": round(told_posts, 2), "used again s": "never" if back is None else round(back, 2), "dup": counts.dup,
             "what failed": counts.by_class()}
    goals = ((len(repeatable) == 0, f"{len(repeatable)} idempotent requests failed"),
             (not stalled, f"{len(stalled)} requests over {STALL_SECONDS:.0f} s"),
             (not long_late, f"{len(long_late)} requests of 6 s took over {6 + STALL_SECONDS:.0f} s"),
             (last_slow <= SLOW_START_SECONDS, f"the last slow request started {last_slow:.2f} s after the fault"),
             (not untold and max(told, default=0) <= TOLD_SECONDS, f"streams were told {'never' if untold else f'after {max(told, default=0):.2f} s'}"),
             (told_posts <= TOLD_SECONDS, f"POSTs were told after {told_posts:.2f} s"),
             (back is not None and back <= RECOVERY_SECONDS, f"used again {'never' if back is None else f'after {back:.2f} s'}"),
             (counts.dup == 0, f"{counts.dup} POSTs executed twice"))
    return Result(shown, [sentence for reached, sentence in goals if not reached], failed)


SCENES = [Scene(name, title, IN_DEATHS, death, kind=name) for name, (title, _) in DEATHS.items()]
