"""The readiness probe of one container; it goes on while the pod terminates, as the kubelet's does."""

import http.client
import socket
import threading


class Probe:
    def __init__(self, container, settings, changed):
        """`changed()` is called when the container becomes ready or stops being so."""
        self._container, self._settings, self._changed = container, settings, changed
        self._ended = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def end(self):
        self._ended.set()

    def _run(self):
        settings = self._settings
        row, last = 0, None
        if self._ended.wait(settings.get("initialDelaySeconds", 0)):
            return
        while True:
            good = self._container.running and self._once()
            row = row + 1 if good == last else 1
            last = good
            wanted = settings.get("successThreshold", 1) if good else settings.get("failureThreshold", 3)
            if row >= wanted and self._container.ready != good and (self._container.running or not good):
                self._container.ready = good
                self._changed()
            if self._ended.wait(settings.get("periodSeconds", 10)):
                return

    def _once(self):
        settings, limit = self._settings, self._settings.get("timeoutSeconds", 1)
        try:
            if "httpGet" in settings:
                return 200 <= self._container.ask(settings["httpGet"], limit) < 400
            if "tcpSocket" in settings:
                address = settings["tcpSocket"].get("host") or self._container.address
                socket.create_connection((address, self._container.port(settings["tcpSocket"]["port"])), limit).close()
                return True
            return self._container.execute(settings["exec"]["command"], limit) == 0
        except (OSError, http.client.HTTPException):
            return False
