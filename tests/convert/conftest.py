# SPDX-License-Identifier: BSD-3-Clause
"""`waitio convert` of this checkout, run in this process on a text or a folder."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))


class Converter:
    """Converts files in a folder of its own."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys = folder, capsys
        self.status, self.report, self.out = None, "", ""

    def run(self, *words):
        from waitio import cli

        self.status = cli.main(["convert", *map(str, words)])
        captured = self.capsys.readouterr()
        self.out, self.report = captured.out, captured.err
        return self.status

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def __call__(self, name, text, *options):
        """The converted text; converting that once more must change nothing."""
        path = self.file(name, text)
        self.run("--in-place", "--quiet", *options, path)
        status, report = self.status, self.report
        new = path.read_bytes()
        self.run("--in-place", "--quiet", *options, path)
        assert path.read_bytes() == new, "a second run changes more"
        self.status, self.report = status, report
        return new if isinstance(text, bytes) else new.decode()

    def told(self):
        """(line, name) of everything reported."""
        lines = [line.split(":") for line in self.report.splitlines()]
        return [(int(w[1]), w[2].replace("note", "").strip() or w[3].strip()) for w in lines]


@pytest.fixture
def convert(tmp_path, capsys):
    return Converter(tmp_path, capsys)
