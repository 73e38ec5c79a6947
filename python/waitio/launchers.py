# SPDX-License-Identifier: BSD-3-Clause
"""From a block to the command lines that start its processes."""

from __future__ import annotations

import os
import re
import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable

from waitio import detect, mpicheck
from waitio.blocks import RESERVED, Block
from waitio.errors import UsageError, WaitioError

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
# Variables of ours that describe this command's own surroundings, not the block's.
NOT_FOR_BLOCKS = (
    "WAITIO_RANK",
    "WAITIO_NPROCS",
    "WAITIO_SERV",
    "WAITIO_SPAN_LIB",
    "COUPLER_JOB_ID",
)
# What an mpiexec around this command has told it; a block must not take it for its own.
OUTER_RANKS = ("PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
OUTER_PREFIXES = (
    "PMIX_",
    "PMI_",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_",
    "OMPI_APP_CTX_",
    "OMPI_FIRST_RANKS",
    "OMPI_MCA_ess_base_",
    "OMPI_MCA_orte_",
    "MV2_COMM_WORLD_",
    "MPI_LOCAL",
)


def outer_variables(environ: Mapping[str, str]) -> list[str]:
    """Return the variables of a launcher that started this command, if one did."""
    if not any(name in environ for name in OUTER_RANKS):
        return []
    found = [name for name in environ if name.startswith(OUTER_PREFIXES)]
    return [name for name in found if not name.startswith("PMIX_MCA_")]


@dataclass
class Launch:
    """One process that `waitio run` starts for a block: a launcher, or one plain process.

    `command` is what a user would type; the words from `split` on are the program and its
    arguments, before which the runner may put its output helper. `env` holds only what the run
    adds to the inherited environment. `rank` is -1 for a launcher.
    """

    command: list[str]
    env: dict[str, str]
    split: int = 0
    rank: int = -1
    tagged: str = ""
    direct: bool = False
    drop: list[str] = field(default_factory=list)


def is_local(host: str) -> bool:
    """Tell whether a host word (perhaps with ":slots") names this machine."""
    name = host.partition(":")[0] if host != "::1" else host
    own = socket.gethostname()
    return name in LOCAL_NAMES or name in (own, own.partition(".")[0])


def spread_by_scheduler(environ: Mapping[str, str]) -> bool:
    """Tell whether a scheduler's allocation around us reaches over several machines."""
    nodes = environ.get("SLURM_JOB_NUM_NODES") or environ.get("SLURM_NNODES") or ""
    if nodes.isdigit() and int(nodes) > 1:
        return True
    return "PJM_JOBID" in environ or "PBS_NODEFILE" in environ or "LSB_DJOB_HOSTFILE" in environ


def is_remote(block: Block, environ: Mapping[str, str]) -> bool:
    """Tell whether processes of the block may run on another machine."""
    if block.hosts:
        return not all(is_local(host) for host in block.hosts)
    if block.plain:
        return False
    return block.mpi in ("slurm", "fujitsu") or spread_by_scheduler(environ)


def stays_here(block: Block) -> bool:
    """Tell whether all its processes are surely on this machine.

    Words of the user in the launcher's line may lead elsewhere. What `auto` is shows when the block
    is started (`plan`): before that nothing is sure.
    """
    own_words = block.launcher or block.mpiexec or block.mpi_args or block.mpi == "auto"
    return not own_words and not is_remote(block, os.environ)


def _exports(block: Block, env: Mapping[str, str], option: str) -> list[str]:
    """Return `-x NAME` for every variable the ranks need; values travel in the environment."""
    names = sorted(set(env) | set(_inherited()))
    return [word for name in names for word in (option, name)]


def _inherited() -> dict[str, str]:
    """Return the variables of ours that blocks take over from this command's environment."""
    drop = (*NOT_FOR_BLOCKS, *RESERVED)
    return {k: v for k, v in os.environ.items() if k.startswith("WAITIO_") and k not in drop}


def _openmpi(block: Block, env: Mapping[str, str], alone: bool) -> list[str]:
    words = ["-n", str(block.n)]
    if block.hosts:
        words += ["--host", ",".join(block.hosts)]
    if not is_remote(block, os.environ):
        # Blocks on one machine do not know of each other: each would bind its first rank to the
        # first core, and refuse more ranks than there are cores.
        words += ["--oversubscribe"]
        words += [] if alone else ["--bind-to", "none"]
    return words + _exports(block, env, "-x")


def _hydra(block: Block, env: Mapping[str, str], alone: bool) -> list[str]:
    del env, alone  # hydra passes its whole environment, and binds nothing by default
    words = ["-n", str(block.n)]
    return words + (["-hosts", ",".join(block.hosts)] if block.hosts else [])


def _slurm(block: Block, env: Mapping[str, str], alone: bool) -> list[str]:
    del env
    words = ["-n", str(block.n), "--export=ALL", "--kill-on-bad-exit=1"]
    # Without it the first step takes the whole allocation, and the second waits for ever.
    words += [] if alone else ["--exact"]
    # From Slurm 22.05 on srun does not take it over from the allocation.
    cpus = os.environ.get("SLURM_CPUS_PER_TASK", "")
    words += [f"--cpus-per-task={cpus}"] if cpus else []
    return words + (["-w", ",".join(block.hosts)] if block.hosts else [])


def _fujitsu(block: Block, env: Mapping[str, str], alone: bool) -> list[str]:
    del alone
    if block.hosts:
        raise UsageError(
            f"block '{block.name}': Fujitsu's mpiexec takes no host list; use"
            " --mpi-args '-vcoordfile FILE'"
        )
    return ["-n", str(block.n)] + _exports(block, env, "-x")


ARGUMENTS: dict[str, Callable[[Block, Mapping[str, str], bool], list[str]]] = {
    "openmpi": _openmpi,
    "mpich": _hydra,
    "intel": _hydra,
    "mvapich": _hydra,
    "slurm": _slurm,
    "fujitsu": _fujitsu,
}
# Options that make a launcher tag each line with its rank, and the name of the tag's form.
TAG_OPTIONS: dict[str, list[str]] = {
    "openmpi": ["--tag-output"],
    "mpich": ["-prepend-rank"],
    "intel": ["-prepend-rank"],
    "mvapich": ["-prepend-rank"],
    "slurm": ["--label"],
}
# Several local blocks must not be pinned to the same first cores.
UNPIN: dict[str, dict[str, str]] = {
    "intel": {"I_MPI_PIN": "off"},
    "mvapich": {"MV2_ENABLE_AFFINITY": "0"},
}


def _tagging(block: Block, wish: str, remote: bool) -> str:
    """Decide how the rank of an output line is known: "direct", "launcher" or "none"."""
    if wish != "auto":
        return wish if wish != "launcher" or block.mpi in TAG_OPTIONS else "none"
    if not remote:
        return "direct"
    return "launcher" if block.mpi in TAG_OPTIONS else "none"


def _mpi(block: Block, env: dict[str, str], alone: bool, tagging: str) -> Launch:
    mpi = block.mpi
    if mpi == "auto":
        made = mpicheck.made_for(block)
        mpi = made.flavour if made else detect.installed_flavour()
        block.mpi = mpi
    launcher = detect.find_launcher(mpi, block.mpiexec)
    remote = is_remote(block, os.environ)
    tagging = _tagging(block, tagging, remote)
    if not alone and not remote:
        for name, value in UNPIN.get(mpi, {}).items():
            if name not in os.environ:
                env.setdefault(name, value)
    words = [launcher] + ARGUMENTS[mpi](block, env, alone)
    if tagging == "launcher":
        words += TAG_OPTIONS[mpi]
    words += block.mpi_args
    return Launch(
        words + block.before + block.command,
        env,
        split=len(words),
        direct=tagging == "direct",
        tagged=mpi if tagging == "launcher" else "",
    )


def _free(block: Block, env: dict[str, str], tagging: str) -> Launch:
    """Fill a free launcher line: {n} is the count, {cmd} the program with its arguments."""
    where = f"block '{block.name}': --launcher '{block.launcher}'"
    try:
        words = shlex.split(block.launcher)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    if not words:
        raise UsageError(f"{where}: it names no program")
    for name in re.findall(r"\{(\w*)\}", block.launcher):
        if name not in ("n", "cmd", "name", "pbid"):
            known = "{n} {cmd} {name} {pbid}"
            raise UsageError(f"{where}: unknown '{{{name}}}'; known are {known}")
    fill = {"{n}": str(block.n), "{name}": block.name, "{pbid}": str(block.pbid)}
    if words.count("{cmd}") > 1:
        raise UsageError(f"{where}: {{cmd}} stands there twice")
    place = words.index("{cmd}") if "{cmd}" in words else len(words)
    filled = []
    for word in words:
        for mark, text in fill.items():
            word = word.replace(mark, text)
        filled.append(word)
    program = block.before + block.command
    command = filled[:place] + program + filled[place + 1 :]
    direct = tagging in ("auto", "direct")
    if any("{cmd}" in word for word in filled if word != "{cmd}"):
        # Inside a longer word, for a shell: no room for the output helper.
        command = [word.replace("{cmd}", shlex.join(program)) for word in filled]
        place, direct = len(command), False
    return Launch(command, env, split=place, direct=direct)


def _plain(block: Block, env: dict[str, str]) -> list[Launch]:
    launches = []
    for rank in range(block.n):
        mine = {**env, "WAITIO_RANK": str(rank), "WAITIO_NPROCS": str(block.n)}
        host = block.hosts[rank % len(block.hosts)] if block.hosts else ""
        command = block.before + block.command
        if host and not is_local(host):
            command = _ssh(host.partition(":")[0], block, mine)
        launches.append(Launch(command, mine, rank=rank))
    return launches


def _ssh(host: str, block: Block, env: Mapping[str, str]) -> list[str]:
    """Start a plain process elsewhere; the secret itself never stands in a command line."""
    pairs = [f"{name}={value}" for name, value in sorted({**_inherited(), **env}.items())]
    line = (
        shlex.join(["cd", os.path.abspath(block.wdir or ".")])
        + " && exec "
        + shlex.join(["env", *pairs, *block.before, *block.command])
    )
    # -tt: the remote process ends when the connection does.
    return ["ssh", "-tt", "-o", "BatchMode=yes", host, line]


def block_env(block: Block, common: Mapping[str, str], npb: int) -> dict[str, str]:
    """Return the variables a block gets in addition to the inherited ones."""
    env = dict(block.env)
    env.update(common)
    env["WAITIO_PBID"] = str(block.pbid)
    env["WAITIO_NPB"] = str(npb)
    # A launcher line with a count of its own, and no -n, says nothing about the size.
    if not block.plain and (block.mpi != "none" or block.n > 1 or "{n}" in block.launcher):
        env["WAITIO_RUN_NPROCS"] = str(block.n)
        env["WAITIO_RUN_NAME"] = block.name
    return env


def plan(block: Block, common: Mapping[str, str], npb: int, tagging: str) -> list[Launch]:
    """Return what has to be started for a block; raises what the user has to mend."""
    env = block_env(block, common, npb)
    alone = npb == 1
    try:
        if block.plain:
            launches = _plain(block, env)
        elif block.launcher:
            launches = [_free(block, env, tagging)]
        else:
            launches = [_mpi(block, env, alone, tagging)]
    except WaitioError as error:
        raise _named(block, error) from None
    for launch in launches:
        drop = (*NOT_FOR_BLOCKS, *RESERVED, *outer_variables(os.environ))
        launch.drop = [name for name in drop if name not in launch.env]
    return launches


def _named(block: Block, error: WaitioError) -> WaitioError:
    """Return the same error with the block's name in front."""
    text = str(error)
    text = text if text.startswith("block ") else f"block '{block.name}': {text}"
    return UsageError(text) if isinstance(error, UsageError) else WaitioError(text, error.status)
