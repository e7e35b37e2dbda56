"""The laboratory as tests: short scenes, with Ebbgate only. They assert counts, never times."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "lab"))
import fabric as networks  # noqa: E402
from contestant_ebbgate import BINARY  # noqa: E402

SLOTS = 10


@pytest.fixture(scope="session")
def fabric():
    assert BINARY.exists(), f"{BINARY} is not built"
    if reason := networks.refusal():
        pytest.skip(reason)
    with networks.Fabric(SLOTS) as network:
        yield network
