#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether cells of an address x time map say where and when a payload was hot.

  map_over.py watch PID GPA      writes each change of the payload's hot set to standard output, until it is ended: UNIX-TIME PAGES.
                                 GPA is of its state page, in the memfd that is the guest's RAM from 0 on
  map_over.py judge LOG json|csv|text FILE   of a guest with chunks of 2 MiB from 0 on, and its hot set from 32 MiB on

The map's periods are held against the log. A period counts when the hot set was the same throughout, with half a second to spare;
one of text has its end to the second only, so one second more. A guest that gets little of a busy machine does not get through its
hot set within a period: cells of the hot set may then be lower, but none beside it may have anything.
"""
import calendar
import csv
import datetime
import json
import os
import re
import struct
import sys
import time

FIRST = 16  # chunks of 2 MiB: the region begins
PAGES = 512  # of a chunk
OWN = 8  # chunks that may hold the payload itself


def watch(pid, gpa):
    link = [f for f in os.listdir(f"/proc/{pid}/fd") if "memfd:" in os.readlink(f"/proc/{pid}/fd/{f}")][0]
    ram = os.open(f"/proc/{pid}/fd/{link}", os.O_RDONLY)
    last = None
    while True:
        magic, _, hot = struct.unpack("<8sQQ", os.pread(ram, 24, gpa))
        now = time.time()
        assert magic == b"VMWSSPLD", magic
        if hot != last:
            print(f"{now:.3f} {hot}", flush=True)
        last = hot
        time.sleep(0.05)


def unix(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def from_json(file):
    for line in file:
        period = json.loads(line)
        assert period["schema"] == "vmwss.map.v1" and len(period["windows"]) == 1
        cells = [c["windows"][0]["wss_bytes"] / c["bytes"] for r in period["regions"] for c in r["chunks"]]
        yield unix(period["time"]), period["windows"][0]["window_s"], 0.5, cells


def from_csv(file):
    periods = {}
    for row in csv.DictReader(file):
        periods.setdefault(row["time"], []).append(row)
    for text, rows in periods.items():
        assert [int(r["gpa"]) for r in rows] == [i << 21 for i in range(len(rows))]
        assert len({r["flags"] for r in rows}) == 1 and re.fullmatch(r"[a-z,-]*", rows[0]["flags"]), rows[0]
        yield unix(text), float(rows[0]["window_s"]), 0.5, [int(r["wss_bytes"]) / int(r["bytes"]) for r in rows]


def from_text(file):
    """The picture in ASCII: quarters, of which "." is above nothing. A * before the time: it has flags that others have not."""
    text = file.read()
    begin = re.search(r"periods? of ([0-9.]+)s, from (\S+) on", text)
    window, base = float(begin[1]), unix(begin[2])
    midnight = calendar.timegm(time.gmtime(base)[:3] + (0, 0, 0))
    for h, m, s, cells in re.findall(r"^ *\*?(\d\d):(\d\d):(\d\d)\|(.*)\| ", text, re.M):
        end = midnight + int(h) * 3600 + int(m) * 60 + int(s)
        end += 86400 if end < base - 5 else 0
        yield end + 0.5, window, 1.0, [" .:+#".index(c) / 4 for c in cells]


def hot_set(log, begin, end):
    """The pages that were hot throughout, or None."""
    before = [hot for when, hot in log if when <= begin]
    within = [hot for when, hot in log if begin < when <= end]
    return before[-1] if before and not within else None


def judge(log, periods):
    with open(log, encoding="ascii") as file:
        log = [(float(when), int(hot)) for when, hot in map(str.split, file)]
    full, wrong, n = {}, [], 0
    for end, window, spare, cells in periods:
        n += 1
        assert len(cells) == 64, cells
        if any(cells[OWN:FIRST]) or any(cells[24:62]):
            wrong.append((end, "never hot", cells))
        hot = hot_set(log, end - window - spare, end + spare)
        if hot is None:
            continue
        last = FIRST + hot // PAGES
        if any(cells[last:62]):
            wrong.append((end, f"beside the {hot} pages that were hot", cells))
        if all(c == 1 for c in cells[FIRST:last]):
            full[hot] = full.get(hot, 0) + 1
    print(f"# {n} periods; with all of the hot set, and nothing beside it: {full}")
    for what in wrong[:5]:
        print(f"# wrong: {what}")
    return not wrong and min(full.get(4096, 0), full.get(1024, 0)) >= 2


def main():
    if sys.argv[1] == "watch":
        watch(sys.argv[2], int(sys.argv[3], 16))
    readers = {"json": from_json, "csv": from_csv, "text": from_text}
    with open(sys.argv[4], encoding="utf-8", newline="") as file:
        return 0 if judge(sys.argv[2], readers[sys.argv[3]](file)) else 1


if __name__ == "__main__":
    sys.exit(main())
