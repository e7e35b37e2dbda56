#!/usr/bin/python3
"""The programs of a Kubernetes control plane and the CRDs that the tests apply: tests/kubernetes/binaries.py [--path]

No distribution packages these programs. They are built once, from the versions in go.mod, into the user's cache; the CRDs are
unpacked from their Go modules. KUBEBUILDER_ASSETS names a folder with the same programs that is used instead. `--path` prints the
folder of the programs. Where the programs cannot be had, the exit status is 3 and the last line says why.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
VERSION = "v1.37.1"
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
}
STAMP = "k8s.io/component-base/version"
LINK = f"-s -w -X {STAMP}.gitVersion={VERSION} -X {STAMP}.gitMajor=1 -X {STAMP}.gitMinor=37 -X {STAMP}.gitTreeState=clean"
FLAGS = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", LINK]
PROGRAM_SECONDS = 3600  # for one program, on a busy machine: alone on two cores the longest takes 6 minutes

# The zip of a module has its files whether or not the compiler is new enough for its code: (module, version, hash, {file: ours}).
MODULES = [
    ("sigs.k8s.io/gateway-api", "v1.7.0", "h1:duVnm7nO6oXfMMUWfcDoBph47CYR/ME3NGxccOVglaY=",
     {r"config/crd/(standard|experimental)/(?!kustomization)([^/]+\.yaml)": r"gateway-\1/\2"}),
    ("github.com/openshift/api", "v0.0.0-20250710004639-926605d3338b", "h1:A8OY6adT2aZNp7tsGsilHuQ3RqhzrFx5dzGr/UwXfJg=",
     {r"route/v1/zz_generated.crd-manifests/(routes\.crd\.yaml)": r"openshift/\1"}),
]


class Missing(Exception):
    """Why there are no programs here."""


def cache():
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ebbgate"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def made_once(folder):
    """Yields an empty folder beside `folder`, to be renamed when complete, or None if `folder` is there; two runs at once make it once."""
    if folder.is_dir():
        yield None
        return
    with open(folder.with_name(folder.name + ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            yield None
            return
        beside = folder.with_name(folder.name + ".new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        try:
            yield beside
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def go():
    found = shutil.which("go")
    if found is None:
        raise Missing("the Kubernetes programs are not built, and there is no Go compiler to build them with")
    return found


def last_line(output):
    return (output.strip().splitlines() or ["without a reason"])[-1]


def build(folder, say):
    compiler = go()
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": ""}
    for number, (name, package) in enumerate(PACKAGES.items(), 1):
        say(f"building {name} ({number} of {len(PACKAGES)})")
        started = time.monotonic()
        try:
            built = subprocess.run([compiler, "build", *FLAGS, "-o", folder / name, package], cwd=HERE, env=environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PROGRAM_SECONDS)
        except subprocess.TimeoutExpired:
            raise Missing(f"{name} was not built within {PROGRAM_SECONDS} s") from None
        if built.returncode != 0:
            raise Missing(f"{name} could not be built: {last_line(built.stdout)}")
        say(f"built {name} in {time.monotonic() - started:.0f} s")


def programs(say=lambda line: None):
    """The folder with etcd, kube-apiserver, kube-controller-manager and kubectl."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        folder = pathlib.Path(given)
        for name in PACKAGES:
            if not os.access(folder / name, os.X_OK):
                raise Missing(f"KUBEBUILDER_ASSETS is {folder}, which has no {name}")
        return folder
    recipe = (HERE / "go.mod").read_bytes() + (HERE / "go.sum").read_bytes() + " ".join(FLAGS).encode()
    folder = cache() / f"kubernetes-{VERSION}-{hashlib.sha256(recipe).hexdigest()[:8]}"
    with made_once(folder) as beside:
        if beside:
            build(beside, say)
    return folder


def unpack(folder):
    compiler = go()
    for module, version, wanted, files in MODULES:
        got = subprocess.run([compiler, "mod", "download", "-json", f"{module}@{version}"], cwd="/", text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "GOFLAGS": ""})
        facts = json.loads(got.stdout or "{}")
        if not facts.get("Zip"):
            raise Missing(f"{module} {version} could not be downloaded: {facts.get('Error') or last_line(got.stderr)}")
        if facts["Sum"] != wanted:
            raise Missing(f"{module} {version} has the hash {facts['Sum']}, not {wanted}")
        with zipfile.ZipFile(facts["Zip"]) as archive:
            for member in archive.namelist():
                for pattern, ours in files.items():
                    if found := re.fullmatch(re.escape(f"{module}@{version}/") + pattern, member):
                        target = folder / found.expand(ours)
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(archive.read(member))


def definitions():
    """The folder with gateway-standard/, gateway-experimental/ and openshift/."""
    folder = cache() / f"crds-{hashlib.sha256(repr(MODULES).encode()).hexdigest()[:8]}"
    with made_once(folder) as beside:
        if beside:
            unpack(beside)
    return folder


def main():
    try:
        folder = programs(lambda line: print(line, file=sys.stderr, flush=True))
        definitions()
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 3
    if "--path" in sys.argv[1:]:
        print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
