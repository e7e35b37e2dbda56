"""`ebbgate check`, `version`, `--help` and a start that cannot be: messages that say what to do."""

import re
import socket
import subprocess

import pytest

from router import BINARY, PORTS

GOOD = """\
listeners:
  - {name: web, bind: "127.0.0.1:8080", protocol: http}
routes:
  - {backend: api}
backends:
  - name: api
    endpoints: [{name: a, address: "127.0.0.1:9000"}]
"""

# (what is replaced, by what, line:column of the complaint, words of it)
FAULTS = {
    "unknown key": ("routes:", "rotues:", "3:1", "routes"),
    "key of a listener": ("protocol: http}", "protocoll: http}", "2:41", "protocol"),
    "value of protocol": ("protocol: http}", "protocol: htp}", "2:51", "http"),
    "missing backend": ("{backend: api}", "{backend: apy}", "4:15", "did you mean `api`?"),
    "bad address": ("127.0.0.1:9000", "127.0.0.1:90000", "7:36", "port"),
    "no list": ("  - {backend: api}", "  backend: api", "4:3", "list"),
    "duration": ("{backend: api}", "{backend: api, timeout: 5}", "4:29", "5s"),
}


def ebbgate(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def test_good_file_passes(tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    assert ebbgate("check", "-c", file).returncode == 0


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named_with_its_place_and_a_remedy(tmp_path, fault):
    old, new, place, word = FAULTS[fault]
    assert GOOD.count(old) == 1
    file = tmp_path / "faulty.yaml"
    file.write_text(GOOD.replace(old, new))
    done = ebbgate("check", "-c", file)
    output = done.stdout + done.stderr
    assert done.returncode == 1
    assert f"{file}:{place}:" in output, output
    assert word in output.split(f"{place}:", 1)[1], output


def test_all_faults_are_told_at_once(tmp_path):
    file = tmp_path / "faulty.yaml"
    file.write_text(GOOD.replace("protocol: http", "protocol: htp").replace("name: api", "nam: api"))
    done = ebbgate("check", "-c", file)
    assert len(re.findall(re.escape(str(file)) + r":\d+:\d+:", done.stdout + done.stderr)) >= 2


def test_missing_file_is_named(tmp_path):
    done = ebbgate("check", "-c", tmp_path / "nothing.yaml")
    assert done.returncode == 1 and "nothing.yaml" in done.stdout + done.stderr


def test_port_in_use_is_a_message_and_not_a_crash(tmp_path):
    with socket.create_server(("127.0.0.1", PORTS.take())) as taken:
        file = tmp_path / "taken.yaml"
        file.write_text(GOOD.replace("8080", str(taken.getsockname()[1])))
        done = ebbgate("run", "-c", file)
    assert done.returncode == 1 and "in use" in done.stderr.lower()


def test_version_and_help():
    assert re.search(r"\d+\.\d+\.\d+", ebbgate("version").stdout)
    for arguments in (["--help"], ["run", "--help"], ["check", "--help"]):
        done = ebbgate(*arguments)
        assert done.returncode == 0 and "-c" in done.stdout or "check" in done.stdout
    assert ebbgate("no-such-command").returncode != 0
