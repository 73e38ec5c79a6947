#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the steps that writer.py or writer.cpp hands out; an ordinary program of ADIOS2."""

import os

import adios2


def main():
    config = os.path.join(os.path.dirname(os.path.abspath(__file__)), "adios2.xml")
    io = adios2.Adios(config).declare_io("flow")
    with adios2.Stream(io, "flow", "r") as stream:
        for step in stream:
            units = step.read_attribute("units")
            field = step.read("T")
            time = float(step.read("time"))
            number, mean = step.current_step(), field.mean()
            print(f"step {number}, time {time:.1f}: {field.shape}, {mean:.3f} {units}")


main()
