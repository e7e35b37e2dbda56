"""The commands that the documentation shows, run as they stand there but for addresses."""

import os
import pathlib
import re
import subprocess

import pytest

import awkward
from router import BINARY, PORTS, ROOT, configuration

PAGES = ["draining", "runtime-socket", "admin-api", "health"]


def blocks(page, language):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


CASES = [(page, block) for page in PAGES for block in blocks(page, "sh")]


@pytest.mark.parametrize("page, block", CASES, ids=[f"{page}-{number}" for number, (page, _) in enumerate(CASES)])
def test_commands_of_the_documentation_work(router, backend, tmp_path, page, block):
    service = backend(awkward.named("a"))
    admin, self_drain = PORTS.take(), PORTS.take()
    settings = configuration(service.port) | {"admin": {"bind": f"127.0.0.1:{admin}", "self_drain": f"127.0.0.1:{self_drain}"},
                                              "runtime": str(tmp_path / "run" / "ebbgate.sock")}
    settings["routes"][0]["backend"] = "api"
    settings["backends"] = [{"name": "api", "endpoints": [{"name": "a", "address": f"127.0.0.1:{service.port}"}]}]
    router(settings)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ebbgate").symlink_to(pathlib.Path(BINARY).resolve())
    for shown, real in (("127.0.0.1:9901", f"127.0.0.1:{admin}"), ("10.0.0.7:9902", f"127.0.0.1:{self_drain}"), ("127.0.0.1:9001", f"127.0.0.1:{service.port}")):
        block = block.replace(shown, real)
    with subprocess.Popen(["sleep", "60"]) as victim:
        try:
            environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SERVICE_PID": str(victim.pid)}
            ended = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        finally:
            victim.kill()
    assert ended.returncode == 0, ended
    assert '"error"' not in ended.stdout, ended.stdout


@pytest.mark.parametrize("page", ["draining", "health"])
def test_configuration_of_the_page_loads(tmp_path, page):
    file = tmp_path / "ebbgate.yaml"
    file.write_text(blocks(page, "yaml")[0] + "listeners: []\n")
    ended = subprocess.run([BINARY, "check", "-c", file], capture_output=True, text=True, timeout=30)
    assert ended.returncode == 0, ended.stderr
