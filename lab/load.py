#!/usr/bin/python3
"""The load: load.py SPECIFICATION runs the given classes until a line arrives, and writes the outcome of every request.

Open loop: requests start on schedule, whatever the outcome of earlier ones. One record for each request: [class, id, start, end,
outcome, pod, note]; the outcome is "ok" or a word for the failure. Times are CLOCK_MONOTONIC, which all processes of the laboratory
share."""

import asyncio
import contextlib
import itertools
import json
import pathlib
import random
import sys
import time

from client import Failure, Http1, Pool, cookie_of, quiet_tunnel, silent_tunnel, tunnel
from client_http2 import Connections
from ports import GRPC, HTTP2, LEAKY_ADDRESS, WEB
from stage import ENDLESS

DOWNLOAD_BYTES, DOWNLOAD_PACE = 100 << 20, 25 << 20
CROWD_PER_SECOND, CROWD_PER_CONNECTION = 1000, 80
PATIENCE_SECONDS = 10  # for requests that still run at the end


class Load:
    def __init__(self, spec):
        self.spec, self.records = spec, []
        self.stopping = asyncio.Event()
        self.running, self.loops, self.endless = set(), set(), set()
        self.leaked = []
        self.numbers = itertools.count()
        self.pools = {name: Pool(WEB) for name in ("get", "post", "slow", "long")}
        self.http2, self.grpc = Connections(HTTP2, 3), Connections(GRPC, 2)
        self.crowded = Connections(HTTP2, -(-spec["classes"].get("crowd_http2", 0) // CROWD_PER_CONNECTION))

    # Bookkeeping

    async def measure(self, kind, work, timeout):
        """Runs one request of a class: work(id, know), where know(pod) records the serving pod."""
        identity, pod, outcome, note = f"{kind}-{next(self.numbers)}", "", "ok", ""
        start = time.monotonic()

        def know(name):
            nonlocal pod
            pod = name or pod

        try:
            async with asyncio.timeout(timeout):
                await work(identity, know)
        except Failure as failure:
            outcome, note = failure.reason, failure.note
        except TimeoutError:
            outcome = "timeout"
        except (OSError, asyncio.IncompleteReadError):
            outcome = "truncated"
        except asyncio.CancelledError:
            outcome = "open"  # still running when the load ended
        self.records.append([kind, identity, start, time.monotonic(), outcome, pod, note])

    async def at_rate(self, kind, rate, work, timeout):
        due = time.monotonic() + random.random() / rate
        while not self.stopping.is_set():
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            if self.stopping.is_set():
                break
            task = asyncio.ensure_future(self.measure(kind, work, timeout))
            self.running.add(task)
            task.add_done_callback(self.running.discard)
            # Jitter, so that requests meet every phase of other events; a pulse keeps its time.
            due += 1 / rate if kind == "pulse" else random.uniform(0.5, 1.5) / rate

    async def one_after_another(self, kind, work, pause, timeout):
        await asyncio.sleep(random.random() * pause)
        while not self.stopping.is_set():
            await self.measure(kind, work, timeout)
            await asyncio.sleep(random.uniform(0.5, 1.5) * pause)

    async def soon(self, delay, kind, work):
        """Starts one request, without waiting for its end."""
        await asyncio.sleep(delay)
        await self.measure(kind, work, 3600)

    # Classes

    async def exchange(self, pool, know, method, target, body=b"", expected=None, **fields):
        connection = await pool.take()
        try:
            answer = await connection.ask(method, target, body, **fields)
        except BaseException:
            connection.close()
            raise
        know(answer.pod)
        if expected is not None and answer.body != expected:
            raise Failure("mismatch")
        pool.give_back(connection)
        return answer

    async def get(self, identity, know):
        await self.exchange(self.pools["get"], know, "GET", f"/get?ms=10&id={identity}")

    async def pulse(self, _, __):
        """Many at about the same time, one period after the previous ones."""
        async def one(kind, work):
            await asyncio.sleep(random.uniform(0, 0.02))
            await self.measure(kind, work, self.spec["timeout"])

        await asyncio.gather(*(one(kind, work) for kind, work in [("get", self.get)] * 40 + [("post", self.post)] * 20))

    async def fresh(self, identity, know):
        await self.exchange(pool := Pool(WEB), know, "GET", f"/get?ms=5&id={identity}")
        for connection in pool.idle:
            connection.close()

    async def post(self, identity, know):
        body = identity.encode() * random.choice((10, 100, 1500))
        await self.exchange(self.pools["post"], know, "POST", f"/post?ms=20&id={identity}", body, expected=body)

    async def many(self, identity, know):
        """One of a thousand hosts."""
        await self.exchange(self.pools["get"], know, "GET", f"/get?ms=5&id={identity}", Host=f"many{random.randrange(1000)}.example.com")

    async def leak(self, identity, know):
        """A client that forgets to close: a new connection each time, never closed."""
        self.leaked.append(connection := await Http1.open(WEB, LEAKY_ADDRESS))
        know((await connection.ask("GET", f"/get?ms=5&id={identity}")).pod)

    async def slow(self, identity, know):
        """Half of them silent for 3 s, half a chunk every 100 ms for 3 s."""
        target = f"/slow?ms=3000&id={identity}" if random.random() < 0.5 else f"/pieces?count=30&id={identity}"
        await self.exchange(self.pools["slow"], know, "GET", target)

    async def long(self, identity, know):
        await self.exchange(self.pools["long"], know, "GET", f"/slow?ms=6000&id={identity}")

    async def ws(self, _, know):
        await tunnel(WEB, random.uniform(0.5, 1) * self.spec["tunnel_seconds"], 0.2, know)

    async def crowd(self, _, know):
        await silent_tunnel(WEB, know)

    async def crowd_http2(self, _, know):
        connection = await self.crowded.take()
        await connection.silent_tunnel("/ws", know)

    async def h2(self, identity, know):
        connection = await self.http2.take()
        know((await connection.get(f"/get?ms=10&id={identity}")).get("x-pod"))

    async def grpc_chat(self, _, know):
        connection = await self.grpc.take()
        await connection.chat("/lab.Echo/Chat", self.spec["tunnel_seconds"] / 2, 0.2, know)

    @contextlib.asynccontextmanager
    async def begun(self, target, know):
        """A separate connection whose response has begun."""
        connection = await Http1.open(WEB)
        try:
            await connection.send("GET", target)
            answer = await connection.head()
            answer.expect()
            know(answer.pod)
            yield connection
        finally:
            connection.close()

    async def stream(self, identity, know):
        """An endless response; its end is measured."""
        async with self.begun(f"/pieces?count=0&id={identity}", know) as connection:
            async for _ in connection.chunks():
                pass
            raise Failure("ended")

    async def quiet(self, identity, know):
        """A response that sends data, then nothing for seconds, repeatedly."""
        pause = random.uniform(*self.spec["pause_seconds"])
        async with self.begun(f"/quiet?count=3&ms={1000 * pause:.0f}&id={identity}", know) as connection:
            async for _ in connection.chunks():
                pass

    async def hush(self, _, know):
        """The same as a WebSocket."""
        pause = random.uniform(*self.spec["pause_seconds"])
        await quiet_tunnel(WEB, 3, pause, know)

    def shaped(self, method, path, least_ms, most_ms):
        """Requests that take from `least_ms` to `most_ms`; the query tells the pods, so that the path does not show the duration."""
        pool = Pool(WEB)

        async def work(identity, know):
            body = identity.encode() * 10 if method == "POST" else b""
            target = f"{path}?ms={random.randint(least_ms, most_ms)}&id={identity}"
            await self.exchange(pool, know, method, target, body, expected=body or None)

        return work

    async def download(self, identity, know):
        async with self.begun(f"/download?bytes={DOWNLOAD_BYTES}&id={identity}", know) as connection:
            await connection.read_slowly(DOWNLOAD_BYTES, DOWNLOAD_PACE)

    def sticky_client(self, number):
        """A browser: one connection at a time, cookies kept. nginx hashes `session`, the others set their own."""
        pool, jar = Pool(WEB), {"session": f"s{number}"}

        async def work(identity, know):
            connection = await pool.take()
            try:
                answer = await connection.ask("GET", f"/sticky?ms=5&id={identity}",
                                              Cookie="; ".join(f"{name}={value}" for name, value in jar.items()))
            except BaseException:
                connection.close()
                raise
            know(answer.pod)
            if cookie := cookie_of(answer):
                jar.update([cookie.split("=", 1)])
            pool.give_back(connection)

        return work

    # Run

    def begin(self):
        timeout = self.spec["timeout"]
        for kind, amount in self.spec["classes"].items():
            if kind in self.spec.get("shapes", ()):
                works = [self.at_rate(kind, amount, self.shaped(*self.spec["shapes"][kind]), timeout)]
            elif kind == "sticky":
                works = [self.one_after_another(f"sticky{number}", self.sticky_client(number), 0.2, timeout) for number in range(amount)]
            elif kind in ("crowd", "crowd_http2"):
                works = [self.soon(number / CROWD_PER_SECOND, kind, getattr(self, kind)) for number in range(amount)]
            elif kind in ("ws", "grpc", "download", "stream", "quiet", "hush"):
                work = self.grpc_chat if kind == "grpc" else getattr(self, kind)
                works = [self.one_after_another(kind, work, 0.1, 3600 if kind in ENDLESS else 60) for _ in range(amount)]
            else:
                works = [self.at_rate(kind, amount, getattr(self, kind), timeout)]
            (self.endless if kind in (*ENDLESS, "crowd", "crowd_http2") else self.loops).update(map(asyncio.ensure_future, works))

    async def finish(self):
        """Waits for running requests, except streams and quiet tunnels."""
        self.stopping.set()
        if ending := self.running | self.loops:
            await asyncio.wait(ending, timeout=self.spec.get("patience", PATIENCE_SECONDS))
        rest = self.running | self.loops | self.endless
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


async def main():
    load, loop = Load(json.loads(sys.argv[1])), asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_reader(sys.stdin, lambda: (loop.remove_reader(sys.stdin), stopped.set()))
    load.begin()
    print("started", flush=True)
    await stopped.wait()
    await load.finish()
    pathlib.Path(load.spec["records"]).write_text(json.dumps(load.records))


if __name__ == "__main__":
    asyncio.run(main())
