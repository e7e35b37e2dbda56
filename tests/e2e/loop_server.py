"""A server of asyncio beside the test: in a thread of its own, until the end of the `with` block."""

import asyncio
import threading

from http1 import PATIENCE


class LoopServer:
    def serving(self):
        """An asynchronous context in which the server listens; it has set `port`."""
        raise NotImplementedError

    def __enter__(self):
        ready = threading.Event()

        async def run():
            async with self.serving():
                self.loop, self.ended = asyncio.get_running_loop(), asyncio.Event()
                ready.set()
                await self.ended.wait()

        self.thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        self.thread.start()
        assert ready.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.ended.set)
        self.thread.join(PATIENCE)
