#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws comments of host/ and guest-agent/ at random, for someone who has not written them to read.

Usage: draw_comments.py SEED [HOW_MANY]. Each is printed with its file, its line, and the line of code that follows it.
"""

import random
import re
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+|//[^\n]*", re.S | re.M)


def comments(path):
    text = path.read_text()
    for found in COMMENT.finditer(text):
        words = re.sub(r"^\s*(?:/\*\*?|\*/|\*|//)|\*/", "", found[0], flags=re.M).strip()
        if len(words.split()) >= 4 and "SPDX" not in words:
            before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip()
            after = text[found.end() :].strip().split("\n", 1)[0]
            yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}", words, before or after


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 110
    files = sorted(path for top in ("host", "guest-agent") for path in Path(top).rglob("*.[ch]"))
    found = [comment for path in files for comment in comments(path)]
    for where, words, code in sorted(random.Random(seed).sample(found, count)):
        print(f"{where}\n{words}\n    {code}\n")


main()
