# SPDX-License-Identifier: BSD-3-Clause
"""Runs of CTest: its programs, and the cases that cmocka reports of them."""

import glob
import json
import os
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree as ET

from runner import child
from runner.tally import OUTPUT, first_line, read_cases

# A line of CTest's progress: " 3/45 Test  #3: unit/test_x ....   Passed    0.05 sec"
PROGRESS = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) [.]*[ *]*([A-Za-z]+)", re.M)
LOAD = re.compile(r"^the load of the machine was ([0-9.]+)$", re.M)  # tests/support/limited.py


class NoCTestError(Exception):
    """There is no CTest, or no build."""


def add_case(case, cmocka, tally):
    """Add one CTest test, case by case where its program wrote cmocka's XML."""
    name = case.get("name", "?")
    status = case.get("status", "")
    output = case.findtext("system-out") or ""
    told = LOAD.findall(output)
    load = float(told[-1]) if told else None
    if status in ("disabled", "notrun") and "77" not in output:
        skip = case.find("skipped")
        reason = skip.get("message", "") if skip is not None else status
        if reason.startswith("SKIP"):
            tally.add(name, "skipped", first_line(output) or reason)
        else:
            tally.add(name, "failed", f"not run: {reason}")
        return
    failed = case.find("failure") is not None or status == "fail"
    files = glob.glob(os.path.join(cmocka, glob.escape(name.replace("/", ".")) + ".*.xml"))
    cases = failures = 0
    for path in sorted(files):
        found = read_cases(path, tally, name, output, load)
        if found:
            cases += found[0]
            failures += found[1]
    if failed and not failures:
        # Died outside of a case, or without cmocka.
        tally.add(name, "failed", output[-OUTPUT:], load)
    elif not cases:
        tally.add(name, "passed")


def cases_from_log(text):
    """What CTest's progress tells of the tests that ended, for want of its report."""
    cases = []
    for name, word in PROGRESS.findall(text):
        status = {"Passed": "run", "Skipped": "notrun"}.get(word, "fail")
        case = ET.Element("testcase", name=name, status=status)
        ET.SubElement(case, "system-out").text = word
        if status == "notrun":
            ET.SubElement(case, "skipped", message="SKIP_RETURN_CODE")
        cases.append(case)
    return cases


def names(build):
    """All tests that CTest knows, with their labels: {name: {label, ...}}."""
    words = ["ctest", "--test-dir", build, "--show-only=json-v1"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        tests = json.loads(done.stdout)["tests"]
    except (OSError, ValueError, KeyError):
        return {}
    found = {}
    for test in tests:
        labels = [p["value"] for p in test.get("properties", ()) if p["name"] == "LABELS"]
        found[test["name"]] = set(labels[0] if labels else ())
    return found


def exactly(wanted):
    """CTest's words for these tests and no others."""
    return ["-R", "^(" + "|".join(re.escape(name) for name in sorted(wanted)) + ")$"]


class CTest:
    """One run of CTest, in the background: child.wait() it, then count() it.

    @param chosen  CTest's words that choose the tests
    @param places  a test takes two places, or one if it only waits (tests/CMakeLists.txt)
    @throws NoCTestError where there is nothing to run
    """

    def __init__(self, args, env, chosen, places, log="ctest"):
        ctest = shutil.which("ctest")
        if not ctest or not os.path.exists(os.path.join(args.build, "CTestTestfile.cmake")):
            raise NoCTestError(f"no CTest, or no tests configured in {args.build}")
        self.junit = os.path.join(args.out, log + ".xml")
        self.log = os.path.join(args.out, log + ".log")
        self.cmocka = os.path.join(args.build, "Testing", "cmocka")
        shutil.rmtree(self.cmocka, ignore_errors=True)
        os.makedirs(self.cmocka)
        for path in (self.junit, self.log):
            if os.path.exists(path):
                os.remove(path)
        command = [ctest, "--test-dir", args.build, "--output-junit", self.junit]
        command += ["-j", str(places), "--no-tests=ignore", *chosen]
        self.began, self.took, self.status = time.monotonic(), 0.0, None
        self.child = child.start(command, dict(env, CMOCKA_MESSAGE_OUTPUT="XML"), self.log)

    def look(self):
        """Is anything left to do?"""
        if self.status is None:
            self.status = self.child.poll()
            self.took = time.monotonic() - self.began
        return self.status is None

    def count(self, tally):
        """Add what CTest reports; where it was ended, what it had said until then."""
        try:
            cases = list(ET.parse(self.junit).iter("testcase"))
        except (OSError, ET.ParseError):
            cases = cases_from_log(child.read(self.log))
            if self.status is not None:
                text = f"status {self.status}\n" + child.read(self.log)[-4000:]
                tally.add("ctest", "failed", text)
        before = len(tally.failed)
        for case in cases:
            add_case(case, self.cmocka, tally)
            tally.seconds[case.get("name", "?")] = float(case.get("time", "0"))
        if self.status and len(tally.failed) == before:
            tally.add("ctest", "failed", f"status {self.status}; see {self.log}")
        print(f"C tests: {len(cases)} programs in {self.took:.0f} s", flush=True)
