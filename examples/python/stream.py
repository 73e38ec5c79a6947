# SPDX-License-Identifier: BSD-3-Clause
"""Sensors stream measurements to a service that answers queries meanwhile: asyncio on one side.

    waitio run --name service python stream.py : --name sensors -n 3 python stream.py : \\
        --name client python stream.py

The service averages over what has come so far, and sends the average to whoever asks.
"""

import asyncio

import numpy as np

import waitio

MEASURED, ASKED, ANSWER = 1, 2, 3
SAMPLES, QUERIES = 100, 5


async def collect(world, seen):
    """Take measurements as they come."""
    async for message in world.messages(tag=MEASURED, count=SAMPLES * seen["sensors"]):
        values = np.frombuffer(message.data)
        seen["sum"] += values.sum()
        seen["n"] += values.size


async def answer(world, seen):
    """Answer queries."""
    for _ in range(QUERIES):
        request = world.irecv(tag=ASKED)
        await request
        mean = seen["sum"] / max(1, seen["n"])
        await world.isend({"mean": mean, "of": seen["n"]}, request.status.source, ANSWER)


async def serve(world, sensors):
    """Both at the same time, in one thread."""
    seen = {"sum": 0.0, "n": 0, "sensors": sensors}
    await asyncio.gather(collect(world, seen), answer(world, seen))
    print(f"{seen['n']} values, mean {seen['sum'] / seen['n']:.3f}")


def measure(world, number):
    """A sensor: a wave with some noise."""
    random = np.random.default_rng(number)
    for sample in range(SAMPLES):
        values = np.sin(sample / 5) + random.normal(0, 0.1, 10)
        world.Send(values, dest=0, tag=MEASURED)


def ask(world):
    """The client."""
    for _ in range(QUERIES):
        world.send("how much?", 0, ASKED)
        found = world.recv(0, ANSWER)
        assert 0 <= found["of"] <= 3000 and abs(found["mean"]) < 2


def main():
    """Blocks 0, 1 and 2 do different things."""
    with waitio.Universe() as universe:
        if universe.pb == 0:
            asyncio.run(serve(universe.world, universe.nprocs[1]))
        elif universe.pb == 1:
            measure(universe.world, universe.pb_rank)
        else:
            ask(universe.world)


if __name__ == "__main__":
    main()
