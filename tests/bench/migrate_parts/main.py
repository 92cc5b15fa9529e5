#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Has guests migrate between two QEMUs, with a forecast before each migration, and compares the two."""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from migrate_parts import cases, one, qmp, report  # noqa: E402
from payload_guest import CannotStart  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(cases.ROOT, "build/release"))

ABOUT = """\
In the lab, where KVM is real:

  vm-images/lab/lab --kernel page_idle --out DIR -- tests/bench/migrate --append /mnt/out/runs
  tests/bench/migrate --from DIR/runs

Each guest moves once for each of its ways (bandwidth, allowed downtime), and goes on where it has arrived. One that has not
arrived after 25 rounds or 60 s does not converge. A further run with --append goes on with the moves that are not in FILE yet.
"""


def parse_options():
    parser = argparse.ArgumentParser(
        prog="tests/bench/migrate",
        description="Real migrations beside their forecasts.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--guest", metavar="NAME,...", help=", ".join(cases.GUESTS))
    parser.add_argument("--accel", default="kvm", choices=["kvm", "tcg"])
    parser.add_argument("--append", metavar="FILE", help="keep each run in FILE, and go on where it ends")
    parser.add_argument("--from", metavar="FILE", dest="source", action="append", help="only print the table of FILE")
    parser.add_argument(
        "--again", action="store_true", help="with --from: foretell once more, of the kept write curves"
    )
    parser.add_argument("--wire", type=int, default=0, metavar="MIB", help="a connection of so many MiB/s")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no migration after so many seconds")
    parser.add_argument("--image", metavar="DIR", help="of make-linux-guest; without it, payload guests only")
    parser.add_argument("--first", type=int, metavar="N", help="only the first N ways of each guest")
    parser.add_argument("--repeat", type=int, default=1, help="so often each way of each guest (1)")
    return parser.parse_args()


def read_runs(paths):
    runs = []
    for path in paths:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                runs += [json.loads(line) for line in file if line.strip()]
    return runs


def key_of(run):
    return run["guest"], run["bandwidth"], run["downtime_ms"], run["turn"]


def forecast_of(run):
    return one.foretell(BUILD, json.dumps(run["record"]), run["bandwidth"], run["downtime_ms"], run["path"])


def one_move(journey, path, way, turn):
    bandwidth, downtime_ms = way[0] * cases.MIB, way[1]
    rate = journey.dirty_rate()
    text = journey.record()
    record = json.loads(text)
    forecast = one.foretell(BUILD, text, bandwidth, downtime_ms, path)
    return {
        "guest": journey.name,
        "bandwidth": bandwidth,
        "downtime_ms": downtime_ms,
        "turn": turn,
        "ram_bytes": record["ram_bytes"],
        "record": record,
        "path": path,
        "dirty_rate": rate,
        "baseline_s": one.baseline(record, bandwidth, rate),
        "forecast": forecast,
        "outcome": journey.move(bandwidth, downtime_ms),
    }


def keep(options, run):
    if options.append:
        with open(options.append, "a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
    print("# " + "  ".join(report.one_line(run)), flush=True)


def moves_of(options, name, done):
    ways = [(way, turn) for turn in range(options.repeat) for way in cases.GUESTS[name]["ways"][: options.first]]
    return [(way, turn) for way, turn in ways if (name, way[0] * cases.MIB, way[1], turn) not in done]


def journey_of(options, name, path, moves, end):
    """All moves of one guest; those that have been made. A payload begins anew each time, as it boots at once: QEMU 7.2 has
    zero pages of a guest that has arrived resident, so that its resident memory is no longer what it filled."""
    runs, journey = [], None
    try:
        for way, turn in moves:
            if time.monotonic() > end:
                break
            if not journey or cases.GUESTS[name]["kind"] == "payload":
                if journey:
                    journey.stop()
                journey = one.Journey(BUILD, options.accel, name, options.image, options.wire * cases.MIB)
            runs.append(one_move(journey, path, way, turn))
            keep(options, runs[-1])
    finally:
        if journey:
            journey.stop()
    return runs


def run_all(options, runs):
    end = time.monotonic() + options.seconds
    names = options.guest.split(",") if options.guest else list(cases.GUESTS)
    done = {key_of(run) for run in runs}
    path = None
    for name in names:
        moves = moves_of(options, name, done)
        if not moves or (cases.GUESTS[name]["kind"] == "linux" and not options.image) or time.monotonic() > end:
            continue
        try:
            path = path or one.calibrate(BUILD, options.accel, options.wire * cases.MIB)
            print("# path: " + json.dumps(path), flush=True)
            runs += journey_of(options, name, path, moves, end)
        except (CannotStart, qmp.Refused, OSError) as error:
            print(f"# {name}: {error}", flush=True)
    return runs


def main():
    options = parse_options()
    if options.source:
        runs = read_runs(options.source)
        if options.again:
            runs = [run | {"forecast": forecast_of(run)} for run in runs]
    else:
        runs = run_all(options, read_runs([options.append] if options.append else []))
    report.print_report(runs)


if __name__ == "__main__":
    main()
