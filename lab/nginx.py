"""nginx in a pod's place, as behind most routers."""

import subprocess
import time

FRAME = """
daemon off; master_process off; worker_rlimit_nofile 8192; pid {directory}/nginx.pid; error_log {directory}/nginx.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/p; fastcgi_temp_path {directory}/f;
  uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  {http}
}}
"""


def serve(fabric, base, slot, http):
    """A process in the namespace of a slot, once it listens; `http` is added to its standard configuration."""
    directory = base / f"server{slot}"
    directory.mkdir(exist_ok=True)
    file = directory / "nginx.conf"
    file.write_text(FRAME.format(directory=directory, http=http))
    with open(directory / "stderr", "wb") as errors:
        process = subprocess.Popen(fabric.bound(f"pod{slot}", "nginx", "-p", directory, "-c", file), stdin=subprocess.DEVNULL,
                                   stdout=errors, stderr=errors, start_new_session=True)
    deadline = time.monotonic() + 10
    while not (directory / "nginx.pid").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("a server did not start: " + (directory / "stderr").read_text(errors="replace"))
        time.sleep(0.02)
    return process
