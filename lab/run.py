#!/usr/bin/python3
"""`make lab`: endpoints leave, die and come back under load; one table for each scene, one row for each contestant.

LAB="--list" names scenes and contestants, LAB="--scene crash --contestant ebbgate" runs a part. The exit status is 1 when
we missed a goal; rows of others are only printed.
"""

import argparse
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import fabric
import report
from contestants import BY_NAME, NAMES
from scene import Skip
from scenes import BY_NAME as SCENES
from stage import Stage

SLOTS = 16
EXPLAINED = 6  # failed requests, for each row


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", nargs="+", metavar="NAME", choices=list(SCENES), help="only these")
    parser.add_argument("--contestant", nargs="+", metavar="NAME", choices=NAMES, help="only these")
    parser.add_argument("--short", action="store_true", help="fewer replacements, shorter waits")
    parser.add_argument("--json", metavar="FILE", help="write all rows there as well")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep logs, journals and records of every run there")
    parser.add_argument("--list", action="store_true", help="name scenes and contestants, and do nothing")
    return parser.parse_args()


def play(network, scene, contestant, directory, short):
    """Plays one row. The contestant's log lines about failed requests go to standard error."""
    with Stage(network, BY_NAME[contestant], directory, short) as stage:
        result = scene.play(stage)
        lines = stage.contestant.explain([record.identity for record in result.failed[:EXPLAINED]])
    for record in result.failed[:EXPLAINED]:
        print(f"    {record.identity} {record.outcome} after {record.seconds:.3f} s {record.pod} {record.note}", file=sys.stderr)
    for line in lines[:EXPLAINED]:
        print(f"    {line}", file=sys.stderr)
    return result


def main():
    options = arguments()
    if options.list:
        return report.print_list(SCENES.values())
    if reason := fabric.refusal():
        print(f"lab: skipped: {reason}", file=sys.stderr)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that cleanup runs then too
    base = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="ebbgate-lab-"))
    tables, missed = [], []
    try:
        with fabric.Fabric(SLOTS) as network:
            for name in options.scene or SCENES:
                scene, rows = SCENES[name], {}
                for contestant in options.contestant or scene.contestants:
                    if contestant not in scene.contestants:
                        continue
                    started = time.monotonic()
                    directory = base / f"{name}-{contestant}"
                    shutil.rmtree(directory, ignore_errors=True)  # left by an earlier run
                    directory.mkdir(parents=True)
                    print(f"  {name}: {contestant} ...", file=sys.stderr, flush=True)
                    try:
                        rows[contestant] = play(network, scene, contestant, directory, options.short)
                    except Skip as reason:
                        print(f"  {name}: {contestant}: skipped: {reason}", flush=True)
                        continue
                    print(f"  {name}: {contestant} took {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
                    if not BY_NAME[contestant].peer:
                        missed += [f"{name}: {miss}" for miss in rows[contestant].misses]
                report.print_table(scene, rows)
                tables.append(report.as_data(scene, rows))
    finally:
        if not options.keep:
            shutil.rmtree(base, ignore_errors=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(tables, indent=1) + "\n")
    for miss in missed:
        print(f"missed: {miss}")
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
