# SPDX-License-Identifier: BSD-3-Clause
"""Notice that a block has ended without ever joining while others wait for it.

The universe forms when every process of every block has come. A block that has ended before that
will never come: the others would wait until their time limit. Only the rendezvous knows whether
somebody waits, so `waitio-serv --state` asks it, now and again, after a block has ended.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Mapping
from typing import Callable

# Moments after which the rendezvous is asked: soon, then less and less often.
FIRST, GROWTH, LONGEST = 1.0, 1.5, 10.0


class JoinWatch:
    """Asks the rendezvous without blocking the loop of the runner."""

    def __init__(
        self,
        tool: str,
        env: Mapping[str, str],
        selector: selectors.BaseSelector,
        served: bool,
        stranded: Callable[[str], None],
    ) -> None:
        """Nothing is asked before `begin`.

        `served`: the run has a rendezvous service of its own, which ends when the universe has
        formed. `stranded` gets the rendezvous's words when processes wait for nobody.
        """
        self.tool = tool
        self.env = env
        self.selector = selector
        self.served = served
        self.stranded = stranded
        self.next = 0.0  # 0: never
        self.pause = FIRST
        self.over = not tool
        self.asking: subprocess.Popen[bytes] | None = None
        self.answer = b""

    def begin(self, now: float) -> None:
        """A block has ended: ask from now on."""
        if not self.over and not self.asking:
            self.pause = FIRST
            self.next = now + self.pause

    def tick(self, now: float, setup: Callable[[], None]) -> None:
        """Ask if it is time."""
        if self.over or self.asking or not self.next or now < self.next:
            return
        self.next = 0.0
        self.answer = b""
        try:
            self.asking = subprocess.Popen(
                [self.tool, "--state"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self.env),
                start_new_session=True,
                preexec_fn=setup,
            )
        except OSError:
            self.over = True
            return
        self.asking.returncode = 0  # collected by the runner, not by this object
        assert self.asking.stdout is not None
        self.selector.register(self.asking.stdout, selectors.EVENT_READ, self._read)

    def _read(self) -> None:
        assert self.asking is not None and self.asking.stdout is not None
        data = os.read(self.asking.stdout.fileno(), 4096)
        self.answer += data
        if data:
            return
        self.selector.unregister(self.asking.stdout)
        self.asking.stdout.close()
        self.asking = None
        self._judge(self.answer.decode("utf-8", "replace").strip())

    def _judge(self, answer: str) -> None:
        state, _, text = answer.partition(": ")
        word, _, count = state.partition(" ")
        if word == "forming" and count.isdigit() and int(count) > 0:
            self.over = True
            self.stranded(text)
        elif word == "forming" or (word == "nobody" and not self.served):
            self.pause = min(self.pause * GROWTH, LONGEST)
            self.next = time.monotonic() + self.pause
        else:  # it has formed, or nobody can tell
            self.over = True
