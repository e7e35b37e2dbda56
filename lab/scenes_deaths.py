"""Endpoints that die silently, or give wrong answers: one of three pods fails under load, and recovers ten seconds later.

The contestant gets no notice and must detect the fault. Variants: "unchecked" is without health checks, "busy" on a machine all of whose
cores have other work, "light" has so little load that no endpoint has two requests at a time."""

import contextlib
import math
import signal
import time

from account import count
from contestants import IN_DEATHS
from scene import Result, Scene
from stage import ENDLESS, FAULTY

REPLICAS = 3
SICK_SECONDS, CURED_SECONDS = 10, 6
IDEMPOTENT = ("get", "fresh", "long")
TOLD_SECONDS, SLOW_START_SECONDS, RECOVERY_SECONDS, STALL_SECONDS, BLACK_HOLE_SECONDS = 2.0, 1.5, 5.0, 2.0, 1.0
# Connections to them are alive, and nothing certain distinguishes them from slow endpoints: unrepeatable requests must wait.
SILENT = ("frozen", "no-answer", "gray")
# Silent tunnels and responses: their end shows in no request.
HUSHED = {**FAULTY, "quiet": 4, "hush": 4}
# No connection is idle when the next request arrives, so only new connections can fail.
STREAMS = {"get": 4, "fresh": 2, "stream": 6, "quiet": 6, "hush": 6}
LIGHT, LIGHT_SETTLE_SECONDS = {"get": 20}, 10
HUSH_SECONDS, IDLE_MILLISECONDS = (600, 600), 50


class Death:
    """A fault and its cure."""

    def __init__(self, strike, cure):
        self.strike, self.cure = strike, cure


def restart(stage, pod):
    """The same address serves again, with a new process that the contestant sees under the same name."""
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


def death(stage, kind, checked=True, busy=False, streams=False, light=False):
    fault = DEATHS[kind][1]
    stage.reborn = {}
    classes = STREAMS if streams else LIGHT if light else HUSHED
    family = "streams" if streams else "deaths"
    victim = stage.open(REPLICAS, classes, family if checked else "streams-unchecked" if streams else "unchecked", settle=LIGHT_SETTLE_SECONDS if light else 3,
                        pod_options={"idle": IDLE_MILLISECONDS} if streams else None, pause_seconds=HUSH_SECONDS)[0]
    with stage.busy() if busy else contextlib.nullcontext():
        time.sleep(1)
        struck = time.monotonic()
        fault.strike(stage, victim)
        try:
            time.sleep(SICK_SECONDS / 2 if stage.short else SICK_SECONDS)
        finally:
            cured = time.monotonic()
            fault.cure(stage, victim)
        time.sleep(CURED_SECONDS)
    stage.close()
    verdict = Verdict(stage, kind, {victim.name, stage.reborn.get(victim.name, victim.name)}, struck, cured)
    return Result(verdict.row(), verdict.misses(), verdict.failed + verdict.posts)


class Verdict:
    """The verdict of the records on one fault."""

    def __init__(self, stage, kind, names, struck, cured):
        self.counts = count(stage)
        self.certain = kind not in SILENT
        self.stall_seconds = BLACK_HOLE_SECONDS if kind == "node-death" else STALL_SECONDS
        after = [record for record in stage.records if record.end > struck]
        failed = [record for record in after if record.failed]
        self.failed = [record for record in failed if record.kind in IDEMPOTENT]
        self.posts = [record for record in failed if record.kind == "post"]
        self.quick = [record for record in after if record.kind in ("get", "fresh", "post")]
        self.slow = [record for record in self.quick if record.seconds > 1]
        self.repeatable = [record for record in self.quick if self.certain or record.kind in IDEMPOTENT]
        self.stalled = [record for record in self.repeatable if record.seconds > self.stall_seconds]
        # Requests interrupted by the fault are repeated: they are slow, but not slower than that.
        self.overdue = [record for record in after if record.kind == "long" and record.end - max(record.start, struck) > 6 + STALL_SECONDS]
        self.last_slow = max((record.start - struck for record in self.slow), default=0.0)
        streams = [record for record in after if record.kind in ENDLESS and record.pod in names and record.start < struck]
        # A stream that still runs at the end never got an error.
        self.streams_told = max((math.inf if record.outcome in ("open", "ok") else record.end - struck for record in streams), default=0.0)
        # Silent pods may only be slow: a contestant that ends their streams or POSTs has guessed.
        self.guessed = [] if self.certain else [record for record in streams + self.posts if record.failed and record.end < cured]
        self.posts_told = max((record.end - max(record.start, struck) for record in self.posts), default=0.0)
        self.used_again = min((record.start - cured for record in self.quick if record.pod in names and record.start > cured), default=math.inf)

    def row(self):
        return {"requests": self.counts.requests, "failed": len(self.failed), "POSTs failed": len(self.posts), ">1 s": len(self.slow),
                "too slow": len(self.stalled), "slowest s": shown(max((record.seconds for record in self.repeatable), default=0)),
                "last slow start s": shown(self.last_slow), "6 s over 8": len(self.overdue), "streams told s": shown(self.streams_told),
                "POSTs told s": shown(self.posts_told), "used again s": shown(self.used_again), "dup": self.counts.dup,
                "what failed": self.counts.by_class()}

    def misses(self):
        goals = ((not self.failed, f"{len(self.failed)} idempotent requests failed"),
                 (not self.stalled, f"{len(self.stalled)} requests over {self.stall_seconds:.0f} s"),
                 (not self.overdue, f"{len(self.overdue)} requests of 6 s took over {6 + STALL_SECONDS:.0f} s after the fault"),
                 (self.last_slow <= SLOW_START_SECONDS, f"the last slow request started {self.last_slow:.2f} s after the fault"),
                 (self.streams_told <= TOLD_SECONDS or not self.certain, f"streams were told after {shown(self.streams_told)} s"),
                 (self.posts_told <= TOLD_SECONDS or not self.certain, f"POSTs were told after {self.posts_told:.2f} s"),
                 (not self.guessed, f"{len(self.guessed)} streams and POSTs of a silent pod were ended"),
                 (self.used_again <= RECOVERY_SECONDS, f"used again after {shown(self.used_again)} s"),
                 (self.counts.dup == 0, f"{self.counts.dup} POSTs executed twice"))
        return [sentence for reached, sentence in goals if not reached]


def shown(seconds):
    return "never" if seconds == math.inf else round(seconds, 2)


def variants():
    """Only for Ebbgate: the peers infer nothing, so their variants would not differ."""
    for kind in ("node-death", *SILENT):
        for checked, busy in ((False, False), (True, True), (False, True)):
            name = kind + ("" if checked else "-unchecked") + ("-busy" if busy else "")
            title = DEATHS[kind][0] + ("" if checked else ", no health checks") + (", all cores busy" if busy else "")
            yield Scene(name, title, ("ebbgate",), death, kind=kind, checked=checked, busy=busy)
    for kind in SILENT:
        for checked in (True, False):
            yield Scene(kind + "-light" + ("" if checked else "-unchecked"),
                        DEATHS[kind][0] + ", 20 requests a second" + ("" if checked else ", no health checks"),
                        ("ebbgate",), death, kind=kind, checked=checked, light=True)
    for checked in (True, False):
        yield Scene("node-death-streams" + ("" if checked else "-unchecked"),
                    "packets to one pod vanish; it has streams, and a few requests on new connections" + ("" if checked else ", no health checks"),
                    ("ebbgate",), death, kind="node-death", checked=checked, streams=True)


SCENES = [*(Scene(name, title, IN_DEATHS, death, kind=name) for name, (title, _) in DEATHS.items()), *variants()]
