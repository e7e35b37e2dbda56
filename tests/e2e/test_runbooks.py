"""The commands of the runbooks, as an operator would paste them, on a router that has something to tell."""

import contextlib
import pathlib
import re
import subprocess

import pytest

import awkward
from http1 import request
from router import PORTS, configuration
from router import backend as backend_of

RUNBOOKS = sorted((pathlib.Path(__file__).parents[2] / "docs" / "runbooks").glob("*.md"))


def commands(page):
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("page", RUNBOOKS, ids=lambda page: page.stem)
def test_commands_work_as_they_are_written(router, backend, page):
    settings = configuration(backends=[backend_of(backend(awkward.named("x")).port), backend_of(PORTS.take(), name="refusing", queue={"limit": 0})])
    settings["routes"].append({"name": "refused", "path": "/refused", "backend": "refusing"})
    one = router(settings)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(one.dial())
        client.send(request())
        assert client.read_response().status == 200
        assert one.get("/refused").status == 502
        one.logged(status=502)
        assert commands(page)
        for command in commands(page):
            here = command.replace("127.0.0.1:9901", f"127.0.0.1:{one.admin}").replace(" access.log", f" {one.access_log}")
            ran = subprocess.run(["bash", "-c", here], capture_output=True, text=True, timeout=30, check=False)
            # grep says 1 where there is nothing of the kind, which is an answer too
            assert ran.returncode in (0, 1) and not ran.stderr, (command, ran)
