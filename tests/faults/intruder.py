# SPDX-License-Identifier: BSD-3-Clause
"""The messages of the handshake (docs/design/handshake.md), made by somebody who need not know the
secret, or keep to the rules."""

import os
import socket
import struct

HELLO, CHALLENGE, PROOF, READY, REFUSE = 1, 2, 3, 4, 5
BOOT, LINK = 1, 3
BOOT_RUN = b"waitio boot v1".ljust(16, b"\0")
AUTH, VERSION = 12, 13  # how a refusal names WAITIO_ERR_AUTH and WAITIO_ERR_VERSION


def prefix(kind, length, version=1):
    return struct.pack("<4sBBH", b"WIOH", kind, version, length)


def greeting(purpose, run, rank=0, extra=0):
    """What HELLO and CHALLENGE have in common, after the prefix."""
    return struct.pack("<BBHI16sII", purpose, 0, 0, 0, run, rank, extra) + os.urandom(16)


def hello(purpose, run, rank=0, version=1):
    return prefix(HELLO, 56, version) + greeting(purpose, run, rank)


def challenge(purpose, run, rank=0, version=1):
    """With a proof that proves nothing."""
    return prefix(CHALLENGE, 88, version) + greeting(purpose, run, rank) + os.urandom(32)


def proof(version=1):
    """Of nothing."""
    return prefix(PROOF, 40, version) + os.urandom(32)


def receive(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            return None
        data += more
    return data


def message(s):
    """The next message of the other side: (type, its bytes); (None, b"") when it has closed."""
    try:
        head = receive(s, 8)
        if head is None:
            return None, b""
        length = struct.unpack_from("<H", head, 6)[0]
        return head[4], head + (receive(s, length - 8) or b"")
    except ConnectionError:
        return None, b""


def refusal(data):
    """(code, text) of a REFUSE."""
    code, n = struct.unpack_from("<HH", data, 8)
    return code, data[12 : 12 + n].decode()


def call(port, *messages):
    """A connection to a listener of this host on which these messages were said."""
    s = socket.create_connection(("127.0.0.1", port), timeout=10)
    for m in messages:
        s.sendall(m)
    return s
