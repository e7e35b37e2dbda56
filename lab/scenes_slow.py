"""Healthy endpoints that are slow: by the nature of their requests, because they are new, or one request at a time.

A contestant's reaction to their silence may cost only a little time: no request may fail, no stream or tunnel may be cut, no POST may
run twice, and hardly any GET may be slow. Ebbgate runs with its defaults; the tuned peers are tuned for deaths."""

import time

from account import POSTS, count
from scene import Result, Scene
from stage import ENDLESS

CONTESTANTS = ("ebbgate", "haproxy-tuned", "nginx-tuned")
OURS = ("ebbgate",)  # the others ignore paths
REPLICAS = 3
SECONDS, SPARSE_SECONDS, SHORT_SECONDS = 40, 60, 12
CLIENT_SECONDS, PATIENCE_SECONDS = 59, 30  # until a client gives up; at the end of the load
REPEATED_SHARE_MAX = 0.01
PAUSE_SECONDS = (3, 9)  # of quiet streams and tunnels
STREAMS = {"quiet": 4, "hush": 4}

# class: method, path, and duration in milliseconds
APART = {"quick": ("GET", "/get", 2, 30), "quick_post": ("POST", "/post", 2, 30), "slow_get": ("GET", "/report", 4000, 12000),
         "slow_post": ("POST", "/order", 4000, 12000), "poll": ("GET", "/poll", 5000, 20000)}
# Only the query distinguishes slow requests from quick ones.
ALIKE = {name: (method, "/work", *span) for name, (method, _, *span) in APART.items()}
SLUGGISH = {**APART, "quick": ("GET", "/get", 1500, 6000), "quick_post": ("POST", "/post", 1500, 6000)}

# Requests a second.
AMONG_FAST_ONES = {"quick": 60, "quick_post": 6}
SPARSE = {"quick": 1.6, "slow_get": 0.4, "slow_post": 0.4}


def play(stage, load, shapes=APART, seconds=SECONDS, joining=None, odd=None):
    """`odd`: options of the first pod. `joining`: options of two that come later."""
    stage.open(REPLICAS, {**STREAMS, **load}, "slow", first=odd, shapes=shapes, timeout=CLIENT_SECONDS, patience=PATIENCE_SECONDS,
               pause_seconds=PAUSE_SECONDS)
    parts = 3 if joining else 1
    for part in range(parts):
        time.sleep((SHORT_SECONDS if stage.short else seconds) / parts)
        if part < parts - 1:
            stage.contestant.tell(add=stage.pods.start(1, **joining))
    replays = stage.contestant.replays()
    stage.close()
    return judge(stage, replays)


def judge(stage, replays):
    counts = count(stage)
    got, slow = stage.pods.noted("got"), stage.pods.noted("slow")
    slow_gets = [identity for identity in got if identity in slow]
    repeated = [identity for identity in slow_gets if got[identity] > 1]
    cut = [record for record in counts.failed if record.kind in ENDLESS]
    failed = [record for record in counts.failed if record.kind not in ENDLESS]
    posts = [record for record in stage.records if record.kind in POSTS]
    slow_posts = [record for record in posts if record.identity in slow]
    share = len(repeated) / len(slow_gets) if slow_gets else 0.0
    goals = ((not failed, f"{len(failed)} failed"), (not cut, f"{len(cut)} streams and tunnels were cut"),
             (counts.dup == 0, f"{counts.dup} POSTs executed twice"),
             (share <= REPEATED_SHARE_MAX, f"{len(repeated)} of {len(slow_gets)} slow GETs ran more than once"))
    return Result({"requests": counts.requests, "slow POSTs": len(slow_posts), "slow GETs": len(slow_gets), "failed": len(failed), "cut": len(cut),
                   "dup": counts.dup, "slow GETs repeated": len(repeated), "other GETs repeated": sum(got[one] > 1 for one in got if one not in slow),
                   "replays": replays, "what failed": counts.by_class()},
                  [sentence for reached, sentence in goals if not reached], counts.failed)


SCENES = [
    Scene("slow-posts", "POSTs of 4 to 12 s among quick requests", CONTESTANTS, play, load={**AMONG_FAST_ONES, "slow_post": 3}),
    Scene("slow-posts-alike", "the same, all on one path", OURS, play, load={**AMONG_FAST_ONES, "slow_post": 3}, shapes=ALIKE),
    Scene("slow-gets", "GETs of 4 to 12 s among quick requests", CONTESTANTS, play, load={**AMONG_FAST_ONES, "slow_get": 3}),
    Scene("slow-gets-alike", "the same, all on one path", OURS, play, load={**AMONG_FAST_ONES, "slow_get": 3}, shapes=ALIKE),
    Scene("sparse", "2.4 requests a second, a third of them of 4 to 12 s", CONTESTANTS, play, load=SPARSE, seconds=SPARSE_SECONDS),
    Scene("sparse-alike", "the same, all on one path", OURS, play, load=SPARSE, seconds=SPARSE_SECONDS, shapes=ALIKE),
    Scene("all-slow", "every request takes 1.5 to 12 s", CONTESTANTS, play,
          load={"quick": 6, "quick_post": 3, "slow_get": 1, "slow_post": 1}, shapes=SLUGGISH),
    Scene("cold", "two new endpoints answer nothing in the first 5 s after their first request", CONTESTANTS, play,
          load={**AMONG_FAST_ONES, "slow_post": 0.3}, joining={"cold": 5}),
    Scene("serial", "one endpoint handles one request at a time, and some take 4 to 12 s", CONTESTANTS, play,
          load={"quick": 20, "quick_post": 4, "slow_get": 0.15, "slow_post": 0.15}, odd={"serial": 1}),
    Scene("quiet-streams", "many streams and tunnels that are quiet for seconds, a few slow requests", CONTESTANTS, play,
          load={"quick": 5, "slow_get": 0.5, "slow_post": 0.5, "quiet": 30, "hush": 30}),
    Scene("long-polls", "GETs of 5 to 20 s that wait for news, among quick requests", CONTESTANTS, play, load={"quick": 10, "poll": 3}),
    Scene("long-polls-alike", "the same, all on one path", OURS, play, load={"quick": 10, "poll": 3}, shapes=ALIKE),
    Scene("heavy", "one request in a hundred takes 4 to 12 s", CONTESTANTS, play,
          load={"quick": 90, "quick_post": 9, "slow_get": 0.7, "slow_post": 0.3}),
    Scene("heavy-alike", "the same, all on one path", OURS, play,
          load={"quick": 90, "quick_post": 9, "slow_get": 0.7, "slow_post": 0.3}, shapes=ALIKE),
]
