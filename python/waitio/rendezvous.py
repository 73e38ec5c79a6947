# SPDX-License-Identifier: BSD-3-Clause
"""Where the blocks of a run meet: host, port, and the service that waits there."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Callable

from waitio import launchers, routes
from waitio.blocks import RESERVED, Block, Settings
from waitio.errors import WaitioError
from waitio.ports import free_port
from waitio.routes import Route
from waitio.rundir import RunDir
from waitio.tools import find_tool

LOOPBACK = "127.0.0.1"
READY_TIMEOUT = 10.0


@dataclass
class Meeting:
    """The rendezvous of a run; `serv` is the command that serves it, or empty when embedded.

    Where the blocks meet in a directory there is no host and no port.
    """

    host: str
    port: int
    job_id: str
    serv: list[str]
    remote: bool = False  # processes may run on other machines
    route: Route = field(default_factory=Route)


def new_job_id() -> str:
    """Return an id that no other run has."""
    return f"run-{secrets.token_hex(8)}"


def _master_host(blocks: Sequence[Block], settings: Settings, remote: bool, serv: bool) -> str:
    if settings.master_host:
        return settings.master_host
    if not remote:
        return LOOPBACK
    first = blocks[0]
    if not serv and first.hosts and not launchers.is_local(first.hosts[0]):
        return first.hosts[0].partition(":")[0]
    return socket.gethostname()


def arrange(blocks: Sequence[Block], settings: Settings) -> Meeting:
    """Decide where the blocks meet and who serves."""
    remote = any(launchers.is_remote(block, os.environ) for block in blocks)
    route = routes.prepare(blocks, settings, remote)
    job_id = settings.job_id or new_job_id()
    if route.meet:
        return Meeting("", 0, job_id, [], remote, route)
    path: str | None = None
    if settings.rendezvous != "embedded":
        path = find_tool("waitio-serv")
    if settings.rendezvous == "serv" and path is None:
        raise WaitioError(
            "--rendezvous serv: 'waitio-serv' is not installed beside this command"
            " and not in PATH; name it in WAITIO_SERV",
            127,
        )
    host = _master_host(blocks, settings, remote, path is not None)
    port = settings.master_port or free_port(host)
    serv = [path, "--foreground", "-m", host] if path else []
    return Meeting(host, port, job_id, serv, remote, route)


def common_env(meeting: Meeting, secret: str) -> dict[str, str]:
    """Return the variables that every block and the service share."""
    env = {"WAITIO_JOB_ID": meeting.job_id, "WAITIO_SECRET_FILE": secret}
    if not meeting.route.meet:
        env["WAITIO_MASTER_HOST"] = meeting.host
        env["WAITIO_MASTER_PORT"] = str(meeting.port)
    return env


def asking_env(meeting: Meeting, secret: str) -> dict[str, str]:
    """Return the environment of a program that asks the rendezvous who has come."""
    env = {k: v for k, v in os.environ.items() if k not in RESERVED}
    return {**env, **meeting.route.variables(), **common_env(meeting, secret)}


def _listening(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False


def start_service(
    meeting: Meeting, folder: RunDir, npb: int, setup: Callable[[], None]
) -> subprocess.Popen[bytes] | None:
    """Start waitio-serv in the foreground and wait until it listens; None when embedded."""
    if not meeting.serv:
        return None
    env: dict[str, str] = {k: v for k, v in os.environ.items() if k not in launchers.NOT_FOR_BLOCKS}
    env.update(common_env(meeting, folder.secret))
    # Its publication must not meet one of the user's own under ~/.waitio.
    env.update(WAITIO_NPB=str(npb), WAITIO_SERV_DIR=folder.local)
    env.pop("WAITIO_PBID", None)
    log = os.path.join(folder.local, "serv.log")
    with open(log, "wb") as file:
        service = subprocess.Popen(
            meeting.serv,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=env,
            start_new_session=True,
            preexec_fn=setup,
        )
    deadline = time.monotonic() + READY_TIMEOUT
    while not _listening(meeting.host, meeting.port):
        status = service.poll()
        if status is not None or time.monotonic() > deadline:
            service.kill()
            service.wait()
            raise WaitioError(_service_report(meeting, log, status))
        time.sleep(0.01)
    return service


def _service_report(meeting: Meeting, log: str, status: int | None) -> str:
    with open(log, "rb") as file:
        said = file.read(4096).decode("utf-8", "replace").strip()
    ended = f"ended with status {status}" if status is not None else "does not listen"
    text = f"the rendezvous service {meeting.serv[0]} {ended} ({meeting.host}:{meeting.port})"
    return f"{text}: {said}" if said else text


def describe(meeting: Meeting, env: Mapping[str, str]) -> str:
    """Return one line for --dry-run."""
    if meeting.route.meet:
        place = os.path.join(meeting.route.scratch, routes.run_name(meeting.job_id))
        return f"# rendezvous: rank 0 of the first block in {place}"
    who = " ".join(meeting.serv) if meeting.serv else "rank 0 of the first block (embedded)"
    return f"# rendezvous: {who} at {env['WAITIO_MASTER_HOST']}:{env['WAITIO_MASTER_PORT']}"
