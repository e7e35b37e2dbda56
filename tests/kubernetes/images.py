"""What the rig runs for the image of a container: a name here stands for the first words of a command line.

As with real images, `command` of the pod takes their place and `args` follow. `rig/host` has nothing of its own: it runs any program
of this machine. A test adds its own with `Rig(images={NAME: [PROGRAM, ARGUMENT...]})`.
"""

import pathlib

PYTHON = "/usr/bin/python3"
HERE = pathlib.Path(__file__).resolve().parent
IMAGES = {
    "rig/server": [PYTHON, str(HERE / "demo_server.py")],
    "rig/host": [],
}


def command_of(container, images):
    """The command line, or None if there is no such image."""
    image = images.get(container["image"].removesuffix(":latest"))
    if image is None:
        return None
    words = container["command"] if container.get("command") else image
    return [*words, *container.get("args", [])]
