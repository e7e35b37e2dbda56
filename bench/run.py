#!/usr/bin/python3
"""`make bench`: all contestants side by side, one window each in turn, cycle after cycle; raw rounds go to bench/results/.

The proxies share core 1, of which only one is busy at a time; client and backend share core 0. Only ratios within one run mean anything;
`--table [FILE]` prints the newest (or the given) result as Markdown for docs/performance.md."""

import argparse
import datetime
import itertools
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

import report
from contestants import BACKEND, H2_BACKEND, ROOT, ROUTES, TUNNELS, Arena
from workloads import CONNECT, WORKLOADS, window

RESULTS = ROOT / "bench" / "results"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=1, help="length of a window")
    parser.add_argument("--idle", type=int, default=5000, help="idle connections")
    parser.add_argument("--quick", action="store_true", help="3 cycles: to see that it works, not to compare")
    parser.add_argument("--only", nargs="+", metavar="WORKLOAD", help="of: " + " ".join(workload.name for workload in WORKLOADS))
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help="of: ebbgate relay haproxy nginx")
    parser.add_argument("--before", metavar="BINARY", help="an earlier build of ours enters too: how do we compare with it?")
    parser.add_argument("--keep", action="store_true", help="with --quick: keep the result as well")
    parser.add_argument("--table", nargs="?", const="newest", metavar="FILE", help="only print a kept result as Markdown")
    return parser.parse_args()


def git(*command):
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def machine():
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {"cpu": cpu.group(1) if cpu else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release()}


def build_tools():
    tls = ("-lssl", "-lcrypto")
    for target, libraries in ((CONNECT, tls), (TUNNELS, tls), (BACKEND, ()), (H2_BACKEND, ())):
        source = ROOT / "bench" / f"{target.name}.cc"
        newest = max(path.stat().st_mtime for path in (source, ROOT / "bench" / "serving.h"))
        if not target.exists() or target.stat().st_mtime < newest:
            target.parent.mkdir(exist_ok=True)
            subprocess.run(["clang++-19", "-std=c++23", "-O2", "-o", target, source, *libraries], check=True)


def fill(arena, without, before):
    if "ebbgate" not in without:
        arena.add_ebbgate("epoll")
        arena.add_ebbgate("uring")
    if before:
        arena.add_ebbgate("epoll", before, report.BEFORE)
        arena.add_ebbgate("uring", before, report.BEFORE)
    if "relay" not in without and (ROOT / "build" / "relay").exists():
        arena.add_relay("epoll")
        arena.add_relay("uring")
        arena.add_relay("epoll", "--splice")
    if "haproxy" not in without:
        arena.add_haproxy()
    if "nginx" not in without:
        arena.add_nginx()


def fill_with_routes(arena, chosen):
    wanted = [count for count in ROUTES if any(workload.scheme == f"routes-{count}" for workload in chosen)]
    names = [one.name for one in arena.contestants if "plain" in one.serves and not one.name.startswith("relay")]
    for count in wanted:
        for name in names:
            arena.add_with_routes(name, count)


def measure(together, arena, options):
    """Workloads to be compared with each other also take turns."""
    idle = together[0].unit == "kib"
    entered = [(workload, one) for workload in together for one in arena.contestants if workload.scheme in one.serves]
    if idle:
        entered = [pair for pair in entered if not pair[1].name.startswith("relay")]  # holds two sockets and has no idle state
    rounds = {workload.name: {} for workload in together}
    for workload, one in entered:
        rounds[workload.name][one.name] = []
        warm_up(workload, one, options)
    for cycle in range(min(3, options.cycles) if idle else options.cycles):
        turn = cycle % len(entered)
        for workload, one in entered[turn:] + entered[:turn]:  # the order rotates, so that the predecessor varies
            if idle:
                arena.restart(one)
                warm_up(workload, one, options)
            rounds[workload.name][one.name].append(window(workload, one, options.seconds, options.idle))
    return {workload.name: {"title": workload.title, "unit": workload.unit, "rounds": rounds[workload.name]} for workload in together}


def warm_up(workload, contestant, options):
    """Fills pools, pages and caches; not counted."""
    window(workload, contestant, 1, min(100, options.idle))


def keep(result):
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{result['date'].replace(':', '').replace(' ', '-')}-{result['commit']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nkept in {path.relative_to(ROOT)}")


def print_table(which):
    kept = sorted(RESULTS.glob("*.json"))
    if which == "newest" and not kept:
        sys.exit("bench: nothing kept under bench/results yet")
    path = kept[-1] if which == "newest" else pathlib.Path(which)
    print(report.markdown(json.loads(path.read_text())))


def main():
    options = arguments()
    if options.table:
        return print_table(options.table)
    if os.cpu_count() < 2:
        sys.exit("bench: needs two cores, one for the proxies and one for client and backend")
    if options.quick:
        options.cycles = 3
    chosen = [workload for workload in WORKLOADS if not options.only or workload.name in options.only]
    build_tools()
    result = {"date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"), "commit": git("rev-parse", "--short", "HEAD"),
              "changed": bool(git("status", "--porcelain", "src")), "machine": machine(), "cycles": options.cycles,
              "window_seconds": options.seconds, "idle_connections": options.idle, "contestants": {}, "workloads": {}}
    with tempfile.TemporaryDirectory(prefix="ebb-bench-") as directory, Arena(directory) as arena:
        fill(arena, options.without, options.before)
        fill_with_routes(arena, chosen)
        result["contestants"] = {one.name: {"version": one.version, "peer": one.peer} for one in arena.contestants}
        for _, group in itertools.groupby(chosen, key=lambda workload: workload.group or workload.name):
            together = list(group)
            print("bench", *(workload.name for workload in together), file=sys.stderr, flush=True)
            result["workloads"].update(measure(together, arena, options))
    report.print_rows(result)
    if not options.quick or options.keep:
        keep(result)


if __name__ == "__main__":
    main()
