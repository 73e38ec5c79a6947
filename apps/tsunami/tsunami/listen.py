# SPDX-License-Identifier: BSD-3-Clause
"""Block `listen`: takes what `tsunami.gauges --rate` plays, and says how well it arrived.

    waitio run --name gauges python3 -m tsunami.gauges event.json --rate 100 : \
               --name listen python3 -m tsunami.listen
"""

import time

import numpy as np

from tsunami import exchange


def listen(universe):
    """(samples, stations, seconds, worst delay, mean height); SystemExit when one is missing."""
    world = universe.world
    world.Send(np.zeros(1, "i4"), 0, exchange.TAG_BEGIN)
    begin, worst, count, total = time.monotonic(), 0.0, 0, 0.0
    message = np.empty(world.Probe(0, exchange.TAG_STREAM).count // 8)
    last = -1.0
    while True:
        world.Recv(message, 0, exchange.TAG_STREAM)
        if message[0] < 0:
            break
        if message[0] <= last:
            raise SystemExit(f"sample of {message[0]} s after that of {last} s")
        last = message[0]
        worst = max(worst, time.monotonic() - begin - last)
        total += message[1:].mean()
        count += 1
    return count, len(message) - 1, time.monotonic() - begin, worst, total / max(1, count)


def main():
    with exchange.join(1, order=("gauges", "listen")) as universe:
        count, stations, seconds, worst, mean = listen(universe)
    print(
        f"{count} samples of {stations} stations in {seconds:.2f} s: "
        f"{count * stations / seconds:,.0f} values/s, "
        f"{8 * count * (stations + 1) / seconds / 1e6:.2f} MB/s, worst delay {1e3 * worst:.1f} ms, "
        f"mean height {mean:.3f} m"
    )


if __name__ == "__main__":
    main()
