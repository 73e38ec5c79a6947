# SPDX-License-Identifier: BSD-3-Clause
"""Started by a launcher in place of each rank: hand over the output, become the program.

    python -I -S shim.py SOCKET PBID PROGRAM [ARGUMENTS]

It makes a pipe each for standard output and error, gives their reading ends and its rank to the
`waitio run` behind SOCKET, and replaces itself by the program. So every rank's bytes reach the
runner untouched and unmixed, whatever the launcher does with output, and no process stands
between. When nobody answers at SOCKET (another machine) the program keeps the launcher's streams.
Standalone on purpose: it imports little, for it runs once per rank.
"""

import os
import signal
import socket
import sys

# In the order in which the library looks (src/boot/launcher.c).
RANK_VARIABLES = (
    "WAITIO_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID",
)


def hand_over(path: str, pbid: str) -> None:
    """Give the reading ends of two fresh pipes to the runner; 1 and 2 become the writing ends."""
    rank = next((os.environ[name] for name in RANK_VARIABLES if name in os.environ), "-1")
    out, err = os.pipe(), os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as runner:
        runner.connect(path)
        socket.send_fds(runner, [(f"{pbid} {rank}").encode()], [out[0], err[0]])
    sys.stdout.flush()
    os.dup2(out[1], 1)
    os.dup2(err[1], 2)
    # Marks the rank and what it starts, as opposed to the launcher (waitio/procs.py).
    os.environ["WIO_RUN_RANK"] = rank


def main() -> None:
    """Hand over the output if somebody takes it, then become the program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    path, pbid, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    try:
        hand_over(path, pbid)
    except OSError:
        pass  # the launcher's own streams do
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"waitio run: cannot start {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(126 if isinstance(error, PermissionError) else 127)


main()
