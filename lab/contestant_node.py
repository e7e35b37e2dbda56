"""Nodes instead of routers: plain Linux, and Linux with our agent. Their endpoints are slots of the fabric, behind a service address."""

import json
import time

import service
from contestant import Contestant
from contestant_ebbgate import BINARY

CLIENTS = ("go-client", "python3", "curl")


class Linux(Contestant):
    name = "linux"
    peer = False  # our prediction is judged
    waits = True  # until the kernel gives up

    def start(self, pods, family):
        pass

    def tell(self, add=(), leave=(), gone=()):
        pass


class Reap(Contestant):
    name = "reap"
    peer = False
    waits = False

    def start(self, pods, family):
        self.list = self.directory / "endpoints.json"
        self.states = {slot: "ready" for slot in pods}
        self.write()
        policy = self.directory / "reap.yaml"
        policy.write_text(json.dumps({"act": True, "endpoints": str(self.list), "allow": [{"netns": ["this"], "process": list(CLIENTS), "port": [service.PORT]}]}))
        self.launch(BINARY, "reap", "--policy", policy)
        time.sleep(1)

    def tell(self, add=(), leave=(), gone=()):
        self.states.update({slot: "gone" for slot in gone})
        self.write()

    def write(self):
        beside = self.list.with_suffix(".new")
        endpoints = [{"address": f"{self.fabric.address(slot)}:{service.PORT}", "state": state} for slot, state in self.states.items()]
        beside.write_text(json.dumps({"services": [{"name": "service", "addresses": [f"{service.ADDRESS}:{service.PORT}"], "endpoints": endpoints}]}))
        beside.rename(self.list)
