#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which tests of tests/run --all are expected to end in time: fitting.py BUILD SLOTS TOOK LEFT LEFT_EXTRA DAY

The core tests took TOOK seconds with so many SLOTS at once; what that is to their declared costs, this machine is slower. Prints the
names of those others that fit into the LEFT seconds on the first line, those labelled extra if they fit into LEFT_EXTRA, and of those
that do not on the second. Who comes first changes with the DAY, so that on a machine that has never time for all each has its turn."""

import json
import os
import subprocess
import sys

# The cost that ctest is told has a rank, which says who begins first: see tests/declared.cmake.
RANK = 10000
# Labs end one after the other, and the last of them alone.
MARGIN = 1.3


def tests_of(build, *chosen):
    """Name, seconds that it keeps all processors, as declared, and whether it is extra, of each that has all files that it needs."""
    command = ["ctest", "--test-dir", build, "--show-only=json-v1", "-L", "^(integration|lab|bare)$", *chosen]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for test in found["tests"]:
        have = {each["name"]: each["value"] for each in test["properties"]}
        if not all(os.path.exists(name) for name in have.get("REQUIRED_FILES", [])):
            continue
        yield test["name"], have.get("COST", 60) % RANK * have.get("PROCESSORS", 1), "extra" in have["LABELS"]


def main():
    build, slots, took, left, left_extra, day = sys.argv[1], *(int(word) for word in sys.argv[2:])
    expected = sum(seconds for _, seconds, _ in tests_of(build, "-L", "^core$", "-LE", "^thorough$")) / slots
    slowness = took / max(expected, 1)
    others = sorted(tests_of(build, "-LE", "^(core|thorough)$"))
    first = day * 5 % max(len(others), 1)
    fit, unfit, used = [], [], 0
    for name, seconds, extra in sorted(others[first:] + others[:first], key=lambda test: test[2]):
        needs = seconds / slots * slowness * MARGIN
        if used + needs <= (left_extra if extra else left):
            used += needs
            fit.append(name)
        else:
            unfit.append(name)
    print(*fit)
    print(*unfit)


if __name__ == "__main__":
    main()
