#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does each column of a sheet (host/show/sheet.h), and each name of its CSV, have a value?

A key that no code sets is a column that is always empty, silently. So each key of a table of struct sheet_column, and each name
of a list csv, csv_names or row_names, has to stand in the same file once more, outside of such tables: as a whole, or in two
parts, "runway" and "days", if it is a value of a group. What a function of another file sets that takes a sheet first,
sheet_guest(), counts where it is called. A file that sets each field of a table of fields by its name (field->json) sets those of
host/measure/record.
"""

import re
import sys
from pathlib import Path

COLUMNS = re.compile(r"struct sheet_column \w+\[\] = \{(.*?)\};", re.S)
# In a table that has sheet columns as members: {"wss", WINDOW_1, {"wss_1", {.name = ...}}}
MEMBERS = re.compile(r"struct sheet_column column;.*?\} \w+\[\] = \{(.*?)\n\};", re.S)
KEY = re.compile(r'\{"(\w+)",\s*\{\s*\.name')
NAMES = re.compile(r"const char \*const (?:csv|csv_names|row_names)\[\] = \{(.*?)\};", re.S)
FILLS = re.compile(r"^(?:void|int) (\w+)\(struct sheet \*sheet\b[^;{]*\)\n\{(.*?)\n\}", re.M | re.S)
FIELD_TABLES = sorted(Path("host/measure/record").glob("*_fields.c"))
WORD = re.compile(r'"((?:\\.|[^"\\])*)"')


def is_set(key, words):
    parts = key.split("_")
    return key in words or any({"_".join(parts[:i]), "_".join(parts[i:])} <= words for i in range(1, len(parts)))


def unset(path, fills):
    text = path.read_text()
    if "sheet_" not in text:
        return []
    tables = [table for pattern in (COLUMNS, MEMBERS) for table in pattern.findall(text)]
    keys = [key for table in tables for key in KEY.findall(table)]
    keys += [name for table in NAMES.findall(text) for name in WORD.findall(table)]
    rest = text
    for pattern in (COLUMNS, MEMBERS, NAMES):
        rest = pattern.sub("", rest)
    words = set(WORD.findall(rest)) | {word for name, words in fills.items() if f"{name}(" in rest for word in words}
    if "field->json" in rest:
        words |= {word for table in FIELD_TABLES for word in WORD.findall(table.read_text())}
    return [f"{path}: no value is set for {key}" for key in keys if not is_set(key, words)]


def main():
    paths = sorted(Path("host").rglob("*.c"))
    fills = {name: set(WORD.findall(body)) for path in paths for name, body in FILLS.findall(path.read_text())}
    found = [line for path in paths for line in unset(path, fills)]
    print("".join(f"{line}\n" for line in found), end="")
    return found != []


if __name__ == "__main__":
    sys.exit(main())
