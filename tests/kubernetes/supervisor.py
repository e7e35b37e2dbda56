"""The first process of the rig's namespaces: starts, signals and reaps programs, as lines of JSON on standard input ask for.

    {"start": [PROGRAM, ARGUMENT...], "environment": {...}, "log": FILE}  ->  {"started": PID}
    {"signal": NUMBER, "pid": PID}                                        ->  {"signalled": PID}
    (a child has ended)                                                   ->  {"ended": PID, "status": N}

The kernel kills every process of a PID namespace when its first process ends. So the end of standard input, which comes however the
asking process ends, ends everything in here.
"""

import json
import os
import selectors
import signal
import sys


def tell(**facts):
    os.write(1, (json.dumps(facts) + "\n").encode())


def start(order):
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open("/dev/null", os.O_RDONLY)
    files = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
    try:
        pid = os.posix_spawnp(order["start"][0], order["start"], order["environment"], file_actions=files, setsid=True,
                              setsigdef=[signal.SIGPIPE])
        tell(started=pid)
    except OSError as error:
        tell(started=None, reason=str(error))
    finally:
        os.close(log)
        os.close(null)


def send(order):
    try:
        os.kill(order["pid"], order["signal"])
    except ProcessLookupError:
        pass  # it has ended, and was told so
    tell(signalled=order["pid"])


def reap():
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        tell(ended=pid, status=os.waitstatus_to_exitcode(status))


def main():
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    events = selectors.DefaultSelector()
    events.register(0, selectors.EVENT_READ)
    events.register(wake_read, selectors.EVENT_READ)
    pending = b""
    tell(ready=True)
    while True:
        for key, _ in events.select():
            if key.fd == wake_read:
                os.read(wake_read, 4096)
                reap()
                continue
            got = os.read(0, 65536)
            if not got:
                sys.exit()
            *lines, pending = (pending + got).split(b"\n")
            for order in map(json.loads, lines):
                (start if "start" in order else send)(order)


if __name__ == "__main__":
    main()
