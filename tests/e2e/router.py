"""The router as a process: a configuration, ports, logs, metrics, and the promise of a clean end."""

import contextlib
import copy
import fcntl
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from http1 import PATIENCE, Closed, dial, request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("EBBGATE", ROOT / "build" / "ebbgate"))
SANITIZED = "asan" in str(BINARY) or "tsan" in str(BINARY)
HELD = "EBB_PROMISES" in os.environ  # `make promises`: alone on the machine, the router is held to its times
REPORT = re.compile(r"(Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error:|EBB_ASSERT|assertion failed")


def wait_until(condition, seconds=PATIENCE, what="the condition"):
    """The condition's first true value; what is awaited is always asynchronous to us, never a guess at a delay."""
    seconds = promised(seconds) if seconds < PATIENCE else seconds
    deadline, pause = time.monotonic() + seconds, 0.005
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        time.sleep(pause)
        pause = min(2 * pause, 0.04)  # to ask is work too, for us and for the router
    return value


def healthz(ask):
    """The answer to ask(), a question for /healthz, that does not blame a worker that the machine kept from answering."""
    def answer():
        got = ask()
        return None if got.body.startswith(b"did not answer in time") else got

    return wait_until(answer, what="workers that answer in time")


def promised(seconds):
    """The most that something may take, where the router is held to it. In `make test` it only has to happen: other work may
    keep the machine busy for as long as it likes."""
    return seconds if HELD else PATIENCE


class Ports:
    """Ports below the ephemeral range, so that no outgoing connection takes one between choice and bind; a lock on a
    slot of 200 keeps two test runs apart, since SO_REUSEPORT would let them share a port without a word."""

    def __init__(self):
        for slot in range(60):
            self.lock = open(f"/tmp/ebbgate-e2e-ports-{slot}", "w")
            with contextlib.suppress(OSError):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.first, self.next = 20000 + 200 * slot, 0
                return
            self.lock.close()
        raise RuntimeError("no slot of ports is free")

    def take(self):
        for _ in range(200):
            port = self.first + self.next % 200
            self.next += 1
            with socket.socket() as probe, contextlib.suppress(OSError):
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
                return port
        raise RuntimeError("no port is free")


PORTS = Ports()


def endpoint(port, name="one", **more):
    return {"name": name, "address": f"127.0.0.1:{port}", **more}


def backend(*ports, name="service", **more):
    """Where a server of ours has a part in connecting (TLS, SETTINGS of HTTP/2), a busy machine makes no connection a second time."""
    if "tls" in more or more.get("protocol", "http1") != "http1":
        more["timeouts"] = {"connect": "1m", **more.get("timeouts", {})}
    return {"name": name, "endpoints": [endpoint(port, f"e{index}") for index, port in enumerate(ports)], **more}


def configuration(*backend_ports, **sections):
    """One plain listener, one route for all, one backend; any section may be replaced."""
    return {
        "listeners": [{"name": "web", "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "http"}],
        "routes": [{"name": "all", "backend": "service"}],
        "backends": [backend(*backend_ports)],
        **sections,
    }


class Router:
    def __init__(self, directory, settings, io, admin_tls=None, through=()):
        """`admin_tls`: the context by which the admin listener is asked, if it speaks TLS. `through`: a command that becomes
        the one behind it."""
        self.through = through
        self.directory = pathlib.Path(directory)
        self.file = self.directory / "ebbgate.yaml"
        self.access_log = self.directory / "access.log"
        self.errors = self.directory / "stderr.log"
        admin = settings.get("admin") or {"bind": f"127.0.0.1:{PORTS.take()}"}
        self.admin = int(admin["bind"].rsplit(":", 1)[1])
        self.admin_fields = {"Authorization": "Bearer " + pathlib.Path(admin["token_file"]).read_text().strip()} if "token_file" in admin else {}
        self.admin_tls = admin_tls
        self.settings = {"admin": f"127.0.0.1:{self.admin}", "workers": 1, "io": io,
                         "access_log": {"format": "json", "path": str(self.access_log)}, **copy.deepcopy(settings)}
        self.process = None

    def start(self):
        self.write(self.settings)
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([*self.through, BINARY, "run", "-c", self.file], stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        wait_until(self.ready, what="readiness")
        return self

    def ready(self):
        assert self.process.poll() is None, f"the router ended at its start: {self.error_text()}"
        try:
            return self.ask_admin("/readyz").status == 200
        except (OSError, Closed):
            return False

    def stop(self):
        """SIGTERM has to end it cleanly, and neither a sanitizer nor a machine may have complained."""
        if self.process.poll() is None:
            missing, lost = (self.metric(f"ebbgate_{name}_total") for name in ("missing_transitions", "lost_handles"))
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the router did not end within {PATIENCE} s of SIGTERM") from None
            assert missing == 0, f"{missing} events met a state machine without a row for them"
            assert lost == 0, f"{lost} look-ups found nothing where something had to be"
        assert self.process.returncode == 0, f"exit status {self.process.returncode}: {self.error_text()}"
        assert not REPORT.search(self.error_text()), self.error_text()

    @contextlib.contextmanager
    def stopped(self):
        """Does nothing during the block: what peers do then it finds all at once."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            stat = pathlib.Path(f"/proc/{self.process.pid}/stat")
            wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", what="the stop")
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    # Configuration

    def write(self, settings):
        """As editors do: a new file, renamed over the old one. JSON is YAML."""
        self.settings = settings
        self.write_text(json.dumps(settings, indent=1))

    def write_text(self, text):
        beside = self.file.with_suffix(".new")
        beside.write_text(text)
        beside.rename(self.file)

    def change(self, **sections):
        self.write({**copy.deepcopy(self.settings), **sections})

    def port(self, listener="web"):
        bind = next(one["bind"] for one in self.settings["listeners"] if one["name"] == listener)
        return int(bind.rsplit(":", 1)[1])

    # Asking

    def dial(self, listener="web", **options):
        return dial(self.port(listener), **options)

    def get(self, target="/", listener="web", tls=None, **fields):
        with self.dial(listener, tls=tls) as stream:
            stream.send(request(target=target, Connection="close", **fields))
            return stream.read_response()

    def ask_admin(self, target, method="GET", host="localhost"):
        with dial(self.admin, tls=self.admin_tls) as stream:
            stream.send(request(method, target, host=host, Connection="close", **self.admin_fields))
            return stream.read_response(method)

    def health(self):
        """/healthz, when all workers have answered in time: a busy machine may keep one from that for a second."""
        return healthz(lambda: self.ask_admin("/healthz"))

    def metrics(self):
        """{'name{labels}': value} of the whole exposition, with the numbers of all workers: one that a busy machine kept from replying
        for a second is left out, and asked again."""
        def scrape():
            samples = {}
            for line in self.ask_admin("/metrics").body.decode().splitlines():
                if line and not line.startswith("#"):
                    name, value = line.rsplit(" ", 1)
                    samples[name] = float(value)
            return samples if samples.get("ebbgate_workers_silent") == 0 else None

        return wait_until(scrape, what="a reply of all workers")

    def metric(self, name, **labels):
        """The sum over all series of that name with these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return sum(value for series, value in self.metrics().items()
                   if series.split("{")[0] == name and all(label in series for label in wanted))

    def log(self):
        """Parsed lines; the last may still be on its way."""
        lines = self.access_log.read_text().split("\n")[:-1] if self.access_log.exists() else []
        return [json.loads(line) for line in lines]

    def logged(self, **fields):
        """Waits for a line with these values."""
        return wait_until(lambda: next((line for line in self.log() if all(line[key] == value for key, value in fields.items())), None),
                          what=f"an access log line with {fields}, in {self.log()},")

    def error_text(self):
        return self.errors.read_text(errors="replace")

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE).group(1))
