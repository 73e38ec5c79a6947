# SPDX-License-Identifier: BSD-3-Clause
"""Be a program without any network: `python3 -m tsunami.island NAME PROGRAM [ARGUMENTS]`, as root.

Its network namespace is its own. No device in it is up but its own loopback, which Open MPI needs
for its own processes. No address leads in or out. What is seen there is written to `island.NAME`.
"""

import ctypes
import fcntl
import json
import os
import pathlib
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
FLAGS = struct.Struct("16sH14x")
STATUS = 125  # of a program that could not be started, as env(1) and nice(1) have it


def leave_network():
    """This process and all that it starts have no network from here on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def flags_of(device, any_socket):
    answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, FLAGS.pack(device.encode(), 0))
    return FLAGS.unpack(answer)[1]


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = flags_of("lo", any_socket) | IFF_UP
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, FLAGS.pack(b"lo", flags))


def devices():
    """The devices that are up. Some kernels give each namespace others (tunl0, sit0), which are
    down and have no address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        names = [name for _, name in socket.if_nameindex()]
        return [name for name in names if flags_of(name, any_socket) & IFF_UP]


def network():
    """The name of this process's network namespace."""
    return os.readlink("/proc/self/ns/net")


def here():
    """What this process sees of a network."""
    return {"namespace": network(), "devices": devices()}


def main(words):
    name, *command = words
    try:
        leave_network()
        raise_loopback()
    except OSError as error:
        print(f"island {name}: cannot leave the network: {error.strerror}", file=sys.stderr)
        return STATUS
    pathlib.Path(f"island.{name}").write_text(json.dumps(here()))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"island {name}: cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        return STATUS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
