#!/usr/bin/python3
"""The prober of the first incident: a new transport every period, whose kept-alive connection is never closed.

prober.py PERIOD_SECONDS, until it is ended. Prints a line for each probe that failed."""

import http.client
import itertools
import pathlib
import sys
import time

from ports import LEAKY_ADDRESS, WEB

NAME = "leaky-prober"


def main():
    pathlib.Path("/proc/self/comm").write_text(NAME)  # the name in process listings
    period, transports, begun = float(sys.argv[1]), [], time.monotonic()
    for number in itertools.count(1):
        transports.append(http.client.HTTPConnection("127.0.0.1", WEB, timeout=10, source_address=(LEAKY_ADDRESS, 0)))
        try:
            transports[-1].request("GET", f"/get?id=probe-{number}")
            transports[-1].getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            print(f"probe {number}: {error!r}", flush=True)
        time.sleep(max(0.0, begun + number * period - time.monotonic()))


if __name__ == "__main__":
    main()
