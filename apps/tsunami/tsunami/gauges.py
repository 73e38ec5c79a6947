# SPDX-License-Identifier: BSD-3-Clause
"""Block `gauges`: a plain process that plays a recorded event as a stream in (scaled) real time:
sea-floor pressure sensors with noise, lost samples and a sensor that fails for a while.

`python -m tsunami.gauges CONFIG`, CONFIG as tsunami/prepare.py writes it. With `--rate 100` it
plays a network of 2,000 stations in real time instead, to tsunami.listen.
"""

import argparse
import json
import time

import numpy as np

from tsunami import exchange, files
from tsunami.sensors import Network, what_sensors_say


def play(universe, trace, times, said, speed):
    """Sample k leaves when its time has come."""
    world = universe.world
    listener = world.find(exchange.ASSIM, 0)
    with trace.during("wait", "assim"):
        world.Recv(np.empty(1, "i4"), listener, exchange.TAG_BEGIN)
    begin = time.monotonic()
    for moment, heights in zip(times, said):
        message = np.concatenate([[moment], heights])
        pause = begin + moment / speed - time.monotonic()
        if pause > 0:
            with trace.during("sleep", "gauges"):
                time.sleep(pause)
        with trace.during("stream", "assim", message.nbytes):
            world.Send(message, listener, exchange.TAG_STREAM)
    return time.monotonic() - begin


def play_network(universe, config, stations, rate, seconds):
    """In real time, to block `listen`; the last message has a negative time."""
    world = universe.world
    listener = world.find(1, 0)
    network = Network(config["recording"], stations, config["seed"])
    world.Recv(np.empty(1, "i4"), listener, exchange.TAG_BEGIN)
    begin = time.monotonic()
    count = round(rate * seconds)
    for k in range(count + 1):
        pause = begin + k / rate - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        heights = network.heights(k / rate, config["noise"])
        world.Send(
            np.concatenate([[k / rate if k < count else -1.0], heights]),
            listener,
            exchange.TAG_STREAM,
        )


def main():
    parser = argparse.ArgumentParser(prog="tsunami.gauges")
    parser.add_argument("config")
    parser.add_argument("--stations", type=int, default=2000, help="of the network")
    parser.add_argument("--rate", type=float, help="play a network at so many samples a second")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long")
    args = parser.parse_args()
    with open(args.config) as file:
        config = json.load(file)
    if args.rate:
        with exchange.join(0, order=("gauges", "listen")) as universe:
            play_network(universe, config, args.stations, args.rate, args.seconds)
        return
    times, heights = files.load_series(config["recording"])
    said = what_sensors_say(heights[:, : config["sensors"]], times, config)
    with exchange.join(exchange.GAUGES) as universe:
        trace = exchange.start_together(universe.world)
        seconds = play(universe, trace, times, said, config["speed"])
    trace.write("trace.gauges", 0)
    lost = np.isnan(said).mean()
    print(f"{len(times)} samples of {said.shape[1]} sensors in {seconds:.1f} s, {lost:.1%} lost")


if __name__ == "__main__":
    main()
