"""`python3 without_ipv6.py command ...`: the command on a machine whose kernel has no IPv6, as far as it can tell: socket() fails with
EAFNOSUPPORT. By a filter of system calls, which needs no privilege."""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

NUMBERS = {"x86_64": 41, "aarch64": 198}  # of socket(2)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF: ld [k], jeq #k, ret #k
NUMBER_AT, FIRST_ARGUMENT_AT = 0, 16  # in struct seccomp_data
ERRNO, ALLOW = 0x00050000, 0x7FFF0000


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def refusing(number, family):
    steps = [(LOAD, 0, 0, NUMBER_AT), (EQUAL, 0, 3, number), (LOAD, 0, 0, FIRST_ARGUMENT_AT), (EQUAL, 0, 1, family),
             (RETURN, 0, 0, ERRNO | errno.EAFNOSUPPORT), (RETURN, 0, 0, ALLOW)]
    return Program(len(steps), b"".join(struct.pack("=HBBI", *step) for step in steps))


if __name__ == "__main__":
    libc = ctypes.CDLL(None, use_errno=True)
    program = refusing(NUMBERS[platform.machine()], socket.AF_INET6)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])
