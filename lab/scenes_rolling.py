"""Endpoints that leave in order: rolling updates and their harder relatives."""

import signal
import time

from account import conclude
from contestants import ROUTERS
from scene import Scene
from stage import MIXED

REPLICAS, CYCLES = 4, 3
PAUSE = 1.0


def sleep_until(moment):
    time.sleep(max(0.0, moment - time.monotonic()))


def replace(stage, old, told_after, end=signal.SIGTERM, **options):
    """A new pod starts; then the old one ends, and the contestant learns of both at once, `told_after` seconds later. Negative: it
    learns first. Returns the new pod."""
    new = stage.pods.start(1, **options)[0]
    zero = time.monotonic()
    if told_after < 0:
        old.leaves()
        stage.contestant.tell(add=[new], leave=[old])
        sleep_until(zero - told_after)
        old.signal(end)
    else:
        old.signal(end)
        sleep_until(zero + told_after)
        stage.contestant.tell(add=[new], leave=[old])
    return new


def forget_the_gone(stage, leaving):
    """Removes ended pods from the list of endpoints, as Kubernetes does."""
    gone = [pod for pod in leaving if not pod.alive()]
    if gone:
        stage.contestant.tell(gone=gone)
        for pod in gone:
            leaving.remove(pod)


def rolling_update(stage, told_after):
    pods = stage.open(REPLICAS, MIXED, "rolling")
    leaving = []
    for _ in range(1 if stage.short else CYCLES):
        for index in range(2 if stage.short else REPLICAS):
            leaving.append(pods[index])
            pods[index] = replace(stage, pods[index], told_after)
            time.sleep(PAUSE)
            forget_the_gone(stage, leaving)
    return conclude(stage)


def one_replica(stage, told_after):
    """The only pod is replaced; until the contestant knows the new pod, no endpoint serves."""
    [pod] = stage.open(1, MIXED, "rolling")
    for _ in range(1 if stage.short else 3):
        with stage.nothing_serves():
            old, pod = pod, replace(stage, pod, told_after)
        time.sleep(3)
        old.wait_until_gone()
        stage.contestant.tell(gone=[old])
    return conclude(stage)


def recreate(stage):
    """All pods end, the contestant learns of it at once, and only then new pods start."""
    pods = stage.open(2, MIXED, "rolling")
    for _ in range(1 if stage.short else 3):
        with stage.nothing_serves():
            # First told, then ended: a pod refuses connections from its SIGTERM on, and a request that both refuse before
            # the contestant knows is lost with any contestant, the more often the busier the machine.
            stage.contestant.tell(leave=pods)
            for pod in pods:
                pod.signal(signal.SIGTERM)
            time.sleep(0.8)
            old, pods = pods, stage.pods.start(2)
            stage.contestant.tell(add=pods)
        time.sleep(3)
        for pod in old:
            pod.wait_until_gone()
        stage.contestant.tell(gone=old)
    return conclude(stage)


def scale_to_zero(stage):
    """Down to no pod for three seconds, and back."""
    pods = stage.open(2, MIXED, "rolling")
    with stage.nothing_serves():
        for pod in pods:
            pod.leaves()
        stage.contestant.tell(leave=pods)
        for pod in pods:
            pod.signal(signal.SIGTERM)
        stage.contestant.tell(gone=pods)
        time.sleep(3)
        stage.contestant.tell(add=stage.pods.start(2))
    time.sleep(3)
    return conclude(stage)


def black_hole(stage):
    """The address of an ended pod is a black hole at once; the contestant learns of it 2 s later."""
    pods = stage.open(REPLICAS, MIXED, "rolling")
    for index in range(1 if stage.short else REPLICAS):
        new = stage.pods.start(1)[0]
        old, pods[index] = pods[index], new
        old.leaves()
        stage.fabric.cut(old.slot)
        try:
            old.signal(signal.SIGKILL)
            time.sleep(2)
            stage.contestant.tell(add=[new], leave=[old])
            stage.contestant.tell(gone=[old])
            time.sleep(PAUSE)
        finally:
            stage.fabric.mend(old.slot)
    return conclude(stage, excuse=lost_with_its_pod)


def crash(stage):
    """SIGKILL, reported half a second later; a new pod replaces the old."""
    pods = stage.open(REPLICAS, MIXED, "rolling")
    for index in range(1 if stage.short else REPLICAS):
        old, pods[index] = pods[index], replace(stage, pods[index], 0.5, end=signal.SIGKILL)
        stage.contestant.tell(gone=[old])
        time.sleep(PAUSE)
    return conclude(stage, excuse=lost_with_its_pod)


def lost_with_its_pod(record, _):
    """A killed process loses the answers that it had begun, and POSTs whose progress is unknown."""
    return record.kind in ("post", "ws", "grpc", "download") or record.outcome == "truncated"


def flapping(stage):
    """An endpoint leaves and comes back repeatedly, in the middle of its drain, and serves all the time."""
    pods = stage.open(REPLICAS, MIXED, "rolling")
    for turn in range(8 if stage.short else 30):
        pod = pods[turn % 2]
        pod.leaves()
        stage.contestant.tell(leave=[pod])
        time.sleep(0.3)
        stage.contestant.tell(gone=[pod], add=[pod]) if turn % 3 == 2 else stage.contestant.tell(add=[pod])
        time.sleep(0.2)
    return conclude(stage)


def control(stage):
    """Nothing changes: failures here are the laboratory's."""
    stage.open(REPLICAS, MIXED, "rolling")
    time.sleep(3 if stage.short else 10)
    return conclude(stage)


SCENES = [
    Scene("control", "nothing happens", ROUTERS, control),
    Scene("rolling-before", "rolling update, told 1 s before SIGTERM", ROUTERS, rolling_update, told_after=-1),
    Scene("rolling-at", "rolling update, told at SIGTERM", ROUTERS, rolling_update, told_after=0),
    Scene("rolling-0.5", "rolling update, told 0.5 s after SIGTERM", ROUTERS, rolling_update, told_after=0.5),
    Scene("rolling-2", "rolling update, told 2 s after SIGTERM", ROUTERS, rolling_update, told_after=2),
    Scene("one-0", "one replica replaced, told at SIGTERM", ROUTERS, one_replica, told_after=0),
    Scene("one-0.5", "one replica replaced, told 0.5 s after SIGTERM", ROUTERS, one_replica, told_after=0.5),
    Scene("one-2", "one replica replaced, told 2 s after SIGTERM", ROUTERS, one_replica, told_after=2),
    Scene("recreate", "all pods end before new ones start", ROUTERS, recreate),
    Scene("zero", "scale to zero and back after 3 s", ROUTERS, scale_to_zero),
    Scene("black-hole", "the address of an ended pod swallows packets, told 2 s later", ROUTERS, black_hole),
    Scene("crash", "pods are killed, told 0.5 s later", ROUTERS, crash),
    Scene("flapping", "endpoints leave and return in mid-drain", ROUTERS, flapping),
]
