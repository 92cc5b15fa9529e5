#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which of the tests labelled extra are expected to end in time: extras.py BUILD SLOTS TOOK LEFT DAY

All others took TOOK seconds with so many SLOTS at once; what that is to their declared costs, this machine is slower. Prints the names
of those that fit into the LEFT seconds on the first line, and of those that do not on the second. Who comes first changes with the DAY,
so that on a machine that has never time for all each has its turn."""

import json
import subprocess
import sys

# The cost that ctest is told has a rank, which says who begins first: see tests/declared.cmake.
RANK = 10000
# Labs end one after the other, and the last of them alone.
MARGIN = 1.3


def tests_of(build, *chosen):
    """Name and seconds that each of them keeps all processors, as declared."""
    command = ["ctest", "--test-dir", build, "--show-only=json-v1", *chosen]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for test in found["tests"]:
        have = {each["name"]: each["value"] for each in test["properties"]}
        yield test["name"], have["COST"] % RANK * have.get("PROCESSORS", 1)


def main():
    build, slots, took, left, day = sys.argv[1], *(int(word) for word in sys.argv[2:])
    rooms = "^(lint|fuzz|integration|lab|bare)$"
    expected = sum(seconds for _, seconds in tests_of(build, "-L", rooms, "-LE", "^(extra|thorough)$")) / slots
    slowness = took / max(expected, 1)
    extras = sorted(tests_of(build, "-L", "^extra$", "-LE", "^thorough$"))
    first = day * 5 % max(len(extras), 1)
    fit, unfit = [], []
    for name, seconds in extras[first:] + extras[:first]:
        needs = seconds / slots * slowness * MARGIN
        if needs <= left:
            left -= needs
            fit.append(name)
        else:
            unfit.append(name)
    print(*fit)
    print(*unfit)


if __name__ == "__main__":
    main()
