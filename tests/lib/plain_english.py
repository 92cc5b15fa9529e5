#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Comments begin with a subject, and users read no idiom of the house.

A comment that begins with one of OPENINGS, or that is a question, has to be read twice: it names its subject late or never.
Strings and manual pages avoid the phrases of IDIOMS, comments those of WORDY. A comment of host/ or guest-agent/ that
begins as one of BORROWED takes its sentence from a neighbour that the reader does not see.
"""

import re
import subprocess
import sys
from pathlib import Path

OPENINGS = re.compile(r"(?:Of|What|Who|Whoever|Whatever|That)\b(?!-)")
IDIOMS = re.compile(r"(?<!there )\b(?:is|are) none\b|\b(?:is|are|was) told\b|\b(?:whoever|somebody|nobody)\b", re.I)
WORDY = re.compile(
    r"\b(?:whatever (?:is|this) returns?(?:ed)?|(?:stands?|stood) there|for (?:want|lack) of|(?:do|does) not mind"
    r"|(?:is|are) no amount|(?:where|when|if) (?:the|this) kernel does not (?:say|tell)"
    r"|all the same(?=[.,:;)]|$)|somebody|nobody|anybody|everybody|whoever)\b",
    re.I,
)
BORROWED = re.compile(r"(?:Does the same|The same (?:for|of|on)|Likewise|As above)\b")
C_COMMENT = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|(/\*.*?\*/|(?://[^\n]*(?:\n[ \t]*(?=//))?)+)", re.S)
C_STRING = re.compile(r"(?:\"(?:\\.|[^\"\\\n])*\"\s*)+")
HASH_COMMENT = re.compile(r"(?:^[ \t]*#(?!!)[^\n]*\n)+|(?<=[ \t])# [^\n]*\n", re.M)
PROSE = ("host", "guest-agent")
TREES = (*PROSE, "tests", "vm-images")
HASHES = {".sh", ".py", ".cmake"}


def text_of(comment):
    return re.sub(r"^[ \t]*(?:/\*\*?<?|\*/|\*|//+<?|#+)[ \t]?|\*/", "", comment, flags=re.M).strip()


def comments(path, text):
    if path.suffix in (".c", ".h"):
        for found in C_COMMENT.finditer(text):
            if found[1]:
                yield found.start(1), text_of(found[1])
    else:
        for found in HASH_COMMENT.finditer(text):
            yield found.start(), text_of(found[0])


def strings(path, text):
    """What users read: strings of C without comments, and all of a manual page."""
    if path.suffix in (".c", ".h"):
        bare = C_COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found[1] else found[0], text)
        for found in C_STRING.finditer(bare):
            yield found.start(), re.sub(r"\"\s*\"", "", found[0])
    elif path.parent.name == "man":
        yield 0, re.sub(r"\n", " ", text)


def faults(path, text):
    for at, comment in comments(path, text):
        if OPENINGS.match(comment):
            yield at, "begins without its subject", comment
        elif comment.endswith("?"):
            yield at, "is a question", comment
        if path.parts[0] in PROSE:
            if BORROWED.match(comment):
                yield at, "borrows its sentence", comment
            for wordy in WORDY.finditer(re.sub(r"\s+", " ", comment)):
                yield at, f"has “{wordy[0]}”", comment
    if path.parts[0] in PROSE:
        for at, string in strings(path, text):
            for idiom in IDIOMS.finditer(string):
                yield at, f"has “{idiom[0]}”", string[max(idiom.start() - 30, 0) :]


def main():
    listed = subprocess.run(["git", "ls-files", *TREES], check=True, capture_output=True, text=True).stdout
    wrong = False
    for path in map(Path, listed.splitlines()):
        if path.suffix not in (".c", ".h", *HASHES) and path.parent.name != "man":
            continue
        text = path.read_text()
        for at, fault, words in faults(path, text):
            print(f"{path}:{text.count(chr(10), 0, at) + 1}: {fault}: {words[:60]!r}")
            wrong = True
    return wrong


if __name__ == "__main__":
    sys.exit(main())
