# SPDX-License-Identifier: BSD-3-Clause
"""A TCP port for a rendezvous that is started a moment later."""

from __future__ import annotations

import collections
import random
import socket
import zlib

from waitio.errors import WaitioError

# Outside the range from which the system takes the ports of outgoing connections and of listeners
# that ask for any port: there, somebody may take the port between our look and its use. Linux's
# range begins at 32768 unless the site has set another one.
FIRST, LAST = 20000, 31999
LOWEST, HIGHEST = 1024, 65535
ENOUGH = 500
RANGE_FILE = "/proc/sys/net/ipv4/ip_local_port_range"
TRIES = 200

# Marks of the ports given out lately. A port counts as taken while its mark is held, so that two
# runs that look at the same moment do not both find it free. The oldest marks are given back: by
# then the rendezvous listens, or the run is over.
_marks: collections.deque[socket.socket] = collections.deque(maxlen=64)


def window() -> tuple[int, int]:
    """Return the first and the last port to choose from: none that the system gives out itself."""
    try:
        with open(RANGE_FILE) as file:
            low, high = (int(word) for word in file.read().split()[:2])
    except (OSError, ValueError):
        return FIRST, LAST
    size = LAST - FIRST
    if low > LAST or high < FIRST:
        return FIRST, LAST
    if low - LOWEST >= ENOUGH:
        return max(LOWEST, low - 1 - size), low - 1
    if HIGHEST - high >= ENOUGH:
        return high + 1, min(HIGHEST, high + 1 + size)
    return FIRST, LAST  # the system gives out nearly all: no port is better than another


def port_for(job_id: str) -> int:
    """Return the port that every machine with this system setting computes for a job id."""
    first, last = window()
    return first + zlib.crc32(job_id.encode()) % (last - first + 1)


def _mark(port: int) -> bool:
    """Take the mark of a port; it vanishes with this process."""
    if not hasattr(socket, "AF_UNIX"):
        return True
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        mark.bind(f"\0waitio-port-{port}")
    except OSError:
        mark.close()
        return False
    _marks.append(mark)
    return True


def _nobody_listens(host: str, port: int) -> bool:
    six = ":" in host
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET) as probe:
        try:
            probe.bind(("::" if six else "", port))
        except OSError:
            return False
    return True


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port of this host that nobody listens on and that no other run was given.

    `host` tells the family of addresses, IPv4 or IPv6. Raises WaitioError where none is free.
    """
    chooser = random.SystemRandom()
    first, last = window()
    for _ in range(TRIES):
        port = chooser.randint(first, last)
        if _nobody_listens(host, port) and _mark(port):
            return port
    raise WaitioError(f"no free TCP port after {TRIES} tries; give one with --master-port")
