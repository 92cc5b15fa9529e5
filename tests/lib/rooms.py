#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The house as its includes have it: the seven rooms of host/, and their folders.

Prints each folder with those that it includes headers of. Ends with status 1, and names the lines on standard error, where
- a room includes a header of a later one (the linker finds only calls, see room() in host/CMakeLists.txt),
- includes run in a circle, among folders or among the files of one (NAME.h, NAME.c and NAME_private.h count as one file),
- the kernel, libvirt or the terminal is spoken to in a room that is not there for it.
"""
import collections
import pathlib
import re
import sys

TOPS = ("host", "guest-agent")
ROOMS = ("base", "guest", "measure", "history", "decide", "show", "programs")
# Each speaker: what it looks like in C, the rooms and files of host/ that may speak, and why a file may.
SPEAKERS = (
    (
        "the kernel",
        re.compile(r'"[^"\n]*\b(proc|sys)/(?!stat\.h|types\.h)'),
        {
            "base": "fsroot.h, and files that every room needs",
            "guest": "",
            "measure": "",
            "decide/journal/journal.c": "which boot of the host wrote a row",
            "programs/balloond/reclaimer.c": "a process of its own, which keeps its rights",
            "programs/exporter/web_report.c": "its own process",
            "programs/vmwss/cmd_bugreport.c": "it packs files, whatever is in them",
            "programs/vmwss/cmd_doctor.c": "remedies name files",
            "programs/vmwss/daemon_process.c": "the process of vmwssd",
            "show/whole_file.c": "its own open file",
        },
    ),
    ("libvirt", re.compile(r"\bvir(?!t)[A-Z]\w+\("), {"guest/domain": ""}),
    (
        "the terminal",
        re.compile(r"\b(isatty|ttyname)\(|TIOCGWINSZ|\binitscr\("),
        {
            "show": "",
            "programs": "",
            "base/command.c": "errors of every program",
            "base/progress.c": "below a measurement",
            "base/service/log.c": "a daemon that is started by hand",
        },
    ),
)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def target(path, name):
    """The file that is included: below its own top, below host/, or beside it. None: a generated one."""
    for base in (path.parts[0], "host", path.parent):
        found = pathlib.Path(base, name)
        if found.is_file():
            return found
    return None


def piece(path):
    return str(path.with_name(path.stem.removesuffix("_private")))


def arrows():
    """Among rooms, and among the files of each: (one, other) -> the includes of the one in the other."""
    rooms, files = collections.defaultdict(list), collections.defaultdict(list)
    for top in TOPS:
        for path in sorted(pathlib.Path(top).rglob("*.[ch]")):
            for name in INCLUDE.findall(path.read_text()):
                other = target(path, name)
                if other and other.parent != path.parent:
                    rooms[str(path.parent), str(other.parent)].append(f"{path} includes {name}")
                elif other and piece(other) != piece(path):
                    files[piece(path), piece(other)].append(f"{path} includes {name}")
    return rooms, files


def ways_of(found):
    ways = collections.defaultdict(set)
    for one, other in found:
        ways[one].add(other)
    return ways


def reached(start, ways):
    """All that can be reached from one, itself only by a circle."""
    seen, left = set(), list(ways[start])
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            left.extend(ways[one])
    return seen


def in_circles(found):
    """The arrows that are part of a circle; each is named on standard error."""
    ways = ways_of(found)
    circles = [pair for pair in sorted(found) if pair[0] in reached(pair[1], ways)]
    for pair in circles:
        print(f"in a circle: {pair[0]} -> {pair[1]}: {'; '.join(found[pair])}", file=sys.stderr)
    return circles


def room_of(folder):
    top, _, below = folder.partition("/")
    return ROOMS.index(below.split("/")[0]) if top == "host" else len(ROOMS)


def upwards(found):
    """The arrows into a later room; each is named on standard error."""
    wrong = [(one, other) for one, other in sorted(found) if room_of(one) < room_of(other)]
    for pair in wrong:
        print(f"upwards: {pair[0]} -> {pair[1]}: {'; '.join(found[pair])}", file=sys.stderr)
    return wrong


def strangers():
    """The lines that speak to one who is not theirs to speak to; each is named on standard error."""
    wrong = []
    for path in sorted(pathlib.Path("host").rglob("*.[ch]")):
        name = str(path.relative_to("host"))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.lstrip().startswith(("*", "/*", "//")):
                continue
            for who, pattern, allowed in SPEAKERS:
                if pattern.search(line) and not any(name == one or name.startswith(one + "/") for one in allowed):
                    wrong.append(f"{path}:{number}: {line.strip()}: {who} is not for this room")
    print("".join(f"{line}\n" for line in wrong), end="", file=sys.stderr)
    return wrong


def main():
    rooms, files = arrows()
    ways = ways_of(rooms)
    if not rooms:
        sys.exit("no rooms here: run it at the top of the repository")
    for room in sorted({room for pair in rooms for room in pair}):
        print(f"{room} -> {' '.join(sorted(ways[room])) or '(nothing)'}")
    return 1 if in_circles(rooms) + in_circles(files) + upwards(rooms) + strangers() else 0


if __name__ == "__main__":
    sys.exit(main())
