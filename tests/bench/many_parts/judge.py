# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests/bench/many says of a history: how precise it is, how often guests were looked at, and whether it is true."""

import argparse
import json
import sqlite3
import statistics
import sys


def connect(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    database.row_factory = sqlite3.Row
    return database


def recorded(path):
    """Guests with a record; 0 while there is no history."""
    try:
        return connect(path).execute("SELECT count(DISTINCT guest_id) FROM sample").fetchone()[0]
    except sqlite3.Error:
        return 0


def read_truths(path):
    with open(path, encoding="utf-8") as lines:
        return {name: int(touched) for name, touched in (line.split() for line in lines)}


def gaps(rows):
    """Seconds between the records of each guest."""
    last, found = {}, []
    for row in rows:
        if row["name"] in last:
            found.append((row["time_ms"] - last[row["name"]]) / 1000)
        last[row["name"]] = row["time_ms"]
    return found


def verdicts(rows, truths):
    """(window, whether it holds the truth, whether it would twice as wide, error in points of what is resident) of the
    shortest window that each record answers: a guest that touches the same all the time has the same set in every window.
    Where looks are further apart than a window is long, the record leaves it out."""
    found = []
    for row in rows:
        answered = [window for window in json.loads(row["windows"]) if window[2] is not None]
        if answered:
            window, _, wss, low, high, *_ = min(answered)
            truth = truths[row["name"]]
            twice = 2 * low - wss <= truth <= 2 * high - wss
            found.append((window, low <= truth <= high, twice, 100 * (wss - truth) / row["resident_bytes"]))
    return found


def rms(values):
    return (sum(value * value for value in values) / len(values)) ** 0.5 if values else None


def judge(rows, truths):
    held = verdicts(rows, truths)
    between = gaps(rows)
    period_s = sum(row["period_s"] for row in rows)
    return {
        "recorded": len({row["name"] for row in rows}),
        "records": len(rows),
        "pages": int(statistics.median(row["samples"] for row in rows)),
        "precision": statistics.median(row["precision"] for row in rows),
        "every_s": statistics.median(between) if between else None,
        "longest_s": max(between, default=None),
        "answered": len(held),
        "window_s": max((window for window, *_ in held), default=None),
        "held": sum(ok for _, ok, *_ in held),
        "held_twice": sum(ok for _, _, ok, _ in held),
        "rms_error_points": rms([error for *_, error in held]),
        "bias_points": statistics.mean(error for *_, error in held) if held else None,
        "vcpu_percent": 100 * sum(row["vcpu_s"] for row in rows) / period_s,
        "methods": sorted({row["method"] for row in rows}),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database")
    parser.add_argument("truths", help="a line for each guest: its name and the bytes it touches")
    parser.add_argument("--recorded", action="store_true", help="only how many guests have a record")
    parser.add_argument("--since", type=int, help="milliseconds of the epoch")
    parser.add_argument("--until", type=int, help="likewise")
    options = parser.parse_args()
    if options.recorded:
        print(recorded(options.database))
        return 0
    rows = connect(options.database).execute(
        "SELECT guest.name, sample.* FROM sample JOIN guest ON guest.id = guest_id"
        " WHERE time_ms BETWEEN ? AND ? ORDER BY sample.id",
        (options.since, options.until),
    )
    rows = rows.fetchall()
    if not rows:
        print("many: vmwssd has recorded nothing", file=sys.stderr)
        return 1
    print(json.dumps(judge(rows, read_truths(options.truths))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
