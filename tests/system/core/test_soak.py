# SPDX-License-Identifier: BSD-3-Clause
"""Random traffic over connections that break all the time: the short form of `make soak`
(tests/faults/soak.py), another seed in every run, named when it fails."""

import os
import sys

import pytest
import seeds

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "faults"))
import soak  # noqa: E402

BUILD = os.environ.get("WAITIO_BUILD_DIR", str(soak.ROOT / "build" / "release"))


@pytest.mark.sanitize
@pytest.mark.parametrize("tls", ["0", "1"], ids=["plain", "encrypted"])
def test_nothing_is_lost(tls):
    """Guard: without the dropping of what has come, or with a frame that is not kept, the receiver
    finds a message that fits none of the plan, or waits for ever."""
    rough = soak.Mix(bytes=500_000, seconds=0.6, outages=2)
    seed = seeds.seed()
    one = soak.Soak(BUILD, seed, 3, rough, 60000, WAITIO_CRC=str(seed % 2), WAITIO_TLS=tls)
    wrong, text = one.run()
    assert wrong is None, text
    assert one.kills() > 5, text
    assert one.messages() > 400, text
