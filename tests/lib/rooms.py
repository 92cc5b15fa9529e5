#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The house as its includes have it: a room is a folder of C files, an arrow an include of another room's header.

Prints each room with the rooms that it looks into, and ends with status 1 where arrows run in a circle, among the rooms or
among the files of one room; standard error then names the includes of which it is made. A header, its source and their
private header (NAME.h, NAME.c, NAME_private.h) count as one file.
"""
import collections
import pathlib
import re
import sys

TOPS = ("host", "guest-agent")
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


def main():
    rooms, files = arrows()
    ways = ways_of(rooms)
    if not rooms:
        sys.exit("no rooms here: run it at the top of the repository")
    for room in sorted({room for pair in rooms for room in pair}):
        print(f"{room} -> {' '.join(sorted(ways[room])) or '(nothing)'}")
    return 1 if in_circles(rooms) + in_circles(files) else 0


if __name__ == "__main__":
    sys.exit(main())
