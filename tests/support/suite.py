# SPDX-License-Identifier: BSD-3-Clause
"""What every run of pytest here has: a time limit per test, the short and the long suite, a record.

--suite short leaves out the tests that tests/long.txt lists, --suite long runs those only.
--record FILE notes each test as it begins and ends, one JSON object a line: a run that dies is
continued by another one, which skips what FILE says is done.
--share DIR divides the tests among several runs at the same time: each takes the next file of tests
that no other one has taken. --backwards begins with the last file. --lane shared leaves out the
tests that measure time (mark "alone"), --lane alone runs those only.

A test that reaches its limit (180 s on an idle machine, WT_TEST_LIMIT) gets a TimeoutError where
it waits; its processes are shown and ended. Where the interpreter itself is stuck, the run exits
with status 70, or scripts/run_tests.py ends it; that goes on with the next test.
"""

import faulthandler
import hashlib
import itertools
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import uuid

import parts
import patience
import pytest
import record
import turns

STUCK = 70
GRACE_S = float(os.environ.get("WT_TEST_GRACE", "20"))


class Watch:
    """Looks after one test from a thread of its own."""

    def __init__(self, plugin, item):
        self.plugin, self.item = plugin, item
        base = float(os.environ.get("WT_TEST_LIMIT", "180"))
        self.limit = patience.Limit(base)
        self.mark = uuid.uuid4().hex
        self.over = threading.Event()
        self.story = None
        self.thread = threading.Thread(target=self.run, daemon=True, name="time limit")

    def start(self):
        os.environ[patience.MARK] = self.mark
        signal.signal(signal.SIGALRM, self.expire)
        self.thread.start()

    def finish(self):
        self.over.set()
        self.thread.join()
        os.environ.pop(patience.MARK, None)

    def expire(self, signum, frame):
        if not self.over.is_set():
            raise TimeoutError(f"{self.item.nodeid} reached its time limit ({self.limit})")

    def run(self):
        left = self.limit.left()
        while left > 0:
            if self.over.wait(left):
                return
            left = self.limit.left()
        folder = getattr(self.item, "funcargs", {}).get("tmp_path")
        pids = patience.of_test(self.mark)
        self.story = patience.hang_report(self.item.nodeid, self.limit, pids, folder)
        self.plugin.note(self.item.nodeid, when="hang", text=self.story)
        for _ in range(2):  # in the test, and once more where it cleans up
            if self.over.is_set():
                return
            signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
            patience.end(self.mark)
            if self.over.wait(GRACE_S):
                return
        with tempfile.TemporaryFile("w+") as stacks:
            faulthandler.dump_traceback(stacks)
            stacks.seek(0)
            self.plugin.note(self.item.nodeid, when="hang", text=stacks.read())
        os._exit(STUCK)


class Suite:
    def __init__(self, config):
        self.suite = config.getoption("--suite")
        self.path = config.getoption("--record")
        self.share = config.getoption("--share")
        self.backwards = config.getoption("--backwards")
        self.lane = config.getoption("--lane")
        self.done = {
            test for test, rows in record.read(self.path).items() if rows[-1]["when"] == "end"
        }
        self.watch = None
        self.begun = set()  # files of which a test has run: their set-up is paid for
        self.setup = 0.0

    def note(self, test, **row):
        if self.path:
            with open(self.path, "a", encoding="utf-8") as out:
                out.write(json.dumps({"test": test, **row}) + "\n")

    def pytest_collection_modifyitems(self, config, items):
        mine = turns.taken(items)
        listed = parts.long_tests()
        for item in items:
            if item.nodeid in listed:
                item.add_marker(pytest.mark.long)

        def wanted(item):
            long = item.get_closest_marker("long") is not None
            alone = item.get_closest_marker("alone") is not None
            return self.suite in ("all", "long" if long else "short") and self.lane in (
                "all",
                "alone" if alone else "shared",
            )

        chosen = [item for item in mine if wanted(item) and item.nodeid not in self.done]
        left_out = set(items) - set(chosen)
        if left_out:
            config.hook.pytest_deselected(items=list(left_out))
            items[:] = chosen

    def claim(self, file):
        """Is this file of tests ours? Also after the run that took it has died."""
        name = hashlib.sha1(f"{self.lane} {file}".encode()).hexdigest()
        path = os.path.join(self.share, name)
        mine = f"{path}.{os.getpid()}"
        with open(mine, "w", encoding="utf-8") as mark:
            mark.write(self.path)
        try:
            os.link(mine, path)  # at once with its content: who dies here has taken nothing
        except FileExistsError:
            return pathlib.Path(path).read_text(encoding="utf-8") == self.path
        finally:
            os.unlink(mine)
        return True

    def ours(self, items):
        """Those of files that no other run takes. Who begins with the longest files ends with short
        ones, so that all runs end at about the same time."""
        files = [(file, list(group)) for file, group in itertools.groupby(items, lambda i: i.path)]
        if self.backwards:
            files.reverse()
        times = parts.long_tests()

        def length(found):
            return sum(times.get(item.nodeid, 0) for item in found[1])

        for file, group in sorted(files, key=length, reverse=True):
            if self.claim(file):
                yield from group

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """As pytest's own, but what another run has taken is left to it."""
        if not self.share or session.config.option.collectonly:
            return None
        items = self.ours(session.items)
        item = next(items, None)
        while item is not None:
            following = next(items, None)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
            item = following
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.watch = Watch(self, item)
        self.note(item.nodeid, when="begin", mark=self.watch.mark)
        self.watch.start()
        yield
        self.watch.finish()
        first = str(item.path) not in self.begun
        self.begun.add(str(item.path))
        self.note(
            item.nodeid,
            when="end",
            seconds=self.watch.limit.clock() - self.watch.limit.began,
            setup=self.setup if first else 0.0,
        )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if call.when == "setup":
            self.setup = call.duration
        if self.watch and self.watch.story:
            if (
                report.passed
            ):  # in the moment when its time was over, or because its processes ended
                report.outcome = "failed"
                report.longrepr = f"{item.nodeid} reached its time limit ({self.watch.limit})"
            report.sections.append(("what hung", self.watch.story))

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            text = report.longreprtext
            if report.skipped and isinstance(report.longrepr, tuple):
                text = report.longrepr[2]
            for title, section in report.sections if report.failed else ():
                text += f"\n--- {title}\n{section[-4000:]}"
            load = os.getloadavg()[0]
            self.note(report.nodeid, when=report.when, outcome=report.outcome, text=text, load=load)

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            text = report.longreprtext
            if isinstance(report.longrepr, tuple):
                text = report.longrepr[2]
            self.note(report.nodeid, when="collect", outcome=report.outcome, text=text)
            self.note(report.nodeid, when="end", seconds=0)


def pytest_addoption(parser):
    group = parser.getgroup("waitio")
    group.addoption("--suite", choices=("short", "long", "all"), default="all")
    group.addoption("--record", metavar="FILE", help="note each test as it begins and ends")
    group.addoption("--share", metavar="DIR", help="take only files that no other run takes")
    group.addoption("--lane", choices=("shared", "alone", "all"), default="all")
    group.addoption("--backwards", action="store_true", help="with --share: the last file first")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: left out by the short suite (tests/long.txt)")
    config.addinivalue_line("markers", turns.MARK)
    config.addinivalue_line("markers", "alone: measures time; no other test runs beside it")
    subprocess.Popen = patience.PatientPopen
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's job in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(Suite(config), "waitio-suite")


@pytest.fixture(scope="session")
def patient():
    """patient(seconds): a time limit of an idle machine, scaled by the load of this one."""
    return patience.scaled
