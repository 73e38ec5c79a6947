# SPDX-License-Identifier: BSD-3-Clause
"""Block `render`: pictures of the vorticity while the flow is computed. Reads the newest step each
time, and of it one plane only; tells the statistics when the flow has developed."""

import json
import pathlib
import time

import numpy as np
from PIL import Image

from flow import prepare
from waitio.stage import Reader

ZOOM = 4  # pixels of a cell
FRAMES = 120  # at most


def vorticity(u, v):
    """Of a plane, for arrays (x, y)."""
    return np.gradient(v, axis=0) - np.gradient(u, axis=1)


def colours():
    """256 colours from blue over white to orange."""
    low, middle, high = (np.array(c, float) for c in ((0, 60, 120), (250, 250, 250), (180, 70, 0)))
    part = np.linspace(-1, 1, 256)[:, None]
    table = np.where(part < 0, middle + (low - middle) * -part, middle + (high - middle) * part)
    return table.astype("u1")


def frame(curl, body, most, table):
    """A picture of a plane, seen from the side, smoothly enlarged."""
    part = np.clip((curl / most + 1) * 127.5, 0, 255).astype("u1")
    pixels = table[part]
    pixels[body] = (90, 90, 90)
    picture = Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 0, 2)[::-1]))
    return picture.resize((picture.width * ZOOM, picture.height * ZOOM), Image.Resampling.BICUBIC)


def main():
    plan = prepare.read_plan(pathlib.Path())
    most = 3 * plan.speed / plan.diameter * 2
    table, frames, seen, told = colours(), [], [], False
    with Reader(prepare.STREAM, latest=True) as flow:
        for step in flow:
            plane = (slice(0, 2), slice(None), slice(None), plan.nz // 2)
            u, v = step["velocity"][plane]
            body = step["body"][:, :, plan.nz // 2].astype(bool)
            if len(frames) * plan.handed_on <= step.number * FRAMES:
                frames.append(frame(vorticity(u, v), body, most, table))
            seen.append((step.number, time.time()))
            if not told and step.number >= plan.late * plan.handed_on:
                tell(flow.universe, plan)
                told = True
    if not told:
        tell(flow.universe, plan)
    frames[0].save(
        "vorticity.webp", save_all=True, append_images=frames[1:], duration=80, loop=0, quality=70
    )
    np.savez("render.npz", u=u, v=v, body=body)
    pathlib.Path("render.json").write_text(json.dumps({"seen": seen, "frames": len(frames)}))
    print(f"{len(frames)} pictures of {len(seen)} steps")
    flow.universe.finalize()


def tell(universe, plan):
    """The flow has developed: the statistics may come."""
    for rank in range(plan.statistics):
        to = universe.world.find(prepare.STATISTICS, rank)
        universe.world.Send(np.ones(1, "u1"), to, prepare.TAG_DEVELOPED)
