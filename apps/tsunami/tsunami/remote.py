# SPDX-License-Identifier: BSD-3-Clause
"""`--blocks remote`: how the three blocks are started when they are jobs of their own, on two
clusters that do not share a home directory."""

LINES = """\
# The ocean on cluster A, gauges and assim on cluster B. Both reach {host}, a node of A, at port
# {port}; both have these programs, the Python package waitio, and a copy of the folder
#     {folder}
# which `scripts/demo.sh --prepare-only` fills. The blocks may start in any order, hours apart.

# 1. Once, on A: a secret for the run, and its copy on B.
waitio env --npb 3 --job-id {job} --secret-file $HOME/tsunami.secret --make-secret
scp -p $HOME/tsunami.secret {other}:tsunami.secret

# 2. On A, in a job on {host} (block 0, {ranks} ranks under Open MPI; it serves the rendezvous):
cd {folder}
eval "$(waitio env --shell sh --npb 3 --pbid 0 --master-host {host} --master-port {port} \\
    --job-id {job} --secret-file $HOME/tsunami.secret)"
export WAITIO_INIT_TIMEOUT=3000
mpiexec -n {ranks} tsunami_ocean ocean.nml

# 3. On B, a plain process (block 1):
cd {folder}
export PYTHONPATH={app}
eval "$(waitio env --shell sh --npb 3 --pbid 1 --master-host {host} --master-port {port} \\
    --job-id {job} --secret-file $HOME/tsunami.secret)"
export WAITIO_INIT_TIMEOUT=3000
python3 -m tsunami.gauges event.json

# 4. On B, in a job (block 2, {ranks} ranks under MPICH):
cd {folder}
export PYTHONPATH={app} MPI4PY_MPIABI=mpich
eval "$(waitio env --shell sh --npb 3 --pbid 2 --master-host {host} --master-port {port} \\
    --job-id {job} --secret-file $HOME/tsunami.secret)"
export WAITIO_INIT_TIMEOUT=3000
mpiexec -n {ranks} python3 -m tsunami.assim event.json

# With schedulers: put 2 to 4 into job scripts; examples/jobs/slurm-first.sh, slurm-second.sh and
# pjm-first.sh, pjm-second.sh are complete ones, in which waitio-serv publishes the host.
# Afterwards, with results of both in one folder: scripts/demo.sh --report-only
"""


def lines(folder, app, host="a-node1", other="cluster-b", port=7100, job="tsunami-1", ranks=2):
    """The text, with these names in it."""
    names = {"folder": folder, "app": app, "host": host, "other": other}
    return LINES.format(**names, port=port, job=job, ranks=ranks)
