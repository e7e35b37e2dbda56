#!/usr/bin/python3
"""A shell in the rig: `make rig`. kubectl works, two pods run; the end of the shell ends all."""

import os
import signal
import subprocess
import sys

import binaries
import namespaces
from control_plane import INSIDE
from rig import HERE, Rig

TEXT = """
A Kubernetes {version} cluster, in namespaces of its own. `exit` ends all of it.

  kubectl get pods -o wide          two pods of the Deployment `hello`, processes of this machine at addresses of their own
  kubectl get endpointslices        what the real endpointslice controller says of them
  curl http://ADDRESS:8080/         a pod answers with its name
  kubectl delete pod NAME & kubectl get pods -w
  tail -f {inside}/journal          what the node agent does: deletion seen, preStop, SIGTERM, SIGKILL
  ls {inside}                       logs, certificates, kubeconfigs

The CRDs of the Gateway API and of OpenShift's Route are there. Images are names of commands: rig/server, rig/host
(tests/kubernetes/images.py). https://10.96.0.1 is the Service `kubernetes`; other Services have no cluster address here.
"""


def main():
    if reason := namespaces.refusal():
        sys.exit(f"there can be no rig here: {reason}")
    try:
        binaries.programs(lambda line: print(line, flush=True))
        binaries.definitions()
    except binaries.Missing as missing:
        sys.exit(f"there can be no rig here: {missing}")
    with Rig() as rig:
        rig.install_gateway_api()
        rig.install_openshift_route()
        rig.kubectl("apply", "--server-side", "-f", HERE / "demo.yaml")
        rig.kubectl("rollout", "status", "deployment/hello")
        (rig.namespaces.files / INSIDE.lstrip("/") / "shellrc").write_text(
            '[ ! -r ~/.bashrc ] || . ~/.bashrc\nPATH="$RIG_PROGRAMS:$PATH"\nPS1="(rig) $PS1"\n')
        print(TEXT.format(version=binaries.VERSION, inside=INSIDE), flush=True)
        environment = {**os.environ, "KUBECONFIG": f"{INSIDE}/admin.kubeconfig", "KUBECACHEDIR": f"{INSIDE}/kubectl",
                       "RIG_PROGRAMS": str(rig.programs), "PATH": f"{rig.programs}:{os.environ['PATH']}"}
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for what runs in the shell
        return subprocess.run(rig.namespaces.inside("bash", "--rcfile", f"{INSIDE}/shellrc"), env=environment,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)).returncode


if __name__ == "__main__":
    sys.exit(main())
