"""The file changes, the router follows, connections do not notice; or it refuses, and nothing changes."""

import copy
import itertools
import os
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import threading
import time

import pytest

import awkward
from http1 import PATIENCE, Closed, request, response, trusting_context
from router import PORTS, configuration, endpoint, promised, wait_until
from router import backend as backend_of


def refused(port, address="127.0.0.1"):
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) != 0


def listener(name="web", **more):
    return {"name": name, "bind": f"127.0.0.1:{PORTS.take()}", "protocol": "http", **more}


@pytest.mark.prompt
def test_change_is_live_in_under_100_ms(router, backend):
    services = [backend(awkward.named(name)) for name in "ab"]
    one = router(configuration(services[0].port))
    delays = []
    with one.dial() as client:
        for turn in range(1, 8):
            one.change(backends=[backend_of(services[turn % 2].port)])
            started = time.monotonic()
            while True:
                client.send(request())
                if client.read_response().body == b"ab"[turn % 2:turn % 2 + 1]:
                    break
                assert time.monotonic() - started < PATIENCE, "the change never came"
                time.sleep(0.002)
            delays.append(time.monotonic() - started)
    assert statistics.median(delays) < promised(0.1), delays


def test_file_written_in_place_is_noticed_too(router, backend):
    services = [backend(awkward.named(name)) for name in "ab"]
    one = router(configuration(services[0].port))
    text = one.file.read_text().replace(str(services[0].port), str(services[1].port))
    one.file.write_text(text)
    wait_until(lambda: one.get().body == b"b", what="the change")


def revocation_list(directory, authority):
    """Of nobody, by this authority."""
    (directory / "index.txt").write_text("")
    (directory / "ca.conf").write_text(f"[ca]\ndefault_ca = x\n[x]\ndatabase = {directory / 'index.txt'}\ndefault_md = sha256\ndefault_crl_days = 30\n")
    subprocess.run(["openssl", "ca", "-gencrl", "-config", directory / "ca.conf", "-cert", authority["cert"], "-keyfile", authority["key"],
                    "-out", directory / "revoked.pem"], check=True, capture_output=True)
    return directory / "revoked.pem"


@pytest.mark.parametrize("kind", ["configuration", "certificate", "key", "revocations"])
def test_file_is_not_read_before_its_writer_closes_it(router, backend, certificates, tmp_path, kind):
    """Its writer is slow, and other files in the folder change meanwhile."""
    folder = tmp_path / "watched"
    folder.mkdir()
    pair = {name: str(shutil.copy(path, folder)) for name, path in certificates("slow", "rsa", "localhost").items()}
    settings = configuration(backend(awkward.named("a")).port)
    settings["listeners"][0].update(protocol="https", certificates=[pair], client_certificates={
        "mode": "optional", "ca": pair["cert"], "crl": str(revocation_list(folder, pair))})
    one = router(settings)
    files = {"configuration": one.file, "certificate": folder / "slow.pem", "key": folder / "slow.key", "revocations": folder / "revoked.pem"}
    file, generation = files[kind], one.metric("ebbgate_config_generation")
    content = file.read_bytes()
    with open(file, "wb") as writer:
        for start in range(0, len(content), len(content) // 8):
            writer.write(content[start:start + len(content) // 8])
            writer.flush()
            (file.parent / "neighbour.txt").write_text("changed")
            time.sleep(0.1)  # long enough for a router that looks to see half a file; a slow one passes all the same
        assert one.metric("ebbgate_config_generation") == generation and "refused" not in one.error_text(), one.error_text()
    wait_until(lambda: one.metric("ebbgate_config_generation") > generation, what="the change")
    assert "refused" not in one.error_text()
    assert one.get(tls=trusting_context()).body == b"a"


def test_file_that_stays_open_is_reported_and_read_on_demand(router, backend):
    services = [backend(awkward.named(name)) for name in "ab"]
    one = router(configuration(services[0].port))
    text = one.file.read_text().replace(str(services[0].port), str(services[1].port))
    with open(one.file, "w") as writer:
        writer.write(text)
        writer.flush()
        (one.file.parent / "neighbour.txt").write_text("changed")
        wait_until(lambda: "event=file_held_open" in one.error_text(), what="the warning")
        assert one.get().body == b"a"
        one.process.send_signal(signal.SIGHUP)
        wait_until(lambda: one.get().body == b"b", what="the change")


def test_file_that_stays_open_is_reported_though_nothing_else_changes(router, backend):
    one = router(configuration(backend(awkward.named("a")).port))
    text = one.file.read_text()
    with open(one.file, "r+") as writer:
        writer.write("# written, and not closed\n" + text)
        writer.flush()
        wait_until(lambda: "event=file_held_open" in one.error_text(), what="the warning")


BROKEN = {
    "unknown key": lambda settings: settings.update(listners=[]),
    "unknown backend": lambda settings: settings["routes"][0].update(backend="nowhere"),
    "bad address": lambda settings: settings["listeners"][0].update(bind="127.0.0.1:99999"),
    "missing certificate": lambda settings: settings["listeners"][0].update(
        protocol="https", certificates=[{"cert": "/not/there.pem", "key": "/not/there.key"}]),
    "two of a name": lambda settings: settings["backends"].append(settings["backends"][0]),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_file_is_refused_whole_and_the_old_one_keeps_serving(router, backend, fault):
    services = [backend(awkward.named(name)) for name in "ab"]
    one = router(configuration(services[0].port))
    generation = one.metric("ebbgate_config_generation")
    good = copy.deepcopy(one.settings)
    broken = copy.deepcopy(good) | {"backends": [backend_of(services[1].port)]}  # the sound part must not be taken either
    BROKEN[fault](broken)
    with one.dial() as client:
        one.write(broken)
        wait_until(lambda: "event=config_refused" in one.error_text(), what="the refusal on standard error")
        one.settings = good
        client.send(request())
        assert client.read_response().body == b"a"
        assert one.get().body == b"a"
    assert one.metric("ebbgate_config_generation") == generation
    assert one.ask_admin("/readyz").status == 200
    one.write(good | {"backends": [backend_of(services[1].port)]})
    wait_until(lambda: one.get().body == b"b", what="the repaired file")


def test_file_that_is_not_yaml_is_refused(router, backend):
    one = router(configuration(backend(awkward.named("a")).port))
    one.write_text("listeners: [\n  - {")
    wait_until(lambda: f"{one.file.name}:" in one.error_text(), what="the refusal")
    assert one.get().body == b"a"


def test_listener_is_added_moved_and_removed_while_others_serve(router, backend):
    service = backend(awkward.answering_late(response(b"in the end")))
    service.released.set()
    one = router(configuration(service.port))
    first = one.port()
    with one.dial() as bystander:
        added = listener("extra")
        one.change(listeners=one.settings["listeners"] + [added])
        wait_until(lambda: not refused(one.port("extra")), what="the new listener")
        assert one.get(listener="extra").body == b"in the end"
        old = one.port("extra")
        moved = listener("extra")
        one.change(listeners=[one.settings["listeners"][0], moved])
        wait_until(lambda: not refused(one.port("extra")) and refused(old), what="the move")
        assert one.get(listener="extra").body == b"in the end"
        one.change(listeners=one.settings["listeners"][:1])
        wait_until(lambda: refused(int(moved["bind"].rsplit(":", 1)[1])), what="the removal")
        assert one.port() == first
        bystander.send(request())
        assert bystander.read_response().body == b"in the end"


def test_change_that_a_worker_cannot_carry_out_is_refused_whole(router, backend):
    """One of the new listeners' ports is taken; then there are descriptors for some of them, not for all.

    In between the change is made and taken back: the undefined-behaviour sanitizer opens a pipe to look at an object of a
    type that it has not yet seen, and reports the object if it cannot. Then it has seen all that opens and closes a listener.
    """
    services = [backend(awkward.named(name)) for name in "ab"]
    one = router(configuration(services[0].port, workers=2))
    assert one.get().body == b"a"
    generation, before = one.metric("ebbgate_config_generation"), copy.deepcopy(one.settings)
    more = [listener(f"extra{number}") for number in range(20)]
    ports = [int(each["bind"].rsplit(":", 1)[1]) for each in more]
    wanted = before | {"listeners": before["listeners"] + more, "backends": [backend_of(services[1].port)]}

    def refusal(count):
        one.write(wanted)
        refusals = wait_until(lambda: [line for line in one.error_text().splitlines() if "event=config_refused" in line][count - 1:], what="the refusal")
        assert "listener extra" in refusals[0] and more[-1]["bind"] in refusals[0], refusals
        return refusals[0]

    def check_that_nothing_changed():
        assert one.get().body == b"a" and one.metric("ebbgate_config_generation") == generation
        wait_until(lambda: all(map(refused, ports)), what="the end of what was prepared")

    with socket.create_server(("127.0.0.1", ports[-1])):
        assert "Address already in use" in refusal(1)
    check_that_nothing_changed()
    one.write(wanted)
    wait_until(lambda: one.get().body == b"b", what="the change")
    assert not any(map(refused, ports))
    one.write(before)
    wait_until(lambda: one.get().body == b"a" and all(map(refused, ports)), what="the way back")
    generation = one.metric("ebbgate_config_generation")
    limits = resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE)
    used = set(map(int, os.listdir(f"/proc/{one.process.pid}/fd")))
    # The limit is one of numbers, and a connection made while all listeners were open has a high one.
    free = (number for number in itertools.count() if number not in used)
    resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, (next(itertools.islice(free, 10, None)), limits[1]))
    assert "Too many open files" in refusal(2)
    resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, limits)
    check_that_nothing_changed()


class Callers:
    """Clients that connect again and again, each for one request, until the block ends."""

    def __init__(self, one, count=4):
        self.one, self.over, self.answers, self.losses = one, threading.Event(), 0, []
        self.threads = [threading.Thread(target=self.call) for _ in range(count)]

    def call(self):
        while not self.over.is_set():
            try:
                assert self.one.get().body == b"a"
                self.answers += 1
            except (OSError, Closed, AssertionError) as loss:
                self.losses.append(repr(loss))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.parametrize("workers", [1, 2])
def test_listener_becomes_wider_and_narrower_and_no_connection_is_lost(router, backend, workers):
    one = router(configuration(backend(awkward.named("a")).port, workers=workers))
    port, generation = one.port(), 1
    with Callers(one) as callers:
        for bind in [f"*:{port}", f"127.0.0.1:{port}", f"0.0.0.0:{port}"] * 3:
            seen = callers.answers
            one.change(listeners=[one.settings["listeners"][0] | {"bind": bind}])
            generation += 1
            wait_until(lambda: one.metric("ebbgate_config_generation") == generation, what=f"the change to {bind}: {one.error_text()}")
            wait_until(lambda: callers.answers > seen + 20 or callers.losses, what="answers")
            wait_until(lambda: refused(port, "127.0.0.2") == bind.startswith("127"), what=f"the reach of {bind}")
    assert not callers.losses, callers.losses[:5]
    one.change(listeners=[listener("other")])
    wait_until(lambda: refused(port), what="the end of the old listener and of all that it left")
    assert one.get(listener="other").body == b"a"


def test_listener_cannot_become_wider_over_anothers_address(router, backend):
    one = router(configuration(backend(awkward.named("a")).port, workers=2))
    port = one.port()
    with socket.socket() as foreign:
        foreign.bind(("127.0.0.2", port))
        foreign.listen()
        one.change(listeners=[one.settings["listeners"][0] | {"bind": f"*:{port}"}])
        wait_until(lambda: "event=config_refused" in one.error_text(), what="the refusal")
        assert "listener web at 0.0.0.0:%d cannot be opened: bind: Address already in use" % port in one.error_text(), one.error_text()
        assert one.get().body == b"a" and one.metric("ebbgate_config_generation") == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_refused_change_to_a_narrower_listener_loses_no_connection(router, backend, workers):
    """Until it is refused, the narrower socket is there and gets the connections of the one that serves. It is prepared first,
    then many others, and at last one that cannot be opened, so that it is there for a while."""
    wide = listener()
    port = int(wide["bind"].rsplit(":", 1)[1])
    wide["bind"], other = f"*:{port}", listener("other")
    one = router(configuration(backend(awkward.named("a")).port, workers=workers, listeners=[wide, other]))
    narrow = [wide | {"bind": f"127.0.0.1:{port}"}] + [wide | {"name": f"n{each}", "bind": f"127.0.1.{each}:{port}"} for each in range(1, 200)]
    taken = one.port("other")
    with socket.socket() as foreign, Callers(one) as callers:
        foreign.bind(("127.0.0.2", taken))
        foreign.listen()
        for turn in range(1, 11):
            seen = callers.answers
            one.change(listeners=[*narrow, other | {"bind": f"*:{taken}"}])
            wait_until(lambda: one.error_text().count("event=config_refused") == turn, what="the refusal")
            one.change(listeners=[wide, other])
            wait_until(lambda: callers.answers > seen + 20 or callers.losses, what="answers")
    assert not callers.losses, callers.losses[:5]
    assert "listener other at 0.0.0.0:%d cannot be opened: bind: Address already in use" % taken in one.error_text()


def test_exchange_on_a_removed_listener_is_finished(router, backend):
    service = backend(awkward.answering_late(response(b"in the end")))
    one = router(configuration(service.port, listeners=[listener("web"), listener("extra")]))
    with one.dial("extra") as client:
        client.send(request())
        service.wait_for_requests(1)
        port = one.port("extra")
        one.change(listeners=one.settings["listeners"][:1])
        wait_until(lambda: refused(port), what="the removal")
        service.released.set()
        assert client.read_response().body == b"in the end"


def test_exchange_with_a_removed_endpoint_is_finished_and_new_ones_go_elsewhere(router, backend):
    leaving, staying = backend(awkward.answering_late(response(b"leaving"))), backend(awkward.named("staying"))
    one = router(configuration(leaving.port))
    with one.dial() as client:
        client.send(request())
        leaving.wait_for_requests(1)
        one.change(backends=[backend_of(staying.port)])
        wait_until(lambda: one.metric("ebbgate_config_generation") == 2, what="the change")
        assert one.get().body == b"staying"
        leaving.released.set()
        assert client.read_response().body == b"leaving"
        client.send(request())
        assert client.read_response().body == b"staying"
    wait_until(leaving.streams[0].is_closed, what="the end of the connection to the endpoint that left")


def test_pooled_connections_of_a_removed_endpoint_are_closed_at_once(router, backend):
    leaving, staying = backend(awkward.named("leaving")), backend(awkward.named("staying"))
    one = router(configuration(leaving.port))
    one.get()
    one.change(backends=[backend_of(staying.port)])
    wait_until(lambda: not leaving.threads[1].is_alive(), what="the end of the pooled connection")
    assert one.metric("ebbgate_connections_closed_total", side="backend", cause="endpoint_gone") == 1


def test_endpoint_state_changes_take_effect(router, backend):
    services = [backend(awkward.named(name)) for name in "ab"]
    one = router(configuration(services[0].port, services[1].port))
    one.change(backends=[{"name": "service", "endpoints": [endpoint(services[0].port, "e0", state="drain"), endpoint(services[1].port, "e1")]}])
    wait_until(lambda: one.metric("ebbgate_config_generation") == 2, what="the change")
    assert {one.get().body for _ in range(10)} == {b"b"}


def test_certificate_is_replaced_live_and_open_connections_keep_theirs(router, backend, certificates, tmp_path):
    def install(stem):
        made = certificates(stem, "ecdsa", f"{stem}.test", "localhost")
        for kind, target in (("key", "live.key"), ("cert", "live.pem")):
            shutil.copy(made[kind], tmp_path / (target + ".new"))
            (tmp_path / (target + ".new")).rename(tmp_path / target)
        return pathlib.Path(made["cert"]).read_text()

    def shown():
        with one.dial(tls=trusting_context()) as probe:
            return ssl.DER_cert_to_PEM_cert(probe.socket.getpeercert(binary_form=True)).strip()

    old = install("old")
    one = router(configuration(backend(awkward.named("a")).port,
                               listeners=[listener(protocol="https", certificates=[{"cert": "live.pem", "key": "live.key"}])]))
    assert shown() == old.strip()
    with one.dial(tls=trusting_context()) as bystander:
        new = install("new")
        wait_until(lambda: shown() == new.strip(), what="the new certificate")
        bystander.send(request())
        assert bystander.read_response().body == b"a"


def test_startup_settings_are_not_changed_behind_your_back(router, backend):
    one = router(configuration(backend(awkward.named("a")).port))
    one.change(workers=2)
    wait_until(lambda: "workers" in one.error_text(), what="word that a restart is needed")
    assert one.get().body == b"a"
