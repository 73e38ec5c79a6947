#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the pictures of docs/design: one of each floor of the library, in one style.

pictures.py           write docs/design/<floor>.svg
pictures.py --check   exit with status 1 when one of them is not what this script draws
"""

import argparse
import pathlib
import sys
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "design"
INK, PALE, BLUE = "#263238", "#455a64", "#1565c0"
FILLS = {
    "program": "#e8f5e9",
    "ours": "#e3f2fd",
    "data": "#fff8e1",
    "plain": "#f5f5f5",
    "system": "#eceff1",
}


class Picture:
    """Boxes, arrows and words; coordinates in pixels."""

    def __init__(self, name, height, title, told):
        self.name, self.height, self.title, self.told = name, height, title, told
        self.parts = []

    def add(self, text):
        self.parts.append("  " + text)

    def text(self, x, y, words, size=13, colour=INK, anchor="start", bold=False):
        weight = ' font-weight="bold"' if bold else ""
        self.add(
            f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
            f"{weight}>{escape(words)}</text>"
        )

    def box(self, x, y, w, h, kind, *lines, dashed=False):
        """The first line is bold; the lines are centred."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.add(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6" fill="{FILLS[kind]}"'
            f' stroke="#37474f"{dash}/>'
        )
        top = y + h / 2 - 8 * (len(lines) - 1) + 5
        for i, line in enumerate(lines):
            size = 13 if i == 0 else 12
            self.text(x + w / 2, round(top + 16 * i), line, size, INK, "middle", i == 0)

    def frame(self, x, y, w, h, title):
        """A process or a host around boxes."""
        self.add(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="10" fill="none" stroke="#90a4ae"'
            ' stroke-dasharray="6 4"/>'
        )
        self.text(x + 10, y + 20, title, 13, PALE, bold=True)

    def arrow(self, *points, label=None, at=None, both=False, colour=BLUE, anchor="start"):
        path = "M" + "L".join(f"{x} {y}" for x, y in points)
        start = ' marker-start="url(#a)"' if both else ""
        self.add(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{start}'
            ' marker-end="url(#a)"/>'
        )
        if label:
            for i, line in enumerate(label.split("\n")):
                self.text(at[0], at[1] + 14 * i, line, 12, colour, anchor)

    def svg(self):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {self.height}"'
            ' font-family="Helvetica, Arial, sans-serif" role="img" aria-labelledby="t d">\n'
            "  <!-- SPDX-License-Identifier: BSD-3-Clause -->\n"
            "  <!-- Drawn by scripts/pictures.py. -->\n"
            f'  <title id="t">{escape(self.title)}</title>\n'
            f'  <desc id="d">{escape(self.told)}</desc>\n'
            f'  <rect width="860" height="{self.height}" fill="#ffffff"/>\n'
            '  <defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7"'
            ' markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z"'
            ' fill="#37474f"/></marker></defs>\n' + "\n".join(self.parts) + "\n</svg>\n"
        )


def engine():
    p = Picture(
        "engine",
        470,
        "A message on its way through the engine",
        "The sender's request puts an eager message or a request to send on a link. At the receiver"
        " an arrival matches a posted receive or is held in the unexpected message queue.",
    )
    p.frame(20, 20, 340, 370, "sending process")
    p.frame(500, 20, 340, 370, "receiving process")
    p.box(50, 55, 280, 40, "program", "waitio_isend(buffer, peer, tag)")
    p.box(50, 125, 280, 48, "ours", "request", "NEW, then QUEUED or MOVING")
    p.box(
        50,
        205,
        280,
        60,
        "ours",
        "credit of the receiver",
        "enough: eager, the data goes at once",
        "too little, or large: rendezvous, RTS first",
    )
    p.box(
        50,
        300,
        280,
        60,
        "plain",
        "link",
        "shared memory or TCP",
        "short messages overtake long ones",
    )
    p.arrow((190, 95), (190, 123))
    p.arrow((190, 173), (190, 203))
    p.arrow((190, 265), (190, 298))
    p.box(530, 55, 280, 40, "program", "waitio_irecv(buffer, peer, tag)")
    p.box(530, 125, 132, 62, "data", "posted", "receives that", "wait for a message")
    p.box(678, 125, 132, 62, "data", "unexpected", "messages that", "wait for a receive")
    p.box(530, 220, 280, 48, "ours", "matching", "source and tag, in the sender's order")
    p.box(
        530,
        300,
        280,
        60,
        "plain",
        "link",
        "matched data goes straight",
        "into the user's buffer",
    )
    p.arrow((744, 95), (744, 123), label="first looks here", at=(734, 113), anchor="end")
    p.arrow((596, 95), (596, 123), label="else", at=(588, 113), anchor="end")
    p.arrow((596, 218), (596, 189), both=True)
    p.arrow((744, 218), (744, 189), label="no receive fits", at=(736, 208), anchor="end")
    p.arrow((670, 298), (670, 270))
    p.arrow((332, 315), (528, 315), label="EAGER, or RTS", at=(430, 308), anchor="middle")
    p.arrow((528, 335), (332, 335), label="CTS, credit, DONE", at=(430, 351), anchor="middle")
    p.box(
        20,
        410,
        820,
        44,
        "system",
        "progress",
        "calls that wait or test drive the links; while the program computes, a thread does",
    )
    return p


def joining():
    p = Picture(
        "joining",
        440,
        "How a universe forms",
        "On every host one process leads. Followers register with their leader, leaders with the"
        " rendezvous service. The address table travels back down a tree of hosts.",
    )
    for x, host in ((20, "host a"), (310, "host b"), (600, "host c")):
        p.frame(x, 20, 240, 190, host)
        p.box(x + 130, 90, 95, 60, "ours", "leader", "one of", "each host")
        for y in (50, 100, 150):
            p.box(x + 15, y, 76, 34, "program", "follower")
            p.arrow((x + 91, y + 17), (x + 128, 120 + (y - 100) // 4), both=True, colour=PALE)
    p.box(
        290,
        290,
        280,
        66,
        "data",
        "rendezvous service",
        "a thread of rank 0 of block 0,",
        "or the daemon waitio-serv",
    )
    p.arrow(
        (197, 152),
        (197, 300),
        (288, 310),
        label="2  registrations, gathered\n    for 2 ms (TCP)",
        at=(20, 290),
    )
    p.arrow((430, 288), (475, 152), label="3  address table", at=(424, 255), anchor="end")
    p.arrow((777, 152), (777, 310), (572, 320), label="2  registrations", at=(640, 334))
    p.arrow((505, 152), (530, 225), (715, 225), (750, 152), label="4  table", at=(605, 243))
    p.text(
        20,
        392,
        "1 A process finds the leader of its host, or becomes it. 2 Leaders pass registrations on:",
        12,
        PALE,
    )
    p.text(
        20,
        408,
        "one connection per host. 3 The service sends the complete table to at most 16 leaders.",
        12,
        PALE,
    )
    p.text(
        20,
        424,
        "4 They send it to 16 more each. Followers map one copy of it per host, read-only.",
        12,
        PALE,
    )
    return p


def shm():
    p = Picture(
        "shm",
        470,
        "Two processes of one host, and the memory between them",
        "All senders of a process share its inbox. A pair that exchanges much gets a ring: slots,"
        " a middle and a bulk part. A Unix socket carries the handshake, wakes sleepers and tells"
        " of death.",
    )
    p.box(
        20,
        60,
        150,
        290,
        "program",
        "writer",
        "a process of any job,",
        "any MPI or language,",
        "same host and user",
    )
    p.box(
        690,
        60,
        150,
        290,
        "program",
        "reader",
        "looks at the words",
        "that tell what is",
        "published; no lock",
    )
    p.frame(235, 20, 390, 95, "inbox of the reader, for all its senders")
    for i, who in enumerate(("A", "A", "B", "A", "C", "")):
        p.box(255 + 58 * i, 55, 52, 40, "data" if who else "plain", who)
    p.arrow((170, 76), (253, 76), label="at first", at=(172, 68))
    p.arrow((605, 76), (688, 76))
    p.frame(235, 130, 390, 172, "ring of this pair, after 16 messages")
    p.box(255, 165, 350, 36, "data", "slots: a cache line for a short message")
    p.box(255, 208, 350, 36, "data", "middle: payloads of up to 4 KiB")
    p.box(255, 251, 350, 36, "data", "bulk: 1 or 2 MiB, above 16 KiB as a stream")
    for y in (183, 226, 269):
        p.arrow((170, y), (253, y))
        p.arrow((605, y), (688, y))
    p.box(255, 320, 350, 30, "plain", "fetch: one copy by the kernel")
    p.arrow((170, 335), (253, 335), colour=PALE)
    p.arrow((605, 335), (688, 335), colour=PALE)
    p.box(
        20,
        385,
        820,
        66,
        "system",
        "Unix socket",
        "handshake and segments at the start; a record wakes a reader that sleeps;",
        "its end tells of the death of the other process",
    )
    p.arrow((95, 352), (95, 383), both=True)
    p.arrow((765, 352), (765, 383), both=True)
    return p


def conversion():
    p = Picture(
        "conversion",
        480,
        "From an MPI call to messages",
        "Point-to-point calls become requests of the engine, derived types are packed. A collective"
        " call is checked, an algorithm is chosen and writes a schedule, and the schedule is run.",
    )
    p.box(
        20,
        20,
        820,
        44,
        "program",
        "MPI program, converted by `waitio convert` or by renaming",
        "WAITIO_MPI_Send, WAITIO_MPI_Allreduce, ... in C and in Fortran",
    )
    p.frame(20, 90, 290, 260, "point to point")
    p.box(45, 125, 240, 44, "ours", "arguments", "communicator, type, request")
    p.box(
        45,
        195,
        240,
        62,
        "data",
        "datatype",
        "solid: sent from where the data lies",
        "with holes: packed",
    )
    p.box(45, 283, 240, 48, "ours", "request", "what MPI_Wait waits for")
    p.arrow((165, 169), (165, 193))
    p.arrow((165, 257), (165, 281))
    p.frame(340, 90, 500, 260, "collectives")
    p.box(365, 125, 205, 44, "ours", "arguments", "in place, types, operators")
    p.box(610, 125, 205, 44, "ours", "table of algorithms", "by size, processes, blocks")
    p.box(
        365,
        195,
        450,
        62,
        "data",
        "schedule of this process",
        "rounds of sends and receives, then folds and copies;",
        "short calls that are repeated keep it",
    )
    p.box(365, 283, 205, 48, "ours", "blocking call", "the calling thread runs it")
    p.box(610, 283, 205, 48, "ours", "non-blocking call", "a task of the engine runs it")
    p.arrow((570, 147), (608, 147))
    p.arrow((712, 169), (712, 193), label="algorithm writes", at=(704, 187), anchor="end")
    p.arrow((467, 257), (467, 281))
    p.arrow((712, 257), (712, 281))
    p.box(
        20,
        390,
        820,
        66,
        "system",
        "engine",
        "messages between processes; each communicator has message spaces of its own,",
        "so that its messages never match those of another",
    )
    p.arrow((165, 331), (165, 388))
    p.arrow((467, 331), (467, 388))
    p.arrow((712, 331), (712, 388))
    return p


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    args = parser.parse_args()
    status = 0
    for draw in (engine, joining, shm, conversion):
        picture = draw()
        path = FOLDER / f"{picture.name}.svg"
        if not args.check:
            path.write_text(picture.svg())
        elif not path.exists() or path.read_text() != picture.svg():
            print(f"{path} is not what scripts/pictures.py draws: run it")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
