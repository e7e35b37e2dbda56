"""Fixtures: one rig for all tests that leave it as it was; a test that needs a namespace of its own takes `namespace`."""

import itertools
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import binaries  # noqa: E402
import namespaces  # noqa: E402
from rig import Rig  # noqa: E402

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def able():
    """Skips where there can be no rig."""
    if reason := namespaces.refusal():
        pytest.skip(reason)
    try:
        binaries.programs()
        binaries.definitions()
    except binaries.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def rig(able):
    with Rig() as one:
        yield one


@pytest.fixture
def namespace(rig):
    """An empty namespace in which pods can be made; what it holds is deleted at once when the test ends."""
    name = f"test-{next(NUMBERS)}"
    rig.make_namespace(name)
    yield name
    rig.kubectl("delete", "namespace", name, "--wait=false")
    rig.kubectl("delete", "deployments,pods", "--all", "-n", name, "--grace-period=0", "--force", "--wait=false")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows what the node did."""
    report = (yield).get_result()
    one = item.funcargs.get("rig") if hasattr(item, "funcargs") else None
    if report.failed and one:
        report.sections.append(("journal of the node", one.file("journal")[-6000:]))
        report.sections.append(("log of the node agent", one.file("agent.log")[-3000:]))
        report.sections.append(("log of the faulty proxy", one.file("proxy.log")[-3000:]))
