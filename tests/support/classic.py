# SPDX-License-Identifier: BSD-3-Clause
"""Variables of a classic netCDF file (CDF-1, 2, 5), read without netCDF-C: a second opinion."""

import struct

SIZES = {1: "b", 2: "c", 3: "h", 4: "i", 5: "f", 6: "d", 7: "B", 8: "H", 9: "I", 10: "q", 11: "Q"}


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 4
        self.version = data[3]

    def take(self, form):
        (value,) = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def count(self):
        return self.take("q" if self.version == 5 else "i")

    def name(self):
        n = self.count()
        text = self.data[self.at : self.at + n].decode()
        self.at += (n + 3) // 4 * 4
        return text

    def values(self):
        form, n = SIZES[self.take("i")], self.count()
        size = n * struct.calcsize(form)
        raw = self.data[self.at : self.at + size]
        self.at += (size + 3) // 4 * 4
        return raw.decode() if form == "c" else list(struct.unpack(f">{n}{form}", raw))

    def table(self, one):
        self.take("i")  # the kind of list, 0 when it is empty
        return [one() for _ in range(self.count())]

    def attributes(self):
        return dict(self.table(lambda: (self.name(), self.values())))


def read(path):
    """{variable: numbers} and {variable: {attribute: value}} of a file without record variables."""
    data = path.read_bytes()
    assert data[:3] == b"CDF", f"{path} is no classic netCDF file"
    r = _Reader(data)
    r.count()  # records
    dims = [n for _, n in r.table(lambda: (r.name(), r.count()))]
    r.attributes()

    def variable():
        name = r.name()
        shape = [dims[r.count()] for _ in range(r.count())]
        attributes = r.attributes()
        form = SIZES[r.take("i")]
        r.count()  # bytes
        begin = r.take("i" if r.version == 1 else "q")
        n = 1
        for length in shape:
            n *= length
        return name, list(struct.unpack_from(f">{n}{form}", data, begin)), attributes

    found = r.table(variable)
    return {name: values for name, values, _ in found}, {name: a for name, _, a in found}
