#!/usr/bin/python3
"""h2spec against the router, over h2c and TLS, on each reactor: tests/conformance/run.py [--junitxml=FILE]

Its cases come out as one JUnit report. h2spec is a Go program that no distribution packages: it is built once, from the
versions in go.mod, into the user's cache. Where that cannot be done, one skipped case says why.
"""

import argparse
import concurrent.futures
import fcntl
import hashlib
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import awkward  # noqa: E402
from conftest import io_uring_refusal  # noqa: E402
from http1 import response  # noqa: E402
from router import BINARY, ROOT, Router, configuration  # noqa: E402

PACKAGE = "github.com/summerwind/h2spec/cmd/h2spec"
QUIET_SECONDS = 20  # a case that waits for a frame in vain fails after it
BUILD_SECONDS, RUN_SECONDS = 600, 300


class Missing(Exception):
    """Why h2spec cannot be run here."""


def h2spec():
    """The program's path; two runs at once build it once."""
    go = shutil.which("go")
    versions = hashlib.sha256((HERE / "go.mod").read_bytes() + (HERE / "go.sum").read_bytes()).hexdigest()[:16]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "ebbgate"
    program = cache / f"h2spec-{versions}"
    if program.exists():
        return program
    if go is None:
        raise Missing("h2spec is not built, and there is no Go compiler to build it with")
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "h2spec.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            beside = program.with_suffix(".new")
            try:
                built = subprocess.run([go, "build", "-mod=readonly", "-trimpath", "-o", beside, PACKAGE], cwd=HERE, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BUILD_SECONDS)
            except subprocess.TimeoutExpired:
                raise Missing(f"h2spec was not built within {BUILD_SECONDS} s") from None
            if built.returncode != 0:
                raise Missing("h2spec could not be built: " + built.stdout.decode(errors="replace").strip().split("\n")[-1])
            beside.rename(program)
    return program


def case(name, group, kind=None, text=""):
    element = xml.Element("testcase", classname=group, name=name)
    if kind:
        xml.SubElement(element, kind, message=text.strip().split("\n")[0]).text = text
    return element


def read_report(path, group):
    """Of h2spec's report, one case each; `package` is the section, `classname` the sentence."""
    # It writes down what it received as it is, be it XML or not.
    text = re.sub(rb"(?s)(<(error|failure)>)(.*?)(</\2>)", lambda found: found[1] + html.escape(ascii(found[3])).encode() + found[4], path.read_bytes())
    cases = []
    for position, one in enumerate(xml.fromstring(text).iter("testcase")):
        ended = next((kind for kind in ("failure", "error", "skipped") if one.find(kind) is not None), None)
        why = "".join(one.find(ended).itertext()) if ended else ""
        cases.append(case(f"{position} {one.get('package')} {one.get('classname')}", group, "failure" if ended == "error" else ended, why))
    return cases


def examine(program, io, tls):
    """All cases over one kind of connection."""
    group = f"h2spec.{'tls' if tls else 'h2c'}.{io}"
    refusal = io_uring_refusal() if io == "uring" else None
    if refusal:
        return [case("all", group, "skipped", refusal)]
    with tempfile.TemporaryDirectory() as name, awkward.Backend(awkward.answering(lambda _: response(b"x" * 1024))) as service:
        directory = pathlib.Path(name)
        settings = configuration(service.port)
        if tls:
            subprocess.run([ROOT / "tools" / "certs", directory / "localhost", "ecdsa", "localhost"], check=True)
            settings["listeners"][0].update(protocol="https", certificates=[{"cert": str(directory / "localhost.pem"), "key": str(directory / "localhost.key")}])
        one = Router(directory, settings, io).start()
        report = directory / "report.xml"
        try:
            command = [program, "--strict", "-h", "127.0.0.1", "-p", str(one.port()), "-o", str(QUIET_SECONDS), "-j", report]
            done = subprocess.run(command + (["-t", "-k"] if tls else []), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=RUN_SECONDS)
            print(f"--- {group}\n{done.stdout.decode(errors='replace')}", flush=True)
            cases = read_report(report, group) if report.exists() else [case("all", group, "failure", f"no report, status {done.returncode}")]
        finally:
            one.stop()
        return cases


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--junitxml", type=pathlib.Path, default=ROOT / "run" / "conformance.xml")
    report = xml.Element("testsuite", name="h2spec")
    path = arguments.parse_args().junitxml
    if not BINARY.exists():
        sys.exit(f"{BINARY} is not built")
    try:
        program = h2spec()
        with concurrent.futures.ThreadPoolExecutor(4) as lanes:  # they wait most of the time
            for cases in [lanes.submit(examine, program, io, tls) for io in ("epoll", "uring") for tls in (False, True)]:
                report.extend(cases.result())
    except Missing as missing:
        report.append(case("all", "h2spec", "skipped", str(missing)))
    path.parent.mkdir(exist_ok=True)
    xml.ElementTree(report).write(path, encoding="utf-8", xml_declaration=True)
    failed = report.findall("testcase[failure]")
    for one in failed:
        print("FAILED", one.get("classname"), one.get("name"), one.find("failure").text)
    print(f"{len(report) - len(failed)} of {len(report)} cases passed or were skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
