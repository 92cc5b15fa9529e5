#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sizes of the code in host/ and guest-agent/: no file above 500 lines, no struct above 25 members, no function above 6 arguments.

A file that is longer answers more than one question; members and arguments that belong together are a struct. What exceeds a
limit all the same stands in EXCEPTIONS: with a reason if it is to stay, else with its present size, which may only fall. One
that exceeds no limit any more fails, too. A struct within a struct is one member.
"""

import re
import sys
from pathlib import Path

LINES, MEMBERS, ARGUMENTS = 500, 25, 6
TABLE = "one row: the members stand in a table of fields, or in a configuration file"
EXCEPTIONS = {
    # (file, name of the struct or function): size or reason
    ("host/decide/advice/decide.h", "decide_policy"): TABLE,
    ("host/decide/advice/from_history.c", "decide_from_record"): 8,
    ("host/guest/agent/agent_fields.c", "read_integer"): 7,
    ("host/measure/estimate/guest_stats.h", "guest_stats"): TABLE,
    ("host/programs/exporter/http.c", "answer_request"): "libmicrohttpd calls it",
}

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
FUNCTION = re.compile(r"^[A-Za-z_][^;={}()]*?\b(\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*\{", re.M)
STRUCT = re.compile(r"\b(?:struct|union)\s+(\w*)\s*\{")


def without(pattern, text):
    """Without the innermost brackets of a kind, and then those around them."""
    while True:
        shorter = re.sub(pattern, "", text)
        if shorter == text:
            return text
        text = shorter


def body(text, begin):
    """What stands between a brace and the one that ends it."""
    depth, end = 1, begin
    while depth > 0 and end < len(text):
        depth += (text[end] == "{") - (text[end] == "}")
        end += 1
    return text[begin : end - 1]


def parts(text, separator):
    flat = without(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", text)
    return [part for part in flat.split(separator) if part.strip()]


def members(text):
    return sum(len(parts(declaration, ",")) for declaration in parts(text, ";"))


def sizes(text):
    """Names, sizes, limits and line numbers of all that a file has; the file itself has no name."""
    code = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    yield "", text.count("\n"), LINES, "lines", 1
    for found in FUNCTION.finditer(code):
        yield found[1], len(parts(found[2], ",")), ARGUMENTS, "arguments", code.count("\n", 0, found.start()) + 1
    for found in STRUCT.finditer(code):
        number = code.count("\n", 0, found.start()) + 1
        yield found[1], members(body(code, found.end())), MEMBERS, "members", number


def main():
    used, wrong, files = set(), [], 0
    for path in sorted(path for top in ("host", "guest-agent") for path in Path(top).rglob("*.[ch]")):
        files += 1
        for name, size, limit, what, number in sizes(path.read_text()):
            if size <= limit:
                continue
            key = (str(path), name)
            used.add(key)
            most = EXCEPTIONS.get(key, limit)
            if not isinstance(most, str) and size > most:
                wrong.append(f"{path}:{number}: {name + ' has ' if name else ''}{size} {what}, at most {most}")
    if files == 0:
        sys.exit("no files here: run it at the top of the repository")
    wrong += [
        f"{file}: {name or 'the file'} no longer exceeds a limit" for file, name in sorted(set(EXCEPTIONS) - used)
    ]
    print("".join(f"{line}\n" for line in wrong), end="")
    return wrong != []


if __name__ == "__main__":
    sys.exit(main())
