#!/usr/bin/python3
"""Clients that are bound to one pod: bound_clients.py SPECIFICATION, beside the router.

Tunnels and slow requests fill the pod up to its limit, fast requests with its cookie wait in the queue. Then the program prints "ready".
A line on standard input reports that the pod was just disabled; from then on browsers come with its cookie. The result is one JSON
object with all outcomes, in seconds from the disabling."""

import asyncio
import contextlib
import json
import sys
import time

from client import Failure, Http1, cookie_of, tunnel
from ports import WEB

COOKIE_TRIES = 200
BROWSER_PERIOD = 0.2


async def cookie_for(pod):
    """The cookie that the router gives to a client of this pod."""
    for _ in range(COOKIE_TRIES):
        connection = await Http1.open(WEB)
        answer = await connection.ask("GET", "/get")
        connection.close()
        if answer.pod == pod:
            return cookie_of(answer)
    raise SystemExit(f"no cookie of {pod} came in {COOKIE_TRIES} tries")


class Bound:
    def __init__(self, spec, cookie):
        self.spec, self.cookie = spec, cookie
        self.disabled_at = 0.0
        self.ends = {"slow": [], "queued": [], "browser": [], "tunnel": []}  # [outcome, pod, end, seconds]

    async def noted(self, kind, work):
        pod, outcome, begun = "", "ok", time.monotonic()

        def know(name):
            nonlocal pod
            pod = name

        try:
            await work(know)
        except Failure as failure:
            outcome = f"{failure.reason} {failure.note}".strip()
        except (OSError, asyncio.IncompleteReadError):
            outcome = "cut"
        except asyncio.CancelledError:
            outcome = "open"
        now = time.monotonic()
        self.ends[kind].append([outcome, pod, now, now - begun])

    async def get(self, know, milliseconds):
        connection = await Http1.open(WEB)
        try:
            know((await connection.ask("GET", f"/get?ms={milliseconds}", Cookie=self.cookie)).pod)
        finally:
            connection.close()

    async def browser(self):
        while True:
            await self.noted("browser", lambda know: self.get(know, 5))
            await asyncio.sleep(BROWSER_PERIOD)

    async def run(self):
        spec, tasks = self.spec, []

        def begin(count, kind, work):
            tasks.extend(asyncio.ensure_future(self.noted(kind, work)) for _ in range(count))

        begin(spec["tunnels"], "tunnel", lambda know: tunnel(WEB, 3600, 0.2, know, Cookie=self.cookie))
        await asyncio.sleep(0.3)
        begin(spec["slow"], "slow", lambda know: self.get(know, 3000))
        await asyncio.sleep(0.3)
        begin(spec["queued"], "queued", lambda know: self.get(know, 5))
        await asyncio.sleep(0.3)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        self.disabled_at = time.monotonic()
        tasks += [asyncio.ensure_future(self.browser()) for _ in range(spec["browsers"])]
        await asyncio.sleep(spec["seconds"])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return {kind: [[outcome, pod, end - self.disabled_at, seconds] for outcome, pod, end, seconds in ends] for kind, ends in self.ends.items()}


async def main():
    spec = json.loads(sys.argv[1])
    print(json.dumps(await Bound(spec, await cookie_for(spec["pod"])).run()))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
