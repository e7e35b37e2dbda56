"""Chromium that is told what to do, over its DevTools protocol."""

import asyncio
import itertools
import json
import pathlib
import shutil
import subprocess
import urllib.request

import websockets

from http1 import PATIENCE
from router import wait_until

CHROMIUM = shutil.which("chromium")
PLAIN = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking")
MISSING = "chromium is not installed; Debian has it, tools/deps test asks for it"


class Browser:
    """A page of its own; `problems` is what its console complains about: scripts that fail, content that its policy refuses."""

    def __init__(self, directory):
        profile = pathlib.Path(directory) / "profile"
        self.process = subprocess.Popen([CHROMIUM, *PLAIN, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.loop, self.socket = asyncio.new_event_loop(), None
        try:
            active = profile / "DevToolsActivePort"
            port = wait_until(lambda: active.exists() and active.read_text().split("\n")[0], what="that the browser listens")
            pages = wait_until(lambda: [page for page in self._pages(port) if page["type"] == "page"], what="a page")
            self.socket = self._wait(self._dial(pages[0]["webSocketDebuggerUrl"]))
        except BaseException:
            self.close()
            raise
        self.numbers, self.problems = itertools.count(1), []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def _wait(self, step):
        return self.loop.run_until_complete(asyncio.wait_for(step, PATIENCE))

    @staticmethod
    async def _dial(address):
        return await websockets.connect(address, max_size=None)

    @staticmethod
    def _pages(port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE) as answer:
            return json.load(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.socket:
            self._wait(self.socket.close())
        self.loop.close()
        self.process.terminate()
        self.process.wait(PATIENCE)

    def call(self, method, **parameters):
        number = next(self.numbers)
        self._wait(self.socket.send(json.dumps({"id": number, "method": method, "params": parameters})))
        while True:
            message = json.loads(self._wait(self.socket.recv()))
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            if message.get("method") == "Runtime.exceptionThrown":
                self.problems.append(message["params"]["exceptionDetails"])
            if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                self.problems.append(message["params"]["entry"])

    def open(self, address):
        self.call("Page.navigate", url=address)

    def value(self, expression):
        """Of an expression in the page; what it awaits is awaited."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, (expression, done["exceptionDetails"])
        return done["result"].get("value")

    def wait_for(self, expression):
        return wait_until(lambda: self.value(expression), what=expression)
