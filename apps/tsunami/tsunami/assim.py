# SPDX-License-Identifier: BSD-3-Clause
"""Block `assim`: corrects the running simulation with what the gauges say, and learns from it to
forecast coastal heights ahead of it. MPI (mpi4py) inside the block, WaitIO across.

`python -m tsunami.assim CONFIG`, CONFIG as tsunami/prepare.py writes it.
"""

import json
import sys
import traceback

import numpy as np

import waitio
from tsunami import exchange, files
from tsunami.interpolation import Interpolation
from tsunami.learner import Learner


class Alone:
    """In the place of mpi4py's communicator where one process does everything."""

    rank, size = 0, 1

    def bcast(self, value, root=0):
        return value

    def allreduce(self, value):
        return value

    def gather(self, value, root=0):
        return [value]

    def Abort(self, status):  # noqa: N802
        raise SystemExit(status)


def communicator(wanted):
    if not wanted:
        return Alone()
    from mpi4py import MPI

    return MPI.COMM_WORLD


class Assimilation:
    """One process of the block: the parts of the sea that it corrects, the towns it forecasts."""

    def __init__(self, config, comm, universe):
        self.config, self.comm, self.world = config, comm, universe.world
        self.grid = files.Grid.load(config["grid"])
        self.parts = exchange.my_parts(self.world, universe.nprocs, comm.rank)
        self.ocean_size = universe.nprocs[exchange.OCEAN]
        for part in self.parts:
            if part.whole != self.grid.shape:
                raise SystemExit(f"the ocean's grid is {part.whole}, mine {self.grid.shape}")
        self.cells = [tuple(cell) for cell in config["cells"]]
        self.sensors = config["sensors"]
        x, y = self.grid.kilometres
        places = np.array([(x[cell], y[cell]) for cell in self.cells])
        self.oi = Interpolation(places[: self.sensors], **config["interpolation"])
        self.at_stations = self.oi.covariance(places)
        self.at_parts = []
        for part in self.parts:
            box = part.rows, part.columns
            wet = self.grid.wet[box].ravel()
            near = self.oi.covariance(np.column_stack([x[box].ravel(), y[box].ravel()]))
            self.at_parts.append(near * wet[:, None])
        # Processes of the block share the towns.
        self.towns = list(range(self.sensors, len(self.cells)))[comm.rank :: comm.size]
        self.learner = Learner(
            len(self.cells), self.towns, lead=config["lead"], **config["learner"]
        )
        self.trace = exchange.start_together(self.world)
        self.forecasts, self.surprise = [], []

    def lessons(self):
        """Scenarios that the ocean runs before the event; noise as of sensors keeps the learner
        from trusting any of them too much."""
        lesson = np.empty(2 + len(self.cells))
        random = np.random.default_rng(self.config["seed"])
        for scenario in range(self.config["scenarios"]):
            # Processes of the ocean take turns.
            source = self.world.find(exchange.OCEAN, scenario % self.ocean_size)
            self.learner.restart()
            for _ in range(self.config["cycles"] + 1):
                with self.trace.during("wait", "ocean", lesson.nbytes):
                    self.world.Recv(lesson, source, exchange.TAG_LESSON)
                with self.trace.during("learn", "assim"):
                    noise = random.normal(0.0, self.config["learning_noise"], len(self.cells))
                    self.learner.look(lesson[2:] + noise)
        self.learner.restart()

    def heard(self, moment):
        """What the sensors said of this moment: only the first process listens to the gauges."""
        said = None
        if self.comm.rank == 0:
            message = np.empty(1 + self.sensors)
            source = self.world.find(exchange.GAUGES, 0)
            message[0] = -np.inf
            with self.trace.during("wait", "gauges", message.nbytes):
                while message[0] < moment - 1e-6:
                    self.world.Recv(message, source, exchange.TAG_STREAM)
            said = message[1:]
        with self.trace.during("wait", "assim"):
            return self.comm.bcast(said)

    def simulated(self):
        """The parts of the sea arrive; heights at all stations, the same in all processes."""
        with self.trace.during("wait", "ocean", sum(p.state.nbytes for p in self.parts)):
            waitio.waitall(
                [self.world.Irecv(p.state, p.rank, exchange.TAG_STATE) for p in self.parts]
            )
        mine = np.zeros(len(self.cells))
        for k, cell in enumerate(self.cells):
            mine[k] = sum(p.height(cell) for p in self.parts if p.has(cell))
        with self.trace.during("wait", "assim"):
            return self.comm.allreduce(mine)

    def correct(self, innovation):
        """Send every process of the ocean its increment; returns that of the stations."""
        weights = self.oi.weights(innovation)
        if not self.config["assimilate"]:
            weights[:] = 0
        with self.trace.during("analyse", "assim"):
            for part, covariance in zip(self.parts, self.at_parts):
                part.increment[...] = (covariance @ weights).reshape(part.increment.shape)
        with self.trace.during("increment", "ocean", sum(p.increment.nbytes for p in self.parts)):
            waitio.waitall(
                [self.world.Isend(p.increment, p.rank, exchange.TAG_INCREMENT) for p in self.parts]
            )
        return self.at_stations @ weights

    def event(self):
        for k in range(self.config["cycles"] + 1):
            heights = self.simulated()
            if k == 0 and self.comm.rank == 0:
                gauges = self.world.find(exchange.GAUGES, 0)
                self.world.Send(np.zeros(1, "i4"), gauges, exchange.TAG_BEGIN)
            innovation = self.heard(k * self.config["cycle"]) - heights[: self.sensors]
            seen = innovation[~np.isnan(innovation)]
            self.surprise.append(np.sqrt(np.mean(seen**2)) if len(seen) else np.nan)
            heights = heights + self.correct(innovation)
            with self.trace.during("learn", "assim"):
                self.learner.look(heights)
                self.forecasts.append(self.learner.forecast())

    def save(self):
        forecasts = self.comm.gather((self.towns, np.array(self.forecasts)))
        self.trace.write("trace.assim", self.comm.rank)
        if self.comm.rank:
            return
        whole = np.zeros((len(self.forecasts), len(self.cells) - self.sensors))
        for towns, part in forecasts:
            whole[:, np.array(towns, int) - self.sensors] = part
        np.savez("assim.npz", forecasts=whole, surprise=self.surprise)
        print(f"learnt from {self.learner.samples} samples, {len(self.forecasts)} analyses")


def work(config, comm):
    with exchange.join(exchange.ASSIM, comm if config["mpi"] else None) as universe:
        job = Assimilation(config, comm, universe)
        job.lessons()
        job.event()
    job.save()


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    comm = communicator(config["mpi"])
    try:
        work(config, comm)
    except Exception as error:
        # The other processes of the block may wait in MPI for what this one will not send.
        if isinstance(error, waitio.Error):
            print(f"assim: {error}", file=sys.stderr, flush=True)
        else:
            traceback.print_exc()
        comm.Abort(1)


if __name__ == "__main__":
    main()
