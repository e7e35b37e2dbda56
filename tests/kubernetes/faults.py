"""What can befall the API server, as its clients see it. Each fault has its cure; as a context it is cured at the end.

The Service address is what pods use. The node's address, which the rig and its agent use, suffers only when the server itself does.
"""

import contextlib
import http.client
import json

import control_plane
from namespaces import PATIENCE


class Faults:
    def __init__(self, namespaces, plane, start_proxy):
        """`start_proxy()` starts the faulty proxy and returns when it takes connections."""
        self._namespaces, self._plane, self._start_proxy = namespaces, plane, start_proxy
        self._proxy_runs = False

    @contextlib.contextmanager
    def api_server_dead(self):
        """Killed: connections are reset, and refused from then on."""
        self._plane.kill_api_server()
        try:
            yield
        finally:
            self._plane.start_api_server()
            self._plane.wait_until_ready()

    @contextlib.contextmanager
    def api_server_frozen(self):
        """Stopped: the kernel still accepts connections and acknowledges bytes, and nothing is answered."""
        self._plane.freeze_api_server()
        try:
            yield
        finally:
            self._plane.thaw_api_server()

    @contextlib.contextmanager
    def black_hole(self):
        """The Service address leads nowhere: not a packet comes back, on new connections and on those that stand."""
        self._plane.swallow()
        try:
            yield
        finally:
            self._plane.release()

    @contextlib.contextmanager
    def proxy(self, *rules):
        """New connections to the Service address pass the faulty proxy (faulty_proxy.py), which obeys these rules.

        At the end the connections of the proxy are cut, and new ones reach the API server.
        """
        if not self._proxy_runs:
            self._start_proxy()
            self._proxy_runs = True
        self.rules(*rules)
        self._plane.lead_to(control_plane.PROXY_PORT)
        try:
            yield self
        finally:
            self._plane.lead_to(control_plane.API_PORT)
            self.rules()
            self.cut_all()

    def rules(self, *rules):
        """From now on; the list of requests begins anew."""
        self._control("PUT", "/rules", json.dumps(rules))

    def requests(self):
        """Of the proxy since the rules were set: method, target, rule, version, status, bytes of the body that were sent."""
        return self._control("GET", "/requests")

    def cut_all(self):
        """Every connection of the proxy is closed now."""
        self._control("POST", "/cut")

    def _control(self, method, path, body=None):
        connection = http.client.HTTPConnection(control_plane.NODE_ADDRESS, control_plane.PROXY_CONTROL_PORT)
        connection.sock = self._namespaces.dial(control_plane.NODE_ADDRESS, control_plane.PROXY_CONTROL_PORT, PATIENCE)
        try:
            connection.request(method, path, body)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()
