#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The house as its includes have it: a room is a folder of C files, an arrow an include of another room's header.

Prints each room with the rooms that it looks into, and ends with status 1 where arrows run in a circle; standard error
then names the includes of which it is made.
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


def arrows():
    """(room, room) -> the includes of the one in the other."""
    found = collections.defaultdict(list)
    for top in TOPS:
        for path in sorted(pathlib.Path(top).rglob("*.[ch]")):
            for name in INCLUDE.findall(path.read_text()):
                other = target(path, name)
                if other and other.parent != path.parent:
                    found[str(path.parent), str(other.parent)].append(f"{path} includes {name}")
    return found


def reached(start, ways):
    """All rooms that can be reached from one, itself only by a circle."""
    seen, left = set(), list(ways[start])
    while left:
        room = left.pop()
        if room not in seen:
            seen.add(room)
            left.extend(ways[room])
    return seen


def main():
    found = arrows()
    ways = collections.defaultdict(set)
    for one, other in found:
        ways[one].add(other)
    rooms = sorted({room for pair in found for room in pair})
    beyond = {room: reached(room, ways) for room in rooms}
    if not rooms:
        sys.exit("no rooms here: run it at the top of the repository")
    for room in rooms:
        print(f"{room} -> {' '.join(sorted(ways[room])) or '(nothing)'}")
    circle = [pair for pair in sorted(found) if pair[0] in beyond[pair[1]]]
    for pair in circle:
        print(f"in a circle: {pair[0]} -> {pair[1]}: {'; '.join(found[pair])}", file=sys.stderr)
    return 1 if circle else 0


if __name__ == "__main__":
    sys.exit(main())
