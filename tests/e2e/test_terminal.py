"""Whatever comes from outside (peers, files, recordings, names of programs) reaches the operator's terminal as text, and nothing else."""

import contextlib
import json
import re
import socket
import subprocess
import threading

import pytest

import awkward
from http1 import PATIENCE, response
from router import BINARY, REPORT

# Sets a window's title, clears the screen, C1 as UTF-8 and as a byte, turns the order of letters, ends a line.
EVIL = "a\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\x7f\nforged: line"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]")


def said(*command, status=None, **more):
    """What a command has said, on both outputs; none of it moves a terminal, and nobody else's line stands alone."""
    done = subprocess.run([BINARY, *map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, **more)
    text = (done.stdout + done.stderr).decode()  # it is UTF-8, whatever came in
    assert not CONTROLS.search(text), repr(text)
    assert not re.search("^forged: line", text, re.MULTILINE), text
    assert not REPORT.search(text), text
    assert status is None or done.returncode == status, text
    return text


@pytest.fixture
def recording(tmp_path):
    """recording(change) -> file: a recording of one socket with its process, changed as told."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        file = tmp_path / "made.jsonl"
        subprocess.run([BINARY, "conns", "--record", file, "--json", f"local=127.0.0.1:{one.getsockname()[1]}"],
                       stdout=subprocess.DEVNULL, check=True, timeout=60)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        ours = next(line for line in lines if line["is"] == "socket" and line["local"] == "%s:%d" % one.getsockname())
    head = [line for line in lines if line["is"] in ("sample", "namespace")]
    process = {"is": "process", "pid": 7, "name": "client"}

    def make(change):
        kept = [*map(dict, head), dict(process), json.loads(json.dumps(ours)) | {"owner": 0}]
        change(kept)
        changed = tmp_path / "changed.jsonl"
        changed.write_text("".join(json.dumps(line) + "\n" for line in kept))
        return changed

    return make


def numbers_in(line, path=()):
    for key, value in line.items():
        if isinstance(value, dict):
            yield from numbers_in(value, (*path, key))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield (*path, key)


def put(line, path, value):
    *into, last = path
    for key in into:
        line = line[key]
    line[last] = value


def test_recording_with_names_that_somebody_chose(recording):
    def change(lines):
        for line in lines:
            if line["is"] in ("namespace", "process"):
                line["name"] = EVIL
        lines.insert(1, {"is": "note", "text": EVIL})
        lines.insert(1, {"is": "namespace", **{key: value for key, value in lines[2].items() if key != "is"}})

    file = recording(change)
    for more in ([], ["--json"], ["--by", "process"], ["--by", "peer"], ["--why", "7/" + str(json.loads(file.read_text().splitlines()[-1])["fd"])]):
        assert "owned" in said("conns", "--replay", file, *more, status=0) or more == ["--by", "peer"]
    wrong = recording(lambda lines: lines.append({"is": EVIL}))
    assert "owned" in said("conns", "--replay", wrong, status=1)


@pytest.mark.parametrize("state, timer", [("ESTAB", "on"), ("ESTAB", "persist"), ("ESTAB", "keepalive"), ("SYN-SENT", "on"), ("SYN-RECV", "on"),
                                          ("FIN-WAIT-1", "persist")])
def test_recording_with_absurd_numbers_is_shown_or_refused(recording, state, timer):
    """All of them, and each of them alone, as large as a number may be: nothing is computed for ever."""
    def absurd(lines, value, only=None):
        lines[-1] |= {"state": state, "timer": timer, "inode": 0 if state == "FIN-WAIT-1" else 5}
        for line in lines:
            if line["is"] in ("namespace", "socket"):
                for path in numbers_in(line):
                    if path not in (("space",), ("owner",)) and only in (None, path):
                        put(line, path, value)

    for value in (0, 255, 2**32 - 1, 2**64 - 1):
        said("conns", "--replay", recording(lambda lines: absurd(lines, value)))
    every = {path for line in map(json.loads, recording(lambda _: None).read_text().splitlines()) for path in numbers_in(line)}
    for path in every - {("space",), ("owner",), ("at_us",), ("version",), ("pid",)}:
        said("conns", "--replay", recording(lambda lines: absurd(lines, 2**32 - 1, only=path)))


def test_name_of_a_program(tmp_path):
    """A program may call itself anything, and its sockets are shown with that name."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        program = ("import socket, sys, ctypes\n"
                   "ctypes.CDLL(None).prctl(15, sys.argv[2].encode()[:15], 0, 0, 0)\n"
                   "one = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                   "print('there', flush=True)\nsys.stdin.read()\n")
        with subprocess.Popen(["/usr/bin/python3", "-c", program, str(port), "x\x1b[2J\x9b31m\r"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            assert process.stdout.readline()
            assert "x\\x1b[2J" in said("conns", f"peer=127.0.0.1:{port}", status=0)
            policy = tmp_path / "reap.yaml"
            policy.write_text(json.dumps({"allow": [{"port": [port]}], "end": {"idle": "1ms"}}))
            said("reap", "--policy", policy, "--once", "--dry-run")
            said("reap", "--policy", policy, "--once", "--dry-run", "--json")
            process.stdin.close()


def test_files_that_are_wrong(tmp_path):
    for text in (json.dumps({EVIL: 1}), json.dumps({"listeners": [{"name": EVIL, "bind": EVIL, "protocol": EVIL}]}), "a: \x1b[2J{", EVIL):
        file = tmp_path / "wrong.yaml"
        file.write_bytes(text.encode("latin-1", "replace"))
        said("check", "-c", file, status=1)
        said("check", "-c", file, "--json", status=1)
        said("run", "-c", file, status=1)
        said("reap", "--policy", file, "--once", status=1)


@contextlib.contextmanager
def router_that_says(body, status="200 OK"):
    with awkward.Backend(awkward.answering(lambda _: response(body, status=status, Content_Type="application/json"))) as one:
        yield f"127.0.0.1:{one.port}"


@pytest.mark.parametrize("answer, status", [
    ({"error": {"reason": EVIL}}, "409 Conflict"),
    ({"id": "1", "state": "draining", "endpoints": [{"in_flight": {EVIL: EVIL, "total": 1}}]}, "200 OK"),
    ({"id": "x HTTP/1.1\r\nHost: y\r\n\r\nGET /" + EVIL, "state": "draining"}, "200 OK"),
])
def test_router_that_answers_a_drain(answer, status):
    with router_that_says(json.dumps(answer).encode(), status) as address:
        for more in ([], ["--json"]):
            said("drain", "--endpoint", "10.0.0.1:1", "--routers", address, "--timeout", "2s", *more)


def test_arguments_of_a_drain():
    """They may come from a script that has them from elsewhere."""
    body = json.dumps({"id": "1", "state": "drained", "endpoints": []}).encode()
    for answer, status in ((body, "201 Created"), (b"{}", "404 Not Found")):
        with router_that_says(answer, status) as address:
            said("drain", "--endpoint", f"a/{EVIL}", "--routers", address, "--timeout", "30s", status=0 if answer == body else 1)
            said("drain", "--endpoint", "a/b", "--routers", f"{address},{EVIL}:1", "--timeout", "2s")


def test_server_that_answers_a_probe(backend):
    name = "a\x9b31m\u202e".encode() + b"\x9b32m"

    def serve(stream, _):
        while True:
            request = stream.read_request()
            fields = b"Ebbgate-Canary: " + request.get("Ebbgate-Canary").encode() + b"\r\n"
            for each in (b"x-request-port", b"Ebbgate-Canary-Pod", b"Ebbgate-Canary-Node", b"Ebbgate-Generation", b"Ebbgate-Configuration"):
                fields += each + b": " + name + b"\r\n"
            stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n" + fields + b"\r\nHealthcheck requested\n")

    url = f"http://127.0.0.1:{backend(serve).port}/"
    for more in ([], ["--json"], ["--expect-port", "80"], ["--reuse", "--count", "2", "--every", "1ms"]):
        assert "31m" in said("canary", "probe", *more, url)


def test_router_behind_the_runtime_socket(tmp_path):
    path = str(tmp_path / "gate.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def serve():
            one, _ = listener.accept()
            with one:
                one.recv(65536)
                for byte in ("\nname " + EVIL.replace("\nforged: line", "") + "\n\n").encode():
                    one.send(bytes([byte]))  # sequences come in pieces

        thread = threading.Thread(target=serve)
        thread.start()
        assert "owned" in said("ctl", "-s", path, "show", "stat", status=0)
        thread.join()
