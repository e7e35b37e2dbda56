"""Turns records into counts. docs/lab.md explains the columns."""

import collections
import dataclasses

from scene import Result

FAST = ("get", "fresh", "post", "sticky", "h2")
POSTS = ("post", "quick_post", "slow_post")
LATE_SECONDS = 1.0


@dataclasses.dataclass
class Counts:
    requests: int = 0
    failed: list = dataclasses.field(default_factory=list)  # records
    excused: list = dataclasses.field(default_factory=list)  # failed, but unavoidable for any proxy
    wrong: int = 0
    dup: int = 0
    late: list = dataclasses.field(default_factory=list)
    early: int = 0
    slowest: float = 0.0

    def by_class(self):
        counted = collections.Counter((record.kind, record.outcome) for record in self.failed)
        return ", ".join(f"{kind} {outcome} {count}" for (kind, outcome), count in sorted(counted.items()))


def wrong_sessions(records, pods):
    """Answers from another pod than before, although the previous pod had not begun to leave."""
    leaving = {pod.name: pod.leaving_since for pod in pods}
    last, wrong = {}, 0
    for record in sorted((one for one in records if one.kind == "sticky" and one.outcome == "ok"), key=lambda one: one.start):
        before = last.get(record.client)
        if before not in (None, record.pod) and (leaving[before] is None or leaving[before] > record.end):
            wrong += 1
        last[record.client] = record.pod
    return wrong


def unserved_during(record, windows):
    """Whether the request overlaps a time without endpoints, with half a second for the change to spread."""
    return any(record.start < end + 0.5 and record.end > begin for begin, end in windows)


def count(stage, excuse=None):
    """excuse(record, ran) -> whether no proxy could have saved a failed request; without it: only swallowed requests."""
    ran, swallowed = stage.pods.journals()
    counts = Counts()
    for record in stage.records:
        if record.kind == "pulse":
            continue  # its requests have records of their own
        counts.requests += 1
        if record.kind in POSTS and record.outcome == "ok" and not ran[record.identity]:
            record.outcome = "not-run"
        if record.outcome == "early":
            counts.early += 1
        elif record.failed:
            counts.failed.append(record)
            if record.identity in swallowed or (excuse and excuse(record, ran)):
                counts.excused.append(record)
        elif record.kind in FAST:
            counts.slowest = max(counts.slowest, record.seconds)
            if record.seconds > LATE_SECONDS and not unserved_during(record, stage.unserved):
                counts.late.append(record)
    counts.wrong = wrong_sessions(stage.records, stage.pods.all)
    counts.dup = sum(times - 1 for times in ran.values() if times > 1)
    return counts


def row(counts):
    return {"requests": counts.requests, "failed": len(counts.failed), "unknowable": len(counts.excused), "wrong": counts.wrong,
            "dup": counts.dup, "late": len(counts.late), "early": counts.early, "slowest s": round(counts.slowest, 2),
            "what failed": counts.by_class()}


def misses(counts, late=0):
    """The missed goals, as sentences; empty if all are met."""
    lost = len(counts.failed) - len(counts.excused)
    return [f"{number} {what}" for number, what in ((lost, "failed"), (counts.wrong, "wrong"), (counts.dup, "executed twice"),
                                                    (counts.early, "ended early")) if number] + \
           ([f"{len(counts.late)} late"] if len(counts.late) > late else [])


def conclude(stage, excuse=None, missed=(), **columns):
    """Ends the load and judges it, for every scene of leaving endpoints."""
    stage.close()
    counts = count(stage, excuse)
    return Result({**columns, **row(counts)}, [*misses(counts), *missed], counts.failed)
