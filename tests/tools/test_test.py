"""tools/test: how a suite ends, and what it has cost."""

import subprocess
import sys


def test_the_status_of_a_command_and_its_work_come_back(tool):
    status, work = tool("test").run_to_its_end([sys.executable, "-c", "sum(range(10**7)); raise SystemExit(3)"], 600, stdout=subprocess.DEVNULL)
    assert status == 3 and work > 0


def test_the_work_of_children_is_counted(tool):
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(10**7))'])"
    alone = tool("test").run_to_its_end([sys.executable, "-c", "pass"], None, stdout=subprocess.DEVNULL)[1]
    assert tool("test").run_to_its_end([sys.executable, "-c", script], None, stdout=subprocess.DEVNULL)[1] > alone


def test_a_command_that_does_not_end_is_killed_and_named(tool):
    status, _ = tool("test").run_to_its_end(["sleep", "infinity"], 0.1, stdout=subprocess.DEVNULL)
    assert status == "time-out after 0.1 s"
