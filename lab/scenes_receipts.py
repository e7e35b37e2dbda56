"""Drain receipts: alone, a thousand times; and as the preStop hook of a rolling update."""

import concurrent.futures
import json
import pathlib
import signal
import subprocess
import sys
import time

from account import conclude
from fabric import POD_PORT
from scene import Result, Scene, Skip
from scenes_rolling import REPLICAS, sleep_until
from stage import MIXED

RECEIPTS = pathlib.Path(__file__).resolve().parent / "receipts.py"
WAIT_SECONDS = 20
DRAINS, P99_SECONDS = 1000, 0.1


def as_hook(stage, told_after):
    """SIGTERM follows the router's receipt, whichever way the router learned that the endpoint leaves."""
    pods = stage.open(REPLICAS, MIXED, "rolling")
    overdue, waits = 0, []
    for index in range(1 if stage.short else REPLICAS):
        new = stage.pods.start(1)[0]
        old, pods[index] = pods[index], new
        old.leaves()
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(1) as hook:
            waiting = hook.submit(stage.contestant.drained, old, WAIT_SECONDS)
            sleep_until(began + told_after)
            stage.contestant.tell(add=[new], leave=[old])
            overdue += not waiting.result()
        waits.append(time.monotonic() - began)
        old.signal(signal.SIGTERM)
        old.wait_until_gone()
        stage.contestant.tell(gone=[old])
    return conclude(stage, missed=[f"{overdue} receipts did not come"] if overdue else [],
                    **{"receipts s": f"{min(waits):.1f} to {max(waits):.1f}"})


def one_by_one(stage):
    """How long after the last byte the receipt arrives, a thousand times."""
    [pod] = stage.pods.start(1)
    stage.contestant.start([pod], "rolling")
    count = DRAINS // 10 if stage.short else DRAINS
    asked = subprocess.run(stage.fabric.bound("gate", sys.executable, RECEIPTS, count, f"{stage.fabric.address(pod.slot)}:{POD_PORT}"),
                           capture_output=True, text=True)
    if asked.returncode != 0:
        if "POST /api/v1/drains: 4" in asked.stderr:
            raise Skip("this ebbgate gives no receipts")
        raise RuntimeError(asked.stderr)
    times = sorted(json.loads(asked.stdout))
    p99 = times[int(0.99 * len(times))]
    missed = [f"p99 of receipts is {1000 * p99:.0f} ms"] * (p99 > P99_SECONDS)
    # A receipt may arrive before the response's last byte arrives elsewhere, but not before the router had sent that byte.
    missed += [f"a receipt came {-1000 * times[0]:.0f} ms before the last byte"] * (times[0] < -P99_SECONDS)
    return Result({"drains": len(times), "median ms": round(1000 * times[len(times) // 2], 1), "p99 ms": round(1000 * p99, 1),
                   "slowest ms": round(1000 * times[-1], 1)}, missed)


SCENES = [
    Scene("receipts", "a thousand drains: from the last byte to the receipt", ("ebbgate",), one_by_one),
    Scene("receipt-0", "rolling update with the receipt as preStop, endpoints updated at once", ("ebbgate",), as_hook, told_after=0),
    Scene("receipt-2", "rolling update with the receipt as preStop, endpoints updated 2 s later", ("ebbgate",), as_hook, told_after=2),
]
