"""One container: a process with a network, mounts and environment of its own, and its end in the kubelet's order."""

import http.client
import os
import signal
import subprocess
import threading
import time

SHORTEST_GRACE = 2  # seconds between SIGTERM and SIGKILL that the kubelet always grants

# /run of a container is a folder of its own. A mount point that the machine lacks is made in an overlay, never in the machine.
MOUNTS = """set -e
covered=
place() {  # SOURCE TARGET ro|rw
  at=$2
  while [ ! -e "$at" ]; do at=$(dirname "$at"); done
  if [ "$at" != "$2" ]; then
    case "$at" in
      /) echo "the rig cannot mount at $2: / has no such folder on this machine" >&2; exit 125 ;;
      /run|/run/*|/var/run|/var/run/*) ;;
      *) case "$covered" in *"[$at]"*) ;; *)
           covered="$covered[$at]"
           mkdir -p "/run/.upper$at" "/run/.work$at"
           mount -t overlay overlay -o "lowerdir=$at,upperdir=/run/.upper$at,workdir=/run/.work$at" "$at" ;;
         esac ;;
    esac
    if [ -d "$1" ]; then mkdir -p "$2"; else mkdir -p "$(dirname "$2")"; : >"$2"; fi
  fi
  mount --bind "$1" "$2"
  [ "$3" = rw ] || mount -o remount,bind,ro "$2"
}
"""


def quoted(text):
    return "'" + str(text).replace("'", "'\\''") + "'"


class Container:
    def __init__(self, spec, command, environment, mounts, folder, network, note):
        """`mounts`: (source, target, read only); `note(event, **facts)` keeps the journal."""
        self.spec, self.name, self._command, self._environment = spec, spec["name"], command, environment
        self._mounts, self._folder, self._network, self._note = mounts, folder, network, note
        self.log = folder.parent / f"{self.name}.log"
        self.started_at = self.ended_at = self.exit_code = None
        self.restarts = -1
        self.ready = False
        self.ended = threading.Event()
        self._process = None

    def start(self):
        self.restarts += 1
        self.ended.clear()
        run, volumes = self._folder / f"run{self.restarts}", self._folder.parent / "volumes"
        (run / ".volumes").mkdir(parents=True)
        volumes.mkdir(exist_ok=True)
        lines = [MOUNTS, f"mount --rbind {quoted(volumes)} {quoted(run / '.volumes')}", f"mount --rbind {quoted(run)} /run"]
        for source, target, read_only in sorted(self._mounts, key=lambda mount: mount[1]):
            if source.is_relative_to(volumes):
                source = f"/run/.volumes/{source.relative_to(volumes)}"
            lines.append(f"place {quoted(source)} {quoted(target)} {'ro' if read_only else 'rw'}")
        lines.append(f"cd {quoted(self.spec.get('workingDir', '/'))}; exec \"$@\"")
        command = ["nsenter", f"--net={self._network.path}", "unshare", "--mount", "--propagation", "private",
                   "sh", "-c", "\n".join(lines), "sh", *self._command]
        with open(self.log, "ab") as log:
            self._process = self._popen(command, log)
        self.started_at = time.time()
        self._note("started", container=self.name, pid=self._process.pid, command=self._command)
        threading.Thread(target=self._wait, args=(self._process,), daemon=True).start()

    def _popen(self, command, log):
        return subprocess.Popen(command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def _wait(self, process):
        status = process.wait()
        self.exit_code, self.ended_at, self.ready = status if status >= 0 else 128 - status, time.time(), False
        self._note("ended", container=self.name, status=self.exit_code)
        self.ended.set()

    @property
    def running(self):
        return self._process is not None and not self.ended.is_set()

    def execute(self, command, timeout):
        """The exit status of a command inside, or None if it took too long."""
        inside = ["nsenter", f"--target={self._process.pid}", "--net", "--mount", "--", *command]
        with open(self.log, "ab") as log:
            started = self._popen(inside, log)
        try:
            return started.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
            return None

    def port(self, named):
        if isinstance(named, int):
            return named
        return next(port["containerPort"] for port in self.spec["ports"] if port.get("name") == named)

    def ask(self, settings, timeout):
        """The status of an HTTP request to the container, from the node as the kubelet asks."""
        connection = http.client.HTTPConnection(settings.get("host") or self._network.address, self.port(settings["port"]), timeout=timeout)
        try:
            headers = {one["name"]: one["value"] for one in settings.get("httpHeaders", [])}
            connection.request("GET", settings.get("path", "/"), headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self, deadline):
        """preStop, SIGTERM, SIGKILL at `deadline()`, which may come nearer while we wait."""
        if not self.running:
            return
        self._hook(deadline)
        if self.running:
            self._note("SIGTERM", container=self.name)
            self._process.send_signal(signal.SIGTERM)
        earliest = time.monotonic() + SHORTEST_GRACE
        while not self.ended.wait(0.05):
            if time.monotonic() >= max(deadline(), earliest):
                self.kill()
                self.ended.wait()

    def _hook(self, deadline):
        hook = self.spec.get("lifecycle", {}).get("preStop")
        if not hook:
            return
        self._note("preStop", container=self.name)
        limit = max(0.1, deadline() - time.monotonic())
        result = None
        try:
            if "sleep" in hook:
                self.ended.wait(min(limit, hook["sleep"]["seconds"]))
            elif "exec" in hook:
                result = self.execute(hook["exec"]["command"], limit)
            elif "httpGet" in hook:
                result = self.ask(hook["httpGet"], limit)
        except (OSError, http.client.HTTPException) as error:
            result = str(error)
        self._note("preStop ended", container=self.name, result=result)

    def kill(self):
        """All that it started too."""
        self._note("SIGKILL", container=self.name)
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
