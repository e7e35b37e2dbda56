"""curl as a client that is not ours, over HTTP/1.1 or HTTP/2."""

import subprocess

from http1 import PATIENCE, Message

VERSIONS = {"1.1": "--http1.1", "2": "--http2-prior-knowledge"}

def parse(output):
    """What curl -i prints: heads, of which the last counts, the body, and trailers behind it."""
    head, rest = output.split(b"\r\n\r\n", 1)
    while head.split()[1].startswith(b"1"):
        head, rest = rest.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    return Message(lines[0], [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]], head, rest)


def ask(port, target="/", version="1.1", method=None, body=None, host="localhost", tls=False, options=(), **fields):
    """One request. `fields` are header fields, an underscore for each dash; Expect is sent only if it is among them."""
    command = ["curl", "-sik", "--max-time", str(PATIENCE), "--path-as-is"]
    command.append(VERSIONS[version].replace("-prior-knowledge", "") if tls else VERSIONS[version])
    if method == "HEAD":
        command.append("-I")
    elif method is not None:
        command += ["-X", method]
    if body is not None:
        command += ["--data-binary", "@-"]
    for name, value in {"Host": host, "Expect": "", **fields}.items():
        command += ["-H", f"{name.replace('_', '-')}: {value}" if value else f"{name}:"]
    url = f"{'https' if tls else 'http'}://127.0.0.1:{port}{target}"
    done = subprocess.run([*command, *options, url], input=body, capture_output=True, timeout=2 * PATIENCE, check=False)
    assert done.stdout, f"curl ended with {done.returncode}: {done.stderr.decode()}"
    return parse(done.stdout)
