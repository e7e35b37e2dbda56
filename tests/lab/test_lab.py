"""Short scenes of the laboratory: these counts must be zero on any machine, however busy."""

import pytest

from contestant_ebbgate import Ebbgate
from scenes import BY_NAME
from stage import Stage


@pytest.mark.parametrize("name", ["control", "rolling-at", "rolling-2", "one-0.5", "recreate", "crash", "receipt-2"])
def test_nothing_is_lost(fabric, tmp_path, name):
    with Stage(fabric, Ebbgate, tmp_path, short=True) as stage:
        result = BY_NAME[name].play(stage)
    assert result.row["requests"] > 300, "the load hardly ran"
    assert result.row["failed"] == result.row["unknowable"], result.row
    assert result.row["audit"] == 0, result.misses
    assert result.row["wrong"] == 0 and result.row["dup"] == 0, result.row


@pytest.mark.parametrize("name", ["node-death", "frozen", "gray", "kill"])
def test_a_death_fails_nothing_that_can_be_repeated(fabric, tmp_path, name):
    with Stage(fabric, Ebbgate, tmp_path, short=True) as stage:
        result = BY_NAME[name].play(stage)
    assert result.row["requests"] > 300, "the load hardly ran"
    assert result.row["failed"] == 0 and result.row["dup"] == 0, result.row


@pytest.mark.parametrize("name", ["slow-posts", "sparse-alike", "serial", "quiet-streams"])
def test_slow_is_not_dead(fabric, tmp_path, name):
    with Stage(fabric, Ebbgate, tmp_path, short=True) as stage:
        result = BY_NAME[name].play(stage)
    assert result.row["requests"] > 20 and result.row["slow POSTs"] > 0, "the load hardly ran"
    assert result.row["failed"] == 0 and result.row["cut"] == 0 and result.row["dup"] == 0, result.row
