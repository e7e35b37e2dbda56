"""A file that guards something is never taken for "none": empty, cut or unreadable, it refuses the change."""

import json
import ssl
import subprocess

import pytest

import awkward
from http1 import Closed, request, trusting_context
from router import BINARY, configuration, wait_until

CONFIG = """\
[ca]
default_ca = own
[own]
database = {folder}/index.txt
default_md = sha256
default_crl_days = 30
"""


def revocations(folder, authority, revoked):
    """The path of a list by `authority`, in which its own certificate may be."""
    (folder / "index.txt").touch()
    (folder / "ca.cnf").write_text(CONFIG.format(folder=folder))
    command = ["openssl", "ca", "-config", folder / "ca.cnf", "-cert", authority["cert"], "-keyfile", authority["key"]]
    if revoked:
        subprocess.run([*command, "-revoke", authority["cert"]], check=True, capture_output=True)
    subprocess.run([*command, "-gencrl", "-out", folder / "clients.crl"], check=True, capture_output=True)
    return folder / "clients.crl"


@pytest.fixture
def pairs(certificates):
    return {"front": certificates("front", "ecdsa", "edge.test"), "client": certificates("client", "ecdsa", "client.test")}


def asking(service, pairs, **client_certificates):
    settings = configuration(service.port)
    settings["listeners"][0].update(protocol="https", certificates=[pairs["front"]],
                                    client_certificates={"mode": "required", "ca": pairs["client"]["cert"], **client_certificates})
    return settings


def body_for(one, pair):
    """What a client with that certificate gets; None if it is not let in."""
    context = trusting_context()
    context.load_cert_chain(pair["cert"], pair["key"])
    try:
        with one.dial(tls=context) as client:
            client.send(request())
            return client.read_response().body
    except (ssl.SSLError, Closed, ConnectionError):
        return None


@pytest.mark.parametrize("content", ["", "\n", "-----BEGIN CERTIFICATE-----\n"], ids=["empty", "blank", "other"])
def test_a_revoked_client_stays_out_when_the_list_loses_its_content(router, backend, pairs, tmp_path, content):
    crl = revocations(tmp_path, pairs["client"], revoked=True)
    one = router(asking(backend(awkward.named("inside")), pairs, crl=str(crl)))
    assert body_for(one, pairs["client"]) is None
    beside = crl.with_suffix(".new")
    beside.write_text(content)
    beside.rename(crl)
    wait_until(lambda: "event=config_refused" in one.error_text(), what="the refusal")
    assert str(crl) in one.error_text()
    assert body_for(one, pairs["client"]) is None


def test_a_client_that_is_not_in_the_list_is_let_in(router, backend, pairs, tmp_path):
    crl = revocations(tmp_path, pairs["client"], revoked=False)
    one = router(asking(backend(awkward.named("inside")), pairs, crl=str(crl)))
    assert body_for(one, pairs["client"]) == b"inside"


def with_canary(settings, path):
    settings["routes"][0]["host"] = "edge.test"
    settings["canary"] = {"backends": ["service"], "ports": [1, 2], "ca": path}


def with_tls_backend(settings, pair, **tls):
    settings["backends"][0]["tls"] = {"name": "again.internal", "ca": pair["cert"], **tls}
    settings["routes"][0]["tls"] = "reencrypt"


# Where a path is put. What is there already is good.
PLACES = {
    "certificate": lambda settings, pair, path: settings["listeners"][0]["certificates"][0].update(cert=path),
    "key": lambda settings, pair, path: settings["listeners"][0]["certificates"][0].update(key=path),
    "OCSP response": lambda settings, pair, path: settings["listeners"][0]["certificates"][0].update(ocsp=path),
    "authorities of clients": lambda settings, pair, path: settings["listeners"][0]["client_certificates"].update(ca=path),
    "revocation list": lambda settings, pair, path: settings["listeners"][0]["client_certificates"].update(crl=path),
    "authorities of a backend": lambda settings, pair, path: with_tls_backend(settings, pair, ca=path),
    "own certificate": lambda settings, pair, path: with_tls_backend(settings, pair, cert=path, key=pair["key"]),
    "own key": lambda settings, pair, path: with_tls_backend(settings, pair, cert=pair["cert"], key=path),
    "authorities of the canary": lambda settings, pair, path: with_canary(settings, path),
    "authorities of operators": lambda settings, pair, path: settings.update(
        admin={"bind": "127.0.0.1:1", "tls": {**pair, "client_ca": path}}),
    "token": lambda settings, pair, path: settings.update(admin={"bind": "127.0.0.1:1", "token_file": path}),
}


@pytest.mark.parametrize("content", ["", None], ids=["empty", "missing"])
@pytest.mark.parametrize("place", PLACES)
def test_an_empty_or_missing_file_is_refused_and_named_with_a_remedy(tmp_path, pairs, place, content):
    settings = configuration(1)
    settings["listeners"][0].update(protocol="https", certificates=[dict(pairs["front"])],
                                    client_certificates={"mode": "required", "ca": pairs["client"]["cert"]})
    path = tmp_path / "given"
    if content is not None:
        path.write_text(content)
    PLACES[place](settings, pairs["client"], str(path))
    file = tmp_path / "ebbgate.yaml"
    file.write_text(json.dumps(settings))
    done = subprocess.run([BINARY, "check", "-c", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout
    line = next(line for line in (done.stdout + done.stderr).splitlines() if str(path) in line)
    assert "; " in line, line


KEYS = {
    "key": (lambda pairs: pairs["front"]["key"], PLACES["key"]),
    "own key": (lambda pairs: pairs["client"]["key"], PLACES["own key"]),
    "key of the admin listener": (lambda pairs: pairs["client"]["key"], lambda settings, pair, path: settings.update(
        admin={"bind": "127.0.0.1:1", "tls": {**pair, "key": path}})),
}


@pytest.mark.parametrize("part", [1.0, 0.5], ids=["whole", "half"])
@pytest.mark.parametrize("place", KEYS)
def test_a_second_key_behind_the_first_is_refused(tmp_path, pairs, place, part):
    """A file to which the next key was appended would serve the former one."""
    find, put = KEYS[place]
    key = open(find(pairs)).read()
    second = open(pairs["front" if place != "key" else "client"]["key"]).read()
    path = tmp_path / "given"
    path.write_text(key + second[:int(len(second) * part)])
    settings = configuration(1)
    settings["listeners"][0].update(protocol="https", certificates=[dict(pairs["front"])])
    put(settings, pairs["client"], str(path))
    file = tmp_path / "ebbgate.yaml"
    file.write_text(json.dumps(settings))
    done = subprocess.run([BINARY, "check", "-c", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout
    assert f"{path} has " in done.stdout + done.stderr and "; leave only the one private key" in done.stdout + done.stderr


def test_a_revocation_list_among_authorities_is_not_ignored(tmp_path, pairs):
    both = tmp_path / "both.pem"
    both.write_text(open(pairs["client"]["cert"]).read() + revocations(tmp_path, pairs["client"], revoked=True).read_text())
    settings = asking(type("Nobody", (), {"port": 1}), pairs, ca=str(both))
    file = tmp_path / "ebbgate.yaml"
    file.write_text(json.dumps(settings))
    done = subprocess.run([BINARY, "check", "-c", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and f"{both} has a X509 CRL block, which would be ignored; " in done.stdout + done.stderr


def test_a_pinned_authority_does_not_become_the_systems(tmp_path):
    """--ca of the prober is a security file too."""
    empty = tmp_path / "ca.pem"
    empty.touch()
    done = subprocess.run([BINARY, "canary", "probe", "--ca", empty, "https://localhost:1/"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and str(empty) in done.stderr and "is empty" in done.stderr
