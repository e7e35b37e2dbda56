"""`ebbgate canary serve` as a process on two ports of its own."""

import os
import re
import signal
import subprocess

from router import BINARY, REPORT, wait_until


class CanaryServer:
    """`variables` are those of its environment; ports are chosen by the kernel unless they are among them."""

    def __init__(self, directory, *flags, **variables):
        self.log = directory / "canary-serve.log"
        # Nothing of ours may leak in: CI sets PORT here and there.
        clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "EBB_ROWS")}
        self.environment = {**clean, "PORT": "0", "SECOND_PORT": "0", **{name: str(value) for name, value in variables.items()}}
        self.flags = flags

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([BINARY, "canary", "serve", *self.flags], env=self.environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(self.is_serving, 20, "the canary server's second port")
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.ports = [int(port) for port in re.findall(r"^serving (?:TLS )?on (\d+)$", self.text(), re.MULTILINE)]
        return self

    def is_serving(self):
        assert self.process.poll() is None, self.text()
        return len(re.findall(r"^serving ", self.text(), re.MULTILINE)) == 2

    def text(self):
        return self.log.read_text(errors="replace")

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self, seconds=60):
        """The exit status after SIGTERM."""
        if self.process.poll() is None:
            self.terminate()
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the canary server did not end within {seconds} s of SIGTERM") from None

    def __exit__(self, *_):
        status = self.end()
        assert status == 0 and not REPORT.search(self.text()), f"{status}: {self.text()}"
